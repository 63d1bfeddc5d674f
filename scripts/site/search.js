// SPDX-License-Identifier: Apache-2.0
// Search of the site: sections that have all words of the question, those with them in their heading first. The index,
// index.js, is loaded when the field is first used, by a script element, so that it also works from a folder.
"use strict";
{
  const root = document.currentScript.dataset.root;
  const field = document.getElementById("search");
  const list = document.getElementById("found");
  let loading = false;

  const load = () => {
    if (loading) return;
    loading = true;
    const script = document.createElement("script");
    script.src = root + "index.js";
    script.onload = show;
    document.head.append(script);
  };

  const score = (section, words) => {
    let sum = 0;
    for (const word of words) {
      if (section.t.toLowerCase().includes(word)) sum += 10;
      else if (section.s.toLowerCase().includes(word)) sum += 1;
      else return 0;
    }
    return sum;
  };

  const excerpt = (section, word) => {
    const at = Math.max(0, section.s.toLowerCase().indexOf(word) - 40);
    return (at > 0 ? "… " : "") + section.s.slice(at, at + 110) + (section.s.length > at + 110 ? " …" : "");
  };

  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter((word) => word.length > 1);
    list.replaceChildren();
    if (words.length === 0 || !window.sections) return;
    const found = window.sections
      .map((section) => ({ section, score: score(section, words) }))
      .filter((one) => one.score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, 12);
    for (const { section } of found) {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = root + section.u;
      link.textContent = section.t;
      const text = document.createElement("small");
      text.textContent = excerpt(section, words[0]);
      item.append(link, text);
      list.append(item);
    }
    if (found.length === 0) list.append(Object.assign(document.createElement("li"), { textContent: "nothing found" }));
  };

  field.addEventListener("focus", load);
  field.addEventListener("input", () => {
    load();
    show();
  });
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.click();
  });
}

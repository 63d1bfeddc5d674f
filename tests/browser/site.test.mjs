// SPDX-License-Identifier: Apache-2.0
// The documentation as a site: what axe finds wrong, and whether pages fit a phone and a desk, light and dark.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { faults, launch, root } from "./harness.mjs";

const none = spawnSync("cmark-gfm", ["--version"]).error !== undefined;
const skip = none && "there is no cmark-gfm to build the site with";
const pages = ["index", "docs/gallery", "docs/scene", "docs/python", "docs/benchmarks", "docs/tutorials/finger", "docs/theory/contact", "docs/api"];

let browser, folder;
before(async () => {
    if (none) return;
    folder = mkdtempSync(join(tmpdir(), "tendril-site-"));
    const made = spawnSync(join(root, "scripts/docs"), ["--committed", "--out", folder], { encoding: "utf8" });
    assert.equal(made.status, 0, made.stderr);
    browser = await launch();
});
after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
});

for (const [width, colorScheme] of [[1280, "light"], [390, "light"], [1280, "dark"], [390, "dark"]])
    test(`pages are ${colorScheme}, fit ${width} px and can be read by everyone`, { skip }, async () => {
        const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
        const page = await context.newPage();
        for (const name of pages) {
            await page.goto(`file://${join(folder, name)}.html`);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(wide <= width, `${name} is ${wide} px wide`);
            assert.deepEqual(await faults(page), [], name);
        }
        await context.close();
    });

test("the search finds what a page says, by the keyboard", { skip }, async () => {
    const page = await browser.newPage();
    await page.goto(`file://${join(folder, "docs/python")}.html`);
    await page.locator("#search").focus();
    await page.keyboard.type("stiffness damping");
    await page.waitForSelector("#found a");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(/damping|scene|energy/);
    await page.close();
});

// SPDX-License-Identifier: Apache-2.0
// Elements in one call each. Text is always set as text, never as markup: names come from scene files.

type Child = Node | string | null | false;
type Attributes = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === undefined || value === false) continue;
        if (typeof value === "function") element.addEventListener(name, value as (event: Event) => void);
        else if (name === "class") element.className = String(value);
        else if (name === "style") element.style.cssText = String(value); // an attribute is against the rules of the page
        else element.setAttribute(name, value === true ? "" : String(value));
    }
    element.append(...children.filter((c): c is Node | string => c !== null && c !== false));
    return element;
}

// Icons of 20 units, drawn as strokes.
const ICONS = {
    play: '<path d="M6 4.2v11.6l9.5-5.8z" fill="currentColor" stroke-linejoin="round"/>',
    pause: '<path d="M6.5 4.5v11M13.5 4.5v11" stroke-width="2.6"/>',
    step: '<path d="M5 4.8v10.4l7.5-5.2z" fill="currentColor"/><path d="M15 4.8v10.4" stroke-width="2"/>',
    reset: '<path d="M4.5 4v4.2h4.2"/><path d="M4.7 8.2A6 6 0 1 1 4 11.5"/>',
    record: '<circle cx="10" cy="10" r="4.6" fill="currentColor" stroke="none"/>',
    stop: '<rect x="5.8" y="5.8" width="8.4" height="8.4" rx="1.2" fill="currentColor" stroke="none"/>',
    camera: '<path d="M3 6.5h3l1.3-2h5.4l1.3 2h3v9H3z"/><circle cx="10" cy="10.8" r="2.8"/>',
    sun: '<circle cx="10" cy="10" r="3.4"/><path d="M10 2.5v2M10 15.5v2M2.5 10h2M15.5 10h2M4.7 4.7l1.4 1.4M13.9 13.9l1.4 1.4M4.7 15.3l1.4-1.4M13.9 6.1l1.4-1.4"/>',
    moon: '<path d="M15.8 12.2A6.6 6.6 0 0 1 7.8 4.2a6.4 6.4 0 1 0 8 8z"/>',
    help: '<path d="M7.4 7.4a2.6 2.6 0 1 1 3.8 2.3c-.9.5-1.2 1-1.2 2"/><circle cx="10" cy="14.6" r=".6" fill="currentColor"/>',
    fit: '<path d="M3.5 7V3.5H7M13 3.5h3.5V7M16.5 13v3.5H13M7 16.5H3.5V13"/><rect x="7" y="7" width="6" height="6" rx="1"/>',
    plots: '<path d="M3.5 3.5v13h13"/><path d="M5.5 13l3.2-4 2.6 2.2 4.2-6"/>',
    hand: '<path d="M4 16L16 4M16 4h-5.5M16 4v5.5"/><circle cx="4.6" cy="15.4" r="1.6" fill="currentColor"/>',
    loop: '<path d="M4 10a6 6 0 0 1 10.3-4.2L16 7.5"/><path d="M16 3.6v4h-4M16 10a6 6 0 0 1-10.3 4.2L4 12.5"/><path d="M4 16.4v-4h4"/>',
    front: '<path d="M4 7.5h9v9H4z" fill="currentColor" fill-opacity=".45"/><path d="M4 7.5 7.5 4h9L13 7.5M16.5 4v9L13 16.5"/>',
    right: '<path d="M13 7.5 16.5 4v9L13 16.5z" fill="currentColor" fill-opacity=".45"/><path d="M4 7.5h9v9H4zM4 7.5 7.5 4h9"/>',
    above: '<path d="M4 7.5 7.5 4h9L13 7.5z" fill="currentColor" fill-opacity=".45"/><path d="M4 7.5h9v9H4zM16.5 4v9L13 16.5"/>',
    save: '<path d="M10 3v9M6.5 8.8 10 12.3l3.5-3.5"/><path d="M4 13.5v3h12v-3"/>',
    close: '<path d="M5 5l10 10M15 5L5 15"/>',
    back: '<path d="M8 5L4 9l4 4"/><path d="M4 9h8a4 4 0 0 1 0 7h-2"/>',
    beside: '<rect x="2.8" y="4.5" width="6.2" height="11" rx="1"/><rect x="11" y="4.5" width="6.2" height="11" rx="1" fill="currentColor" fill-opacity=".45"/>',
    file: '<path d="M5 2.8h6.5L15 6.3v10.9H5z"/><path d="M11 3v4h4"/>',
} as const;

export type Icon = keyof typeof ICONS;

export function icon(name: Icon): HTMLElement {
    const span = h("span", { class: "icon", "aria-hidden": "true" });
    span.innerHTML = `<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round">${ICONS[name]}</svg>`;
    return span;
}

/// A button with an icon; its name is read aloud and shown as a tooltip.
export function iconButton(name: Icon, label: string, action: () => void, extra: Attributes = {}): HTMLButtonElement {
    return h("button", { type: "button", class: "tool", "aria-label": label, title: label, click: action, ...extra }, icon(name));
}

export function setIcon(button: HTMLElement, name: Icon, label: string): void {
    if (button.dataset.icon === name && button.title === label) return;
    button.dataset.icon = name;
    button.replaceChildren(icon(name));
    button.setAttribute("aria-label", label);
    button.title = label;
}

export const setText = (element: HTMLElement, text: string): void => {
    if (element.textContent !== text) element.textContent = text;
};

export function section(title: string, ...children: Child[]): HTMLElement {
    return h("section", { class: "block", "aria-label": title }, h("h2", {}, title), ...children);
}

export function download(blob: Blob, name: string): void {
    const link = h("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

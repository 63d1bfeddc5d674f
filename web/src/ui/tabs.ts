// SPDX-License-Identifier: Apache-2.0
// Tabs as the ARIA practices describe them: arrow keys move, one panel is shown.
import { h } from "./dom";

export class Tabs {
    readonly list = h("div", { class: "tabs", role: "tablist", "aria-label": "Controls" });
    readonly panels = h("div", { class: "panels" });
    changed: () => void = () => undefined;
    private readonly tabs = new Map<string, { tab: HTMLButtonElement; panel: HTMLElement }>();

    constructor(items: [string, string, HTMLElement][]) {
        for (const [key, name, panel] of items) {
            const tab = h("button", { type: "button", role: "tab", id: `tab-${key}`, "aria-controls": panel.id, click: () => this.select(key) }, name);
            panel.setAttribute("role", "tabpanel");
            panel.setAttribute("aria-labelledby", tab.id);
            panel.tabIndex = 0; // one without controls is scrolled by keys too
            this.tabs.set(key, { tab, panel });
            this.list.append(tab);
            this.panels.append(panel);
        }
        this.list.addEventListener("keydown", (event) => this.key(event));
        this.select(items[0][0]);
    }

    select(key: string): void {
        for (const [other, { tab, panel }] of this.tabs) {
            const on = other === key;
            tab.setAttribute("aria-selected", String(on));
            tab.tabIndex = on ? 0 : -1;
            panel.hidden = !on;
        }
        this.changed();
    }

    show(key: string, on: boolean): void {
        const { tab } = this.tabs.get(key)!;
        tab.hidden = !on;
        if (!on && tab.getAttribute("aria-selected") === "true") this.select([...this.tabs].find(([, t]) => !t.tab.hidden)![0]);
    }

    private key(event: KeyboardEvent): void {
        const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (by === 0) return;
        event.preventDefault();
        event.stopPropagation();
        const keys = [...this.tabs].filter(([, t]) => !t.tab.hidden).map(([k]) => k);
        const at = keys.findIndex((k) => this.tabs.get(k)!.tab === document.activeElement);
        const next = keys[(at + by + keys.length) % keys.length];
        this.select(next);
        this.tabs.get(next)!.tab.focus();
    }
}

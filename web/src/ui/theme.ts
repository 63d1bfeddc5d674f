// SPDX-License-Identifier: Apache-2.0
// Light and dark: as the system says, until a person says otherwise.
import { LOOKS, type Look } from "../view/stage";
import { iconButton, setIcon } from "./dom";

const KEY = "tendril-theme";

export class Theme {
    readonly button = iconButton("moon", "Dark (L)", () => this.toggle(), { id: "theme" });
    changed: () => void = () => undefined;
    private readonly system = matchMedia("(prefers-color-scheme: dark)");
    private chosen: string | null = null;
    private readonly apply: (look: Look) => void;

    constructor(apply: (look: Look) => void) {
        this.apply = apply;
        try {
            this.chosen = localStorage.getItem(KEY);
        } catch {
            // A page opened from a file may have no storage.
        }
        this.system.addEventListener("change", () => this.update());
        this.update();
    }

    get dark(): boolean {
        return this.chosen ? this.chosen === "dark" : this.system.matches;
    }

    toggle(): void {
        this.chosen = this.dark ? "light" : "dark";
        try {
            localStorage.setItem(KEY, this.chosen);
        } catch {
            // As above: it then holds for this visit.
        }
        this.update();
    }

    private update(): void {
        const name = this.dark ? "dark" : "light";
        document.documentElement.dataset.theme = name;
        setIcon(this.button, this.dark ? "sun" : "moon", this.dark ? "Light (L)" : "Dark (L)");
        this.apply(LOOKS[name]);
        this.changed();
    }
}

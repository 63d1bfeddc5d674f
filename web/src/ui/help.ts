// SPDX-License-Identifier: Apache-2.0
// Keyboard: the list of keys and what they do, in one place.
import { h, iconButton } from "./dom";

export interface Key {
    keys: string[];
    shown: string;
    does: string;
    action: () => void;
}

const MOUSE: [string, string][] = [
    ["Drag", "turn the view; on a body: pull it by a spring; on an instrument: lead it; on the yellow ball: move the target"],
    ["Shift + drag", "pan the view, also where a body is"],
    ["Right drag", "pan the view"],
    ["Wheel", "zoom to the pointer"],
    ["X, Y, Z held", "while a target or an instrument is dragged: keep to that axis"],
    ["After T", "D A along x, W S along y, E Q along z; with Shift: turn; ] [ close and open the fingers; Esc ends it"],
    ["Touch", "one finger turns, pulls or moves the target; two fingers zoom and pan"],
];

export function helpDialog(keys: Key[]): HTMLDialogElement {
    const row = (what: string, does: string): HTMLElement[] => [
        h("dt", {}, ...what.split(" ").map((w) => (w === "+" ? " + " : h("kbd", {}, w)))), h("dd", {}, does)];
    const dialog = h("dialog", { class: "help", "aria-label": "Keyboard and mouse" });
    dialog.append(
        h("header", {}, h("h2", {}, "Keyboard and mouse"), iconButton("close", "Close help", () => dialog.close())),
        h("dl", {}, ...keys.flatMap((k) => row(k.shown, k.does))),
        h("dl", {}, ...MOUSE.flatMap(([what, does]) => [h("dt", {}, what), h("dd", {}, does)])),
    );
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    return dialog;
}

// Keys belong to the field that has the focus, where it is one that takes them.
export function listen(keys: Key[]): void {
    addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
        const at = event.target as HTMLElement;
        const typing = at instanceof HTMLSelectElement || (at instanceof HTMLInputElement && at.type !== "range" && at.type !== "checkbox");
        if (typing || at.closest?.("dialog")) return;
        const acts = at instanceof HTMLButtonElement || at instanceof HTMLAnchorElement || (at instanceof HTMLInputElement && at.type === "checkbox");
        if (acts && (event.key === " " || event.key === "Enter")) return;
        if (at instanceof HTMLInputElement && at.type === "range" && /^(Arrow|Home|End|Page)/.test(event.key)) return;
        const found = keys.find((k) => k.keys.includes(event.key.length === 1 ? event.key.toLowerCase() : event.key));
        if (!found) return;
        event.preventDefault();
        if (!event.repeat || found.keys.includes(".")) found.action(); // a key held down is one press, except of steps
    });
    // A click with the mouse must not leave the button waiting for the next space.
    addEventListener("click", (event) => {
        const button = (event.target as HTMLElement).closest?.("button");
        if (button && event.detail > 0) button.blur();
    });
}

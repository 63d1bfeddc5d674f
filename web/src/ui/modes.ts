// SPDX-License-Identifier: Apache-2.0
// Mode browser: amplitudes added to what the simulation gives, in this page only.
import { SECTION, type BodyInfo, type Hello, type Message } from "../protocol";
import type { Session } from "../session";
import { brief } from "../units";
import type { World } from "../view/world";
import { h, section, setText } from "./dom";

interface Row {
    slider: HTMLInputElement;
    present: HTMLElement;
    value: HTMLElement;
    range: number;
}

export class ModesPanel {
    readonly element = h("div", { class: "panel", id: "panel-modes" });
    private rows = new Map<number, Row[]>();
    private readonly world: World;
    private swinging: { body: number; mode: number; since: number } | null = null;

    constructor(session: Session, world: World) {
        this.world = world;
        session.on("hello", (hello) => this.build(hello));
        session.on("frame", (frame) => this.present(frame));
        world.stage.before.push(() => this.swing());
    }

    private build(hello: Hello): void {
        this.rows.clear();
        this.swinging = null;
        this.element.replaceChildren();
        hello.bodies.forEach((body, b) => {
            if (body.kind !== "reduced" || !body.modes) return;
            this.element.append(this.section(body, b));
        });
    }

    private section(body: BodyInfo, b: number): HTMLElement {
        const extra = new Float32Array(body.modes! + (body.moved ?? 0));
        const rows: Row[] = [];
        const list = h("div", { class: "modes" });
        for (let k = 0; k < body.modes!; k++) {
            const [low, high] = body.ranges?.[k] ?? [-1, 1];
            const range = Math.max(Math.abs(low), Math.abs(high)) || 1;
            const name = `Mode ${k + 1} of ${body.name}, amplitude added`;
            const value = h("span", { class: "value" }, "0");
            const slider = h("input", {
                type: "range", min: -range, max: range, step: range / 200, value: 0, "aria-label": name,
                input: () => {
                    this.swinging = null;
                    this.set(b, k, Number(slider.value));
                },
            });
            const play = h("button", {
                type: "button", class: "small", "aria-label": `Swing mode ${k + 1} of ${body.name}`,
                click: () => this.toggleSwing(b, k),
            }, "Swing");
            const present = h("span", { class: "present", title: "Amplitude in the simulation, within its range in training" });
            rows.push({ slider, value, present, range });
            list.append(h("div", { class: "row mode" }, h("span", { class: "name" }, String(k + 1)), slider, value, play,
                h("span", { class: "track" }, present)));
        }
        this.rows.set(b, rows);
        this.world.extra.set(b, extra);
        const clear = h("button", { type: "button", class: "small", "aria-label": `Clear all modes of ${body.name}`, click: () => this.clear(b) }, "Clear");
        return section(`Modes of ${body.name}`,
            h("p", { class: "hint" }, `${body.modes} modes, ${body.domain ?? body.elements} of ${body.elements} elements stand for all. ` +
                "Amplitudes are added to what the simulation gives, in this page only."),
            clear, list);
    }

    private set(body: number, mode: number, amplitude: number): void {
        let extra = this.world.extra.get(body);
        if (!extra) {
            const count = this.rows.get(body)!.length;
            this.world.extra.set(body, (extra = new Float32Array(count)));
        }
        extra[mode] = amplitude;
        setText(this.rows.get(body)![mode].value, amplitude === 0 ? "0" : brief(amplitude));
        this.world.refresh();
    }

    private clear(body: number): void {
        this.swinging = null;
        this.rows.get(body)!.forEach((row, k) => {
            row.slider.value = "0";
            this.set(body, k, 0);
        });
    }

    private toggleSwing(body: number, mode: number): void {
        const again = this.swinging?.body === body && this.swinging.mode === mode;
        this.clear(body);
        this.swinging = again ? null : { body, mode, since: performance.now() };
        this.world.stage.invalidate();
    }

    private swing(): void {
        if (!this.swinging) return;
        const { body, mode, since } = this.swinging;
        const row = this.rows.get(body)![mode];
        const amplitude = row.range * Math.sin(((performance.now() - since) / 1000) * Math.PI);
        row.slider.value = String(amplitude);
        requestAnimationFrame(() => this.swinging && this.set(body, mode, amplitude));
    }

    private present(frame: Message): void {
        if (this.element.hidden || this.rows.size === 0) return;
        for (const s of frame.sections) {
            if (s.type !== SECTION.coordinates) continue;
            this.rows.get(s.index)?.forEach((row, k) => {
                const part = Math.max(-1, Math.min(1, s.f32[k] / row.range));
                row.present.style.left = `${(50 + 50 * part).toFixed(1)}%`;
            });
        }
    }
}

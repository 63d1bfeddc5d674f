// SPDX-License-Identifier: Apache-2.0
// Play, pause, step, reset, speed; and the time line: of a recording, or of the last minute.
import type { Past } from "../past";
import type { Replay } from "../replay";
import type { Session } from "../session";
import { h, iconButton, setIcon, setText } from "./dom";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

export class Transport {
    readonly element = h("div", { class: "transport", role: "toolbar", "aria-label": "Simulation" });
    private readonly playButton: HTMLButtonElement;
    private readonly clock = h("output", { class: "clock", "aria-label": "Simulated time" }, "0.00 s");
    private readonly speed = h("select", { "aria-label": "Speed", title: "Speed", change: () => this.setSpeed(Number(this.speed.value)) });
    private readonly timeline = h("input", { type: "range", class: "timeline", min: 0, max: 1, step: "any", value: 0, "aria-label": "Time line" });
    private readonly present = h("button", { type: "button", class: "small live", id: "live", hidden: true, click: () => this.past?.live() }, "Live");
    private readonly session: Session;
    private readonly replay: Replay | null;
    private readonly past: Past | null;

    constructor(session: Session, replay: Replay | null, past: Past | null) {
        this.session = session;
        this.replay = replay;
        this.past = past;
        this.speed.append(...SPEEDS.map((s) => h("option", { value: s }, `${s}×`)));
        this.speed.value = "1";
        this.playButton = iconButton("play", "Play (space)", () => this.toggle(), { class: "tool primary", id: "play" });
        const step = iconButton("step", "Single step (.)", () => this.step(), { id: "step" });
        const reset = iconButton("reset", replay ? "Back to the start (R)" : "Reset (R)", () => this.reset(), { id: "reset" });
        this.element.append(this.playButton, step, reset, this.clock, h("label", { class: "speed" }, this.speed));
        if (replay) {
            this.timeline.max = String(replay.duration);
            this.timeline.addEventListener("input", () => replay.seek(Number(this.timeline.value)));
            replay.moved = () => this.update();
            const loop = iconButton("loop", "Begin again at the end", () => {
                replay.loop = !replay.loop;
                loop.setAttribute("aria-pressed", String(replay.loop));
            }, { id: "loop", "aria-pressed": "false" });
            this.element.append(this.timeline, loop);
        } else if (past) {
            this.timeline.addEventListener("input", () => {
                const to = Number(this.timeline.value);
                if (to >= past.last - 1e-9) past.live();
                else past.show(to);
            });
            past.changed = () => this.showPast(past);
            this.element.append(this.timeline, this.present);
            this.showPast(past);
        }
        session.on("status", () => this.update());
        session.on("frame", (frame) => setText(this.clock, `${frame.time.toFixed(2)} s`));
        this.update();
    }

    get playing(): boolean {
        return this.replay ? this.replay.playing : (this.session.status?.playing ?? false);
    }

    toggle(): void {
        if (this.replay) this.replay.toggle();
        else this.session.send({ type: this.playing ? "pause" : "play" });
        this.update();
    }

    step(): void {
        if (this.replay) this.replay.step();
        else if (this.past?.at != null) this.past.step(1);
        else this.session.send({ type: "step" });
    }

    /// One frame back, into what has been shown.
    back(): void {
        if (this.replay) this.replay.step(-1);
        else this.past?.step(-1);
    }

    reset(): void {
        if (this.replay) this.replay.seek(0);
        else this.session.send({ type: "reset" });
    }

    changeSpeed(by: 1 | -1): void {
        const present = this.replay?.speed ?? this.session.status?.speed ?? 1;
        const next = by > 0 ? SPEEDS.find((s) => s > present * 1.001) : SPEEDS.findLast((s) => s < present * 0.999);
        if (next) this.setSpeed(next);
    }

    private setSpeed(value: number): void {
        if (this.replay) this.replay.speed = value;
        else this.session.send({ type: "speed", value });
        this.update();
    }

    // The simulation goes on while the past is looked at, and the line with it.
    private showPast(past: Past): void {
        const { first, last, at } = past, span = last - first;
        Object.assign(this.timeline, { min: String(first), max: String(Math.max(last, first + 1e-9)), disabled: !(span > 0) });
        this.timeline.value = String(at ?? last);
        const part = span > 0 ? (100 * ((at ?? last) - first)) / span : 100;
        this.timeline.style.setProperty("--part", `${part.toFixed(2)}%`);
        this.timeline.setAttribute("aria-valuetext", at === null ? "now" : `${(last - at).toFixed(2)} seconds ago`);
        this.present.hidden = at === null;
        setText(this.present, at === null ? "Live" : `${(last - at).toFixed(1)} s ago – go live`);
        this.element.classList.toggle("past", at !== null);
    }

    private update(): void {
        if (this.playing) setIcon(this.playButton, "pause", "Pause (space)");
        else setIcon(this.playButton, "play", "Play (space)");
        const speed = this.replay?.speed ?? this.session.status?.speed ?? 1;
        if (document.activeElement !== this.speed && Number(this.speed.value) !== speed) {
            if (!SPEEDS.includes(speed) && ![...this.speed.options].some((o) => Number(o.value) === speed))
                this.speed.append(h("option", { value: speed }, `${speed}×`));
            this.speed.value = String(speed);
        }
        if (this.replay) {
            this.timeline.value = String(this.replay.now);
            this.timeline.style.setProperty("--part", `${((100 * this.replay.now) / this.replay.duration || 0).toFixed(2)}%`);
            this.timeline.setAttribute("aria-valuetext", `${this.replay.now.toFixed(1)} of ${this.replay.duration.toFixed(1)} seconds`);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
// How fast the simulation is, in numbers and in words.
import type { Hello, Status } from "../protocol";
import type { Session } from "../session";
import { brief } from "../units";
import type { Stage } from "../view/stage";
import { h, section, setText } from "./dom";

const ms = (seconds: number | null): string => (seconds === null ? "–" : `${brief(1e3 * seconds)} ms`);
const times = (factor: number | null): string => (factor === null ? "–" : `${brief(factor)}×`);

export class TimingPanel {
    readonly element = h("div", { class: "panel", id: "panel-timing" });
    readonly chip = h("span", { class: "chip", role: "status", "aria-live": "off", "aria-label": "Speed of the simulation" });
    private readonly cells = new Map<string, HTMLElement>();
    private readonly contact: HTMLElement;
    private readonly words = h("p", { class: "verdict" });
    private readonly session: Session;
    private readonly stage: Stage;
    private frames = { count: 0, bytes: 0, at: performance.now(), rate: 0, size: 0 };

    constructor(session: Session, stage: Stage) {
        this.session = session;
        this.stage = stage;
        const table = (title: string, names: [string, string][]): HTMLElement =>
            section(title, h("dl", {}, ...names.flatMap(([key, name]) => {
                const cell = h("dd", { id: `timing-${key}` }, "–");
                this.cells.set(key, cell);
                return [h("dt", {}, name), cell];
            })));
        this.contact = table("Contact", [
            ["points", "points followed"], ["bearing", "that bear a force"], ["iterations", "iterations of the solver"], ["residual", "residual"],
        ]);
        this.element.append(
            table("Time of a step", [
                ["p50", "median"], ["p99", "99th percentile"], ["longest", "longest"], ["budget", "lasts at this speed"],
                ["misses", "late in the last second"], ["missed", "late in all"],
            ]),
            this.words,
            table("Simulation", [
                ["realtime", "realtime factor"], ["possible", "possible"], ["rate", "steps a second"], ["size", "model"],
                ["error", "error of the reduced model"],
            ]),
            this.contact,
            table("Picture", [["fps", "pictures a second"], ["frames", "frames received a second"], ["bytes", "size of a frame"],
                ["dropped", "frames left out by the server"], ["clients", "pages connected"]]),
        );
        session.on("status", (status) => this.update(status));
        session.on("hello", (hello) => this.size(hello));
        setInterval(() => this.measure(), 1000);
    }

    private set(key: string, text: string): void {
        setText(this.cells.get(key)!, text);
    }

    private size(hello: Hello): void {
        const sum = (pick: (b: Hello["bodies"][number]) => number): number =>
            hello.bodies.reduce((n, b) => n + (b.kind === "rigid" ? 0 : pick(b)), 0);
        const reduced = hello.bodies.filter((b) => b.kind === "reduced");
        const elements = `${sum((b) => b.elements).toLocaleString("en")} elements`;
        this.contact.hidden = !hello.contact?.possible;
        const links = hello.bodies.reduce((n, b) => n + (b.fixed ? 0 : b.links?.length ?? 0), 0);
        if (hello.bodies.every((b) => b.kind === "rigid")) return this.set("size", `${links} links`);
        this.set("size", (links > 0 ? `${links} links, ` : "") + (reduced.length > 0
            ? `${reduced.reduce((n, b) => n + (b.modes ?? 0), 0)} modes, ${reduced.reduce((n, b) => n + (b.domain ?? 0), 0)} of ${elements}`
            : `${sum((b) => b.nodes).toLocaleString("en")} nodes, ${elements}`));
    }

    private update(status: Status): void {
        const { timing, rom } = status;
        const step = this.session.hello!.time_step, budget = step / status.speed;
        this.set("p50", ms(timing.p50));
        this.set("p99", ms(timing.p99));
        this.set("longest", ms(timing.longest));
        this.set("budget", ms(budget));
        this.set("misses", String(timing.misses));
        this.set("missed", String(timing.missed_total));
        this.set("realtime", status.playing ? times(timing.realtime) : "paused");
        this.set("possible", times(timing.possible));
        this.set("rate", timing.steps_a_second === null ? "–" : timing.steps_a_second.toFixed(0));
        this.set("error", !rom.reduced ? "full order" : rom.error === null ? "–" : `about ${brief(100 * rom.error)} %${rom.warning ? ", outside of training" : ""}`);
        if (status.contact) {
            this.set("points", String(status.contact.points));
            this.set("bearing", String(status.contact.active) + (status.contact.shown < status.contact.active ? `, ${status.contact.shown} drawn` : ""));
            this.set("iterations", String(status.contact.iterations) + (status.contact.limit ? ", all that it may" : ""));
            this.set("residual", status.contact.residual === null ? "–" : status.contact.residual.toExponential(1));
        }
        this.set("dropped", String(status.you?.dropped ?? 0));
        this.set("clients", String(status.clients));
        setText(this.words, verdict(status, budget));
        this.words.classList.toggle("warn", timing.heavy);
        setText(this.chip, status.playing ? `${times(timing.realtime)} real time · ${ms(timing.p50)}` : `paused · ${ms(timing.p50)}`);
        this.chip.dataset.state = !status.playing ? "paused" : timing.heavy || (timing.realtime ?? 1) < 0.9 * status.speed ? "heavy" : "good";
    }

    private measure(): void {
        const now = performance.now();
        const seconds = (now - this.frames.at) / 1000;
        const frames = this.session.frames - this.frames.count;
        this.frames.rate = frames / seconds;
        if (frames > 0) this.frames.size = (this.session.bytes - this.frames.bytes) / frames;
        Object.assign(this.frames, { count: this.session.frames, bytes: this.session.bytes, at: now });
        this.set("fps", this.stage.fps.value.toFixed(0));
        this.set("frames", this.frames.rate.toFixed(0));
        this.set("bytes", this.frames.size > 0 ? `${brief(this.frames.size / 1024)} KiB` : "–");
    }
}

/// What the numbers mean.
export function verdict(status: Status, budget: number): string {
    const { timing } = status;
    if (timing.p50 === null || timing.steps === 0) return status.playing ? "Measuring." : "Paused.";
    if (timing.heavy)
        return `Too heavy for real time on this machine: a step takes ${ms(timing.p50)} but lasts ${ms(budget)} at this speed. ` +
            `It runs at ${times(timing.realtime)}. Lower the speed, take a coarser mesh, or a reduced model.`;
    if (timing.misses > 0) return `Keeps up, with ${timing.misses} late steps in the last second.`;
    return `Keeps up: a step takes ${ms(timing.p50)} of the ${ms(budget)} that it may.`;
}

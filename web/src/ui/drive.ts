// SPDX-License-Identifier: Apache-2.0
// Sliders of the actuators and targets of the effectors.
import type { ActuatorInfo, ActuatorStatus, EffectorInfo, EffectorStatus, Hello, Status } from "../protocol";
import type { Session } from "../session";
import { format, setPlain, show } from "../units";
import { h, iconButton, section, setText } from "./dom";

const MODES = { scene: "motion", manual: "by hand", inverse: "inverse", tool: "tool" } as const;
const OUT_OF_REACH = "A target is out of reach: the robot comes as near as its actuators allow.";
const MODE_HELP = {
    scene: "Follows the motion of the scene",
    manual: "Set by hand",
    inverse: "Found by inverse control",
    tool: "Commanded by a tool",
} as const;

class ActuatorRow {
    readonly element: HTMLElement;
    private readonly slider: HTMLInputElement;
    private readonly number: HTMLInputElement;
    private readonly mode = h("span", { class: "badge" });
    private readonly effort = h("span", { class: "effort" });
    private readonly back: HTMLButtonElement;
    private readonly info: ActuatorInfo;
    private readonly session: Session;
    private readonly factor: number;
    private readonly digits: number;
    private held = 0; // the status does not move what a hand has just moved
    private waiting: number | null = null; // to be sent with the next picture

    constructor(info: ActuatorInfo, session: Session) {
        this.info = info;
        this.session = session;
        const as = show(info.unit);
        this.factor = as.factor;
        const span = (info.high - info.low) * as.factor;
        this.digits = span >= 500 ? 0 : span >= 50 ? 1 : span >= 0.5 ? 2 : 4;
        const low = (info.low * as.factor).toFixed(this.digits + 1), high = (info.high * as.factor).toFixed(this.digits + 1);
        const name = `${info.name}, ${info.kind}, ${as.unit || "no unit"}`;
        this.slider = h("input", {
            type: "range", min: low, max: high, step: span / 1000 || "any", value: 0, "aria-label": name,
            input: () => this.drive(Number(this.slider.value)),
        });
        this.number = h("input", {
            type: "number", min: low, max: high, step: "any", "aria-label": `${name}, as a number`,
            change: () => this.number.value.trim() !== "" && this.drive(Number(this.number.value)), // emptied is not 0
        });
        this.back = iconButton("back", `Hand ${info.name} back to the scene, a tool or inverse control`, () =>
            session.send({ type: "actuator", name: info.name, value: null }),
        );
        this.element = h("div", { class: "row actuator" },
            h("div", { class: "head" },
                h("span", { class: "name", title: info.kind }, info.name), this.mode, this.back,
                h("span", { class: "value" }, this.number, h("span", { class: "unit" }, as.unit))),
            this.slider,
            h("div", { class: "foot" }, h("span", {}, trim(low)), this.effort, h("span", {}, `${trim(high)} ${as.unit}`)));
    }

    update(status: ActuatorStatus): void {
        const { info } = this;
        setText(this.mode, MODES[status.mode] ?? status.mode);
        this.mode.dataset.mode = status.mode;
        this.mode.title = MODE_HELP[status.mode] ?? "";
        this.back.style.visibility = status.mode === "manual" ? "visible" : "hidden";
        const bound = status.mode === "inverse" ? status.bound : 0; // what a person or the scene sets is no news
        const place = format(status.displacement, info.displacement_unit), effort = format(status.effort, info.effort_unit);
        const other = info.drive === "effort" ? place : info.drive === "servo" ? `at ${place}, ${effort}` : effort;
        setText(this.effort, `${other}${bound ? (bound < 0 ? " · at its least" : " · at its most") : ""}`);
        this.effort.classList.toggle("bound", bound !== 0);
        if (this.waiting !== null || performance.now() - this.held < 400 || document.activeElement === this.number) return;
        const present = info.drive === "effort" ? status.effort : info.drive === "gas" ? null : status.displacement;
        this.show((status.mode === "inverse" || status.mode === "tool" ? present : status.value) ?? status.value ?? present ?? 0);
    }

    private show(value: number): void {
        this.slider.value = String(value * this.factor);
        this.number.value = (value * this.factor).toFixed(this.digits);
        this.fill();
    }

    private fill(): void {
        const { min, max, value } = this.slider;
        const part = (Number(value) - Number(min)) / (Number(max) - Number(min) || 1);
        this.slider.style.setProperty("--part", `${(100 * part).toFixed(1)}%`);
        this.slider.setAttribute("aria-valuetext", `${this.number.value} ${show(this.info.unit).unit}`);
    }

    private drive(shown: number): void {
        if (!Number.isFinite(shown)) return;
        this.held = performance.now();
        this.show(shown / this.factor);
        const sent = this.waiting !== null;
        this.waiting = Number(this.slider.value) / this.factor; // within its limits now
        if (sent) return;
        requestAnimationFrame(() => {
            this.held = performance.now();
            this.session.send({ type: "actuator", name: this.info.name, value: this.waiting! });
            this.waiting = null;
        });
    }
}

const trim = (text: string): string => String(Number(text));

class TargetRow {
    readonly element: HTMLElement;
    private readonly inputs: HTMLInputElement[];
    private readonly error = h("span", { class: "effort" });
    private readonly clear: HTMLButtonElement;
    private readonly set: HTMLButtonElement;
    private readonly factor: number;
    private value: number[] = [];

    constructor(info: EffectorInfo, session: Session, possible: boolean) {
        const as = show(info.unit);
        this.factor = as.factor;
        const axes = info.rows === 3 ? ["x", "y", "z"] : [""];
        const send = (): void => {
            if (this.inputs.some((i) => i.value.trim() === "")) return; // emptied is not 0
            session.send({ type: "target", name: info.name, value: this.inputs.map((i) => Number(i.value) / this.factor) });
        };
        this.inputs = axes.map((axis) =>
            h("input", {
                type: "number", step: "any", disabled: !possible, change: send,
                "aria-label": `Target of ${info.name}${axis ? `, ${axis}` : ""}, ${as.unit || "no unit"}`,
            }));
        this.set = h("button", {
            type: "button", class: "small", disabled: !possible, "aria-label": `Hold ${info.name} where it is`,
            click: () => session.send({ type: "target", name: info.name, value: this.value }),
        }, "Hold");
        this.clear = h("button", {
            type: "button", class: "small", "aria-label": `Take the target of ${info.name} away`,
            click: () => session.send({ type: "target", name: info.name, value: null }),
        }, "Release");
        this.element = h("div", { class: "row target" },
            h("div", { class: "head" },
                h("span", { class: "name", title: info.kind }, info.name), this.error, this.set, this.clear),
            h("div", { class: "triple" },
                ...this.inputs.map((input, i) => h("label", {}, h("span", { "aria-hidden": "true" }, axes[i]), input)),
                h("span", { class: "unit" }, as.unit)));
    }

    update(status: EffectorStatus, unit: string): void {
        const list = (v: number[] | number | null): number[] => (v === null ? [] : typeof v === "number" ? [v] : v);
        const target = list(status.target);
        this.value = list(status.value);
        const shown = target.length > 0 ? target : this.value;
        this.element.classList.toggle("set", target.length > 0);
        this.inputs.forEach((input, i) => {
            if (document.activeElement !== input && shown[i] !== undefined) input.value = (shown[i] * this.factor).toFixed(this.factor === 1 ? 5 : 2);
        });
        this.clear.hidden = !status.set;
        this.set.hidden = status.set;
        setText(this.error, target.length > 0 && status.error !== null ? `off by ${format(status.error, unit)}` : "no target");
    }
}

export class DrivePanel {
    readonly element = h("div", { class: "panel", id: "panel-drive" });
    private rows: ActuatorRow[] = [];
    private targets: TargetRow[] = [];
    private hello: Hello | null = null;
    private readonly units = h("select", {
        class: "tiny", "aria-label": "Units of lengths and angles",
        change: () => {
            setPlain(this.units.value === "m, rad");
            this.changed();
            if (this.hello) this.build(this.hello, this.session);
        },
    }, h("option", {}, "mm, °"), h("option", {}, "m, rad"));
    changed: () => void = () => undefined; ///< units are others now
    private readonly session: Session;
    private readonly reach = h("p", { class: "hint warn", hidden: true }, OUT_OF_REACH);

    constructor(session: Session) {
        this.session = session;
        session.on("hello", (hello) => this.build(hello, session));
        session.on("status", (status) => this.update(status));
    }

    private build(hello: Hello, session: Session): void {
        this.hello = hello;
        this.rows = hello.actuators.map((a) => new ActuatorRow(a, session));
        this.targets = hello.effectors.map((e) => new TargetRow(e, session, hello.inverse.possible));
        const hint = hello.inverse.possible
            ? "Drag the yellow ball in the picture, or type where it shall go. Hold X, Y or Z to keep to an axis."
            : `Targets cannot be set: ${hello.inverse.why || "this scene has no inverse control"}.`;
        this.element.replaceChildren(
            hello.actuators.length > 0 ? section("Actuators", h("label", { class: "units" }, "Units ", this.units), ...this.rows.map((r) => r.element))
                : section("Actuators", h("p", { class: "hint" }, "This scene has none. Pull the body with the mouse.")),
            hello.effectors.length > 0 ? section("Targets", this.reach, ...this.targets.map((t) => t.element), h("p", { class: "hint" }, hint)) : "",
        );
    }

    private update(status: Status): void {
        this.rows.forEach((row, i) => status.actuators[i] && row.update(status.actuators[i]));
        this.targets.forEach((row, i) => status.effectors[i] && row.update(status.effectors[i], this.hello!.effectors[i].unit));
        this.reach.hidden = !(status.inverse.active && status.inverse.out_of_reach);
        const by = status.inverse.blocked_by;
        setText(this.reach, by ? `A target is out of reach: contact of ${by[0]} and ${by[1]} blocks it.` : OUT_OF_REACH);
    }
}

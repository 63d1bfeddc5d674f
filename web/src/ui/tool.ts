// SPDX-License-Identifier: Apache-2.0
// Tools of a robot by the keyboard: while the mode is on, keys move the tool along the axes of the world, whatever the
// camera looks at, or turn it with Shift; [ and ] open and close the fingers, or the jaw of an instrument that a hand
// holds (a guided body), whose force is shown. What moves stops when its key is let go,
// when the page loses the focus or the connection, and on the server when this page is not heard of for a second.
import type { ActuatorInfo, Hello, Status, ToolInfo } from "../protocol";
import type { Session } from "../session";
import { brief, format } from "../units";
import { h, section, setText } from "./dom";

const AXES: Record<string, [axis: 0 | 1 | 2, sign: 1 | -1]> = {
    KeyD: [0, 1], KeyA: [0, -1], KeyW: [1, 1], KeyS: [1, -1], KeyE: [2, 1], KeyQ: [2, -1],
};
const FINGERS: Record<string, 1 | -1> = { BracketRight: 1, BracketLeft: -1 };
const REPEAT = 250; // [ms], beside the second after which the server lets go

export class ToolPanel {
    readonly element = h("div", { class: "panel", id: "panel-tool" });
    on = false; ///< the keyboard drives
    changed: () => void = () => undefined; ///< the mode, or the tool that is driven
    private readonly session: Session;
    private readonly held = new Set<string>();
    private turning = false; // Shift is down
    private moving = false; // the last message was not zero
    private gripping = false;
    private tools: ToolInfo[] = [];
    private fingers: { index: number; box: HTMLInputElement }[] = [];
    private readonly select = h("select", { id: "tool", "aria-label": "Tool", change: () => this.choose() });
    private readonly toggleButton = h("button", { type: "button", class: "small", id: "tool-mode", "aria-pressed": "false", click: () => this.toggle() }, "Drive by keyboard (T)");
    private readonly speed = h("input", { type: "range", min: 0, max: 1, step: "any", value: 0.5, "aria-label": "Speed of the tool", input: () => this.say() });
    private readonly speedText = h("span", { class: "unit" });
    private readonly place = h("dd", { id: "tool-place" }, "–");
    private readonly away = h("dd", { id: "tool-error" }, "–");
    private readonly limits = h("dd", {}, "–");
    private readonly who = h("dd", {}, "–");
    private readonly force = h("dd", { id: "tool-force" }, "–");
    private readonly jaw = h("dd", { id: "tool-grip" }, "–");
    private readonly robot: HTMLElement[]; // lines that mean something for tools of robots alone
    private readonly hand: HTMLElement[]; // for guided bodies
    private readonly grasp: HTMLElement[]; // for those with a jaw
    private readonly fingersPart: HTMLElement;
    private readonly list = h("div", { class: "layers", id: "tool-fingers" });
    private grip = 0; // of the buttons

    constructor(session: Session) {
        this.session = session;
        const finger = (name: string, sign: 1 | -1): HTMLElement => {
            const stop = (): void => void ((this.grip = 0), this.send());
            const start = (): void => void ((this.grip = sign), this.send());
            return h("button", {
                type: "button", class: "small", "aria-label": `${name} the fingers while pressed`, pointerdown: start, pointerup: stop, pointerleave: stop,
                keydown: (e: KeyboardEvent) => (e.key === " " || e.key === "Enter") && !e.repeat && start(), keyup: stop, blur: stop,
            }, name);
        };
        const key = (name: string, does: string): HTMLElement[] => [h("dt", {}, h("kbd", {}, name)), h("dd", {}, does)];
        this.robot = [h("dt", {}, "from its target"), this.away, h("dt", {}, "joints at an end"), this.limits];
        this.hand = [h("dt", {}, "force on the hand"), this.force];
        this.grasp = [h("dt", {}, "grip"), this.jaw];
        this.fingersPart = section("Fingers", h("div", { class: "head" }, finger("Open", -1), finger("Close", 1)), this.list);
        this.element.append(
            section("Tool", this.select, this.toggleButton,
                h("label", { class: "row" }, h("span", { class: "head" }, h("span", { class: "name" }, "Speed"), this.speedText), this.speed),
                h("dl", {}, h("dt", {}, "at"), this.place, ...this.robot, ...this.hand, ...this.grasp, h("dt", {}, "driven by"), this.who)),
            section("Keys", h("dl", { class: "keys" }, ...key("D A", "along x, and back"), ...key("W S", "along y, and back"), ...key("E Q", "along z, and back"),
                ...key("Shift", "with these: turn about that axis"), ...key("]", "close the fingers or the jaw: grasp"), ...key("[", "open them"), ...key("Esc", "leave the mode"))),
            this.fingersPart,
        );
        addEventListener("keydown", (e) => this.key(e, true), { capture: true });
        addEventListener("keyup", (e) => this.key(e, false), { capture: true });
        addEventListener("blur", () => this.stop());
        document.addEventListener("visibilitychange", () => document.hidden && this.stop());
        session.on("hello", (hello) => this.build(hello));
        session.on("status", (status) => this.update(status));
        session.on("connection", (c) => c !== "open" && this.stop());
        setInterval(() => (this.moving || this.gripping) && this.send(), REPEAT);
    }

    get tool(): number {
        return this.tools.length > 0 ? Math.max(0, this.select.selectedIndex) : -1;
    }

    toggle(on = !this.on): void {
        this.on = on && this.tools.length > 0 && this.session.connection === "open";
        this.toggleButton.setAttribute("aria-pressed", String(this.on));
        this.stop();
        this.changed();
    }

    /// All keys up.
    stop(): void {
        this.held.clear();
        this.turning = false;
        this.grip = 0;
        this.send();
    }

    private choose(): void {
        this.stop();
        this.offer();
        this.say();
        this.changed();
    }

    // Nothing empty is shown: lines and buttons that this tool has.
    private offer(): void {
        const tool = this.tools[this.tool];
        const show = (lines: HTMLElement[], on: boolean): void => lines.forEach((line) => (line.hidden = !on));
        show(this.robot, !tool?.guided);
        show(this.hand, !!tool?.guided);
        show(this.grasp, !!tool?.jaw);
        this.fingersPart.hidden = tool?.guided ? !tool.jaw : this.fingers.length === 0;
        this.list.hidden = !!tool?.guided;
    }

    // Half of what it can reach in a second at the most, or what the scene allows.
    private most(): { way: number; turn: number } {
        const tool = this.tools[this.tool];
        return { way: Math.min(tool?.speed ?? Infinity, 0.5 * (tool?.length ?? 1)), turn: Math.min(tool?.turning ?? Infinity, 2) };
    }

    private rate(): { way: number; turn: number } {
        const most = this.most(), share = 0.02 + 0.98 * Number(this.speed.value) ** 2;
        return { way: share * most.way, turn: share * most.turn };
    }

    private say(): void {
        const { way, turn } = this.rate();
        setText(this.speedText, `${format(way, "m/s")}, ${format(turn, "rad/s")}`);
        this.speed.style.setProperty("--part", `${(100 * Number(this.speed.value)).toFixed(1)}%`);
        this.speed.setAttribute("aria-valuetext", this.speedText.textContent ?? "");
    }

    private build(hello: Hello): void {
        this.on = this.moving = this.gripping = false;
        this.held.clear();
        this.toggleButton.setAttribute("aria-pressed", "false");
        this.tools = hello.tools ?? [];
        this.select.replaceChildren(...this.tools.map((t) => h("option", {}, t.name)));
        // Joints that the tool does not command itself. Those that bend one way are taken to be fingers.
        const free = hello.actuators.map((info, index) => ({ info, index })).filter(({ info }) =>
            info.kind === "joint" && (info.tool ?? null) === null && info.drive !== "effort" && !info.unit.endsWith("/s"));
        this.fingers = free.map(({ info, index }) => {
            const box = h("input", { type: "checkbox", "aria-label": `Finger joint: ${info.name}`, change: () => this.stop() });
            box.checked = bends(info);
            return { index, box };
        });
        this.list.replaceChildren(...this.fingers.map(({ box }, i) => h("label", { class: "check" }, box, free[i].info.name)));
        this.offer();
        this.say();
        this.changed();
    }

    private update(status: Status): void {
        const now = status.tools?.[this.tool];
        if (!now) return;
        setText(this.place, now.position.map((x) => format(x, "m")).join(", "));
        const [x, y, z, rx, ry, rz] = now.error;
        setText(this.away, `${format(Math.hypot(x, y, z), "m")}, ${format(Math.hypot(rx, ry, rz), "rad")}`);
        setText(this.limits, String(now.at_limits));
        if (now.force) setText(this.force, `${format(Math.hypot(...now.force), "N")} (${now.force.map((f) => format(f, "N")).join(", ")})`);
        if (now.grip !== null && now.grip !== undefined) setText(this.jaw, `${Math.round(100 * now.grip)} % closed`);
        setText(this.who, now.client === null ? (now.driven ? "nobody: it holds" : "the scene") : now.client === this.session.hello?.client ? "this page" : `page ${brief(now.client)}`);
    }

    private key(event: KeyboardEvent, down: boolean): void {
        if (!this.on) return;
        const at = event.target as HTMLElement;
        const typing = at instanceof HTMLSelectElement || (at instanceof HTMLInputElement && at.type !== "range" && at.type !== "checkbox");
        if (down && (typing || at.closest?.("dialog") || event.ctrlKey || event.metaKey || event.altKey)) return;
        const ours = event.code in AXES || event.code in FINGERS;
        const shift = event.key === "Shift";
        if (down && event.key === "Escape") return this.toggle(false);
        if (!ours && !shift) return;
        if (ours) {
            event.preventDefault();
            event.stopImmediatePropagation(); // these keys mean something else without the mode
        }
        if (event.repeat) return;
        if (ours) (down ? this.held.add(event.code) : this.held.delete(event.code));
        this.turning = shift ? down : event.shiftKey;
        this.send();
    }

    /// Velocity that the keys ask for: along and about the axes of the world.
    get twist(): number[] {
        const twist = [0, 0, 0, 0, 0, 0];
        const { way, turn } = this.rate();
        for (const code of this.held) {
            const found = AXES[code];
            if (found) twist[found[0] + (this.turning ? 3 : 0)] += found[1] * (this.turning ? turn : way);
        }
        return twist;
    }

    private send(): void {
        if (this.session.connection !== "open" || this.tool < 0) {
            this.moving = this.gripping = false;
            return;
        }
        const twist = this.twist, moves = twist.some((v) => v !== 0);
        if (moves || this.moving) this.session.send({ type: "tool", name: this.tools[this.tool].name, linear: twist.slice(0, 3), angular: twist.slice(3) });
        this.moving = moves;
        let rate = this.grip;
        for (const code of this.held) rate += FINGERS[code] ?? 0;
        const actuators = this.fingers.filter((f) => f.box.checked).map((f) => f.index).slice(0, 64);
        rate = 0.5 * Math.sign(rate);
        const tool = this.tools[this.tool], jaw = tool.guided && tool.jaw;
        const grips = jaw || (!tool.guided && actuators.length > 0);
        if (grips && (rate !== 0 || this.gripping)) this.session.send(jaw ? { type: "grip", name: tool.name, rate } : { type: "group", actuators, rate });
        this.gripping = rate !== 0 && grips;
    }
}

const bends = (a: ActuatorInfo): boolean => Math.min(Math.abs(a.low), Math.abs(a.high)) < 0.35 * Math.max(Math.abs(a.low), Math.abs(a.high));

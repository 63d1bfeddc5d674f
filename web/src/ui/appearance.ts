// SPDX-License-Identifier: Apache-2.0
// Colouring, legend, bodies, a cut through them, and layers.
import type { FieldInfo, Hello } from "../protocol";
import type { Field, Session } from "../session";
import { brief, nice, scaleOf } from "../units";
import { gradient, MAPS, type MapName } from "../view/colour";
import type { Layer, World } from "../view/world";
import { colourOf, COLOURS } from "../view/world";
import { h, section, setText } from "./dom";

const LAYERS: [Layer, string, string | null][] = [
    ["bodies", "Bodies", COLOURS.body[0]],
    ["mesh", "Mesh edges", null],
    ["cables", "Cables", COLOURS.cable],
    ["chambers", "Chambers", COLOURS.chamber],
    ["domain", "Reduced integration domain", COLOURS.domain],
    ["fixed", "Fixed nodes", "#222933"],
    ["probes", "Probes", COLOURS.probe],
    ["targets", "Effectors and targets", COLOURS.effector],
    ["forces", "Forces of springs and hands", COLOURS.spring],
    ["contacts", "Contact forces", COLOURS.contact],
    ["welds", "Forces of attachments", COLOURS.weld],
    ["labels", "Labels", null],
    ["grid", "Ground grid", null],
];

export class AppearancePanel {
    readonly element = h("div", { class: "panel", id: "panel-view" });
    readonly legend = h("div", { class: "legend", hidden: true, role: "img" });
    readonly arrows = h("div", { class: "arrow-legend", hidden: true, role: "img" });
    private readonly arrowText = h("span");
    private readonly select = h("select", { id: "field", "aria-label": "Colour by", change: () => this.choose(this.select.value) });
    private readonly fixedRange = h("input", { type: "checkbox", "aria-label": "Keep the range of the colours" });
    private readonly highest = h("input", { type: "number", min: 0, step: "any", "aria-label": "Highest value of the colours", change: () => this.giveRange() });
    private readonly unit = h("span", { class: "unit" });
    private readonly map = h("select", { id: "map", "aria-label": "Colour map", change: () => this.choose(this.field.name) },
        h("option", { value: "" }, "Colours as usual"), ...MAPS.map(([name, label]) => h("option", { value: name }, label)));
    private readonly list = h("div", { class: "layers" });
    private readonly bodies = section("Bodies", this.list);
    private readonly cutAxis = h("select", { id: "cut", "aria-label": "Cut bodies open along", change: () => this.cut() },
        ...[["", "No cut"], ["x", "Across x"], ["y", "Across y"], ["z", "Across z"]].map(([value, label]) => h("option", { value }, label)));
    private readonly cutAt = h("input", { type: "range", min: 0, max: 1, step: 0.005, value: 0.5, id: "cut-at", "aria-label": "Where the cut is", input: () => this.cut() });
    private readonly cutSide = h("input", { type: "checkbox", "aria-label": "Show the other side of the cut", change: () => this.cut() });
    private readonly cutMore = h("div", { hidden: true }, this.cutAt, h("label", { class: "check" }, this.cutSide, "The other side"));
    private readonly legendTitle = h("span", { class: "title" });
    private readonly legendBar = h("div", { class: "bar" });
    private readonly ticks = [h("span"), h("span"), h("span")];
    private readonly boxes = new Map<Layer, { input: HTMLInputElement; label: HTMLElement }>();
    private readonly session: Session;
    private readonly world: World;
    private field: FieldInfo = { name: "none", label: "none", unit: "" };
    private most = 0;
    private recorded = ""; // in a replay: the field whose values the recording has at this time

    constructor(session: Session, world: World) {
        this.session = session;
        this.world = world;
        const layers = h("div", { class: "layers" });
        for (const [layer, name, colour] of LAYERS) {
            const input = h("input", {
                type: "checkbox", "aria-label": `Layer: ${name}`,
                change: () => {
                    world.layers[layer] = input.checked;
                    world.applyLayers();
                    this.showArrows();
                },
            });
            input.checked = world.layers[layer];
            const swatch = h("span", { class: "swatch", style: colour ? `background:${colour}` : "" });
            const label = h("label", { class: "check" }, input, swatch, name);
            this.boxes.set(layer, { input, label });
            layers.append(label);
        }
        this.element.append(
            section("Colour by", this.select, this.map,
                h("div", { class: "range" }, h("label", { class: "check" }, this.fixedRange, "Keep the range"), h("span", { class: "spring" }), "up to", this.highest, this.unit)),
            this.bodies,
            section("Cut", this.cutAxis, this.cutMore),
            section("Layers", layers),
        );
        this.legend.append(this.legendTitle, this.legendBar, h("div", { class: "ticks" }, ...this.ticks));
        session.on("hello", (hello) => this.takeHello(hello));
        session.on("field", (field) => this.takeField(field));
        this.arrows.append(h("i", { style: `color:${COLOURS.contact}` }, "⟶"), this.arrowText);
        session.on("frame", () => {
            this.takeFrame();
            this.showArrows();
        });
        session.on("status", (status) => session.connection === "replay" && this.follow(status.you.field));
        session.on("connection", (c) => c === "open" && this.ask());
    }

    /// The next field of the list, for the keyboard.
    next(): void {
        this.select.selectedIndex = (this.select.selectedIndex + 1) % Math.max(1, this.select.length);
        this.choose(this.select.value);
    }

    toggle(layer: Layer): void {
        this.boxes.get(layer)?.input.click();
    }

    private takeHello(hello: Hello): void {
        this.recorded = hello.recorded ?? this.recorded;
        const before = this.field.name === "none" ? this.recorded : this.field.name;
        this.offer(hello);
        const has = (kind: string): boolean => hello.meshes.some((m) => m.kind === kind);
        const offered: Partial<Record<Layer, boolean>> = {
            cables: hello.actuators.some((a) => a.points > 0),
            chambers: has("cavity"),
            domain: has("domain"),
            probes: hello.probes.length > 0,
            targets: hello.effectors.length > 0,
            contacts: hello.contact?.possible ?? false,
            welds: (hello.attachments?.length ?? 0) > 0,
            fixed: hello.recorded === undefined, // neither is in the files of a run
            forces: hello.recorded === undefined,
        };
        for (const [layer, { label }] of this.boxes) label.hidden = offered[layer] === false;
        this.listBodies(hello);
        this.cutAxis.value = this.world.cut.on ? this.cutAxis.value : "";
        this.cut();
        this.choose([...this.select.options].some((o) => o.value === before) ? before : "none");
    }

    // One can be put out of sight to see the others. A single one has its layer.
    private listBodies(hello: Hello): void {
        const drawn = hello.bodies.map((_, b) => hello.meshes.some((m) => m.body === b));
        this.bodies.hidden = drawn.filter(Boolean).length < 2;
        this.list.replaceChildren(...hello.bodies.map((body, b) => {
            const input = h("input", {
                type: "checkbox", "aria-label": `Body: ${body.name}`,
                change: () => {
                    if (input.checked) this.world.hidden.delete(b);
                    else this.world.hidden.add(b);
                    this.world.applyLayers();
                },
            });
            input.checked = !this.world.hidden.has(b);
            const links = body.links?.length ?? 0;
            const size = body.kind === "rigid" ? (links > 1 ? `${links} links` : "rigid") : body.kind === "reduced" ? `${body.modes} modes` : `${body.nodes} nodes`;
            const mesh = hello.meshes.find((m) => m.body === b && m.kind === "surface");
            const colour = mesh ? colourOf(mesh, hello) : null;
            const label = h("label", { class: "check" }, input, h("span", { class: "swatch", style: colour ? `background:${colour}` : "" }),
                body.name, h("span", { class: "spring" }), h("span", { class: "unit" }, size));
            label.hidden = !drawn[b];
            return label;
        }));
    }

    // Across the bounds of the bodies at rest, with some room.
    private cut(): void {
        const axis = this.cutAxis.value as "" | "x" | "y" | "z", { cut } = this.world, hello = this.session.hello;
        this.cutMore.hidden = axis === "";
        cut.on = axis !== "" && hello !== null;
        if (cut.on) {
            const k = "xyz".indexOf(axis), low = hello!.bounds[0][k], high = hello!.bounds[1][k], room = 0.25 * (high - low);
            const at = low - room + (high - low + 2 * room) * Number(this.cutAt.value), sign = this.cutSide.checked ? -1 : 1;
            cut.plane.normal.set(0, 0, 0)[axis as "x" | "y" | "z"] = sign;
            cut.plane.constant = -sign * at;
            this.cutAt.style.setProperty("--part", `${100 * Number(this.cutAt.value)}%`);
            this.cutAt.setAttribute("aria-valuetext", `${axis} = ${brief(1e3 * at)} mm`);
        }
        this.world.applyLayers();
        this.world.stage.invalidate();
    }

    // A range of one's own stays until somebody lets it go.
    private giveRange(): void {
        const given = Number(this.highest.value) / scaleOf(this.most, this.field.unit).factor;
        if (!(given > 0) || !Number.isFinite(given)) return this.setRange(this.most);
        this.fixedRange.checked = true;
        this.most = given;
        this.setRange(given);
    }

    /// What an arrow of full length stands for.
    private showArrows(): void {
        const { forceScale, layers } = this.world;
        const welds = (this.session.hello?.attachments?.length ?? 0) > 0;
        this.arrows.hidden = forceScale === 0 || !(layers.contacts || (welds && layers.welds));
        if (forceScale === 0) return;
        const scale = scaleOf(forceScale, "N");
        const text = `${brief(forceScale * scale.factor)} ${scale.unit}`;
        setText(this.arrowText, `${welds ? "contact or attachment" : "contact"} force ${text}`);
        this.arrows.setAttribute("aria-label", `Arrows: ${welds ? "contact and attachment" : "contact"} forces, the longest is ${text}`);
    }

    // A recording has the values of one field at a time; displacements are worked out here.
    private offer(hello: Hello): void {
        const live = this.session.connection !== "replay";
        const offered = hello.fields.filter((f) => live || ["none", "displacement", this.recorded].includes(f.name));
        this.select.replaceChildren(...offered.map((f) => h("option", { value: f.name }, f.name === "none" ? "Body colour" : capital(f.label))));
        this.select.value = this.field.name;
    }

    // Colours as whoever recorded saw them, unless others were chosen since.
    private follow(recorded: string): void {
        if (recorded === this.recorded) return;
        const same = this.recorded === "" || this.field.name === this.recorded;
        this.recorded = recorded;
        this.offer(this.session.hello!);
        if (same) this.choose(recorded);
    }

    private choose(name: string): void {
        const hello = this.session.hello;
        const index = hello?.fields.findIndex((f) => f.name === name) ?? -1;
        const same = this.field.name === name;
        this.field = hello?.fields[index] ?? { name: "none", label: "none", unit: "" };
        this.select.value = this.field.name;
        if (!this.fixedRange.checked || !same) this.most = 0;
        const usual: MapName = this.field.name.includes("error") ? "inferno" : "viridis", map = (this.map.value || usual) as MapName;
        this.world.setColouring(this.field.name === "none" ? 0 : this.field.name === "displacement" ? 1 : 2, map, index);
        this.legendBar.style.background = gradient(map);
        this.map.hidden = this.highest.parentElement!.hidden = this.field.name === "none";
        setText(this.legendTitle, capital(this.field.label));
        this.legend.hidden = this.field.name === "none";
        const known = this.session.field?.index === index ? this.session.field : null;
        this.world.setField(known);
        if (known) this.takeField(known);
        else this.noRange();
        this.ask();
        this.takeFrame();
    }

    // Displacements are worked out on the GPU; every other field is the server's.
    private ask(): void {
        if (this.session.connection === "open")
            this.session.send({ type: "field", name: this.field.name === "displacement" ? "none" : this.field.name });
    }

    private takeField(field: Field): void {
        if (this.session.hello?.fields[field.index]?.name !== this.field.name) return;
        this.setRange(this.world.mostField());
    }

    private takeFrame(): void {
        if (this.field.name !== "displacement" || !this.session.hello) return;
        this.setRange(this.world.mostDisplacement());
    }

    // Until values come nothing can be told.
    private noRange(): void {
        this.world.paint.low.value = 0;
        this.world.paint.high.value = 1;
        for (const tick of this.ticks) setText(tick, "–");
        this.legend.setAttribute("aria-label", `Colours: ${this.field.label}, no values yet`);
    }

    // Grows at once, shrinks when the present values have become less than a third: colours do not flicker.
    private setRange(present: number): void {
        if (!(this.fixedRange.checked && this.most > 0)) {
            const round = nice(Math.max(present, 1e-12));
            if (round > this.most || round < this.most / 3) this.most = round;
        }
        this.world.paint.low.value = 0;
        this.world.paint.high.value = this.most;
        const scale = scaleOf(this.most, this.field.unit);
        const tick = (part: number): string => brief(this.most * part * scale.factor);
        if (document.activeElement !== this.highest) this.highest.value = String(Number((this.most * scale.factor).toPrecision(4)));
        setText(this.unit, scale.unit);
        setText(this.ticks[0], "0");
        setText(this.ticks[1], tick(0.5));
        setText(this.ticks[2], `${tick(1)} ${scale.unit}`);
        this.legend.setAttribute("aria-label", `Colours: ${this.field.label} from 0 to ${tick(1)} ${scale.unit}`);
        this.world.stage.invalidate();
    }
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

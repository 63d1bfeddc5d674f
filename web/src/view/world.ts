// SPDX-License-Identifier: Apache-2.0
// The scene of the session as it is drawn: bodies and everything that belongs to them, brought up to date by frames.
import * as THREE from "three";
import { probeName, SECTION, sectionOf, type Hello, type MeshInfo, type Message } from "../protocol";
import type { Field, Session, Topology } from "../session";
import { nice } from "../units";
import { colourTexture, type MapName } from "./colour";
import { Shape } from "./gpu";
import { Arrows, ballShape, Copies, Labels, rodShape } from "./marks";
import { Skin, type Paint } from "./skin";
import { disposeOf, planeShape, type Stage } from "./stage";

export type Layer = "bodies" | "mesh" | "cables" | "chambers" | "fixed" | "domain" | "probes" | "targets" | "forces" | "contacts" | "welds" | "labels" | "grid";

export const COLOURS = {
    body: ["#6f9bc8", "#d59b6a", "#7fb08a", "#b48ec0", "#c9b25f", "#7fa9ad"],
    link: "#9aa6b2",
    cable: "#d9482b",
    chamber: "#e08a3c",
    domain: "#8b5cf6",
    probe: "#0e9f8e",
    effector: "#f2b01e",
    target: "#e5484d",
    spring: "#16a34a",
    contact: "#e11d74",
    weld: "#7c4dff",
};

export class World {
    readonly stage: Stage;
    readonly like: World | null; ///< another one, beside it, whose layers, colours and cut these are
    beside: World | null = null; ///< the other way round
    readonly layers: Record<Layer, boolean>;
    readonly paint: Paint;
    readonly plain: Paint; ///< of links, which have no stress
    private ownScale = 0; // [N] of the longest arrow of a contact; 0: no contact yet
    contactCount = 0; ///< arrows of the last frame
    readonly extra = new Map<number, Float32Array>(); ///< of the mode browser, by body: added to coordinates
    skins: (Skin | null)[] = [];
    hello: Hello | null = null;
    readonly effectors: THREE.Vector3[] = [];
    readonly targets: (THREE.Vector3 | null)[] = [];
    readonly labels: Labels;
    heldTarget: { index: number; point: THREE.Vector3 } | null = null; ///< under the pointer: drawn where it is dragged
    heldSpring: { point: () => THREE.Vector3; anchor: THREE.Vector3 } | null = null;

    private readonly root = new THREE.Group();
    private cables: Copies | null = null;
    private knots: Copies | null = null;
    private probes: Copies | null = null;
    private tips: Copies | null = null;
    private goals: Copies | null = null;
    private leads: Copies | null = null;
    private springs: Arrows | null = null;
    private axes: Arrows[] = [];
    private felt: Arrows | null = null; // forces that hands feel
    drivenTool = -1; ///< whose axes are shown
    private contacts: Arrows | null = null;
    private welds: Arrows | null = null;
    private planes: { shape: THREE.Object3D; body: number }[] = [];
    readonly hidden = new Set<number>(); ///< bodies that are not shown
    /// Bodies are cut open by it: what lies on its negative side is not drawn.
    readonly cut: { on: boolean; plane: THREE.Plane };
    private field = -1; // index of the one that bodies are coloured by
    private colouring: { mode: 0 | 1 | 2; map: MapName } = { mode: 0, map: "viridis" };
    private readonly session: Session;
    private readonly maps: Record<MapName, THREE.Texture> = { viridis: colourTexture("viridis"), inferno: colourTexture("inferno"), grey: colourTexture("grey") };
    private readonly p = new THREE.Vector3();
    private readonly q = new THREE.Vector3();

    constructor(session: Session, stage: Stage, overlay: HTMLElement, like: World | null = null) {
        this.stage = stage;
        this.session = session;
        this.like = like;
        this.layers = like?.layers ?? {
            bodies: true, mesh: false, cables: true, chambers: false, fixed: false, domain: false, probes: false,
            targets: true, forces: true, contacts: true, welds: true, labels: true, grid: true,
        };
        this.paint = like?.paint ?? { map: { value: this.maps.viridis }, low: { value: 0 }, high: { value: 1 }, mode: { value: 0 } };
        this.plain = like?.plain ?? { ...this.paint, mode: { value: 0 } };
        this.cut = like?.cut ?? { on: false, plane: new THREE.Plane(new THREE.Vector3(0, 1, 0), 0) };
        this.labels = new Labels(overlay, stage);
        stage.scene.add(this.root);
        stage.present = () => {
            const all = this.skins.filter((skin, i) => skin && this.hello!.meshes[i].kind === "surface").map((skin) => skin!.shape.all());
            const joined = new Float32Array(all.reduce((n, x) => n + x.length, 0));
            let at = 0;
            for (const x of all) {
                joined.set(x, at);
                at += x.length;
            }
            return joined;
        };
        stage.before.push(() => {
            for (const skin of this.skins) if (skin?.group.visible) skin.shape.update(stage.renderer);
        });
        session.on("topology", (topology) => this.build(session.hello!, topology));
        session.on("frame", (frame) => this.take(frame));
        session.on("field", (field) => field.index === this.field && this.setField(field));
    }

    /// field: index of the one to colour by; others may still be on their way.
    setColouring(mode: 0 | 1 | 2, map: MapName, field: number): void {
        this.field = field;
        this.colouring = { mode, map };
        this.paint.mode.value = mode;
        this.plain.mode.value = mode === 1 ? 1 : 0;
        if (!this.like) this.paint.map.value = this.maps[map];
        this.recolour();
        this.stage.invalidate();
    }

    /// Tells the world beside this one what it is coloured by: the field of the same name, where it has values of it.
    recolour(): void {
        const { beside } = this, name = this.hello?.fields[this.field]?.name;
        if (!beside?.hello) return;
        const index = beside.hello.fields.findIndex((f) => f.name === name);
        beside.setColouring(this.colouring.mode, this.colouring.map, index);
        beside.setField(beside.session.field?.index === index ? beside.session.field : null);
    }

    /// The largest displacement that is shown, here and beside [m].
    mostDisplacement(): number {
        let most = 0;
        this.hello?.meshes.forEach((mesh, m) => {
            const shape = this.skins[m]?.shape;
            if (mesh.kind !== "surface" || !shape) return;
            const x = shape.all(), x0 = shape.rest;
            for (let i = 0; i < x.length; i += 3) {
                const d = (x[i] - x0[i]) ** 2 + (x[i + 1] - x0[i + 1]) ** 2 + (x[i + 2] - x0[i + 2]) ** 2;
                if (d > most) most = d;
            }
        });
        return Math.max(Math.sqrt(most), this.beside?.mostDisplacement() ?? 0);
    }

    /// The largest value of the field that bodies are coloured by, here and beside.
    mostField(): number {
        let most = 0;
        const { field } = this.session;
        if (field?.index === this.field)
            for (const [mesh, values] of field.values)
                if (this.hello?.meshes[mesh]?.kind === "surface") for (const v of values) if (v > most) most = v;
        return Math.max(most, this.beside?.mostField() ?? 0);
    }

    /// [N] of the longest arrow of a contact, here and beside; 0: no contact yet.
    get forceScale(): number {
        return Math.max(this.ownScale, this.beside?.ownScale ?? this.like?.ownScale ?? 0);
    }

    /// Values to colour by; 0 where there are none.
    setField(field: Field | null): void {
        this.skins.forEach((skin, mesh) => skin?.setField(field?.values.get(mesh) ?? new Float32Array(skin.shape.vertices)));
        this.stage.invalidate();
    }

    applyLayers(): void {
        const { layers, hello } = this;
        if (!hello) return;
        const inside = (layers.chambers && hello.meshes.some((m) => m.kind === "cavity")) ||
            (layers.domain && hello.meshes.some((m) => m.kind === "domain"));
        hello.meshes.forEach((mesh, i) => {
            const skin = this.skins[i];
            if (!skin) return;
            const shown = !this.hidden.has(mesh.body);
            if (mesh.kind === "surface") {
                skin.group.visible = layers.bodies && shown;
                skin.setOpacity(inside ? 0.3 : 1);
                skin.edges.visible = layers.mesh;
                if (skin.fixed) skin.fixed.visible = layers.fixed;
            } else skin.group.visible = shown && (mesh.kind === "cavity" ? layers.chambers : layers.domain);
            skin.setCut(this.cut.on ? this.cut.plane : null);
            if (skin.group.visible) skin.shape.stale = true;
        });
        const show = (what: Copies | Arrows | null, on: boolean): void => {
            if (what) what.group.visible = on;
        };
        show(this.cables, layers.cables);
        show(this.knots, layers.cables);
        show(this.probes, layers.probes);
        show(this.tips, layers.targets);
        show(this.goals, layers.targets);
        show(this.leads, layers.targets);
        show(this.springs, layers.forces);
        show(this.contacts, layers.contacts);
        show(this.welds, layers.welds);
        show(this.felt, layers.forces);
        for (const { shape, body } of this.planes) shape.visible = layers.bodies && !this.hidden.has(body);
        this.stage.setGrid(layers.grid);
        this.refresh();
        const { beside } = this; // bodies of the same name are out of sight there too
        if (!beside?.hello) return;
        beside.hidden.clear();
        beside.hello.bodies.forEach((body, b) => hello.bodies.some((own, i) => own.name === body.name && this.hidden.has(i)) && beside.hidden.add(b));
        beside.applyLayers();
    }

    /// Draws the last frame again, after something of the page's own changed.
    refresh(): void {
        if (this.last) this.take(this.last);
    }
    private last: Message | null = null;

    private build(hello: Hello, topology: Topology[]): void {
        const sameScene = this.hello?.scene === hello.scene && this.hello?.size === hello.size;
        this.clear();
        if (!sameScene) this.hidden.clear();
        if (!sameScene && !this.like) this.cut.on = false;
        this.hello = hello;
        let floor = hello.floor ?? null;
        const size = new THREE.Vector3().subVectors(new THREE.Vector3().fromArray(hello.bounds[1]), new THREE.Vector3().fromArray(hello.bounds[0])).length();
        this.skins = hello.meshes.map((mesh, i) => {
            const t = topology[i];
            if (t.triangles.length === 0) return null;
            if (mesh.kind === "plane") {
                floor = this.addPlane(t, mesh.body, size) ?? floor;
                return null;
            }
            const shape = new Shape(t.rest, t.triangles, t.modes, t.columns);
            const surface = mesh.kind === "surface";
            const colour = surface ? colourOf(mesh, hello)
                : mesh.kind === "cavity" ? COLOURS.chamber : COLOURS.domain;
            const rigid = hello.bodies[mesh.body].kind === "rigid";
            const paint: Paint = !surface ? { ...this.paint, mode: { value: 0 } } : rigid ? this.plain : this.paint;
            const skin = new Skin(shape, paint, colour, t.fixed, this.stage.pixels, mesh.colour?.[3] ?? 1, mesh.kind === "cavity");
            this.root.add(skin.group);
            return skin;
        });
        const links = hello.actuators.reduce((n, a) => n + Math.max(0, a.points - 1), 0);
        const knots = hello.actuators.reduce((n, a) => n + a.points, 0);
        const add = <T extends Copies | Arrows>(what: T): T => (this.root.add(what.group), what);
        this.cables = add(new Copies(rodShape(), COLOURS.cable, Math.max(1, links)));
        this.knots = add(new Copies(ballShape(), COLOURS.cable, Math.max(1, knots)));
        this.probes = add(new Copies(ballShape(), COLOURS.probe, Math.max(1, hello.probes.length), 0.5));
        this.tips = add(new Copies(ballShape(), COLOURS.effector, Math.max(1, hello.effectors.length), 0.5));
        this.goals = add(new Copies(ballShape(), COLOURS.target, Math.max(1, hello.effectors.length), 0.6));
        this.leads = add(new Copies(rodShape(), COLOURS.target, Math.max(1, hello.effectors.length), 0.6));
        this.springs = add(new Arrows(COLOURS.spring, 2 * Math.max(1, hello.spring?.springs ?? 8)));
        this.axes = ["#e5484d", "#2f9e5f", "#3b6fd6"].map((colour) => add(new Arrows(colour, 1)));
        this.contacts = add(new Arrows(COLOURS.contact, Math.max(1, hello.contact?.most ?? 1024)));
        this.welds = add(new Arrows(COLOURS.weld, Math.max(1, hello.attachments?.length ?? 0)));
        this.felt = add(new Arrows(COLOURS.spring, Math.max(1, hello.tools?.length ?? 0)));
        this.ownScale = this.contactCount = 0;
        const bounds = new THREE.Box3(new THREE.Vector3().fromArray(hello.bounds[0]), new THREE.Vector3().fromArray(hello.bounds[1]));
        const points = topology.filter((_, i) => hello.meshes[i].kind === "surface").flatMap((t) => Array.from(t.rest));
        if (!sameScene) this.stage.setBounds(bounds, Float32Array.from(points), floor);
        this.applyLayers();
        this.stage.invalidate();
    }

    private clear(): void {
        for (const skin of this.skins) skin?.dispose();
        for (const what of [this.cables, this.knots, this.probes, this.tips, this.goals, this.leads, this.springs, this.contacts, this.welds, this.felt, ...this.axes])
            what?.dispose();
        for (const { shape } of this.planes) disposeOf(shape);
        this.planes = [];
        this.root.clear();
        this.labels.clear();
        this.extra.clear();
        this.effectors.length = this.targets.length = 0;
        this.last = this.heldTarget = this.heldSpring = null;
    }

    private take(frame: Message): void {
        const hello = this.hello;
        if (!hello) return;
        this.last = frame;
        for (const s of frame.sections) {
            if (s.type === SECTION.positions) this.skins[s.index]?.shape.setPositions(s.f32);
            else if (s.type === SECTION.coordinates) this.setCoordinates(s.index, s.f32);
            else if (s.type === SECTION.poses) this.setPoses(s.index, s.f32);
        }
        this.takeCables(frame, hello);
        this.takeProbes(frame, hello);
        this.takeEffectors(frame, hello);
        this.takeSprings(frame, hello);
        this.takeContacts(frame, hello);
        this.takeTool(frame, hello);
        this.takeFelt(frame, hello);
        this.stage.invalidate();
    }

    private setCoordinates(body: number, coordinates: Float32Array): void {
        const extra = this.extra.get(body);
        let sum = coordinates;
        if (extra) {
            sum = coordinates.slice();
            for (let k = 0; k < Math.min(extra.length, sum.length); k++) sum[k] += extra[k];
        }
        this.hello!.meshes.forEach((mesh, i) => {
            if (mesh.body === body) this.skins[i]?.shape.setCoordinates(sum);
        });
    }

    private setPoses(body: number, poses: Float32Array): void {
        this.hello!.meshes.forEach((mesh, i) => {
            const at = mesh.pose ?? -1;
            if (mesh.body === body && at >= 0 && 7 * (at + 1) <= poses.length) this.skins[i]?.setPose(poses.subarray(7 * at, 7 * at + 7));
        });
    }

    /// A plane of the scene. One that is a floor is the ground of the picture; its height is returned.
    private addPlane(t: Topology, body: number, size: number): number | null {
        const corner = (i: number): THREE.Vector3 => new THREE.Vector3().fromArray(t.rest, 3 * t.triangles[i]);
        const centre = new THREE.Vector3();
        for (let i = 0; i < t.rest.length; i += 3) centre.addScaledVector(new THREE.Vector3().fromArray(t.rest, i), 3 / t.rest.length);
        const normal = corner(1).sub(corner(0)).cross(corner(2).sub(corner(0))).normalize();
        if (normal.z > 0.9999) return centre.z;
        const shape = planeShape(centre, normal, 1.3 * size);
        this.planes.push({ shape, body });
        this.root.add(shape);
        return null;
    }

    private takeCables(frame: Message, hello: Hello): void {
        this.cables!.begin();
        this.knots!.begin();
        const radius = 0.0052 * hello.size;
        for (const s of frame.sections) {
            if (s.type !== SECTION.cable) continue;
            for (let i = 0; i < s.count; i++) {
                this.q.fromArray(s.f32, 3 * i);
                this.knots!.ball(this.q, (i === 0 || i === s.count - 1 ? 1.9 : 1.3) * radius);
                if (i > 0) this.cables!.rod(this.p, this.q, radius);
                this.p.copy(this.q);
            }
        }
        this.cables!.end();
        this.knots!.end();
    }

    private takeProbes(frame: Message, hello: Hello): void {
        const s = sectionOf(frame, SECTION.probes);
        this.probes!.begin();
        for (let i = 0; i < (s?.count ?? 0); i++) {
            this.p.fromArray(s!.f32, 3 * i);
            this.probes!.ball(this.p, 0.013 * hello.size);
            const key = `probe ${i}`;
            if (this.layers.probes && this.layers.labels) this.labels.set(key, probeName(hello.probes[i]), this.p, "probe");
            else this.labels.hide(key);
        }
        this.probes!.end();
    }

    private takeEffectors(frame: Message, hello: Hello): void {
        const s = sectionOf(frame, SECTION.effectors);
        const on = this.layers.targets;
        this.tips!.begin();
        this.goals!.begin();
        this.leads!.begin();
        for (let i = 0; i < (s?.count ?? 0); i++) {
            if (hello.effectors[i]?.kind !== "position") continue;
            const value = (this.effectors[i] ??= new THREE.Vector3()).fromArray(s!.f32, 7 * i);
            const set = Number.isFinite(s!.f32[7 * i + 3]);
            let target = set ? new THREE.Vector3().fromArray(s!.f32, 7 * i + 3) : null;
            if (this.heldTarget?.index === i) target = this.heldTarget.point.clone();
            this.targets[i] = target;
            this.tips!.ball(value, 0.018 * hello.size);
            const key = `effector ${i}`;
            if (target) {
                this.goals!.ball(target, 0.022 * hello.size);
                if (target.distanceTo(value) > 0.02 * hello.size) this.leads!.rod(value, target, 0.003 * hello.size);
            }
            if (on && this.layers.labels && !this.layers.probes)
                this.labels.set(key, hello.effectors[i].name, target ?? value, target ? "target" : "effector");
            else this.labels.hide(key);
        }
        this.tips!.end();
        this.goals!.end();
        this.leads!.end();
    }

    private takeSprings(frame: Message, hello: Hello): void {
        const s = sectionOf(frame, SECTION.springs);
        this.springs!.begin();
        let mine = false;
        for (let i = 0; i < (s?.count ?? 0); i++) {
            const at = 11 * i;
            const own = s!.f32[at] === hello.client;
            this.p.fromArray(s!.f32, at + 1);
            this.q.fromArray(s!.f32, at + 4);
            if (own && this.heldSpring) this.q.copy(this.heldSpring.anchor);
            const force = Math.hypot(s!.f32[at + 7], s!.f32[at + 8], s!.f32[at + 9]);
            this.springs!.arrow(this.p, this.q, 0.005 * hello.size);
            const key = own ? "spring" : `spring ${i}`;
            if (own) mine = true;
            if (this.layers.forces) this.labels.set(key, force >= 0.1 ? `${force.toFixed(2)} N` : `${(1e3 * force).toFixed(0)} mN`, this.q, "spring");
        }
        if (!mine) this.labels.hide("spring");
        for (let i = s?.count ?? 0; i < 16; i++) this.labels.hide(`spring ${i}`);
        this.springs!.end();
    }

    // The axes of the world at the tool that the keyboard drives: what its keys are about.
    private takeTool(frame: Message, hello: Hello): void {
        const s = sectionOf(frame, SECTION.tools);
        const shown = this.drivenTool >= 0 && this.drivenTool < (s?.count ?? 0);
        this.axes.forEach((axis, k) => {
            axis.begin();
            const name = "xyz"[k];
            if (shown) {
                this.p.fromArray(s!.f32, s!.width * this.drivenTool);
                this.q.copy(this.p);
                this.q[name as "x" | "y" | "z"] += 0.16 * hello.size;
                axis.arrow(this.p, this.q, 0.005 * hello.size);
                this.labels.set(`axis ${name}`, name, this.q, "probe");
            } else this.labels.hide(`axis ${name}`);
            axis.end();
        });
    }

    // What a hand feels of the body that it holds: an arrow at the body, in the scale of the contacts, and its value.
    private takeFelt(frame: Message, hello: Hello): void {
        const s = sectionOf(frame, SECTION.toolForces), places = sectionOf(frame, SECTION.tools);
        this.felt!.begin();
        for (let i = 0; i < (hello.tools?.length ?? 0); i++) {
            const key = `felt ${i}`, name = hello.tools![i].name;
            const force = s && i < s.count ? this.q.fromArray(s.f32, s.width * i).length() : NaN;
            if (!places || !(force > 0)) {
                this.labels.hide(key);
                continue;
            }
            if (force > this.ownScale) this.ownScale = nice(force);
            this.p.fromArray(places.f32, places.width * i);
            this.q.multiplyScalar((0.25 * hello.size) / Math.max(this.forceScale, 1e-12)).add(this.p);
            this.felt!.arrow(this.p, this.q, 0.006 * hello.size);
            if (this.layers.forces) this.labels.set(key, `${name} ${force >= 0.1 ? `${force.toFixed(2)} N` : `${(1e3 * force).toFixed(0)} mN`}`, this.q, "spring");
            else this.labels.hide(key);
        }
        this.felt!.end();
    }

    // The scale of arrows grows at once and shrinks when the present forces have become less than a quarter of it.
    private takeContacts(frame: Message, hello: Hello): void {
        const s = sectionOf(frame, SECTION.contacts);
        this.contacts!.begin();
        let most = 0;
        for (let i = 0; i < (s?.count ?? 0); i++) most = Math.max(most, this.q.fromArray(s!.f32, 8 * i + 3).length());
        const held = sectionOf(frame, SECTION.attachments);
        for (let i = 0; i < (held?.count ?? 0); i++) most = Math.max(most, this.q.fromArray(held!.f32, 6 * i + 3).length());
        if (most > this.ownScale || (most > 0 && most < this.ownScale / 4)) this.ownScale = nice(most);
        this.contactCount = s?.count ?? 0;
        for (let i = 0; i < this.contactCount; i++) {
            this.p.fromArray(s!.f32, 8 * i);
            this.q.fromArray(s!.f32, 8 * i + 3).multiplyScalar((0.25 * hello.size) / Math.max(this.forceScale, 1e-12));
            this.q.add(this.p);
            this.contacts!.arrow(this.p, this.q, 0.0035 * hello.size);
        }
        this.contacts!.end();
        this.welds!.begin();
        for (let i = 0; i < (held?.count ?? 0); i++) {
            this.p.fromArray(held!.f32, 6 * i);
            this.q.fromArray(held!.f32, 6 * i + 3).multiplyScalar((0.25 * hello.size) / Math.max(this.forceScale, 1e-12)).add(this.p);
            this.welds!.arrow(this.p, this.q, 0.005 * hello.size);
        }
        this.welds!.end();
    }
}

/// What the scene gives, else one for each body; robots of many links are grey.
export function colourOf(mesh: MeshInfo, hello: Hello): string {
    if (mesh.colour) return new THREE.Color().setRGB(mesh.colour[0], mesh.colour[1], mesh.colour[2], THREE.SRGBColorSpace).getStyle();
    const body = hello.bodies[mesh.body];
    return (body.links?.length ?? 0) > 1 || body.fixed ? COLOURS.link : COLOURS.body[mesh.body % COLOURS.body.length];
}

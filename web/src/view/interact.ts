// SPDX-License-Identifier: Apache-2.0
// The pointer on the picture: a target is dragged, an instrument led, a body pulled by a spring; all else turns the camera.
import * as THREE from "three";
import { SECTION, sectionOf } from "../protocol";
import type { Session } from "../session";
import type { Stage } from "./stage";
import type { World } from "./world";

interface Hit {
    mesh: number;
    triangle: number;
    weights: [number, number, number];
    point: THREE.Vector3;
    distance: number;
}

type Drag =
    | { kind: "target"; index: number; plane: THREE.Plane; offset: THREE.Vector3; from: THREE.Vector3 }
    | { kind: "tool"; index: number; plane: THREE.Plane; offset: THREE.Vector3; from: THREE.Vector3; to: THREE.Vector3 }
    | { kind: "spring"; plane: THREE.Plane; hit: Hit; tied: boolean };

const AGAIN = 250; // [ms], beside the second after which the server lets go
const GRAB_PIXELS = { mouse: 16, touch: 26, pen: 20 } as Record<string, number>;

export class Interact {
    pull = true; ///< dragging a body pulls it; else it turns the camera
    axis: "" | "x" | "y" | "z" = ""; ///< while a key is held, targets move along it only
    private drag: Drag | null = null;
    private waiting: object | null = null; // newest message of this drag, sent once a picture
    private readonly ray = new THREE.Raycaster();
    private readonly canvas: HTMLCanvasElement;
    private readonly session: Session;
    private readonly stage: Stage;
    private readonly world: World;
    private lastHover = 0;
    private readonly fingers = new Set<number>(); // pointers that are down on the picture
    private held: PointerEvent | null = null; // the newest of the one that drags

    constructor(canvas: HTMLCanvasElement, session: Session, stage: Stage, world: World) {
        this.canvas = canvas;
        this.session = session;
        this.stage = stage;
        this.world = world;
        // Before the camera's own listener, which is on the same element.
        canvas.addEventListener("pointerdown", (e) => this.down(e), { capture: true });
        canvas.addEventListener("pointermove", (e) => this.move(e));
        for (const end of ["pointerup", "pointercancel", "lostpointercapture"] as const)
            canvas.addEventListener(end, (e) => this.up(e));
        addEventListener("keydown", (e) => this.key(e, true));
        addEventListener("keyup", (e) => this.key(e, false));
        addEventListener("blur", () => this.end());
        session.on("hello", () => this.end());
        // A pointer that stands still holds its instrument.
        setInterval(() => this.drag?.kind === "tool" && this.lead(this.drag), AGAIN);
        stage.before.push(() => this.flush());
    }

    get dragging(): "target" | "tool" | "spring" | null {
        return this.drag?.kind ?? null;
    }

    private get live(): boolean {
        return this.session.connection === "open" && !this.session.held; // the past is only looked at
    }

    private key(event: KeyboardEvent, down: boolean): void {
        const axis = event.key.toLowerCase();
        if (axis !== "x" && axis !== "y" && axis !== "z") return;
        if (down && this.drag) this.axis = axis;
        else if (!down && this.axis === axis) this.axis = "";
    }

    // A second finger means the camera: what the first one holds is let go, and both of them are the camera's.
    private second(): void {
        const first = this.held!;
        this.end();
        const { pointerId, pointerType, clientX, clientY } = first;
        this.canvas.dispatchEvent(new PointerEvent("pointerdown", {
            pointerId, pointerType, clientX, clientY, screenX: first.screenX, screenY: first.screenY, button: 0, buttons: 1, bubbles: true,
        }));
    }

    private up(event: PointerEvent): void {
        this.fingers.delete(event.pointerId);
        if (this.held?.pointerId === event.pointerId) this.end();
    }

    private down(event: PointerEvent): void {
        if (event.pointerType === "touch") {
            if (event.isPrimary && event.isTrusted) this.fingers.clear(); // the first of all that are down
            this.fingers.add(event.pointerId);
            if (this.drag && this.held?.pointerType === "touch" && event.isTrusted) this.second();
            if (this.fingers.size > 1 || !event.isTrusted) return;
        }
        if (event.button !== 0 || event.shiftKey || event.ctrlKey || event.metaKey || !this.live || this.drag) return;
        this.aim(event);
        const target = this.findTarget(event);
        const hit = target < 0 && this.pull ? this.pick() : null;
        if (target < 0 && !hit) return;
        const point = target >= 0 ? this.world.targets[target] ?? this.world.effectors[target] : hit!.point;
        const tool = hit ? this.toolOf(hit) : -1;
        const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(this.stage.camera.getWorldDirection(new THREE.Vector3()), point);
        if (target >= 0) {
            const grabbed = this.ray.ray.intersectPlane(plane, new THREE.Vector3()) ?? point.clone();
            this.drag = { kind: "target", index: target, plane, offset: point.clone().sub(grabbed), from: point.clone() };
            this.world.heldTarget = { index: target, point: point.clone() };
        } else if (tool >= 0) {
            const place = this.placeOf(tool);
            this.drag = { kind: "tool", index: tool, plane, offset: place.clone().sub(point), from: place, to: place.clone() };
            this.lead(this.drag);
        } else {
            this.drag = { kind: "spring", plane, hit: hit!, tied: false };
            this.anchor(hit!.point);
        }
        this.held = event;
        this.stage.orbit.enabled = false;
        this.canvas.setPointerCapture(event.pointerId);
        this.canvas.style.cursor = "grabbing";
        event.stopImmediatePropagation(); // the camera listens on the same element
        event.preventDefault();
        (document.activeElement as HTMLElement | null)?.blur?.();
    }

    private move(event: PointerEvent): void {
        if (!this.drag) {
            if (event.pointerType === "mouse" && event.buttons === 0) this.hover(event);
            return;
        }
        if (event.pointerId !== this.held?.pointerId) return;
        this.held = event;
        this.aim(event);
        const point = this.ray.ray.intersectPlane(this.drag.plane, new THREE.Vector3());
        if (!point) return;
        if (this.drag.kind === "spring") return this.anchor(point);
        point.add(this.drag.offset);
        if (this.axis) {
            const along = point[this.axis];
            point.copy(this.drag.from)[this.axis] = along;
        }
        if (this.drag.kind === "tool") {
            this.drag.to.copy(point);
            return this.lead(this.drag);
        }
        this.world.heldTarget = { index: this.drag.index, point };
        const name = this.world.hello!.effectors[this.drag.index].name;
        this.post({ type: "target", name, value: point.toArray() });
        this.world.refresh();
    }

    private end(): void {
        const drag = this.drag;
        if (!drag) return;
        this.drag = this.held = null;
        this.axis = "";
        this.flush();
        if (drag.kind === "spring") this.session.send({ type: "release" });
        if (drag.kind === "tool" && this.session.connection === "open")
            this.session.send({ type: "tool", name: this.world.hello!.tools![drag.index].name, linear: [0, 0, 0] });
        this.world.heldTarget = this.world.heldSpring = null;
        this.stage.orbit.enabled = true;
        this.canvas.style.cursor = "";
        this.world.refresh();
    }

    private anchor(point: THREE.Vector3): void {
        const drag = this.drag as Drag & { kind: "spring" };
        const { mesh, triangle, weights } = drag.hit;
        const anchor = point.toArray();
        const at = (): THREE.Vector3 => this.pointOf(drag.hit);
        this.world.heldSpring = { point: at, anchor: point };
        if (!drag.tied) this.session.send({ type: "spring", mesh, triangle, weights, anchor });
        else this.post({ type: "spring", anchor });
        drag.tied = true;
        this.world.refresh();
    }

    private lead(drag: Drag & { kind: "tool" }): void {
        this.post({ type: "lead", name: this.world.hello!.tools![drag.index].name, to: drag.to.toArray() });
    }

    // The instrument that was hit, or -1.
    private toolOf(hit: Hit): number {
        const hello = this.world.hello;
        return hello?.tools?.findIndex((tool) => tool.guided && tool.body === hello.meshes[hit.mesh].body) ?? -1;
    }

    private placeOf(tool: number): THREE.Vector3 {
        const places = this.session.frame && sectionOf(this.session.frame, SECTION.tools);
        return places && tool < places.count ? new THREE.Vector3().fromArray(places.f32, places.width * tool) : new THREE.Vector3();
    }

    private pointOf(hit: Hit): THREE.Vector3 {
        const shape = this.world.skins[hit.mesh]!.shape;
        const sum = new THREE.Vector3(), v = new THREE.Vector3();
        for (let k = 0; k < 3; k++) sum.addScaledVector(shape.vertex(shape.triangles[3 * hit.triangle + k], v), hit.weights[k]);
        return sum;
    }

    // The server takes 200 messages a second; a mouse may give a thousand moves.
    private post(message: object): void {
        this.waiting = message;
        this.stage.invalidate();
    }

    private flush(): void {
        if (this.waiting) this.session.send(this.waiting);
        this.waiting = null;
    }

    private aim(event: PointerEvent): void {
        const box = this.canvas.getBoundingClientRect();
        const x = (2 * (event.clientX - box.left)) / box.width - 1, y = 1 - (2 * (event.clientY - box.top)) / box.height;
        this.ray.setFromCamera(new THREE.Vector2(x, y), this.stage.camera);
    }

    private findTarget(event: PointerEvent): number {
        if (!this.world.layers.targets || !this.world.hello?.inverse.possible) return -1;
        const reach = GRAB_PIXELS[event.pointerType] ?? 16;
        let best = -1, least = reach;
        this.world.effectors.forEach((value, i) => {
            const at = this.stage.project(this.world.targets[i] ?? value);
            const away = Math.hypot(at.x - event.clientX, at.y - event.clientY);
            if (at.ahead && away < least) [best, least] = [i, away];
        });
        return best;
    }

    private hover(event: PointerEvent): void {
        const now = performance.now();
        if (now - this.lastHover < 90) return;
        this.lastHover = now;
        this.aim(event);
        const over = this.live && !event.shiftKey && (this.findTarget(event) >= 0 || (this.pull && this.pick() !== null));
        this.canvas.style.cursor = over ? "grab" : "";
    }

    /// The nearest front face of a body under the ray.
    private pick(): Hit | null {
        let best: Hit | null = null;
        const a = new THREE.Vector3(), b = new THREE.Vector3(), c = new THREE.Vector3(), point = new THREE.Vector3();
        if (!this.world.layers.bodies) return null;
        this.world.hello?.meshes.forEach((mesh, m) => {
            const shape = this.world.skins[m]?.shape;
            if (mesh.kind !== "surface" || !shape || this.world.skins[m]!.group.visible === false) return;
            const x = shape.all(), t = shape.triangles;
            for (let i = 0; i < t.length; i += 3) {
                a.fromArray(x, 3 * t[i]);
                b.fromArray(x, 3 * t[i + 1]);
                c.fromArray(x, 3 * t[i + 2]);
                if (!this.ray.ray.intersectTriangle(a, b, c, true, point)) continue;
                const distance = point.distanceTo(this.ray.ray.origin);
                if (best && distance >= best.distance) continue;
                const w = THREE.Triangle.getBarycoord(point, a, b, c, new THREE.Vector3());
                if (!w) continue;
                const u = [Math.max(0, w.x), Math.max(0, w.y), Math.max(0, w.z)];
                const sum = u[0] + u[1] + u[2];
                best = { mesh: m, triangle: i / 3, weights: [u[0] / sum, u[1] / sum, u[2] / sum], point: point.clone(), distance };
            }
        });
        // What cannot move hides what is behind it, and is not pulled.
        const found = best as Hit | null;
        const hello = this.world.hello;
        return found && hello?.bodies[hello.meshes[found.mesh].body]?.fixed ? null : found;
    }
}

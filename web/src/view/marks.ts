// SPDX-License-Identifier: Apache-2.0
// Small things drawn beside bodies: cables, arrows of forces, balls, and labels in HTML above the picture.
import * as THREE from "three";
import type { Stage } from "./stage";

const UP = new THREE.Vector3(0, 1, 0);
const HIDDEN = new THREE.Matrix4().makeScale(0, 0, 0);

/// Many copies of one shape, shown faintly through what covers them.
export class Copies {
    readonly group = new THREE.Group();
    private mesh: THREE.InstancedMesh;
    private ghost: THREE.InstancedMesh;
    private used = 0;

    constructor(geometry: THREE.BufferGeometry, colour: THREE.ColorRepresentation, capacity: number, through = 0.28) {
        const material = new THREE.MeshPhongMaterial({ color: colour, specular: 0x222222 });
        this.mesh = new THREE.InstancedMesh(geometry, material, capacity);
        this.mesh.castShadow = true;
        const faint = new THREE.MeshBasicMaterial({
            color: colour,
            transparent: true,
            opacity: through,
            depthFunc: THREE.GreaterDepth,
            depthWrite: false,
        });
        this.ghost = new THREE.InstancedMesh(geometry, faint, capacity);
        this.ghost.instanceMatrix = this.mesh.instanceMatrix;
        this.ghost.renderOrder = 4;
        this.ghost.visible = through > 0;
        this.mesh.frustumCulled = this.ghost.frustumCulled = false;
        this.mesh.count = this.ghost.count = 0;
        this.group.add(this.mesh, this.ghost);
    }

    begin(): void {
        this.used = 0;
    }

    get full(): boolean {
        return this.used >= this.mesh.instanceMatrix.count;
    }

    place(matrix: THREE.Matrix4): void {
        if (!this.full) this.mesh.setMatrixAt(this.used++, matrix);
    }

    ball(centre: THREE.Vector3, radius: number): void {
        this.place(scratch.matrix.makeScale(radius, radius, radius).setPosition(centre));
    }

    /// A rod (a shape of height 1 along y, from 0) from one point to another.
    rod(from: THREE.Vector3, to: THREE.Vector3, radius: number): void {
        const along = scratch.along.subVectors(to, from);
        const length = along.length();
        if (!(length > 0)) return this.place(HIDDEN);
        scratch.turn.setFromUnitVectors(UP, along.divideScalar(length));
        this.place(scratch.matrix.compose(from, scratch.turn, scratch.scale.set(radius, length, radius)));
    }

    end(): void {
        this.mesh.count = this.ghost.count = this.used;
        this.mesh.instanceMatrix.needsUpdate = true;
    }

    dispose(): void {
        this.mesh.dispose();
        this.mesh.geometry.dispose();
        (this.mesh.material as THREE.Material).dispose();
        (this.ghost.material as THREE.Material).dispose();
    }
}

const scratch = {
    matrix: new THREE.Matrix4(),
    along: new THREE.Vector3(),
    turn: new THREE.Quaternion(),
    scale: new THREE.Vector3(),
};

export const rodShape = (): THREE.BufferGeometry => new THREE.CylinderGeometry(1, 1, 1, 12, 1).translate(0, 0.5, 0);
export const ballShape = (): THREE.BufferGeometry => new THREE.SphereGeometry(1, 20, 14);
export const coneShape = (): THREE.BufferGeometry => new THREE.ConeGeometry(1, 1, 16).translate(0, 0.5, 0);

/// Arrows: a shaft and a tip each.
export class Arrows {
    readonly group = new THREE.Group();
    private readonly shafts: Copies;
    private readonly tips: Copies;
    private readonly neck = new THREE.Vector3();

    constructor(colour: THREE.ColorRepresentation, capacity: number) {
        this.shafts = new Copies(rodShape(), colour, capacity);
        this.tips = new Copies(coneShape(), colour, capacity);
        this.group.add(this.shafts.group, this.tips.group);
    }

    begin(): void {
        this.shafts.begin();
        this.tips.begin();
    }

    arrow(from: THREE.Vector3, to: THREE.Vector3, radius: number): void {
        const length = from.distanceTo(to);
        const head = Math.min(6 * radius, 0.5 * length);
        this.neck.lerpVectors(to, from, length > 0 ? head / length : 0);
        this.shafts.rod(from, this.neck, radius);
        this.tips.rod(this.neck, to, Math.min(2.6 * radius, 0.45 * head));
    }

    end(): void {
        this.shafts.end();
        this.tips.end();
    }

    dispose(): void {
        this.shafts.dispose();
        this.tips.dispose();
    }
}

/// Labels that follow points of the world.
export class Labels {
    private readonly layer: HTMLElement;
    private readonly stage: Stage;
    private readonly items = new Map<string, { element: HTMLElement; point: THREE.Vector3; shown: boolean }>();

    constructor(layer: HTMLElement, stage: Stage) {
        this.layer = layer;
        this.stage = stage;
        stage.after.push(() => this.update());
    }

    set(key: string, text: string, point: THREE.Vector3, kind: string): void {
        let item = this.items.get(key);
        if (!item) {
            const element = document.createElement("span");
            element.className = `label ${kind}`;
            this.layer.append(element);
            item = { element, point: new THREE.Vector3(), shown: true };
            this.items.set(key, item);
        }
        item.shown = true;
        item.point.copy(point);
        if (item.element.textContent !== text) item.element.textContent = text;
    }

    hide(key: string): void {
        const item = this.items.get(key);
        if (item) item.shown = false;
    }

    clear(): void {
        for (const { element } of this.items.values()) element.remove();
        this.items.clear();
    }

    private update(): void {
        const box = this.layer.getBoundingClientRect();
        for (const { element, point, shown } of this.items.values()) {
            const at = this.stage.project(point);
            const x = at.x - box.left, y = at.y - box.top;
            const visible = shown && at.ahead && x > 0 && y > 0 && x < box.width && y < box.height;
            element.style.display = visible ? "" : "none";
            if (visible) element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
        }
    }
}

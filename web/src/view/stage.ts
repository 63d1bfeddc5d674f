// SPDX-License-Identifier: Apache-2.0
// The room that bodies stand in: renderer, camera, light, ground. z is up.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { nice } from "../units";

export interface Look {
    top: string; ///< of the background, behind the canvas
    bottom: string;
    grid: string;
    shadow: number;
    sky: number;
    key: number;
}

export const LOOKS: Record<"light" | "dark", Look> = {
    light: { top: "#fbfcfd", bottom: "#d9e1e9", grid: "#66788a", shadow: 0.26, sky: 1.25, key: 2.3 },
    dark: { top: "#222931", bottom: "#12161b", grid: "#8fa3b8", shadow: 0.5, sky: 0.8, key: 2.3 },
};

const FRONT = new THREE.Vector3(0.62, -1, 0.5);
const PLAIN = 0.5; // of the detail, below which there are no shadows, and edges are not smooth from the first picture on
const FILL = 1.38; // room round the bodies for what they do

export class Stage {
    readonly renderer: THREE.WebGLRenderer;
    readonly scene = new THREE.Scene();
    readonly camera = new THREE.PerspectiveCamera(32, 1, 0.01, 100);
    readonly orbit: OrbitControls;
    readonly pixels = { value: 1 };
    readonly fps = { value: 0 };
    before: (() => void)[] = [];
    after: (() => void)[] = [];
    gridCell = 0.01;
    steady = false; ///< detail stays as it is set
    firstPicture = 0; ///< [ms] since the page was asked for

    beside: Stage | null = null; ///< drawn whenever this one is
    fitting: () => void = () => undefined; ///< called before the camera is set
    turned: () => void = () => undefined; ///< called when the camera may have been
    readonly canvas: HTMLCanvasElement;
    private readonly key = new THREE.DirectionalLight(0xffffff, 2.2);
    private readonly sky = new THREE.HemisphereLight(0xffffff, 0x8a94a0, 1.2);
    private readonly ground: THREE.Mesh;
    private readonly shadow: THREE.Mesh;
    private look: Look = LOOKS.light;
    private dirty = true;
    private drawn = 0;
    private since = performance.now();
    private fitted = true;
    private direction = FRONT;
    private slow = 0;
    detail: number; ///< to read: lowered where the browser cannot keep up
    private readonly gap: number; // [ms] least time between two pictures
    private lastDraw = 0;
    private readonly sizes: ResizeObserver;
    present: (() => Float32Array) | null = null; ///< where the bodies are now, for who fits the view later
    private points: Float32Array = new Float32Array(0);
    private bounds = new THREE.Box3(new THREE.Vector3(-0.1, -0.1, 0), new THREE.Vector3(0.1, 0.1, 0.1));

    /// `detail`: as for setDetail(), for the first picture.
    constructor(canvas: HTMLCanvasElement, detail = 1) {
        this.detail = detail;
        this.canvas = canvas;
        // The background is the page's: pixels without anything cost nothing. Smooth edges take a third of the time that
        // software needs for a picture, and it has them where it has all the pixels of the screen.
        this.renderer = new THREE.WebGLRenderer({ canvas, antialias: detail > PLAIN, alpha: true, powerPreference: "high-performance" });
        this.renderer.setClearColor(0, 0);
        this.renderer.localClippingEnabled = true;
        // Without a graphics card the processor draws, which the simulation may be running on.
        const gl = this.renderer.getContext();
        const names = gl.getExtension("WEBGL_debug_renderer_info");
        const name = String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
        this.gap = /swiftshader|llvmpipe|software/i.test(name) ? 1000 / 15 : 0;
        this.renderer.shadowMap.enabled = true;
        this.renderer.shadowMap.type = THREE.PCFShadowMap;
        this.renderer.toneMapping = THREE.NoToneMapping;
        this.camera.up.set(0, 0, 1);
        this.orbit = new OrbitControls(this.camera, canvas);
        this.orbit.enableDamping = true;
        this.orbit.dampingFactor = 0.15;
        this.orbit.zoomToCursor = true;
        this.orbit.addEventListener("change", () => this.invalidate());
        this.orbit.addEventListener("start", () => (this.fitted = false));

        const fill = new THREE.DirectionalLight(0xdfeaff, 0.55);
        fill.position.set(-1.2, -0.4, 0.5);
        this.key.castShadow = detail > PLAIN;
        this.key.shadow.mapSize.set(1024, 1024);
        this.key.shadow.radius = 5;
        this.key.shadow.bias = -0.0008;
        this.scene.add(this.sky, fill, this.key, this.key.target);

        this.ground = new THREE.Mesh(new THREE.CircleGeometry(1, 48), gridMaterial());
        this.ground.renderOrder = -2;
        this.shadow = new THREE.Mesh(new THREE.CircleGeometry(1, 24), new THREE.ShadowMaterial({ opacity: 0.2, depthWrite: false }));
        this.shadow.receiveShadow = true;
        this.shadow.renderOrder = -1;
        this.scene.add(this.ground, this.shadow);

        this.sizes = new ResizeObserver(() => this.resize());
        this.sizes.observe(canvas.parentElement!);
        this.resize();
        this.renderer.setAnimationLoop(() => this.tick());
    }

    invalidate(): void {
        this.dirty = true;
        if (this.beside) this.beside.dirty = true;
    }

    /// Whether it looks from where another stage does. Only what nobody could see may differ: orbit.update() rounds.
    sees(other: Stage): boolean {
        const alike = 1e-10 * other.camera.position.distanceTo(other.orbit.target);
        return this.camera.position.distanceTo(other.camera.position) <= alike && this.orbit.target.distanceTo(other.orbit.target) <= alike
            && this.camera.near === other.camera.near && this.camera.far === other.camera.far;
    }

    // A turn that has not come to rest ends.
    private rest(): void {
        this.orbit.enableDamping = false;
        this.orbit.update();
        this.orbit.enableDamping = true;
    }

    /// Looks from where another stage does.
    copyView(other: Stage): void {
        this.fitted = false;
        this.rest(); // a turn of its own would lead away from there
        this.camera.position.copy(other.camera.position);
        this.camera.quaternion.copy(other.camera.quaternion);
        this.camera.near = other.camera.near;
        this.camera.far = other.camera.far;
        this.camera.updateProjectionMatrix();
        this.orbit.target.copy(other.orbit.target);
        this.orbit.minDistance = other.orbit.minDistance;
        this.orbit.maxDistance = other.orbit.maxDistance;
        this.dirty = true;
    }

    dispose(): void {
        this.renderer.setAnimationLoop(null);
        this.sizes.disconnect();
        this.orbit.dispose();
        this.renderer.dispose();
        this.renderer.forceContextLoss();
    }

    setLook(look: Look): void {
        this.look = look;
        this.beside?.setLook(look);
        this.canvas.style.background = `linear-gradient(${look.top}, ${look.bottom})`;
        ((this.ground.material as THREE.ShaderMaterial).uniforms.colour.value as THREE.Color).set(look.grid);
        (this.shadow.material as THREE.ShadowMaterial).opacity = look.shadow;
        this.sky.intensity = look.sky;
        this.key.intensity = look.key;
        this.invalidate();
    }

    setGrid(on: boolean): void {
        this.ground.visible = on;
        this.invalidate();
    }

    /// Sets ground, light and camera for bodies with these points at rest.
    setBounds(bounds: THREE.Box3, points: Float32Array, floor: number | null): void {
        this.bounds.copy(bounds);
        this.points = points;
        const size = bounds.getSize(new THREE.Vector3()).length();
        const centre = bounds.getCenter(new THREE.Vector3());
        const z = floor ?? bounds.min.z - 0.015 * size;
        this.gridCell = nice(size / 25);
        for (const plane of [this.ground, this.shadow]) {
            plane.position.set(centre.x, centre.y, z);
            plane.scale.setScalar(plane === this.ground ? 2.6 * size : 1.1 * size);
        }
        const grid = (this.ground.material as THREE.ShaderMaterial).uniforms;
        grid.cell.value = this.gridCell;
        grid.reach.value = 2.6 * size;
        grid.centre.value.copy(centre);
        this.key.position.set(centre.x + 0.7 * size, centre.y - 0.9 * size, centre.z + 1.7 * size);
        this.key.target.position.copy(centre);
        const light = this.key.shadow.camera;
        light.left = light.bottom = -1.1 * size;
        light.right = light.top = 1.1 * size;
        light.near = 0.1 * size;
        light.far = 5 * size;
        light.updateProjectionMatrix();
        this.key.shadow.normalBias = 0.009 * size; // the width of its soft edge: grazing light must not shade its own face
        this.camera.near = 0.01 * size;
        this.camera.far = 40 * size;
        this.orbit.minDistance = 0.05 * size;
        this.orbit.maxDistance = 12 * size;
        this.fit();
    }

    /// Looks at the bodies where they are now.
    find(direction = FRONT): void {
        const now = this.present?.();
        if (now && now.length > 0 && now.every(Number.isFinite)) {
            this.points = now;
            this.bounds.setFromArray(now as unknown as number[]);
            const centre = this.bounds.getCenter(new THREE.Vector3());
            const way = centre.clone().sub(this.key.target.position);
            this.key.position.add(way);
            this.key.target.position.copy(centre);
            for (const plane of [this.ground, this.shadow]) plane.position.set(centre.x, centre.y, plane.position.z);
            ((this.ground.material as THREE.ShaderMaterial).uniforms.centre.value as THREE.Vector3).copy(centre);
        }
        this.fit(direction);
    }

    /// Looks at the bodies as a whole, from the direction given or from the front right above.
    fit(direction = FRONT): void {
        this.fitting();
        this.fitted = true;
        this.direction = direction;
        this.rest();
        const centre = this.bounds.getCenter(new THREE.Vector3());
        const away = direction.clone().normalize();
        const { camera } = this;
        const high = Math.tan(THREE.MathUtils.degToRad(camera.fov / 2)), wide = high * camera.aspect;
        let distance = this.bounds.getSize(new THREE.Vector3()).length();
        const p = new THREE.Vector3();
        for (let pass = 0; pass < 3; pass++) {
            camera.position.copy(centre).addScaledVector(away, distance);
            camera.lookAt(centre);
            camera.updateMatrixWorld();
            // The sides of the picture that the points reach, on the plane through the centre.
            let left = 0, right = 0, down = 0, up = 0;
            for (let i = 0; i < this.points.length; i += 3) {
                p.fromArray(this.points, i).applyMatrix4(camera.matrixWorldInverse);
                const near = distance / -p.z;
                left = Math.min(left, p.x * near);
                right = Math.max(right, p.x * near);
                down = Math.min(down, p.y * near);
                up = Math.max(up, p.y * near);
            }
            if (right - left === 0 && up - down === 0) break;
            p.set((left + right) / 2, (down + up) / 2, 0).applyQuaternion(camera.quaternion);
            centre.add(p);
            distance = FILL * Math.max((right - left) / (2 * wide), (up - down) / (2 * high));
        }
        camera.position.copy(centre).addScaledVector(away, distance);
        this.orbit.target.copy(centre);
        camera.updateProjectionMatrix();
        this.orbit.update();
        this.invalidate();
    }

    /// A picture of what is shown, at the resolution of the screen, also where less is drawn for speed.
    picture(): Promise<Blob> {
        const { detail } = this;
        this.detail = 1;
        this.resize();
        const { width, height } = this.canvas;
        const whole = Object.assign(document.createElement("canvas"), { width, height });
        const context = whole.getContext("2d")!;
        const fill = context.createLinearGradient(0, 0, 0, height);
        fill.addColorStop(0, this.look.top);
        fill.addColorStop(1, this.look.bottom);
        context.fillStyle = fill;
        context.fillRect(0, 0, width, height);
        context.drawImage(this.canvas, 0, 0);
        this.detail = detail;
        if (detail < 1) this.resize();
        return new Promise((resolve, reject) =>
            whole.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no picture"))), "image/png"),
        );
    }

    /// Where a point of the world is on the page [px], and whether it is before the camera.
    project(point: THREE.Vector3): { x: number; y: number; ahead: boolean } {
        const p = point.clone().project(this.camera);
        const box = this.canvas.getBoundingClientRect();
        return { x: box.left + ((p.x + 1) / 2) * box.width, y: box.top + ((1 - p.y) / 2) * box.height, ahead: p.z < 1 };
    }

    private resize(): void {
        const { clientWidth: width, clientHeight: height } = this.canvas.parentElement!;
        if (width === 0 || height === 0) return;
        const ratio = Math.min(devicePixelRatio, 2) * this.detail;
        this.pixels.value = ratio;
        this.renderer.setPixelRatio(ratio);
        this.renderer.setSize(width, height, false);
        this.camera.aspect = width / height;
        this.camera.updateProjectionMatrix();
        if (this.fitted) this.fit(this.direction); // until somebody turns the camera, the bodies fill the picture
        this.draw(); // at once: the canvas was emptied
    }

    private draw(): void {
        if (this.firstPicture === 0 && this.points.length > 0) this.firstPicture = performance.now();
        for (const call of this.before) call();
        this.renderer.render(this.scene, this.camera);
        for (const call of this.after) call();
    }

    private tick(): void {
        this.orbit.update();
        this.turned();
        const now = performance.now();
        if (this.dirty && now - this.lastDraw >= this.gap) {
            this.dirty = false;
            this.lastDraw = now;
            this.draw();
            this.drawn++;
        }
        if (now - this.since >= 1000) {
            this.fps.value = (1000 * this.drawn) / (now - this.since);
            this.adapt();
            this.drawn = 0;
            this.since = now;
        }
    }

    /// 1 is the best that the screen can show; below, fewer pixels; below a half, no shadows.
    setDetail(detail: number): void {
        this.beside?.setDetail(detail);
        this.detail = Math.max(0.4, detail);
        this.key.castShadow = detail > PLAIN;
        this.resize();
        this.invalidate();
    }

    // Two slow seconds in a row: fewer pixels first, then no shadows. A slow picture is worse than a plain one.
    private adapt(): void {
        this.slow = this.drawn >= 2 && this.fps.value < 10 && !this.steady ? this.slow + 1 : 0;
        if (this.slow < 2 || this.detail <= 0.4) return;
        this.slow = 0;
        this.setDetail(this.detail - 0.2);
    }
}

// Lines one pixel wide at every distance, every fifth stronger, fading out.
function gridMaterial(): THREE.ShaderMaterial {
    return new THREE.ShaderMaterial({
        uniforms: {
            cell: { value: 0.01 },
            reach: { value: 1 },
            centre: { value: new THREE.Vector3() },
            u: { value: new THREE.Vector3(1, 0, 0) },
            v: { value: new THREE.Vector3(0, 1, 0) },
            colour: { value: new THREE.Color(0x667788) },
        },
        vertexShader: `varying vec3 world;
            void main() { vec4 w = modelMatrix * vec4(position, 1.0); world = w.xyz; gl_Position = projectionMatrix * viewMatrix * w; }`,
        fragmentShader: `uniform float cell, reach; uniform vec3 colour, centre, u, v; varying vec3 world;
            float lines(vec2 p) {
                vec2 w = fwidth(p);
                vec2 a = abs(fract(p - 0.5) - 0.5) / w;
                return (1.0 - min(min(a.x, a.y), 1.0)) * clamp(0.5 / max(w.x, w.y) - 0.6, 0.0, 1.0);
            }
            void main() {
                vec2 p = vec2(dot(world, u), dot(world, v)), c = vec2(dot(centre, u), dot(centre, v));
                float fade = 1.0 - smoothstep(0.25, 1.0, distance(p, c) / reach);
                float a = max(0.16 * lines(p / cell), 0.34 * lines(p / (5.0 * cell))) * fade;
                if (a < 0.003) discard;
                gl_FragColor = vec4(colour, a);
                #include <colorspace_fragment>
            }`,
        transparent: true,
        depthWrite: false,
        side: THREE.DoubleSide,
    });
}

/// A plane of the scene that is not the ground: a grid on a faint square, seen from both sides.
export function planeShape(centre: THREE.Vector3, normal: THREE.Vector3, reach: number): THREE.Object3D {
    const grid = gridMaterial();
    const u = new THREE.Vector3(1, 0, 0).applyQuaternion(new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), normal));
    grid.uniforms.u.value.copy(u);
    grid.uniforms.v.value.crossVectors(normal, u);
    grid.uniforms.cell.value = nice(reach / 30);
    grid.uniforms.reach.value = reach;
    grid.uniforms.centre.value.copy(centre);
    const faint = new THREE.MeshBasicMaterial({ color: 0x8899aa, transparent: true, opacity: 0.1, side: THREE.DoubleSide, depthWrite: false });
    const group = new THREE.Group();
    group.add(new THREE.Mesh(new THREE.CircleGeometry(reach, 48), faint), new THREE.Mesh(new THREE.CircleGeometry(reach, 48), grid));
    group.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), normal);
    group.position.copy(centre);
    group.traverse((o) => (o.renderOrder = -1));
    return group;
}

export function disposeOf(object: THREE.Object3D): void {
    object.traverse((o) => {
        if (!(o instanceof THREE.Mesh)) return;
        o.geometry.dispose();
        (o.material as THREE.Material).dispose();
    });
}

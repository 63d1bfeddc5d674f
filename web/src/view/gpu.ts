// SPDX-License-Identifier: Apache-2.0
// Deformed shapes on the GPU. Two passes write float textures, one texel a vertex, which all materials then read:
//
//   expand   x_i = rest_i + Σ_k coordinate_k mode_k,i          reduced bodies; others have x_i uploaded, or keep rest_i
//   normals  n_j = Σ of (b - a) × (c - a) over the triangles of corner j
//
// Links and bodies on a frame are then moved by a pose, as three.js moves any object. A corner is a vertex as seen by the triangles on one side of a crease: edges stay sharp, everything else is smooth.
import * as THREE from "three";

const WIDTH = 1024; // of the textures of vertices
const WIDE = 4096; // of the texture of modes, which is r times as large

export const FETCH = /* glsl */ `
    vec4 fetchAt(sampler2D t, int i) { return texelFetch(t, ivec2(i % ${WIDTH}, i / ${WIDTH}), 0); }
`;

const FULL_SCREEN = /* glsl */ `
    void main() { gl_Position = vec4(position.xy, 0.0, 1.0); }
`;

const EXPAND = /* glsl */ `
    precision highp float;
    uniform sampler2D rest, modes, coordinates;
    uniform int vertices, columns;
    out vec4 result;
    ${FETCH}
    void main() {
        int i = int(gl_FragCoord.y) * ${WIDTH} + int(gl_FragCoord.x);
        if (i >= vertices) discard;
        vec3 x = fetchAt(rest, i).xyz;
        for (int k = 0; k < columns; k++) {
            int at = k * vertices + i;
            x += fetchAt(coordinates, k).x * texelFetch(modes, ivec2(at % ${WIDE}, at / ${WIDE}), 0).xyz;
        }
        result = vec4(x, 1.0);
    }
`;

const NORMALS = /* glsl */ `
    precision highp float;
    uniform sampler2D positions, corners, triangles;
    uniform int count;
    out vec4 result;
    ${FETCH}
    void main() {
        int j = int(gl_FragCoord.y) * ${WIDTH} + int(gl_FragCoord.x);
        if (j >= count) discard;
        vec4 span = fetchAt(corners, j);
        int first = int(span.x), end = first + int(span.y);
        vec3 n = vec3(0.0);
        for (int t = first; t < end; t++) {
            vec4 v = fetchAt(triangles, t);
            vec3 a = fetchAt(positions, int(v.x)).xyz;
            n += cross(fetchAt(positions, int(v.y)).xyz - a, fetchAt(positions, int(v.z)).xyz - a);
        }
        result = vec4(normalize(n), 0.0);
    }
`;

/// Corners of a triangle mesh: triangles that meet at a vertex share a corner when they are joined there by a chain of
/// neighbours less than the crease angle apart.
export interface Corners {
    vertex: Uint32Array; ///< of each corner
    index: Uint32Array; ///< triangles in corners
    spans: Float32Array; ///< first and count in `members`, two a corner
    members: Float32Array; ///< triangles as vertices: a b c 0
}

export function findCorners(triangles: Uint32Array, rest: Float32Array, creaseAngle = Math.PI / 5): Corners {
    const faces = triangles.length / 3;
    const vertices = rest.length / 3;
    const normals = new Float32Array(3 * faces);
    const a = new THREE.Vector3(), b = new THREE.Vector3(), c = new THREE.Vector3();
    for (let t = 0; t < faces; t++) {
        a.fromArray(rest, 3 * triangles[3 * t]);
        b.fromArray(rest, 3 * triangles[3 * t + 1]).sub(a);
        c.fromArray(rest, 3 * triangles[3 * t + 2]).sub(a);
        b.cross(c).normalize().toArray(normals, 3 * t);
    }
    const first = new Uint32Array(vertices + 1);
    for (const v of triangles) first[v + 1]++;
    for (let v = 0; v < vertices; v++) first[v + 1] += first[v];
    const fill = first.slice(0, vertices);
    const around = new Uint32Array(triangles.length); // 3 * face + place
    for (let at = 0; at < triangles.length; at++) around[fill[triangles[at]]++] = at;

    const index = new Uint32Array(triangles.length);
    const vertex: number[] = [], spans: number[] = [], members: number[] = [];
    const least = Math.cos(creaseAngle);
    for (let v = 0; v < vertices; v++) {
        const ring = Array.from(around.subarray(first[v], first[v + 1]));
        while (ring.length > 0) {
            const group = [ring.pop()!];
            for (let g = 0; g < group.length; g++) {
                const face = Math.floor(group[g] / 3);
                for (let i = ring.length - 1; i >= 0; i--) {
                    const other = Math.floor(ring[i] / 3);
                    const dot = normals[3 * face] * normals[3 * other] + normals[3 * face + 1] * normals[3 * other + 1] +
                        normals[3 * face + 2] * normals[3 * other + 2];
                    if (dot < least || !shareEdge(triangles, face, other)) continue;
                    group.push(ring[i]);
                    ring.splice(i, 1);
                }
            }
            spans.push(members.length / 4, group.length);
            for (const at of group) {
                const face = Math.floor(at / 3);
                index[at] = vertex.length;
                members.push(triangles[3 * face], triangles[3 * face + 1], triangles[3 * face + 2], 0);
            }
            vertex.push(v);
        }
    }
    return { vertex: new Uint32Array(vertex), index, spans: new Float32Array(spans), members: new Float32Array(members) };
}

function shareEdge(triangles: Uint32Array, a: number, b: number): boolean {
    let shared = 0;
    for (let i = 0; i < 3; i++)
        for (let j = 0; j < 3; j++) if (triangles[3 * a + i] === triangles[3 * b + j]) shared++;
    return shared >= 2;
}

/// A float texture of `items` texels with `width` numbers each, filled from `data`.
export function texture(data: Float32Array, width: number, items: number, wide = WIDTH): THREE.DataTexture {
    const rows = Math.max(1, Math.ceil(items / wide));
    const result = new THREE.DataTexture(new Float32Array(4 * wide * rows), wide, rows, THREE.RGBAFormat, THREE.FloatType);
    fillTexture(result, data, width, items);
    return result;
}

export function fillTexture(target: THREE.DataTexture, data: Float32Array, width: number, items: number): void {
    const texels = target.image.data as unknown as Float32Array;
    for (let i = 0; i < items; i++) for (let k = 0; k < width; k++) texels[4 * i + k] = data[width * i + k];
    target.needsUpdate = true;
}

/// Positions and normals of one mesh, kept in textures.
export class Shape {
    readonly vertices: number;
    readonly columns: number;
    readonly corners: Corners;
    readonly rest: Float32Array;
    readonly triangles: Uint32Array;
    readonly positions: { value: THREE.Texture };
    readonly normals: { value: THREE.Texture };
    readonly place = new THREE.Matrix4(); ///< motion since rest; of links and frames only
    stale = true;

    private posed = false;
    private world: Float32Array | null = null; // positions moved by `place`, when somebody asked
    private readonly modes: Float32Array | null;
    private readonly current: Float32Array; // positions as they came, or as expanded when somebody asked
    private currentStale = false;
    private readonly coordinates: Float32Array;
    private readonly upload: THREE.DataTexture | null;
    private readonly coordinateTexture: THREE.DataTexture | null = null;
    private readonly targets: THREE.WebGLRenderTarget[] = [];
    private readonly expand: THREE.RawShaderMaterial | null = null;
    private readonly normal: THREE.RawShaderMaterial;
    private readonly held: THREE.Texture[] = [];

    constructor(rest: Float32Array, triangles: Uint32Array, modes: Float32Array | null, columns: number) {
        this.rest = rest;
        this.triangles = triangles;
        this.modes = modes;
        this.vertices = rest.length / 3;
        this.columns = modes ? columns : 0;
        this.corners = findCorners(triangles, rest);
        this.current = rest.slice();
        this.coordinates = new Float32Array(this.columns);

        const keep = (t: THREE.DataTexture): THREE.DataTexture => (this.held.push(t), t);
        if (modes) {
            this.upload = null;
            this.coordinateTexture = keep(texture(this.coordinates, 1, columns));
            const target = this.target(this.vertices);
            this.positions = { value: target.texture };
            this.expand = pass(EXPAND, {
                rest: { value: keep(texture(rest, 3, this.vertices)) },
                modes: { value: keep(texture(modes, 3, this.vertices * columns, WIDE)) },
                coordinates: { value: this.coordinateTexture },
                vertices: { value: this.vertices },
                columns: { value: columns },
            });
        } else {
            this.upload = keep(texture(rest, 3, this.vertices));
            this.positions = { value: this.upload };
        }
        const corners = this.corners.vertex.length;
        this.normals = { value: this.target(corners).texture };
        this.normal = pass(NORMALS, {
            positions: this.positions,
            corners: { value: keep(texture(this.corners.spans, 2, corners)) },
            triangles: { value: keep(texture(this.corners.members, 4, this.corners.members.length / 4)) },
            count: { value: corners },
        });
    }

    setPositions(positions: Float32Array): void {
        if (!this.upload || positions.length !== this.current.length) return;
        this.current.set(positions);
        fillTexture(this.upload, positions, 3, this.vertices);
        this.stale = true;
    }

    /// Position (3) and unit quaternion (4) of the motion since rest.
    setPose(pose: Float32Array): void {
        this.place.compose(at.fromArray(pose), turn.fromArray(pose, 3).normalize(), one);
        this.posed = true;
        this.world = null;
    }

    setCoordinates(coordinates: Float32Array): void {
        if (!this.coordinateTexture) return;
        this.coordinates.set(coordinates.subarray(0, this.columns));
        fillTexture(this.coordinateTexture, this.coordinates, 1, this.columns);
        this.stale = this.currentStale = true;
        this.world = null;
    }

    /// Position of one vertex, on the processor.
    vertex(i: number, out: THREE.Vector3): THREE.Vector3 {
        if (!this.modes) return out.fromArray(this.current, 3 * i).applyMatrix4(this.place);
        out.fromArray(this.rest, 3 * i);
        for (let k = 0; k < this.columns; k++) {
            const at = 3 * (k * this.vertices + i), q = this.coordinates[k];
            out.x += q * this.modes[at];
            out.y += q * this.modes[at + 1];
            out.z += q * this.modes[at + 2];
        }
        return out.applyMatrix4(this.place);
    }

    /// All positions, on the processor: for picking.
    all(): Float32Array {
        if (this.modes && this.currentStale) {
            this.current.set(this.rest);
            for (let k = 0; k < this.columns; k++) {
                const q = this.coordinates[k], from = 3 * k * this.vertices;
                if (q !== 0) for (let i = 0; i < this.current.length; i++) this.current[i] += q * this.modes[from + i];
            }
            this.currentStale = false;
        }
        if (!this.posed) return this.current;
        if (!this.world) {
            this.world = new Float32Array(this.current.length);
            for (let i = 0; i < this.world.length; i += 3) at.fromArray(this.current, i).applyMatrix4(this.place).toArray(this.world, i);
        }
        return this.world;
    }

    /// Runs the passes if anything changed since.
    update(renderer: THREE.WebGLRenderer): void {
        if (!this.stale) return;
        this.stale = false;
        let next = 0;
        if (this.expand) run(renderer, this.expand, this.targets[next++]);
        run(renderer, this.normal, this.targets[next]);
    }

    dispose(): void {
        for (const t of [...this.held, ...this.targets]) t.dispose();
        this.expand?.dispose();
        this.normal.dispose();
    }

    private target(items: number): THREE.WebGLRenderTarget {
        const made = new THREE.WebGLRenderTarget(WIDTH, Math.max(1, Math.ceil(items / WIDTH)), {
            type: THREE.FloatType,
            format: THREE.RGBAFormat,
            minFilter: THREE.NearestFilter,
            magFilter: THREE.NearestFilter,
            depthBuffer: false,
        });
        this.targets.push(made);
        return made;
    }
}

const at = new THREE.Vector3(), turn = new THREE.Quaternion(), one = new THREE.Vector3(1, 1, 1);
const triangle = new THREE.BufferGeometry().setAttribute(
    "position",
    new THREE.BufferAttribute(new Float32Array([-1, -1, 0, 3, -1, 0, -1, 3, 0]), 3),
);
const screen = new THREE.Mesh(triangle);
screen.frustumCulled = false;
const stage = new THREE.Scene().add(screen);
const eye = new THREE.Camera();

function pass(fragment: string, uniforms: Record<string, THREE.IUniform>): THREE.RawShaderMaterial {
    return new THREE.RawShaderMaterial({
        glslVersion: THREE.GLSL3,
        vertexShader: `precision highp float; in vec3 position; ${FULL_SCREEN}`,
        fragmentShader: fragment,
        uniforms,
        depthTest: false,
        depthWrite: false,
    });
}

function run(renderer: THREE.WebGLRenderer, material: THREE.Material, target: THREE.WebGLRenderTarget): void {
    screen.material = material;
    const before = renderer.getRenderTarget();
    const shadows = renderer.shadowMap.autoUpdate;
    renderer.shadowMap.autoUpdate = false;
    renderer.setRenderTarget(target);
    renderer.render(stage, eye);
    renderer.setRenderTarget(before);
    renderer.shadowMap.autoUpdate = shadows;
}

// SPDX-License-Identifier: Apache-2.0
// What is drawn of one mesh: its surface (shaded, or coloured by a field), its edges, its held vertices. All of them
// read the textures of a Shape.
import * as THREE from "three";
import { FETCH, fillTexture, texture, type Shape } from "./gpu";

export interface Paint {
    map: { value: THREE.Texture | null };
    low: { value: number };
    high: { value: number };
    mode: { value: number }; ///< 0 plain, 1 displacement, 2 field
}

const HEAD = /* glsl */ `
    uniform highp sampler2D tdPositions, tdNormals, tdField;
    uniform int tdMode;
    attribute float corner;
    varying float tdScalar;
    ${FETCH}
`;

/// Replaces position and normal of a built-in material by those of the shape.
function deform(material: THREE.Material, shape: Shape, paint: Paint, field: { value: THREE.Texture }): void {
    material.onBeforeCompile = (shader) => {
        Object.assign(shader.uniforms, {
            tdPositions: shape.positions,
            tdNormals: shape.normals,
            tdField: field,
            tdMode: paint.mode,
            tdMap: paint.map,
            tdLow: paint.low,
            tdHigh: paint.high,
        });
        shader.vertexShader = (HEAD + shader.vertexShader)
            .replace("#include <beginnormal_vertex>", "vec3 objectNormal = fetchAt(tdNormals, gl_VertexID).xyz;")
            .replace(
                "#include <begin_vertex>",
                /* glsl */ `
                vec3 transformed = fetchAt(tdPositions, int(corner)).xyz;
                tdScalar = tdMode == 1 ? length((modelMatrix * vec4(transformed, 1.0)).xyz - position) : tdMode == 2 ? fetchAt(tdField, int(corner)).x : 0.0;`,
            );
        shader.fragmentShader = `uniform sampler2D tdMap; uniform float tdLow, tdHigh; uniform int tdMode; varying float tdScalar;
            ${shader.fragmentShader}`.replace(
            "#include <color_fragment>",
            /* glsl */ `
            if (tdMode != 0) {
                float t = clamp((tdScalar - tdLow) / max(tdHigh - tdLow, 1e-30), 0.0, 1.0);
                diffuseColor.rgb = texture2D(tdMap, vec2((t * 255.0 + 0.5) / 256.0, 0.5)).rgb;
            }`,
        );
    };
}

export class Skin {
    readonly group = new THREE.Group();
    readonly shape: Shape;
    readonly material: THREE.MeshPhongMaterial;
    readonly edges: THREE.LineSegments;
    readonly fixed: THREE.Points | null = null;
    private readonly surface: THREE.Mesh;
    private readonly depth: THREE.Mesh;
    private readonly field: { value: THREE.DataTexture };
    private readonly alpha: number; // of the colour that the scene gives
    private cutBy: THREE.Plane | null = null;
    private readonly twoSided: boolean;

    constructor(shape: Shape, paint: Paint, colour: THREE.ColorRepresentation, fixed: Uint32Array, pixels: { value: number }, alpha = 1, twoSided = false) {
        this.shape = shape;
        this.twoSided = twoSided;
        this.alpha = alpha;
        this.field = { value: texture(new Float32Array(shape.vertices), 1, shape.vertices) };

        const { vertex, index } = shape.corners;
        const rest = new Float32Array(3 * vertex.length);
        for (let j = 0; j < vertex.length; j++) rest.set(shape.rest.subarray(3 * vertex[j], 3 * vertex[j] + 3), 3 * j);
        const geometry = new THREE.BufferGeometry();
        geometry.setAttribute("position", new THREE.BufferAttribute(rest, 3));
        geometry.setAttribute("corner", new THREE.BufferAttribute(Float32Array.from(vertex), 1));
        geometry.setIndex(new THREE.BufferAttribute(index, 1));

        this.material = new THREE.MeshPhongMaterial({ color: colour, specular: 0x1c2126, shininess: 28, side: twoSided ? THREE.DoubleSide : THREE.FrontSide });
        deform(this.material, shape, paint, this.field);
        this.surface = new THREE.Mesh(geometry, this.material);
        this.surface.castShadow = this.surface.receiveShadow = true;
        const shadow = new THREE.MeshDepthMaterial({ depthPacking: THREE.RGBADepthPacking });
        deform(shadow, shape, paint, this.field);
        this.surface.customDepthMaterial = shadow;

        // A translucent surface first fills the depth buffer, so that only its nearest layer is blended.
        const veil = new THREE.MeshBasicMaterial({ colorWrite: false, transparent: true });
        deform(veil, shape, paint, this.field);
        this.depth = new THREE.Mesh(geometry, veil);
        this.depth.renderOrder = 1;
        this.depth.visible = false;

        this.edges = linesOf(shape, everyEdge(shape), 0.3);
        this.edges.visible = false;
        const creases = linesOf(shape, creaseEdges(shape), 0.42);
        this.group.add(this.surface, this.depth, this.edges, creases);
        if (fixed.length > 0) {
            this.fixed = pointsOf(shape, fixed, pixels);
            this.group.add(this.fixed);
        }
        this.group.traverse((o) => (o.frustumCulled = false));
        this.group.matrixAutoUpdate = false;
    }

    /// Position and quaternion of a link or a frame.
    setPose(pose: Float32Array): void {
        this.shape.setPose(pose);
        this.group.matrix.copy(this.shape.place);
        this.group.matrixWorldNeedsUpdate = true;
    }

    setField(values: Float32Array): void {
        if (values.length === this.shape.vertices) fillTexture(this.field.value, values, 1, values.length);
    }

    setOpacity(wanted: number): void {
        const opacity = wanted * this.alpha;
        const clear = opacity < 1;
        this.material.transparent = clear;
        this.material.opacity = opacity;
        this.material.depthWrite = !clear;
        this.material.needsUpdate = true;
        this.surface.renderOrder = clear ? 2 : 0;
        this.surface.castShadow = opacity > 0.5;
        this.depth.visible = clear;
    }

    /// Draws only what is on the positive side of a plane, and the inside that shows; null: all.
    setCut(plane: THREE.Plane | null): void {
        const planes = plane ? [plane] : null;
        if (this.cutBy === plane) return;
        this.cutBy = plane;
        for (const child of this.group.children) {
            const material = (child as THREE.Mesh).material as THREE.Material;
            material.clippingPlanes = planes;
            material.needsUpdate = true;
        }
        this.material.side = plane || this.twoSided ? THREE.DoubleSide : THREE.FrontSide;
    }

    dispose(): void {
        this.group.traverse((o) => {
            if (o instanceof THREE.Mesh || o instanceof THREE.LineSegments || o instanceof THREE.Points) {
                o.geometry.dispose();
                (o.material as THREE.Material).dispose();
            }
        });
        this.surface.customDepthMaterial?.dispose();
        this.field.value.dispose();
        this.shape.dispose();
    }
}

const PLACE = /* glsl */ `
    #include <clipping_planes_pars_vertex>
    uniform highp sampler2D tdPositions;
    attribute float corner;
    ${FETCH}
    vec4 place() {
        vec4 mvPosition = modelViewMatrix * vec4(fetchAt(tdPositions, int(corner)).xyz, 1.0);
        #include <clipping_planes_vertex>
        return projectionMatrix * mvPosition;
    }
`;

/// Each edge once: its two vertices, and the corners that its first triangle has there.
function walkEdges(shape: Shape, visit: (a: number, b: number, corners: [number, number], other: [number, number] | null) => void): void {
    const seen = new Map<number, [number, number, number, number]>();
    const { triangles, vertices, corners } = shape;
    for (let t = 0; t < triangles.length; t += 3)
        for (let k = 0; k < 3; k++) {
            const next = (k + 1) % 3;
            let [a, b, ca, cb] = [triangles[t + k], triangles[t + next], corners.index[t + k], corners.index[t + next]];
            if (a > b) [a, b, ca, cb] = [b, a, cb, ca];
            const key = a * vertices + b, first = seen.get(key);
            if (!first) seen.set(key, [a, b, ca, cb]);
            else {
                visit(a, b, [first[2], first[3]], [ca, cb]);
                seen.delete(key);
            }
        }
    for (const [a, b, ca, cb] of seen.values()) visit(a, b, [ca, cb], null);
}

function everyEdge(shape: Shape): number[] {
    const ends: number[] = [];
    walkEdges(shape, (a, b) => ends.push(a, b));
    return ends;
}

function creaseEdges(shape: Shape): number[] {
    const ends: number[] = [];
    walkEdges(shape, (a, b, one, other) => {
        if (!other || one[0] !== other[0] || one[1] !== other[1]) ends.push(a, b);
    });
    return ends;
}

function linesOf(shape: Shape, ends: number[], opacity: number): THREE.LineSegments {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("corner", new THREE.BufferAttribute(new Float32Array(ends), 1));
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * ends.length), 3));
    const material = new THREE.ShaderMaterial({
        uniforms: { tdPositions: shape.positions, colour: { value: new THREE.Color(0x0d1b2a) }, opacity: { value: opacity } },
        vertexShader: `${PLACE}
            void main() {
                gl_Position = place();
                gl_Position.z -= 2e-4 * gl_Position.w; // before the surface that it lies in
            }`,
        fragmentShader: `#include <clipping_planes_pars_fragment>
            uniform vec3 colour; uniform float opacity;
            void main() {
                #include <clipping_planes_fragment>
                gl_FragColor = vec4(colour, opacity);
            }`,
        clipping: true,
        transparent: true,
        depthWrite: false,
    });
    const lines = new THREE.LineSegments(geometry, material);
    lines.renderOrder = 3;
    return lines;
}

function pointsOf(shape: Shape, which: Uint32Array, pixels: { value: number }): THREE.Points {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("corner", new THREE.BufferAttribute(Float32Array.from(which), 1));
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * which.length), 3));
    const material = new THREE.ShaderMaterial({
        uniforms: { tdPositions: shape.positions, pixels },
        vertexShader: `${PLACE} uniform float pixels;
            void main() {
                gl_Position = place();
                gl_Position.z -= 4e-4 * gl_Position.w;
                gl_PointSize = 7.0 * pixels;
            }`,
        clipping: true,
        fragmentShader: `#include <clipping_planes_pars_fragment>
            void main() {
                #include <clipping_planes_fragment>
                vec2 p = 2.0 * gl_PointCoord - 1.0;
                float r = dot(p, p);
                if (r > 1.0) discard;
                gl_FragColor = vec4(r > 0.42 ? vec3(1.0) : vec3(0.13, 0.16, 0.2), 1.0);
            }`,
    });
    const points = new THREE.Points(geometry, material);
    points.renderOrder = 3;
    return points;
}

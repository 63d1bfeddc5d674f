// SPDX-License-Identifier: Apache-2.0
// What the server says, as types, and its binary messages taken apart. docs/viewer-protocol.md is the reference.

export const KIND = { topology: 1, frame: 2, field: 3 } as const;

export const SECTION = {
    triangles: 1,
    rest: 2,
    modes: 3,
    fixed: 4,
    positions: 16,
    coordinates: 17,
    cable: 18,
    actuators: 19,
    effectors: 20,
    probes: 21,
    springs: 22,
    contacts: 23,
    timing: 24,
    poses: 25,
    pairs: 26,
    tools: 27,
    attachments: 28,
    toolForces: 29,
    field: 32,
} as const;

export interface BodyInfo {
    name: string;
    kind: "full" | "reduced" | "rigid";
    fixed?: boolean;
    links?: string[];
    nodes: number;
    elements: number;
    modes?: number;
    moved?: number;
    domain?: number;
    ranges?: ([number, number] | null)[] | null;
}

export interface MeshInfo {
    kind: "surface" | "domain" | "cavity" | "plane";
    body: number;
    actuator: number | null;
    vertices: number;
    triangles: number;
    pose?: number | null; ///< among those of its body
    colour?: [number, number, number, number] | null;
}

export interface ActuatorInfo {
    name: string;
    kind: string;
    drive: "effort" | "displacement" | "gas" | "servo";
    unit: string;
    effort_unit: string;
    displacement_unit: string;
    low: number;
    high: number;
    driven: boolean;
    points: number;
    tool?: number | null;
}

export interface ToolInfo {
    name: string;
    body: number;
    link: string | null;
    joints: number;
    length: number;
    speed: number | null;
    turning: number | null;
    guided?: boolean; ///< a body in the hand: its force is felt
    jaw?: boolean; ///< that a grip closes
}

export interface ToolStatus {
    driven: boolean;
    client: number | null;
    twist: number[];
    position: number[];
    target: number[];
    error: number[];
    at_limits: number;
    force?: number[] | null; ///< on the hand [N]; a guided body
    grip?: number | null; ///< 0 open, 1 closed
}

export interface EffectorInfo {
    name: string;
    kind: string;
    unit: string;
    rows: number;
    rest: number[];
}

export interface FieldInfo {
    name: string;
    label: string;
    unit: string;
}

export interface Hello {
    type: "hello";
    protocol: number;
    version: string;
    generation: number;
    client: number;
    scene: string;
    file: string;
    scenes: string[];
    time_step: number;
    static: boolean;
    gravity: number[];
    size: number;
    bounds: [number[], number[]];
    floor?: number | null;
    bodies: BodyInfo[];
    meshes: MeshInfo[];
    actuators: ActuatorInfo[];
    effectors: EffectorInfo[];
    tools?: ToolInfo[];
    attachments?: string[];
    probes: (string | { name: string; rest?: number[] })[];
    fields: FieldInfo[];
    recorded?: string; ///< of a run that has ended: the field whose values its frames have, "" for none
    spring?: { stiffness: number; most: number; springs: number };
    contact?: { possible: boolean; most: number };
    inverse: { possible: boolean; why: string };
    recording: { possible: boolean; why: string };
}

export interface ActuatorStatus {
    value: number | null;
    effort: number | null;
    displacement: number | null;
    mode: "scene" | "manual" | "inverse" | "tool";
    bound: number;
}

export interface EffectorStatus {
    value: number[] | number;
    target: number[] | number | null;
    error: number | null;
    set: boolean;
}

export interface Timing {
    steps: number;
    p50: number | null;
    p99: number | null;
    longest: number | null;
    misses: number;
    missed_total: number;
    steps_a_second: number;
    realtime: number | null;
    possible: number | null;
    heavy: boolean;
}

export interface Status {
    type: "status";
    generation: number;
    step: number;
    time: number;
    playing: boolean;
    speed: number;
    resets: number;
    actuators: ActuatorStatus[];
    effectors: EffectorStatus[];
    tools?: ToolStatus[];
    inverse: { active: boolean; out_of_reach: boolean; residual: number | null; active_bounds: number; blocked_by?: [string, string] | null };
    rom: { reduced: boolean; indicator: number | null; error: number | null; distance: number | null; warning: boolean };
    contact?: { points: number; active: number; shown: number; iterations: number; residual: number | null; limit: boolean };
    timing: Timing;
    recording: { active: boolean; folder: string | null; frames: number };
    error: null | { kind: string; message: string; step: number; time: number };
    clients: number;
    refused: number;
    loading: string | null;
    you: { field: string; frames: number; dropped: number; refused: number };
}

export interface Section {
    type: number;
    index: number;
    count: number;
    width: number;
    f32: Float32Array;
    u32: Uint32Array;
}

export interface Message {
    kind: number;
    generation: number;
    step: number;
    time: number;
    number: number; ///< of a frame; of a field its index in hello.fields
    sections: Section[];
}

/// Takes a binary message apart without copying. Throws when it is cut short: it must not be drawn half.
export function decode(buffer: ArrayBuffer): Message {
    if (buffer.byteLength < 32) throw new Error(`message of ${buffer.byteLength} bytes, shorter than its header`);
    const view = new DataView(buffer);
    const message: Message = {
        kind: view.getUint32(0, true),
        generation: view.getUint32(4, true),
        step: view.getUint32(8, true) + view.getUint32(12, true) * 2 ** 32,
        time: view.getFloat64(16, true),
        number: view.getUint32(28, true),
        sections: [],
    };
    const sections = view.getUint32(24, true);
    let at = 32;
    for (let i = 0; i < sections; i++) {
        if (at + 16 > buffer.byteLength) throw new Error(`message ends within the head of section ${i}`);
        const type = view.getUint32(at, true);
        const index = view.getUint32(at + 4, true);
        const count = view.getUint32(at + 8, true);
        const width = view.getUint32(at + 12, true);
        const words = count * width;
        at += 16;
        if (at + 4 * words > buffer.byteLength) throw new Error(`message ends within section ${i} of type ${type}`);
        message.sections.push({
            type,
            index,
            count,
            width,
            f32: new Float32Array(buffer, at, words),
            u32: new Uint32Array(buffer, at, words),
        });
        at += 4 * words;
    }
    return message;
}

export const sectionOf = (message: Message, type: number, index?: number): Section | undefined =>
    message.sections.find((s) => s.type === type && (index === undefined || s.index === index));

export const probeName = (probe: Hello["probes"][number]): string => (typeof probe === "string" ? probe : probe.name);

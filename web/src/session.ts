// SPDX-License-Identifier: Apache-2.0
// What the page knows of the simulation: the last hello, topology, frame, field and status. Messages come in by
// take_text and take_binary, from the socket or from a recording alike; the rest of the page listens.
import { decode, KIND, SECTION, sectionOf, type Hello, type Message, type Status } from "./protocol";

export interface Topology {
    triangles: Uint32Array;
    rest: Float32Array;
    modes: Float32Array | null;
    columns: number;
    fixed: Uint32Array;
}

export interface Field {
    index: number;
    values: Map<number, Float32Array>; ///< by mesh
}

export type Connection = "connecting" | "open" | "lost" | "replay";

interface Events {
    hello: Hello;
    topology: Topology[];
    live: Message; ///< every frame that comes
    frame: Message; ///< a frame to show: that one, unless somebody looks at the past
    field: Field;
    status: Status;
    notice: { level: "info" | "warning"; message: string };
    connection: Connection;
}

export class Session {
    hello: Hello | null = null;
    topology: Topology[] = [];
    frame: Message | null = null; ///< that is shown
    received = -1; ///< number of the last frame that came
    held = false; ///< the past is shown: what comes is not
    field: Field | null = null;
    status: Status | null = null;
    connection: Connection = "connecting";
    taken = false; ///< the server has taken this page at least once
    retryAt = 0; ///< when the socket tries again [ms, as performance.now()]
    frames = 0; ///< received since the page was loaded
    bytes = 0;
    send: (message: object) => void = () => undefined;

    private listeners: { [K in keyof Events]?: ((value: Events[K]) => void)[] } = {};

    on<K extends keyof Events>(event: K, listener: (value: Events[K]) => void): void {
        ((this.listeners[event] ??= []) as ((value: Events[K]) => void)[]).push(listener);
    }

    emit<K extends keyof Events>(event: K, value: Events[K]): void {
        for (const listener of this.listeners[event] ?? []) listener(value);
    }

    takeText(text: string): void {
        const message = JSON.parse(text) as { type: string } & Record<string, unknown>;
        switch (message.type) {
            case "hello":
                this.hello = message as unknown as Hello;
                this.topology = [];
                this.frame = this.field = this.status = null;
                this.emit("hello", this.hello);
                break;
            case "status":
                if (message.generation !== this.hello?.generation) break;
                this.status = message as unknown as Status;
                this.emit("status", this.status);
                break;
            case "refused":
                this.emit("notice", { level: "warning", message: `Refused (${message.what}): ${message.message}` });
                break;
            case "notice":
                this.emit("notice", { level: message.level as "info" | "warning", message: String(message.message) });
                break;
            default: // later versions may add types
        }
    }

    takeBinary(buffer: ArrayBuffer): void {
        this.bytes += buffer.byteLength;
        const message = decode(buffer);
        if (!this.hello || message.generation !== this.hello.generation) return;
        if (message.kind === KIND.topology) this.takeTopology(message);
        else if (message.kind === KIND.frame && this.topology.length > 0) {
            this.frames++;
            this.received = message.number;
            this.emit("live", message);
            if (!this.held) this.showFrame(message);
        } else if (message.kind === KIND.field && !this.held) this.showField(message);
    }

    /// Shows a frame of the past, with the values of then, until lookLive().
    look(frame: ArrayBuffer, field: ArrayBuffer | null): void {
        this.held = true;
        this.showPair(frame, field);
    }

    lookLive(frame: ArrayBuffer | null, field: ArrayBuffer | null): void {
        this.held = false;
        this.showPair(frame, field);
    }

    private showPair(frame: ArrayBuffer | null, field: ArrayBuffer | null): void {
        if (field) this.showField(decode(field));
        if (frame) this.showFrame(decode(frame));
    }

    private showFrame(message: Message): void {
        this.frame = message;
        this.emit("frame", message);
    }

    private showField(message: Message): void {
        const values = new Map<number, Float32Array>();
        for (const s of message.sections) if (s.type === SECTION.field) values.set(s.index, s.f32);
        this.field = { index: message.number, values };
        this.emit("field", this.field);
    }

    private takeTopology(message: Message): void {
        this.topology = this.hello!.meshes.map((_, mesh) => {
            const modes = sectionOf(message, SECTION.modes, mesh);
            return {
                triangles: sectionOf(message, SECTION.triangles, mesh)?.u32 ?? new Uint32Array(0),
                rest: sectionOf(message, SECTION.rest, mesh)?.f32 ?? new Float32Array(0),
                modes: modes && modes.count > 0 ? modes.f32 : null,
                columns: modes?.count ?? 0,
                fixed: sectionOf(message, SECTION.fixed, mesh)?.u32 ?? new Uint32Array(0),
            };
        });
        this.emit("topology", this.topology);
    }

    setConnection(connection: Connection): void {
        this.connection = connection;
        this.emit("connection", connection);
    }
}

// SPDX-License-Identifier: Apache-2.0
// Recordings: the messages of the server as they came, packed, inside a copy of this page. Opened without a server,
// the page finds them and plays them back through the same code that draws live.
//
//   "TDREC1\0\0", then records: u32 kind (0 text, 1 binary), u32 bytes, f64 time [ms], bytes, filled to a multiple of 8
//
// packed by gzip, in base64, in <script id="recording">.
import { KIND } from "./protocol";
import type { Session } from "./session";
import type { Socket, Tap } from "./socket";

const MAGIC = "TDREC1\0\0";
const MOST_BYTES = 192 * 2 ** 20;
const FRAME_GAP = 1000 / 32; // [ms] recordings show 30 pictures a second

export interface Record {
    time: number; ///< [ms] since the recording began
    text: string | null;
    binary: ArrayBuffer | null;
}

export const isFrame = (record: Record): boolean => record.binary !== null && new DataView(record.binary).getUint32(0, true) === KIND.frame;

/// Keeps what a page needs to start (hello, topology, last field and frame), and everything after start(): a recording begins
/// with what is shown, however long the next frame takes to come, and ends with what is shown last.
export class Recorder implements Tap {
    active = false;
    frames = 0; ///< that came since start()
    bytes = 0;
    changed: () => void = () => undefined;
    private hello = "";
    private topology: ArrayBuffer | null = null;
    private frame: ArrayBuffer | null = null;
    private late: ArrayBuffer | null = null; ///< a frame that came too soon after the last one that was kept
    private status = "";
    private field: ArrayBuffer | null = null;
    private records: Record[] = [];
    private began = 0;
    private lastFrame = -Infinity;
    private lastStatus = -Infinity;
    private readonly session: Session;

    constructor(socket: Socket, session: Session) {
        this.session = session;
        socket.taps.push(this);
    }

    start(): void {
        this.records = [];
        this.frames = this.bytes = 0;
        this.began = performance.now();
        this.lastFrame = this.lastStatus = -Infinity;
        this.late = null;
        this.active = true;
        if (this.hello) this.add({ text: this.hello, binary: null });
        if (this.topology) this.add({ text: null, binary: this.topology });
        if (this.status) this.add({ text: this.status, binary: null });
        if (this.field) this.add({ text: null, binary: this.field });
        if (this.frame) this.add({ text: null, binary: this.frame });
        this.changed();
    }

    stop(): Record[] {
        if (this.active && this.late) {
            this.frames++;
            this.add({ text: null, binary: this.late });
        }
        this.active = false;
        this.changed();
        return this.records;
    }

    text(text: string): void {
        const type = /"type"\s*:\s*"(\w+)"/.exec(text.slice(0, 200))?.[1];
        if (type === "hello") {
            this.hello = text;
            this.field = this.frame = null;
        }
        if (type === "status") this.status = text;
        if (!this.active || (type !== "hello" && type !== "status")) return;
        if (type === "status" && performance.now() - this.lastStatus < 190) return;
        if (type === "status") this.lastStatus = performance.now();
        this.add({ text, binary: null });
    }

    binary(buffer: ArrayBuffer): void {
        const kind = new DataView(buffer).getUint32(0, true);
        if (kind === KIND.topology) this.topology = buffer;
        if (kind === KIND.field) this.field = buffer;
        if (kind === KIND.frame) this.frame = buffer;
        if (!this.active) return;
        if (kind === KIND.frame) {
            const soon = performance.now() - this.lastFrame < FRAME_GAP;
            this.late = soon ? buffer : null;
            if (soon) return;
            this.lastFrame = performance.now();
            this.frames++;
        }
        this.add({ text: null, binary: buffer });
    }

    private add(record: Omit<Record, "time">): void {
        this.records.push({ ...record, time: performance.now() - this.began });
        this.bytes += record.text?.length ?? record.binary!.byteLength;
        if (this.bytes > MOST_BYTES && this.active) {
            this.active = false;
            this.session.emit("notice", { level: "warning", message: "The recording has grown to 192 MiB and was stopped; save it now." });
        }
        this.changed();
    }
}

export function pack(records: Record[]): Uint8Array {
    const encoder = new TextEncoder();
    const parts = records.map((r) => (r.text !== null ? encoder.encode(r.text) : new Uint8Array(r.binary!)));
    const padded = (n: number): number => 8 * Math.ceil(n / 8);
    const bytes = new Uint8Array(parts.reduce((n, p) => n + 16 + padded(p.length), 8));
    const view = new DataView(bytes.buffer);
    bytes.set(encoder.encode(MAGIC));
    let at = 8;
    records.forEach((record, i) => {
        view.setUint32(at, record.text !== null ? 0 : 1, true);
        view.setUint32(at + 4, parts[i].length, true);
        view.setFloat64(at + 8, record.time, true);
        bytes.set(parts[i], at + 16);
        at += 16 + padded(parts[i].length);
    });
    return bytes;
}

export function unpack(bytes: Uint8Array): Record[] {
    const decoder = new TextDecoder();
    if (decoder.decode(bytes.subarray(0, 8)) !== MAGIC) throw new Error("this is not a recording of Tendril");
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const records: Record[] = [];
    for (let at = 8; at + 16 <= bytes.length; ) {
        const text = view.getUint32(at, true) === 0, length = view.getUint32(at + 4, true), time = view.getFloat64(at + 8, true);
        if (at + 16 + length > bytes.length) throw new Error("the recording is cut short");
        const part = bytes.slice(at + 16, at + 16 + length);
        records.push({ time, text: text ? decoder.decode(part) : null, binary: text ? null : part.buffer });
        at += 16 + 8 * Math.ceil(length / 8);
    }
    return records;
}

const through = (bytes: Uint8Array, stream: ReadableWritablePair<BufferSource, BufferSource>): Promise<Uint8Array> =>
    new Response(new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array<ArrayBuffer>, BufferSource>))
        .arrayBuffer().then((b) => new Uint8Array(b));

function base64(bytes: Uint8Array): string {
    let text = "";
    for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
    return btoa(text);
}

/// A second run that is shown beside the first.
export interface Other {
    name: string;
    records: Record[];
}

const MARK = "application/octet-stream";
const IDS = ["recording", "recording-2"];

async function script(id: string, records: Record[], name = ""): Promise<string> {
    const packed = await through(pack(records), new CompressionStream("gzip") as never);
    const text = name.replace(/[&"<>]/g, (c) => `&#${c.charCodeAt(0)};`);
    return `<script type="${MARK}" id="${id}"${name ? ` data-name="${text}"` : ""}>${base64(packed)}</script>`;
}

const decoded = async (text: string): Promise<Record[]> => {
    const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    return unpack(await through(bytes, new DecompressionStream("gzip") as never));
};

/// This page, as it was before the program changed it, with the records inside, and perhaps those of another run.
export async function page(source: string, records: Record[], other: Other | null = null): Promise<Blob> {
    const scripts = [await script(IDS[0], records), other ? await script(IDS[1], other.records, other.name) : ""];
    const plain = source.replace(new RegExp(`<script type="${MARK}"[^>]*>[^<]*</script>`, "g"), ""); // of a page that has some
    const at = plain.lastIndexOf("</body>");
    return new Blob(["<!doctype html>\n", plain.slice(0, at), ...scripts, plain.slice(at)], { type: "text/html" });
}

/// The records inside this page, if it has any.
export async function embedded(): Promise<Record[] | null> {
    const text = document.getElementById(IDS[0])?.textContent;
    return text ? decoded(text) : null;
}

/// The run inside this page that is shown beside the first, if there is one.
export async function embeddedOther(): Promise<Other | null> {
    const element = document.getElementById(IDS[1]);
    return element?.textContent ? { name: element.dataset.name || "other run", records: await decoded(element.textContent) } : null;
}

/// The records inside the page in a file. Throws, with the reason, where there are none.
export async function fromFile(file: File): Promise<Other> {
    const found = new RegExp(`<script type="${MARK}" id="${IDS[0]}"[^>]*>([^<]*)</script>`).exec(await file.text());
    if (!found) throw new Error(`${file.name} is not a recording: it has none inside. The red button of the viewer records one`);
    return { name: file.name.replace(/\.html?$/i, ""), records: await decoded(found[1]) };
}

// SPDX-License-Identifier: Apache-2.0
// Plays the records of a recording into the session, at any time and in any order.
import { decode, KIND, type Message } from "./protocol";
import { isFrame, type Record } from "./recording";
import type { Session } from "./session";

interface Frame {
    time: number; ///< [s] in the recording
    simulated: number; ///< [s] in the scene
    record: number;
}

export class Replay {
    readonly duration: number;
    playing = false;
    speed = 1;
    loop = false; ///< begins again at its end
    now = 0; ///< [s]
    moved: () => void = () => undefined;
    rewound: () => void = () => undefined;
    passed: (frame: Message) => void = () => undefined;
    private readonly frames: Frame[] = [];
    private readonly records: Record[];
    private readonly session: Session;
    private shown = -1; // record of the last frame shown
    private part = -1; // of the last hello
    private last = 0;

    constructor(session: Session, records: Record[]) {
        this.session = session;
        this.records = records;
        let first = Infinity;
        records.forEach((r, i) => {
            if (!isFrame(r)) return;
            first = Math.min(first, r.time);
            this.frames.push({ time: (r.time - first) / 1000, simulated: new DataView(r.binary!).getFloat64(16, true), record: i });
        });
        this.duration = this.frames.at(-1)?.time ?? 0;
        session.setConnection("replay");
    }

    start(): void {
        this.seek(0);
        this.toggle();
    }

    toggle(): void {
        this.playing = !this.playing;
        if (this.playing && this.now >= this.duration) this.now = 0;
        this.last = performance.now();
        if (this.playing) requestAnimationFrame(() => this.tick());
        this.moved();
    }

    step(by: 1 | -1 = 1): void {
        this.playing = false;
        const next = by > 0 ? this.frames.find((f) => f.time > this.now + 1e-9) : this.frames.findLast((f) => f.time < this.now - 1e-9);
        if (next) this.seek(next.time);
        this.moved();
    }

    seek(time: number): void {
        this.now = Math.min(this.duration, Math.max(0, time));
        let at = this.frames.findLastIndex((f) => f.time <= this.now + 1e-9);
        if (at < 0) at = 0;
        if (this.frames[at]) this.show(this.frames[at].record);
        this.moved();
    }

    /// Shows what was at a time of the scene: the last frame before it, of the first run where it was reset.
    seekSimulated(time: number): void {
        let at = 0;
        for (let i = 1; i < this.frames.length && this.frames[i].simulated >= this.frames[i - 1].simulated; i++)
            if (this.frames[i].simulated <= time + 1e-9) at = i;
        if (this.frames[at]) this.seek(this.frames[at].time);
    }

    // Only the frame asked for is drawn; those passed over go to the plots. Going back starts again from the last
    // hello before that time.
    private show(record: number): void {
        if (record === this.shown) return;
        const part = this.records.findLastIndex((r, i) => i <= record && r.text !== null && isHello(r.text));
        const again = part !== this.part;
        let from = this.shown + 1;
        if (again || record < this.shown) from = Math.max(0, part);
        if (!again && record < this.shown) this.rewound();
        this.part = part;
        let status: string | null = null, field: ArrayBuffer | null = null;
        for (let i = from; i < record; i++) {
            const { text, binary } = this.records[i];
            if (text !== null && isHello(text)) {
                if (again) this.session.takeText(text);
            } else if (text !== null) status = text;
            else {
                const kind = new DataView(binary!).getUint32(0, true);
                if (kind === KIND.topology) {
                    if (again) this.session.takeBinary(binary!);
                } else if (kind === KIND.field) field = binary;
                else if (kind === KIND.frame) this.passed(decode(binary!));
            }
        }
        if (status) this.session.takeText(status);
        if (field) this.session.takeBinary(field);
        this.session.takeBinary(this.records[record].binary!);
        this.shown = record;
    }

    private tick(): void {
        if (!this.playing) return;
        const present = performance.now();
        this.seek(this.now + (this.speed * (present - this.last)) / 1000);
        this.last = present;
        if (this.now >= this.duration) {
            if (this.loop) this.seek(0);
            else this.playing = false;
        }
        this.moved();
        if (this.playing) requestAnimationFrame(() => this.tick());
    }
}

const isHello = (text: string): boolean => /"type"\s*:\s*"hello"/.test(text.slice(0, 200));

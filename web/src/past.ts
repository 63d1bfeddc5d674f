// SPDX-License-Identifier: Apache-2.0
// The last minute as it came, kept in this page alone: the time line below the picture goes back through it while the
// simulation goes on.
import { KIND } from "./protocol";
import type { Session } from "./session";
import type { Tap } from "./socket";

const SPAN = 60; // [s] of simulated time
const MOST_BYTES = 64 * 2 ** 20;
const GAP = 1000 / 32; // [ms] between two frames that are kept

interface Moment {
    time: number; ///< [s] simulated
    frame: ArrayBuffer;
    field: ArrayBuffer | null; ///< the values of then that bodies were coloured by
}

export class Past implements Tap {
    changed: () => void = () => undefined;
    at: number | null = null; ///< [s] that is shown; null: the present
    private moments: Moment[] = [];
    private bytes = 0;
    private field: ArrayBuffer | null = null;
    private lastKept = -Infinity;
    private newest: ArrayBuffer | null = null;
    private readonly session: Session;

    constructor(session: Session) {
        this.session = session;
        session.on("hello", () => this.clear());
    }

    get first(): number {
        return this.moments[0]?.time ?? 0;
    }

    get last(): number {
        return this.moments.at(-1)?.time ?? 0;
    }

    text(): void {
        // of no matter here
    }

    binary(buffer: ArrayBuffer): void {
        const view = new DataView(buffer), kind = view.getUint32(0, true);
        if (view.getUint32(4, true) !== this.session.hello?.generation) return;
        if (kind === KIND.field) this.field = buffer;
        if (kind !== KIND.frame) return;
        const time = view.getFloat64(16, true);
        if (time < this.last) this.clear(); // it was reset
        this.newest = buffer;
        const now = performance.now();
        if (time === this.last && this.moments.length > 0) return;
        if (now - this.lastKept < GAP && this.session.status?.playing) return;
        this.lastKept = now;
        this.moments.push({ time, frame: buffer, field: this.field });
        this.bytes += buffer.byteLength;
        let old = 0;
        while (old < this.moments.length - 1 && (this.moments[old].time < time - SPAN || this.bytes > MOST_BYTES))
            this.bytes -= this.moments[old++].frame.byteLength;
        this.moments.splice(0, old);
        if (this.at !== null && this.at < this.first) this.show(this.first); // what was looked at is too old now
        this.changed();
    }

    /// Shows the frame at this time or the last before it.
    show(time: number): void {
        if (this.moments.length === 0) return;
        const moment = this.moments.findLast((m) => m.time <= time + 1e-9) ?? this.moments[0];
        this.at = moment.time;
        this.session.look(moment.frame, moment.field);
        this.changed();
    }

    /// One frame back or on.
    step(by: 1 | -1): void {
        const at = this.at ?? this.last;
        const next = by < 0 ? this.moments.findLast((m) => m.time < at - 1e-9) : this.moments.find((m) => m.time > at + 1e-9);
        if (next) this.show(next.time);
    }

    /// Back to the present.
    live(): void {
        if (this.at === null) return;
        this.at = null;
        this.session.lookLive(this.newest, this.field);
        this.changed();
    }

    private clear(): void {
        this.moments = [];
        this.bytes = 0;
        this.field = this.newest = null;
        this.lastKept = -Infinity;
        this.at = null;
        this.session.held = false;
        this.changed();
    }
}

// SPDX-License-Identifier: Apache-2.0
// Numbers of the last seconds, for the plots: one row a frame, at most 50 rows a simulated second.
import { probeName, SECTION, sectionOf, type Hello, type Message } from "./protocol";
import type { Session } from "./session";

export interface Series {
    name: string;
    unit: string;
}

export type Table = "probes" | "actuators" | "contacts" | "hands" | "steps";

const ROWS = 1500;
const MOST_PAIRS = 10;

export class History {
    readonly span: number; ///< [s] simulated time that is kept
    readonly series: Record<Table, Series[]> = { probes: [], actuators: [], contacts: [], hands: [], steps: [] };
    readonly time: number[] = [];
    readonly rows: Record<Table, (number | null)[][]> = { probes: [], actuators: [], contacts: [], hands: [], steps: [] };
    quantity: "effort" | "displacement" = "effort";
    private hello: Hello | null = null;
    private rest: number[][] = [];
    private gap = 0.02;
    private guided: number[] = []; // tools that a hand holds
    private pairs: string[] = []; // of bodies that have touched, as series of the contacts
    changed: () => void = () => undefined; ///< there are more series than before

    /// All of a run (Infinity) is taken by whoever has it, not as it is shown.
    constructor(session: Session, span = 20) {
        this.span = span;
        session.on("hello", (hello) => this.start(hello));
        if (Number.isFinite(span)) session.on("live", (frame) => this.take(frame));
    }

    /// What a series was at a time of another run: the last row before it; null outside of what is kept.
    at(table: Table, series: number, time: number): number | null {
        const { time: times } = this;
        if (times.length === 0 || time < times[0] - 1e-9 || time > times.at(-1)! + 1.5 * this.gap) return null;
        let low = 0, high = times.length;
        while (high - low > 1) {
            const middle = (low + high) >> 1;
            if (times[middle] <= time + 1e-9) low = middle;
            else high = middle;
        }
        return this.rows[table][series]?.[low] ?? null;
    }

    setQuantity(quantity: "effort" | "displacement"): void {
        this.quantity = quantity;
        if (this.hello) this.start(this.hello);
    }

    clear(): void {
        this.time.length = 0;
        for (const table of Object.values(this.rows)) for (const column of table) column.length = 0;
    }

    /// Everything that is kept, as a table that the program reads too: t, then names with their units.
    csv(): string {
        const title = (table: Table, { name, unit }: Series): string => {
            const what = { probes: `${name}.displacement`, actuators: `${name}.${this.quantity}`, contacts: `${name}.force`, hands: `${name}.felt_force`, steps: `step time.${name}` }[table];
            return `${what.replaceAll(",", " ")} [${unit || "1"}]`;
        };
        const columns = (Object.keys(this.series) as Table[]).flatMap((table) =>
            this.series[table].map((s, i) => ({ name: title(table, s), values: this.rows[table][i] })));
        const lines = [["t", ...columns.map((c) => c.name)].join(",")];
        this.time.forEach((t, k) => lines.push([t, ...columns.map((c) => c.values[k] ?? "")].join(",")));
        return `${lines.join("\n")}\n`;
    }

    private start(hello: Hello): void {
        this.hello = hello;
        this.rest = hello.probes.map((p) => (typeof p === "object" && p.rest) || []);
        this.gap = Math.max(0.5 * hello.time_step, Math.min(this.span, 60) / ROWS);
        const { series } = this;
        series.probes = hello.probes.map((p) => ({ name: probeName(p), unit: "m" }));
        series.actuators = hello.actuators.map((a) => ({
            name: a.name,
            unit: this.quantity === "effort" ? a.effort_unit : a.displacement_unit,
        }));
        series.contacts = (hello.attachments ?? []).map((name) => ({ name: name ?? "attachment", unit: "N" }));
        this.pairs = [];
        this.guided = (hello.tools ?? []).map((t, i) => (t.guided ? i : -1)).filter((i) => i >= 0);
        series.hands = this.guided.map((i) => ({ name: hello.tools![i].name, unit: "N" }));
        series.steps = [{ name: "mean", unit: "s" }, { name: "longest", unit: "s" }];
        this.clear();
        for (const table of Object.keys(series) as Table[]) this.rows[table] = series[table].map(() => []);
    }

    take(frame: Message): void {
        const last = this.time.at(-1);
        if (last !== undefined && frame.time < last - 1e-12) this.clear();
        else if (last !== undefined && frame.time - last < this.gap) return;
        if (!this.hello) return;
        this.time.push(frame.time);
        this.push("probes", this.probes(frame));
        this.push("actuators", this.actuators(frame));
        this.push("contacts", this.contacts(frame));
        const felt = sectionOf(frame, SECTION.toolForces);
        this.push("hands", this.guided.map((i) => (felt ? Math.hypot(...felt.f32.subarray(felt.width * i, felt.width * i + 3)) : NaN)));
        const timing = sectionOf(frame, SECTION.timing)?.f32;
        this.push("steps", timing && timing[0] > 0 ? [timing[1], timing[2]] : [null, null]);
        let old = 0;
        while (old < this.time.length && this.time[old] < frame.time - this.span) old++;
        if (old > 50) {
            this.time.splice(0, old);
            for (const table of Object.values(this.rows)) for (const column of table) column.splice(0, old);
        }
    }

    private push(table: Table, values: (number | null)[]): void {
        this.rows[table].forEach((column, i) => column.push(values[i] ?? null));
    }

    private probes(frame: Message): number[] {
        const s = sectionOf(frame, SECTION.probes);
        const result: number[] = [];
        for (let i = 0; i < (s?.count ?? 0); i++) {
            const x = s!.f32.subarray(3 * i, 3 * i + 3);
            if (!this.rest[i]?.length) this.rest[i] = Array.from(x); // the server may not say: from the first frame on
            result.push(Math.hypot(x[0] - this.rest[i][0], x[1] - this.rest[i][1], x[2] - this.rest[i][2]));
        }
        return result;
    }

    private actuators(frame: Message): number[] {
        const s = sectionOf(frame, SECTION.actuators);
        const at = this.quantity === "effort" ? 0 : 1;
        return this.hello!.actuators.map((_, i) => s?.f32[3 * i + at] ?? NaN);
    }

    // Of a body with several links the link is named too; a soft body has none.
    private side(body: number, link: number): string {
        const of = this.hello!.bodies[body];
        const links = of?.links ?? [];
        return `${of?.name ?? "–"}${links.length > 1 ? `.${links[link] ?? link}` : ""}`;
    }

    // Resultants between links. A pair that touches for the first time gets a series, empty until now.
    private contacts(frame: Message): number[] {
        const s = sectionOf(frame, SECTION.pairs);
        const forces = new Map<string, number>();
        const before = this.pairs.length;
        for (let i = 0; i < (s?.count ?? 0); i++) {
            const at = s!.width * i, [a, b, la, lb] = [6, 7, 9, 10].map((k) => s!.f32[at + k]), key = `${a} ${la} ${b} ${lb}`;
            forces.set(key, Math.hypot(s!.f32[at + 3], s!.f32[at + 4], s!.f32[at + 5]));
            if (this.pairs.includes(key) || this.pairs.length >= MOST_PAIRS) continue;
            this.pairs.push(key);
            this.series.contacts.push({ name: a === b && la === lb ? `${this.side(a, la)} itself` : `${this.side(a, la)} – ${this.side(b, lb)}`, unit: "N" });
            this.rows.contacts.push(new Array<number | null>(this.time.length - 1).fill(null));
        }
        if (this.pairs.length > before) this.changed();
        const held = sectionOf(frame, SECTION.attachments);
        const welds = (this.hello!.attachments ?? []).map((_, i) => (held ? Math.hypot(...held.f32.subarray(6 * i + 3, 6 * i + 6)) : NaN));
        return [...welds, ...this.pairs.map((key) => forces.get(key) ?? 0)];
    }
}

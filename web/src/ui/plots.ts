// SPDX-License-Identifier: Apache-2.0
// Live plots of the history.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { History, Table } from "../history";
import type { Hello } from "../protocol";
import type { Session } from "../session";
import { show } from "../units";
import { download, h, iconButton, setText } from "./dom";

// Told apart with colour-blind eyes as well (after Okabe and Ito), readable on light and dark.
const PALETTE = ["#2f7fc1", "#e07b39", "#1f9e77", "#c2589a", "#c79a00", "#6b6ecf", "#52a7d8", "#b5493a", "#7a9a2e", "#8d6b5a"];

const TITLES: [Table, string][] = [
    ["probes", "Probes"],
    ["actuators", "Actuators"],
    ["hands", "Force on the hand"],
    ["contacts", "Contact forces"],
    ["steps", "Step time"],
];

class Plot {
    readonly element: HTMLElement;
    private readonly table: Table;
    private readonly title: HTMLElement;
    private readonly legend = h("span", { class: "keys" });
    private readonly area = h("div", { class: "area" });
    private readonly empty = h("span", { class: "empty", hidden: true });
    private plot: uPlot | null = null;
    private units: string[] = [];
    private readonly off = new Set<string>(); // names that a click on the legend took out
    private pairs: [number, number][] = []; // series that the other run has too, and which they are there

    constructor(table: Table, name: string, extra?: HTMLElement) {
        this.table = table;
        this.title = h("span", { class: "title" }, name);
        this.area.append(this.empty);
        this.element = h("figure", { class: "plot", "aria-label": `Plot: ${name}` },
            h("figcaption", {}, this.title, extra ?? "", this.legend), this.area);
    }

    /// Makes the plot anew: other series, other colours of the page or another size.
    build(history: History, other: History | null): void {
        this.plot?.destroy();
        this.plot = null;
        const series = history.series[this.table];
        const width = this.area.clientWidth, height = this.area.clientHeight;
        // Times of steps belong to a machine, not to a run.
        this.pairs = other && this.table !== "steps"
            ? series.map((s, i): [number, number] => [i, other.series[this.table].findIndex((o) => o.name === s.name && o.unit === s.unit)]).filter(([, k]) => k >= 0)
            : [];
        this.legend.replaceChildren(...(this.pairs.length > 0 ? [h("span", { class: "dashed" }, "dashed: B")] : []), ...series.map((s, i) => {
            const key = h("button", {
                type: "button", class: "key", title: s.name, "aria-label": `Show ${s.name}`, "aria-pressed": String(!this.off.has(s.name)),
                click: () => {
                    if (!this.off.delete(s.name)) this.off.add(s.name);
                    key.setAttribute("aria-pressed", String(!this.off.has(s.name)));
                    this.plot?.setSeries(i + 1, { show: !this.off.has(s.name) });
                    const pair = this.pairs.findIndex(([own]) => own === i);
                    if (pair >= 0) this.plot?.setSeries(series.length + 1 + pair, { show: !this.off.has(s.name) });
                },
            }, h("i", { style: `background:${PALETTE[i % PALETTE.length]}` }), s.name);
            return key;
        }));
        this.units = [...new Set(series.map((s) => s.unit))].slice(0, 2);
        if (series.length === 0 || width < 40 || height < 40) return;
        const style = getComputedStyle(document.documentElement);
        const ink = style.getPropertyValue("--muted"), line = style.getPropertyValue("--line");
        const font = `10.5px ${style.getPropertyValue("--font")}`;
        const axis = (scale: string, unit: string, side: 1 | 3): uPlot.Axis => ({
            scale, side, size: 46, stroke: ink, font, gap: 3,
            grid: side === 3 ? { stroke: line, width: 1 } : { show: false },
            ticks: { show: false }, space: 24,
            values: (_: uPlot, splits: number[]) => splits.map((v) => `${Number(v.toPrecision(4))}`),
            label: show(unit).unit, labelSize: 13, labelGap: 0, labelFont: font,
        });
        this.plot = new uPlot({
            width, height,
            padding: [6, 14, 0, 0],
            legend: { show: false },
            cursor: { show: true, y: false, drag: { x: false, y: false }, points: { size: 5 } },
            scales: {
                x: { time: false },
                ...Object.fromEntries(this.units.map((u, i) => [`y${i}`, { range: range(u) } as uPlot.Scale])),
            },
            axes: [
                { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false }, size: 22, gap: 2, space: 60,
                  values: (_: uPlot, splits: number[]) => splits.map((v) => `${Number(v.toFixed(3))} s`) },
                ...this.units.map((u, i) => axis(`y${i}`, u, i === 0 ? 3 : 1)),
            ],
            series: [
                {},
                ...series.map((s, i) => ({
                    label: s.name, scale: `y${Math.max(0, this.units.indexOf(s.unit))}`,
                    stroke: PALETTE[i % PALETTE.length], width: 1.4, points: { show: false }, show: !this.off.has(s.name),
                })),
                ...this.pairs.map(([i]) => ({
                    label: `${series[i].name}, B`, scale: `y${Math.max(0, this.units.indexOf(series[i].unit))}`, dash: [4, 3],
                    stroke: PALETTE[i % PALETTE.length], width: 1.4, points: { show: false }, show: !this.off.has(series[i].name),
                })),
            ],
        }, this.data(history, other), this.area);
    }

    update(history: History, other: History | null): void {
        this.plot?.setData(this.data(history, other));
        this.empty.hidden = history.series[this.table].length > 0;
        setText(this.empty, "No contacts yet");
    }

    /// Where the scene has nothing of the kind there is no plot of it.
    offer(hello: Hello): void {
        const has = { probes: hello.probes.length > 0, actuators: hello.actuators.length > 0, steps: hello.recorded === undefined, hands: (hello.tools ?? []).some((t) => t.guided),
            contacts: (hello.contact?.possible ?? false) || (hello.attachments?.length ?? 0) > 0 };
        this.element.hidden = !has[this.table];
    }

    private data(history: History, other: History | null): uPlot.AlignedData {
        const { series, rows } = history;
        return [
            history.time,
            ...rows[this.table].map((column, i) => {
                const { factor } = show(series[this.table][i].unit);
                return column.map((v) => (v === null || !Number.isFinite(v) ? null : v * factor));
            }),
            ...this.pairs.map(([i, k]) => {
                const { factor } = show(series[this.table][i].unit);
                return history.time.map((t) => {
                    const v = other?.at(this.table, k, t) ?? null;
                    return v === null || !Number.isFinite(v) ? null : v * factor;
                });
            }),
        ] as uPlot.AlignedData;
    }
}

// Zero is always in sight, and rounding errors of a robot at rest are not blown up to fill the plot.
function range(unit: string): uPlot.Range.Function {
    const least = unit === "s" ? 1 : unit === "m" ? 0.1 : 0.01;
    return (_, low, high) => {
        const top = Math.max(high ?? 0, 0), bottom = Math.min(low ?? 0, 0);
        const span = Math.max(top - bottom, least);
        return [bottom < 0 ? bottom - 0.08 * span : 0, Math.max(top, bottom + least) + 0.08 * span];
    };
}

export class Plots {
    readonly element = h("div", { class: "plots" });
    private readonly plots: Plot[];
    private readonly history: History;
    private last = 0;
    private other: History | null = null;

    constructor(session: Session, history: History) {
        this.history = history;
        const choice = h("select", {
            class: "tiny", "aria-label": "Plot of actuators shows",
            change: () => {
                history.setQuantity(choice.value as "effort" | "displacement");
                this.other?.setQuantity(choice.value as "effort" | "displacement");
                this.refill();
                this.rebuild();
            },
        }, h("option", { value: "effort" }, "effort"), h("option", { value: "displacement" }, "displacement"));
        this.plots = TITLES.map(([table, name]) => new Plot(table, name, table === "actuators" ? choice : undefined));
        const save = iconButton("save", "Save these numbers, CSV", () => download(new Blob([history.csv()], { type: "text/csv" }), "plots.csv"), { id: "save-plots" });
        this.plots.at(-1)!.element.querySelector("figcaption")!.append(save);
        this.element.append(...this.plots.map((p) => p.element));
        session.on("hello", (hello) => {
            for (const plot of this.plots) plot.offer(hello);
            this.rebuild();
        });
        history.changed = () => setTimeout(() => this.rebuild()); // when the row is complete
        session.on("live", () => this.tick());
        new ResizeObserver(() => this.rebuild()).observe(this.element);
    }

    /// Fills the other run's numbers again, after another quantity was chosen.
    refill: () => void = () => undefined;

    /// A run whose curves are dashed; null: none.
    compare(other: History | null): void {
        this.other = other;
        other?.setQuantity(this.history.quantity);
        this.refill();
        this.rebuild();
    }

    rebuild(): void {
        for (const plot of this.plots) plot.build(this.history, this.other);
        this.refresh();
    }

    refresh(): void {
        this.last = performance.now();
        if (this.element.clientHeight > 0) for (const plot of this.plots) plot.update(this.history, this.other);
    }

    private tick(): void {
        if (performance.now() - this.last > 120) this.refresh();
    }
}

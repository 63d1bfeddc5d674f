// SPDX-License-Identifier: Apache-2.0
// A second run beside the one of the page: a recording, drawn by a stage and a world of its own, at the same simulated
// time, from the same side, with the same colours and layers.
import { History } from "./history";
import { decode } from "./protocol";
import { isFrame, type Record } from "./recording";
import { Replay } from "./replay";
import { Session } from "./session";
import { h, iconButton, setText } from "./ui/dom";
import { Stage, type Look } from "./view/stage";
import { World } from "./view/world";

export class Beside {
    readonly element: HTMLElement;
    readonly history: History; ///< of all of the recording
    readonly session = new Session();
    readonly name: string;
    readonly records: Record[];
    readonly stage: Stage;
    readonly world: World;
    private readonly replay: Replay;
    private readonly tag = h("span");
    private readonly first: Stage;
    private readonly close: () => void;

    /// `tools`: buttons beside its name. The element must be on the page before start().
    constructor(name: string, records: Record[], first: World, look: Look, close: () => void, tools: HTMLElement[]) {
        this.name = name;
        this.records = records;
        this.first = first.stage;
        this.close = close;
        const canvas = h("canvas", { class: "picture", tabindex: 0, role: "img", "aria-label": `Picture of the other run, ${name}` });
        const overlay = h("div", { class: "overlay", "aria-hidden": "true" });
        const shut = iconButton("close", "Close the other run (B)", () => this.close(), { id: "beside-close" });
        this.element = h("section", { class: "viewport beside", "aria-label": "The other run" }, canvas, overlay,
            h("div", { class: "run-name", id: "run-b" }, h("b", {}, "B"), this.tag, ...tools, shut));
        this.first.canvas.parentElement!.after(this.element); // the renderer asks for its size
        this.history = new History(this.session, Infinity);
        this.stage = new Stage(canvas, this.first.detail);
        this.stage.setLook(look);
        this.world = new World(this.session, this.stage, overlay, first);
        this.replay = new Replay(this.session, records);
        first.beside = this.world;
        this.first.beside = this.stage;
        this.link();
    }

    start(time: number): void {
        this.replay.seek(0); // hello and topology
        this.fill();
        this.stage.copyView(this.first);
        this.world.like!.applyLayers();
        this.world.like!.recolour();
        this.show(time);
    }

    /// All frames into the numbers of the plots.
    fill(): void {
        this.history.clear();
        for (const record of this.records)
            if (isFrame(record)) this.history.take(decode(record.binary!));
    }

    show(time: number): void {
        this.replay.seekSimulated(time);
        const own = this.session.frame?.time ?? 0;
        setText(this.tag, `${this.name} · ${own.toFixed(2)} s`);
    }

    dispose(): void {
        this.world.like!.beside = null;
        this.first.beside = null;
        this.first.fitting = this.first.turned = () => undefined;
        this.stage.dispose();
        this.element.remove();
    }

    // Whichever picture was turned last, the other follows: also the last of a turn that comes to rest, of which the
    // controls do not tell, and whatever turn of its own the other was in.
    private link(): void {
        let leader = this.first;
        this.first.fitting = () => (leader = this.first);
        for (const [one, other] of [[this.first, this.stage], [this.stage, this.first]]) {
            one.orbit.addEventListener("start", () => (leader = one));
            one.turned = () => leader === one && this.element.isConnected && !other.sees(one) && other.copyView(one);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
// The page of `tendril view`, from top to bottom: a session fed by a socket or a recording, the picture, the panels.
import "./style.css";
import * as THREE from "three";
import { Beside } from "./beside";
import { History } from "./history";
import { Past } from "./past";
import { SECTION, sectionOf } from "./protocol";
import { embedded, embeddedOther, fromFile, isFrame, page, Recorder, type Other } from "./recording";
import { Replay } from "./replay";
import { Session } from "./session";
import { Socket } from "./socket";
import { AppearancePanel } from "./ui/appearance";
import { download, h, iconButton, setIcon, setText } from "./ui/dom";
import { DrivePanel } from "./ui/drive";
import { helpDialog, listen, type Key } from "./ui/help";
import { ModesPanel } from "./ui/modes";
import { Notices } from "./ui/notices";
import { Plots } from "./ui/plots";
import { Tabs } from "./ui/tabs";
import { Theme } from "./ui/theme";
import { ToolPanel } from "./ui/tool";
import { TimingPanel } from "./ui/timing";
import { Transport } from "./ui/transport";
import { Interact } from "./view/interact";
import { LOOKS, Stage } from "./view/stage";
import { World } from "./view/world";

const VIEWS = { front: new THREE.Vector3(0, -1, 0.0001), right: new THREE.Vector3(1, 0, 0.0001), above: new THREE.Vector3(0, -0.0001, 1) };

const source = document.documentElement.outerHTML; // before anything is changed: what a recording is a copy of

async function start(): Promise<void> {
    const records = await embedded();
    const session = new Session();
    const history = new History(session);
    const socket = records ? null : new Socket(session);
    const recorder = socket ? new Recorder(socket, session) : null;
    const past = socket ? new Past(session) : null;
    if (past) socket!.taps.push(past);
    socket?.connect(); // answers come while the page is built
    const replay = records ? new Replay(session, records) : null;

    const canvas = h("canvas", { id: "view", tabindex: 0, role: "img", "aria-label": "Picture of the simulation" });
    const overlay = h("div", { class: "overlay", "aria-hidden": "true" });
    const viewport = h("main", { class: "viewport" }, canvas, overlay);
    const app = document.getElementById("app")!;
    app.append(viewport); // the renderer asks for its size
    const stage = new Stage(canvas, (window as { tendrilDetail?: number }).tendrilDetail); // tests have no graphics card
    const world = new World(session, stage, overlay);
    const interact = new Interact(canvas, session, stage, world);
    const theme = new Theme((look) => stage.setLook(look));

    const drive = new DrivePanel(session);
    const appearance = new AppearancePanel(session, world);
    const modes = new ModesPanel(session, world);
    const tool = new ToolPanel(session);
    const timing = new TimingPanel(session, stage);
    const plots = new Plots(session, history);
    const notices = new Notices(session, () => socket?.reconnect());
    theme.changed = () => plots.rebuild();
    drive.changed = () => plots.rebuild();

    // ---- tools above the picture
    const pull = iconButton("hand", "Pull bodies with the mouse (G)", () => togglePull(), { "aria-pressed": "true" });
    const togglePull = (): void => {
        interact.pull = !interact.pull;
        pull.setAttribute("aria-pressed", String(interact.pull));
    };
    const screenshot = async (): Promise<void> => download(await stage.picture(), `${fileName(session)}.png`);
    const cell = h("span", { class: "cell", title: "Width of a cell of the ground grid" });
    const tools = h("div", { class: "tools", role: "toolbar", "aria-label": "Picture" },
        iconButton("fit", "Fit the view (F)", () => stage.find(), { id: "fit" }),
        iconButton("front", "Look from the front (1)", () => stage.find(VIEWS.front), { id: "front" }),
        iconButton("right", "Look from the right (2)", () => stage.find(VIEWS.right), { id: "right" }),
        iconButton("above", "Look from above (3)", () => stage.find(VIEWS.above), { id: "above" }),
        replay ? null : pull,
        iconButton("camera", "Save a picture, PNG (S)", () => void screenshot(), { id: "screenshot" }));
    viewport.append(tools, h("div", { class: "legends" }, appearance.legend, appearance.arrows), cell, notices.corner);

    // ---- top bar
    const scenes = h("select", {
        id: "scene", "aria-label": "Scene",
        change: () => {
            session.send({ type: "scene", name: scenes.value });
            scenes.blur(); // keys are the picture's again, and the status may show the scene
        },
    });
    const record = iconButton("record", "Record to a page that replays (V)", () => void toggleRecording(), { id: "record", class: "tool record" });
    const recordState = h("span", { class: "recording", role: "status", hidden: true });
    const vtu = h("button", { type: "button", class: "tool wide", id: "vtu", click: () => toggleVtu() }, "VTU");
    const plotsButton = iconButton("plots", "Plots (P)", () => togglePlots(), { "aria-pressed": "true", id: "plots", class: "tool desktop" });
    const compare = iconButton("beside", "Another run beside this one (B)", () => toggleBeside(), { id: "beside", "aria-pressed": "false" });
    const help = iconButton("help", "Keyboard help (?)", () => dialog.showModal(), { id: "help" });
    const title = h("span", { class: "brand" }, h("b", {}, "Tendril"), replay ? h("span", { class: "tag" }, "recording") : null);
    const top = h("header", { class: "top" }, title, replay ? h("span", { class: "scene-name", id: "scene-name" }) : scenes, timing.chip,
        h("span", { class: "spring" }), recordState, replay ? null : record, replay ? null : vtu, compare, plotsButton, theme.button, help);

    async function toggleRecording(): Promise<void> {
        if (!recorder) return;
        if (!recorder.active && recorder.frames === 0) return recorder.start();
        const kept = recorder.stop();
        const frames = recorder.frames;
        recorder.frames = 0;
        recorder.changed();
        if (frames === 0) return notices.toast("Nothing was recorded: no frame came in that time.", "warn");
        const made = await page(source, kept);
        download(made, `${fileName(session)}.html`);
        notices.toast(`Saved ${kept.filter(isFrame).length} frames, ${(made.size / 2 ** 20).toFixed(1)} MiB. The file replays in any browser, without a server.`);
    }
    function toggleVtu(): void {
        const state = session.status?.recording;
        if (!session.hello?.recording.possible) notices.toast(session.hello?.recording.why || "The server may not write files.", "warn");
        else session.send(state?.active ? { type: "record", action: "stop" } : { type: "record", action: "start" });
    }
    if (recorder)
        recorder.changed = () => {
            const going = recorder.active || recorder.frames > 0;
            record.classList.toggle("on", going);
            setIcon(record, going ? "stop" : "record", going ? "Stop and save the recording (V)" : "Record to a page that replays (V)");
            recordState.hidden = !going;
            setText(recordState, `${recorder.frames} frames, ${(recorder.bytes / 2 ** 20).toFixed(1)} MiB`);
        };

    // ---- another run beside this one
    let beside: Beside | null = null;
    const runA = h("span");
    const nameA = h("div", { class: "run-name", id: "run-a", hidden: true }, h("b", {}, "A"), runA);
    viewport.append(nameA);
    const picker = h("input", {
        type: "file", accept: ".html,text/html", hidden: true, id: "beside-file", "aria-label": "A recording to show beside this run",
        change: () => void openBeside(picker.files?.[0]),
    });
    function toggleBeside(): void {
        if (beside) closeBeside();
        else picker.click();
    }
    function closeBeside(): void {
        beside?.dispose();
        beside = null;
        plots.compare(null);
        layBeside();
    }
    async function openBeside(file: File | undefined): Promise<void> {
        picker.value = ""; // the same file may be chosen again
        if (!file) return;
        try {
            showBeside(await fromFile(file));
        } catch (error) {
            notices.toast(`${(error as Error).message}.`, "warn");
        }
    }
    function showBeside(other: Other): void {
        if (beside) closeBeside();
        const save = replay
            ? [iconButton("save", "Save both runs as one page", () => void page(source, records!, other).then((made) => download(made, `${fileName(session)}-and-${other.name}.html`)), { id: "beside-save" })]
            : [];
        app.classList.add("pair");
        beside = new Beside(other.name, other.records, world, LOOKS[theme.dark ? "dark" : "light"], closeBeside, save);
        const { history: all } = beside;
        plots.refill = () => beside?.fill();
        beside.start(session.frame?.time ?? 0);
        plots.compare(all);
        layBeside();
    }
    function layBeside(): void {
        app.classList.toggle("pair", beside !== null);
        nameA.hidden = beside === null;
        compare.setAttribute("aria-pressed", String(beside !== null));
        nameRun();
    }
    const nameRun = (): void => setText(runA, `${session.hello?.scene ?? "this run"} · ${(session.frame?.time ?? 0).toFixed(2)} s`);
    session.on("frame", (frame) => {
        if (!beside) return;
        beside.show(frame.time);
        nameRun();
    });
    app.addEventListener("dragover", (event) => event.preventDefault());
    app.addEventListener("drop", (event) => {
        event.preventDefault();
        void openBeside(event.dataTransfer?.files[0]);
    });

    // ---- layout
    const transport = new Transport(session, replay, past);
    const phone = matchMedia("(max-width: 760px)");
    const plotsPanel = h("div", { class: "panel", id: "panel-plots" });
    const dock = h("section", { class: "dock", "aria-label": "Plots" });
    const tabs = new Tabs([
        ["drive", "Drive", drive.element],
        ["tool", "Tool", tool.element],
        ["view", "View", appearance.element],
        ["modes", "Modes", modes.element],
        ["timing", "Timing", timing.element],
        ["plots", "Plots", plotsPanel],
    ]);
    tabs.changed = () => plots.rebuild();
    tabs.show("tool", false);
    tabs.show("modes", false);
    const side = h("aside", { class: "side", "aria-label": "Controls" }, tabs.list, tabs.panels);
    let plotsOn = true;
    const togglePlots = (): void => {
        plotsOn = !plotsOn;
        arrange();
    };
    const arrange = (): void => {
        (phone.matches ? plotsPanel : dock).append(plots.element);
        app.classList.toggle("docked", plotsOn && !phone.matches);
        plotsButton.setAttribute("aria-pressed", String(plotsOn));
        tabs.show("plots", phone.matches);
        tabs.show("tool", !replay && (session.hello?.tools?.length ?? 0) > 0);
    };
    phone.addEventListener("change", arrange);
    app.replaceChildren(top, notices.banner, viewport, transport.element, dock, side, picker);
    app.classList.toggle("replay", replay !== null);
    arrange();

    // ---- keyboard
    const toggleTool = (): void => {
        if (replay) return;
        if (tool.tool < 0) return notices.toast("This scene has no tool to drive.", "warn");
        tool.toggle();
        if (tool.on) tabs.select("tool");
    };
    tool.changed = () => {
        world.drivenTool = tool.on ? tool.tool : -1;
        world.refresh();
        viewport.classList.toggle("driving", tool.on);
    };
    const keys: Key[] = [
        { keys: [" "], shown: "Space", does: "play or pause", action: () => transport.toggle() },
        { keys: [".", "ArrowRight"], shown: ".", does: "single step; in the past, the next frame", action: () => transport.step() },
        { keys: [",", "ArrowLeft"], shown: ",", does: "back by a frame, while the simulation goes on", action: () => transport.back() },
        { keys: ["Escape"], shown: "Esc", does: "back to the present", action: () => past?.live() },
        { keys: ["r"], shown: "R", does: "reset", action: () => transport.reset() },
        { keys: ["["], shown: "[", does: "slower", action: () => transport.changeSpeed(-1) },
        { keys: ["]"], shown: "]", does: "faster", action: () => transport.changeSpeed(1) },
        { keys: ["f"], shown: "F", does: "look at the bodies where they are", action: () => stage.find() },
        { keys: ["1"], shown: "1", does: "look from the front", action: () => stage.find(VIEWS.front) },
        { keys: ["2"], shown: "2", does: "look from the right", action: () => stage.find(VIEWS.right) },
        { keys: ["3"], shown: "3", does: "look from above", action: () => stage.find(VIEWS.above) },
        { keys: ["t"], shown: "T", does: "drive a tool by the keyboard, or not", action: toggleTool },
        { keys: ["g"], shown: "G", does: "pull bodies with the mouse, or not", action: togglePull },
        { keys: ["c"], shown: "C", does: "next colouring", action: () => appearance.next() },
        { keys: ["m"], shown: "M", does: "mesh edges", action: () => appearance.toggle("mesh") },
        { keys: ["p"], shown: "P", does: "plots", action: togglePlots },
        { keys: ["b"], shown: "B", does: "another run beside this one, or not", action: toggleBeside },
        { keys: ["l"], shown: "L", does: "light or dark", action: () => theme.toggle() },
        { keys: ["s"], shown: "S", does: "save a picture", action: () => void screenshot() },
        { keys: ["v"], shown: "V", does: "record, or stop and save", action: () => void toggleRecording() },
        { keys: ["?", "h"], shown: "?", does: "this help", action: () => dialog.showModal() },
    ];
    const dialog = helpDialog(keys);
    dialog.addEventListener("toggle", () => tool.stop());
    app.append(dialog);
    listen(keys);

    // ---- what the session tells of itself
    session.on("hello", (hello) => {
        document.title = `${hello.scene} – Tendril`;
        scenes.replaceChildren(...hello.scenes.map((s) => h("option", { value: s, selected: s === hello.scene }, s)));
        const name = document.getElementById("scene-name");
        if (name) setText(name, hello.scene);
        tabs.show("tool", !replay && (hello.tools?.length ?? 0) > 0);
        for (const live of ["drive", "timing"]) tabs.show(live, hello.recorded === undefined); // nothing to drive or to time
        tabs.show("modes", hello.bodies.some((body) => body.kind === "reduced" && body.modes));
        vtu.title = hello.recording.possible ? "Write a VTU series on the server" : `No VTU series: ${hello.recording.why}`;
    });
    session.on("topology", () => setText(cell, `grid ${Number((stage.gridCell * 1000).toPrecision(3))} mm`));
    session.on("status", (status) => {
        if (session.hello && document.activeElement !== scenes) scenes.value = status.loading ?? session.hello.scene;
        vtu.classList.toggle("on", status.recording.active);
        vtu.setAttribute("aria-label", status.recording.active ? `Stop the VTU series, ${status.recording.frames} files so far` : "Write a VTU series on the server");
        vtu.setAttribute("aria-pressed", String(status.recording.active));
        setText(vtu, status.recording.active ? `VTU ${status.recording.frames}` : "VTU");
    });

    // A frame is acknowledged when it is drawn: a browser or a network that is slow gets fewer, never old ones.
    let drawn = -1;
    const acknowledge = (): void => {
        if (session.received === drawn || replay) return;
        drawn = session.received;
        session.send({ type: "ack", frame: drawn });
    };
    stage.after.push(acknowledge);
    session.on("live", () => (document.hidden || session.held) && acknowledge()); // what is not drawn is kept
    session.on("hello", () => (drawn = session.received = -1));

    publish(session, stage, world, transport, interact, replay, past, tool, () => beside);
    if (replay) {
        replay.rewound = () => history.clear();
        replay.passed = (frame) => history.take(frame);
        replay.start();
        const other = await embeddedOther();
        if (other) showBeside(other);
    }
}

const fileName = (session: Session): string =>
    `tendril-${(session.hello?.scene ?? "scene").replace(/[^\w.-]+/g, "-")}-${(session.frame?.time ?? 0).toFixed(2)}s`;

/// For tests and for the curious: what the page shows, to read.
function publish(session: Session, stage: Stage, world: World, transport: Transport, interact: Interact, replay: Replay | null, past: Past | null, tool: ToolPanel, beside: () => Beside | null): void {
    const points = (type: number, width: number): number[][] => {
        const s = session.frame && sectionOf(session.frame, type);
        return Array.from({ length: s ? s.count : 0 }, (_, i) => Array.from(s!.f32.subarray(width * i, width * i + 3)));
    };
    const tendril = {
        get state() {
            const targets = world.targets.map((t) => t?.toArray() ?? null);
            return {
                connection: session.connection,
                scene: session.hello?.scene ?? null,
                generation: session.hello?.generation ?? 0,
                time: session.frame?.time ?? 0,
                step: session.frame?.step ?? 0,
                playing: transport.playing,
                frames: session.frames,
                fps: stage.fps.value,
                firstPicture: stage.firstPicture,
                probes: points(SECTION.probes, 3),
                effectors: points(SECTION.effectors, 7),
                targets,
                springs: points(SECTION.springs, 11).length,
                contacts: points(SECTION.contacts, 8).length,
                arrows: world.contactCount,
                dragging: interact.dragging,
                tool: { on: tool.on, twist: tool.twist, places: points(SECTION.tools, 15), forces: points(SECTION.toolForces, 4) },
                status: session.status,
                past: past && { at: past.at, first: past.first, last: past.last },
                replay: replay ? { now: replay.now, duration: replay.duration } : null,
                beside: ((other) => other && { name: other.name, time: other.session.frame?.time ?? 0, camera: other.stage.camera.position.toArray(), aspect: other.stage.camera.aspect })(beside()),
                camera: stage.camera.position.toArray(),
            };
        },
        /// Pixel of the page where a point of the world is.
        project: (point: number[]) => stage.project(new THREE.Vector3().fromArray(point)),
        send: (message: object) => session.send(message),
        session,
        world,
        stage,
        get beside() {
            return beside();
        },
    };
    Object.assign(window, { tendril });
}

start().catch((error: Error) => {
    const text = `The viewer could not start: ${error.message}`;
    document.getElementById("app")!.append(h("p", { class: "fatal", role: "alert" }, text));
});

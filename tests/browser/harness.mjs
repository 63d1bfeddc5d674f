// SPDX-License-Identifier: Apache-2.0
// What the tests of the page share: the program's server, Debian's Chromium, and waiting.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
const require = createRequire(join(root, "web/package.json"));
const { chromium } = require("playwright-core");
export const { PNG } = require("pngjs");
const { source: axe } = require("axe-core");

export const out = join(root, "build/browser");
mkdirSync(out, { recursive: true });

export const program = process.env.TENDRIL ?? join(root, "build/tendril");
/// [ms] after which something hangs. Whatever is waited for is an event, and on a busy machine it comes late; nothing may
/// depend on this number.
export const PATIENCE = 600000;

const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";

// The last such option counts, so this repeats what Playwright turns off; the last line are two pages that this browser would
// load with every window, for its own list of addresses, and that take longer than the page that is tested.
const WITHOUT = [
    "AcceptCHFrame", "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "DialMediaRouteProvider", "GlobalMediaControls",
    "HttpsUpgrades", "LensOverlay", "MediaRouter", "PaintHolding", "ThirdPartyStoragePartitioning", "Translate", "AutoDeElevate", "RenderDocument",
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
];

/// Chromium without a screen: WebGL by SwiftShader, and nothing that would look for a network. The page round the picture is
/// put together by the processor: as textures of SwiftShader it takes three times as long as the picture itself.
export async function launch() {
    if (!existsSync(browserPath)) throw new Error(`no ${browserPath}: scripts/setup test installs it`);
    return chromium.launch({
        executablePath: browserPath,
        timeout: PATIENCE,
        args: [
            "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--force-color-profile=srgb", "--font-render-hinting=none", `--disable-features=${WITHOUT.join()}`,
        ],
    });
}

/// Starts `tendril view` and waits for the address that it prints. Port 0: any that is free.
export async function serve(scene, { port = 0, options = [] } = {}) {
    const child = spawn(program, ["view", scene, "--port", String(port), "--threads", "1", ...options], {
        cwd: root,
        env: { ...process.env, TENDRIL_STOP_LIMIT: "600" }, // a busy machine is no reason to fail
    });
    for (const end of ["exit", "SIGTERM", "SIGINT"]) // a test that ran out of time leaves nothing behind
        process.once(end, () => (child.kill("SIGKILL"), end === "exit" || process.exit(1)));
    let text = "";
    const address = await new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`no address; it said:\n${text}`)), PATIENCE);
        const take = (data) => {
            text += data;
            const found = /http:\/\/[\w.:[\]]+\/(#token=\w+)?/.exec(text);
            if (found) {
                clearTimeout(late);
                resolve(found[0]);
            }
        };
        child.stdout.on("data", take);
        child.stderr.on("data", take);
        child.on("error", reject);
        child.on("exit", (code) => reject(new Error(`the server ended with ${code}:\n${text}`)));
    });
    const ended = new Promise((resolve) => child.on("exit", resolve));
    return {
        address,
        port: Number(new URL(address).port),
        stop: async () => {
            child.kill("SIGTERM");
            let late = false;
            const kill = setTimeout(() => (late = true, child.kill("SIGKILL")), PATIENCE);
            await ended;
            clearTimeout(kill);
            if (late) throw new Error("the server does not end by SIGTERM");
        },
    };
}

/// Opens the page and waits until it draws. `errors` fills with whatever the console is told to be wrong.
/// Unless the picture itself is tested it is drawn coarsely: SwiftShader would take the cores from the simulation.
export async function open(browser, address, { width = 1000, height = 680, detail = 0.4, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: "light", acceptDownloads: true, ...options });
    context.setDefaultTimeout(PATIENCE);
    await context.addInitScript((d) => (window.tendrilDetail = d), detail); // from the first picture on
    const page = await context.newPage();
    const errors = [];
    page.on("console", (message) => {
        // Of the browser itself, which reads every picture back to put the page together without a graphics card.
        if (/GL Driver Message .* GPU stall due to ReadPixels/.test(message.text())) return;
        if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
    });
    page.on("pageerror", (error) => errors.push(String(error.stack ?? error)));
    await page.goto(address);
    await page.waitForFunction(() => window.tendril?.state.frames > 0 && window.tendril.state.firstPicture > 0);
    await page.evaluate(() => (window.tendril.stage.steady = true));
    return { page, errors, close: () => context.close() };
}

/// What axe, the usual checker of pages, finds wrong: names, roles, contrast, order. By rule, with where.
export async function faults(page) {
    await page.evaluate(axe); // not as a script of the page: it lets in none but its own
    const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
    return violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target.join(" ")} (${n.any[0]?.message ?? ""})`).join("; ")}`);
}

export const state = (page) => page.evaluate(() => {
    const s = window.tendril.state;
    return { ...s, targets: s.targets, status: s.status };
});

/// Waits until a condition of the page's state holds, and says what it was when it does not.
export async function until(page, what, condition, argument = null) {
    try {
        await page.waitForFunction(condition, argument, { timeout: PATIENCE, polling: 50 });
    } catch (error) {
        if (page.isClosed()) throw error;
        const now = JSON.stringify(await state(page), null, 1).slice(0, 3000);
        throw new Error(`after ${PATIENCE / 1000} s still not: ${what}\n${now}`);
    }
}

/// Waits until what the page has been told is in its picture, and in the one beside it: drawn, and on the screen.
export const drawn = (page) => page.evaluate(() => new Promise((done) => {
    const { stage } = window.tendril, stages = [stage, stage.beside].filter(Boolean);
    let left = stages.length;
    for (const { after } of stages) {
        let first = true;
        const call = () => {
            if (!first) return;
            first = false;
            queueMicrotask(() => after.splice(after.indexOf(call), 1)); // not while it is gone through
            if (--left === 0) requestAnimationFrame(() => requestAnimationFrame(done));
        };
        after.push(call);
    }
    stage.invalidate();
}));

/// Stops time, and waits until the page shows where it stopped.
export async function pause(page) {
    await page.evaluate(() => window.tendril.send({ type: "pause" }));
    await stands(page);
}

/// Lets time go on, and waits until the page knows.
export async function play(page) {
    await page.evaluate(() => window.tendril.send({ type: "play" }));
    await until(page, "playing", () => window.tendril.state.playing);
}

/// At rest at time 0, paused, and shown so.
export async function restart(page) {
    await pause(page);
    await reset(page);
    await until(page, "at its start", () => window.tendril.state.step === 0);
}

/// So many steps, each shown before the next one: what was seen does not depend on the machine. Time stands before and after.
/// A frame that comes within a 32nd of a second of the last one is not kept by recordings.
export async function steps(page, times, each = 1) {
    for (let k = 0; k < times; k++) {
        const { step } = await state(page);
        await page.evaluate((count) => window.tendril.send({ type: "step", count }), each);
        await until(page, `step ${step + each}`, (n) => window.tendril.state.step >= n, step + each);
        await stands(page);
        await page.waitForTimeout(50);
    }
}

/// Stops a recording that plays. It may come to its end by itself, where the key would start it again.
export async function halt(page) {
    while ((await state(page)).playing) {
        await page.keyboard.press("Space");
        await drawn(page);
    }
}

/// Holds a key down until something holds in the page, which lets go of the key itself: a test on a busy machine would be late,
/// and whatever the key moves would be far away.
export async function hold(page, key, what, condition, argument = null) {
    const up = { key, code: key === "]" ? "BracketRight" : `Key${key.toUpperCase()}` };
    // As text: the page runs no code that is made from text, but the debugger does.
    const before = await page.evaluate(`(() => {
        const holds = ${condition}, argument = ${JSON.stringify(argument)};
        const before = (window.letGo ??= 0);
        for (const event of ["frame", "status"])
            window.tendril.session.on(event, () => {
                if (window.letGo > before || !holds(argument)) return;
                window.letGo++;
                dispatchEvent(new KeyboardEvent("keyup", ${JSON.stringify(up)}));
            });
        return before;
    })()`);
    await page.keyboard.down(key);
    await until(page, what, (n) => window.letGo > n, before);
    await page.keyboard.up(key);
}

/// Waits until the server has stopped and its last frame is shown.
export async function stands(page) {
    await until(page, "paused, and its last frame", () =>
        !window.tendril.state.status.playing && !window.tendril.state.playing && window.tendril.state.step === window.tendril.state.status.step);
    await drawn(page);
}

/// Starts again from time 0; `playing` says whether time goes on from there. That it was at 0 may pass unseen.
export async function reset(page) {
    const { status } = await state(page);
    await page.keyboard.press("r");
    await until(page, "reset", (n) => window.tendril.state.status.resets > n, status.resets);
}

/// Waits until so many seconds more were simulated.
export async function simulated(page, seconds) {
    const { time } = await state(page);
    await until(page, `${seconds} s more`, (t) => window.tendril.state.time > t, time + seconds);
}

/// Takes pictures until one is as the one before, so that nothing in it moves any more.
export async function still(page, take, difference) {
    await drawn(page);
    for (let last = await take(), now; ; last = now) {
        await drawn(page);
        now = await take();
        if (difference(now, last).mean < 0.05) return now;
    }
}

export const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

/// Pixel of a point of the world.
export const pixel = (page, point) => page.evaluate((p) => window.tendril.project(p), point);

export async function drag(page, from, to, { steps = 8, release = true } = {}) {
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps });
    if (release) await page.mouse.up();
}

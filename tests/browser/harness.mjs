// SPDX-License-Identifier: Apache-2.0
// What the tests of the page share: the program's server, Debian's Chromium, and waiting.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
const require = createRequire(join(root, "web/package.json"));
const { chromium } = require("playwright-core");
export const { PNG } = require("pngjs");

export const out = join(root, "build/browser");
mkdirSync(out, { recursive: true });

export const program = process.env.TENDRIL ?? join(root, "build/tendril");
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";

/// Chromium without a screen: WebGL by SwiftShader, and nothing that would look for a network.
export async function launch() {
    if (!existsSync(browserPath)) throw new Error(`no ${browserPath}: scripts/setup test installs it`);
    return chromium.launch({
        executablePath: browserPath,
        args: [
            "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--force-color-profile=srgb", "--font-render-hinting=none",
        ],
    });
}

/// Starts `tendril view` and waits for the address that it prints. Port 0: any that is free.
export async function serve(scene, { port = 0, options = [] } = {}) {
    const child = spawn(program, ["view", scene, "--port", String(port), "--threads", "1", ...options], { cwd: root });
    for (const end of ["exit", "SIGTERM", "SIGINT"]) // a test that ran out of time leaves nothing behind
        process.once(end, () => (child.kill("SIGKILL"), end === "exit" || process.exit(1)));
    let text = "";
    const address = await new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`no address after 20 s; it said:\n${text}`)), 20000);
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
            const kill = setTimeout(() => child.kill("SIGKILL"), 3000);
            await ended;
            clearTimeout(kill);
        },
    };
}

/// Opens the page and waits until it draws. `errors` fills with whatever the console is told to be wrong.
/// Unless the picture itself is tested it is drawn coarsely: SwiftShader would take the cores from the simulation.
export async function open(browser, address, { width = 1000, height = 680, detail = 0.4, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: "light", acceptDownloads: true, ...options });
    const page = await context.newPage();
    const errors = [];
    page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
    });
    page.on("pageerror", (error) => errors.push(String(error.stack ?? error)));
    await page.goto(address, { timeout: 60000 });
    await page.waitForFunction(() => window.tendril?.state.frames > 0 && window.tendril.state.firstPicture > 0, null, { timeout: 60000 });
    await page.evaluate((d) => {
        window.tendril.stage.steady = true;
        window.tendril.stage.setDetail(d);
    }, detail);
    return { page, errors, close: () => context.close() };
}

export const state = (page) => page.evaluate(() => {
    const s = window.tendril.state;
    return { ...s, targets: s.targets, status: s.status };
});

/// Waits until a condition of the page's state holds, and says what it was when it does not.
export async function until(page, what, condition, argument = null, timeout = 20000) {
    try {
        await page.waitForFunction(condition, argument, { timeout, polling: 50 });
    } catch {
        const now = JSON.stringify(await state(page), null, 1).slice(0, 3000);
        throw new Error(`after ${timeout / 1000} s still not: ${what}\n${now}`);
    }
}

/// Whether others use the machine so much that times say nothing of the page.
export const busy = () => loadavg()[0] > 3 * cpus().length;

export const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

/// Pixel of a point of the world.
export const pixel = (page, point) => page.evaluate((p) => window.tendril.project(p), point);

export async function drag(page, from, to, { steps = 8, release = true } = {}) {
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps });
    if (release) await page.mouse.up();
}

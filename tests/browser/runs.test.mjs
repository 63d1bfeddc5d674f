// SPDX-License-Identifier: Apache-2.0
// tendril view RUN RUN: two runs that have ended, side by side, from their folders.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { distance, drawn, faults, halt, launch, open, out, program, root, serve, state, until } from "./harness.mjs";

let browser, folder;
const run = (...words) => {
    const { status, stderr } = spawnSync(program, words, { cwd: root, encoding: "utf8" });
    assert.equal(status, 0, stderr);
};
before(async () => {
    folder = mkdtempSync(join(tmpdir(), "tendril-runs-"));
    browser = await launch();
    for (const [name, young] of [["stiff", "300 kPa"], ["weak", "100 kPa"]])
        run("run", "tests/browser/arm.yaml", "--set", `bodies[arm].material.young=${young}`, "--steps", "40", "--every", "4", "--out", join(folder, name), "--quiet");
    run("run", "tests/browser/wall.yaml", "--steps", "20", "--every", "5", "--out", join(folder, "wall"), "--quiet");
});
after(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
});

const tip = (page, which) => page.evaluate((which) => {
    const { session } = which === "b" ? window.tendril.beside : window.tendril;
    return Array.from(session.frame.sections.find((s) => s.type === 21).f32.subarray(0, 3));
}, which);
const seek = async (page, part) => {
    await halt(page);
    await page.evaluate((part) => {
        const line = document.querySelector(".timeline");
        line.value = String(part * Number(line.max));
        line.dispatchEvent(new Event("input"));
    }, part);
};

test("two folders are served side by side, coloured by stress, with nothing empty", async () => {
    const server = await serve(join(folder, "stiff"), { options: [join(folder, "weak")] });
    try {
        const { page, errors, close } = await open(browser, server.address, { width: 1280, height: 800, reducedMotion: "reduce" });
        await until(page, "both are there", () => window.tendril.state.beside !== null);
        await seek(page, 1);
        const s = await state(page);
        assert.ok(Math.abs(s.time - 40 * 0.01) < 1e-9 && Math.abs(s.beside.time - s.time) < 1e-9, `${s.time} and ${s.beside.time}`);
        assert.match(await page.textContent("#run-a"), /stiff/);
        assert.match(await page.textContent("#run-b"), /weak/);
        const [a, b] = [await tip(page, "a"), await tip(page, "b")];
        assert.ok(distance(a, b) > 1e-3, "the weaker arm bends more");
        assert.equal(await page.inputValue("#field"), "von_mises");
        assert.match(await page.textContent(".legend .title"), /Von Mises stress/);
        const ranges = await page.evaluate(() => [window.tendril.world, window.tendril.beside.world].map((w) => [w.paint.low.value, w.paint.high.value]));
        assert.ok(ranges[0][1] > 1 && ranges[0][1] === ranges[1][1], `one range for both: ${ranges}`);
        const shown = await page.locator(".tabs button:visible").allTextContents();
        assert.ok(!shown.includes("Drive") && !shown.includes("Timing"), shown.join());
        assert.ok(!(await page.locator(".plot:visible .title").allTextContents()).includes("Step time"));
        assert.match(await page.textContent(".plot"), /dashed: B/);
        assert.deepEqual(await faults(page), []);
        await drawn(page);
        await page.screenshot({ path: join(out, "runs-1280-light.png") });
        assert.deepEqual(errors, []);
        await close();
    } finally {
        await server.stop();
    }
});

test("a run alone is a page without a server, with its contacts", async () => {
    const file = join(folder, "wall.html");
    run("view", join(folder, "wall"), "-o", file, "--quiet");
    assert.ok(statSync(file).size > 100000);
    const { page, errors, close } = await open(browser, pathToFileURL(file).href);
    await until(page, "it is there", () => window.tendril.state.frames > 0);
    assert.equal((await state(page)).beside, null);
    assert.ok((await page.locator(".plot:visible .title").allTextContents()).includes("Contact forces"));
    assert.deepEqual(errors, []);
    await close();
});

test("what is no run is refused with a reason", () => {
    for (const [words, reason] of [
        [[join(folder, "stiff"), "tests/browser/arm.yaml"], /is not the folder of a run/],
        [[join(folder, "stiff"), "--speed", "2"], /--speed is for a scene/],
        [[folder], /there is no run.pvd in this folder/],
        [["tests/browser/arm.yaml", "-o", join(folder, "arm.html")], /-o is for the folders of runs/],
    ]) {
        const { status, stderr } = spawnSync(program, ["view", ...words], { cwd: root, encoding: "utf8" });
        assert.ok(status === 2 || status === 3, `${words}: ${status}`);
        assert.match(stderr, reason);
    }
});

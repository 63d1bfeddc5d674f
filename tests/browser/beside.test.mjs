// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: a recording beside the live page, two recordings in one page, one clock, one camera.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { distance, drag, drawn, faults, halt, launch, open, out, play, restart, serve, state, steps, until } from "./harness.mjs";

let browser, server, folder, live;
before(async () => {
    folder = mkdtempSync(join(tmpdir(), "tendril-beside-"));
    [browser, server] = await Promise.all([launch(), serve("tests/browser/arm.yaml")]);
    live = await open(browser, server.address);
});
after(async () => {
    await browser?.close();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
});

// Records a second from time 0 on, with a cable pulled or not, in ten frames at the same times on any machine.
async function record(page, name, key = null) {
    await restart(page);
    if (key) await pull(page, key);
    await page.click("#record");
    await steps(page, 10, 10);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#record")]);
    const file = join(folder, name);
    await download.saveAs(file);
    return file;
}

const pull = async (page, key) => {
    await page.locator('input[type=range][aria-label^="north, cable"]').focus();
    await page.keyboard.press(key);
};
const tip = (page, which) => page.evaluate((which) => {
    const { session } = which === "b" ? window.tendril.beside : window.tendril;
    return Array.from(session.frame.sections.find((s) => s.type === 21).f32.subarray(0, 3)); // its probe
}, which);
// The frame of B that belongs to a time of A: its last one until then.
const due = (page) => page.evaluate(() => {
    const { records } = window.tendril.beside, { time } = window.tendril.state;
    const times = records.filter((r) => r.binary && new DataView(r.binary).getUint32(0, true) === 2).map((r) => new DataView(r.binary).getFloat64(16, true));
    return times.findLast((t) => t <= time + 1e-9) ?? times[0];
});
const seek = (page, part) => page.evaluate((part) => {
    const line = document.querySelector(".timeline");
    line.value = String(part * Number(line.max));
    line.dispatchEvent(new Event("input"));
}, part);

let a, b;
test("a recording is shown beside the live run, at its time", async () => {
    const { page, errors } = live;
    b = await record(page, "bent.html");
    a = await record(page, "pulled.html", "End");
    await restart(page);
    await play(page);
    assert.equal((await state(page)).beside, null);
    await page.setInputFiles("#beside-file", b);
    await until(page, "it is there", () => window.tendril.state.beside?.name === "bent");
    assert.equal(await page.getAttribute("#beside", "aria-pressed"), "true");
    await until(page, "its time goes with the live one's", () => window.tendril.state.beside.time > 0.3);
    const { time, beside } = await state(page);
    assert.ok(beside.time <= time + 1e-9, `${beside.time} beside ${time}`);
    assert.match(await page.textContent("#run-b"), /bent · \d/);
    // Any other page, and any other file, is refused with a reason.
    const wrong = join(folder, "wrong.html");
    writeFileSync(wrong, "<html><body>no recording</body></html>");
    await page.setInputFiles("#beside-file", wrong);
    await until(page, "the reason", () => /wrong.html is not a recording/.test(document.querySelector(".notes").textContent));
    assert.equal((await state(page)).beside.name, "bent"); // the one before stays
    await page.locator("#view").focus();
    await page.keyboard.press("b");
    await until(page, "closed", () => window.tendril.state.beside === null && document.querySelectorAll(".viewport").length === 1);
    assert.deepEqual(errors, []);
});

test("two recordings share clock, camera, colours and plots, and are saved as one page", async () => {
    const { page, errors, close } = await open(browser, pathToFileURL(a).href, { width: 1280, height: 800, reducedMotion: "reduce" });
    await page.setInputFiles("#beside-file", b);
    await until(page, "it is there", () => window.tendril.state.beside !== null);
    await halt(page);
    await seek(page, 1);
    const s = await state(page);
    assert.ok(Math.abs(s.time - 1) < 1e-9 && Math.abs(s.beside.time - 1) < 1e-9, `${s.time} and ${s.beside.time}`);
    assert.equal(s.beside.time, await due(page));
    assert.ok(distance(await tip(page, "a"), await tip(page, "b")) > 1e-3, "a cable that is pulled makes a difference");
    await seek(page, 0);
    assert.deepEqual([(await state(page)).time, (await state(page)).beside.time], [0, 0], "both begin with what was shown when they began");
    await seek(page, 0.5);
    assert.equal((await state(page)).beside.time, await due(page));

    // Whichever picture is turned, the other follows.
    await seek(page, 1);
    for (const which of ["#view", ".picture"]) {
        const box = await page.locator(which).boundingBox(), before = (await state(page)).camera;
        const from = { x: box.x + 0.15 * box.width, y: box.y + 0.85 * box.height };
        await page.keyboard.press("g"); // dragging turns the view everywhere
        await drag(page, from, { x: from.x + 80, y: from.y - 30 });
        await page.keyboard.press("g");
        await until(page, "both have turned and stand", (before) => {
            const { camera, beside } = window.tendril.state, off = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
            return off(camera, before) > 1e-3 && off(camera, beside.camera) < 1e-9;
        }, before);
    }
    await page.keyboard.press("f");
    await until(page, "the view of both", () => Math.hypot(...window.tendril.state.camera.map((x, i) => x - window.tendril.state.beside.camera[i])) < 1e-9);
    // So also while a turn of the other has not come to rest, and for turns that are smaller than the controls tell of.
    const off = () => page.evaluate(() => Math.hypot(...window.tendril.state.camera.map((x, i) => x - window.tendril.state.beside.camera[i])));
    for (const [leads, angle, ends] of [["b", 0.5, true], ["a", 0.5, false], ["b", 1e-3, false], ["a", 1e-3, false]]) {
        const turned = await page.evaluate(([leads, angle, ends]) => {
            const { stage, beside } = window.tendril, { orbit } = leads === "a" ? stage : beside.stage;
            const before = orbit.object.position.clone();
            orbit.dispatchEvent({ type: "start" });
            orbit._rotateLeft(angle);
            orbit.update();
            const turned = before.distanceTo(orbit.object.position);
            if (ends) stage.find();
            return turned;
        }, [leads, angle, ends]);
        assert.ok(turned > 0, `${leads} turned`);
        for (let k = 0; k < 3; k++) {
            await drawn(page);
            assert.ok(await off() < 1e-9, `${leads}, ${angle}: ${await off()} m apart`);
        }
    }
    await page.keyboard.press("f");
    await until(page, "the view of both again", () => Math.hypot(...window.tendril.state.camera.map((x, i) => x - window.tendril.state.beside.camera[i])) < 1e-9);

    await page.click("#tab-view");
    await page.selectOption("#field", "displacement");
    await page.click('input[aria-label="Layer: Mesh edges"]');
    const looks = await page.evaluate(() => [window.tendril.world, window.tendril.beside.world].map((w) => [w.paint.mode.value, w.paint.high.value, w.layers.mesh]));
    assert.deepEqual(looks[0], looks[1]);
    assert.equal(looks[0][0], 1);
    const most = await page.evaluate(() => [window.tendril.world, window.tendril.beside.world].map((w) => (w.beside = null, w.mostDisplacement())));
    await page.evaluate(() => (window.tendril.world.beside = window.tendril.beside.world));
    assert.ok(looks[0][1] >= Math.max(...most), "the range holds both");
    assert.match(await page.textContent(".plot"), /dashed: B/);

    for (const [width, height, scheme] of [[1280, 800, "light"], [390, 844, "dark"]]) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height });
        await until(page, "laid out", (w) => document.documentElement.clientWidth === w, width);
        await drawn(page);
        await page.screenshot({ path: join(out, `beside-${width}-${scheme}.png`) });
        const [one, two] = [await page.locator("#view").boundingBox(), await page.locator(".picture").boundingBox()];
        assert.ok(one.width > 200 && one.height > 100 && two.height > 100, `${width}: ${JSON.stringify([one, two])}`);
        if (width === 390) assert.ok(two.y >= one.y + one.height - 1); // one below the other
        else assert.ok(two.x >= one.x + one.width - 1 && Math.abs(one.width - two.width) < 4);
        assert.deepEqual(await faults(page), []);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#beside-save")]);
    const both = join(folder, "both.html");
    await download.saveAs(both);
    assert.deepEqual(errors, []);
    await close();

    const again = await open(browser, pathToFileURL(both).href);
    await until(again.page, "both play", () => window.tendril.state.beside?.time > 0.2);
    assert.equal((await state(again.page)).beside.name, "bent");
    await again.page.click("#beside-close");
    await until(again.page, "one is left", () => window.tendril.state.beside === null);
    assert.deepEqual(again.errors, []);
    await again.close();
});

// SPDX-License-Identifier: Apache-2.0
// What a person does to the robot: sliders, targets, the mouse spring, play, pause, step, reset, speed.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { distance, drag, drawn, launch, open, pause, pixel, serve, simulated, stands, state, until } from "./harness.mjs";

let browser, server, page, errors;
before(async () => {
    [browser, server] = await Promise.all([launch(), serve("robots/parallel/coarse.yaml")]);
    ({ page, errors } = await open(browser, server.address));
});
after(async () => {
    await browser?.close();
    await server?.stop();
    assert.deepEqual(errors, [], "the console");
});
// Every test starts from rest at time 0, paused.
beforeEach(async () => {
    await pause(page);
    await page.click("#reset");
    await until(page, "reset", () => window.tendril.state.time === 0 && window.tendril.state.status.time === 0 && window.tendril.state.status.actuators.every((a) => a.mode === "scene"));
});

const slider = (name) => page.locator(`input[type=range][aria-label^="${name}, cable"]`);

test("a slider moves the robot", async () => {
    const before = await state(page);
    for (const name of ["north", "west", "south", "east"]) {
        await slider(name).focus();
        await page.keyboard.press("ArrowRight"); // also what ends where it was is then by hand
        await page.keyboard.press(name === "north" ? "End" : "Home");
    }
    await until(page, "all by hand", () => window.tendril.state.status.actuators.every((a) => a.mode === "manual"));
    await page.click("#play");
    // The cable shortens by 40 mm, so that the elbow that it pulls comes nearer to the centre by about as much.
    await until(page, "the north elbow 20 mm further in", (y) => window.tendril.state.probes[1][1] < y - 0.02, before.probes[1][1]);
    await until(page, "pulled by 40 mm", () => Math.abs(window.tendril.state.status.actuators[0].displacement - 0.04) < 1e-3);
    const now = await state(page);
    assert.ok(distance(now.probes[3], before.probes[3]) < 0.02, "the south elbow is not pulled");
    await page.locator(".actuator button").first().click();
    await until(page, "handed back", () => window.tendril.state.status.actuators[0].mode === "scene");
});

test("dragging the target brings the tip to the goal", async () => {
    // Time stands while the target is taken: what is under the mouse is what was there when it was looked for.
    await stands(page);
    const before = await state(page);
    const from = await pixel(page, before.effectors[0]);
    await drag(page, from, { x: from.x + 20, y: from.y - 32 }, { release: false });
    await until(page, "the target is held", () => window.tendril.state.dragging === "target");
    await page.mouse.up();
    await until(page, "the target where the mouse let go", ([x, y]) => {
        const { targets } = window.tendril.state, at = targets[0] && window.tendril.project(targets[0]);
        return at && Math.hypot(at.x - x, at.y - y) < 1;
    }, [from.x + 20, from.y - 32]);
    await page.click("#play");
    await until(page, "inverse control", () => window.tendril.state.status.inverse.active);
    // All of it at one moment: the tip comes with a swing.
    await until(page, "the tip within 0.5 mm of its target, where the mouse let go", ([x, y]) => {
        const { effectors, targets } = window.tendril.state, at = window.tendril.project(effectors[0]);
        return targets[0] && Math.hypot(...effectors[0].map((v, i) => v - targets[0][i])) < 5e-4 && Math.hypot(at.x - x, at.y - y) < 12;
    }, [from.x + 20, from.y - 32]);
    const now = await state(page);
    assert.ok(distance(now.targets[0], before.effectors[0]) > 0.008, "the target was moved");
    assert.ok(now.status.actuators.every((a) => a.mode === "inverse"));
    await page.click('button[aria-label="Take the target of tip away"]');
    await until(page, "no target", () => window.tendril.state.targets[0] === null);
});

test("pause stops time, by the button and by the space bar", async () => {
    await page.click("#play");
    await until(page, "time", () => window.tendril.state.time > 0.05);
    await page.keyboard.press("Space");
    await stands(page);
    const a = await state(page);
    assert.ok(a.step > 0);
    // Had time gone on, a single step would not be the next one.
    for (let i = 1; i <= 3; i++) {
        await page.click("#step");
        await until(page, `step ${i} after the pause`, (n) => window.tendril.state.status.step >= n, a.step + i);
        await stands(page);
        assert.equal((await state(page)).step, a.step + i);
    }
    await page.click("#play");
    await until(page, "time goes on", (n) => window.tendril.state.step > n, a.step + 10);
    await page.click("#play");
    await stands(page);
    const b = await state(page);
    await page.click("#step");
    await until(page, "the next step", (n) => window.tendril.state.status.step > n, b.step);
    await stands(page);
    assert.equal((await state(page)).step, b.step + 1);
});

test("single steps", async () => {
    await page.click("#step");
    await until(page, "step 1", () => window.tendril.state.step === 1);
    await page.locator("#view").focus();
    await page.keyboard.press(".");
    await until(page, "step 2", () => window.tendril.state.step === 2);
    assert.ok(Math.abs((await state(page)).time - 0.02) < 1e-12);
});

test("reset brings back the start", async () => {
    const start = await state(page);
    await page.click("#play");
    await until(page, "1 s", () => window.tendril.state.time > 1);
    assert.ok(distance((await state(page)).probes[0], start.probes[0]) > 1e-3, "it moved");
    await page.keyboard.press("Space");
    await until(page, "paused", () => !window.tendril.state.playing);
    await page.keyboard.press("r");
    await until(page, "time 0", () => window.tendril.state.time === 0);
    const now = await state(page);
    now.probes.forEach((p, i) => assert.ok(distance(p, start.probes[i]) < 1e-9));
});

test("dragging a body pulls it by a spring and shows the force", async () => {
    await stands(page);
    const before = await state(page);
    const from = await pixel(page, before.probes[3]); // the south elbow is the nearest to the camera
    await drag(page, from, { x: from.x - 120, y: from.y + 30 }, { release: false });
    await until(page, "a spring", () => window.tendril.state.springs === 1);
    const label = page.locator(".label.spring");
    await label.waitFor({ state: "visible" });
    assert.match(await label.textContent(), /^[\d.]+ m?N$/);
    await page.evaluate(() => window.tendril.send({ type: "play" }));
    await until(page, "the elbow pulled by 3 mm", (p) => {
        const q = window.tendril.state.probes[3];
        return Math.hypot(q[0] - p[0], q[1] - p[1], q[2] - p[2]) > 3e-3;
    }, before.probes[3]);
    await page.mouse.up();
    await until(page, "released", () => window.tendril.state.springs === 0);
});

test("dragging beside the body turns the camera, and nothing else", async () => {
    const eye = () => page.evaluate(() => window.tendril.stage.camera.position.toArray());
    const before = await eye();
    const box = await page.locator("#view").boundingBox();
    const corner = { x: box.x + 40, y: box.y + box.height - 40 };
    await drag(page, corner, { x: corner.x + 200, y: corner.y - 40 });
    await until(page, "the camera has turned", (b) => {
        const p = window.tendril.stage.camera.position;
        return Math.hypot(p.x - b[0], p.y - b[1], p.z - b[2]) > 0.02;
    }, before);
    assert.equal((await state(page)).springs, 0);
    await page.keyboard.press("f");
    await until(page, "the view fits again", (b) => {
        const p = window.tendril.stage.camera.position;
        return Math.hypot(p.x - b[0], p.y - b[1], p.z - b[2]) < 0.01;
    }, before);
});

test("speed", async () => {
    await page.selectOption('select[aria-label="Speed"]', "0.25");
    await until(page, "a quarter", () => window.tendril.state.status.speed === 0.25);
    await page.click("#play");
    await simulated(page, 0.1);
    await page.locator("#view").focus();
    for (const speed of [0.5, 1]) {
        await page.keyboard.press("]");
        await until(page, `a speed of ${speed}`, (s) => window.tendril.state.status.speed === s, speed);
        await drawn(page); // the list follows
    }
});

// SPDX-License-Identifier: Apache-2.0
// Fingers on a phone: one turns the camera, two bring it nearer, one drags a target or pulls a body; sliders and buttons.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { distance, drawn, launch, open, pause, pixel, serve, stands, state, until } from "./harness.mjs";

let browser, server, page, errors, touch;
before(async () => {
    [browser, server] = await Promise.all([launch(), serve("tests/browser/arm.yaml", { options: ["--paused"] })]);
    ({ page, errors } = await open(browser, server.address, { width: 390, height: 844, hasTouch: true, isMobile: true }));
    const session = await page.context().newCDPSession(page);
    // All fingers that are down, each by its number.
    touch = (type, ...fingers) => session.send("Input.dispatchTouchEvent", { type, touchPoints: fingers.map(([id, x, y]) => ({ id, x, y })) });
});
after(async () => {
    await browser?.close();
    await server?.stop();
    assert.deepEqual(errors, [], "the console");
});
beforeEach(async () => {
    await pause(page);
    await page.tap("#reset");
    await until(page, "reset", () => window.tendril.state.time === 0 && window.tendril.state.status.time === 0);
    await page.tap("#fit");
    await settled();
});

const camera = () => page.evaluate(() => {
    const { camera: eye, orbit } = window.tendril.stage;
    return { place: eye.position.toArray(), far: eye.position.distanceTo(orbit.target) };
});

// The camera comes to rest smoothly.
async function settled() {
    for (let last = await camera(), now; ; last = now) {
        await drawn(page);
        now = await camera();
        if (distance(now.place, last.place) < 1e-6 * now.far) return now;
    }
}

// A place of the picture where nothing is.
async function nothing() {
    const box = await page.locator("#view").boundingBox();
    return { x: box.x + 0.3 * box.width, y: box.y + 0.8 * box.height };
}

test("one finger turns the camera, two bring it nearer", async () => {
    const before = await camera(), { x, y } = await nothing();
    await touch("touchStart", [1, x, y]);
    for (let k = 1; k <= 5; k++) await touch("touchMove", [1, x + 12 * k, y]);
    await touch("touchEnd");
    const turned = await settled();
    assert.ok(distance(turned.place, before.place) > 0.1 * before.far, "the camera has not turned");
    assert.ok(Math.abs(turned.far - before.far) < 1e-3 * before.far, "it is as far away as before");
    await touch("touchStart", [1, x, y]);
    await touch("touchStart", [1, x, y], [2, x + 40, y]);
    for (let k = 1; k <= 5; k++) await touch("touchMove", [1, x - 8 * k, y], [2, x + 40 + 8 * k, y]);
    await touch("touchEnd");
    const near = await settled();
    assert.ok(near.far < 0.6 * before.far, `${near.far} m away, ${before.far} m before`);
    assert.equal((await state(page)).springs, 0);
});

test("a finger drags the target, and inverse control follows", async () => {
    const before = await state(page), from = await pixel(page, before.effectors[0]);
    await touch("touchStart", [1, from.x + 8, from.y]); // a finger is not as sharp as a mouse
    await until(page, "the target is held", () => window.tendril.state.dragging === "target");
    for (let k = 1; k <= 4; k++) await touch("touchMove", [1, from.x + 8, from.y - 4 * k]);
    await touch("touchEnd");
    await until(page, "a target", () => window.tendril.state.targets[0] !== null && window.tendril.state.dragging === null);
    await page.tap("#play");
    await until(page, "inverse control", () => window.tendril.state.status.inverse.active);
    const now = await state(page);
    assert.ok(distance(now.targets[0], before.effectors[0]) > 2e-3, "the target was moved");
    await page.evaluate(() => window.tendril.send({ type: "target", name: "tip", value: null }));
    await until(page, "no target", () => window.tendril.state.targets[0] === null);
});

test("a finger pulls the body; a second one lets go of it and brings the camera nearer", async () => {
    const body = await pixel(page, [0.05, 0, 0]), before = await camera();
    await touch("touchStart", [1, body.x, body.y]);
    await until(page, "a spring", () => window.tendril.state.springs === 1 && window.tendril.state.dragging === "spring");
    for (let k = 1; k <= 3; k++) await touch("touchMove", [1, body.x, body.y + 4 * k]);
    assert.ok(Math.abs((await settled()).far - before.far) < 1e-6 * before.far, "the camera stays where it is");
    // The second one is on the body, too, and farther away than any pull.
    await touch("touchStart", [1, body.x, body.y + 12], [2, body.x + 30, body.y]);
    await until(page, "let go", () => window.tendril.state.dragging === null);
    for (let k = 1; k <= 5; k++) await touch("touchMove", [1, body.x - 8 * k, body.y + 12], [2, body.x + 30 + 8 * k, body.y]);
    await touch("touchEnd", [1, body.x - 40, body.y + 12]); // one after the other
    await touch("touchEnd");
    assert.ok((await settled()).far < 0.7 * before.far, "the camera is nearer");
    await until(page, "no spring", () => window.tendril.state.springs === 0);
    // And one finger pulls again.
    const again = await pixel(page, [0.05, 0, 0]);
    await touch("touchStart", [3, again.x, again.y]);
    await until(page, "a spring again", () => window.tendril.state.springs === 1);
    await touch("touchEnd");
    await until(page, "no spring again", () => window.tendril.state.springs === 0);
});

test("sliders, buttons and tabs take a finger, and are large enough for one", async () => {
    await page.tap("#tab-drive");
    const slider = page.locator('input[type=range][aria-label^="north, cable"]');
    await slider.scrollIntoViewIfNeeded();
    const box = await slider.boundingBox();
    await page.touchscreen.tap(box.x + 0.8 * box.width, box.y + box.height / 2);
    await until(page, "by hand", () => window.tendril.state.status.actuators[0].mode === "manual");
    for (const tab of ["view", "plots", "timing", "drive"]) {
        await page.tap(`#tab-${tab}`);
        assert.ok(await page.locator(`#panel-${tab}`).isVisible(), tab);
    }
    await page.tap("#step");
    await until(page, "a step", () => window.tendril.state.status.step === 1);
    await stands(page);
    const small = await page.evaluate(() => [...document.querySelectorAll("button, select, input[type=range]")]
        .filter((e) => e.checkVisibility() && !e.disabled)
        .map((e) => ({ box: e.getBoundingClientRect(), name: e.id || e.getAttribute("aria-label") || e.textContent }))
        .filter(({ box }) => box.width < 24 || box.height < 24) // WCAG 2.2, target size
        .map(({ box, name }) => `${name}: ${box.width.toFixed(0)} x ${box.height.toFixed(0)}`));
    assert.deepEqual(small, []);
});

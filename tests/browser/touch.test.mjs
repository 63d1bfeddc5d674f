// SPDX-License-Identifier: Apache-2.0
// A target is dragged through an obstacle: the robot stays at its surface, and the page says what blocks it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { drag, launch, open, pixel, serve, stands, state, until } from "./harness.mjs";

let browser, server, page, errors;
before(async () => {
    [browser, server] = await Promise.all([launch(), serve("tests/browser/wall.yaml")]);
    ({ page, errors } = await open(browser, server.address));
});
after(async () => {
    await browser?.close();
    await server?.stop();
    assert.deepEqual(errors, [], "the console");
});

test("a target behind a wall: the tip stops, contacts are drawn, and the page names them", async () => {
    if ((await state(page)).playing) await page.click("#play");
    await stands(page);
    const tip = (await state(page)).effectors[0];
    const from = await pixel(page, tip);
    const to = await pixel(page, [tip[0], tip[1] + 0.02, tip[2]]);
    await drag(page, from, to, { release: false });
    await until(page, "the target is held", () => window.tendril.state.dragging === "target");
    await page.mouse.up();
    await until(page, "a target beyond the wall", (y) => window.tendril.state.targets[0]?.[1] > y + 0.0055, tip[1]);
    await page.click("#play");
    await until(page, "contact blocks it", () => window.tendril.state.status.inverse.blocked_by?.includes("wall"));
    await until(page, "the page says so", () => /contact of (arm and wall|wall and arm) blocks it/.test(document.querySelector("#panel-drive").textContent));
    await until(page, "contacts are drawn", () => window.tendril.state.arrows > 0);
    const now = await state(page);
    assert.ok(now.effectors[0][1] < tip[1] + 0.0065, `the tip is at y = ${now.effectors[0][1]}`);
});

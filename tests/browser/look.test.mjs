// SPDX-License-Identifier: Apache-2.0
// How one looks at a scene: back through the last minute, body by body, cut open, from the sides, with colours of one's own.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, test } from "node:test";
import { difference } from "./picture.mjs";
import { drawn, faults, launch, open, out, pause, play, PNG, restart, serve, simulated, state, steps, still, until } from "./harness.mjs";

let browser, server, page, errors;
before(async () => {
    [browser, server] = await Promise.all([launch(), serve("scenes/contact/grasp.yaml")]);
    ({ page, errors } = await open(browser, server.address, { reducedMotion: "reduce" })); // colours change at once
});
afterEach(() => assert.deepEqual(errors.splice(0), []));
after(async () => {
    await browser?.close();
    await server?.stop();
});

const shot = async () => PNG.sync.read(await page.locator("#view").screenshot());
const picture = () => still(page, shot, difference);
const slideTo = (time) => page.evaluate((time) => {
    const line = document.querySelector(".timeline");
    line.value = String(time);
    line.dispatchEvent(new Event("input"));
}, time);
const slide = (part) => page.evaluate((part) => {
    const line = document.querySelector(".timeline");
    line.value = String(Number(line.min) + part * (Number(line.max) - Number(line.min)));
    line.dispatchEvent(new Event("input"));
}, part);

test("the past is looked at while the simulation goes on", async () => {
    await restart(page);
    await steps(page, 4); // all of which are kept; how many of those that follow is a matter of the machine
    const before = (await state(page)).past;
    assert.equal(before.at, null);
    await play(page);
    await simulated(page, 0.1);
    await slideTo(0.6 * before.last); // between the second step and the third
    const then = await state(page);
    assert.ok(then.past.at !== null && Math.abs(then.past.at - 0.5 * before.last) < 1e-9, JSON.stringify(then.past));
    assert.equal(then.time, then.past.at); // that is what is shown
    await until(page, "frames that come are kept", (last) => window.tendril.state.past.last > last, then.past.last);
    assert.equal((await state(page)).time, then.past.at);
    assert.match(await page.textContent("#live"), /s ago – go live/);
    await page.keyboard.press(",");
    const earlier = (await state(page)).past.at;
    assert.ok(earlier < then.past.at);
    await page.keyboard.press(".");
    assert.equal((await state(page)).past.at, then.past.at);
    await page.click("#live");
    await until(page, "the present again", () => window.tendril.state.past.at === null && window.tendril.state.time > window.tendril.state.past.first);
    assert.ok((await state(page)).time >= then.past.last);
    assert.equal(await page.isVisible("#live"), false);
});

test("nothing can be pulled in the past, and the plots go on", async () => {
    await slide(0);
    const { past, springs } = await state(page);
    await page.mouse.move(400, 300);
    await page.mouse.down();
    await page.mouse.move(430, 320);
    assert.equal((await state(page)).dragging, null);
    await page.mouse.up();
    assert.equal((await state(page)).springs, springs);
    await until(page, "it goes on", (last) => window.tendril.state.past.last > last, past.last);
    await page.keyboard.press("Escape");
    assert.equal((await state(page)).past.at, null);
});

test("bodies are put out of sight one by one", async () => {
    await page.click("#tab-view");
    await pause(page);
    const names = await page.$$eval('[aria-label^="Body: "]', (all) => all.map((e) => e.getAttribute("aria-label").slice(6)));
    assert.ok(names.includes("ball") && names.includes("robot"), names.join(", "));
    const all = await picture();
    await page.click('[aria-label="Body: robot"]');
    const without = await picture();
    assert.ok(difference(all, without).mean > 1, `the picture is another: ${difference(all, without).mean}`);
    await page.click('[aria-label="Body: robot"]');
    assert.ok(difference(all, await picture()).mean < 0.03, "and the same again");
});

test("bodies are cut open", async () => {
    const whole = await picture();
    await page.selectOption("#cut", "y");
    const half = await picture();
    assert.ok(difference(whole, half).mean > 0.3);
    await page.click('[aria-label="Show the other side of the cut"]');
    assert.ok(difference(half, await picture()).mean > 0.3);
    await page.locator("#cut-at").fill("1");
    await page.screenshot({ path: `${out}/cut.png` });
    await page.selectOption("#cut", "");
    assert.ok(difference(whole, await picture()).mean < 0.1);
});

test("buttons look from the sides", async () => {
    const way = () => page.evaluate(() => {
        const { camera, orbit } = window.tendril.stage, d = camera.position.clone().sub(orbit.target).normalize();
        return d.toArray().map((x) => Math.round(x));
    });
    for (const [button, direction] of [["front", [0, -1, 0]], ["right", [1, 0, 0]], ["above", [0, 0, 1]]]) {
        await page.click(`#${button}`);
        assert.deepEqual((await way()).map((x) => x + 0), direction);
    }
    await page.click("#fit");
});

test("colours have a map and a range of one's own", async () => {
    await page.selectOption("#field", "displacement");
    const legend = () => page.getAttribute(".legend", "aria-label");
    await until(page, "a range", () => / to [\d.]+ /.test(document.querySelector(".legend").getAttribute("aria-label")));
    const usual = await picture(), bar = await page.evaluate(() => document.querySelector(".legend .bar").style.background);
    await page.selectOption("#map", "inferno");
    assert.notEqual(await page.evaluate(() => document.querySelector(".legend .bar").style.background), bar);
    assert.ok(difference(usual, await picture()).mean > 0.05);
    const highest = page.getByLabel("Highest value of the colours");
    await highest.fill("12.5");
    await highest.press("Enter");
    assert.match(await legend(), /to 12\.5 /);
    assert.ok(await page.getByLabel("Keep the range of the colours").isChecked());
    await page.getByLabel("Keep the range of the colours").uncheck();
    await page.selectOption("#map", "");
    await page.selectOption("#field", "none");
});

test("plots: of what there is, by a click without one, saved as a table", async () => {
    const shown = () => page.$$eval(".plot:not([hidden]) .title", (all) => all.map((e) => e.textContent));
    assert.ok((await shown()).includes("Contact forces"));
    const key = page.locator('.plot .key[aria-label^="Show "]').first();
    await key.click();
    assert.equal(await key.getAttribute("aria-pressed"), "false");
    await key.click();
    const [file] = await Promise.all([page.waitForEvent("download"), page.click("#save-plots")]);
    const rows = readFileSync(await file.path(), "utf8").trim().split("\n").map((line) => line.split(","));
    assert.equal(rows[0][0], "t");
    assert.ok(rows[0].slice(1).every((name) => / \[.+\]$/.test(name)), rows[0].join());
    assert.ok(rows.length > 3 && rows.every((row) => row.length === rows[0].length));
    assert.ok(rows.slice(2).every((row, i) => Number(row[0]) > Number(rows[i + 1][0])));
});

test("whoever cannot see it, or only badly, can use it: light and dark, wide and narrow", async () => {
    for (const [width, height] of [[1920, 1080], [1280, 800], [390, 844]]) {
        await page.setViewportSize({ width, height });
        for (const theme of ["light", "dark"]) {
            if ((await page.evaluate(() => document.documentElement.dataset.theme ?? "light")) !== theme) await page.keyboard.press("l");
            for (const tab of width === 1280 && theme === "light" ? ["drive", "tool", "timing", "view"] : width === 1920 ? [] : ["view"]) {
                await page.click(`#tab-${tab}`);
                assert.deepEqual(await faults(page), [], `${width} px, ${theme}, ${tab}`);
            }
            await drawn(page);
            await page.screenshot({ path: `${out}/look-${width}-${theme}.png` });
        }
    }
    await page.keyboard.press("l");
    await page.setViewportSize({ width: 1000, height: 680 });
});

test("a scene without contact has no plot of it", async () => {
    const free = await serve("robots/parallel/coarse.yaml");
    const other = await open(browser, free.address);
    const titles = await other.page.$$eval(".plot:not([hidden]) .title", (all) => all.map((e) => e.textContent));
    assert.ok(!titles.includes("Contact forces"), titles.join());
    assert.ok(titles.includes("Actuators"));
    assert.equal(await other.page.isVisible("#tab-modes"), false); // nor modes at full order
    assert.deepEqual(other.errors, []);
    await other.close();
    await free.stop();
});

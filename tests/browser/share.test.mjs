// SPDX-License-Identifier: Apache-2.0
// More than one page, more than one server, no server: two browsers, a restart, recordings, pictures, VTU.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { distance, halt, launch, open, out, PATIENCE, play, PNG, restart, serve, state, until } from "./harness.mjs";

const scene = "robots/parallel/coarse.yaml";
let browser, server, folder, page, errors;
before(async () => {
    folder = mkdtempSync(join(tmpdir(), "tendril-browser-"));
    [browser, server] = await Promise.all([launch(), serve(scene, { options: ["--out", folder] })]);
    ({ page, errors } = await open(browser, server.address));
});
after(async () => {
    await browser?.close();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
});

test("two browsers see and drive the same robot", async () => {
    const other = await launch();
    const [a, b] = [{ page, errors }, await open(other, server.address)];
    await until(a.page, "two clients", () => window.tendril.state.status.clients === 2);
    await a.page.locator("#view").focus();
    await a.page.keyboard.press("Space");
    await until(b.page, "paused in the other", () => !window.tendril.state.playing);
    await b.page.keyboard.press("r");
    for (const { page } of [a, b]) await until(page, "time 0", () => window.tendril.state.time === 0 && !window.tendril.state.playing);
    await b.page.locator('input[type=range][aria-label^="north, cable"]').focus();
    await b.page.keyboard.press("End");
    await until(a.page, "the slider of the one moves in the other", () => {
        const own = document.querySelector('input[type=range][aria-label^="north, cable"]');
        return Number(own.value) > 39;
    });
    await a.page.keyboard.press("Space");
    for (const { page } of [a, b]) await until(page, "time", () => window.tendril.state.time > 0.3 && window.tendril.state.playing);
    await a.page.keyboard.press("Space");
    for (const { page } of [a, b]) await until(page, "paused", () => !window.tendril.state.playing);
    for (const { page } of [a, b]) await until(page, "the last frame", () => window.tendril.state.step === window.tendril.state.status.step);
    const [sa, sb] = [await state(a.page), await state(b.page)];
    assert.equal(sa.step, sb.step);
    sa.probes.forEach((p, i) => assert.ok(distance(p, sb.probes[i]) < 1e-9));
    assert.deepEqual([...a.errors, ...b.errors], []);
    await other.close();
});

test("a recording replays from a file, without a server", async (t) => {
    await restart(page); // the scene's own motion is at its start
    await page.click("#tab-view");
    await page.selectOption("#field", "von_mises");
    await until(page, "its values", () => /Pa/.test(document.querySelector(".legend").textContent));
    await page.click("#record");
    await play(page);
    await until(page, "1.5 s", () => window.tendril.state.time > 1.5);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#record")]);
    const file = join(out, "recording.html");
    await download.saveAs(file);
    const recorded = await page.evaluate(() => window.tendril.state.time);
    await page.selectOption("#field", "none");
    await page.click("#tab-drive");

    const player = await open(browser, pathToFileURL(file).href);
    const show = player.page;
    await until(show, "it plays by itself", () => window.tendril.state.replay.now > 0.3);
    const first = await state(show);
    assert.equal(first.connection, "replay");
    assert.ok(first.replay.duration > 1, `${first.replay.duration} s long`);
    assert.ok(first.time <= recorded + 0.2, `shows ${first.time} s of ${recorded}`);
    await show.locator("#view").focus();
    await halt(show);
    const at = async (part) => {
        await show.evaluate((p) => {
            const line = document.querySelector(".timeline");
            line.value = String(p * Number(line.max));
            line.dispatchEvent(new Event("input"));
            // what is shown follows with the next picture
            return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        }, part);
        return state(show);
    };
    const [begin, end, again] = [await at(0), await at(1), await at(0)];
    assert.ok(end.time > begin.time + 1, `from ${begin.time} to ${end.time} s`);
    assert.ok(distance(begin.probes[0], end.probes[0]) > 1e-4, "the robot moves in it");
    assert.deepEqual(again.probes, begin.probes, "the same picture at the same place");
    await show.click("#tab-view");
    const legend = () => show.locator(".legend").textContent();
    const offered = () => show.locator("#field option").evaluateAll((all) => all.map((o) => o.value));
    assert.equal(await show.locator("#field").inputValue(), "von_mises", "coloured as it was recorded");
    assert.deepEqual(await offered(), ["none", "displacement", "von_mises"], "only what the recording has");
    assert.match(await legend(), /Pa/);
    await show.selectOption("#field", "displacement");
    assert.doesNotMatch(await legend(), /Pa/);
    await show.selectOption("#field", "von_mises"); // paused: nothing new comes
    assert.match(await legend(), /Pa/);
    assert.deepEqual(player.errors, []);
    t.diagnostic(`${(statSync(file).size / 1024).toFixed(0)} KiB for ${first.replay.duration.toFixed(1)} s`);
    await player.close();
});

test("a picture is saved as PNG", async () => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#screenshot")]);
    const file = join(out, "picture.png");
    await download.saveAs(file);
    const png = PNG.sync.read(readFileSync(file));
    const colours = new Set();
    for (let i = 0; i < png.data.length; i += 4) colours.add((png.data[i] << 16) | (png.data[i + 1] << 8) | png.data[i + 2]);
    assert.ok(png.width > 300 && colours.size > 500, `${png.width} pixels wide, ${colours.size} colours`);
});

test("a VTU series is written by the server", async () => {
    await play(page);
    await page.click("#vtu");
    await until(page, "five files", () => window.tendril.state.status.recording.frames >= 5);
    const { recording } = (await state(page)).status;
    await page.click("#vtu");
    await until(page, "stopped", () => !window.tendril.state.status.recording.active);
    const files = readdirSync(folder, { recursive: true }).map(String);
    assert.ok(files.filter((f) => f.endsWith(".vtu")).length >= 5, `${recording.folder}: ${files.join(", ")}`);
    assert.ok(files.some((f) => f.endsWith(".pvd")), files.join(", "));
});

test("a page without the token is told what is wrong", async () => {
    const guarded = await serve(scene, { options: ["--token", "auto"] });
    const stranger = await browser.newPage();
    stranger.setDefaultTimeout(PATIENCE);
    await stranger.goto(guarded.address.replace(/#.*/, ""));
    await stranger.waitForFunction(() => /address exactly as .* token/.test(document.querySelector(".banner")?.textContent));
    assert.doesNotMatch(await stranger.locator(".banner").textContent(), /lost/);
    await stranger.close();
    await guarded.stop();
});

test("it comes back after the server was restarted", async () => {
    const before = await state(page);
    const { port } = server;
    await server.stop();
    await until(page, "it says that the connection is lost", () =>
        !document.querySelector(".banner").hidden && window.tendril.state.connection === "lost");
    assert.match(await page.locator(".banner").textContent(), /lost/);
    server = await serve(scene, { port });
    await until(page, "connected again", () => window.tendril.state.connection === "open");
    await until(page, "new frames", (n) => window.tendril.state.frames > n + 5, before.frames);
    assert.ok(await page.locator(".banner").isHidden());
    await until(page, "it draws", () => window.tendril.state.fps > 0);
    await until(page, "its status", () => window.tendril.state.status !== null);
    const { playing } = await state(page);
    await page.locator("#view").focus();
    await page.keyboard.press("Space");
    await until(page, "it is in command again", (p) => window.tendril.state.playing !== p, playing);
});

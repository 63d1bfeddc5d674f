// SPDX-License-Identifier: Apache-2.0
// A reduced body: expanded on the GPU from its coordinates, with modes to browse and a domain to look at.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { drawn, launch, open, out, program, root, serve, stands, state, until } from "./harness.mjs";

let browser, server, page, errors;
before(async () => {
    const rom = join(out, "arm.h5");
    execFileSync(program, ["reduce", "tests/browser/arm.yaml", "-o", rom, "--quiet"], { cwd: root });
    [browser, server] = await Promise.all([launch(), serve("tests/browser/arm.yaml", { options: ["--rom", rom, "--paused"] })]);
    ({ page, errors } = await open(browser, server.address));
});
after(async () => {
    await browser?.close();
    await server?.stop();
});

// Positions as the GPU has them, as the processor works them out, and the middle of the end face, where the probe is.
const shape = () => page.evaluate(() => {
    const { world, stage } = window.tendril;
    const { shape } = world.skins[0];
    shape.update(stage.renderer);
    const rows = Math.ceil(shape.vertices / 1024);
    const pixels = new Float32Array(4 * 1024 * rows);
    stage.renderer.readRenderTargetPixels(shape.targets[0], 0, 0, 1024, rows, pixels);
    const here = shape.all();
    let most = 0;
    for (let i = 0; i < shape.vertices; i++) for (let c = 0; c < 3; c++) most = Math.max(most, Math.abs(pixels[4 * i + c] - here[3 * i + c]));
    let tip = null;
    for (let i = 0; i < shape.vertices; i++) {
        const r = shape.rest.subarray(3 * i, 3 * i + 3);
        if (Math.abs(r[0] - 0.1) < 1e-6 && Math.abs(r[1]) < 1e-6 && Math.abs(r[2]) < 1e-6) tip = Array.from(pixels.subarray(4 * i, 4 * i + 3));
    }
    return { most, tip };
});

test("the GPU expands coordinates to where the body is", async () => {
    await page.evaluate(() => window.tendril.send({ type: "step", count: 30 }));
    await until(page, "30 steps", () => window.tendril.state.step >= 30);
    await stands(page);
    const s = await state(page);
    assert.equal(s.status.rom.reduced, true);
    const { most, tip } = await shape();
    // Single precision on both sides, lengths of 0.1 m.
    assert.ok(most < 1e-7, `GPU and processor differ by ${most} m`);
    assert.ok(Math.hypot(...tip.map((x, i) => x - s.probes[0][i])) < 1e-6, `${tip} is not the probe ${s.probes[0]}`);
    assert.ok(s.probes[0][2] < -1e-4, "the arm sags");
});

test("a mode is added by its slider, and taken away again", async () => {
    await page.click("#tab-modes");
    const before = await shape();
    const slider = page.locator('input[aria-label="Mode 1 of arm, amplitude added"]');
    await slider.focus();
    await page.keyboard.press("End");
    await until(page, "the mode is added", () => window.tendril.world.extra.get(0)?.[0] > 0);
    await drawn(page);
    const bent = await shape();
    assert.ok(Math.hypot(...bent.tip.map((x, i) => x - before.tip[i])) > 1e-3, "the tip moves by more than 1 mm");
    assert.ok(bent.most < 1e-7, `GPU and processor differ by ${bent.most} m`);
    await page.click('button[aria-label="Clear all modes of arm"]');
    await until(page, "no mode is added", () => [...(window.tendril.world.extra.get(0) ?? [])].every((a) => a === 0));
    await drawn(page);
    assert.deepEqual((await shape()).tip, before.tip);
    await page.click('button[aria-label="Swing mode 2 of arm"]');
    await until(page, "the mode swings", () => Math.abs(window.tendril.world.extra.get(0)[1]) > 0);
    await page.click('button[aria-label="Swing mode 2 of arm"]');
});

test("the reduced integration domain can be seen", async () => {
    await page.click("#tab-view");
    await page.getByLabel("Layer: Reduced integration domain").check();
    const seen = await page.evaluate(() => window.tendril.session.hello.meshes
        .map((m, i) => m.kind === "domain" && window.tendril.world.skins[i].group.visible).filter((v) => v !== false));
    assert.deepEqual(seen, [true]);
    await drawn(page);
    await page.locator(".viewport").screenshot({ path: join(out, "domain.png") });
    assert.deepEqual(errors, []);
});

test("the warning of a reduced model has its numbers, can be put away and comes back when things get worse", async () => {
    // As the server would say it, all at once, so that no status of the server's comes in between.
    const seen = await page.evaluate(() => {
        const { session } = window.tendril;
        const close = document.querySelector('[aria-label="Dismiss the warning of the reduced model"]');
        const say = (distance, error) => {
            const rom = { reduced: true, indicator: 0.1, error, distance, warning: true };
            session.emit("status", (session.status = { ...session.status, rom }));
            const note = close.closest(".note");
            return { note, text: note.textContent, hidden: note.hidden };
        };
        const first = say(0.12, 0.034);
        close.click();
        return { text: first.text, hidden: [first.hidden, first.note.hidden, say(0.14, 0.036).hidden, say(0.24, 0.036).hidden] };
    });
    assert.match(seen.text, /12 % of its shape.*about 3\.4 %/);
    assert.deepEqual(seen.hidden, [false, true, true, false]);
    assert.deepEqual(errors, []);
});

test("another scene is chosen from the list", async () => {
    const other = await page.locator("#scene option").evaluateAll((all) => all.map((o) => o.value).find((v) => v.includes("beam")));
    assert.ok(other, "a beam is shipped");
    const before = (await state(page)).generation;
    await page.selectOption("#scene", other);
    await until(page, "the other scene", (g) => window.tendril.state.generation > g && window.tendril.state.frames > 0, before);
    assert.equal((await state(page)).scene, other);
    await page.locator("#view").focus();
    await page.keyboard.press(".");
    await until(page, "it steps", () => window.tendril.state.step >= 1);
    assert.deepEqual(errors, []);
});

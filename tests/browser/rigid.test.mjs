// SPDX-License-Identifier: Apache-2.0
// Robots of links, contact and frames: they move, are pulled, touch, are driven by the keyboard, and can be recorded.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { difference, shrink } from "./picture.mjs";
import { distance, drawn, hold, launch, open, out, pause, play, PNG, pixel, program, reset, root, serve, simulated, stands, state, steps, still, until } from "./harness.mjs";

let browser, server, page, errors, close;
const series = join(out, "rigid-series");
const start = async (scene, options = []) => {
    await close?.();
    await server?.stop();
    server = await serve(scene, { options });
    ({ page, errors, close } = await open(browser, server.address));
};
before(async () => {
    browser = await launch();
});
afterEach(() => assert.deepEqual(errors.splice(0), []));
after(async () => {
    await browser?.close();
    await server?.stop();
});

test("a robot of links moves, and every link is where the simulation has it", async () => {
    rmSync(series, { recursive: true, force: true });
    await start("scenes/contact/arm_hand.yaml", ["--out", series]);
    const meshes = await page.evaluate(() => window.tendril.session.hello.meshes);
    assert.ok(meshes.length > 20 && meshes.every((m) => m.kind === "surface"), `${meshes.length} meshes`);
    assert.ok(meshes.some((m) => m.colour?.[0] > 0.7 && m.colour[2] < 0.3), "the orange of the robot's file");
    await until(page, "the arm moves", () => window.tendril.state.time > 1.2);
    await page.keyboard.press(" ");
    await stands(page);
    // The probe is the mean of the palm's corners, which the page works out by the pose of the link.
    const seen = await page.evaluate(() => {
        const { session, world } = window.tendril;
        const link = session.hello.bodies[0].links.indexOf("palm");
        const sum = [0, 0, 0];
        let n = 0, moved = 0;
        session.hello.meshes.forEach((m, i) => {
            if (m.pose !== link) return;
            const { shape } = world.skins[i], x = shape.all();
            for (let k = 0; k < x.length; k += 3, n++) for (let c = 0; c < 3; c++) sum[c] += x[k + c];
            moved = Math.max(moved, Math.hypot(x[0] - shape.rest[0], x[1] - shape.rest[1], x[2] - shape.rest[2]));
        });
        return { mean: sum.map((s) => s / n), moved };
    });
    const { probes } = await state(page);
    assert.ok(seen.moved > 0.05, `the palm moved by ${seen.moved} m`);
    assert.ok(distance(seen.mean, probes[0]) < 1e-5, `${seen.mean} is not the probe ${probes[0]}`);
});

test("joints have sliders in degrees or radians", async () => {
    const slider = page.locator('input[type=range][aria-label^="a1, joint"]');
    assert.match(await slider.getAttribute("aria-label"), /°/);
    await page.getByLabel("Units of lengths and angles").selectOption("m, rad");
    assert.match(await slider.getAttribute("aria-label"), /rad/);
    assert.ok(Math.abs(Number(await slider.getAttribute("max")) - 2.967) < 0.01);
    await page.getByLabel("Units of lengths and angles").selectOption("mm, °");
    await slider.focus();
    await page.keyboard.press("Home");
    await until(page, "by hand", () => window.tendril.state.status.actuators[0].mode === "manual");
    await page.locator("#view").focus();
    await page.keyboard.press(" ");
    await until(page, "the joint follows", () => window.tendril.state.status.actuators[0].displacement < -0.5);
});

test("a link is pulled by the mouse", async () => {
    await page.locator("#view").focus();
    // Time stands while it is taken, so that it is where it was looked for.
    await pause(page);
    await reset(page);
    await stands(page);
    const { probes } = await state(page);
    const from = await pixel(page, probes[0]);
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x + 80, from.y - 60, { steps: 6 });
    await page.evaluate(() => window.tendril.send({ type: "play" }));
    await until(page, "a spring pulls", () => window.tendril.state.springs === 1 && Math.hypot(...window.tendril.state.status.springs[0].force) > 1);
    await page.mouse.up();
    await until(page, "it let go", () => window.tendril.state.springs === 0);
});

test("it is written as VTU and replays from a file", async () => {
    await page.click("#vtu");
    await until(page, "files", () => window.tendril.state.status.recording.frames > 2);
    await page.click("#vtu");
    await until(page, "an end", () => !window.tendril.state.status.recording.active);
    const folder = readdirSync(series)[0];
    assert.ok(readdirSync(join(series, folder)).some((f) => f.endsWith(".vtu")));
    await page.click("#record");
    await until(page, "frames kept", () => /^[5-9]|\d\d/.test(document.querySelector(".recording").textContent));
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#record")]);
    const file = join(out, "robot.html");
    await download.saveAs(file);
    const replayed = await open(browser, pathToFileURL(file).href);
    await until(replayed.page, "links in the replay", () => window.tendril.world.skins.some((s) => s && s.shape.place.elements[12] !== 0));
    assert.deepEqual(replayed.errors, []);
    await replayed.close();
});

test("contact forces are arrows with a scale, and plotted for each pair", async () => {
    await start("scenes/contact/fingers.yaml");
    await until(page, "the block is held", () => window.tendril.state.time > 0.5 && window.tendril.state.arrows > 5);
    assert.match(await page.locator(".arrow-legend").textContent(), /contact force [\d.]+ m?N/);
    const shown = await page.evaluate(() => {
        const { world, session } = window.tendril;
        const s = session.frame.sections.find((x) => x.type === 23);
        const sum = [0, 0, 0];
        for (let i = 0; i < s.count; i++) for (let c = 0; c < 3; c++) sum[c] += s.f32[8 * i + 3 + c];
        const pairs = session.frame.sections.find((x) => x.type === 26);
        const all = [0, 0, 0];
        for (let i = 0; i < pairs.count; i++) for (let c = 0; c < 3; c++) all[c] += pairs.f32[pairs.width * i + 3 + c];
        return { arrows: world.contacts.shafts.mesh.count, count: s.count, sum, all, planes: world.planes.length, ground: world.stage.ground.position.z };
    });
    assert.equal(shown.arrows, shown.count);
    assert.ok(distance(shown.sum, shown.all) < 1e-3, `${shown.sum} and ${shown.all}`);
    assert.equal(shown.ground, 0, "the plane is the ground of the picture");
    await until(page, "a plot", () => [...document.querySelectorAll('figure[aria-label="Plot: Contact forces"] .key')].some((k) => k.textContent === "block – gripper.left_finger"));
    await page.click("#tab-timing");
    assert.ok(Number(await page.locator("#timing-points").textContent()) > 0);
    await page.click("#tab-view");
    await page.getByLabel("Layer: Contact forces").uncheck();
    assert.ok(await page.locator(".arrow-legend").isHidden());
    assert.equal(await page.evaluate(() => window.tendril.world.contacts.group.visible), false);
    await page.getByLabel("Layer: Contact forces").check();
    for (const field of ["von_mises", "displacement", "none"]) {
        await page.selectOption("#field", field);
        if (field === "von_mises") await until(page, "its values", () => window.tendril.session.field !== null);
        await drawn(page);
    }
});

test("it looks as it did", async (t) => {
    await page.evaluate(() => {
        window.tendril.stage.setDetail(1);
        window.tendril.send({ type: "pause" });
        window.tendril.send({ type: "reset" });
        window.tendril.send({ type: "step", count: 100 });
    });
    await until(page, "100 steps", () => window.tendril.state.step === 100);
    await stands(page);
    const take = async (name) =>
        shrink(PNG.sync.read(await page.locator(".viewport").screenshot({ path: join(out, `${name}.png`) })), 192, 106);
    const shown = await still(page, () => take("fingers"), difference);
    const reference = join(root, "tests/browser/reference/fingers.png");
    if (process.env.UPDATE_REFERENCES || !existsSync(reference)) writeFileSync(reference, PNG.sync.write(shown));
    const same = difference(shown, PNG.sync.read(readFileSync(reference)));
    t.diagnostic(`mean difference ${same.mean.toFixed(2)} of 255, ${(100 * same.far).toFixed(2)} % of pixels far off`);
    assert.ok(same.mean < 4 && same.far < 0.01, JSON.stringify(same));
    await page.evaluate(() => {
        window.tendril.world.skins.forEach((s) => s && (s.group.visible = false));
        window.tendril.stage.invalidate();
    });
    const gone = difference(await still(page, () => take("fingers-gone"), difference), PNG.sync.read(readFileSync(reference)));
    assert.ok(gone.far > 0.05, `without the bodies the picture is ${JSON.stringify(gone)} off`);
});

test("an instrument in the hand: keys move it, ] grasps, its force is drawn, written and plotted", async () => {
    await start("scenes/haptic/grasp.yaml");
    const tools = await page.evaluate(() => window.tendril.session.hello.tools);
    assert.deepEqual(tools.map((t) => [t.name, t.guided, t.jaw]), [["upper", true, true]]);
    await until(page, "time goes on", () => window.tendril.state.time > 0.1);
    await page.locator("#view").focus();
    await page.keyboard.press("t");
    await until(page, "the mode", () => window.tendril.state.tool.on);
    assert.ok(Math.hypot(...(await state(page)).tool.forces[0].slice(0, 3)) < 1e-3, "nothing touches yet");
    assert.equal(await page.isVisible("#tool-force"), true);
    assert.equal(await page.isVisible("#tool-error"), false); // it has no target to be away from
    // Closing: the jaw meets the tissue from below and presses it against the upper one.
    await hold(page, "]", "the jaw closes", () => window.tendril.state.status.tools[0].grip > 0.999);
    const closed = (await state(page)).tool.places[0];
    // Pulling away from the clamped end: a hand feels the tissue pull back.
    await hold(page, "d", "tissue pulls back", () => window.tendril.state.tool.forces[0][0] < -0.02);
    await until(page, "it stands", () => window.tendril.state.status.tools[0].twist.every((v) => v === 0));
    assert.ok((await state(page)).tool.places[0][0] > closed[0]);
    await until(page, "the force has a value", () => [...document.querySelectorAll(".overlay *")].some((e) => /upper .*\d m?N/.test(e.textContent)));
    assert.match(await page.locator("#tool-force").textContent(), /\d.*N/);
    assert.match(await page.locator("#tool-grip").textContent(), /100 % closed/);
    const titles = await page.$$eval(".plot:not([hidden]) .title", (all) => all.map((e) => e.textContent));
    assert.ok(titles.includes("Force on the hand"), titles.join());
    const [file] = await Promise.all([page.waitForEvent("download"), page.click("#save-plots")]);
    const rows = readFileSync(await file.path(), "utf8").trim().split("\n").map((line) => line.split(","));
    const column = rows[0].indexOf("upper.felt_force [N]");
    assert.ok(column > 0, rows[0].join());
    assert.ok(Math.max(...rows.slice(1).map((row) => Number(row[column]))) > 0.02);
    for (const [width, height] of [[1280, 800], [390, 844]]) {
        await page.setViewportSize({ width, height });
        for (const theme of ["light", "dark"]) {
            if ((await page.evaluate(() => document.documentElement.dataset.theme ?? "light")) !== theme) await page.keyboard.press("l");
            await page.evaluate(() => Promise.allSettled(document.getAnimations().map((a) => a.finished)));
            await page.screenshot({ path: `${out}/hand-${width}-${theme}.png` });
        }
    }
    await page.keyboard.press("l");
    await page.setViewportSize({ width: 1000, height: 680 });
    await page.keyboard.press("Escape");
    // By the pointer: it goes where it is dragged, which pulls the tissue further, and stands when it is let go.
    await page.keyboard.press("f");
    await drawn(page);
    const place = async () => (await state(page)).tool.places[0];
    const start0 = await place();
    const grab = await page.evaluate(() => {
        const { session, world } = window.tendril;
        const body = session.hello.tools[0].body, i = session.hello.meshes.findIndex((m) => m.body === body);
        const x = world.skins[i].shape.all(), top = [0, 0, -Infinity];
        const sum = [0, 0, 0];
        for (let k = 0; k < x.length; k += 3) {
            for (let c = 0; c < 3; c++) sum[c] += (3 * x[k + c]) / x.length;
            top[2] = Math.max(top[2], x[k + 2]);
        }
        return [sum[0], sum[1], top[2]];
    });
    const from = await pixel(page, grab), toward = await pixel(page, [grab[0] + 0.004, grab[1], grab[2]]);
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    assert.equal((await state(page)).dragging, "tool");
    await page.mouse.move(toward.x, toward.y, { steps: 5 });
    await until(page, "it is led there", (x) => window.tendril.state.tool.places[0][0] > x + 0.002, start0[0]);
    await page.mouse.up();
    await until(page, "nobody leads it", () => window.tendril.state.status.tools[0].client === null);
    assert.equal((await state(page)).dragging, null);
    assert.equal((await state(page)).springs, 0);
    assert.ok((await place())[0] < start0[0] + 0.008, "no farther than it was led");
    // Nobody else's jaw, and not one of a body that has none.
    await page.evaluate(() => window.tendril.send({ type: "grip", name: "flap", rate: 1 }));
    await until(page, "refused", () => window.tendril.state.status.you.refused > 0);
});

test("keys drive a tool along the axes of the world, turn it, and stop when let go", async () => {
    await start("tests/browser/tool.yaml");
    await until(page, "time goes on", () => window.tendril.state.time > 0.3);
    const place = async () => (await state(page)).tool.places[0];
    await page.locator("#view").focus();
    await page.keyboard.press("t");
    await until(page, "the mode", () => window.tendril.state.tool.on);
    assert.equal(await page.locator("#tab-tool").getAttribute("aria-selected"), "true");
    // It follows its target with a lag. Time stands but for steps: a page that comes late would let it go far away.
    await pause(page);
    const settle = async () => {
        await until(page, "the target stands", () => window.tendril.state.status.tools[0].twist.every((v) => v === 0));
        for (let last = await place(), now; ; last = now) {
            await steps(page, 1, 50);
            now = await place();
            if (distance(last, now) < 5e-4) return;
        }
    };
    await settle();
    for (const [key, axis, sign] of [["d", 0, 1], ["w", 1, 1], ["q", 2, -1], ["e", 2, 1]]) {
        const from = await place();
        await page.keyboard.down(key);
        await until(page, `${key} is heard`, ([k, s]) => s * window.tendril.state.status.tools[0].twist[k] > 0, [axis, sign]);
        for (let n = 0; n < 40 && sign * ((await place())[axis] - from[axis]) < 0.02; n++) await steps(page, 1, 5);
        await page.keyboard.up(key);
        await until(page, `${key} is let go`, () => window.tendril.state.tool.twist.every((v) => v === 0));
        await settle();
        const to = await place();
        const others = [0, 1, 2].filter((k) => k !== axis).map((k) => Math.abs(to[k] - from[k]));
        assert.ok(sign * (to[axis] - from[axis]) > 0.02 && Math.max(...others) < 0.015, `${key} moved it from ${from} to ${to}`);
    }
    await play(page);
    const held = await place();
    await simulated(page, 0.4);
    assert.ok(distance(held, await place()) < 1e-3, "it stands when the key is up");
    // Screenshots and the like are what these keys mean without the mode.
    assert.equal((await state(page)).playing, true);
    const turn = () => page.evaluate(() => Array.from(window.tendril.session.frame.sections.find((s) => s.type === 27).f32.subarray(3, 7)));
    const before = await turn();
    await page.keyboard.down("Shift");
    await page.keyboard.down("D");
    await until(page, "it turns", (b) => {
        const q = window.tendril.session.frame.sections.find((s) => s.type === 27).f32.subarray(3, 7);
        return Math.abs(q[0] * b[0] + q[1] * b[1] + q[2] * b[2] + q[3] * b[3]) < Math.cos(0.05);
    }, before);
    await page.keyboard.up("D");
    await page.keyboard.up("Shift");
});

test("fingers close together, and all stops with the focus and with the page", async () => {
    const spread = await page.getByLabel("Finger joint: i0").isChecked();
    assert.equal(spread, false, "a joint that bends both ways is no finger by itself");
    await hold(page, "]", "they close", () => ["i1", "t1"].every((n) => window.tendril.state.status.actuators[window.tendril.session.hello.actuators.findIndex((a) => a.name === n)].displacement > 0.3));
    const i0 = await page.evaluate(() => window.tendril.state.status.actuators[window.tendril.session.hello.actuators.findIndex((a) => a.name === "i0")].mode);
    assert.equal(i0, "scene");
    await page.keyboard.down("a");
    await until(page, "it moves", () => window.tendril.state.status.tools[0].twist[0] < 0);
    await page.evaluate(() => window.dispatchEvent(new Event("blur")));
    await until(page, "it stops without the focus", () => window.tendril.state.status.tools[0].twist.every((v) => v === 0));
    await page.keyboard.up("a");
    const other = await open(browser, server.address);
    await page.keyboard.down("a");
    await until(other.page, "the other page sees who drives", () => window.tendril.state.status.tools[0].client !== null);
    await page.context().close();
    await until(other.page, "it stops with the page", () => window.tendril.state.status.tools[0].client === null && window.tendril.state.status.tools[0].twist.every((v) => v === 0));
    assert.deepEqual(other.errors, []);
    ({ page, errors, close } = other);
});

test("a reduced body on a frame turns and bends", async () => {
    const rom = join(out, "floats.h5");
    execFileSync(program, ["reduce", "tests/browser/floats.yaml", "-o", rom, "--quiet"], { cwd: root });
    await start("tests/browser/floats.yaml", ["--rom", rom]);
    await page.evaluate(() => {
        const { shape } = window.tendril.world.skins[0];
        let triangle = 0, best = -1;
        for (let i = 0; i < shape.triangles.length; i += 3) {
            const x = shape.rest[3 * shape.triangles[i]];
            if (x > best) [best, triangle] = [x, i / 3];
        }
        window.tendril.send({ type: "actuator", name: "pull", value: 1 });
        window.tendril.send({ type: "spring", mesh: 0, triangle, weights: [0.3, 0.3, 0.4], anchor: [0.05, 0.1, 0.05] });
    });
    await until(page, "it turns", () => {
        const s = window.tendril.session.frame.sections.find((x) => x.type === 25);
        return s && Math.abs(s.f32[6]) < 0.97;
    });
    await page.evaluate(() => window.tendril.send({ type: "pause" }));
    await stands(page);
    const { probes } = await state(page);
    const corner = await page.evaluate(() => {
        const { shape } = window.tendril.world.skins[0];
        const x = shape.all();
        for (let i = 0; i < shape.vertices; i++) {
            const r = shape.rest.subarray(3 * i, 3 * i + 3);
            if (Math.abs(r[0] - 0.05) + Math.abs(r[1] - 0.01) + Math.abs(r[2] - 0.01) < 1e-6) return Array.from(x.subarray(3 * i, 3 * i + 3));
        }
        return null;
    });
    assert.ok(distance(corner, probes[0]) < 1e-6, `${corner} is not the probe ${probes[0]}`);
    assert.ok(distance(probes[0], [0.05, 0.01, 0.01]) > 0.005, "it is elsewhere than at rest");
    await page.click("#tab-view");
    await page.evaluate(() => window.tendril.send({ type: "play" }));
    await page.selectOption("#field", "error");
    await until(page, "its error against full order", () => window.tendril.session.field && window.tendril.session.hello.fields[window.tendril.session.field.index].name === "error");
    await page.locator(".viewport").screenshot({ path: join(out, "frame.png") });
});

test("scenes with contact are in the list", async () => {
    const names = await page.locator("#scene option").evaluateAll((all) => all.map((o) => o.value));
    for (const name of ["contact/arm_hand", "contact/fingers", "contact/incline", "contact/pendulum", "contact/plates"]) assert.ok(names.includes(name), name);
    const before = (await state(page)).generation;
    await page.selectOption("#scene", "contact/incline");
    await until(page, "the other scene", (g) => window.tendril.state.generation > g && window.tendril.state.frames > 0, before);
    await page.evaluate(() => window.tendril.send({ type: "play" }));
    await until(page, "arrows", () => window.tendril.state.arrows > 8);
});

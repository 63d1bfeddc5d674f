// SPDX-License-Identifier: Apache-2.0
// What a person has to be told: the connection, errors of the simulation, warnings, refusals.
import type { Status } from "../protocol";
import type { Session } from "../session";
import { h, iconButton, setText } from "./dom";
import { verdict } from "./timing";

const percent = (share: number): string => `${(100 * share).toPrecision(2)} %`;

export class Notices {
    readonly banner = h("div", { class: "banner", role: "alert", hidden: true });
    readonly corner = h("div", { class: "notes", "aria-live": "polite" });
    private readonly retry = h("button", { type: "button", class: "small" }, "Try now");
    private readonly bannerText = h("span");
    private readonly countdown = h("span", { "aria-hidden": "true" }); // not to be read aloud every second
    private readonly failure = h("div", { class: "note error", role: "alert", hidden: true });
    private readonly failureText = h("p");
    private readonly failureKind = h("strong");
    private readonly heavy = h("div", { class: "note warn closable", hidden: true });
    private readonly heavyText = h("span");
    private readonly trust = h("div", { class: "note warn closable", hidden: true });
    private readonly trustText = h("span");
    private readonly loading = h("div", { class: "note", hidden: true });
    private heavySince = 0;
    private heavySeen = false; // closed by hand: enough said of this scene
    private trustSeen = { error: 0, distance: 0 }; // closed by hand when things were as bad as this
    private readonly session: Session;

    constructor(session: Session, reconnect: () => void) {
        this.session = session;
        this.retry.addEventListener("click", reconnect);
        this.banner.append(this.bannerText, this.countdown, this.retry);
        this.failure.append(this.failureKind, this.failureText,
            h("div", { class: "actions" },
                h("button", { type: "button", class: "small", click: () => session.send({ type: "reset" }) }, "Reset"),
                h("button", { type: "button", class: "small", click: () => session.send({ type: "play" }) }, "Try again")));
        this.heavy.append(this.heavyText, iconButton("close", "Dismiss the word on speed", () => (this.heavySeen = this.heavy.hidden = true)));
        this.trust.append(this.trustText, iconButton("close", "Dismiss the warning of the reduced model", () => this.dismissTrust()));
        session.on("hello", () => {
            this.heavySeen = false;
            this.trustSeen = { error: 0, distance: 0 };
        });
        this.corner.append(this.failure, this.heavy, this.trust, this.loading);
        session.on("connection", () => this.connection());
        session.on("status", (status) => this.status(status));
        session.on("notice", ({ level, message }) => this.toast(message, level === "warning" ? "warn" : ""));
        setInterval(() => this.connection(), 500);
    }

    toast(message: string, kind = ""): void {
        const note = h("div", { class: `note ${kind}` }, h("span", {}, message));
        note.append(iconButton("close", "Dismiss", () => note.remove()));
        while (this.corner.querySelectorAll(".toast").length > 3) this.corner.querySelector(".toast")!.remove();
        note.classList.add("toast");
        this.corner.append(note);
        setTimeout(() => note.remove(), kind === "warn" ? 12000 : 7000);
    }

    private connection(): void {
        const { connection, taken, retryAt } = this.session;
        this.banner.hidden = connection === "open" || connection === "replay" || (connection === "connecting" && performance.now() < 1500);
        if (this.banner.hidden) return;
        const wait = Math.max(0, Math.ceil((retryAt - performance.now()) / 1000));
        // Why a socket was refused is not told to pages, so this names every reason there is.
        setText(this.bannerText, connection === "connecting" ? "Connecting to the simulation…"
            : taken ? "The connection to the simulation is lost."
            : "The server does not take this page. Open the address exactly as 'tendril view' printed it, with its token; " +
              "if you did, the server has ended or has as many pages as it takes.");
        setText(this.countdown, connection === "connecting" ? "" : wait > 0 ? `Trying again in ${wait} s.` : "Trying again…");
    }

    private dismissTrust(): void {
        const rom = this.session.status?.rom;
        this.trustSeen = { error: rom?.error ?? 0, distance: rom?.distance ?? 0 };
        this.trust.hidden = true;
    }

    // A warning that was put away comes back when things are half as bad again.
    private judge({ rom }: Status): void {
        const worse = (rom.error ?? 0) > 1.5 * this.trustSeen.error || (rom.distance ?? 0) > 1.5 * this.trustSeen.distance;
        this.trust.hidden = !(rom.reduced && rom.warning && worse);
        if (this.trust.hidden) return;
        const beyond = (rom.distance ?? 0) > 0 ? ` ${percent(rom.distance!)} of its shape lies outside of training.` : "";
        setText(this.trustText, `The reduced model is outside of what it was trained for.${beyond} ` +
            (rom.error === null ? "Its error is not known there." : `Inside, its error is about ${percent(rom.error)}; here it may be larger.`));
    }

    private status(status: Status): void {
        this.failure.hidden = !status.error;
        if (status.error) {
            setText(this.failureKind, `The simulation stopped at ${status.error.time.toFixed(3)} s: ${status.error.kind}`);
            setText(this.failureText, status.error.message);
        }
        // Starting and loading may be slow for a moment; the word is for what lasts. A recording is not slow.
        const heavy = this.session.connection !== "replay" && status.playing && status.timing.heavy;
        this.heavySince = heavy ? this.heavySince || performance.now() : 0;
        this.heavy.hidden = !heavy || this.heavySeen || performance.now() - this.heavySince < 1500;
        if (!this.heavy.hidden) setText(this.heavyText, verdict(status, this.session.hello!.time_step / status.speed));
        this.judge(status);
        this.loading.hidden = status.loading === null;
        if (status.loading !== null) setText(this.loading, `Loading ${status.loading}…`);
    }
}

// SPDX-License-Identifier: Apache-2.0
// The live source: a WebSocket to the server that the page came from. It comes back by itself.
import type { Session } from "./session";

const FIRST_RETRY = 250;
const LAST_RETRY = 5000;

export interface Tap {
    text(text: string): void;
    binary(buffer: ArrayBuffer): void;
}

export class Socket {
    readonly taps: Tap[] = []; ///< they hear every message, after the session
    private socket: WebSocket | null = null;
    private retry = FIRST_RETRY;
    private timer = 0;
    private readonly session: Session;
    private readonly address: string;

    constructor(session: Session) {
        this.session = session;
        const address = new URL("ws", location.href);
        address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
        address.hash = address.search = "";
        const token = new URLSearchParams(location.hash.slice(1)).get("token");
        if (token) address.searchParams.set("token", token);
        this.address = address.href;
        session.send = (message) => this.send(message);
        addEventListener("online", () => this.reconnect());
        document.addEventListener("visibilitychange", () => {
            if (!document.hidden && this.session.connection === "lost") this.reconnect();
        });
    }

    connect(): void {
        this.session.setConnection(this.session.connection === "lost" ? "lost" : "connecting");
        const socket = new WebSocket(this.address, "tendril.1");
        this.socket = socket;
        socket.binaryType = "arraybuffer";
        socket.onopen = () => {
            this.retry = FIRST_RETRY;
            this.session.taken = true;
            this.session.setConnection("open");
        };
        socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
            try {
                if (typeof event.data === "string") {
                    this.session.takeText(event.data);
                    for (const tap of this.taps) tap.text(event.data);
                } else {
                    this.session.takeBinary(event.data);
                    for (const tap of this.taps) tap.binary(event.data);
                }
            } catch (error) {
                const message = `The server sent what cannot be read: ${(error as Error).message}`;
                this.session.emit("notice", { level: "warning", message });
            }
        };
        socket.onclose = () => this.lost(socket);
    }

    reconnect(): void {
        if (this.socket && this.socket.readyState <= WebSocket.OPEN) return;
        clearTimeout(this.timer);
        this.connect();
    }

    private lost(socket: WebSocket): void {
        if (socket !== this.socket) return;
        const wait = this.retry * (0.8 + 0.4 * Math.random()); // many pages must not all come back at once
        this.retry = Math.min(2 * this.retry, LAST_RETRY);
        this.session.retryAt = performance.now() + wait;
        this.session.setConnection("lost");
        this.timer = window.setTimeout(() => this.connect(), wait);
    }

    private send(message: object): void {
        if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
    }
}

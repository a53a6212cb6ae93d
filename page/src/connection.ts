// The connection to the server: opened again by itself when it is lost, and honest about it.

import { read, writeHello, type FromServer } from "./generated/protocol";

const FIRST_WAIT = 300; // [ms] before the first new try; each later one waits twice as long, up to the longest
const LONGEST_WAIT = 5000;

export type Status = "connecting" | "open" | "lost" | "refused";

export interface Listener {
  onMessage(message: FromServer): void;
  onStatus(status: Status, why: string): void;
}

export class Connection {
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT;
  private sequence = 0;
  /** Bytes that arrived since the page was loaded. */
  received = 0;

  constructor(
    private readonly address: string,
    private readonly token: string,
    private readonly listener: Listener,
  ) {
    this.open();
  }

  private open(): void {
    this.listener.onStatus("connecting", "");
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => socket.send(writeHello({ token: this.token }));
    socket.onmessage = (event) => {
      this.wait = FIRST_WAIT;
      this.received += event.data.byteLength;
      this.listener.onStatus("open", "");
      this.listener.onMessage(read(event.data as ArrayBuffer));
    };
    socket.onclose = (event) => this.closed(event.code);
    this.socket = socket;
  }

  private closed(code: number): void {
    this.socket = null;
    this.listener.onStatus(code === 1008 ? "refused" : "lost", explain(code));
    setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }

  /** Number of a new event, which the first frame that has seen it carries. */
  next(): number {
    this.sequence += 1;
    return this.sequence;
  }

  send(message: ArrayBuffer): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(message);
  }
}

/** What a close code of the server means, for a person. */
export function explain(code: number): string {
  const known: Record<number, string> = {
    1007: "the server did not understand this page; load it again",
    1008: "the server refuses this page: its address needs the token that the server printed",
    1009: "the page sent too much at once",
    1013: "as many pages as the server has room for look at it already; close one",
    4008: "the page sent too many messages",
    4011: "the simulation has ended",
  };
  return known[code] ?? "the server does not answer";
}

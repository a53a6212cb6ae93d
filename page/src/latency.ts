// How long it takes from an event of a hand to the picture that shows what came of it, and where that time goes.

import type { Frame } from "./generated/protocol";

const KEPT = 256; // answers
const MOST_WAITING = 1024; // events whose picture has not come

/** Milliseconds between an event and the end of its picture, and what they are made of. */
export interface Answer {
  total: number;
  /** From the device to the page. */
  input: number;
  /** To the simulation and back: sockets, pipes and whoever waits for a processor on the way. */
  way: number;
  /** In the simulation, from where the event was taken up to where its frame was sent. */
  simulation: number;
  /** Until the picture before is finished. */
  wait: number;
  /** Carrying, shading and drawing. */
  picture: number;
}

interface Event {
  happened: number;
  sent: number;
  arrived: number;
  begun: number;
  simulation: number;
}

export class Latency {
  /** The newest answers, oldest first. */
  readonly answers: Answer[] = [];
  private readonly waiting = new Map<number, Event>();

  /** An event was sent at `now` [ms] that happened before. */
  sent(sequence: number, happened: number, now: number): void {
    if (this.waiting.size >= MOST_WAITING) this.waiting.clear(); // the server does not answer
    this.waiting.set(sequence, { happened: Math.min(happened, now), sent: now, arrived: 0, begun: 0, simulation: 0 });
  }

  /** A frame has come. */
  arrived(frame: Pick<Frame, "sequence" | "answered">, now: number): void {
    this.upTo(frame.sequence, (event) => {
      if (event.arrived) return;
      event.arrived = now;
      event.simulation = Math.min(frame.answered, now - event.sent);
    });
  }

  /** A picture is begun that shows all events up to a number. */
  begun(sequence: number, now: number): void {
    this.upTo(sequence, (event) => (event.begun ||= now));
  }

  /** The picture that was begun last is finished. */
  finished(now: number): void {
    for (const [sequence, event] of this.waiting) {
      if (!event.begun) continue;
      this.waiting.delete(sequence);
      this.answers.push({
        total: now - event.happened,
        input: event.sent - event.happened,
        way: event.arrived - event.sent - event.simulation,
        simulation: event.simulation,
        wait: event.begun - event.arrived,
        picture: now - event.begun,
      });
    }
    this.answers.splice(0, this.answers.length - KEPT);
  }

  private upTo(sequence: number, act: (event: Event) => void): void {
    for (const [own, event] of this.waiting) if (own <= sequence) act(event);
  }
}

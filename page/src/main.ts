// The page: messages of the server in, pictures out.

import { Connection } from "./connection";
import { writeChoose, writeCommand, writeSave, writeSlide, type FromServer } from "./generated/protocol";
import { Hands } from "./hands";
import { Panel, type State } from "./panel";
import { Stage } from "./stage";

const FRAME_SAMPLES = 256; // latencies that are kept
const MOST_WAITING = 1024; // events whose picture has not come

const canvas = document.querySelector("canvas") as HTMLCanvasElement;
const stage = new Stage(canvas);
const sent = new Map<number, number>();
const latencies: number[] = [];

const panel = new Panel(document.querySelector("aside") as HTMLElement, {
  slide: (name, value) => connection.send(writeSlide({ name, value, sequence: event() })),
  choose: (name, value) => connection.send(writeChoose({ name, value, sequence: event() })),
  command: (action) => connection.send(writeCommand({ action })),
  save: (kind, name) => {
    const [eye, target] = [stage.camera.position.toArray(), stage.orbit.target.toArray()];
    connection.send(writeSave({ kind, name, eye, target, fov: stage.camera.fov }));
  },
  tool: (tool) => {
    if (typeof hands !== "undefined") hands.tool = tool;
  },
  view: (view) => stage.show(view),
  handles: (handles) => stage.gizmo.set(handles),
  drawn: (share) => stage.drawShare(share),
});

function note(sequence: number): void {
  if (sent.size >= MOST_WAITING) sent.clear(); // the server does not answer
  sent.set(sequence, performance.now());
}

function event(): number {
  const sequence = connection.next();
  note(sequence);
  return sequence;
}

function onMessage(message: FromServer): void {
  if (message.kind === "state") {
    const state = JSON.parse(message.json) as State;
    panel.take(state);
    stage.takeState(state);
    hands.pivot.fromArray(state.pivot);
  } else if (message.kind === "metrics") {
    const page = Object.fromEntries(Object.entries(stage.milliseconds).map(([name, value]) => [`page: ${name} [ms]`, Number(value.toFixed(1))]));
    panel.measure({ ...(JSON.parse(message.json) as Record<string, number>), ...page, "latency [ms]": Math.round(latencies.at(-1) ?? 0) });
  } else if (message.kind === "notice") {
    panel.tell(message.text, message.is_error === 1);
  } else {
    if (message.kind === "frame") hands.guides = message.points;
    stage.take(message);
  }
}

const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
const connection: Connection = new Connection(`ws://${location.host}/socket`, token, {
  onMessage,
  onStatus: (status, why) => panel.connected(status, why),
});
const hands = new Hands(canvas, stage, connection);
hands.onEvent = note;

function loop(): void {
  requestAnimationFrame(loop);
  hands.follows();
  const shown = stage.render();
  if (shown === null) return;
  for (const [sequence, at] of sent) {
    if (sequence > shown) continue;
    latencies.push(performance.now() - at);
    if (latencies.length > FRAME_SAMPLES) latencies.shift();
    sent.delete(sequence);
  }
}
loop();

// For tests and for people who look under the hood.
Object.assign(window, {
  salon: {
    stage,
    hands,
    latencies,
    received: () => connection.received,
    points: (side: number, texture = 0) => stage.readPoints(side, texture),
    depths: (side: number) => stage.readDepths(side),
    milliseconds: () => stage.milliseconds,
  },
});

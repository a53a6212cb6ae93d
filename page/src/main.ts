// The page: messages of the server in, pictures out.

import { choose, reload } from "./choose";
import { Connection } from "./connection";
import { writeChoose, writeCommand, writeSave, writeSlide, type FromServer } from "./generated/protocol";
import { Hands } from "./hands";
import { Latency } from "./latency";
import { Panel, type State } from "./panel";
import { Stage } from "./stage";

const LOOK_AGAIN = 3; // [ms] until a picture that is not finished is asked for again
const IDLE = 40; // [ms] between looks whether the camera has moved
const EARLIEST = 0.7; // of what the picture before took, before that nobody asks

const canvas = document.querySelector("canvas") as HTMLCanvasElement;
const { backend, note } = await choose(canvas);
const stage = new Stage(canvas, backend);
const latency = new Latency();
stage.onFinished = () => latency.finished(performance.now());

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
  graphics: reload,
  fit: () => stage.fit(),
});
panel.drawnBy(backend.name);
if (note) panel.tell(note, false);

function event(): number {
  const sequence = connection.next();
  latency.sent(sequence, performance.now(), performance.now());
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
    panel.measure({ ...(JSON.parse(message.json) as Record<string, number>), ...page, "latency [ms]": Math.round(latency.answers.at(-1)?.total ?? 0) });
  } else if (message.kind === "notice") {
    panel.tell(message.text, message.is_error === 1);
  } else {
    stage.take(message);
    if (message.kind !== "frame") return;
    hands.guides = message.points;
    latency.arrived(message, performance.now());
    if (stage.isSoftware) draw(); // a picture takes longer than the display's frames: it begins as early as it can
  }
}

const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
const connection: Connection = new Connection(`ws://${location.host}/socket`, token, {
  onMessage,
  onStatus: (status, why) => panel.connected(status, why),
});
const hands = new Hands(canvas, stage, connection);
hands.onEvent = (sequence, happened) => latency.sent(sequence, happened, performance.now());

function draw(): void {
  hands.follows();
  const shown = stage.render();
  if (shown === null) return;
  latency.begun(shown, stage.begun);
  setTimeout(lookAgain, Math.max(LOOK_AGAIN, EARLIEST * (stage.milliseconds.frame ?? 0)));
}

/** Go on as soon as a picture is finished, not at the next frame of the display. */
function lookAgain(): void {
  if (!stage.isDone()) setTimeout(lookAgain, LOOK_AGAIN);
  else if (stage.isSoftware) draw();
}

/** A processor that draws begins pictures when there is something new, and has no time for every frame of the display. */
function loop(): void {
  if (stage.isSoftware) setTimeout(loop, IDLE);
  else requestAnimationFrame(loop);
  draw();
}
loop();

// For tests and for people who look under the hood.
Object.assign(window, {
  salon: {
    stage,
    hands,
    answers: latency.answers,
    received: () => connection.received,
    points: (side: number, texture = 0) => stage.readPoints(side, texture),
    masks: (side: number) => Array.from(stage.backend.masks(side)),
    depths: (side: number) => stage.readDepths(side),
    milliseconds: () => stage.milliseconds,
  },
});

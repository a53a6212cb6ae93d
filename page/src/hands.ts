// What mouse, touch and keys do: props are dragged, the head is turned, locks are pulled, air is blown, water is poured, the
// camera moves.

import * as THREE from "three";
import type { OrbitControls } from "three/addons/controls/OrbitControls.js";
import type { Connection } from "./connection";
import { writeBlow, writeGrab, writeMove, writePour, writeTurn } from "./generated/protocol";
import type { Gizmo } from "./gizmo";
import type { Solids } from "./solids";
import type { Stage } from "./stage";

export const TOOLS = ["hand", "grab", "blow", "pour"] as const;
export type Tool = (typeof TOOLS)[number];
const DEPTH_STEP = 0.00025; // [m] per unit of the wheel
const TURN_STEP = 0.12; // [rad] per key
const TURN_SPEED = 6; // [rad] per height of the window, of a head that is dragged
const BREATH = 8; // [m/s]
const BREATH_DISTANCE = 0.35; // [m] in front of what the camera looks at
const STREAM = 1; // [m/s]
const MOUTH_DISTANCE = 0.09; // [m] in front of what is pointed at
const REACH = 0.03; // [m] between pointer and a guide that can be grabbed
// Where a browser has the first, a mouse is followed at once and not with the next frame of the display. The second tells
// of fingers, and where the last movement before a button is let go has ended.
const MOVED = ["pointerrawupdate", "pointermove"] as const;
const TURN_KEYS: Record<string, [number, number, number]> = {
  q: [0, 0, 1], e: [0, 0, -1], w: [1, 0, 0], s: [-1, 0, 0], a: [0, 1, 0], d: [0, -1, 0],
}; // prettier-ignore

interface Drag {
  kind: "prop" | "head" | "lock" | "breath" | "stream";
  number: number;
  plane: THREE.Plane;
  offset: THREE.Vector3;
  start: THREE.Vector2;
  taken: THREE.Vector3;
}

export class Hands {
  tool: Tool = "hand";
  /** Prop that was touched last, which keys turn. */
  held: number | null = null;
  pivot = new THREE.Vector3();
  /** Guides of the newest frame, (G, U, 3) [m]. */
  guides: Float32Array = new Float32Array(0);
  /** Called with the number of every event that is sent, and when it happened [ms]. */
  onEvent: (sequence: number, happened: number) => void = () => {};
  private happened = 0;
  private drag: Drag | null = null;
  private readonly headBefore = new THREE.Quaternion();
  private readonly pose = { position: new THREE.Vector3(), rotation: new THREE.Quaternion() };
  private readonly ray = new THREE.Raycaster();
  private readonly camera: THREE.PerspectiveCamera;
  private readonly orbit: OrbitControls;
  private readonly solids: Solids;
  private readonly gizmo: Gizmo;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly stage: Stage,
    private readonly connection: Connection,
  ) {
    ({ camera: this.camera, orbit: this.orbit, solids: this.solids, gizmo: this.gizmo } = stage);
    this.gizmo.onPose = (position, rotation) => {
      this.happened = performance.now();
      this.pose.position.copy(position);
      this.pose.rotation.copy(rotation);
      this.sendPose();
    };
    canvas.addEventListener("pointerdown", (event) => this.down(event), { capture: true });
    for (const name of MOVED) canvas.addEventListener(name, (event) => this.move(event as PointerEvent));
    for (const name of ["pointerup", "pointercancel"] as const) canvas.addEventListener(name, () => this.up());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { capture: true, passive: false });
    window.addEventListener("keydown", (event) => this.key(event));
  }

  private aim(event: PointerEvent): THREE.Vector2 {
    this.happened = event.timeStamp;
    const box = this.canvas.getBoundingClientRect();
    const at = new THREE.Vector2((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    const x = (at.x * this.stage.columns) % 1; // each side of a split view is a picture of its own
    this.ray.setFromCamera(new THREE.Vector2(2 * x - 1, 1 - 2 * at.y), this.camera);
    return at;
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0 || !event.isPrimary) return;
    const start = this.aim(event);
    if (this.stage.columns === 1 && this.gizmo.hit(2 * start.x - 1, 1 - 2 * start.y)) {
      this.orbit.enabled = false;
      return;
    }
    this.drag = this.begun(start);
    if (!this.drag) return;
    this.orbit.enabled = false;
    this.canvas.setPointerCapture(event.pointerId);
    if (this.drag.kind === "breath" || this.drag.kind === "stream") this.follow(start);
    if (this.drag.kind === "lock") this.pull(this.drag.taken);
  }

  private begun(start: THREE.Vector2): Drag | null {
    const facing = this.camera.getWorldDirection(new THREE.Vector3());
    const drag = (kind: Drag["kind"], number: number, taken: THREE.Vector3, offset: THREE.Vector3): Drag => ({
      kind, number, taken, offset, start, plane: new THREE.Plane().setFromNormalAndCoplanarPoint(facing, taken),
    }); // prettier-ignore
    if (this.tool === "blow") return drag("breath", 0, this.orbit.target.clone(), new THREE.Vector3());
    if (this.tool === "pour") return drag("stream", 0, this.orbit.target.clone(), new THREE.Vector3());
    if (this.tool === "grab") {
      const taken = this.nearestGuide();
      return taken && drag("lock", 0, taken, new THREE.Vector3());
    }
    const hit = this.solids.hit(this.ray);
    if (!hit) return null;
    if (!hit.isProp) {
      this.headBefore.fromArray(this.stage.shownFrame?.head ?? [0, 0, 0, 0, 0, 0, 1], 3); // whoever turned it there
      return drag("head", hit.number, hit.point, new THREE.Vector3());
    }
    this.take(hit.number);
    return drag("prop", hit.number, hit.point, this.pose.position.clone().sub(hit.point));
  }

  /** Take a prop in hand. */
  take(number: number): void {
    const pose = this.solids.pose(number);
    if (!pose) return;
    this.held = number;
    this.pose.position.copy(pose.position);
    this.pose.rotation.copy(pose.rotation);
    this.solids.mark(number);
    this.gizmo.attach(number);
    this.gizmo.place(pose.position, pose.rotation);
  }

  /** Let handles go along with what is held. */
  follows(): void {
    const pose = this.held === null ? null : this.solids.pose(this.held);
    if (pose) this.gizmo.place(pose.position, pose.rotation);
  }

  private nearestGuide(): THREE.Vector3 | null {
    let best = REACH;
    let found: THREE.Vector3 | null = null;
    const point = new THREE.Vector3();
    let depth = Infinity;
    for (let i = 0; i + 2 < this.guides.length; i += 3) {
      point.fromArray(this.guides, i);
      const away = this.ray.ray.distanceToPoint(point);
      const far = point.distanceTo(this.camera.position);
      // Of guides that are about as near to the pointer, the one in front is meant.
      if (away < REACH && (away < 0.5 * best || far < depth)) {
        best = Math.min(best, away);
        depth = far;
        found = point.clone();
      }
    }
    return found;
  }

  private move(event: PointerEvent): void {
    if (!this.drag || !event.isPrimary) return;
    this.follow(this.aim(event));
  }

  private follow(at: THREE.Vector2): void {
    const drag = this.drag;
    if (!drag) return;
    if (drag.kind === "head") return this.turnHead(at.clone().sub(drag.start));
    const point = this.ray.ray.intersectPlane(drag.plane, new THREE.Vector3());
    if (!point) return;
    if (drag.kind === "prop") {
      this.pose.position.copy(point).add(drag.offset);
      this.sendPose();
    } else if (drag.kind === "lock") {
      this.pull(point);
    } else if (drag.kind === "stream") {
      this.pour(point);
    } else {
      const along = this.ray.ray.direction.clone();
      const origin = point.addScaledVector(along, -BREATH_DISTANCE);
      this.blow(origin, along.multiplyScalar(BREATH));
    }
  }

  private turnHead(way: THREE.Vector2): void {
    const right = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 0);
    const turn = new THREE.Quaternion().setFromAxisAngle(new THREE.Vector3(0, 1, 0), TURN_SPEED * way.x);
    turn.multiply(new THREE.Quaternion().setFromAxisAngle(right, TURN_SPEED * way.y));
    const rotation = turn.multiply(this.headBefore).toArray();
    this.connection.send(writeTurn({ position: [0, 0, 0], rotation, sequence: this.event() }));
  }

  private event(): number {
    const sequence = this.connection.next();
    this.onEvent(sequence, this.happened);
    return sequence;
  }

  private sendPose(): void {
    if (this.held === null) return;
    const [position, rotation] = [this.pose.position.toArray(), this.pose.rotation.toArray()];
    this.connection.send(writeMove({ number: this.held, position, rotation, sequence: this.event() }));
  }

  private pull(target: THREE.Vector3): void {
    const point = this.drag?.taken ?? target;
    const message = { is_held: 1, point: point.toArray(), target: target.toArray(), sequence: this.event() };
    this.connection.send(writeGrab(message));
  }

  private blow(origin: THREE.Vector3, velocity: THREE.Vector3): void {
    this.connection.send(writeBlow({ origin: origin.toArray(), velocity: velocity.toArray(), sequence: this.event() }));
  }

  /** Pour at what the pointer is at: from in front of it, along the line of sight; beside the head, straight down. */
  private pour(point: THREE.Vector3): void {
    const hit = this.solids.hit(this.ray);
    const along = hit ? this.ray.ray.direction.clone() : new THREE.Vector3(0, -1, 0);
    const origin = hit ? hit.point.addScaledVector(along, -MOUTH_DISTANCE) : point;
    this.sendPour(origin, along.multiplyScalar(STREAM));
  }

  private sendPour(origin: THREE.Vector3, velocity: THREE.Vector3): void {
    this.connection.send(writePour({ origin: origin.toArray(), velocity: velocity.toArray(), sequence: this.event() }));
  }

  private up(): void {
    this.happened = performance.now();
    if (this.drag?.kind === "lock") {
      const nowhere = [0, 0, 0];
      this.connection.send(writeGrab({ is_held: 0, point: nowhere, target: nowhere, sequence: this.event() }));
    }
    if (this.drag?.kind === "stream") this.sendPour(new THREE.Vector3(), new THREE.Vector3());
    if (this.drag?.kind === "breath") this.blow(new THREE.Vector3(), new THREE.Vector3());
    this.drag = null;
    this.orbit.enabled = true;
  }

  private wheel(event: WheelEvent): void {
    if (this.drag?.kind !== "prop") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.happened = event.timeStamp;
    const along = this.camera.getWorldDirection(new THREE.Vector3());
    this.pose.position.addScaledVector(along, -DEPTH_STEP * event.deltaY);
    this.drag.plane.constant += DEPTH_STEP * event.deltaY;
    this.sendPose();
  }

  private key(event: KeyboardEvent): void {
    const axis = TURN_KEYS[event.key.toLowerCase()];
    const isTyped = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (!axis || this.held === null || isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
    const turn = new THREE.Quaternion().setFromAxisAngle(new THREE.Vector3(...axis), TURN_STEP);
    this.pose.rotation.multiply(turn);
    this.happened = event.timeStamp;
    this.sendPose();
  }
}

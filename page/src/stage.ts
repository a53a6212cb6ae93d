// Everything that is seen: hair, solids, camera, one or two sides; and when a picture is drawn, and of how many hairs.

import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import type { Backend, View } from "./backend";
import type { Frame, FromServer } from "./generated/protocol";
import { Gizmo } from "./gizmo";
import { boundsOf, distanceTo } from "./framing";
import type { State } from "./panel";
import { Solids } from "./solids";
import { thinned } from "./thinned";

const FOV = 30; // [degrees]
const FACING = new THREE.Vector3(-0.34, -0.14, -0.98); // of the camera at first: a little from above and from the left of a face
const CLIPPED = { near: 0.02, far: 20 }; // of the distance that shows everything
const SLOW = { card: 40, software: 45 }; // [ms] a page that takes longer for a picture draws fewer hairs
const FEWEST = { card: 1500, software: 500 }; // hairs that are drawn however slow it is
const RATIO = 0.5; // pixels of the picture per pixel of the page while things move, where the processor draws
const FULL = { card: 1, software: 0.5 }; // share of all hairs that is drawn where there is time
const CALM = 400; // [ms] after which a picture of which nothing changes is drawn in full

interface Side {
  skin: string;
}

export class Stage {
  readonly camera = new THREE.PerspectiveCamera(FOV, 1, 0.02, 20);
  readonly orbit: OrbitControls;
  readonly solids: Solids;
  readonly gizmo: Gizmo;
  readonly milliseconds: Record<string, number>;
  readonly isSoftware: boolean;
  /** Frames that have arrived. */
  frameCount = 0;
  /** Pictures that were drawn. */
  pictures = 0;
  /** Hairs that were drawn in the last picture. */
  drawn = 0;
  /** Views side by side in the last picture, which is what is pointed at: the camera has their shape until the next one. */
  columns = 1;
  /** Whether every stage is waited for, so that its time is its own; pictures then take longer. */
  isTimed = false;
  /** When the newest picture was begun [ms]. */
  begun = 0;
  /** Called when a picture is finished. */
  onFinished: () => void = () => {};
  private readonly sides: Side[] = [{ skin: "" }, { skin: "" }];
  private sideCount = 1;
  private frame: Frame | null = null;
  private isNew = false;
  private view: View = "hair";
  private share = 1;
  private quality = 1;
  private readonly speed: "card" | "software";
  private isFull = false;
  private isPending = false; // a picture is begun and not finished
  private changed = 0;
  private ratioBefore = 0;
  private isFramed = false;
  private vertices = 0; // of a hair, as the server has it
  private readonly restBounds = new THREE.Box3();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    readonly backend: Backend,
  ) {
    ({ milliseconds: this.milliseconds, isSoftware: this.isSoftware } = backend);
    this.speed = this.isSoftware ? "software" : "card";
    this.quality = FULL[this.speed];
    this.orbit = new OrbitControls(this.camera, canvas);
    this.orbit.addEventListener("change", () => (this.isNew = true));
    this.solids = new Solids(backend.solidUniforms, this.isSoftware);
    this.gizmo = new Gizmo(this.camera, canvas);
    this.gizmo.onChange = () => (this.isNew = true);
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement as HTMLElement);
    this.resize();
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement as HTMLElement;
    this.backend.resize(clientWidth, clientHeight, this.ratio);
    this.ratioBefore = this.ratio;
    this.isNew = true;
  }

  /** Pixels of the picture per pixel of the page. */
  private get ratio(): number {
    if (this.isSoftware) return this.isFull ? 1 : RATIO;
    return Math.min(window.devicePixelRatio, 2);
  }

  show(view: View): void {
    this.view = view;
    this.isNew = true;
  }

  drawShare(share: number): void {
    this.share = share;
    this.isNew = true;
  }

  takeState(state: State): void {
    this.sideCount = Math.max(1, state.sides.length);
    state.sides.forEach((side, index) => (this.sides[index].skin = side.skin));
    this.solids.keepFirst(state.solids);
    this.backend.keepFirst(state.solids);
    this.isNew = true;
  }

  take(sent: FromServer): void {
    if (sent.kind === "hair") this.vertices = sent.vertices;
    const message = this.isSoftware ? thinned(sent, this.vertices) : sent;
    this.backend.take(message);
    if (message.kind === "hair") {
      this.frame = null;
      this.restBounds.copy(boundsOf(message.rest)).translate(new THREE.Vector3(...message.pivot));
    }
    if (message.kind === "solid") this.solids.take(message);
    if (message.kind === "frame") {
      this.frame = message;
      this.frameCount += 1;
      if (!this.isFramed) this.fit();
      this.isFramed = true;
    }
    this.isNew = true;
  }

  /** Let the camera see all hair and what it grows on, from where it looks at first; things in hand may lie outside. */
  fit(): void {
    if (!this.frame) return;
    this.solids.place(this.frame.solids);
    const [place, turn] = [new THREE.Vector3().fromArray(this.frame.head), new THREE.Quaternion().fromArray(this.frame.head, 3)];
    const head = new THREE.Matrix4().compose(place, turn, new THREE.Vector3(1, 1, 1));
    const hair = this.restBounds.clone().applyMatrix4(head);
    const bounds = boundsOf(this.frame.points).union(hair).union(this.solids.bodyBounds());
    const aspect = this.canvas.clientWidth / this.canvas.clientHeight / this.backend.columns(this.sideCount);
    const distance = distanceTo(bounds, FACING, FOV, aspect || 1);
    bounds.getCenter(this.orbit.target);
    this.camera.position.copy(this.orbit.target).addScaledVector(FACING, -distance / FACING.length());
    [this.camera.near, this.camera.far] = [CLIPPED.near * distance, CLIPPED.far * distance];
    this.orbit.update();
    this.isNew = true;
  }

  /** Whether the last picture is finished; until then no other is begun, so that none wait in line. */
  isDone(): boolean {
    if (!this.backend.isDone()) return false;
    if (!this.isPending) return true;
    this.isPending = false;
    this.finish(performance.now() - this.begun);
    this.onFinished();
    return true;
  }

  /** Draw if there is anything new; returns the number of the newest event that the picture shows, or null. */
  render(): number | null {
    this.orbit.update();
    if (!this.isDone()) return null;
    if (!this.frame || !this.backend.isReady) return null;
    const now = performance.now();
    if (this.isNew) this.changed = now;
    const isPoor = this.quality < FULL[this.speed] || this.isSoftware;
    const isCalm = !this.isNew && !this.isFull && isPoor && now - this.changed > CALM;
    if (!this.isNew && !isCalm) return null;
    this.begun = now;
    this.isFull = isCalm;
    if (this.ratioBefore !== this.ratio) this.resize();
    this.isNew = false;
    this.solids.place(this.frame.solids);
    const quality = this.isFull ? FULL[this.speed] : inSteps(this.quality);
    this.columns = this.backend.columns(this.sideCount);
    this.gizmo.enable(this.columns === 1);
    this.drawn = this.backend.draw({
      frame: this.frame,
      camera: this.camera,
      distance: this.distance,
      view: this.view,
      solids: this.solids,
      handles: this.columns === 1 ? this.gizmo.scene : null,
      sides: this.sideCount,
      share: this.share * quality * this.detail(),
      fewest: FEWEST[this.speed],
      number: this.pictures,
      isRough: this.isSoftware && !this.isFull,
      isTimed: this.isTimed,
    });
    this.isPending = true;
    this.pictures += 1;
    return this.frame.sequence;
  }

  private get distance(): number {
    return this.camera.position.distanceTo(this.orbit.target);
  }

  /** Share of the hairs that is worth drawing at this distance: where hairs are finer than pixels, wider ones do. */
  private detail(): number {
    return Math.min(1, Math.max(0.1, 1.6 / this.distance));
  }

  /** Draw fewer hairs where pictures take long, and more where they do not. */
  private finish(milliseconds: number): void {
    this.milliseconds.frame = milliseconds;
    if (this.isFull || this.isTimed) return;
    const [slow, full] = [SLOW[this.speed], FULL[this.speed]];
    if (milliseconds > slow) this.quality = Math.max(0.005, Math.max(slow / milliseconds, 0.5) * this.quality);
    else if (milliseconds < 0.4 * slow) this.quality = Math.min(full, 1.05 * this.quality);
  }

  /** Points of all hairs of a side as the graphics card has them, (S, V, 3) [m]; or what else its carrier computes. */
  readPoints(side: number, texture = 0): number[] | Promise<number[]> {
    return this.frame ? this.backend.readPoints(side, this.frame, texture) : [];
  }

  /** How much deeper than groomed each vertex of a side is inside of solids before it is pushed out [mm], (S, V). */
  readDepths(side: number): number[] | Promise<number[]> {
    return this.frame ? this.backend.readDepths(side, this.frame) : [];
  }

  /** Frame that is shown. */
  get shownFrame(): Frame | null {
    return this.frame;
  }
}

/** A share in steps of a quarter, so that the hairs that are drawn are mostly those of the picture before. */
function inSteps(share: number): number {
  return 1.25 ** Math.floor(Math.log(share) / Math.log(1.25) + 1e-9);
}

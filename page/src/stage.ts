// Everything that is seen: hair, solids, camera, one or two sides.

import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { AdaptiveCarrier, HairTextures, LinearCarrier, PointsCarrier, type Carrier } from "./carry";
import type { Frame, FromServer, Hair, Look } from "./generated/protocol";
import { Gizmo } from "./gizmo";
import { FINE, HairPass, ROUGH, type View } from "./hair";
import { KEY } from "./light";
import type { State } from "./panel";
import { ShadowMap } from "./shadow";
import { Solids } from "./solids";
import { Fields } from "./push_out";
import { WIDTH } from "./texels";
import { thinned } from "./thinned";

const FOV = 30; // [degrees]
const MARGIN = 1.35; // of the ball around the hair that the light sees
const SLOW = { card: 40, software: 45 }; // [ms] a page that takes longer for a picture draws fewer hairs
const FEWEST = { card: 1500, software: 500 }; // hairs that are drawn however slow it is
const RATIO = 0.5; // pixels of the picture per pixel of the page while things move, where the processor draws
const PARTS = 2; // likewise, pictures in which all hairs are shaded once
const SHADOWS = 3; // likewise, pictures that a shadow map serves
const FULL = { card: 1, software: 0.5 }; // share of all hairs that is drawn where there is time
const CALM = 400; // [ms] after which a picture of which nothing changes is drawn in full
const BACKGROUND = 0x20242b;

interface Side {
  carrier: Carrier | null;
  skin: string;
}

/** Whether pixels are computed by the processor. */
export function isSoftware(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  const info = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = gl && info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}

export class Stage {
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(FOV, 1, 0.02, 20);
  readonly orbit: OrbitControls;
  readonly solids: Solids;
  readonly gizmo: Gizmo;
  readonly milliseconds: Record<string, number> = {};
  readonly isSoftware: boolean;
  /** Frames that have arrived. */
  frameCount = 0;
  /** Pictures that were drawn. */
  pictures = 0;
  /** Hairs that were drawn in the last picture. */
  drawn = 0;
  /** Whether every stage is waited for, so that its time is its own; pictures then take longer. */
  isTimed = false;
  /** When the newest picture was begun [ms]. */
  begun = 0;
  /** Called when a picture is finished. */
  onFinished: () => void = () => {};
  private readonly shadow: ShadowMap;
  private readonly fields = new Fields();
  private readonly sides: Side[] = [{ carrier: null, skin: "" }, { carrier: null, skin: "" }];
  private sideCount = 1;
  private hair: HairTextures | null = null;
  private look: Look | null = null;
  private pass: HairPass | null = null;
  private frame: Frame | null = null;
  private isNew = false;
  private view: View = "hair";
  private share = 1;
  private quality = 1;
  private readonly speed: "card" | "software";
  private isFull = false;
  private changed = 0;
  private radius = 0.3;
  private isFramed = false;
  private fence: WebGLSync | null = null;
  private vertices = 0; // of a hair, as the server has it

  constructor(private readonly canvas: HTMLCanvasElement) {
    // A processor that draws has no time for four samples per pixel; `#fine` takes it anyway, for a picture.
    this.isSoftware = isSoftware() && !location.hash.includes("fine");
    const antialias = !this.isSoftware;
    // Asked for here, since three's own context is one that the browser must blend with the page.
    const attributes: WebGLContextAttributes = { antialias, alpha: false, powerPreference: "high-performance" };
    const context = (canvas.getContext("webgl2", attributes) as WebGL2RenderingContext | null) ?? undefined;
    this.renderer = new THREE.WebGLRenderer({ canvas, context, antialias, alpha: false });
    THREE.ColorManagement.enabled = false;
    this.renderer.autoClear = false;
    this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace; // shaders develop by themselves
    this.renderer.setClearColor(BACKGROUND, 1);
    this.speed = this.isSoftware ? "software" : "card";
    this.quality = FULL[this.speed];
    this.orbit = new OrbitControls(this.camera, canvas);
    this.orbit.addEventListener("change", () => (this.isNew = true));
    this.shadow = new ShadowMap(this.isSoftware);
    this.solids = new Solids(this.shadow, this.isSoftware);
    this.gizmo = new Gizmo(this.camera, canvas);
    this.gizmo.onChange = () => (this.isNew = true);
    this.camera.position.set(0.34, 0.14, 0.98);
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement as HTMLElement);
    this.resize();
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement as HTMLElement;
    this.renderer.setPixelRatio(this.ratio);
    this.renderer.setSize(clientWidth, clientHeight);
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
    this.fields.keepFirst(state.solids);
    this.isNew = true;
  }

  take(sent: FromServer): void {
    if (sent.kind === "hair") this.vertices = sent.vertices;
    const message = this.isSoftware ? thinned(sent, this.vertices) : sent;
    if (message.kind === "hair") this.takeHair(message);
    if (message.kind === "look") {
      this.look = message;
      this.pass?.take(message);
    }
    if (message.kind === "solid") {
      this.solids.take(message);
      this.fields.remove(message.number);
    }
    if (message.kind === "field") this.fields.take(message);
    if (message.kind === "linear" && this.hair) this.carryBy(message.side, new LinearCarrier(this.hair, message));
    if (message.kind === "adaptive" && this.hair) this.carryBy(message.side, new AdaptiveCarrier(this.hair, message));
    if (message.kind === "sets") {
      const { carrier } = this.sides[message.side];
      if (carrier instanceof AdaptiveCarrier) carrier.take(message);
    }
    if (message.kind === "points" && this.hair) {
      const { carrier } = this.sides[message.side];
      const own = carrier instanceof PointsCarrier ? carrier : new PointsCarrier(this.hair);
      if (own !== carrier) this.carryBy(message.side, own);
      own.take(message);
    }
    if (message.kind === "frame") {
      this.frame = message;
      this.frameCount += 1;
    }
    this.isNew = true;
  }

  private takeHair(hair: Hair): void {
    this.hair?.dispose();
    this.pass?.dispose();
    this.sides.forEach((side) => {
      side.carrier?.dispose();
      side.carrier = null;
    });
    this.frame = null;
    this.hair = new HairTextures(hair);
    this.fields.resize(this.hair.count);
    this.radius = radiusOf(hair.rest) * MARGIN;
    const detail = this.isSoftware ? ROUGH : FINE;
    this.pass = new HairPass(hair.strands, hair.vertices, hair.width, this.shadow, detail);
    if (!this.isFramed) {
      this.orbit.target.fromArray(hair.pivot).y -= 0.03;
      this.isFramed = true;
    }
  }

  private carryBy(side: number, carrier: Carrier): void {
    this.sides[side].carrier?.dispose();
    this.sides[side].carrier = carrier;
  }

  /** Whether the last picture is finished; until then no other is begun, so that none wait in line. */
  isDone(): boolean {
    if (!this.fence) return true;
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    if (gl.clientWaitSync(this.fence, 0, 0) === gl.TIMEOUT_EXPIRED) return false;
    gl.deleteSync(this.fence);
    this.fence = null;
    this.finish(performance.now() - this.begun);
    this.onFinished();
    return true;
  }

  /** Draw if there is anything new; returns the number of the newest event that the picture shows, or null. */
  render(): number | null {
    this.orbit.update();
    if (!this.isDone()) return null;
    if (!this.frame || !this.hair || !this.pass || !this.look) return null;
    const now = performance.now();
    if (this.isNew) this.changed = now;
    const isPoor = this.quality < FULL[this.speed] || this.isSoftware;
    const isCalm = !this.isNew && !this.isFull && isPoor && now - this.changed > CALM;
    if (!this.isNew && !isCalm) return null;
    if (!this.pass.isReady) this.pass.take(this.look);
    this.begun = now;
    this.isNew = false;
    this.isFull = isCalm;
    if (this.renderer.getPixelRatio() !== this.ratio) this.renderer.setPixelRatio(this.ratio);
    const { frame } = this;
    this.solids.place(frame.solids);
    this.renderer.setRenderTarget(null);
    const size = this.renderer.getDrawingBufferSize(new THREE.Vector2());
    this.renderer.setScissorTest(false);
    this.renderer.setViewport(0, 0, size.x, size.y);
    this.renderer.clear();
    const sides = this.sides.slice(0, this.sideCount).filter((side) => side.carrier);
    sides.forEach((side, index) => this.renderSide(side.carrier as Carrier, frame, index, sides.length, size));
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    this.fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    this.pictures += 1;
    return frame.sequence;
  }

  private renderSide(carrier: Carrier, frame: Frame, index: number, count: number, size: THREE.Vector2): void {
    const hair = this.hair as HairTextures;
    const pass = this.pass as HairPass;
    const { vertices, strands, width } = hair.hair;
    const clock = (name: string, from: number) => {
      if (this.isTimed) this.settle();
      this.milliseconds[name] = performance.now() - from;
    };
    const quality = this.isFull ? FULL[this.speed] : inSteps(this.quality);
    const least = FEWEST[this.speed];
    const drawn = Math.min(carrier.strands, Math.max(least, Math.round(this.share * quality * this.detail() * strands)));
    let from = performance.now();
    carrier.carry(this.renderer, frame, drawn);
    const carried = carrier.target.textures[0];
    clock("carry", from);
    from = performance.now();
    const measures = this.view === "penetration" && this.fields.any;
    const isDone = carrier.isFinished && !measures;
    const points = isDone ? carried : this.fields.push(this.renderer, hair, carried, drawn, frame, !carrier.isFinished, measures);
    clock("push out", from);
    from = performance.now();
    const center = new THREE.Vector3().fromArray(frame.head);
    const turn = new THREE.Quaternion().fromArray(frame.head, 3);
    center.add(new THREE.Vector3().fromArray(hair.hair.pivot).applyQuaternion(turn));
    this.shadow.aim(KEY, center, this.radius);
    const isRough = this.isSoftware && !this.isFull && count === 1;
    const casters = this.isSoftware ? null : this.solids.scene;
    if (!isRough || this.pictures % SHADOWS === 0) {
      this.shadow.draw(this.renderer, points, drawn, vertices, strands, width, casters);
    }
    clock("shadow", from);
    const viewport = new THREE.Vector2(Math.floor(size.x / count), size.y);
    this.camera.aspect = viewport.x / viewport.y;
    this.camera.updateProjectionMatrix();
    this.camera.updateMatrixWorld();
    from = performance.now();
    const view = this.view === "penetration" && !measures ? "hair" : this.view;
    pass.light(this.renderer, points, carrier.target.textures[1] ?? points, drawn, this.camera, view, isRough ? PARTS : 1);
    clock("shade", from);
    from = performance.now();
    this.renderer.setRenderTarget(null);
    const ratio = this.renderer.getPixelRatio();
    this.renderer.setViewport((index * viewport.x) / ratio, 0, viewport.x / ratio, viewport.y / ratio);
    this.renderer.setScissor((index * viewport.x) / ratio, 0, viewport.x / ratio, viewport.y / ratio);
    this.renderer.setScissorTest(count > 1);
    this.solids.see(this.camera.position);
    this.renderer.render(this.solids.scene, this.camera);
    const distance = this.camera.position.distanceTo(this.orbit.target);
    pass.draw(this.renderer, points, drawn, this.camera, viewport, distance);
    if (count === 1) this.renderer.render(this.gizmo.scene, this.camera);
    this.renderer.setScissorTest(false);
    clock("draw", from);
    this.drawn = drawn;
  }

  /** Wait until everything is computed. */
  private settle(): void {
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  /** Views side by side. */
  get columns(): number {
    return this.sides.slice(0, this.sideCount).filter((side) => side.carrier).length || 1;
  }

  /** Share of the hairs that is worth drawing at this distance: where hairs are finer than pixels, wider ones do. */
  private detail(): number {
    const distance = this.camera.position.distanceTo(this.orbit.target);
    return Math.min(1, Math.max(0.1, 1.6 / distance));
  }

  /** Draw fewer hairs where pictures take long, and more where they do not. */
  private finish(milliseconds: number): void {
    this.milliseconds.frame = milliseconds;
    if (this.isFull || this.isTimed) return;
    const [slow, full] = [SLOW[this.speed], FULL[this.speed]];
    if (milliseconds > slow) this.quality = Math.max(0.005, Math.max(slow / milliseconds, 0.5) * this.quality);
    else if (milliseconds < 0.4 * slow) this.quality = Math.min(full, 1.05 * this.quality);
  }

  /** Points of all hairs of a side as the graphics card has them, (S, V, 3) [m]; or another texture that it fills. */
  readPoints(side: number, texture = 0): number[] {
    const { carrier } = this.sides[side];
    if (!carrier || !this.hair || !this.frame) return [];
    carrier.carry(this.renderer, this.frame, carrier.strands);
    return this.read(carrier, carrier.target, [0, 1, 2], texture);
  }

  /** How much deeper than groomed each vertex of a side is inside of solids before it is pushed out [mm], (S, V). */
  readDepths(side: number): number[] {
    const { carrier } = this.sides[side];
    if (!carrier || !this.hair || !this.frame || !this.fields.target) return [];
    carrier.carry(this.renderer, this.frame, carrier.strands);
    this.fields.push(this.renderer, this.hair, carrier.target.textures[0], carrier.strands, this.frame, true, true);
    return this.read(carrier, this.fields.target, [3]);
  }

  private read(carrier: Carrier, target: THREE.WebGLRenderTarget, channels: number[], texture = 0): number[] {
    const { height } = target;
    const texels = new Float32Array(4 * WIDTH * height);
    this.renderer.readRenderTargetPixels(target, 0, 0, WIDTH, height, texels, undefined, texture);
    const count = carrier.strands * (this.hair as HairTextures).hair.vertices;
    return Array.from({ length: count * channels.length }, (_, i) => texels[4 * Math.floor(i / channels.length) + channels[i % channels.length]]);
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

function radiusOf(points: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < points.length; i += 3) {
    largest = Math.max(largest, points[i] ** 2 + points[i + 1] ** 2 + points[i + 2] ** 2);
  }
  return Math.sqrt(largest);
}

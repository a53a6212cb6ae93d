// Draws with WebGL2: passes over textures carry, push out and shade hairs.

import * as THREE from "three";
import type { Backend, Picture } from "./backend";
import { AdaptiveCarrier, HairTextures, LinearCarrier, PointsCarrier, type Carrier } from "./carry";
import type { Frame, FromServer, Hair, Look } from "./generated/protocol";
import { movedPivot } from "./guides";
import { FINE, HairPass, ROUGH } from "./hair";
import { BACKGROUND, LAMPS, MARGIN, radiusOf } from "./lamps";
import { Fields } from "./push_out";
import { ShadowMap } from "./shadow";
import { WIDTH } from "./texels";
import { WaterSurface } from "./water";
import { WetPass } from "./wet";

const PARTS = 4; // pictures in which all hairs are shaded once, where the processor draws
const SHADOWS = 6; // likewise, pictures that a shadow map serves
const DRAWN = 2; // number of the points that are drawn, for `readPoints`

/** Whether pixels are computed by the processor. */
export function isSoftware(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  const info = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = gl && info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}

export class WebGL2Backend implements Backend {
  readonly name = "webgl2";
  readonly isSoftware: boolean;
  readonly milliseconds: Record<string, number> = {};
  readonly renderer: THREE.WebGLRenderer;
  private readonly shadow: ShadowMap;
  private readonly fields = new Fields();
  private readonly carriers: (Carrier | null)[] = [null, null];
  private hair: HairTextures | null = null;
  private look: Look | null = null;
  private pass: HairPass | null = null;
  private readonly water = new WaterSurface();
  private wet: WetPass | null = null;
  private radius = 0.3;
  private fence: WebGLSync | null = null;

  constructor(canvas: HTMLCanvasElement) {
    // A processor that draws has no time for four samples per pixel; `#fine` takes it anyway, for a picture.
    this.isSoftware = isSoftware() && !location.hash.includes("fine");
    const antialias = !this.isSoftware;
    // Asked for here, since three's own context is one that the browser must blend with the page.
    const attributes: WebGLContextAttributes = { antialias, alpha: false, powerPreference: "high-performance" };
    const context = (canvas.getContext("webgl2", attributes) as WebGL2RenderingContext | null) ?? undefined;
    this.renderer = new THREE.WebGLRenderer({ canvas, context, antialias, alpha: false });
    this.renderer.autoClear = false;
    this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace; // shaders develop by themselves
    this.renderer.setClearColor(BACKGROUND, 1);
    this.shadow = new ShadowMap(this.isSoftware);
  }

  get solidUniforms(): Record<string, THREE.IUniform> {
    return this.shadow.shared;
  }

  resize(width: number, height: number, ratio: number): void {
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height);
  }

  take(message: FromServer): void {
    if (message.kind === "hair") this.takeHair(message);
    if (message.kind === "look") {
      this.look = message;
      this.pass?.take(message);
    }
    if (message.kind === "solid") this.fields.remove(message.number);
    if (message.kind === "field") this.fields.take(message);
    if (message.kind === "linear" && this.hair) this.carryBy(message.side, new LinearCarrier(this.hair, message));
    if (message.kind === "adaptive" && this.hair) this.carryBy(message.side, new AdaptiveCarrier(this.hair, message));
    if (message.kind === "water") this.water.take(message);
    if (message.kind === "wetting" && this.hair) {
      this.wet?.dispose();
      this.wet = new WetPass(this.hair.hair, message);
    }
    if (message.kind === "wet") this.wet?.take(message);
    if (message.kind === "sets") {
      const carrier = this.carriers[message.side];
      if (carrier instanceof AdaptiveCarrier) carrier.take(message);
    }
    if (message.kind === "points" && this.hair) {
      const carrier = this.carriers[message.side];
      const own = carrier instanceof PointsCarrier ? carrier : new PointsCarrier(this.hair);
      if (own !== carrier) this.carryBy(message.side, own);
      own.take(message);
    }
  }

  private takeHair(hair: Hair): void {
    this.hair?.dispose();
    this.pass?.dispose();
    this.wet?.dispose();
    this.wet = null;
    [0, 1].forEach((side) => this.carryBy(side, null));
    this.hair = new HairTextures(hair);
    this.fields.resize(this.hair.count);
    this.radius = radiusOf(hair.rest) * MARGIN;
    const detail = this.isSoftware ? ROUGH : FINE;
    this.pass = new HairPass(hair.strands, hair.vertices, hair.width, this.shadow, detail);
  }

  private carryBy(side: number, carrier: Carrier | null): void {
    this.carriers[side]?.dispose();
    this.carriers[side] = carrier;
  }

  keepFirst(count: number): void {
    this.fields.keepFirst(count);
  }

  get isReady(): boolean {
    return this.hair !== null && this.look !== null;
  }

  private seen(sides: number): Carrier[] {
    return this.carriers.slice(0, sides).filter((carrier) => carrier !== null);
  }

  columns(sides: number): number {
    return this.seen(sides).length || 1;
  }

  isDone(): boolean {
    if (!this.fence) return true;
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    if (gl.clientWaitSync(this.fence, 0, 0) === gl.TIMEOUT_EXPIRED) return false;
    gl.deleteSync(this.fence);
    this.fence = null;
    return true;
  }

  draw(picture: Picture): number {
    if (!this.pass?.isReady && this.look) this.pass?.take(this.look);
    this.renderer.setRenderTarget(null);
    const size = this.renderer.getDrawingBufferSize(new THREE.Vector2());
    this.renderer.setScissorTest(false);
    this.renderer.setViewport(0, 0, size.x, size.y);
    this.renderer.clear();
    const carriers = this.seen(picture.sides);
    const counts = carriers.map((carrier, index) => this.drawSide(picture, carrier, index, carriers.length, size));
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    this.fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    return Math.max(0, ...counts);
  }

  private drawSide(picture: Picture, carrier: Carrier, index: number, count: number, size: THREE.Vector2): number {
    const { frame, camera } = picture;
    const hair = this.hair as HairTextures;
    const pass = this.pass as HairPass;
    const { vertices, strands, width } = hair.hair;
    const clock = (name: string, from: number) => {
      if (picture.isTimed) this.settle();
      this.milliseconds[name] = performance.now() - from;
    };
    const drawn = Math.min(carrier.strands, Math.max(picture.fewest, Math.round(picture.share * strands)));
    let from = performance.now();
    carrier.carry(this.renderer, frame, drawn);
    let carried = carrier.target.textures[0];
    const wet = this.wet?.isWet ? this.wet : null;
    if (wet) carried = wet.run(this.renderer, carried, drawn, !carrier.isFinished);
    clock("carry", from);
    from = performance.now();
    const measures = picture.view === "penetration" && this.fields.any;
    const isDone = carrier.isFinished && !measures;
    const points = isDone ? carried : this.fields.push(this.renderer, hair, carried, drawn, frame, !carrier.isFinished, measures);
    clock("push out", from);
    from = performance.now();
    this.shadow.aim(new THREE.Vector3(...LAMPS.key), new THREE.Vector3(...movedPivot(hair.hair, frame)), this.radius);
    const isRough = picture.isRough && count === 1;
    const casters = this.isSoftware ? null : picture.solids.scene;
    if (!isRough || picture.number % SHADOWS === 0) {
      this.shadow.draw(this.renderer, points, drawn, vertices, strands, width, casters);
    }
    clock("shadow", from);
    const viewport = new THREE.Vector2(Math.floor(size.x / count), size.y);
    camera.aspect = viewport.x / viewport.y;
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    from = performance.now();
    const view = picture.view === "penetration" && !measures ? "hair" : picture.view;
    pass.wetness = wet?.target.textures[1] ?? null;
    pass.light(this.renderer, points, carrier.target.textures[1] ?? points, drawn, camera, view, isRough ? PARTS : 1);
    clock("shade", from);
    from = performance.now();
    this.renderer.setRenderTarget(null);
    const ratio = this.renderer.getPixelRatio();
    this.renderer.setViewport((index * viewport.x) / ratio, 0, viewport.x / ratio, viewport.y / ratio);
    this.renderer.setScissor((index * viewport.x) / ratio, 0, viewport.x / ratio, viewport.y / ratio);
    this.renderer.setScissorTest(count > 1);
    picture.solids.detail(isRough);
    picture.solids.see(camera.position);
    this.renderer.render(picture.solids.scene, camera);
    pass.draw(this.renderer, points, drawn, camera, viewport, picture.distance);
    this.water.draw(this.renderer, camera, viewport.y);
    if (count === 1 && picture.handles) this.renderer.render(picture.handles, camera);
    this.renderer.setScissorTest(false);
    clock("draw", from);
    return drawn;
  }

  /** Wait until everything is computed. */
  private settle(): void {
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  masks(side: number): ArrayLike<number> {
    const carrier = this.carriers[side];
    return carrier instanceof AdaptiveCarrier ? carrier.masks : [];
  }

  /** Points as they are carried (0), what is left of jumps (1), or out of solids (2), numbered as WebGPU numbers them. */
  readPoints(side: number, frame: Frame, texture: number): number[] {
    const carrier = this.carriers[side];
    if (!carrier) return [];
    carrier.carry(this.renderer, frame, carrier.strands);
    if (texture === DRAWN && this.hair && this.fields.target) {
      this.fields.push(this.renderer, this.hair, carrier.target.textures[0], carrier.strands, frame, true, false);
      return this.read(carrier, this.fields.target, [0, 1, 2]);
    }
    return this.read(carrier, carrier.target, [0, 1, 2], texture);
  }

  /** Points of all hairs of a side as they cling where they are wet, (S, V, 3) [m], and how wet they are, (S, V). */
  readWet(side: number, frame: Frame): { points: number[]; held: number[] } | null {
    const carrier = this.carriers[side];
    if (!carrier || !this.wet) return null;
    carrier.carry(this.renderer, frame, carrier.strands);
    this.wet.run(this.renderer, carrier.target.textures[0], carrier.strands, !carrier.isFinished);
    const { target } = this.wet;
    return { points: this.read(carrier, target, [0, 1, 2]), held: this.read(carrier, target, [0], 1) };
  }

  readDepths(side: number, frame: Frame): number[] {
    const carrier = this.carriers[side];
    if (!carrier || !this.hair || !this.fields.target) return [];
    carrier.carry(this.renderer, frame, carrier.strands);
    this.fields.push(this.renderer, this.hair, carrier.target.textures[0], carrier.strands, frame, true, true);
    return this.read(carrier, this.fields.target, [3]);
  }

  private read(carrier: Carrier, target: THREE.WebGLRenderTarget, channels: number[], texture = 0): number[] {
    const { height } = target;
    const texels = new Float32Array(4 * WIDTH * height);
    this.renderer.readRenderTargetPixels(target, 0, 0, WIDTH, height, texels, undefined, texture);
    const count = carrier.strands * (this.hair as HairTextures).hair.vertices;
    return Array.from({ length: count * channels.length }, (_, i) => texels[4 * Math.floor(i / channels.length) + channels[i % channels.length]]);
  }
}

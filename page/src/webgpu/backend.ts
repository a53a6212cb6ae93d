// Draws with WebGPU: compute passes carry hairs, wet them, let them lean, keep them out of solids with their lengths kept, and
// shade them; render passes draw shadows, solids, ribbons and handles.

import { type Backend, type Picture, VIEWS } from "../backend";
import type { Frame, FromServer, Hair, Look } from "../generated/protocol";
import { movedPivot } from "../guides";
import { BACKGROUND, LAMPS, MARGIN, radiusOf } from "../lamps";
import { FULL_HEAD, WIDEST } from "../ribbons";
import { AdaptiveCarrier, type Carrier, HairBuffers, LinearCarrier, PointsCarrier } from "./carry";
import { SolidBuffers } from "./distance";
import type { Gpu } from "./gpu";
import { HairPass } from "./hair";
import { Leaning } from "./lean";
import { lightMatrix, SceneUniforms } from "./light";
import { Meshes } from "./meshes";
import { PushOut } from "./push_out";
import { REACH, ShadowMap, STRANDS } from "./shadow";
import { WaterSurface } from "./water";
import { WetHair } from "./wet";

export class WebGPUBackend implements Backend {
  readonly name = "webgpu";
  readonly milliseconds: Record<string, number> = {};
  readonly solidUniforms = {};
  private readonly context: GPUCanvasContext;
  private readonly scene: SceneUniforms;
  private readonly shadow: ShadowMap;
  private readonly meshes: Meshes;
  private readonly solids: SolidBuffers;
  private readonly pushOut: PushOut;
  private readonly leaning: Leaning;
  private readonly carriers: (Carrier | null)[] = [null, null];
  private hair: HairBuffers | null = null;
  private points: GPUBuffer | null = null; // of the side that is drawn
  private look: Look | null = null;
  private pass: HairPass | null = null;
  private readonly water: WaterSurface;
  private wet: WetHair | null = null;
  private radius = 0.3;
  private targets: GPUTexture[] = [];
  private isBusy = false;

  constructor(
    private readonly gpu: Gpu,
    private readonly canvas: HTMLCanvasElement,
    readonly isSoftware: boolean,
  ) {
    this.context = canvas.getContext("webgpu") as GPUCanvasContext;
    this.context.configure({ device: gpu.device, format: gpu.format, alphaMode: "opaque" });
    this.scene = new SceneUniforms(gpu);
    this.shadow = new ShadowMap(gpu);
    this.meshes = new Meshes(gpu);
    this.solids = new SolidBuffers(gpu);
    this.pushOut = new PushOut(gpu);
    this.leaning = new Leaning(gpu);
    this.water = new WaterSurface(gpu);
  }

  resize(width: number, height: number, ratio: number): void {
    const { canvas, gpu } = this;
    Object.assign(canvas, { width: Math.max(1, Math.floor(width * ratio)), height: Math.max(1, Math.floor(height * ratio)) });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    this.targets.forEach((one) => one.destroy());
    const target = (format: GPUTextureFormat) =>
      gpu.device.createTexture({ size: [canvas.width, canvas.height], format, sampleCount: gpu.samples, usage: GPUTextureUsage.RENDER_ATTACHMENT });
    this.targets = [target("depth24plus"), ...(gpu.samples > 1 ? [target(gpu.format)] : [])];
  }

  take(message: FromServer): void {
    this.solids.take(message);
    if (message.kind === "hair") this.takeHair(message);
    if (message.kind === "look") {
      this.look = message;
      this.pass?.take(message);
    }
    if (message.kind === "linear" && this.hair) this.carryBy(message.side, new LinearCarrier(this.hair, message));
    if (message.kind === "adaptive" && this.hair) this.carryBy(message.side, new AdaptiveCarrier(this.hair, message));
    if (message.kind === "water") this.water.take(message);
    if (message.kind === "wetting" && this.hair) {
      this.wet?.dispose();
      this.wet = new WetHair(this.hair, message);
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
    this.points?.destroy();
    this.pass?.dispose();
    this.wet?.dispose();
    this.wet = null;
    [0, 1].forEach((side) => this.carryBy(side, null));
    this.hair = new HairBuffers(this.gpu, hair);
    this.points = this.gpu.storage(16 * this.hair.count);
    this.radius = radiusOf(hair.rest) * MARGIN;
    this.pass = new HairPass(this.gpu, hair.strands, hair.vertices, this.shadow);
  }

  private carryBy(side: number, carrier: Carrier | null): void {
    this.carriers[side]?.dispose();
    this.carriers[side] = carrier;
  }

  keepFirst(count: number): void {
    this.solids.keepFirst(count);
  }

  get isReady(): boolean {
    return this.hair !== null && this.look !== null && this.seen(2).length > 0;
  }

  private seen(sides: number): Carrier[] {
    return this.carriers.slice(0, sides).filter((carrier) => carrier !== null);
  }

  columns(sides: number): number {
    return this.seen(sides).length || 1;
  }

  isDone(): boolean {
    return !this.isBusy;
  }

  draw(picture: Picture): number {
    if (!this.pass?.isReady && this.look) this.pass?.take(this.look);
    const from = performance.now();
    this.meshes.place(picture.solids.scene);
    const carriers = this.seen(picture.sides);
    const counts = carriers.map((carrier, index) => this.drawSide(picture, carrier, index, carriers.length));
    this.isBusy = true;
    void this.gpu.device.queue.onSubmittedWorkDone().then(() => (this.isBusy = false));
    this.milliseconds.encode = performance.now() - from;
    return Math.max(0, ...counts);
  }

  /** Hairs of a side, where they are drawn: carried, leaning, and out of solids. */
  private carried(encoder: GPUCommandEncoder, carrier: Carrier, frame: Frame, count: number, measures: boolean): GPUBuffer {
    const [shared, points] = [this.hair as HairBuffers, this.points as GPUBuffer];
    carrier.carry(encoder, frame, count);
    const wet = this.wet?.isWet ? this.wet : null;
    wet?.run(encoder, carrier.points, count, !carrier.isFinished);
    const source = wet?.points ?? carrier.points;
    if ((carrier.isFinished && !measures) || !this.solids.any) return source;
    this.solids.place(frame);
    if (carrier instanceof AdaptiveCarrier && carrier.message.leans) {
      this.leaning.run(encoder, carrier, source, shared, this.solids, points, frame, count);
    } else {
      encoder.copyBufferToBuffer(source, 0, points, 0, 16 * count * shared.hair.vertices);
    }
    this.pushOut.run(encoder, this.solids, shared.rest, points, shared.hair, count, !carrier.isFinished, measures);
    return points;
  }

  private drawSide(picture: Picture, carrier: Carrier, index: number, columns: number): number {
    const { gpu, canvas, scene, shadow, meshes } = this;
    const { hair } = this.hair as HairBuffers;
    const pass = this.pass as HairPass;
    const { camera, frame } = picture;
    const count = Math.min(carrier.strands, Math.max(picture.fewest, Math.round(picture.share * hair.strands)));
    const measures = picture.view === "penetration" && this.solids.any;
    const encoder = gpu.device.createCommandEncoder();
    const points = this.carried(encoder, carrier, frame, count, measures);
    const width = Math.floor(canvas.width / columns);
    camera.aspect = width / canvas.height;
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    const thickness = 2 * this.radius;
    const wider = Math.min(Math.max(FULL_HEAD / Math.max(count, 1), 1), WIDEST);
    const drawnIntoMap = Math.max(1, Math.min(count, STRANDS));
    scene.send({
      lightMatrix: lightMatrix(LAMPS.key, movedPivot(hair, frame), this.radius),
      thickness,
      reach: REACH,
      camera,
      size: [width, canvas.height],
      width: hair.width * wider * camera.projectionMatrix.elements[5],
      vertices: hair.vertices,
      count,
      view: VIEWS.indexOf(picture.view === "penetration" && !measures ? "hair" : picture.view),
      isWet: this.wet?.isWet ?? false,
      weight: (hair.strands / drawnIntoMap) * (hair.width / ShadowMap.texel(thickness)),
    });
    shadow.draw(encoder, scene.buffer, points, count, hair.vertices, meshes);
    pass.light(encoder, scene.buffer, points, carrier.tags, this.wet?.held ?? null, count);
    const view = this.context.getCurrentTexture().createView();
    const loadOp = index === 0 ? "clear" : "load";
    const [depth, color] = this.targets.map((one) => one.createView());
    const target = color ? { view: color, resolveTarget: view } : { view };
    const drawing = encoder.beginRenderPass({
      colorAttachments: [{ ...target, clearValue: [16, 8, 0].map((bits) => ((BACKGROUND >> bits) & 255) / 255).concat(1), loadOp, storeOp: "store" }],
      depthStencilAttachment: { view: depth, depthClearValue: 1, depthLoadOp: loadOp, depthStoreOp: "store" },
    });
    drawing.setViewport(index * width, 0, width, canvas.height, 0, 1);
    drawing.setScissorRect(index * width, 0, width, canvas.height);
    meshes.draw(drawing, scene.buffer, shadow);
    pass.draw(drawing, scene.buffer, points, count);
    this.water.draw(drawing, scene.buffer);
    if (picture.handles && columns === 1) meshes.drawPlain(drawing, scene.buffer, picture.handles);
    drawing.end();
    gpu.device.queue.submit([encoder.finish()]);
    return count;
  }

  masks(side: number): ArrayLike<number> {
    const carrier = this.carriers[side];
    return carrier instanceof AdaptiveCarrier ? carrier.masks.map((mask) => mask & 0xffff) : [];
  }

  /** Points as they are carried (0), what is left of jumps (1), as they are drawn (2), what they lean by (3), or where
   * they cling if they are wet (4). */
  async readPoints(side: number, frame: Frame, texture: number): Promise<number[]> {
    const carrier = this.carriers[side];
    if (!carrier) return [];
    const drawn = this.computed(carrier, frame, false);
    const kept = carrier instanceof AdaptiveCarrier ? carrier.kept : carrier.points;
    const wet = this.wet?.points ?? carrier.points;
    return this.read(carrier, [carrier.points, carrier.tags, drawn, kept, wet][texture], [0, 1, 2]);
  }

  async readDepths(side: number, frame: Frame): Promise<number[]> {
    const carrier = this.carriers[side];
    return carrier && this.solids.any ? this.read(carrier, this.computed(carrier, frame, true), [3]) : [];
  }

  private computed(carrier: Carrier, frame: Frame, measures: boolean): GPUBuffer {
    const encoder = this.gpu.device.createCommandEncoder();
    const points = this.carried(encoder, carrier, frame, carrier.strands, measures);
    this.gpu.device.queue.submit([encoder.finish()]);
    return points;
  }

  private async read(carrier: Carrier, buffer: GPUBuffer, channels: number[]): Promise<number[]> {
    const count = carrier.strands * (this.hair as HairBuffers).hair.vertices;
    const numbers = await this.gpu.read(buffer, 16 * count);
    return Array.from({ length: count * channels.length }, (_, i) => numbers[4 * Math.floor(i / channels.length) + channels[i % channels.length]]);
  }
}

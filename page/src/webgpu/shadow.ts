// Shadows of hair on hair: the deep opacity map of ../shadow.ts, in three render passes.

import { LIGHT } from "./light";
import type { Gpu } from "./gpu";
import type { Meshes } from "./meshes";

const SIZE = 384; // texels along each side
export const STRANDS = 6000; // that are drawn into the map, of which each stands for its share of all
export const REACH = 1; // texels around, over which shadows are smoothed

const LINES = `${LIGHT}
@group(0) @binding(1) var<storage, read> points: array<vec4f>;
struct Line { @builtin(position) place: vec4f, @location(0) depth: f32 }
@vertex fn corner(@builtin(vertex_index) number: u32) -> Line {
  let segment = number >> 1;
  let strand = segment / (scene.vertices - 1);
  let vertex = segment % (scene.vertices - 1) + (number & 1u);
  let seen = scene.lightMatrix * vec4f(points[strand * scene.vertices + vertex].xyz, 1.0);
  return Line(seen, seen.z);
}`;

const NEAREST = `${LINES}
@fragment fn main(line: Line) -> @location(0) vec4f { return vec4f(line.depth, 0.0, 0.0, 1.0); }`;

const LAYERS = `${LINES}
@group(0) @binding(2) var nearest: texture_2d<f32>;
@fragment fn main(line: Line) -> @location(0) vec4f {
  let behind = (line.depth - textureLoad(nearest, vec2i(line.place.xy), 0).x) * scene.thickness; // [m]
  return scene.weight * step(vec4f(behind), vec4f(0.008, 0.02, 0.05, 1.0));
}`;

export class ShadowMap {
  readonly nearest: GPUTextureView;
  readonly layers: GPUTextureView;
  readonly solids: GPUTextureView;
  private readonly nearestPipeline: GPURenderPipeline;
  private readonly layerPipeline: GPURenderPipeline;

  constructor(private readonly gpu: Gpu) {
    const map = (format: GPUTextureFormat) =>
      gpu.device.createTexture({ size: [SIZE, SIZE], format, usage: GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.TEXTURE_BINDING }).createView();
    this.nearest = map("rgba16float");
    this.layers = map("rgba16float");
    this.solids = map("depth32float");
    this.nearestPipeline = this.lines(NEAREST, "min");
    this.layerPipeline = this.lines(LAYERS, "add");
  }

  private lines(code: string, operation: GPUBlendOperation): GPURenderPipeline {
    const module = this.gpu.device.createShaderModule({ code });
    const one: GPUBlendComponent = { operation, srcFactor: "one", dstFactor: "one" };
    return this.gpu.device.createRenderPipeline({
      layout: "auto",
      vertex: { module },
      fragment: { module, targets: [{ format: "rgba16float", blend: { color: one, alpha: one } }] },
      primitive: { topology: "line-list" },
    });
  }

  /** Texel of the map, as seen from a light that sees `thickness` [m]. */
  static texel(thickness: number): number {
    return thickness / SIZE;
  }

  draw(encoder: GPUCommandEncoder, scene: GPUBuffer, points: GPUBuffer, strands: number, vertices: number, meshes: Meshes): void {
    const corners = Math.min(strands, STRANDS) * (vertices - 1) * 2;
    const passes = [
      { pipeline: this.nearestPipeline, view: this.nearest, clearValue: [1, 1, 1, 1], bound: [scene, points] },
      { pipeline: this.layerPipeline, view: this.layers, clearValue: [0, 0, 0, 0], bound: [scene, points, this.nearest] },
    ];
    for (const { pipeline, view, clearValue, bound } of passes) {
      const pass = encoder.beginRenderPass({ colorAttachments: [{ view, clearValue, loadOp: "clear", storeOp: "store" }] });
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, this.gpu.bind(pipeline, bound));
      pass.draw(corners);
      pass.end();
    }
    const depth: GPURenderPassDepthStencilAttachment = { view: this.solids, depthClearValue: 1, depthLoadOp: "clear", depthStoreOp: "store" };
    const pass = encoder.beginRenderPass({ colorAttachments: [], depthStencilAttachment: depth });
    meshes.cast(pass, scene);
    pass.end();
  }
}

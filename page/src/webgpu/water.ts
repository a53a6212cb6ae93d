// Water as ../water.ts has it: its surface as triangles and its drops, by what they mirror over what is behind them.

import type { Water } from "../generated/protocol";
import { LARGEST_DROP, normals, smooth } from "../water";
import type { Gpu } from "./gpu";
import { DEVELOP, LIGHT } from "./light";

const MIRROR = `${LIGHT}${DEVELOP}
const TINT = vec3f(0.30, 0.55, 0.62);
/** What water shows at a place, over what is behind it: colour times coverage, and coverage. */
fn mirrored(world: vec3f, n: vec3f, least: f32) -> vec4f {
  let toEye = normalize(scene.eye - world);
  let toSky = reflect(-toEye, n);
  let fresnel = 0.02 + 0.98 * pow(1.0 - clamp(dot(n, toEye), 0.0, 1.0), 5.0);
  let around = mix(vec3f(0.10, 0.10, 0.11), 1.3 * scene.sky, smoothstep(-0.4, 0.7, toSky.y));
  let lamps = scene.keyColor * pow(max(dot(toSky, scene.key), 0.0), 180.0)
    + scene.rimColor * pow(max(dot(toSky, scene.rim), 0.0), 90.0);
  let cover = clamp(least + fresnel + 0.6 * lamps.g, 0.0, 1.0);
  let light = fresnel * around + lamps + least * TINT * (0.35 + 0.65 * max(dot(n, scene.key), 0.0));
  return vec4f(develop(light / cover) * cover, cover);
}`;

const SURFACE = `${MIRROR}
struct Corner { @builtin(position) place: vec4f, @location(0) world: vec3f, @location(1) facing: vec3f }
@vertex fn corner(@location(0) position: vec3f, @location(1) normal: vec3f) -> Corner {
  return Corner(scene.viewProjection * vec4f(position, 1.0), position, normal);
}
@fragment fn main(corner: Corner) -> @location(0) vec4f { return mirrored(corner.world, normalize(corner.facing), 0.16); }`;

/** A drop is a square that faces the eye; its width on the screen is that of the ball. */
const DROPS = `${MIRROR}
struct Corner { @builtin(position) place: vec4f, @location(0) world: vec3f, @location(1) at: vec2f, @location(2) radius: f32 }
@vertex fn corner(@builtin(vertex_index) number: u32, @location(0) drop: vec4f) -> Corner {
  let at = vec2f(f32(number & 1u), f32(number >> 1)) * 2.0 - 1.0;
  let away = normalize(scene.eye - drop.xyz);
  let right = normalize(cross(vec3f(0.0, 1.0, 0.0), away));
  let world = drop.xyz + drop.w * (at.x * right + at.y * cross(away, right));
  return Corner(scene.viewProjection * vec4f(world, 1.0), drop.xyz, at, drop.w);
}
@fragment fn main(corner: Corner) -> @location(0) vec4f {
  let square = dot(corner.at, corner.at);
  if (square > 1.0) { discard; }
  let away = normalize(scene.eye - corner.world);
  let right = normalize(cross(vec3f(0.0, 1.0, 0.0), away));
  let n = corner.at.x * right + corner.at.y * cross(away, right) + sqrt(1.0 - square) * away;
  return mirrored(corner.world + corner.radius * n, n, 0.2);
}`;

export class WaterSurface {
  /** Whether there is any water. */
  isThere = false;
  private readonly depths: GPURenderPipeline;
  private readonly surface: GPURenderPipeline;
  private readonly drops: GPURenderPipeline;
  private buffers: GPUBuffer[] = []; // points, normals, faces, drops
  private faceCount = 0;
  private dropCount = 0;

  constructor(private readonly gpu: Gpu) {
    const { device, format, samples } = gpu;
    const [surface, drops] = [SURFACE, DROPS].map((code) => device.createShaderModule({ code }));
    const over: GPUBlendComponent = { srcFactor: "one", dstFactor: "one-minus-src-alpha" };
    const attribute = (shaderLocation: number, floats: 3 | 4, stepMode: GPUVertexStepMode): GPUVertexBufferLayout => ({
      arrayStride: 4 * floats,
      stepMode,
      attributes: [{ shaderLocation, offset: 0, format: `float32x${floats}` }],
    });
    const made = (module: GPUShaderModule, buffers: GPUVertexBufferLayout[], writeMask: number, depthWriteEnabled: boolean, topology: GPUPrimitiveTopology) =>
      device.createRenderPipeline({
        layout: "auto",
        vertex: { module, buffers },
        fragment: { module, targets: [{ format, blend: { color: over, alpha: over }, writeMask }] },
        primitive: { topology, cullMode: topology === "triangle-list" ? "back" : "none" },
        depthStencil: { format: "depth24plus", depthWriteEnabled, depthCompare: "less-equal" },
        multisample: { count: samples },
      });
    const corners = [attribute(0, 3, "vertex"), attribute(1, 3, "vertex")];
    // Depths first, so that of several surfaces behind each other the nearest is seen, whatever their order.
    this.depths = made(surface, corners, 0, true, "triangle-list");
    this.surface = made(surface, corners, 15, false, "triangle-list");
    this.drops = made(drops, [attribute(0, 4, "instance")], 15, false, "triangle-strip");
  }

  take(message: Water): void {
    const points = Float32Array.from(message.packed, (unit, i) => message.low[i % 3] + message.step * unit);
    smooth(points, message.faces);
    const drops = message.drops.slice();
    for (let i = 3; i < drops.length; i += 4) drops[i] = Math.min(drops[i], LARGEST_DROP);
    this.buffers.forEach((one) => one.destroy());
    const vertex = (data: Float32Array) => this.gpu.geometry((data.length ? data : new Float32Array(4)) as Float32Array<ArrayBuffer>, GPUBufferUsage.VERTEX);
    const faces = message.faces.length ? message.faces.slice() : new Uint32Array(3);
    this.buffers = [vertex(points), vertex(normals(points, message.faces)), this.gpu.geometry(faces, GPUBufferUsage.INDEX), vertex(drops)];
    [this.faceCount, this.dropCount] = [message.faces.length, drops.length / 4];
    this.isThere = this.faceCount > 0 || this.dropCount > 0;
  }

  draw(pass: GPURenderPassEncoder, scene: GPUBuffer): void {
    if (!this.isThere) return;
    const [points, facing, faces, drops] = this.buffers;
    if (this.faceCount) {
      pass.setVertexBuffer(0, points);
      pass.setVertexBuffer(1, facing);
      pass.setIndexBuffer(faces, "uint32");
      for (const pipeline of [this.depths, this.surface]) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, this.gpu.bind(pipeline, [scene]));
        pass.drawIndexed(this.faceCount);
      }
    }
    if (!this.dropCount) return;
    pass.setPipeline(this.drops);
    pass.setBindGroup(0, this.gpu.bind(this.drops, [scene]));
    pass.setVertexBuffer(0, drops);
    pass.draw(4, this.dropCount);
  }
}

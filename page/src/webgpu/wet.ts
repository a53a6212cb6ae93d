// Wet hair as ../wet.ts has it: every hair takes the wetness of the guides near it, and clings to the first hair of its
// lock. One thread is one vertex.

import type { Wet, Wetting } from "../generated/protocol";
import { rowsOfFour } from "../wet";
import type { HairBuffers } from "./carry";
import { THREAD, type Uniforms } from "./gpu";

const LEVELS = 255; // of how wet a guide is

const WET = `
struct Wet { vertices: u32, own: u32, count: u32, strength: f32, start: f32 }
@group(0) @binding(0) var<uniform> wet: Wet;
@group(0) @binding(1) var<storage, read> carried: array<vec4f>;
@group(0) @binding(2) var<storage, read> guides: array<vec4f>; // three that a hair looks at, and the hair it is drawn to
@group(0) @binding(3) var<storage, read> shares: array<vec4f>;
@group(0) @binding(4) var<storage, read> wetness: array<vec2f>;
@group(0) @binding(5) var<storage, read_write> points: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> held: array<vec2f>;
fn along(guide: f32, place: f32) -> vec2f {
  let before = min(u32(place), wet.own - 2);
  let first = u32(guide) * wet.own + before;
  return mix(wetness[first], wetness[first + 1], place - f32(before));
}
${THREAD}
  if (thread >= wet.count) { return; }
  let hair = thread / wet.vertices;
  let vertex = thread % wet.vertices;
  let part = f32(vertex) / f32(wet.vertices - 1);
  let place = part * f32(wet.own - 1);
  let near = guides[hair];
  let share = shares[hair];
  let own = share.x * along(near.x, place) + share.y * along(near.y, place) + share.z * along(near.z, place);
  let u = clamp((part - wet.start) / max(1.0 - wet.start, 1e-6), 0.0, 1.0);
  let pull = own.y * wet.strength * u * u * (3.0 - 2.0 * u);
  let at = carried[thread];
  points[thread] = vec4f(mix(at.xyz, carried[u32(near.w) * wet.vertices + vertex].xyz, pull), at.w);
  held[thread] = own;
}`;

export class WetHair {
  /** Hairs where they cling, and how wet each vertex is. */
  readonly points: GPUBuffer;
  readonly held: GPUBuffer;
  /** Whether there is any water in the hair. */
  isWet = false;
  private readonly wetness: Float32Array<ArrayBuffer>;
  private readonly buffers: GPUBuffer[];
  private readonly uniforms: Uniforms;
  private readonly pipeline: GPUComputePipeline;

  constructor(
    private readonly shared: HairBuffers,
    private readonly message: Wetting,
  ) {
    const { gpu, hair, count } = shared;
    this.points = gpu.storage(16 * count);
    this.held = gpu.storage(8 * count);
    this.wetness = new Float32Array(2 * hair.guides * hair.guide_vertices);
    const guides = rowsOfFour(message.guide, message.places, message.leader);
    const shares = rowsOfFour(message.shares, message.places, null);
    this.buffers = [guides, shares, this.wetness].map((data) => gpu.storage(data as Float32Array<ArrayBuffer>));
    this.uniforms = gpu.uniforms(32);
    this.pipeline = gpu.compute(WET);
  }

  take(message: Wet): void {
    for (let i = 0; i < message.held.length; i++) {
      this.wetness[2 * i] = message.held[i] / LEVELS;
      this.wetness[2 * i + 1] = message.level[i] / LEVELS;
    }
    this.isWet = message.held.some((held) => held > 0);
    this.shared.gpu.write(this.buffers[2], this.wetness);
  }

  /** Wet the first `count` hairs of `carried`; those that do not cling are where they should be already. */
  run(encoder: GPUCommandEncoder, carried: GPUBuffer, count: number, clings: boolean): void {
    const { gpu, hair } = this.shared;
    const { strength, start } = this.message;
    this.uniforms.begin().word(hair.vertices, hair.guide_vertices, count * hair.vertices).float(clings ? strength : 0, start).send();
    gpu.run(encoder, this.pipeline, [this.uniforms.buffer, carried, ...this.buffers, this.points, this.held], count * hair.vertices);
  }

  dispose(): void {
    [...this.buffers, this.points, this.held, this.uniforms.buffer].forEach((one) => one.destroy());
  }
}

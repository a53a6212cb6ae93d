// Carries hairs in compute passes: one thread is one vertex. The fourth number of a point is what coloured views show.
// The sums are those of ../carry.ts, and of the skins that it names.

import type { Adaptive, Frame, Hair, Linear, Points, Sets } from "../generated/protocol";
import { displacements, linearShifts, LONGEST_FADE, matrixOf, movedPivot, placeTexels, unpack } from "../guides";
import { type Gpu, THREAD, type Uniforms } from "./gpu";

const UNIFORMS = `
struct Carry { turn: mat3x3f, origin: vec3f, decay: f32, vertices: u32, guides: u32, own: u32, count: u32 }
@group(0) @binding(0) var<uniform> carry: Carry;
@group(0) @binding(1) var<storage, read> rest: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> points: array<vec4f>;
@group(0) @binding(3) var<storage, read> places: array<vec2f>;`;

const LINEAR = `${UNIFORMS}
@group(0) @binding(4) var<storage, read> weights: array<f32>;
@group(0) @binding(5) var<storage, read> bundles: array<u32>;
@group(0) @binding(6) var<storage, read> shifts: array<vec4f>;
${THREAD}
  if (thread >= carry.count) { return; }
  let hair = thread / carry.vertices;
  let vertex = thread % carry.vertices;
  var sum = carry.turn * rest[thread].xyz;
  var heaviest = -1.0;
  var owner = 0u;
  for (var k = 0u; k < carry.guides; k++) {
    let weight = weights[hair * carry.guides + k];
    let place = places[(bundles[hair] * carry.guides + k) * carry.vertices + vertex];
    let before = u32(place.x);
    sum += weight * mix(shifts[before].xyz, shifts[before + 1].xyz, place.y);
    if (weight > heaviest) { heaviest = weight; owner = before / carry.own; }
  }
  points[thread] = vec4f(sum, f32(owner) + 0.999 * heaviest);
}`;

/** A vertex of a guide: at rest, how far it has come from there as seen from the head, and where it is in the world. */
export const GUIDE = `
struct Guide { rest: vec4f, shift: vec4f, at: vec4f }`;
const GUIDE_NUMBERS = 12;

const ADAPTIVE = `${GUIDE}${UNIFORMS}
@group(0) @binding(4) var<storage, read> rows: array<u32>;
@group(0) @binding(5) var<storage, read> guides: array<Guide>;
@group(0) @binding(6) var<storage, read> masks: array<u32>; // those of the frame before are the upper half
@group(0) @binding(7) var<storage, read_write> offsets: array<vec4f>;
const NEAR = 1e-5; // [m] as in skin/adaptive/_kernels_blend.py
struct Blended { shift: vec3f, heaviest: f32, tag: f32 }
fn blended(hair: u32, vertex: u32, at: vec3f, mask: u32) -> Blended {
  var sum = vec3f(0.0);
  var total = 0.0;
  var most = 0.0;
  var owner = 0u;
  var tag = 0.0;
  for (var a = 0u; a < carry.guides; a++) {
    if (((mask >> a) & 1u) == 0u) { continue; }
    let place = places[rows[hair * carry.guides + a] * carry.vertices + vertex];
    let before = u32(place.x);
    let away = at - mix(guides[before].rest.xyz, guides[before + 1].rest.xyz, place.y);
    let weight = 1.0 / max(length(away), NEAR); // chai2017 eq. 11
    total += weight;
    sum += weight * mix(guides[before].shift.xyz, guides[before + 1].shift.xyz, place.y);
    let guide = before / carry.own;
    if (weight > most) { most = weight; owner = guide; }
    tag = fract(tag + 0.61803399 * f32(guide + 1));
  }
  let shift = select(sum, sum / max(total, 1e-20), total > 0.0);
  return Blended(shift, f32(owner) + 0.999 * most / max(total, 1e-9), floor(8192.0 * tag));
}
${THREAD}
  if (thread >= carry.count) { return; }
  let hair = thread / carry.vertices;
  let vertex = thread % carry.vertices;
  let at = rest[thread].xyz;
  let mask = masks[hair] & 0xffffu;
  let before = masks[hair] >> 16;
  let now = blended(hair, vertex, at, mask);
  var left = offsets[thread].xyz;
  if (mask != before && before != 0u && carry.decay > 0.0) { left += blended(hair, vertex, at, before).shift - now.shift; }
  left *= carry.decay;
  offsets[thread] = vec4f(left, now.tag);
  points[thread] = vec4f(carry.turn * (at + now.shift + left) + carry.origin, now.heaviest);
}`;

/** Hair at rest, which all carriers share. */
export class HairBuffers {
  readonly rest: GPUBuffer;

  constructor(
    readonly gpu: Gpu,
    readonly hair: Hair,
  ) {
    this.rest = gpu.storage(fours(hair.rest));
  }

  get count(): number {
    return this.hair.strands * this.hair.vertices;
  }

  dispose(): void {
    this.rest.destroy();
  }
}

/** Points (N, 3) as (x, y, z, 0). */
export function fours(points: ArrayLike<number>): Float32Array<ArrayBuffer> {
  const out = new Float32Array((points.length / 3) * 4);
  for (let i = 0, o = 0; i < points.length; i += 3, o += 4) {
    out[o] = points[i];
    out[o + 1] = points[i + 1];
    out[o + 2] = points[i + 2];
  }
  return out;
}

/** One side of the view. */
export interface Carrier {
  /** Vertices of all hairs, (x, y, z) [m] and what coloured views show. */
  readonly points: GPUBuffer;
  /** Of every vertex, the fourth number is a number of the guides of its hair. */
  readonly tags: GPUBuffer;
  readonly strands: number;
  readonly isFinished: boolean;
  carry(encoder: GPUCommandEncoder, frame: Frame, count: number): void;
  dispose(): void;
}

function fill(uniforms: Uniforms, shared: HairBuffers, frame: Frame, decay: number, guides: number, count: number): void {
  const { hair } = shared;
  uniforms.begin().matrix3(matrixOf(frame.head.subarray(3, 7))).float(...movedPivot(hair, frame), decay);
  uniforms.word(hair.vertices, guides, hair.guide_vertices, count * hair.vertices).send();
}

export class LinearCarrier implements Carrier {
  readonly isFinished = false;
  readonly points: GPUBuffer;
  readonly strands: number;
  private readonly buffers: GPUBuffer[];
  private readonly shifts: Float32Array<ArrayBuffer>;
  private readonly uniforms: Uniforms;
  private readonly pipeline: GPUComputePipeline;

  constructor(
    private readonly shared: HairBuffers,
    private readonly message: Linear,
  ) {
    const { gpu, hair } = shared;
    this.strands = hair.strands;
    this.points = gpu.storage(16 * shared.count);
    this.shifts = new Float32Array(4 * hair.guides * hair.guide_vertices);
    const places = placeTexels(message.guide, message.parameter, hair.vertices, hair.guide_vertices);
    this.buffers = [places, message.weights, message.of_hair, this.shifts].map((data) => gpu.storage(data as Float32Array<ArrayBuffer>));
    this.uniforms = gpu.uniforms(80);
    this.pipeline = gpu.compute(LINEAR);
  }

  get tags(): GPUBuffer {
    return this.points;
  }

  carry(encoder: GPUCommandEncoder, frame: Frame, count: number): void {
    const { gpu, hair, rest } = this.shared;
    linearShifts(hair, frame, this.shifts);
    gpu.write(this.buffers[3], this.shifts);
    fill(this.uniforms, this.shared, frame, 0, this.message.places, count);
    gpu.run(encoder, this.pipeline, [this.uniforms.buffer, rest, this.points, ...this.buffers], count * hair.vertices);
  }

  dispose(): void {
    [...this.buffers, this.points, this.uniforms.buffer].forEach((one) => one.destroy());
  }
}

export class AdaptiveCarrier implements Carrier {
  readonly isFinished = false;
  readonly points: GPUBuffer;
  readonly tags: GPUBuffer;
  readonly strands: number;
  /** Places on guides, rows of eligible guides, guides, and sets. */
  readonly buffers: { places: GPUBuffer; rows: GPUBuffer; guides: GPUBuffer; masks: GPUBuffer };
  /** Guides that each hair hangs on; those of the frame before are the upper half. */
  readonly masks: Uint32Array<ArrayBuffer>;
  /** What hairs lean by, see lean.ts. */
  readonly kept: GPUBuffer;
  /** What is left of jumps after the frame that was carried last; 1 where it was carried again. */
  decay = 0;
  private readonly guides: Float32Array<ArrayBuffer>;
  private readonly shifts: Float32Array;
  private readonly uniforms: Uniforms;
  private readonly pipeline: GPUComputePipeline;
  private time = -Infinity;
  private carried = 0;
  private hasNewSets = false;
  private haveSetsAged = false; // the card has yet to learn that these sets are those of the frame before

  constructor(
    private readonly shared: HairBuffers,
    readonly message: Adaptive,
  ) {
    const { gpu, hair } = shared;
    this.strands = hair.strands;
    this.points = gpu.storage(16 * shared.count);
    this.tags = gpu.storage(16 * shared.count);
    this.kept = gpu.storage(16 * (message.leans ? shared.count : 1));
    this.masks = new Uint32Array(hair.strands);
    const guideVertices = hair.guides * hair.guide_vertices;
    this.shifts = new Float32Array(4 * guideVertices);
    this.guides = new Float32Array(GUIDE_NUMBERS * guideVertices);
    for (let i = 0; i < guideVertices; i++) this.guides.set(hair.guide_rest.subarray(3 * i, 3 * i + 3), GUIDE_NUMBERS * i);
    this.buffers = {
      places: gpu.storage(placeTexels(message.guide, message.parameter, hair.vertices, hair.guide_vertices) as Float32Array<ArrayBuffer>),
      rows: gpu.storage(message.rows as Uint32Array<ArrayBuffer>),
      guides: gpu.storage(this.guides),
      masks: gpu.storage(this.masks),
    };
    this.uniforms = gpu.uniforms(80);
    this.pipeline = gpu.compute(ADAPTIVE);
  }

  take(sets: Sets): void {
    for (let i = 0; i < this.masks.length; i++) this.masks[i] = (this.masks[i] & 0xffff0000) | sets.masks[i];
    this.hasNewSets = true;
  }

  carry(encoder: GPUCommandEncoder, frame: Frame, count: number): void {
    const elapsed = frame.time - this.time;
    this.decay = 1;
    if (elapsed === 0 && count <= this.carried) return;
    const { gpu, hair, rest } = this.shared;
    const { fade } = this.message;
    // Of hairs that were not carried before, nothing is known that could fade.
    const goesOn = count <= this.carried && elapsed > 0 && elapsed < LONGEST_FADE && fade > 0;
    this.decay = goesOn ? Math.exp(-elapsed / fade) : 0;
    this.place(frame);
    if (this.hasNewSets || this.haveSetsAged) gpu.write(this.buffers.masks, this.masks);
    fill(this.uniforms, this.shared, frame, this.decay, this.message.places, count);
    const { places, rows, guides, masks } = this.buffers;
    gpu.run(encoder, this.pipeline, [this.uniforms.buffer, rest, this.points, places, rows, guides, masks, this.tags], count * hair.vertices);
    [this.time, this.carried] = [frame.time, count];
    if (this.hasNewSets) for (let i = 0; i < this.masks.length; i++) this.masks[i] = (this.masks[i] & 0xffff) * 0x10001;
    [this.haveSetsAged, this.hasNewSets] = [this.hasNewSets, false];
  }

  /** Guides of a frame, as the shaders want them. */
  private place(frame: Frame): void {
    displacements(this.shared.hair, frame, this.shifts);
    const { points } = frame;
    for (let i = 0; i < this.shifts.length / 4; i++) {
      const o = GUIDE_NUMBERS * i;
      for (let c = 0; c < 3; c++) {
        this.guides[o + 4 + c] = this.shifts[4 * i + c];
        this.guides[o + 8 + c] = points[3 * i + c];
      }
    }
    this.shared.gpu.write(this.buffers.guides, this.guides);
  }

  dispose(): void {
    [...Object.values(this.buffers), this.points, this.tags, this.kept, this.uniforms.buffer].forEach((one) => one.destroy());
  }
}

/** Hairs that the server carries. */
export class PointsCarrier implements Carrier {
  readonly isFinished = true;
  readonly points: GPUBuffer;
  strands = 0;

  constructor(private readonly shared: HairBuffers) {
    this.points = shared.gpu.storage(16 * shared.count);
  }

  get tags(): GPUBuffer {
    return this.points;
  }

  take(message: Points): void {
    this.strands = message.strands;
    this.shared.gpu.write(this.points, fours(unpack(message)));
  }

  carry(): void {}

  dispose(): void {
    this.points.destroy();
  }
}

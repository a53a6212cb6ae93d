// Keeps hair out of solids with its lengths kept: one thread walks along one hair from root to tip and does what
// `SolidAdjustment` does (skin/finish/passes.py): a vertex inside goes to the surface and back to its length, again and
// again, and what lies beyond it is drawn along.

import { DISTANCE, type SolidBuffers } from "./distance";
import { type Gpu, THREAD, type Uniforms } from "./gpu";

const ROUNDS = 32; // at most; `SolidAdjustment` has 3 unless told otherwise, and with more lengths are kept better
const CLOSE = 1e-6; // [m] inside: no need to go on

const PUSH = `
struct Push { pivot: vec3f, strands: u32, vertices: u32, pushes: u32, measures: u32 }
@group(0) @binding(0) var<uniform> push: Push;
@group(0) @binding(1) var<uniform> solids: Solids;
@group(0) @binding(2) var<storage, read> numbers: array<f32>;
@group(0) @binding(3) var<storage, read> rest: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> points: array<vec4f>;
${DISTANCE}
/** How far from a solid a vertex must be: not farther from the body than it was groomed. */
fn limit(s: u32, i: u32) -> f32 {
  if (s > 0u || solids.hasBody == 0u) { return 0.0; }
  return min(distanceIn(0u, rest[i].xyz + push.pivot), 0.0);
}
fn drawn(before: vec3f, at: vec3f, length: f32) -> vec3f {
  let way = at - before;
  let size = sqrt(dot(way, way));
  return before + way * select(1.0, length / size, size > 0.0);
}
fn pushed(s: u32, i: u32, before: vec3f, start: vec3f, length: f32) -> vec3f {
  var at = start;
  let lowest = limit(s, i);
  for (var round = 1; round <= ${ROUNDS}; round++) {
    let depth = lowest - distanceAt(s, at);
    if (depth <= ${CLOSE}) { break; }
    at += depth * towards(s, at);
    if (round < ${ROUNDS}) { at = drawn(before, at, length); }
  }
  return at;
}
fn measure(first: u32) {
  for (var i = first; i < first + push.vertices; i++) {
    var deepest = 0.0;
    for (var s = 0u; s < solids.count && i > first; s++) {
      let d = distanceAt(s, points[i].xyz);
      if (d < 0.0) { deepest = max(deepest, limit(s, i) - d); }
    }
    points[i].w = 1000.0 * deepest; // [mm]
  }
}
fn walk(s: u32, first: u32) {
  var groomed = points[first].xyz; // the vertex before, where it was
  var before = groomed; // and where it is
  var hasMoved = false;
  for (var i = first + 1; i < first + push.vertices; i++) {
    let own = points[i].xyz;
    let length = distance(own, groomed);
    groomed = own;
    var at = own;
    if (hasMoved) { at = drawn(before, at, length); }
    if (distanceAt(s, at) < 0.0) {
      let start = at;
      at = pushed(s, i, before, start, length);
      hasMoved = hasMoved || any(at != start);
    }
    before = at;
    points[i] = vec4f(at, points[i].w);
  }
}
${THREAD}
  if (thread >= push.strands) { return; }
  let first = thread * push.vertices;
  if (push.measures != 0u) { measure(first); }
  if (push.pushes == 0u) { return; }
  for (var s = 0u; s < solids.count; s++) { walk(s, first); }
}`;

export class PushOut {
  private readonly pipeline: GPUComputePipeline;
  private readonly uniforms: Uniforms;

  constructor(private readonly gpu: Gpu) {
    this.pipeline = gpu.compute(PUSH);
    this.uniforms = gpu.uniforms(32);
  }

  /** Move the first hairs of `points` out of all solids, if it `pushes`; if it `measures`, the fourth number is how much
   * deeper they were than groomed [mm]. */
  run(
    encoder: GPUCommandEncoder,
    solids: SolidBuffers,
    rest: GPUBuffer,
    points: GPUBuffer,
    hair: { pivot: ArrayLike<number>; vertices: number },
    strands: number,
    pushes: boolean,
    measures: boolean,
  ): void {
    const { pivot, vertices } = hair;
    this.uniforms.begin().float(pivot[0], pivot[1], pivot[2]).word(strands, vertices, Number(pushes), Number(measures)).send();
    const bound = [this.uniforms.buffer, solids.uniforms.buffer, solids.numbers, rest, points];
    this.gpu.run(encoder, this.pipeline, bound, strands);
  }
}

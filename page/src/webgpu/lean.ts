// Adaptive hairs that would pass a solid lean towards their guides, as skin/adaptive/_kernels_lean.py has it: one thread
// walks along one hair, follows the way from the middle of its guides to each vertex, and stops where a solid begins.

import type { Adaptive, Frame } from "../generated/protocol";
import { matrixOf } from "../guides";
import { type AdaptiveCarrier, GUIDE, type HairBuffers } from "./carry";
import { DISTANCE, type SolidBuffers } from "./distance";
import { type Gpu, THREAD, type Uniforms } from "./gpu";

const LEAN = `${GUIDE}
struct Lean { turn: mat3x3f, recovery: vec2f, decay: f32, between: u32, strands: u32, vertices: u32, guides: u32 }
@group(0) @binding(0) var<uniform> lean: Lean;
@group(0) @binding(1) var<uniform> solids: Solids;
@group(0) @binding(2) var<storage, read> numbers: array<f32>;
@group(0) @binding(3) var<storage, read> carried: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> points: array<vec4f>;
@group(0) @binding(5) var<storage, read> places: array<vec2f>;
@group(0) @binding(6) var<storage, read> rows: array<u32>;
@group(0) @binding(7) var<storage, read> guides: array<Guide>;
@group(0) @binding(8) var<storage, read> masks: array<u32>;
// What hairs lean by, as seen from the head [m]; the fourth number is the part of the way from its guides that a vertex
// keeps while a hair is walked, and between frames, at its root, whether the hair leans.
@group(0) @binding(9) var<storage, read_write> kept: array<vec4f>;
${DISTANCE}
const MAX_STEPS = 64;
const HALVES = 6;
const SHORTEST_STEP = 1.0 / 64.0;
const GONE = 1e-5; // [m]
/** Middle of the guides of a hair at a vertex, and how far they have come from rest. */
struct Seen { middle: vec3f, shift: f32 }
fn seen(hair: u32, vertex: u32, mask: u32) -> Seen {
  var middle = vec3f(0.0);
  var shift = vec3f(0.0);
  for (var a = 0u; a < lean.guides; a++) {
    if (((mask >> a) & 1u) == 0u) { continue; }
    let place = places[rows[hair * lean.guides + a] * lean.vertices + vertex];
    let before = u32(place.x);
    middle += mix(guides[before].at.xyz, guides[before + 1].at.xyz, place.y);
    shift += mix(guides[before].shift.xyz, guides[before + 1].shift.xyz, place.y);
  }
  let share = 1.0 / f32(countOneBits(mask));
  return Seen(share * middle, share * length(shift));
}
/** Whether a ball without the solid covers all ways from the segment between a and b to that of c and d. */
fn isClear(s: u32, a: vec3f, b: vec3f, c: vec3f, d: vec3f) -> bool {
  let middle = 0.25 * (a + b + c + d);
  let farthest = max(max(distance(a, middle), distance(b, middle)), max(distance(c, middle), distance(d, middle)));
  return steepDistance(s, middle) > farthest;
}
/** Part of the way from a along d that is free of a solid; \`start\` [m] is left at a. */
fn freeOf(s: u32, start: f32, a: vec3f, d: vec3f) -> f32 {
  let size = length(d);
  var room = start;
  var travelled = 0.0;
  for (var step = 0; step < MAX_STEPS && travelled < 1.0; step++) {
    var ahead = min(travelled + max(room / size, SHORTEST_STEP), 1.0);
    room = steepDistance(s, a + ahead * d);
    if (room >= 0.0) {
      travelled = ahead;
      continue;
    }
    for (var half = 0; half < HALVES; half++) {
      let middle = 0.5 * (travelled + ahead);
      if (steepDistance(s, a + middle * d) < 0.0) { ahead = middle; } else { travelled = middle; }
    }
    return travelled;
  }
  return 1.0;
}
fn freePart(near: u32, a: vec3f, at: vec3f) -> f32 {
  let size = distance(a, at);
  var free = 1.0;
  for (var s = solids.hasBody; s < solids.count; s++) {
    if (((near >> s) & 1u) == 0u) { continue; }
    let room = steepDistance(s, a);
    if (room > 0.0 && room < free * size) { free = min(free, freeOf(s, room, a, at - a)); }
  }
  return free;
}
/** Fill the parts of a hair; returns whether any is below 1. */
fn findParts(hair: u32, mask: u32) -> bool {
  let first = hair * lean.vertices;
  var leans = false;
  var was = Seen();
  for (var vertex = 0u; vertex < lean.vertices; vertex++) {
    let i = first + vertex;
    let at = carried[i].xyz;
    let own = seen(hair, vertex, mask);
    kept[i].w = 1.0;
    if (vertex > 0u) {
      let before = carried[i - 1].xyz;
      var near = 0u;
      for (var s = solids.hasBody; s < solids.count; s++) {
        if (!isClear(s, was.middle, own.middle, before, at)) { near |= 1u << s; }
      }
      for (var k = 0u; k < lean.between && near != 0u; k++) {
        let u = f32(k) / f32(lean.between);
        let free = freePart(near, mix(own.middle, was.middle, u), mix(at, before, u));
        kept[i].w = min(kept[i].w, free);
        if (k > 0u) { kept[i - 1].w = min(kept[i - 1].w, free); }
        leans = leans || free < 1.0;
      }
    }
    was = own;
  }
  return leans;
}
/** Let vertices before and behind one that leans lean along. */
fn spread(first: u32) {
  let end = first + lean.vertices;
  for (var i = first + 1; i < end; i++) { kept[i].w = min(kept[i].w, kept[i - 1].w + lean.recovery.x); }
  for (var i = end - 1; i > first; i--) { kept[i - 1].w = min(kept[i - 1].w, kept[i].w + lean.recovery.y); }
  kept[first].w = 1.0;
}
${THREAD}
  if (thread >= lean.strands) { return; }
  let first = thread * lean.vertices;
  let mask = masks[thread] & 0xffffu;
  let wasLeaning = kept[first].w > 0.5;
  var leans = false;
  if (mask != 0u && solids.count > solids.hasBody) { leans = findParts(thread, mask); }
  if (leans) { spread(first); }
  var largest = 0.0;
  for (var vertex = 0u; vertex < lean.vertices; vertex++) {
    let i = first + vertex;
    let at = carried[i].xyz;
    points[i] = carried[i];
    if (!leans && !wasLeaning) { continue; }
    var goal = vec3f(0.0);
    if (leans) {
      let own = seen(thread, vertex, mask);
      let way = at - own.middle;
      goal = transpose(lean.turn) * (-min(1.0 - kept[i].w, own.shift / max(length(way), 1e-12)) * way);
    }
    let now = goal + lean.decay * (kept[i].xyz - goal);
    kept[i] = vec4f(now, 0.0);
    largest = max(largest, max(abs(now.x), max(abs(now.y), abs(now.z))));
    points[i] = vec4f(at + lean.turn * now, carried[i].w);
  }
  let isLeaning = leans || (wasLeaning && largest > GONE);
  kept[first].w = select(0.0, 1.0, isLeaning);
  if (wasLeaning && !isLeaning) {
    for (var i = first; i < first + lean.vertices; i++) {
      kept[i] = vec4f(0.0);
      points[i] = carried[i];
    }
  }
}`;

export class Leaning {
  private readonly lean: GPUComputePipeline;
  private readonly uniforms: Uniforms;

  constructor(private readonly gpu: Gpu) {
    this.lean = gpu.compute(LEAN);
    this.uniforms = gpu.uniforms(80);
  }

  /** Fill `points` with the first hairs of `carried`, leaning. */
  run(
    encoder: GPUCommandEncoder,
    carrier: AdaptiveCarrier,
    carried: GPUBuffer,
    shared: HairBuffers,
    solids: SolidBuffers,
    points: GPUBuffer,
    frame: Frame,
    strands: number,
  ): void {
    const { hair } = shared;
    const { places, rows, guides, masks } = carrier.buffers;
    const message: Adaptive = carrier.message;
    const about = [solids.uniforms.buffer, solids.numbers];
    this.uniforms.begin().matrix3(matrixOf(frame.head.subarray(3, 7)));
    this.uniforms.float(message.recovery[0], message.recovery[1], carrier.decay).word(message.between);
    this.uniforms.word(strands, hair.vertices, message.places).send();
    const own = [carried, points, places, rows, guides, masks, carrier.kept];
    this.gpu.run(encoder, this.lean, [this.uniforms.buffer, ...about, ...own], strands);
  }
}

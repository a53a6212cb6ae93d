// How far a point is from each solid: exact where it is made of shapes (body/_kernels_shapes.py), so that teeth of a
// comb count, and by a distance field on a grid where it is a mesh.

import type { Field, Frame, FromServer, Shape, Solid } from "../generated/protocol";
import { matrixOf } from "../guides";
import type { Gpu, Uniforms } from "./gpu";

export const MOST_SOLIDS = 8;
const PLANE = 3; // a kind of primitive, without an end
const EVERYWHERE = 1e9; // [m]
const ROW = 17; // numbers of a primitive: its kind, and sixteen
const NUMBERS = 28; // of a solid, as the shader has it

/** WGSL: `distanceAt` and `towards` of a solid, for points of the world. Needs bindings \`solids\` and \`numbers\`. */
export const DISTANCE = `
struct Solid {
  turn: mat3x3f,
  origin: vec3f, cell: f32,
  low: vec3f, first: u32,
  nodes: vec3u, rows: u32,
  ball: vec4f, // around a solid of shapes, in its own frame
}
struct Solids { list: array<Solid, ${MOST_SOLIDS}>, count: u32, hasBody: u32 }
const FAR = 1.0; // [m] beyond a grid, and beyond the ball around shapes
const FLAT = 1e-3; // a slope below that is no direction, as in body/_kernels_solid_f32.py
const FIELD_SLOPE = 1.7321; // at most, of a field along a way
fn node(first: u32, nodes: vec3u, at: vec3u) -> f32 { return numbers[first + at.x + nodes.x * (at.y + nodes.y * at.z)]; }
fn fieldAt(s: u32, at: vec3f) -> f32 {
  let nodes = solids.list[s].nodes;
  let place = (at - solids.list[s].low) / solids.list[s].cell;
  if (any(place < vec3f(0.0)) || any(place > vec3f(nodes - 1u))) { return FAR; }
  let low = min(vec3u(place), nodes - 2u);
  let t = place - vec3f(low);
  let first = solids.list[s].first;
  var plane: array<f32, 2>;
  for (var z = 0u; z < 2u; z++) {
    let a = mix(node(first, nodes, low + vec3u(0, 0, z)), node(first, nodes, low + vec3u(1, 0, z)), t.x);
    let b = mix(node(first, nodes, low + vec3u(0, 1, z)), node(first, nodes, low + vec3u(1, 1, z)), t.x);
    plane[z] = mix(a, b, t.y);
  }
  return mix(plane[0], plane[1], t.z);
}
fn three(at: u32) -> vec3f { return vec3f(numbers[at], numbers[at + 1], numbers[at + 2]); }
fn direction(v: vec3f, otherwise: vec3f) -> vec3f {
  let size = length(v);
  return select(otherwise, v / max(size, 1e-15), size > 1e-15);
}
/** Unit gradient and distance of one primitive, in its solid's frame. */
fn primitive(row: u32, at: vec3f) -> vec4f {
  let kind = u32(numbers[row]);
  let p = row + 1u;
  if (kind == 0u) { // sphere
    let d = at - three(p);
    return vec4f(direction(d, vec3f(0.0, 1.0, 0.0)), length(d) - numbers[p + 3]);
  }
  if (kind == 1u) { // capsule
    let axis = three(p + 3);
    let start = at - three(p);
    let d = start - clamp(dot(start, axis) * numbers[p + 6], 0.0, 1.0) * axis;
    return vec4f(direction(d, three(p + 8)), length(d) - numbers[p + 7]);
  }
  if (kind == 2u) { // box
    let turn = transpose(mat3x3f(three(p + 7), three(p + 10), three(p + 13)));
    let local = transpose(turn) * (at - three(p));
    let q = abs(local) - three(p + 3);
    let deepest = max(q.x, max(q.y, q.z));
    let x = select(0.0, 1.0, q.x == deepest);
    let y = select(0.0, 1.0, q.y == deepest && q.x != deepest);
    let outside = max(q, vec3f(0.0));
    let far = length(outside);
    let up = direction(outside, vec3f(x, y, 1.0 - x - y)) * select(vec3f(-1.0), vec3f(1.0), local >= vec3f(0.0));
    return vec4f(turn * up, select(deepest, far, far > 1e-15) - numbers[p + 6]);
  }
  if (kind == 3u) { return vec4f(three(p + 3), dot(at - three(p), three(p + 3))); } // plane
  let axis = three(p + 3); // torus
  let height = dot(at - three(p), axis);
  let d = at - three(p) - height * axis;
  let across = length(d) - numbers[p + 6];
  let away = vec2f(across, height);
  let up = direction(vec3f(away, 0.0), vec3f(0.0, 1.0, 0.0));
  return vec4f(up.x * direction(d, three(p + 8)) + up.y * axis, length(away) - numbers[p + 7]);
}
fn shapesAt(s: u32, at: vec3f) -> vec4f {
  var nearest = primitive(solids.list[s].first, at);
  for (var k = 1u; k < solids.list[s].rows; k++) {
    let one = primitive(solids.list[s].first + ${ROW}u * k, at);
    if (one.w < nearest.w) { nearest = one; }
  }
  return nearest;
}
fn local(s: u32, world: vec3f) -> vec3f { return transpose(solids.list[s].turn) * (world - solids.list[s].origin); }
fn distanceIn(s: u32, at: vec3f) -> f32 {
  if (solids.list[s].rows == 0u) { return fieldAt(s, at); }
  let ball = solids.list[s].ball;
  let beyond = distance(at, ball.xyz) - ball.w;
  if (beyond > 0.03) { return beyond; } // less than the distance, and all that anybody asks from so far away
  return shapesAt(s, at).w;
}
/** Distance [m] of a point of the world. */
fn distanceAt(s: u32, world: vec3f) -> f32 { return distanceIn(s, local(s, world)); }
/** Distance over how fast it may fall along a way. */
fn steepDistance(s: u32, world: vec3f) -> f32 {
  return distanceAt(s, world) / select(1.0, FIELD_SLOPE, solids.list[s].rows == 0u);
}
/** The way out of a solid, of length 1 or less. */
fn towards(s: u32, world: vec3f) -> vec3f {
  let at = local(s, world);
  if (solids.list[s].rows > 0u) { return solids.list[s].turn * shapesAt(s, at).xyz; }
  let e = vec3f(0.5 * solids.list[s].cell, 0.0, 0.0);
  let up = vec3f(
    fieldAt(s, at + e.xyy) - fieldAt(s, at - e.xyy),
    fieldAt(s, at + e.yxy) - fieldAt(s, at - e.yxy),
    fieldAt(s, at + e.yyx) - fieldAt(s, at - e.yyx)) / solids.list[s].cell;
  return solids.list[s].turn * up / max(length(up), FLAT);
}`;

interface Known {
  field?: Field;
  shape?: Shape;
  ball: [number, number, number, number];
}

/** What is known of solids: numbers in one buffer, and where they are in a frame. */
export class SolidBuffers {
  numbers: GPUBuffer;
  readonly uniforms: Uniforms;
  private readonly known = new Map<number, Known>();
  private order: number[] = []; // number of each solid of the list
  private firsts: number[] = [];
  private isNew = true;

  constructor(private readonly gpu: Gpu) {
    this.numbers = gpu.storage(16);
    this.uniforms = gpu.uniforms(4 * (NUMBERS * MOST_SOLIDS + 4));
  }

  take(message: FromServer): void {
    if (message.kind === "solid") {
      this.known.delete(message.number); // it may have become another one
      this.with(message.number, { ball: ballAround(message) });
    }
    if (message.kind === "field") this.with(message.number, { field: message });
    if (message.kind === "shape") this.with(message.number, { shape: message });
  }

  private with(number: number, part: Partial<Known>): void {
    const before = this.known.get(number) ?? { ball: [0, 0, 0, Infinity] };
    this.known.set(number, { ...before, ...part });
    this.isNew = true;
  }

  keepFirst(count: number): void {
    [...this.known.keys()].filter((number) => number >= count).forEach((number) => this.known.delete(number));
    this.isNew = true;
  }

  /** Whether there is anything that hair is kept out of. */
  get any(): boolean {
    return this.count > 0;
  }

  get count(): number {
    if (this.isNew) this.pack();
    return this.order.length;
  }

  /** Whether the first solid is the body. */
  get hasBody(): boolean {
    return this.order[0] === 0;
  }

  private pack(): void {
    this.isNew = false;
    const usable = [...this.known].filter(([, one]) => one.shape ?? one.field).sort(([a], [b]) => a - b);
    const parts = usable.slice(0, MOST_SOLIDS).map(([, one]) => (one.shape ? shapeNumbers(one.shape) : (one.field as Field).distance));
    this.order = usable.slice(0, MOST_SOLIDS).map(([number]) => number);
    this.firsts = [];
    let size = 0;
    for (const part of parts) {
      this.firsts.push(size);
      size += part.length;
    }
    const all = new Float32Array(Math.max(size, 4));
    parts.forEach((part, index) => all.set(part, this.firsts[index]));
    this.numbers.destroy();
    this.numbers = this.gpu.storage(all);
  }

  /** Put solids where a frame has them. */
  place(frame: Frame): void {
    if (this.isNew) this.pack();
    this.order.forEach((number, index) => {
      const pose = frame.solids.subarray(7 * number, 7 * number + 7);
      const { field, shape, ball } = this.known.get(number) as Known;
      const grid = shape ? undefined : field;
      const radius = shape?.kinds.includes(PLANE) ? EVERYWHERE : ball[3];
      this.uniforms.from(NUMBERS * index).matrix3(matrixOf(pose.subarray(3, 7)));
      this.uniforms.float(pose[0], pose[1], pose[2], grid?.cell ?? 1);
      this.uniforms.float(...(grid?.low ?? [0, 0, 0])).word(this.firsts[index]);
      this.uniforms.word(...(grid?.nodes ?? [2, 2, 2]), shape?.kinds.length ?? 0);
      this.uniforms.float(ball[0], ball[1], ball[2], radius);
    });
    this.uniforms.from(NUMBERS * MOST_SOLIDS).word(this.order.length, this.hasBody ? 1 : 0).send();
  }
}

function shapeNumbers(shape: Shape): Float32Array {
  const own = shape.params.length / shape.kinds.length;
  const out = new Float32Array(ROW * shape.kinds.length);
  for (let k = 0; k < shape.kinds.length; k++) out.set([shape.kinds[k], ...shape.params.subarray(own * k, own * (k + 1))], ROW * k);
  return out;
}

/** A ball around a solid: middle of its box, and the farthest vertex. */
function ballAround({ points }: Solid): [number, number, number, number] {
  const middle = [0, 1, 2].map((c) => {
    let [low, high] = [Infinity, -Infinity];
    for (let i = c; i < points.length; i += 3) [low, high] = [Math.min(low, points[i]), Math.max(high, points[i])];
    return 0.5 * (low + high);
  });
  let farthest = 0;
  for (let i = 0; i < points.length; i += 3) {
    farthest = Math.max(farthest, Math.hypot(points[i] - middle[0], points[i + 1] - middle[1], points[i + 2] - middle[2]));
  }
  return [middle[0], middle[1], middle[2], 1.01 * farthest + 1e-3]; // triangles may lie inside of what they stand for
}

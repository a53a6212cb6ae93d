// Light on hair in WGSL: the tables of the renderer's fibre as textures; the sums are those of ../fibre.ts.

import type { Look } from "../generated/protocol";
import type { Gpu } from "./gpu";

const PHI = 97;
const COSINE = 24;
const PIGMENT = 20;
const SPREAD_PHI = 13;
const BALANCE = 65;
const LARGEST = 65000; // that half a float holds, nearly

/** The tables of a look, which are read linearly between their nodes. */
export class FibreTextures {
  readonly lobes: GPUTexture;
  readonly spread: GPUTexture;
  readonly shares: GPUTexture;
  readonly balance: GPUTexture;
  readonly header: GPUBuffer;

  constructor(
    private readonly gpu: Gpu,
    look: Look,
  ) {
    this.lobes = this.texture(look.lobes, 4, [PIGMENT, COSINE, PHI]);
    this.spread = this.texture(look.spread, 2, [PIGMENT, COSINE, SPREAD_PHI]);
    this.shares = this.texture(look.shares, 4, [PIGMENT, COSINE, 1]);
    this.balance = this.texture(look.balance, 1, [BALANCE, 2, 1]);
    this.header = gpu.storage(look.header.slice());
  }

  private texture(values: ArrayLike<number>, channels: number, size: [number, number, number]): GPUTexture {
    const count = size[0] * size[1] * size[2];
    const halves = new Uint16Array(4 * count);
    for (let i = 0; i < count; i++) {
      for (let c = 0; c < channels; c++) halves[4 * i + c] = half(Math.min(values[i * channels + c], LARGEST));
    }
    const texture = this.gpu.device.createTexture({
      size,
      dimension: size[2] > 1 ? "3d" : "2d",
      format: "rgba16float",
      usage: GPUTextureUsage.TEXTURE_BINDING | GPUTextureUsage.COPY_DST,
    });
    this.gpu.device.queue.writeTexture({ texture }, halves, { bytesPerRow: 8 * size[0], rowsPerImage: size[1] }, size);
    return texture;
  }

  /** In the order of the bindings of `FIBRE`. */
  get bound(): (GPUTextureView | GPUBuffer)[] {
    return [...[this.lobes, this.spread, this.shares, this.balance].map((one) => one.createView()), this.header];
  }

  dispose(): void {
    [this.lobes, this.spread, this.shares, this.balance, this.header].forEach((one) => one.destroy());
  }
}

const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

/** A number as half a float, rounded to the nearest. */
export function half(value: number): number {
  FLOAT[0] = value;
  const bits = BITS[0];
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  if (magnitude < 0x38800000) return sign | Math.round(Math.abs(FLOAT[0]) * 2 ** 24); // below the smallest normal one
  return sign | ((magnitude - 0x38000000 + 0x0fff + ((magnitude >>> 13) & 1)) >>> 13);
}

/** WGSL of the fibre: `lit` for one lamp and `ambient` for the sky; bindings 5 to 9, and `smooth_` of the shadow. */
export const FIBRE = `
@group(0) @binding(5) var lobes: texture_3d<f32>;
@group(0) @binding(6) var spread: texture_3d<f32>;
@group(0) @binding(7) var shares: texture_2d<f32>;
@group(0) @binding(8) var balanceTable: texture_2d<f32>;
@group(0) @binding(9) var<storage, read> header: array<f32>;
const DENSITY = 1;
const MULTIPLE = 2;
const INV_VARIANCE = 8;
const NORM = 14;
const COS_SHIFT = 20;
const SIN_SHIFT = 24;
const DIFFUSE_PATH = 28;
const LOSS = 29;
const FEW = 30;
const PI = 3.14159265;
// Water in the hair, as ../fibre.ts has it.
const WET_ABSORPTION = 0.9;
const WET_SCATTERING = 0.35;
const WET_SHARPNESS = 4.92;
var<private> damp: f32 = 0.0; // how wet the vertex is, 0 to 1
fn multiple() -> f32 { return header[MULTIPLE] * (1.0 - WET_SCATTERING * damp); }
fn nodeOf(x: f32, nodes: f32) -> f32 { return (clamp(x, 0.0, 1.0) * (nodes - 1.0) + 0.5) / nodes; }
fn cosineOf(sine: f32) -> f32 { return sqrt(max(1.0 - sine * sine, 0.0)); }
fn longitudinal(k: i32, sines: f32, cosinesGiven: f32) -> f32 {
  let sharper = 1.0 + (WET_SHARPNESS - 1.0) * damp;
  let inverse = header[INV_VARIANCE + k] * sharper;
  let cosines = abs(cosinesGiven);
  let width = 2.0 * cosines * inverse;
  let mean = select(1.0, (1.0 - exp(-min(width, 80.0))) / max(width, 1e-3), width > 1e-3);
  return header[NORM + k] * sharper * sqrt(sharper) * exp((cosines - sines - 1.0) * inverse) * mean;
}
fn lobeWeight(p: i32, sinLight: f32, cosLight: f32, sinEye: f32, cosEye: f32) -> f32 {
  let c = header[COS_SHIFT + p];
  let s = header[SIN_SHIFT + p];
  return longitudinal(p, sinLight * (sinEye * c - cosEye * s), cosLight * (cosEye * c + sinEye * s));
}
fn balanced(row: f32, sine: f32, cosine: f32) -> f32 {
  return textureSampleLevel(balanceTable, smooth_, vec2f(nodeOf(0.5 + 0.5 * sine / (1.0 + cosine), ${BALANCE}.0), row), 0.0).x;
}
// Light per channel that other hairs have scattered before: decay per hair, and backward light per forward light.
fn streams(share: vec4f) -> vec2f {
  let lost = header[DIFFUSE_PATH] * (header[LOSS] - share.x);
  let back = header[DIFFUSE_PATH] * share.y;
  let rate = sqrt(max(lost * lost - back * back, 0.0));
  return vec2f(rate, (lost - rate) / max(back, 1e-12));
}
fn lit(tangent: vec3f, toEye: vec3f, pigment: vec3f, toLight: vec3f, light: vec3f, scatter: f32) -> vec3f {
  let sinLight = dot(tangent, toLight);
  let sinEye = dot(tangent, toEye);
  let cosLight = cosineOf(sinLight);
  let cosEye = cosineOf(sinEye);
  let sines = sinLight * sinEye;
  let cosines = cosLight * cosEye;
  let cosPhi = (dot(toLight, toEye) - sines) / max(cosines, 1e-12);
  let turn = acos(clamp(cosPhi, -1.0, 1.0)) / PI;
  let cosD = sqrt(max(0.5 * (1.0 + cosines + sines), 0.0));
  let m = vec4f(lobeWeight(0, sinLight, cosLight, sinEye, cosEye), lobeWeight(1, sinLight, cosLight, sinEye, cosEye),
                lobeWeight(2, sinLight, cosLight, sinEye, cosEye), lobeWeight(3, sinLight, cosLight, sinEye, cosEye));
  let hairs = header[DENSITY] * scatter;
  let direct = exp(-hairs);
  let few = 1.0 / (1.0 + header[FEW] * hairs);
  let many = longitudinal(5, sines, cosines);
  let spreadM = multiple() * (many + few * (longitudinal(4, sines, cosines) - many));
  let lobeLight = direct * balanced(0.25, sinLight, cosLight) * balanced(0.75, sinEye, cosEye);
  let cosineNode = nodeOf(cosD, ${COSINE}.0);
  var sum = vec3f(0.0);
  for (var c = 0; c < 3; c++) {
    let pigmentNode = nodeOf(pigment[c], ${PIGMENT}.0);
    let lobeSum = dot(m, textureSampleLevel(lobes, smooth_, vec3f(pigmentNode, cosineNode, nodeOf(turn, ${PHI}.0)), 0.0));
    let share = textureSampleLevel(shares, smooth_, vec2f(pigmentNode, cosineNode), 0.0);
    let stream = streams(share);
    let back = header[DIFFUSE_PATH] * share.y;
    let beamForward = header[DIFFUSE_PATH] * share.z;
    let beamBackward = header[DIFFUSE_PATH] * share.w;
    let first = (beamBackward + stream.y * beamForward) / (1.0 + stream.x);
    let slower = 1.0 - stream.x;
    var front = hairs * direct;
    if (abs(slower) >= 1e-3) { front = (exp(-stream.x * hairs) - direct) / slower; }
    front *= beamForward + back * first;
    let rear = stream.y * front + first * direct;
    let wide = textureSampleLevel(spread, smooth_, vec3f(pigmentNode, cosineNode, nodeOf(turn, ${SPREAD_PHI}.0)), 0.0).xy;
    sum[c] = lobeLight * lobeSum + spreadM * dot(wide, vec2f(front, rear));
  }
  return light * cosLight * sum;
}
// The sky. The renderer knows how open each vertex is; here that is half of the sky, dimmed by \`scatter\` hairs.
fn ambient(tangent: vec3f, toEye: vec3f, pigment: vec3f, sky: vec3f, scatter: f32) -> vec3f {
  let cosineNode = nodeOf(cosineOf(dot(tangent, toEye)), ${COSINE}.0);
  let open = clamp(exp(-header[DENSITY] * scatter), 1e-6, 1.0);
  var sum = vec3f(0.0);
  for (var c = 0; c < 3; c++) {
    let pigmentNode = nodeOf(pigment[c], ${PIGMENT}.0);
    let stream = streams(textureSampleLevel(shares, smooth_, vec2f(pigmentNode, cosineNode), 0.0));
    let inside = pow(open, stream.x);
    let front = open + multiple() * (inside - open);
    let rear = multiple() * stream.y * inside;
    let wide = textureSampleLevel(spread, smooth_, vec3f(pigmentNode, cosineNode, nodeOf(0.25, ${SPREAD_PHI}.0)), 0.0).xy;
    sum[c] = dot(wide, vec2f(front, rear));
  }
  return PI * sum * sky * 2.0;
}`;

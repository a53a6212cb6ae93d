// Light on hair: the tables of the renderer's fibre (render/shading.py) as textures, read once per vertex of a hair.
// Lobes, scattering from hair to hair and balance are its sums; what differs is said at `ambient`.

import * as THREE from "three";
import type { Look } from "./generated/protocol";

const PHI = 97;
const COSINE = 24;
const PIGMENT = 20;
const SPREAD_PHI = 13;
const BALANCE = 65;

function halves(values: ArrayLike<number>, channels: number, count: number): Uint16Array {
  const out = new Uint16Array(4 * count);
  for (let i = 0; i < count; i++) {
    for (let c = 0; c < channels; c++) out[4 * i + c] = THREE.DataUtils.toHalfFloat(Math.min(values[i * channels + c], 65000));
  }
  return out;
}

function smooth<T extends THREE.Texture>(texture: T): T {
  texture.format = THREE.RGBAFormat;
  texture.type = THREE.HalfFloatType;
  texture.minFilter = texture.magFilter = THREE.LinearFilter;
  texture.needsUpdate = true;
  return texture;
}

/** The tables of a look as textures that are read linearly between their nodes. */
export class FibreTextures {
  readonly lobes: THREE.Data3DTexture;
  readonly spread: THREE.Data3DTexture;
  readonly shares: THREE.DataTexture;
  readonly balance: THREE.DataTexture;
  readonly header: Float32Array;

  constructor(look: Look) {
    this.header = look.header.slice();
    this.lobes = smooth(new THREE.Data3DTexture(halves(look.lobes, 4, PHI * COSINE * PIGMENT), PIGMENT, COSINE, PHI));
    const spread = halves(look.spread, 2, SPREAD_PHI * COSINE * PIGMENT);
    this.spread = smooth(new THREE.Data3DTexture(spread, PIGMENT, COSINE, SPREAD_PHI));
    this.shares = smooth(new THREE.DataTexture(halves(look.shares, 4, COSINE * PIGMENT), PIGMENT, COSINE));
    this.balance = smooth(new THREE.DataTexture(halves(look.balance, 1, 2 * BALANCE), BALANCE, 2));
  }

  dispose(): void {
    [this.lobes, this.spread, this.shares, this.balance].forEach((one) => one.dispose());
  }
}

/** GLSL of the fibre: `lit` for one lamp and `ambient` for the sky, as render/_kernels_shading.py has them. */
export const FIBRE = `
uniform sampler3D lobes, spread;
uniform sampler2D shares, balanceTable;
uniform float header[31];
const int DENSITY = 1, MULTIPLE = 2, INV_VARIANCE = 8, NORM = 14, COS_SHIFT = 20, SIN_SHIFT = 24;
const int DIFFUSE_PATH = 28, LOSS = 29, FEW = 30;
const float PI = 3.14159265;
// Water in the hair as render/looks.py has it: more pigment on longer ways, less light from hair to hair, and a smoother
// fibre, whose lobes are \`WET_SHARPNESS\` narrower in variance. Lobes as narrow as these keep their energy by its power 3/2.
const float WET_ABSORPTION = 0.9, WET_SCATTERING = 0.35, WET_SHARPNESS = 4.92;
float damp = 0.0; // how wet the vertex is, 0 to 1
float multiple() { return header[MULTIPLE] * (1.0 - WET_SCATTERING * damp); }
float node(float x, float nodes) { return (clamp(x, 0.0, 1.0) * (nodes - 1.0) + 0.5) / nodes; }
float cosineOf(float sine) { return sqrt(max(1.0 - sine * sine, 0.0)); }
float longitudinal(int k, float sines, float cosines) {
  float sharper = 1.0 + (WET_SHARPNESS - 1.0) * damp;
  float inverse = header[INV_VARIANCE + k] * sharper;
  cosines = abs(cosines);
  float width = 2.0 * cosines * inverse;
  float mean = width > 1e-3 ? (1.0 - exp(-min(width, 80.0))) / width : 1.0;
  return header[NORM + k] * sharper * sqrt(sharper) * exp((cosines - sines - 1.0) * inverse) * mean;
}
float lobeWeight(int p, float sinLight, float cosLight, float sinEye, float cosEye) {
  float c = header[COS_SHIFT + p], s = header[SIN_SHIFT + p];
  return longitudinal(p, sinLight * (sinEye * c - cosEye * s), cosLight * (cosEye * c + sinEye * s));
}
float balanced(float row, float sine, float cosine) {
  return texture(balanceTable, vec2(node(0.5 + 0.5 * sine / (1.0 + cosine), ${BALANCE}.0), row)).x;
}
// Light per channel that other hairs have scattered before: decay per hair, and backward light per forward light.
vec2 streams(vec4 share) {
  float lost = header[DIFFUSE_PATH] * (header[LOSS] - share.x), back = header[DIFFUSE_PATH] * share.y;
  float rate = sqrt(max(lost * lost - back * back, 0.0));
  return vec2(rate, (lost - rate) / max(back, 1e-12));
}
vec3 lit(vec3 tangent, vec3 toEye, vec3 pigment, vec3 toLight, vec3 light, float scatter) {
  float sinLight = dot(tangent, toLight), sinEye = dot(tangent, toEye);
  float cosLight = cosineOf(sinLight), cosEye = cosineOf(sinEye);
  float sines = sinLight * sinEye, cosines = cosLight * cosEye;
  float cosPhi = (dot(toLight, toEye) - sines) / max(cosines, 1e-12);
  float turn = acos(clamp(cosPhi, -1.0, 1.0)) / PI;
  float cosD = sqrt(max(0.5 * (1.0 + cosines + sines), 0.0));
  vec4 m = vec4(lobeWeight(0, sinLight, cosLight, sinEye, cosEye), lobeWeight(1, sinLight, cosLight, sinEye, cosEye),
                lobeWeight(2, sinLight, cosLight, sinEye, cosEye), lobeWeight(3, sinLight, cosLight, sinEye, cosEye));
  float hairs = header[DENSITY] * scatter, direct = exp(-hairs);
  float few = 1.0 / (1.0 + header[FEW] * hairs);
  float many = longitudinal(5, sines, cosines);
  float spreadM = multiple() * (many + few * (longitudinal(4, sines, cosines) - many));
  float lobeLight = direct * balanced(0.25, sinLight, cosLight) * balanced(0.75, sinEye, cosEye);
  vec3 sum = vec3(0.0);
  float cosineNode = node(cosD, ${COSINE}.0);
  for (int c = 0; c < 3; c++) {
    float pigmentNode = node(pigment[c], ${PIGMENT}.0);
    float lobeSum = dot(m, texture(lobes, vec3(pigmentNode, cosineNode, node(turn, ${PHI}.0))));
    vec4 share = texture(shares, vec2(pigmentNode, cosineNode));
    vec2 stream = streams(share);
    float back = header[DIFFUSE_PATH] * share.y;
    float beamForward = header[DIFFUSE_PATH] * share.z, beamBackward = header[DIFFUSE_PATH] * share.w;
    float first = (beamBackward + stream.y * beamForward) / (1.0 + stream.x);
    float slower = 1.0 - stream.x;
    float front = abs(slower) < 1e-3 ? hairs * direct : (exp(-stream.x * hairs) - direct) / slower;
    front *= beamForward + back * first;
    float rear = stream.y * front + first * direct;
    vec2 wide = texture(spread, vec3(pigmentNode, cosineNode, node(turn, ${SPREAD_PHI}.0))).xy;
    sum[c] = lobeLight * lobeSum + spreadM * dot(wide, vec2(front, rear));
  }
  return light * cosLight * sum;
}
// The sky. The renderer knows how open each vertex is; here that is half of the sky, dimmed by \`scatter\` hairs.
vec3 ambient(vec3 tangent, vec3 toEye, vec3 pigment, vec3 sky, float scatter) {
  float cosineNode = node(cosineOf(dot(tangent, toEye)), ${COSINE}.0);
  float open = clamp(exp(-header[DENSITY] * scatter), 1e-6, 1.0);
  vec3 sum = vec3(0.0);
  for (int c = 0; c < 3; c++) {
    float pigmentNode = node(pigment[c], ${PIGMENT}.0);
    vec2 stream = streams(texture(shares, vec2(pigmentNode, cosineNode)));
    float inside = pow(open, stream.x);
    float front = open + multiple() * (inside - open), rear = multiple() * stream.y * inside;
    sum[c] = dot(texture(spread, vec3(pigmentNode, cosineNode, node(0.25, ${SPREAD_PHI}.0))).xy, vec2(front, rear));
  }
  return PI * sum * sky * 2.0;
}
`;

// The light in WGSL: lamps and sky as one struct, shadows of hair and solids, and what a display makes of light.

import type * as THREE from "three";
import { LAMPS } from "../lamps";
import type { Gpu, Uniforms } from "./gpu";

/** Declares \`scene\` (binding 0), and the maps of shadows and their sampler (bindings 1 to 4). */
export const LIGHT = `
struct Scene {
  lightMatrix: mat4x4f,
  viewProjection: mat4x4f,
  eye: vec3f, thickness: f32,
  key: vec3f, reach: f32,
  keyColor: vec3f, width: f32,
  rim: vec3f, vertices: u32,
  rimColor: vec3f, count: u32,
  sky: vec3f, view: u32,
  size: vec2f, weight: f32, isWet: u32,
}
@group(0) @binding(0) var<uniform> scene: Scene;`;
const BYTES = 240;

export const SHADOW = `
@group(0) @binding(1) var smooth_: sampler;
@group(0) @binding(2) var nearestMap: texture_2d<f32>;
@group(0) @binding(3) var layerMap: texture_2d<f32>;
@group(0) @binding(4) var solidMap: texture_depth_2d;
const DEPTHS = vec4f(0.008, 0.02, 0.05, 0.12); // [m] behind the nearest hair
fn layered(layers: vec4f, behind: f32) -> f32 {
  if (behind <= 0.0) { return 0.0; }
  if (behind < DEPTHS.x) { return layers.x * behind / DEPTHS.x; }
  if (behind < DEPTHS.y) { return mix(layers.x, layers.y, (behind - DEPTHS.x) / (DEPTHS.y - DEPTHS.x)); }
  if (behind < DEPTHS.z) { return mix(layers.y, layers.z, (behind - DEPTHS.y) / (DEPTHS.z - DEPTHS.y)); }
  return mix(layers.z, layers.w, min((behind - DEPTHS.z) / (DEPTHS.w - DEPTHS.z), 1.0));
}
/** Place in the maps, and depth. */
fn seenByLight(point: vec3f) -> vec3f {
  let seen = scene.lightMatrix * vec4f(point, 1.0);
  return vec3f(0.5 + 0.5 * seen.x, 0.5 - 0.5 * seen.y, seen.z);
}
/** How many hairs the light crosses on its way to a point. */
fn hairsBefore(point: vec3f) -> f32 {
  let seen = seenByLight(point);
  let texel = 1.0 / f32(textureDimensions(layerMap).x);
  let reach = i32(scene.reach);
  var sum = 0.0;
  for (var x = -reach; x <= reach; x++) { for (var y = -reach; y <= reach; y++) {
    let at = seen.xy + 1.2 * texel * vec2f(f32(x), f32(y));
    let behind = (seen.z - textureSampleLevel(nearestMap, smooth_, at, 0.0).x) * scene.thickness;
    sum += layered(textureSampleLevel(layerMap, smooth_, at, 0.0), behind);
  } }
  return sum / f32((2 * reach + 1) * (2 * reach + 1));
}
/** Whether solids let light through. */
fn openToLight(point: vec3f, bias: f32) -> f32 {
  let seen = seenByLight(point);
  let size = vec2i(textureDimensions(solidMap));
  let middle = vec2i(floor(seen.xy * vec2f(size)));
  let reach = i32(scene.reach);
  var sum = 0.0;
  for (var x = -reach; x <= reach; x++) { for (var y = -reach; y <= reach; y++) {
    let at = clamp(middle + vec2i(x, y), vec2i(0), size - 1);
    sum += step(seen.z - bias / scene.thickness, textureLoad(solidMap, at, 0));
  } }
  return sum / f32((2 * reach + 1) * (2 * reach + 1));
}`;

/** Light to what a display shows: a filmic curve (after Narkowicz), then sRGB. */
export const DEVELOP = `
fn develop(light: vec3f) -> vec3f {
  let x = 0.9 * light;
  let film = clamp((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14), vec3f(0.0), vec3f(1.0));
  return mix(12.92 * film, 1.055 * pow(film, vec3f(1.0 / 2.4)) - 0.055, step(vec3f(0.0031308), film));
}`;

/** A matrix of the light's own view, column by column: x and y within -1 and 1, depth within 0 and 1. */
export function lightMatrix(toLight: ArrayLike<number>, center: ArrayLike<number>, radius: number): number[] {
  const [x, y, z] = [toLight[0], toLight[1], toLight[2]];
  const size = Math.hypot(z, x);
  const right = [z / size, 0, -x / size];
  const up = [y * right[2], z * right[0] - x * right[2], -y * right[0]];
  const along = (a: number[]) => a[0] * center[0] + a[1] * center[1] + a[2] * center[2];
  const deep = [-0.5 * x, -0.5 * y, -0.5 * z];
  const rows = [right, up, deep].map((axis) => [...axis.map((a) => a / radius), -along(axis) / radius]);
  rows[2][3] += 0.5;
  return [0, 1, 2, 3].flatMap((c) => [rows[0][c], rows[1][c], rows[2][c], c === 3 ? 1 : 0]);
}

/** Projection and view of a camera, with depths within 0 and 1 as WebGPU wants them, column by column. */
export function clipMatrix(camera: THREE.PerspectiveCamera): number[] {
  const [p, v] = [camera.projectionMatrix.elements, camera.matrixWorldInverse.elements];
  const out: number[] = [];
  for (let c = 0; c < 4; c++) {
    const column = [0, 1, 2, 3].map((r) => [0, 1, 2, 3].reduce((sum, k) => sum + p[4 * k + r] * v[4 * c + k], 0));
    column[2] = 0.5 * (column[2] + column[3]);
    out.push(...column);
  }
  return out;
}

export interface Seen {
  lightMatrix: number[];
  thickness: number;
  reach: number;
  camera: THREE.PerspectiveCamera;
  /** Of the picture [pixels]. */
  size: [number, number];
  /** Of a hair as it is drawn [m], times the focal length. */
  width: number;
  vertices: number;
  count: number;
  view: number;
  /** Hairs that one hair of the shadow map stands for. */
  weight: number;
  isWet: boolean;
}

/** What all shaders know of a picture. */
export class SceneUniforms {
  private readonly uniforms: Uniforms;

  constructor(gpu: Gpu) {
    this.uniforms = gpu.uniforms(BYTES);
  }

  get buffer(): GPUBuffer {
    return this.uniforms.buffer;
  }

  send(seen: Seen): void {
    const { key, keyColor, rim, rimColor, sky } = LAMPS;
    const eye = seen.camera.position;
    this.uniforms.begin().float(...seen.lightMatrix, ...clipMatrix(seen.camera));
    this.uniforms.float(eye.x, eye.y, eye.z, seen.thickness, ...key, seen.reach, ...keyColor, seen.width);
    this.uniforms.float(...rim).word(seen.vertices).float(...rimColor).word(seen.count).float(...sky).word(seen.view);
    this.uniforms.float(...seen.size, seen.weight).word(Number(seen.isWet)).send();
  }
}

// Water: its surface as triangles and its drops, seen by what they mirror (Fresnel) over what is behind them.

import * as THREE from "three";
import type { Water } from "./generated/protocol";
import { DEVELOP, LIGHT, lightUniforms } from "./light";

const MIRROR = `
${LIGHT}
${DEVELOP}
const vec3 TINT = vec3(0.30, 0.55, 0.62);
/** What water shows at a place, over what is behind it: colour times coverage, and coverage. */
vec4 mirrored(vec3 world, vec3 n, float least) {
  vec3 toEye = normalize(eye - world), toSky = reflect(-toEye, n);
  float fresnel = 0.02 + 0.98 * pow(1.0 - clamp(dot(n, toEye), 0.0, 1.0), 5.0);
  vec3 around = mix(vec3(0.10, 0.10, 0.11), 1.3 * sky, smoothstep(-0.4, 0.7, toSky.y));
  vec3 lamps = keyColor * pow(max(dot(toSky, key), 0.0), 180.0) + rimColor * pow(max(dot(toSky, rim), 0.0), 90.0);
  float cover = clamp(least + fresnel + 0.6 * lamps.g, 0.0, 1.0);
  vec3 light = fresnel * around + lamps + least * TINT * (0.35 + 0.65 * max(dot(n, key), 0.0));
  return vec4(develop(light / cover) * cover, cover);
}`;

const SURFACE = {
  vertexShader: `precision highp float;
in vec3 position, normal;
uniform mat4 viewMatrix, projectionMatrix;
out vec3 world, facing;
void main() {
  world = position;
  facing = normal;
  gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
}`,
  fragmentShader: `precision highp float;
in vec3 world, facing;
out vec4 color;
${MIRROR}
void main() { color = mirrored(world, normalize(facing), 0.16); }`,
};

const DROPS = {
  vertexShader: `precision highp float;
in vec4 drop;
uniform mat4 viewMatrix, projectionMatrix;
uniform float height; // of the picture [pixels]
out vec3 world;
out float radius;
void main() {
  world = drop.xyz;
  radius = drop.w;
  gl_Position = projectionMatrix * viewMatrix * vec4(drop.xyz, 1.0);
  gl_PointSize = max(drop.w * projectionMatrix[1][1] * height / gl_Position.w, 1.5);
}`,
  fragmentShader: `precision highp float;
in vec3 world;
in float radius;
uniform mat4 viewMatrix;
out vec4 color;
${MIRROR}
void main() {
  vec2 at = vec2(2.0, -2.0) * gl_PointCoord + vec2(-1.0, 1.0);
  float square = dot(at, at);
  if (square > 1.0) discard;
  vec3 n = vec3(at, sqrt(1.0 - square)) * mat3(viewMatrix); // its transpose turns from the eye to the world
  color = mirrored(world + radius * n, n, 0.2);
}`,
};

export const LARGEST_DROP = 0.006; // [m] radius: what carries more is a splash of several, drawn as one of this size

export class WaterSurface {
  readonly scene = new THREE.Scene();
  private readonly uniforms: Record<string, THREE.IUniform> = { ...lightUniforms(), height: { value: 1 } };
  private readonly surface = new THREE.BufferGeometry();
  private readonly drops = new THREE.BufferGeometry();

  constructor() {
    const shared = { glslVersion: THREE.GLSL3, uniforms: this.uniforms } as const;
    const over = {
      transparent: true, blending: THREE.CustomBlending, blendSrc: THREE.OneFactor, blendDst: THREE.OneMinusSrcAlphaFactor,
    } as const; // prettier-ignore
    // Depths first, so that of several surfaces behind each other the nearest is seen, whatever their order.
    const depths = new THREE.Mesh(this.surface, new THREE.RawShaderMaterial({ ...shared, ...SURFACE, colorWrite: false }));
    const seen = new THREE.Mesh(this.surface, new THREE.RawShaderMaterial({ ...shared, ...SURFACE, ...over }));
    const drops = new THREE.Points(this.drops, new THREE.RawShaderMaterial({ ...shared, ...DROPS, ...over, depthWrite: false }));
    [depths, seen, drops].forEach((one, order) => {
      one.frustumCulled = false;
      one.renderOrder = order;
      this.scene.add(one);
    });
  }

  /** Whether there is any water. */
  isThere = false;

  take(message: Water): void {
    const points = Float32Array.from(message.packed, (unit, i) => message.low[i % 3] + message.step * unit);
    smooth(points, message.faces);
    fill(this.surface, "position", points, 3);
    fill(this.surface, "normal", normals(points, message.faces), 3);
    fillIndex(this.surface, message.faces);
    const drops = message.drops.slice();
    for (let i = 3; i < drops.length; i += 4) drops[i] = Math.min(drops[i], LARGEST_DROP);
    fill(this.drops, "drop", drops, 4);
    this.drops.setDrawRange(0, drops.length / 4);
    this.isThere = message.faces.length > 0 || drops.length > 0;
  }

  /** Draw into what the renderer draws to, so many pixels high. */
  draw(renderer: THREE.WebGLRenderer, camera: THREE.PerspectiveCamera, height: number): void {
    if (!this.isThere) return;
    this.uniforms.eye.value.copy(camera.position);
    this.uniforms.height.value = height;
    renderer.render(this.scene, camera);
  }
}

/** Put numbers into an attribute, which grows where it must and else is used again. */
function fill(geometry: THREE.BufferGeometry, name: string, values: Float32Array, size: number): void {
  const old = geometry.getAttribute(name) as THREE.BufferAttribute | undefined;
  if (old && old.array.length >= values.length) {
    (old.array as Float32Array).set(values);
    old.needsUpdate = true;
    return;
  }
  if (old) geometry.dispose(); // the old one's buffers
  const grown = new Float32Array(Math.ceil(1.5 * Math.max(values.length, 16 * size)));
  grown.set(values);
  geometry.setAttribute(name, new THREE.BufferAttribute(grown, size).setUsage(THREE.DynamicDrawUsage));
}

function fillIndex(geometry: THREE.BufferGeometry, faces: Uint32Array): void {
  const old = geometry.getIndex();
  if (old && old.array.length >= faces.length) {
    (old.array as Uint32Array).set(faces);
    old.needsUpdate = true;
  } else {
    if (old) geometry.dispose();
    const grown = new Uint32Array(Math.ceil(1.5 * Math.max(faces.length, 48)));
    grown.set(faces);
    geometry.setIndex(new THREE.BufferAttribute(grown, 1).setUsage(THREE.DynamicDrawUsage));
  }
  geometry.setDrawRange(0, faces.length);
}

/** Normals of vertices (N, 3): those of their triangles, by area. */
export function normals(points: Float32Array, faces: ArrayLike<number>): Float32Array {
  const out = new Float32Array(points.length);
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [3 * faces[f], 3 * faces[f + 1], 3 * faces[f + 2]];
    const [ux, uy, uz] = [points[b] - points[a], points[b + 1] - points[a + 1], points[b + 2] - points[a + 2]];
    const [vx, vy, vz] = [points[c] - points[a], points[c + 1] - points[a + 1], points[c + 2] - points[a + 2]];
    const [x, y, z] = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
    for (const i of [a, b, c]) {
      out[i] += x;
      out[i + 1] += y;
      out[i + 2] += z;
    }
  }
  for (let i = 0; i < out.length; i += 3) {
    const length = Math.hypot(out[i], out[i + 1], out[i + 2]) || 1;
    out[i] /= length;
    out[i + 1] /= length;
    out[i + 2] /= length;
  }
  return out;
}

// Taubin 1995: a step towards the mean of the neighbours, and nearly as much back, which keeps the volume.
const THERE = 0.5;
const BACK = -0.53;

/** Take steps of the grid out of a surface, in place. */
export function smooth(points: Float32Array, faces: ArrayLike<number>, times = 2): void {
  const sums = new Float32Array(points.length);
  const counts = new Float32Array(points.length / 3);
  for (let f = 0; f < faces.length; f++) counts[faces[f]] += 2;
  for (let turn = 0; turn < 2 * times; turn++) {
    sums.fill(0);
    for (let f = 0; f < faces.length; f += 3) {
      for (let k = 0; k < 3; k++) {
        const [own, one, two] = [3 * faces[f + k], 3 * faces[f + ((k + 1) % 3)], 3 * faces[f + ((k + 2) % 3)]];
        for (let c = 0; c < 3; c++) sums[own + c] += points[one + c] + points[two + c];
      }
    }
    const step = turn % 2 ? BACK : THERE;
    for (let i = 0; i < points.length; i++) {
      const count = counts[Math.floor(i / 3)];
      if (count) points[i] += step * (sums[i] / count - points[i]);
    }
  }
}

// Solids: the body and the things that hands hold. They are lit like the hair, and hair casts its shadow on them.

import * as THREE from "three";
import { coarse } from "./coarse";
import type { Solid } from "./generated/protocol";
import { DEVELOP, LIGHT, lightUniforms } from "./light";
import { SHADOW } from "./shadow";

const PLACED = `
precision highp float;
precision highp int;
precision highp sampler2D;
in vec3 position, normal;
uniform mat4 modelMatrix, viewMatrix, projectionMatrix;
vec3 placed() {
  vec4 at = modelMatrix * vec4(position, 1.0);
  gl_Position = projectionMatrix * viewMatrix * at;
  return at.xyz;
}
vec3 turned() { return mat3(modelMatrix) * normal; }`;

const LIT = (solidsCast: boolean) => `
${LIGHT}
uniform vec3 color;
uniform float gloss;
uniform bool isShaded;
${SHADOW}
${DEVELOP}
vec3 lit(vec3 world, vec3 facing) {
  vec3 n = normalize(facing), toEye = normalize(eye - world);
  float light = isShaded ? exp(-0.7 * hairsBefore(world + 0.002 * n)) : 1.0;
  ${solidsCast ? "light *= openToLight(world + 0.003 * n, 0.002);" : ""}
  vec3 half_ = normalize(key + toEye);
  vec3 sum = color * (keyColor * light * max(dot(n, key), 0.0) + rimColor * max(dot(n, rim), 0.0)) / 3.14159;
  sum += color * sky * (0.65 + 0.35 * n.y) * (0.45 + 0.55 * light);
  sum += gloss * keyColor * light * pow(max(dot(n, half_), 0.0), 40.0);
  return develop(sum);
}`;

interface Shaders {
  vertexShader: string;
  fragmentShader: string;
}

/** Lit in every pixel. */
const FINE: Shaders = {
  vertexShader: `${PLACED}
out vec3 world, facing;
void main() { world = placed(); facing = turned(); }`,
  fragmentShader: `
precision highp float;
precision highp int;
precision highp sampler2D;
in vec3 world, facing;
out vec4 result;
${LIT(true)}
void main() { result = vec4(lit(world, facing), 1.0); }`,
};

/** Lit at every vertex, for a processor that draws: solids throw no shadows there, and hair throws none on props. */
const ROUGH: Shaders = {
  vertexShader: `${PLACED}
out vec3 tint;
${LIT(false)}
void main() { tint = lit(placed(), turned()); }`,
  fragmentShader: `
precision highp float;
in vec3 tint;
out vec4 result;
void main() { result = vec4(tint, 1.0); }`,
};

const MANY_FACES = 12_000;
const COARSE = 0.008; // [m] edge of the cells that become a vertex
const COARSER = 0.015; // likewise, while things move
const CLAY = new THREE.Vector3(0.42, 0.28, 0.22);
const PROP = new THREE.Vector3(0.16, 0.24, 0.32);
const HELD = new THREE.Vector3(0.55, 0.32, 0.08);

export class Solids {
  readonly scene = new THREE.Scene();
  private readonly meshes = new Map<number, THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial>>();
  private readonly props = new Set<number>();
  private readonly details = new Map<number, { fine: THREE.BufferGeometry; rough: THREE.BufferGeometry }>();

  /** `shadow` is what its shaders share. With `isSoftware`, solids of many triangles are drawn with fewer, and are lit at their vertices. */
  constructor(
    private readonly shadow: Record<string, THREE.IUniform>,
    private readonly isSoftware: boolean,
  ) {}

  take(message: Solid): void {
    this.remove(message.number);
    const isFine = this.isSoftware && message.faces.length > 3 * MANY_FACES;
    const own = { points: message.points.slice(), faces: message.faces.slice() };
    const geometry = geometryOf(isFine ? coarse(message, COARSE) : own);
    if (isFine) this.details.set(message.number, { fine: geometry, rough: geometryOf(coarse(message, COARSER)) });
    const material = new THREE.RawShaderMaterial({
      glslVersion: THREE.GLSL3,
      ...(this.isSoftware ? ROUGH : FINE),
      uniforms: {
        ...this.shadow,
        color: { value: (message.is_prop ? PROP : CLAY).clone() },
        gloss: { value: message.is_prop ? 0.08 : 0.015 },
        isShaded: { value: !(this.isSoftware && message.is_prop) },
        ...lightUniforms(),
      },
    });
    const mesh = new THREE.Mesh(geometry, material);
    mesh.name = message.name;
    mesh.userData.number = message.number;
    if (message.is_prop) this.props.add(message.number);
    this.meshes.set(message.number, mesh);
    this.scene.add(mesh);
  }

  private remove(number: number): void {
    const old = this.meshes.get(number);
    if (!old) return;
    const { fine, rough } = this.details.get(number) ?? { fine: old.geometry, rough: null };
    fine.dispose();
    rough?.dispose();
    this.details.delete(number);
    old.material.dispose();
    this.scene.remove(old);
    this.meshes.delete(number);
    this.props.delete(number);
  }

  /** Forget solids from `count` on, which a new scene does not have. */
  keepFirst(count: number): void {
    [...this.meshes.keys()].filter((number) => number >= count).forEach((number) => this.remove(number));
  }

  /** Put all solids where a frame has them: position and quaternion of each, (N, 7). */
  place(poses: Float32Array): void {
    for (const [number, mesh] of this.meshes) {
      if (7 * number + 7 > poses.length) continue;
      mesh.position.fromArray(poses, 7 * number);
      mesh.quaternion.fromArray(poses, 7 * number + 3);
      mesh.updateMatrixWorld();
    }
  }

  /** Draw solids of many triangles with few of them, or with more. */
  detail(isRough: boolean): void {
    for (const [number, { fine, rough }] of this.details) {
      const mesh = this.meshes.get(number);
      if (mesh) mesh.geometry = isRough ? rough : fine;
    }
  }

  see(eye: THREE.Vector3): void {
    for (const mesh of this.meshes.values()) mesh.material.uniforms.eye.value.copy(eye);
  }

  mark(number: number | null): void {
    for (const [own, mesh] of this.meshes) {
      if (this.props.has(own)) mesh.material.uniforms.color.value.copy(own === number ? HELD : PROP);
    }
  }

  /** What a ray meets first: a prop, the body, or nothing. */
  hit(ray: THREE.Raycaster): { number: number; isProp: boolean; point: THREE.Vector3 } | null {
    const found = ray.intersectObjects([...this.meshes.values()], false)[0];
    if (!found) return null;
    const number = found.object.userData.number as number;
    return { number, isProp: this.props.has(number), point: found.point };
  }

  /** A box around what hair grows on, where it is now; empty where there is nothing. */
  bodyBounds(): THREE.Box3 {
    const box = new THREE.Box3();
    for (const [number, mesh] of this.meshes) if (!this.props.has(number)) box.expandByObject(mesh);
    return box;
  }

  pose(number: number): { position: THREE.Vector3; rotation: THREE.Quaternion } | null {
    const mesh = this.meshes.get(number);
    return mesh ? { position: mesh.position.clone(), rotation: mesh.quaternion.clone() } : null;
  }

  nameOf(number: number): string | undefined {
    return this.meshes.get(number)?.name;
  }
}

function geometryOf(triangles: { points: Float32Array; faces: Uint32Array }): THREE.BufferGeometry {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(triangles.points, 3));
  geometry.setIndex(new THREE.BufferAttribute(triangles.faces, 1));
  geometry.computeVertexNormals();
  return geometry;
}

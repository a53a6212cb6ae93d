// Keeps hair out of solids: distances to them are 3D textures, and vertices inside are moved out along the gradient, but
// never farther out than they were groomed.

import * as THREE from "three";
import type { HairTextures } from "./carry";
import type { Field, Frame } from "./generated/protocol";
import { matrixOf } from "./guides";
import { floatTarget, Pass } from "./texels";

const MOST_FIELDS = 4; // solids; a page that has more pushes hair out of the first ones
const ROUNDS = 2;

const NUMBERS = [...Array(MOST_FIELDS).keys()];

const of = (n: number) => `field${n}, turns[${n}], moves[${n}], lows[${n}], cells[${n}]`;
const one = (n: number) => `
  if (${n} < fields && measures) deepest = max(deepest, lowest${n} - seenFrom(${of(n)}, own.xyz));
  if (${n} < fields && pushes) at = pushed(${of(n)}, at, lowest${n});`;

const PUSH = `
uniform sampler2D points, rest;
uniform sampler3D ${NUMBERS.map((n) => `field${n}`).join(", ")};
uniform mat3 turns[${MOST_FIELDS}];
uniform vec3 moves[${MOST_FIELDS}], lows[${MOST_FIELDS}], pivot;
uniform float cells[${MOST_FIELDS}];
uniform int fields, vertices;
uniform bool hasBody, pushes, measures;
out vec4 point;
const float FAR = 1.0;
float distanceIn(sampler3D field, vec3 low, float cell, vec3 at) {
  vec3 size = vec3(textureSize(field, 0));
  vec3 place = ((at - low) / cell + 0.5) / size;
  vec3 edge = 0.5 / size;
  if (any(lessThan(place, edge)) || any(greaterThan(place, 1.0 - edge))) return FAR;
  return texture(field, place).x;
}
float seenFrom(sampler3D field, mat3 turn, vec3 move, vec3 low, float cell, vec3 world) {
  return distanceIn(field, low, cell, transpose(turn) * (world - move));
}
vec3 pushed(sampler3D field, mat3 turn, vec3 move, vec3 low, float cell, vec3 world, float lowest) {
  vec3 at = transpose(turn) * (world - move);
  for (int round = 0; round < ${ROUNDS}; round++) {
    float d = distanceIn(field, low, cell, at);
    if (d >= lowest) return turn * at + move;
    vec2 e = vec2(0.5 * cell, 0.0);
    vec3 up = vec3(
      distanceIn(field, low, cell, at + e.xyy) - distanceIn(field, low, cell, at - e.xyy),
      distanceIn(field, low, cell, at + e.yxy) - distanceIn(field, low, cell, at - e.yxy),
      distanceIn(field, low, cell, at + e.yyx) - distanceIn(field, low, cell, at - e.yyx));
    float steep = length(up);
    if (steep < 1e-9) return turn * at + move;
    at += (lowest - d) * up / steep;
  }
  return turn * at + move;
}
void main() {
  int i = int(gl_FragCoord.x) + WIDTH * int(gl_FragCoord.y);
  vec4 own = item(points, i);
  if (i % vertices == 0) { point = vec4(own.xyz, measures ? 0.0 : own.w); return; }
  float ${NUMBERS.map((n) => `lowest${n} = 0.0`).join(", ")}, deepest = 0.0;
  if (hasBody && fields > 0) lowest0 = min(distanceIn(field0, lows[0], cells[0], item(rest, i).xyz + pivot), 0.0);
  vec3 at = own.xyz;
  ${NUMBERS.map(one).join("")}
  point = vec4(at, measures ? 1000.0 * deepest : own.w);
}`;

interface Loaded {
  number: number;
  texture: THREE.Data3DTexture;
  low: THREE.Vector3;
  cell: number;
}

export class Fields {
  private readonly loaded = new Map<number, Loaded>();
  target: THREE.WebGLRenderTarget | null = null;
  private readonly pass = new Pass(PUSH, {
    points: { value: null },
    rest: { value: null },
    ...Object.fromEntries(NUMBERS.map((n) => [`field${n}`, { value: null }])),
    turns: { value: Array.from({ length: MOST_FIELDS }, () => new THREE.Matrix3()) },
    moves: { value: Array.from({ length: MOST_FIELDS }, () => new THREE.Vector3()) },
    lows: { value: Array.from({ length: MOST_FIELDS }, () => new THREE.Vector3()) },
    cells: { value: new Float32Array(MOST_FIELDS) },
    pivot: { value: new THREE.Vector3() },
    fields: { value: 0 },
    vertices: { value: 1 },
    hasBody: { value: true },
    pushes: { value: true },
    measures: { value: false },
  });

  take(message: Field): void {
    this.remove(message.number);
    const halves = new Uint16Array(message.distance.length);
    for (let i = 0; i < halves.length; i++) halves[i] = THREE.DataUtils.toHalfFloat(message.distance[i]);
    const [x, y, z] = message.nodes;
    const texture = new THREE.Data3DTexture(halves, x, y, z);
    texture.format = THREE.RedFormat;
    texture.type = THREE.HalfFloatType;
    texture.minFilter = texture.magFilter = THREE.LinearFilter;
    texture.unpackAlignment = 1;
    texture.needsUpdate = true;
    const low = new THREE.Vector3().fromArray(message.low);
    this.loaded.set(message.number, { number: message.number, texture, low, cell: message.cell });
  }

  /** Forget a solid, which may have become another one. */
  remove(number: number): void {
    this.loaded.get(number)?.texture.dispose();
    this.loaded.delete(number);
  }

  keepFirst(count: number): void {
    [...this.loaded.keys()].filter((number) => number >= count).forEach((number) => this.remove(number));
  }

  resize(count: number): void {
    this.target?.dispose();
    this.target = floatTarget(count);
  }

  /** Whether there is anything that hair is kept out of. */
  get any(): boolean {
    return this.loaded.size > 0;
  }

  /** Return hairs of `points` outside of all solids, if it `pushes`; if it `measures`, the fourth number is how much
   * deeper they were than groomed [mm]. */
  push(
    renderer: THREE.WebGLRenderer,
    hair: HairTextures,
    points: THREE.Texture,
    strands: number,
    frame: Frame,
    pushes: boolean,
    measures: boolean,
  ): THREE.Texture {
    const fields = [...this.loaded.values()].sort((a, b) => a.number - b.number).slice(0, MOST_FIELDS);
    if (!fields.length || !this.target) return points;
    const { uniforms } = this.pass.material;
    uniforms.points.value = points;
    uniforms.rest.value = hair.rest;
    uniforms.pivot.value.fromArray(hair.hair.pivot);
    uniforms.vertices.value = hair.hair.vertices;
    uniforms.fields.value = fields.length;
    uniforms.pushes.value = pushes;
    uniforms.measures.value = measures;
    uniforms.hasBody.value = fields[0].number === 0;
    for (let i = 0; i < MOST_FIELDS; i++) {
      const field = fields[Math.min(i, fields.length - 1)];
      const pose = frame.solids.subarray(7 * field.number, 7 * field.number + 7);
      uniforms[`field${i}`].value = field.texture;
      uniforms.turns.value[i].fromArray(matrixOf(pose.subarray(3, 7))).transpose();
      uniforms.moves.value[i].fromArray(pose);
      uniforms.lows.value[i].copy(field.low);
      uniforms.cells.value[i] = field.cell;
    }
    this.pass.run(renderer, this.target, strands * hair.hair.vertices);
    return this.target.texture;
  }
}

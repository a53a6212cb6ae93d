// Carries every hair on the graphics card: one texel of a target is one vertex of a hair, computed once per frame and
// read by all passes that follow. The fourth number of a texel is what coloured views show.

import * as THREE from "three";
import type { Adaptive, Frame, Hair, Linear, Points, Sets } from "./generated/protocol";
import { displacements, linearShifts, LONGEST_FADE, matrixOf, movedPivot, placeTexels, unpack } from "./guides";
import { fillPoints, floatTarget, floatTexture, Pass, pointTexture } from "./texels";

const LINEAR = `
uniform sampler2D rest, weights, bundles, places, shifts;
uniform mat3 turn;
uniform int vertices, guides, own;
out vec4 point;
void main() {
  int i = int(gl_FragCoord.x) + WIDTH * int(gl_FragCoord.y);
  int hair = i / vertices, vertex = i % vertices;
  int bundle = int(item(bundles, hair).x);
  vec3 sum = turn * item(rest, i).xyz;
  float heaviest = -1.0, owner = 0.0;
  for (int k = 0; k < guides; k++) {
    float weight = item(weights, hair * guides + k).x;
    vec2 place = item(places, (bundle * guides + k) * vertices + vertex).xy;
    int before = int(place.x);
    sum += weight * mix(item(shifts, before).xyz, item(shifts, before + 1).xyz, place.y);
    if (weight > heaviest) { heaviest = weight; owner = float(before / own); }
  }
  point = vec4(sum, owner + 0.999 * heaviest);
}`;

const ADAPTIVE = `
uniform sampler2D rest, rows, places, guideRest, shifts, masks, masksBefore, offsets;
uniform mat3 turn;
uniform vec3 move;
uniform float decay;
uniform int vertices, guides, own;
layout(location = 0) out vec4 point;
layout(location = 1) out vec4 offset;
const float NEAR = 1e-5; // [m] as in skin/adaptive/_kernels_blend.py
/** Displacement of a vertex; \`heaviest\` is the guide that carries most and its share, \`set\` a number of the guides. */
vec3 blended(int hair, int vertex, vec3 at, int mask, out float heaviest, out float set) {
  vec3 sum = vec3(0.0);
  float total = 0.0, most = 0.0, owner = 0.0;
  set = 0.0;
  for (int a = 0; a < guides; a++) {
    if ((mask >> a & 1) == 0) continue;
    int row = int(item(rows, hair * guides + a).x);
    vec2 place = item(places, row * vertices + vertex).xy;
    int before = int(place.x);
    vec3 away = at - mix(item(guideRest, before).xyz, item(guideRest, before + 1).xyz, place.y);
    float weight = 1.0 / max(length(away), NEAR); // chai2017 eq. 11
    total += weight;
    sum += weight * mix(item(shifts, before).xyz, item(shifts, before + 1).xyz, place.y);
    if (weight > most) { most = weight; owner = float(before / own); }
    set = fract(set + 0.61803399 * float(before / own + 1));
  }
  heaviest = owner + 0.999 * most / max(total, 1e-9);
  set = floor(8192.0 * set);
  return total > 0.0 ? sum / total : sum;
}
void main() {
  int i = int(gl_FragCoord.x) + WIDTH * int(gl_FragCoord.y);
  int hair = i / vertices, vertex = i % vertices;
  vec3 at = item(rest, i).xyz;
  int mask = int(item(masks, hair).x), before = int(item(masksBefore, hair).x);
  float heaviest, set, unused, none;
  vec3 now = blended(hair, vertex, at, mask, heaviest, set);
  vec3 left = item(offsets, i).xyz;
  if (mask != before && before != 0 && decay > 0.0) left += blended(hair, vertex, at, before, unused, none) - now;
  left *= decay;
  offset = vec4(left, set);
  point = vec4(turn * (at + now + left) + move, heaviest);
}`;

/** One side of the view. */
export interface Carrier {
  readonly target: THREE.WebGLRenderTarget;
  /** Hairs that it carries, from the first on. */
  readonly strands: number;
  /** Whether hairs are out of solids already. */
  readonly isFinished: boolean;
  /** Carry the first `count` hairs. */
  carry(renderer: THREE.WebGLRenderer, frame: Frame, count: number): void;
  dispose(): void;
}

function turnOf(frame: Frame): THREE.Matrix3 {
  return new THREE.Matrix3().fromArray(matrixOf(frame.head.subarray(3, 7))).transpose();
}

/** Textures of the hair that all carriers share. */
export class HairTextures {
  readonly rest: THREE.DataTexture;
  readonly guideRest: THREE.DataTexture;

  constructor(readonly hair: Hair) {
    this.rest = pointTexture(hair.rest);
    this.guideRest = pointTexture(hair.guide_rest);
  }

  get count(): number {
    return this.hair.strands * this.hair.vertices;
  }

  dispose(): void {
    this.rest.dispose();
    this.guideRest.dispose();
  }
}

export class LinearCarrier implements Carrier {
  readonly isFinished = false;
  readonly target: THREE.WebGLRenderTarget;
  readonly strands: number;
  private readonly textures: THREE.DataTexture[];
  private readonly shifts: THREE.DataTexture;
  private readonly pass: Pass;

  constructor(private readonly shared: HairTextures, message: Linear) {
    const { hair } = shared;
    this.strands = hair.strands;
    this.target = floatTarget(shared.count);
    const places = placeTexels(message.guide, message.parameter, hair.vertices, hair.guide_vertices);
    this.shifts = floatTexture(hair.guides * hair.guide_vertices, 4);
    this.textures = [
      floatTexture(message.weights.length, 1, message.weights),
      floatTexture(message.of_hair.length, 1, message.of_hair),
      floatTexture(places.length / 2, 2, places),
      this.shifts,
    ];
    this.pass = new Pass(LINEAR, {
      rest: { value: shared.rest },
      weights: { value: this.textures[0] },
      bundles: { value: this.textures[1] },
      places: { value: this.textures[2] },
      shifts: { value: this.shifts },
      turn: { value: new THREE.Matrix3() },
      vertices: { value: hair.vertices },
      guides: { value: message.places },
      own: { value: hair.guide_vertices },
    });
  }

  carry(renderer: THREE.WebGLRenderer, frame: Frame, count: number): void {
    linearShifts(this.shared.hair, frame, this.shifts.image.data as Float32Array);
    this.shifts.needsUpdate = true;
    this.pass.material.uniforms.turn.value = turnOf(frame);
    this.pass.run(renderer, this.target, count * this.shared.hair.vertices);
  }

  dispose(): void {
    [...this.textures, this.target, this.pass.material].forEach((one) => one.dispose());
  }
}

export class AdaptiveCarrier implements Carrier {
  readonly isFinished = false;
  readonly strands: number;
  private targets: [THREE.WebGLRenderTarget, THREE.WebGLRenderTarget];
  private readonly textures: THREE.DataTexture[];
  private readonly shifts: THREE.DataTexture;
  private readonly pass: Pass;
  private time = -Infinity;
  private carried = 0;
  private hasNewSets = false;

  constructor(private readonly shared: HairTextures, private readonly message: Adaptive) {
    const { hair } = shared;
    this.strands = hair.strands;
    this.targets = [floatTarget(shared.count, 2), floatTarget(shared.count, 2)];
    const places = placeTexels(message.guide, message.parameter, hair.vertices, hair.guide_vertices);
    this.shifts = floatTexture(hair.guides * hair.guide_vertices, 4);
    this.textures = [
      floatTexture(message.rows.length, 1, message.rows),
      floatTexture(places.length / 2, 2, places),
      floatTexture(hair.strands, 1),
      floatTexture(hair.strands, 1),
      this.shifts,
    ];
    this.pass = new Pass(ADAPTIVE, {
      rest: { value: shared.rest },
      rows: { value: this.textures[0] },
      places: { value: this.textures[1] },
      masks: { value: this.textures[2] },
      masksBefore: { value: this.textures[3] },
      guideRest: { value: shared.guideRest },
      shifts: { value: this.shifts },
      offsets: { value: null },
      turn: { value: new THREE.Matrix3() },
      move: { value: new THREE.Vector3() },
      decay: { value: 0 },
      vertices: { value: hair.vertices },
      guides: { value: message.places },
      own: { value: hair.guide_vertices },
    });
  }

  get target(): THREE.WebGLRenderTarget {
    return this.targets[0];
  }

  /** Guides that each hair hangs on now, as bits. */
  get masks(): Float32Array {
    return this.textures[2].image.data as Float32Array;
  }

  take(sets: Sets): void {
    (this.textures[2].image.data as Float32Array).set(sets.masks);
    this.textures[2].needsUpdate = true;
    this.hasNewSets = true;
  }

  carry(renderer: THREE.WebGLRenderer, frame: Frame, count: number): void {
    const { uniforms } = this.pass.material;
    const elapsed = frame.time - this.time;
    if (elapsed === 0 && count <= this.carried) return;
    // Of hairs that were not carried before, nothing is known that could fade.
    const goesOn = count <= this.carried && elapsed > 0 && elapsed < LONGEST_FADE && this.message.fade > 0;
    displacements(this.shared.hair, frame, this.shifts.image.data as Float32Array);
    this.shifts.needsUpdate = true;
    uniforms.decay.value = goesOn ? Math.exp(-elapsed / this.message.fade) : 0;
    uniforms.turn.value = turnOf(frame);
    uniforms.move.value.set(...movedPivot(this.shared.hair, frame));
    uniforms.offsets.value = this.targets[0].textures[1];
    this.targets.reverse();
    this.pass.run(renderer, this.targets[0], count * this.shared.hair.vertices);
    this.time = frame.time;
    this.carried = count;
    if (this.hasNewSets) {
      (this.textures[3].image.data as Float32Array).set(this.textures[2].image.data as Float32Array);
      this.textures[3].needsUpdate = true;
      this.hasNewSets = false;
    }
  }

  dispose(): void {
    [...this.textures, ...this.targets, this.pass.material].forEach((one) => one.dispose());
  }
}

const COPY = `
uniform sampler2D source;
out vec4 point;
void main() { point = texelFetch(source, ivec2(gl_FragCoord.xy), 0); }`;

/** Hairs that the server carries. */
export class PointsCarrier implements Carrier {
  readonly isFinished = true;
  readonly target: THREE.WebGLRenderTarget;
  strands = 0;
  private texture: THREE.DataTexture | null = null;
  private readonly pass = new Pass(COPY, { source: { value: null } });
  private isNew = false;

  constructor(private readonly shared: HairTextures) {
    this.target = floatTarget(shared.count);
  }

  take(message: Points): void {
    const points = unpack(message);
    this.strands = message.strands;
    if (this.texture?.image.data?.length !== floatLength(points.length / 3)) {
      this.texture?.dispose();
      this.texture = pointTexture(points);
    } else {
      fillPoints(this.texture, points);
    }
    this.isNew = true;
  }

  carry(renderer: THREE.WebGLRenderer): void {
    if (!this.isNew || !this.texture) return;
    this.pass.material.uniforms.source.value = this.texture;
    this.pass.run(renderer, this.target, this.strands * this.shared.hair.vertices);
    this.isNew = false;
  }

  dispose(): void {
    this.texture?.dispose();
    this.target.dispose();
    this.pass.material.dispose();
  }
}

function floatLength(count: number): number {
  return 4 * 2048 * Math.max(1, Math.ceil(count / 2048));
}

// Wet hair: every hair takes the wetness of the guides near it, and clings to the first hair of its lock. The server's
// pass `wet_locks` does the same and keeps lengths besides.

import * as THREE from "three";
import type { Hair, Wet, Wetting } from "./generated/protocol";
import { floatTarget, floatTexture, Pass } from "./texels";

const LEVELS = 255; // of how wet a guide is

const WET = `
uniform sampler2D points, guides, shares, wetness;
uniform int vertices, own;
uniform float strength, start;
layout(location = 0) out vec4 point;
layout(location = 1) out vec4 wet;
vec2 along(int guide, float place) {
  int before = min(int(place), own - 2);
  return mix(item(wetness, guide * own + before).xy, item(wetness, guide * own + before + 1).xy, place - float(before));
}
void main() {
  int i = int(gl_FragCoord.x) + WIDTH * int(gl_FragCoord.y);
  int hair = i / vertices, vertex = i % vertices;
  float part = float(vertex) / float(vertices - 1), place = part * float(own - 1);
  vec4 near = item(guides, hair), share = item(shares, hair);
  vec2 held = share.x * along(int(near.x), place) + share.y * along(int(near.y), place) + share.z * along(int(near.z), place);
  vec4 at = item(points, i);
  float u = clamp((part - start) / max(1.0 - start, 1e-6), 0.0, 1.0);
  float pull = held.y * strength * u * u * (3.0 - 2.0 * u);
  point = vec4(mix(at.xyz, item(points, int(near.w) * vertices + vertex).xyz, pull), at.w);
  wet = vec4(held, 0.0, 0.0);
}`;

const MOST = 3; // guides that a hair looks at

/** Rows (S, K) of up to three numbers as rows of four, with a last one. */
export function rowsOfFour(rows: ArrayLike<number>, places: number, last: ArrayLike<number> | null): Float32Array {
  const count = rows.length / places;
  const out = new Float32Array(4 * count);
  for (let i = 0; i < count; i++) {
    for (let k = 0; k < Math.min(places, MOST); k++) out[4 * i + k] = rows[i * places + k];
    if (last) out[4 * i + 3] = last[i];
  }
  return out;
}

/** Which guides a head of hair is wet by, and how wet they are. */
export class WetPass {
  readonly target: THREE.WebGLRenderTarget;
  private readonly textures: THREE.DataTexture[];
  private readonly wetness: THREE.DataTexture;
  private readonly pass: Pass;
  /** Whether there is any water in the hair. */
  isWet = false;

  constructor(
    private readonly hair: Hair,
    message: Wetting,
  ) {
    this.target = floatTarget(hair.strands * hair.vertices, 2);
    this.wetness = floatTexture(hair.guides * hair.guide_vertices, 2);
    this.textures = [
      floatTexture(hair.strands, 4, rowsOfFour(message.guide, message.places, message.leader)),
      floatTexture(hair.strands, 4, rowsOfFour(message.shares, message.places, null)),
      this.wetness,
    ];
    this.pass = new Pass(WET, {
      points: { value: null },
      guides: { value: this.textures[0] },
      shares: { value: this.textures[1] },
      wetness: { value: this.wetness },
      vertices: { value: hair.vertices },
      own: { value: hair.guide_vertices },
      strength: { value: message.strength },
      start: { value: message.start },
    });
    this.strength = message.strength;
  }

  private readonly strength: number;

  take(message: Wet): void {
    const data = this.wetness.image.data as Float32Array;
    this.isWet = false;
    for (let i = 0; i < message.held.length; i++) {
      data[2 * i] = message.held[i] / LEVELS;
      data[2 * i + 1] = message.level[i] / LEVELS;
      this.isWet ||= message.held[i] > 0;
    }
    this.wetness.needsUpdate = true;
  }

  /** Wet the first `count` hairs of `points`; those that `clings` is false of are where they should be already. */
  run(renderer: THREE.WebGLRenderer, points: THREE.Texture, count: number, clings: boolean): THREE.Texture {
    this.pass.material.uniforms.points.value = points;
    this.pass.material.uniforms.strength.value = clings ? this.strength : 0;
    this.pass.run(renderer, this.target, count * this.hair.vertices);
    return this.target.textures[0];
  }

  dispose(): void {
    [...this.textures, this.target, this.pass.material].forEach((one) => one.dispose());
  }
}

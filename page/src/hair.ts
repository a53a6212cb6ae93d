// Draws hair: every vertex is shaded once, into a texture, and hairs are drawn as ribbons that face the eye, opaque and
// thinner than a pixel: they cover some of its samples. Alpha as coverage would give all hairs the same samples, so that
// a thousand of them covered no more of a pixel than one.

import * as THREE from "three";
import { VIEWS, type View } from "./backend";
import { FIBRE, FibreTextures } from "./fibre";
import type { Look } from "./generated/protocol";
import { DEVELOP, LIGHT, lightUniforms } from "./light";
import { SHADOW, type ShadowMap } from "./shadow";
import { BLOCK, FINEST, FULL_HEAD, lines, PIECES, ribbons, WIDEST } from "./ribbons";
import { FETCH, floatTarget, Pass, rowsOf, WIDTH } from "./texels";


const SHADE = `
const float DEEPEST = 5.0; // [mm] drawn in full red
uniform sampler2D points, colors, tags, wetness;
uniform bool isWet;
${LIGHT}
uniform int vertices, view;
const int WEIGHTS = ${VIEWS.indexOf("weights")}, SETS = ${VIEWS.indexOf("sets")}, PENETRATION = ${VIEWS.indexOf("penetration")};
out vec4 color;
${SHADOW}
${FIBRE}
${DEVELOP}
vec3 hashed(float number) {
  vec3 p = fract(number * vec3(0.1031, 0.1030, 0.0973) + vec3(0.31, 0.72, 0.11));
  p += dot(p, p.yzx + 33.33);
  return 0.15 + 0.85 * fract((p.xxy + p.yzz) * p.zyx);
}
/** Of a coloured view: how heavy the heaviest guide is, how deep hair was inside [mm], or a colour of its own. */
vec3 tint(int i, float own) {
  if (view == WEIGHTS) return mix(vec3(0.1, 0.15, 0.8), vec3(1.0, 0.75, 0.1), sqrt(fract(own)));
  if (view == PENETRATION) {
    if (own < 0.01) return vec3(0.35, 0.38, 0.42);
    return mix(vec3(1.0, 0.9, 0.1), vec3(1.0, 0.05, 0.05), min(own / DEEPEST, 1.0));
  }
  return hashed(floor(view == SETS ? item(tags, i).w : own));
}
void main() {
  int i = int(gl_FragCoord.x) + WIDTH * int(gl_FragCoord.y);
  int vertex = i % vertices;
  vec4 own = item(points, i);
  vec3 before = item(points, vertex > 0 ? i - 1 : i).xyz, after = item(points, vertex < vertices - 1 ? i + 1 : i).xyz;
  vec3 tangent = normalize(after - before + vec3(0.0, 1e-9, 0.0)), toEye = normalize(eye - own.xyz);
  float hairs = hairsBefore(own.xyz);
  if (view > 0) {
    vec3 base = tint(i, own.w);
    float facing = sqrt(max(1.0 - pow(dot(tangent, key), 2.0), 0.0));
    color = vec4(develop(base * base * (0.25 + 0.9 * facing * exp(-0.12 * hairs))), 1.0);
    return;
  }
  vec3 pigment = item(colors, i).xyz;
  if (isWet) {
    damp = item(wetness, i).x;
    pigment = pow(pigment, vec3(1.0 + WET_ABSORPTION * damp));
  }
  vec3 sum = lit(tangent, toEye, pigment, key, keyColor * openToLight(own.xyz, 0.004), hairs);
  sum += lit(tangent, toEye, pigment, rim, rimColor, 4.0 + 0.5 * hairs);
  sum += ambient(tangent, toEye, pigment, sky, 0.6 + 0.15 * min(hairs, 12.0));
  color = vec4(develop(sum), 1.0); // here, since a hair has far more pixels than vertices
}`;

/** How a hair is drawn: pieces of a segment, the least width [pixels], and whether lines do where it is no wider. */
export interface Detail {
  pieces: number;
  finest: number;
  hasLines: boolean;
}
export const FINE: Detail = { pieces: PIECES, finest: FINEST, hasLines: false };
export const ROUGH: Detail = { pieces: 1, finest: 1, hasLines: true };
const WIDEST_LINE = 1.5; // [pixels] that a line of one pixel may stand for

/** GLSL that finds hair, step and vertex of a corner; `line` corners are a hair's. */
const CORNER = (corner: string, line: string) => `
  int own = ${corner}, line = ${line}, hair = gl_InstanceID * ${BLOCK} + own / line;
  int step = own % line, first = hair * vertices;
  if (hair >= count) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; } // beyond the last one: out of sight`;

const LINES = `${FETCH}
uniform sampler2D points, shaded;
uniform mat4 viewProjection;
uniform int vertices, count;
out vec3 tint;
void main() {${CORNER("gl_VertexID", "vertices")}
  gl_Position = viewProjection * vec4(item(points, first + step).xyz, 1.0);
  gl_Position.z -= 0.001 * gl_Position.w;
  tint = item(shaded, first + step).rgb;
}`;

const RIBBONS = ({ pieces, finest }: Detail) => `${FETCH}
uniform sampler2D points, shaded;
uniform mat4 viewProjection;
uniform vec2 size;
uniform float width;
uniform int vertices, count;
out vec3 tint;
const float FINEST = ${finest.toFixed(2)}; // [pixels]
const int PIECES = ${pieces};
vec3 at(int first, int vertex) { return item(points, first + clamp(vertex, 0, vertices - 1)).xyz; }
void main() {${CORNER("gl_VertexID >> 1", "PIECES * (vertices - 1) + 1")}
  int vertex = min(step / PIECES, vertices - 2);
  float u = float(step - vertex * PIECES) / float(PIECES);
  vec3 b = at(first, vertex), c = at(first, vertex + 1);
  vec3 point = mix(b, c, u), along = c - b;
  if (PIECES > 1) { // Catmull-Rom
    vec3 a = vertex > 0 ? at(first, vertex - 1) : 2.0 * b - c;
    vec3 d = vertex < vertices - 2 ? at(first, vertex + 2) : 2.0 * c - b;
    vec3 p = 0.5 * (c - a), q = a - 2.5 * b + 2.0 * c - 0.5 * d, r = 1.5 * (b - c) + 0.5 * (d - a);
    point = b + u * (p + u * (q + u * r));
    along = p + u * (2.0 * q + 3.0 * u * r);
  }
  vec4 here = viewProjection * vec4(point, 1.0), ahead = viewProjection * vec4(point + 0.1 * along, 1.0);
  vec2 way = (ahead.xy / ahead.w - here.xy / here.w) * size;
  float span = length(way);
  vec2 across = span > 1e-6 ? vec2(-way.y, way.x) / span : vec2(1.0, 0.0);
  float taper = 1.0 - 0.7 * smoothstep(0.6, 1.0, float(step) / float(PIECES * (vertices - 1)));
  float seen = taper * width * size.y * 0.5 / here.w; // \`width\` holds the focal length already
  float drawn = max(seen, FINEST);
  vec4 low = item(shaded, first + vertex), high = item(shaded, first + min(vertex + 1, vertices - 1));
  tint = mix(low.rgb, high.rgb, u);
  here.xy += across * (float(gl_VertexID & 1) - 0.5) * drawn / size * 2.0 * here.w;
  here.z -= 0.001 * here.w; // in front of the skin that it lies on
  gl_Position = here;
}`;

const FRAGMENT = `precision highp float;
in vec3 tint;
out vec4 color;
void main() { color = vec4(tint, 1.0); }`;

/** Look of all hairs, and what draws them. */
export class HairPass {
  readonly scene = new THREE.Scene();
  private readonly ribbons: THREE.Mesh<THREE.InstancedBufferGeometry, THREE.RawShaderMaterial>;
  private readonly lines: THREE.LineSegments<THREE.InstancedBufferGeometry, THREE.RawShaderMaterial> | null;
  private readonly uniforms: Record<string, THREE.IUniform>;
  private readonly shaded: THREE.WebGLRenderTarget;
  private readonly shade: Pass;
  /** How wet each vertex is, or null where all are dry. */
  wetness: THREE.Texture | null = null;
  private fibre: FibreTextures | null = null;
  private colors: THREE.DataTexture | null = null;
  private lit = 0; // hairs that have been shaded
  private litView: View = "hair";
  private turn = 0;

  constructor(
    strands: number,
    private readonly vertices: number,
    private readonly width: number,
    shadow: ShadowMap,
    detail: Detail,
  ) {
    this.shaded = floatTarget(strands * vertices);
    this.shade = new Pass(SHADE, {
      ...shadow.shared,
      points: { value: null },
      colors: { value: null },
      lobes: { value: null },
      spread: { value: null },
      shares: { value: null },
      balanceTable: { value: null },
      header: { value: new Float32Array(31) },
      ...lightUniforms(),
      tags: { value: null },
      wetness: { value: null },
      isWet: { value: false },
      vertices: { value: vertices },
      view: { value: 0 },
    });
    this.uniforms = {
      points: { value: null },
      shaded: { value: this.shaded.texture },
      viewProjection: { value: new THREE.Matrix4() },
      size: { value: new THREE.Vector2() },
      width: { value: 1 },
      vertices: { value: vertices },
      count: { value: 0 },
    };
    const steps = detail.pieces * (vertices - 1);
    this.ribbons = new THREE.Mesh(blockOf(ribbons(steps, BLOCK)), this.drawnBy(RIBBONS(detail)));
    this.lines = detail.hasLines ? new THREE.LineSegments(blockOf(lines(steps, BLOCK)), this.drawnBy(LINES)) : null;
    for (const one of this.drawables) {
      one.frustumCulled = false;
      this.scene.add(one);
    }
  }

  private get drawables() {
    return this.lines ? [this.ribbons, this.lines] : [this.ribbons];
  }

  private drawnBy(vertexShader: string): THREE.RawShaderMaterial {
    return new THREE.RawShaderMaterial({
      glslVersion: THREE.GLSL3,
      vertexShader,
      fragmentShader: FRAGMENT,
      uniforms: this.uniforms,
      side: THREE.DoubleSide,
      blending: THREE.NoBlending,
    });
  }

  take(look: Look): void {
    this.fibre?.dispose();
    this.colors?.dispose();
    this.lit = 0;
    this.fibre = new FibreTextures(look);
    this.colors = colorTexture(look.colors);
    const { uniforms } = this.shade.material;
    Object.assign(uniforms.lobes, { value: this.fibre.lobes });
    Object.assign(uniforms.spread, { value: this.fibre.spread });
    Object.assign(uniforms.shares, { value: this.fibre.shares });
    Object.assign(uniforms.balanceTable, { value: this.fibre.balance });
    Object.assign(uniforms.header, { value: this.fibre.header });
    Object.assign(uniforms.colors, { value: this.colors });
  }

  get isReady(): boolean {
    return this.fibre !== null;
  }

  /** Shade `count` hairs of `points` as `camera` sees them; `tags` has numbers of guide sets. Of several `parts` only the
   * next one is shaded, where all have been before: the others keep the light of the picture before. */
  light(
    renderer: THREE.WebGLRenderer,
    points: THREE.Texture,
    tags: THREE.Texture,
    count: number,
    camera: THREE.PerspectiveCamera,
    view: View,
    parts: number,
  ): void {
    const { uniforms } = this.shade.material;
    uniforms.points.value = points;
    uniforms.tags.value = tags;
    uniforms.wetness.value = this.wetness;
    uniforms.isWet.value = this.wetness !== null;
    uniforms.eye.value.copy(camera.position);
    uniforms.view.value = VIEWS.indexOf(view);
    const isKnown = count <= this.lit && view === this.litView;
    const [of, part] = isKnown ? [parts, this.turn++ % parts] : [1, 0];
    this.shade.run(renderer, this.shaded, count * this.vertices, of, part);
    [this.lit, this.litView] = [count, view];
  }

  /** Draw `count` hairs into what the renderer draws to, `size` pixels large, as seen from a `distance` [m]. */
  draw(
    renderer: THREE.WebGLRenderer,
    points: THREE.Texture,
    count: number,
    camera: THREE.PerspectiveCamera,
    size: THREE.Vector2,
    distance: number,
  ): void {
    const { uniforms } = this;
    uniforms.points.value = points;
    uniforms.viewProjection.value.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
    uniforms.size.value.copy(size);
    const focal = camera.projectionMatrix.elements[5];
    uniforms.width.value = this.width * Math.min(Math.max(FULL_HEAD / Math.max(count, 1), 1), WIDEST) * focal;
    uniforms.count.value = count;
    const isThin = (0.5 * uniforms.width.value * size.y) / distance < WIDEST_LINE;
    for (const one of this.drawables) one.geometry.instanceCount = Math.ceil(count / BLOCK);
    if (this.lines) [this.lines.visible, this.ribbons.visible] = [isThin, !isThin];
    renderer.render(this.scene, camera);
  }

  dispose(): void {
    this.fibre?.dispose();
    this.colors?.dispose();
    [this.shaded, this.shade.material].forEach((one) => one.dispose());
    for (const one of this.drawables) [one.material, one.geometry].forEach((part) => part.dispose());
  }
}

function blockOf(index: number[]): THREE.InstancedBufferGeometry {
  const geometry = new THREE.InstancedBufferGeometry();
  geometry.setIndex(index);
  return geometry;
}

function colorTexture(colors: Uint8Array): THREE.DataTexture {
  const count = colors.length / 3;
  const data = new Uint8Array(4 * WIDTH * rowsOf(count));
  for (let i = 0; i < count; i++) data.set(colors.subarray(3 * i, 3 * i + 3), 4 * i);
  const texture = new THREE.DataTexture(data, WIDTH, rowsOf(count), THREE.RGBAFormat, THREE.UnsignedByteType);
  texture.needsUpdate = true;
  return texture;
}

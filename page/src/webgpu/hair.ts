// Draws hair as ../hair.ts does: every vertex is shaded once, in a compute pass, and hairs are ribbons that face the eye.

import { VIEWS } from "../backend";
import type { Look } from "../generated/protocol";
import { BLOCK, FINEST, PIECES, ribbons } from "../ribbons";
import { FIBRE, FibreTextures } from "./fibre";
import { type Gpu, THREAD } from "./gpu";
import { DEVELOP, LIGHT, SHADOW } from "./light";
import type { ShadowMap } from "./shadow";

const SHADE = `${LIGHT}${SHADOW}${FIBRE}${DEVELOP}
@group(0) @binding(10) var<storage, read> points: array<vec4f>;
@group(0) @binding(11) var<storage, read> colors: array<u32>;
@group(0) @binding(12) var<storage, read> tags: array<vec4f>;
@group(0) @binding(13) var<storage, read_write> shaded: array<u32>;
@group(0) @binding(14) var<storage, read> held: array<vec2f>; // how wet, where hair is
const DEEPEST = 5.0; // [mm] drawn in full red
const WEIGHTS = ${VIEWS.indexOf("weights")}u;
const SETS = ${VIEWS.indexOf("sets")}u;
const PENETRATION = ${VIEWS.indexOf("penetration")}u;
fn hashed(number: f32) -> vec3f {
  var p = fract(number * vec3f(0.1031, 0.1030, 0.0973) + vec3f(0.31, 0.72, 0.11));
  p += dot(p, p.yzx + 33.33);
  return 0.15 + 0.85 * fract((p.xxy + p.yzz) * p.zyx);
}
/** Of a coloured view: how heavy the heaviest guide is, how deep hair was inside [mm], or a colour of its own. */
fn tint(i: u32, own: f32) -> vec3f {
  if (scene.view == WEIGHTS) { return mix(vec3f(0.1, 0.15, 0.8), vec3f(1.0, 0.75, 0.1), sqrt(fract(own))); }
  if (scene.view == PENETRATION) {
    if (own < 0.01) { return vec3f(0.35, 0.38, 0.42); }
    return mix(vec3f(1.0, 0.9, 0.1), vec3f(1.0, 0.05, 0.05), min(own / DEEPEST, 1.0));
  }
  return hashed(floor(select(own, tags[i].w, scene.view == SETS)));
}
${THREAD}
  if (thread >= scene.count * scene.vertices) { return; }
  let vertex = thread % scene.vertices;
  let own = points[thread];
  let before = points[select(thread, thread - 1, vertex > 0u)].xyz;
  let after = points[select(thread, thread + 1, vertex < scene.vertices - 1)].xyz;
  let tangent = normalize(after - before + vec3f(0.0, 1e-9, 0.0));
  let toEye = normalize(scene.eye - own.xyz);
  let hairs = hairsBefore(own.xyz);
  var sum = vec3f(0.0);
  if (scene.view > 0u) {
    let base = tint(thread, own.w);
    let facing = sqrt(max(1.0 - pow(dot(tangent, scene.key), 2.0), 0.0));
    sum = base * base * (0.25 + 0.9 * facing * exp(-0.12 * hairs));
  } else {
    var pigment = unpack4x8unorm(colors[thread]).xyz;
    if (scene.isWet != 0u) {
      damp = held[thread].x;
      pigment = pow(pigment, vec3f(1.0 + WET_ABSORPTION * damp));
    }
    sum = lit(tangent, toEye, pigment, scene.key, scene.keyColor * openToLight(own.xyz, 0.004), hairs);
    sum += lit(tangent, toEye, pigment, scene.rim, scene.rimColor, 4.0 + 0.5 * hairs);
    sum += ambient(tangent, toEye, pigment, scene.sky, 0.6 + 0.15 * min(hairs, 12.0));
  }
  shaded[thread] = pack4x8unorm(vec4f(develop(sum), 1.0));
}`;

const RIBBONS = `${LIGHT}
@group(0) @binding(1) var<storage, read> points: array<vec4f>;
@group(0) @binding(2) var<storage, read> shaded: array<u32>;
const FINEST = ${FINEST}; // [pixels]
const PIECES = ${PIECES}u;
struct Corner { @builtin(position) place: vec4f, @location(0) tint: vec3f }
@vertex fn corner(@builtin(vertex_index) number: u32, @builtin(instance_index) block: u32) -> Corner {
  let steps = PIECES * (scene.vertices - 1);
  let own = number >> 1;
  let hair = block * ${BLOCK}u + own / (steps + 1);
  let step = own % (steps + 1);
  if (hair >= scene.count) { return Corner(vec4f(2.0, 2.0, 2.0, 1.0), vec3f(0.0)); } // beyond the last one: out of sight
  let vertex = min(step / PIECES, scene.vertices - 2);
  let first = hair * scene.vertices + vertex;
  let u = f32(step - vertex * PIECES) / f32(PIECES);
  let b = points[first].xyz;
  let c = points[first + 1].xyz;
  var a = 2.0 * b - c;
  var d = 2.0 * c - b;
  if (vertex > 0u) { a = points[first - 1].xyz; }
  if (vertex < scene.vertices - 2) { d = points[first + 2].xyz; }
  let p = 0.5 * (c - a); // Catmull-Rom
  let q = a - 2.5 * b + 2.0 * c - 0.5 * d;
  let r = 1.5 * (b - c) + 0.5 * (d - a);
  let point = b + u * (p + u * (q + u * r));
  let along = p + u * (2.0 * q + 3.0 * u * r);
  var here = scene.viewProjection * vec4f(point, 1.0);
  let ahead = scene.viewProjection * vec4f(point + 0.1 * along, 1.0);
  let way = (ahead.xy / ahead.w - here.xy / here.w) * scene.size;
  let span = length(way);
  let across = select(vec2f(1.0, 0.0), vec2f(-way.y, way.x) / max(span, 1e-6), span > 1e-6);
  let taper = 1.0 - 0.7 * smoothstep(0.6, 1.0, f32(step) / f32(steps));
  let seen = taper * scene.width * scene.size.y * 0.5 / here.w; // \`width\` holds the focal length already
  let side = across * (f32(number & 1u) - 0.5) * max(seen, FINEST) / scene.size * 2.0 * here.w;
  here = vec4f(here.xy + side, here.z - 0.0005 * here.w, here.w); // in front of the skin that it lies on
  let low = unpack4x8unorm(shaded[first]).rgb;
  let high = unpack4x8unorm(shaded[first + 1]).rgb;
  return Corner(here, mix(low, high, u));
}
@fragment fn main(corner: Corner) -> @location(0) vec4f { return vec4f(corner.tint, 1.0); }`;

/** Look of all hairs, and what draws them. */
export class HairPass {
  private readonly shade: GPUComputePipeline;
  private readonly ribbons: GPURenderPipeline;
  private readonly shaded: GPUBuffer;
  private readonly index: GPUBuffer;
  private readonly indexCount: number;
  private readonly smooth: GPUSampler;
  private fibre: FibreTextures | null = null;
  private colors: GPUBuffer | null = null;

  constructor(
    private readonly gpu: Gpu,
    strands: number,
    private readonly vertices: number,
    private readonly shadow: ShadowMap,
  ) {
    this.shaded = gpu.storage(4 * strands * vertices);
    const index = new Uint32Array(ribbons(PIECES * (vertices - 1), BLOCK));
    this.indexCount = index.length;
    this.index = gpu.geometry(index, GPUBufferUsage.INDEX);
    this.smooth = gpu.device.createSampler({ minFilter: "linear", magFilter: "linear" });
    this.shade = gpu.compute(SHADE);
    const module = gpu.device.createShaderModule({ code: RIBBONS });
    this.ribbons = gpu.device.createRenderPipeline({
      layout: "auto",
      vertex: { module },
      fragment: { module, targets: [{ format: gpu.format }] },
      depthStencil: { format: "depth24plus", depthWriteEnabled: true, depthCompare: "less-equal" },
      multisample: { count: gpu.samples },
    });
  }

  take(look: Look): void {
    this.fibre?.dispose();
    this.colors?.destroy();
    this.fibre = new FibreTextures(this.gpu, look);
    const count = look.colors.length / 3;
    const packed = new Uint8Array(4 * count);
    for (let i = 0; i < count; i++) packed.set(look.colors.subarray(3 * i, 3 * i + 3), 4 * i);
    this.colors = this.gpu.storage(packed);
  }

  get isReady(): boolean {
    return this.fibre !== null;
  }

  /** Shade `count` hairs of `points`; `tags` has numbers of guide sets, `held` how wet they are, if they are. */
  light(encoder: GPUCommandEncoder, scene: GPUBuffer, points: GPUBuffer, tags: GPUBuffer, held: GPUBuffer | null, count: number): void {
    const { nearest, layers, solids } = this.shadow;
    const fibre = this.fibre as FibreTextures;
    const own = [points, this.colors as GPUBuffer, tags, this.shaded, held ?? tags];
    const bound = [scene, this.smooth, nearest, layers, solids, ...fibre.bound, ...own];
    this.gpu.run(encoder, this.shade, bound, count * this.vertices);
  }

  draw(pass: GPURenderPassEncoder, scene: GPUBuffer, points: GPUBuffer, count: number): void {
    pass.setPipeline(this.ribbons);
    pass.setBindGroup(0, this.gpu.bind(this.ribbons, [scene, points, this.shaded]));
    pass.setIndexBuffer(this.index, "uint32");
    pass.drawIndexed(this.indexCount, Math.ceil(count / BLOCK));
  }

  dispose(): void {
    this.fibre?.dispose();
    [this.colors, this.shaded, this.index].forEach((one) => one?.destroy());
  }
}

// Solids and handles: meshes of three's scenes, drawn by pipelines of our own. Solids are lit as ../solids.ts has them.

import type * as THREE from "three";
import type { Gpu, Uniforms } from "./gpu";
import { DEVELOP, LIGHT, SHADOW } from "./light";

const MODEL = "struct Model { matrix: mat4x4f, color: vec3f, gloss: f32 }";

const LIT = `${LIGHT}${SHADOW}${DEVELOP}${MODEL}
@group(0) @binding(5) var<uniform> model: Model;
struct Corner { @builtin(position) place: vec4f, @location(0) world: vec3f, @location(1) facing: vec3f }
@vertex fn corner(@location(0) position: vec3f, @location(1) normal: vec3f) -> Corner {
  let world = model.matrix * vec4f(position, 1.0);
  return Corner(scene.viewProjection * world, world.xyz, (model.matrix * vec4f(normal, 0.0)).xyz);
}
@fragment fn main(corner: Corner) -> @location(0) vec4f {
  let n = normalize(corner.facing);
  let toEye = normalize(scene.eye - corner.world);
  let hair = exp(-0.7 * hairsBefore(corner.world + 0.002 * n));
  let light = hair * openToLight(corner.world + 0.003 * n, 0.002);
  let between = normalize(scene.key + toEye);
  let lamps = scene.keyColor * light * max(dot(n, scene.key), 0.0) + scene.rimColor * max(dot(n, scene.rim), 0.0);
  var sum = model.color * lamps / 3.14159;
  sum += model.color * scene.sky * (0.65 + 0.35 * n.y) * (0.45 + 0.55 * light);
  sum += model.gloss * scene.keyColor * light * pow(max(dot(n, between), 0.0), 40.0);
  return vec4f(develop(sum), 1.0);
}`;

const CAST = `${LIGHT}${MODEL}
@group(0) @binding(1) var<uniform> model: Model;
@vertex fn corner(@location(0) position: vec3f) -> @builtin(position) vec4f {
  return scene.lightMatrix * model.matrix * vec4f(position, 1.0);
}`;

/** Handles: plain colours, seen through everything; the fourth number of their colour is how opaque they are. */
const PLAIN = `${LIGHT}${MODEL}
@group(0) @binding(1) var<uniform> model: Model;
@vertex fn corner(@location(0) position: vec3f) -> @builtin(position) vec4f {
  return scene.viewProjection * model.matrix * vec4f(position, 1.0);
}
@fragment fn main() -> @location(0) vec4f { return vec4f(model.color * model.gloss, model.gloss); }`;

interface Mesh {
  position: GPUBuffer;
  normal: GPUBuffer | null;
  index: GPUBuffer | null;
  format: GPUIndexFormat;
  count: number;
  uniforms: Uniforms;
}

type Drawable = THREE.Object3D & { geometry?: THREE.BufferGeometry; material?: THREE.Material | THREE.Material[] };

export class Meshes {
  private readonly known = new Map<THREE.Object3D, Mesh>();
  private readonly lit: GPURenderPipeline;
  private readonly caster: GPURenderPipeline;
  private readonly plain: Record<"triangle-list" | "line-strip", GPURenderPipeline>;
  private readonly smooth: GPUSampler;
  private solids: Mesh[] = [];

  constructor(private readonly gpu: Gpu) {
    const { device, format, samples } = gpu;
    this.smooth = device.createSampler({ minFilter: "linear", magFilter: "linear" });
    const [lit, cast, plain] = [LIT, CAST, PLAIN].map((code) => device.createShaderModule({ code }));
    const floats = (shaderLocation: number): GPUVertexBufferLayout => ({
      arrayStride: 12,
      attributes: [{ shaderLocation, offset: 0, format: "float32x3" }],
    });
    const depth = { format: "depth24plus", depthWriteEnabled: true, depthCompare: "less-equal" } as const;
    this.lit = device.createRenderPipeline({
      layout: "auto",
      vertex: { module: lit, buffers: [floats(0), floats(1)] },
      fragment: { module: lit, targets: [{ format }] },
      primitive: { cullMode: "back" },
      depthStencil: depth,
      multisample: { count: samples },
    });
    this.caster = device.createRenderPipeline({
      layout: "auto",
      vertex: { module: cast, buffers: [floats(0)] },
      depthStencil: { ...depth, format: "depth32float" },
    });
    const over: GPUBlendComponent = { srcFactor: "one", dstFactor: "one-minus-src-alpha" };
    const drawn = (topology: GPUPrimitiveTopology) =>
      device.createRenderPipeline({
        layout: "auto",
        vertex: { module: plain, buffers: [floats(0)] },
        fragment: { module: plain, targets: [{ format, blend: { color: over, alpha: over } }] },
        primitive: { topology },
        depthStencil: { ...depth, depthWriteEnabled: false, depthCompare: "always" },
        multisample: { count: samples },
      });
    this.plain = { "triangle-list": drawn("triangle-list"), "line-strip": drawn("line-strip") };
  }

  /** Take solids as they are placed now. */
  place(scene: THREE.Scene): void {
    this.solids = [];
    for (const child of scene.children) {
      const mesh = this.mesh(child);
      if (!mesh) continue;
      const { color, gloss } = ((child as Drawable).material as THREE.RawShaderMaterial).uniforms;
      mesh.uniforms.begin().float(...child.matrixWorld.elements, color.value.x, color.value.y, color.value.z, gloss.value).send();
      this.solids.push(mesh);
    }
    // What the scene no longer has.
    for (const [object, mesh] of this.known) if (object.userData.number !== undefined && object.parent !== scene) this.forget(object, mesh);
  }

  private forget(object: THREE.Object3D, mesh: Mesh): void {
    [mesh.position, mesh.normal, mesh.index, mesh.uniforms.buffer].forEach((one) => one?.destroy());
    this.known.delete(object);
  }

  private mesh(object: Drawable): Mesh | null {
    const found = this.known.get(object);
    if (found) return found;
    const geometry = object.geometry;
    if (!geometry?.attributes.position) return null;
    const array = (name: string) => geometry.attributes[name]?.array as Float32Array<ArrayBuffer> | undefined;
    const [position, normal] = [array("position") as Float32Array<ArrayBuffer>, array("normal")];
    const index = geometry.index?.array as Uint32Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | undefined;
    const made: Mesh = {
      position: this.gpu.geometry(position, GPUBufferUsage.VERTEX),
      normal: normal ? this.gpu.geometry(normal, GPUBufferUsage.VERTEX) : null,
      index: index ? this.gpu.geometry(index, GPUBufferUsage.INDEX) : null,
      format: index?.BYTES_PER_ELEMENT === 2 ? "uint16" : "uint32",
      count: index?.length ?? position.length / 3,
      uniforms: this.gpu.uniforms(80),
    };
    this.known.set(object, made);
    return made;
  }

  private drawOne(pass: GPURenderPassEncoder, mesh: Mesh, pipeline: GPURenderPipeline, bound: (GPUBuffer | GPUTextureView | GPUSampler)[]): void {
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, this.gpu.bind(pipeline, [...bound, mesh.uniforms.buffer]));
    pass.setVertexBuffer(0, mesh.position);
    if (pipeline === this.lit && mesh.normal) pass.setVertexBuffer(1, mesh.normal);
    if (!mesh.index) return pass.draw(mesh.count);
    pass.setIndexBuffer(mesh.index, mesh.format);
    pass.drawIndexed(mesh.count);
  }

  /** Draw depths of solids as the light sees them. */
  cast(pass: GPURenderPassEncoder, scene: GPUBuffer): void {
    for (const mesh of this.solids) this.drawOne(pass, mesh, this.caster, [scene]);
  }

  draw(pass: GPURenderPassEncoder, scene: GPUBuffer, shadow: { nearest: GPUTextureView; layers: GPUTextureView; solids: GPUTextureView }): void {
    for (const mesh of this.solids) this.drawOne(pass, mesh, this.lit, [scene, this.smooth, shadow.nearest, shadow.layers, shadow.solids]);
  }

  /** Draw handles over everything. */
  drawPlain(pass: GPURenderPassEncoder, scene: GPUBuffer, handles: THREE.Scene): void {
    handles.updateMatrixWorld();
    handles.traverseVisible((object: Drawable) => {
      const { material } = object;
      if (!material || Array.isArray(material) || !material.visible) return;
      const mesh = this.mesh(object);
      if (!mesh) return;
      const { r, g, b } = (material as THREE.MeshBasicMaterial).color;
      mesh.uniforms.begin().float(...object.matrixWorld.elements, r, g, b, material.opacity).send();
      this.drawOne(pass, mesh, this.plain["isMesh" in object ? "triangle-list" : "line-strip"], [scene]);
    });
  }
}

// Shadows of hair on hair: a deep opacity map (Yuksel and Keyser 2008). Seen from the light, the nearest hair is found
// first; four layers behind it then count the hairs that light crosses. Solids have a depth map of their own.

import * as THREE from "three";
import { FETCH } from "./texels";

// Texels along each side, strands that are drawn into the map, of which each stands for its share of all, and texels
// around, over which shadows are smoothed. With fewer strands texels must be larger, or gaps show.
const CARD = { size: 384, strands: 6000, reach: 1 };
const SOFTWARE = { size: 96, strands: 400, reach: 0 };

const LINES = (body: string) => `${FETCH}
uniform sampler2D points;
uniform mat4 lightMatrix;
uniform int vertices;
out float depth;
void main() {
  int segment = gl_VertexID >> 1, end = gl_VertexID & 1;
  int strand = segment / (vertices - 1), vertex = segment % (vertices - 1) + end;
  vec4 seen = lightMatrix * vec4(item(points, strand * vertices + vertex).xyz, 1.0);
  depth = 0.5 + 0.5 * seen.z;
  gl_Position = seen;
  ${body}
}`;

const NEAREST = `precision highp float;
in float depth;
out vec4 color;
void main() { color = vec4(depth, 0.0, 0.0, 1.0); }`;

const LAYERS = `precision highp float;
precision highp sampler2D;
uniform sampler2D nearest;
uniform float weight, thickness;
in float depth;
out vec4 color;
void main() {
  float behind = (depth - texelFetch(nearest, ivec2(gl_FragCoord.xy), 0).x) * thickness; // [m]
  color = weight * step(vec4(behind), vec4(0.008, 0.02, 0.05, 1.0));
}`;

/** GLSL that says how many hairs the light crosses on its way to a point, and whether solids let it through. */
export const SHADOW = `
uniform sampler2D nearestMap, layerMap, solidMap;
uniform mat4 lightMatrix;
uniform float thickness;
uniform int reach; // texels around, over which shadows are smoothed
const vec4 DEPTHS = vec4(0.008, 0.02, 0.05, 0.12); // [m] behind the nearest hair
float layered(vec4 layers, float behind) {
  if (behind <= 0.0) return 0.0;
  if (behind < DEPTHS.x) return layers.x * behind / DEPTHS.x;
  if (behind < DEPTHS.y) return mix(layers.x, layers.y, (behind - DEPTHS.x) / (DEPTHS.y - DEPTHS.x));
  if (behind < DEPTHS.z) return mix(layers.y, layers.z, (behind - DEPTHS.y) / (DEPTHS.z - DEPTHS.y));
  return mix(layers.z, layers.w, min((behind - DEPTHS.z) / (DEPTHS.w - DEPTHS.z), 1.0));
}
float hairsBefore(vec3 point) {
  vec3 seen = 0.5 + 0.5 * (lightMatrix * vec4(point, 1.0)).xyz;
  float sum = 0.0, texel = 1.0 / float(textureSize(layerMap, 0).x);
  for (int x = -reach; x <= reach; x++) for (int y = -reach; y <= reach; y++) {
    vec2 at = seen.xy + 1.2 * texel * vec2(x, y);
    float behind = (seen.z - texture(nearestMap, at).x) * thickness;
    sum += layered(texture(layerMap, at), behind);
  }
  return sum / float((2 * reach + 1) * (2 * reach + 1));
}
float openToLight(vec3 point, float bias) {
  vec3 seen = 0.5 + 0.5 * (lightMatrix * vec4(point, 1.0)).xyz;
  float sum = 0.0, texel = 1.0 / float(textureSize(solidMap, 0).x);
  for (int x = -reach; x <= reach; x++) for (int y = -reach; y <= reach; y++)
    sum += step(seen.z - bias / thickness, texture(solidMap, seen.xy + texel * vec2(x, y)).x);
  return sum / float((2 * reach + 1) * (2 * reach + 1));
}
`;

export class ShadowMap {
  readonly camera = new THREE.OrthographicCamera(-1, 1, 1, -1, 0, 1);
  readonly matrix = new THREE.Matrix4();
  readonly nearest: THREE.WebGLRenderTarget;
  readonly layers: THREE.WebGLRenderTarget;
  readonly solids: THREE.WebGLRenderTarget;
  thickness = 1;
  private readonly nearestScene = new THREE.Scene();
  private readonly layerScene = new THREE.Scene();
  private readonly geometry = new THREE.BufferGeometry();
  private readonly depthOnly = new THREE.MeshBasicMaterial({ side: THREE.DoubleSide });
  private readonly uniforms: Record<string, THREE.IUniform>;

  private readonly detail: typeof CARD;

  constructor(isSoftware: boolean) {
    this.detail = isSoftware ? SOFTWARE : CARD;
    const { size } = this.detail;
    const options = { type: THREE.HalfFloatType, format: THREE.RGBAFormat, depthBuffer: false };
    this.nearest = new THREE.WebGLRenderTarget(size, size, options);
    this.layers = new THREE.WebGLRenderTarget(size, size, options);
    this.solids = new THREE.WebGLRenderTarget(size, size, { depthBuffer: true });
    this.solids.depthTexture = new THREE.DepthTexture(size, size, THREE.UnsignedIntType);
    this.uniforms = {
      points: { value: null },
      vertices: { value: 2 },
      lightMatrix: { value: this.matrix },
      nearest: { value: this.nearest.texture },
      weight: { value: 1 },
      thickness: { value: 1 },
    };
    const blend = { blending: THREE.CustomBlending, blendSrc: THREE.OneFactor, blendDst: THREE.OneFactor } as const;
    this.nearestScene.add(this.lines(NEAREST, { ...blend, blendEquation: THREE.MinEquation }));
    this.layerScene.add(this.lines(LAYERS, { ...blend, blendEquation: THREE.AddEquation }));
  }

  private lines(fragment: string, blend: Partial<THREE.ShaderMaterialParameters>): THREE.LineSegments {
    const material = new THREE.RawShaderMaterial({
      glslVersion: THREE.GLSL3,
      vertexShader: LINES(""),
      fragmentShader: fragment,
      uniforms: this.uniforms,
      depthTest: false,
      depthWrite: false,
      transparent: true,
      ...blend,
    });
    const lines = new THREE.LineSegments(this.geometry, material);
    lines.frustumCulled = false;
    return lines;
  }

  /** Look at a ball of hair from the light. */
  aim(direction: THREE.Vector3, center: THREE.Vector3, radius: number): void {
    this.camera.left = this.camera.bottom = -radius;
    this.camera.right = this.camera.top = radius;
    this.camera.near = 0;
    this.camera.far = this.thickness = 2 * radius;
    this.camera.position.copy(center).addScaledVector(direction, radius);
    this.camera.up.set(0, 1, 0);
    this.camera.lookAt(center);
    this.camera.updateMatrixWorld();
    this.camera.updateProjectionMatrix();
    this.matrix.multiplyMatrices(this.camera.projectionMatrix, this.camera.matrixWorldInverse);
  }

  /** Draw the maps of hairs in `points`; `all` hairs of `width` [m] are there, of which some are drawn. */
  draw(
    renderer: THREE.WebGLRenderer,
    points: THREE.Texture,
    strands: number,
    vertices: number,
    all: number,
    width: number,
    solids: THREE.Scene | null,
  ): void {
    const drawn = Math.min(strands, this.detail.strands);
    const texel = this.thickness / this.detail.size;
    this.uniforms.points.value = points;
    this.uniforms.vertices.value = vertices;
    this.uniforms.weight.value = (all / Math.max(drawn, 1)) * (width / texel);
    this.uniforms.thickness.value = this.thickness;
    this.geometry.setDrawRange(0, drawn * (vertices - 1) * 2);
    const clear = renderer.getClearColor(new THREE.Color());
    const alpha = renderer.getClearAlpha();
    renderer.setRenderTarget(this.nearest);
    renderer.setClearColor(0xffffff, 1);
    renderer.clear();
    renderer.render(this.nearestScene, this.camera);
    renderer.setRenderTarget(this.layers);
    renderer.setClearColor(0x000000, 0);
    renderer.clear();
    renderer.render(this.layerScene, this.camera);
    renderer.setRenderTarget(this.solids);
    renderer.clear();
    if (solids) {
      solids.overrideMaterial = this.depthOnly; // their own material reads this very map
      renderer.render(solids, this.camera);
      solids.overrideMaterial = null;
    }
    renderer.setRenderTarget(null);
    renderer.setClearColor(clear, alpha);
  }

  /** Uniforms of shaders that contain `SHADOW`. */
  get shared(): Record<string, THREE.IUniform> {
    return {
      nearestMap: { value: this.nearest.texture },
      layerMap: { value: this.layers.texture },
      solidMap: { value: this.solids.depthTexture },
      lightMatrix: { value: this.matrix },
      thickness: this.uniforms.thickness,
      reach: { value: this.detail.reach },
    };
  }
}

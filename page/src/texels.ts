// Arrays as textures: item i of an array is the texel (i % WIDTH, i / WIDTH) of a texture that shaders fetch from.

import * as THREE from "three";

export const WIDTH = 2048;

export function rowsOf(count: number): number {
  return Math.max(1, Math.ceil(count / WIDTH));
}

const FORMATS: Record<number, THREE.PixelFormat> = { 1: THREE.RedFormat, 2: THREE.RGFormat, 4: THREE.RGBAFormat };

/** A texture of `count` texels with `channels` (1, 2 or 4) float32 each; `data` may be shorter. */
export function floatTexture(count: number, channels: 1 | 2 | 4, data?: ArrayLike<number>): THREE.DataTexture {
  const array = new Float32Array(WIDTH * rowsOf(count) * channels);
  if (data) array.set(data);
  const texture = new THREE.DataTexture(array, WIDTH, rowsOf(count), FORMATS[channels], THREE.FloatType);
  texture.needsUpdate = true;
  return texture;
}

/** Points (N, 3) as a texture of (x, y, z, 0). */
export function pointTexture(points: ArrayLike<number>): THREE.DataTexture {
  const count = points.length / 3;
  const texture = floatTexture(count, 4);
  fillPoints(texture, points);
  return texture;
}

/** Put points (N, 3) into a texture that `pointTexture` made. */
export function fillPoints(texture: THREE.DataTexture, points: ArrayLike<number>): void {
  const data = texture.image.data as Float32Array;
  for (let i = 0, o = 0; i < points.length; i += 3, o += 4) {
    data[o] = points[i];
    data[o + 1] = points[i + 1];
    data[o + 2] = points[i + 2];
  }
  texture.needsUpdate = true;
}

/** A target of `count` texels of four float32 numbers each. */
export function floatTarget(count: number, textures = 1): THREE.WebGLRenderTarget {
  const target = new THREE.WebGLRenderTarget(WIDTH, rowsOf(count), {
    type: THREE.FloatType,
    format: THREE.RGBAFormat,
    minFilter: THREE.NearestFilter,
    magFilter: THREE.NearestFilter,
    depthBuffer: false,
    count: textures,
  });
  return target;
}

/** GLSL that every pass over texels begins with. */
export const FETCH = `
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler3D;
const int WIDTH = ${WIDTH};
vec4 item(sampler2D array, int i) { return texelFetch(array, ivec2(i % WIDTH, i / WIDTH), 0); }
`;

/** Draws a shader over the first texels of a target. */
export class Pass {
  private readonly scene = new THREE.Scene();
  private readonly camera = new THREE.OrthographicCamera();
  readonly material: THREE.RawShaderMaterial;

  constructor(fragment: string, uniforms: Record<string, THREE.IUniform>) {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array([-1, -1, 0, 3, -1, 0, -1, 3, 0]), 3));
    this.material = new THREE.RawShaderMaterial({
      glslVersion: THREE.GLSL3,
      vertexShader: "in vec3 position; void main() { gl_Position = vec4(position, 1.0); }",
      fragmentShader: FETCH + fragment,
      uniforms,
      depthTest: false,
      depthWrite: false,
      blending: THREE.NoBlending,
    });
    const mesh = new THREE.Mesh(geometry, this.material);
    mesh.frustumCulled = false;
    this.scene.add(mesh);
  }

  /** Compute the first texels, and what else is in their rows; of several `parts` of the columns one alone. */
  run(renderer: THREE.WebGLRenderer, target: THREE.WebGLRenderTarget, count: number, parts = 1, part = 0): void {
    const [rows, columns] = [rowsOf(count), WIDTH / parts];
    target.viewport.set(0, 0, WIDTH, rows);
    target.scissor.set(part * columns, 0, columns, rows);
    target.scissorTest = true;
    renderer.setRenderTarget(target);
    renderer.render(this.scene, this.camera);
    renderer.setRenderTarget(null);
  }
}

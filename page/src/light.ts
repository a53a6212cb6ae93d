// The light that everything is seen in, and how it becomes what a display shows.

import * as THREE from "three";

export const BACKGROUND = 0x20242b;
export const MARGIN = 1.35; // of the ball around the hair that the light sees
export const KEY = new THREE.Vector3(0.55, 0.75, 0.65).normalize();

/** Declares what `lightUniforms` gives. */
export const LIGHT = "uniform vec3 eye, key, keyColor, rim, rimColor, sky;";

/** A lamp, one behind, and the sky, as uniforms of a shader of its own. */
export function lightUniforms(): Record<string, THREE.IUniform> {
  return {
    eye: { value: new THREE.Vector3() },
    key: { value: KEY },
    keyColor: { value: new THREE.Vector3(3.4, 3.2, 2.95) },
    rim: { value: new THREE.Vector3(-0.6, 0.45, -0.75).normalize() },
    rimColor: { value: new THREE.Vector3(1.5, 1.65, 1.9) },
    sky: { value: new THREE.Vector3(0.5, 0.55, 0.62) },
  };
}

/** Light to what a display shows: a filmic curve (after Narkowicz), then sRGB. */
export const DEVELOP = `
vec3 develop(vec3 light) {
  vec3 x = 0.9 * light;
  vec3 film = clamp((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);
  return mix(12.92 * film, 1.055 * pow(film, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, film));
}`;

/** Radius of a ball around the origin that holds points (N, 3). */
export function radiusOf(points: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < points.length; i += 3) {
    largest = Math.max(largest, points[i] ** 2 + points[i + 1] ** 2 + points[i + 2] ** 2);
  }
  return Math.sqrt(largest);
}

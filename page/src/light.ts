// The light that everything is seen in, and how it becomes what a display shows.

import * as THREE from "three";
import { LAMPS } from "./lamps";

/** Declares what `lightUniforms` gives. */
export const LIGHT = "uniform vec3 eye, key, keyColor, rim, rimColor, sky;";

/** A lamp, one behind, and the sky, as uniforms of a shader of its own. */
export function lightUniforms(): Record<string, THREE.IUniform> {
  const lamps = Object.entries(LAMPS).map(([name, numbers]) => [name, { value: new THREE.Vector3(...numbers) }]);
  return { eye: { value: new THREE.Vector3() }, ...Object.fromEntries(lamps) };
}

/** Light to what a display shows: a filmic curve (after Narkowicz), then sRGB. */
export const DEVELOP = `
vec3 develop(vec3 light) {
  vec3 x = 0.9 * light;
  vec3 film = clamp((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);
  return mix(12.92 * film, 1.055 * pow(film, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, film));
}`;

// Guides of a frame as the shaders want them, computed in double precision.

import type { Frame, Hair, Points } from "./generated/protocol";

export const LONGEST_FADE = 1.0; // [s] a frame that comes so much later begins anew, as in skin/adaptive/skin.py

/** Row-major 3 x 3 matrix of a quaternion (x, y, z, w), which need not be of unit length. */
export function matrixOf(q: ArrayLike<number>): number[] {
  const [x, y, z, w] = [q[0], q[1], q[2], q[3]];
  const s = 2 / (x * x + y * y + z * z + w * w);
  return [
    1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w),
    s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w),
    s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y),
  ]; // prettier-ignore
}

export function times(m: ArrayLike<number>, x: number, y: number, z: number): [number, number, number] {
  return [m[0] * x + m[1] * y + m[2] * z, m[3] * x + m[4] * y + m[5] * z, m[6] * x + m[7] * y + m[8] * z];
}

/** What linear skinning adds up: s = g - R g0 of every vertex of every guide, g0 from the pivot (hsu2024 eq. 9). */
export function linearShifts(hair: Hair, frame: Frame, out: Float32Array): void {
  const turn = matrixOf(frame.head.subarray(3, 7));
  const { points } = frame;
  const rest = hair.guide_rest;
  for (let i = 0, o = 0; i < points.length; i += 3, o += 4) {
    const [x, y, z] = times(turn, rest[i], rest[i + 1], rest[i + 2]);
    out[o] = points[i] - x;
    out[o + 1] = points[i + 1] - y;
    out[o + 2] = points[i + 2] - z;
  }
}

/** Displacements of guides as seen from the head: R^T (g - p) - g0 (chai2017 eq. 5). */
export function displacements(hair: Hair, frame: Frame, out: Float32Array): void {
  const m = matrixOf(frame.head.subarray(3, 7));
  const back = [m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]];
  const [px, py, pz] = frame.head;
  const { points } = frame;
  const rest = hair.guide_rest;
  const [cx, cy, cz] = hair.pivot;
  for (let i = 0, o = 0; i < points.length; i += 3, o += 4) {
    const [x, y, z] = times(back, points[i] - px, points[i + 1] - py, points[i + 2] - pz);
    out[o] = x - rest[i] - cx;
    out[o + 1] = y - rest[i + 1] - cy;
    out[o + 2] = z - rest[i + 2] - cz;
  }
}

/** Where the pivot is in the world: position + R pivot. */
export function movedPivot(hair: Hair, frame: Frame): [number, number, number] {
  const [x, y, z] = times(matrixOf(frame.head.subarray(3, 7)), hair.pivot[0], hair.pivot[1], hair.pivot[2]);
  return [frame.head[0] + x, frame.head[1] + y, frame.head[2] + z];
}

/** Places on guides as texels: index of the vertex before in an array of all guides, and the fraction to the next. */
export function placeTexels(guide: ArrayLike<number>, parameter: ArrayLike<number>, vertices: number, own: number): Float32Array {
  const out = new Float32Array(2 * parameter.length);
  for (let i = 0; i < parameter.length; i++) {
    const before = Math.min(Math.floor(parameter[i]), own - 2);
    out[2 * i] = guide[Math.floor(i / vertices)] * own + before;
    out[2 * i + 1] = parameter[i] - before;
  }
  return out;
}

/** Points (N, 3) [m] of a message with 16 bits each. */
export function unpack(message: Points): Float32Array {
  const points = new Float32Array(message.packed.length);
  for (let i = 0; i < points.length; i++) points[i] = message.low[i % 3] + message.step * message.packed[i];
  return points;
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { normals, smooth } from "../src/water";
import { rowsOfFour } from "../src/wet";

const CUBE = Float32Array.from([0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1], (x) => x - 0.5);
const FACES = [0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5];

test("normals of a closed surface have unit length and point outwards", () => {
  const found = normals(CUBE, FACES);
  for (let i = 0; i < CUBE.length; i += 3) {
    const [n, p] = [found.subarray(i, i + 3), CUBE.subarray(i, i + 3)];
    assert.ok(Math.abs(Math.hypot(...n) - 1) < 1e-6);
    assert.ok(n[0] * p[0] + n[1] * p[1] + n[2] * p[2] > 0.5);
  }
});

/** A ring with bumps: points, triangles, and how far each point is from the middle of the tube. */
function ring(bump: number): { points: Float32Array; faces: number[] } {
  const [around, across] = [32, 16];
  const points = new Float32Array(3 * around * across);
  const faces: number[] = [];
  for (let i = 0; i < around; i++) {
    for (let j = 0; j < across; j++) {
      const [a, b, r] = [(2 * Math.PI * i) / around, (2 * Math.PI * j) / across, 0.4 + bump * ((i + j) % 2 ? 1 : -1)];
      points.set([(1 + r * Math.cos(b)) * Math.cos(a), (1 + r * Math.cos(b)) * Math.sin(a), r * Math.sin(b)], 3 * (i * across + j));
      const [k, l] = [(i + 1) % around, (j + 1) % across];
      const [p, q, s, t] = [i * across + j, k * across + j, k * across + l, i * across + l];
      faces.push(p, q, s, p, s, t);
    }
  }
  return { points, faces };
}

function radii(points: Float32Array): number[] {
  return Array.from({ length: points.length / 3 }, (_, i) => Math.hypot(Math.hypot(points[3 * i], points[3 * i + 1]) - 1, points[3 * i + 2]));
}

test("smoothing takes bumps out of a tube and leaves its thickness", () => {
  const { points, faces } = ring(0.05);
  smooth(points, faces);
  const found = radii(points);
  const mean = found.reduce((sum, r) => sum + r, 0) / found.length;
  assert.ok(Math.abs(mean / 0.4 - 1) < 0.05, String(mean));
  assert.ok(Math.max(...found.map((r) => Math.abs(r - mean))) < 0.025);
});

test("rows of up to three guides have room for the leader", () => {
  assert.deepEqual([...rowsOfFour([5, 6, 7, 8], 2, [9, 10])], [5, 6, 0, 9, 7, 8, 0, 10]);
});

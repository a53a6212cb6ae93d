import assert from "node:assert/strict";
import { test } from "node:test";
import { coarse } from "../src/coarse";

/** A flat square of n by n quads, 1 m wide. */
function square(n: number) {
  const points: number[] = [];
  const faces: number[] = [];
  for (let y = 0; y <= n; y++) for (let x = 0; x <= n; x++) points.push(x / n, y / n, 0);
  for (let y = 0; y < n; y++) {
    for (let x = 0; x < n; x++) {
      const a = y * (n + 1) + x;
      faces.push(a, a + 1, a + n + 1, a + 1, a + n + 2, a + n + 1);
    }
  }
  return { points: Float32Array.from(points), faces: Uint32Array.from(faces) };
}

function area({ points, faces }: { points: Float32Array; faces: Uint32Array }): number {
  let sum = 0;
  for (let i = 0; i < faces.length; i += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => points.subarray(3 * faces[i + k], 3 * faces[i + k] + 3));
    sum += 0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
  }
  return sum;
}

test("a coarse mesh has fewer triangles that face the same way and cover about as much", () => {
  const fine = square(40);
  const made = coarse(fine, 0.1);
  assert.ok(made.faces.length < fine.faces.length / 8);
  assert.ok(Math.max(...made.faces) < made.points.length / 3);
  assert.ok(area(made) > 0.75 && area(made) <= 1.0001);
});

test("a mesh that is coarse already stays as it is", () => {
  const fine = square(4);
  const made = coarse(fine, 0.01);
  assert.deepEqual([...made.points], [...fine.points]);
  assert.deepEqual([...made.faces], [...fine.faces]);
});

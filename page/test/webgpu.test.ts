import assert from "node:assert/strict";
import { test } from "node:test";
import * as THREE from "three";
import { asked } from "../src/choose";
import { half } from "../src/webgpu/fibre";
import { clipMatrix, lightMatrix } from "../src/webgpu/light";

test("halves of floats are three's, to the nearest", () => {
  for (const value of [0, 1, -1, 0.1, 65000, 1e-4, 5e-6, 6e-8, 1 / 3]) {
    assert.ok(Math.abs(THREE.DataUtils.fromHalfFloat(half(value)) - value) <= Math.max(Math.abs(value) / 2048, 3e-8), String(value));
  }
  assert.equal(half(1e6), 0x7c00);
});

function applied(m: number[], [x, y, z]: number[]): number[] {
  const out = [0, 1, 2, 3].map((r) => m[r] * x + m[4 + r] * y + m[8 + r] * z + m[12 + r]);
  return out.slice(0, 3).map((one) => one / out[3]);
}

function near(a: number[], b: number[]): void {
  a.forEach((one, i) => assert.ok(Math.abs(one - b[i]) < 1e-6, `${a} is not ${b}`));
}

test("the light sees a ball of hair from its edge to its end", () => {
  const [toLight, center] = [[0.6, 0.64, 0.48], [0.1, 0.2, 0.3]];
  const m = lightMatrix(toLight, center, 0.5);
  near(applied(m, center), [0, 0, 0.5]);
  near(applied(m, center.map((c, i) => c + 0.5 * toLight[i])), [0, 0, 0]);
  near(applied(m, center.map((c, i) => c - 0.5 * toLight[i])), [0, 0, 1]);
});

test("depths of the camera lie within 0 and 1", () => {
  const camera = new THREE.PerspectiveCamera(30, 1.5, 0.02, 20);
  camera.position.set(0.3, 0.1, 1);
  camera.lookAt(0, 0, 0);
  camera.updateMatrixWorld();
  const m = clipMatrix(camera);
  const way = camera.getWorldDirection(new THREE.Vector3());
  near(applied(m, camera.position.clone().addScaledVector(way, 0.02).toArray()), [0, 0, 0]);
  near(applied(m, camera.position.clone().addScaledVector(way, 20).toArray()), [0, 0, 1]);
  const point = new THREE.Vector3(0.1, -0.05, 0.02);
  near(applied(m, point.toArray()).slice(0, 2), point.project(camera).toArray().slice(0, 2));
});

test("an address asks for a backend that there is, or for none", () => {
  assert.equal(asked("?gpu=webgpu"), "webgpu");
  assert.equal(asked("?gpu=webgl2&x=1"), "webgl2");
  assert.equal(asked("?gpu=voodoo"), null);
  assert.equal(asked(""), null);
});

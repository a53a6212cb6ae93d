import assert from "node:assert/strict";
import { test } from "node:test";
import * as THREE from "three";
import { boundsOf, distanceTo } from "../src/framing";

const FOV = 30;
const CASES: [string, number[], number[], number][] = [
  ["a lock of two centimetres", [0.1, 0.2, 0.3, 0.11, 0.22, 0.3], [-0.3, -0.1, -1], 1.5],
  ["a head", [-0.12, -0.2, -0.12, 0.12, 0.15, 0.13], [-0.34, -0.14, -0.98], 1.8],
  ["hair to the knees", [-0.2, -1.2, -0.2, 0.2, 0.15, 0.2], [-0.34, -0.14, -0.98], 1.8],
  ["the same on a phone", [-0.2, -1.2, -0.2, 0.2, 0.15, 0.2], [-0.34, -0.14, -0.98], 0.6],
  ["a creature of three metres", [-1.5, 0, -0.4, 1.5, 1.2, 0.4], [1, -0.5, 0.2], 1],
];

for (const [name, corners, facing, aspect] of CASES) {
  test(`all of ${name} is seen, and fills the picture`, () => {
    const box = boundsOf(corners);
    const direction = new THREE.Vector3(...facing).normalize();
    const distance = distanceTo(box, direction, FOV, aspect);
    const camera = new THREE.PerspectiveCamera(FOV, aspect, 0.02 * distance, 20 * distance);
    const middle = box.getCenter(new THREE.Vector3());
    camera.position.copy(middle).addScaledVector(direction, -distance);
    camera.lookAt(middle);
    camera.updateMatrixWorld();
    let farthest = 0;
    for (let i = 0; i < 8; i++) {
      const pick = (axis: "x" | "y" | "z", bit: number) => (i & bit ? box.max[axis] : box.min[axis]);
      const corner = new THREE.Vector3(pick("x", 1), pick("y", 2), pick("z", 4)).project(camera);
      farthest = Math.max(farthest, Math.abs(corner.x), Math.abs(corner.y));
      assert.ok(corner.z > -1 && corner.z < 1);
    }
    assert.ok(Math.abs(farthest - 1 / 1.12) < 1e-6, `${farthest}`); // the corner that is farthest out touches the margin
  });
}

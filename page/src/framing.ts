// Where a camera stands that sees all of a box.

import * as THREE from "three";

const ROOM = 1.12; // around what is seen

/** The smallest box around points, (N, 3) [m]. */
export function boundsOf(points: ArrayLike<number>): THREE.Box3 {
  return new THREE.Box3().setFromArray(points as number[]);
}

/** How far from the middle of a box a camera stands [m] that looks at it along `facing`, with an opening of `fov` [degrees] upwards. */
export function distanceTo(box: THREE.Box3, facing: THREE.Vector3, fov: number, aspect: number): number {
  const back = facing.clone().normalize().negate();
  const right = new THREE.Vector3(0, 1, 0).cross(back).normalize();
  const up = back.clone().cross(right);
  const high = Math.tan((fov * Math.PI) / 360) / ROOM;
  const wide = high * aspect;
  const half = box.getSize(new THREE.Vector3()).multiplyScalar(0.5);
  let farthest = 0;
  for (const x of [-1, 1]) {
    for (const y of [-1, 1]) {
      for (const z of [-1, 1]) {
        const corner = half.clone().multiply(new THREE.Vector3(x, y, z));
        const needed = Math.max(Math.abs(corner.dot(right)) / wide, Math.abs(corner.dot(up)) / high);
        farthest = Math.max(farthest, corner.dot(back) + needed);
      }
    }
  }
  return farthest;
}

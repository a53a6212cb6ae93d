import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame, Hair } from "../src/generated/protocol";
import { displacements, linearShifts, matrixOf, movedPivot, placeTexels, times } from "../src/guides";

const half = Math.SQRT1_2;
const quarterTurn = [0, half, 0, half]; // about y: x goes to -z

function near(actual: ArrayLike<number>, expected: number[]): void {
  expected.forEach((value, i) => assert.ok(Math.abs(actual[i] - value) < 1e-6, `${i}: ${actual[i]} is not ${value}`));
}

test("a quaternion turns like its matrix, whatever its length", () => {
  near(times(matrixOf(quarterTurn), 1, 2, 3), [3, 2, -1]);
  near(matrixOf([0, 2 * half, 0, 2 * half]), matrixOf(quarterTurn));
});

/** One guide of two vertices on a head that has turned and moved, and is otherwise at rest. */
function carried(): { hair: Hair; frame: Frame } {
  const pivot = new Float32Array([0.1, 0.2, 0.3]);
  const rest = [0, 0, 0, 0.5, -0.25, 1];
  const head = [1, 2, 3, ...quarterTurn];
  const turn = matrixOf(quarterTurn);
  const points = [0, 3].flatMap((i) => {
    const [x, y, z] = times(turn, rest[i] + pivot[0], rest[i + 1] + pivot[1], rest[i + 2] + pivot[2]);
    return [x + 1, y + 2, z + 3];
  });
  const hair = { guide_rest: new Float32Array(rest), pivot } as Hair;
  const frame = { head: new Float32Array(head), points: new Float32Array(points) } as Frame;
  return { hair, frame };
}

test("guides that only ride on the head carry hair rigidly", () => {
  const { hair, frame } = carried();
  const shifts = new Float32Array(8);
  linearShifts(hair, frame, shifts);
  near(shifts.subarray(0, 3), movedPivot(hair, frame));
  near(shifts.subarray(4, 7), movedPivot(hair, frame));
  displacements(hair, frame, shifts);
  near(shifts.subarray(0, 3), [0, 0, 0]);
  near(shifts.subarray(4, 7), [0, 0, 0]);
});

test("a place on a guide is the vertex before it and the way to the next", () => {
  const texels = placeTexels([2, 0], [0, 1.25, 3, 0.5, 2, 2.75], 3, 4);
  near(texels, [8, 0, 9, 0.25, 10, 1, 0, 0.5, 2, 0, 2, 0.75]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { kept, thin } from "../src/thinned";

test("every other vertex is kept, the first and the last in any case", () => {
  assert.deepEqual(kept(5), [0, 2, 4]);
  assert.deepEqual(kept(6), [0, 2, 4, 5]);
  assert.deepEqual(kept(2), [0, 1]);
});

test("hairs keep all numbers of the vertices that they keep", () => {
  const two = new Uint16Array([...Array(2 * 4 * 3).keys()]);
  assert.deepEqual([...thin(two, 4, 3)], [0, 1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 14, 18, 19, 20, 21, 22, 23]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { explain } from "../src/connection";
import { lines, ribbons } from "../src/ribbons";
import { placeOf, valueAt } from "../src/panel";

test("a slider reaches both ends and comes back to where it was", () => {
  for (const one of [
    { low: -10, high: 10, is_whole: false },
    { low: 16, high: 600, is_whole: true },
  ]) {
    assert.equal(valueAt(one, 0), one.low);
    assert.equal(valueAt(one, 1), one.high);
    assert.equal(valueAt(one, 2), one.high);
    const value = one.is_whole ? 128 : 2.5;
    assert.ok(Math.abs(valueAt(one, placeOf(one, value)) - value) < 1e-9);
  }
});

test("ribbons have two triangles for every step, and each uses every vertex of its own", () => {
  const index = ribbons(5, 3);
  assert.equal(index.length, 90);
  assert.deepEqual([...new Set(index)].sort((a, b) => a - b), [...Array(36).keys()]);
  assert.deepEqual(index.slice(30, 60), index.slice(0, 30).map((vertex) => vertex + 12));
});

test("lines join neighbours of the same hair", () => {
  assert.deepEqual(lines(2, 2), [0, 1, 1, 2, 3, 4, 4, 5]);
});

test("every way to be turned away is explained", () => {
  assert.match(explain(1008), /token/);
  assert.match(explain(4011), /ended/);
  assert.match(explain(1006), /does not answer/);
});

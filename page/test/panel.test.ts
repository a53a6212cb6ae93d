import assert from "node:assert/strict";
import { test } from "node:test";
import { explain } from "../src/connection";
import { ribbon } from "../src/hair";
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

test("a ribbon has two triangles for every step, and uses every vertex", () => {
  const index = ribbon(5);
  assert.equal(index.length, 30);
  assert.deepEqual([...new Set(index)].sort((a, b) => a - b), [...Array(12).keys()]);
});

test("every way to be turned away is explained", () => {
  assert.match(explain(1008), /token/);
  assert.match(explain(4011), /ended/);
  assert.match(explain(1006), /does not answer/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Latency } from "../src/latency";

test("an answer is the sum of its parts, up to the end of the first picture that shows the event", () => {
  const latency = new Latency();
  latency.sent(1, 95, 100);
  latency.sent(2, 110, 112);
  latency.arrived({ sequence: 0, answered: 3 }, 115);
  latency.begun(0, 116); // shows neither
  latency.arrived({ sequence: 1, answered: 20 }, 130);
  latency.finished(140);
  assert.equal(latency.answers.length, 0);
  latency.begun(1, 141);
  latency.arrived({ sequence: 2, answered: 20 }, 150);
  latency.finished(181);
  assert.deepEqual(latency.answers, [{ total: 86, input: 5, way: 10, simulation: 20, wait: 11, picture: 40 }]);
  latency.begun(2, 182);
  latency.finished(200);
  const { total, ...parts } = latency.answers[1];
  assert.equal(total, 90);
  assert.equal(Object.values(parts).reduce((a, b) => a + b), total);
});

test("a server that does not answer costs no memory", () => {
  const latency = new Latency();
  for (let i = 1; i < 5000; i++) latency.sent(i, i, i);
  latency.arrived({ sequence: 5000, answered: 1 }, 6000);
  latency.begun(5000, 6001);
  latency.finished(6002);
  assert.ok(latency.answers.length <= 256);
});

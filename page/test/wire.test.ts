import assert from "node:assert/strict";
import { test } from "node:test";
import { read, writeCommand, writeMove } from "../src/generated/protocol";

/** The bytes of a notice as the server writes them. */
function notice(text: string, version = 1): ArrayBuffer {
  const bytes = new TextEncoder().encode(text);
  const padded = Math.ceil(bytes.length / 4) * 4;
  const data = new ArrayBuffer(16 + padded);
  const view = new DataView(data);
  [109, version, 75, 0].forEach((value, place) => view.setUint8(place, value));
  view.setUint32(4, 3, true);
  view.setUint32(8, 1, true);
  view.setUint32(12, bytes.length, true);
  new Uint8Array(data, 16, bytes.length).set(bytes);
  return data;
}

test("a message of the server is read", () => {
  assert.deepEqual(read(notice("grüße")), { kind: "notice", number: 3, is_error: 1, text: "grüße" });
});

test("another version and cut bytes are refused", () => {
  assert.throws(() => read(notice("x", 2)), /version 2/);
  assert.throws(() => read(notice("longer text").slice(0, 20)));
});

test("a message of the page is aligned and in order", () => {
  const data = new DataView(writeMove({ number: 2, position: [1, 2, 3], rotation: [0, 0, 0, 1], sequence: 9 }));
  assert.equal(data.byteLength, 4 + 4 + 4 + 12 + 4 + 16 + 4);
  assert.equal(data.getUint32(4, true), 2);
  assert.equal(data.getFloat32(16, true), 2);
  assert.equal(data.getUint32(data.byteLength - 4, true), 9);
  assert.equal(writeCommand({ action: "play!" }).byteLength, 4 + 4 + 8);
});

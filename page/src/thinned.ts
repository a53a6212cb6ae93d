// Hair of every other vertex, for a processor that draws: whatever is carried, shaded and drawn is then half as much.

import type { FromServer } from "./generated/protocol";

/** Vertices that are kept: every other one, and the last. */
export function kept(vertices: number): number[] {
  const own = Array.from({ length: Math.ceil((vertices - 1) / 2) }, (_, i) => 2 * i);
  return [...own, vertices - 1];
}

/** An array (N, V, C) with the vertices that are kept. */
export function thin<T extends Float32Array | Uint16Array | Uint8Array>(array: T, vertices: number, channels: number): T {
  const rows = kept(vertices);
  const hairs = array.length / (vertices * channels);
  const out = new (array.constructor as { new (size: number): T })(hairs * rows.length * channels);
  let o = 0;
  for (let hair = 0; hair < hairs; hair++) {
    for (const row of rows) {
      const from = (hair * vertices + row) * channels;
      for (let c = 0; c < channels; c++) out[o++] = array[from + c];
    }
  }
  return out;
}

/** A message about hairs of so many vertices as one about hairs of fewer. */
export function thinned(message: FromServer, vertices: number): FromServer {
  switch (message.kind) {
    case "hair":
      return { ...message, vertices: kept(vertices).length, rest: thin(message.rest, vertices, 3) };
    case "look":
      return { ...message, colors: thin(message.colors, vertices, 3) };
    case "linear":
      return { ...message, parameter: thin(message.parameter, vertices, 1) };
    case "adaptive": {
      const longer = (vertices - 1) / (kept(vertices).length - 1); // a step from vertex to vertex
      const recovery = message.recovery.map((one) => longer * one);
      return { ...message, parameter: thin(message.parameter, vertices, 1), recovery };
    }
    case "points":
      return { ...message, packed: thin(message.packed, vertices, 3) };
    default:
      return message;
  }
}

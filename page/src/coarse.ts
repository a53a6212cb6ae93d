// Meshes with fewer triangles, for a processor that draws: vertices of one cell of a grid become one.

export interface Triangles {
  points: Float32Array;
  faces: Uint32Array;
}

/** Merge vertices (P, 3) within cells of an edge [m]; faces (F, 3) that lose a corner go. */
export function coarse({ points, faces }: Triangles, cell: number): Triangles {
  const rows = new Map<string, number>();
  const of = new Uint32Array(points.length / 3);
  const sums: number[] = [];
  for (let i = 0; i < of.length; i++) {
    const at = points.subarray(3 * i, 3 * i + 3);
    const key = at.map((x) => Math.floor(x / cell)).join();
    const row = rows.get(key) ?? rows.size;
    rows.set(key, row);
    of[i] = row;
    if (4 * row === sums.length) sums.push(0, 0, 0, 0);
    for (let c = 0; c < 3; c++) sums[4 * row + c] += at[c];
    sums[4 * row + 3] += 1;
  }
  const merged = new Float32Array(3 * rows.size);
  for (let i = 0; i < merged.length; i++) merged[i] = sums[4 * Math.floor(i / 3) + (i % 3)] / sums[4 * Math.floor(i / 3) + 3];
  const kept: number[] = [];
  for (let i = 0; i < faces.length; i += 3) {
    const [a, b, c] = [of[faces[i]], of[faces[i + 1]], of[faces[i + 2]]];
    if (a !== b && b !== c && c !== a) kept.push(a, b, c);
  }
  return { points: merged, faces: Uint32Array.from(kept) };
}

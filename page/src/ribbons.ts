// How hairs become ribbons and lines, whatever draws them.

export const FULL_HEAD = 100_000; // hairs; fewer are drawn wider, so that they cover as much
export const WIDEST = 4; // times its own width
export const PIECES = 3; // of a segment, along a smooth curve
/** [pixels] Thinner hairs would fall between the samples of a pixel. */
export const FINEST = 0.55;

/** Hairs of one instance. A processor draws every instance by itself, at a tenth of a millisecond each, and a graphics
 * card fills its groups of threads better. */
export const BLOCK = 256;

/** Lines of `count` hairs of `steps` segments each, one after the other. */
export function lines(steps: number, count: number): number[] {
  const index: number[] = [];
  for (let i = 0; i < count * (steps + 1); i++) if (i % (steps + 1) < steps) index.push(i, i + 1);
  return index;
}

/** Triangles of ribbons of `steps` quads each, whose vertices lie left and right of their lines, one after the other. */
export function ribbons(steps: number, count: number): number[] {
  const index: number[] = [];
  for (let ribbon = 0; ribbon < count; ribbon++) {
    for (let i = 0; i < steps; i++) {
      const a = 2 * (ribbon * (steps + 1) + i);
      index.push(a, a + 1, a + 2, a + 2, a + 1, a + 3);
    }
  }
  return index;
}

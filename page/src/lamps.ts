// The lamps, the sky and the background, as plain numbers that both backends take.

type Numbers = [number, number, number];

function unit(x: number, y: number, z: number): Numbers {
  const size = Math.hypot(x, y, z);
  return [x / size, y / size, z / size];
}

export const BACKGROUND = 0x20242b;
export const MARGIN = 1.35; // of the ball around the hair that the light sees
export const LAMPS = {
  key: unit(0.55, 0.75, 0.65),
  keyColor: [3.4, 3.2, 2.95] as Numbers,
  rim: unit(-0.6, 0.45, -0.75),
  rimColor: [1.5, 1.65, 1.9] as Numbers,
  sky: [0.5, 0.55, 0.62] as Numbers,
};

/** Radius of a ball around the origin that holds points (N, 3). */
export function radiusOf(points: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < points.length; i += 3) {
    largest = Math.max(largest, points[i] ** 2 + points[i + 1] ** 2 + points[i + 2] ** 2);
  }
  return Math.sqrt(largest);
}

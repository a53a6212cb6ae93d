"""Hair that stays on a skin that moves.

Grows fur on a ball, squashes the ball frame by frame, and lets the fur follow: roots stay on the skin, strands turn
with it.

    python examples/01_grooms/02_hair_on_a_moving_skin.py --frames 24
"""

import argparse

import numpy as np

import mane


def squash(points, amount):
    """Flatten a ball by `amount` along y and let it bulge to keep its volume."""
    flat = 1 - amount
    return points * np.array([flat**-0.5, flat, flat**-0.5], np.float32)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=24)
    parser.add_argument("--strands", type=int, default=20_000)
    args = parser.parse_args(argv)

    skin = mane.shapes.Sphere((0, 0, 0), 0.1).mesh(64)
    coat = mane.styles.fur(skin, strands=args.strands, seed=1)
    binding = mane.bind_roots(coat, skin)
    worst = 0.0
    for frame in range(args.frames):
        moved = squash(skin.points, 0.3 * np.sin(np.pi * frame / max(args.frames - 1, 1)))
        carried = binding.carry(coat, moved)
        on_skin = mane.bind_roots(carried, skin.with_points(moved)).distance
        worst = max(worst, float(on_skin.max()))
    print(f"over {args.frames} frames no root of {coat.strand_count:,} left the skin by more than {1e6 * worst:.2f} um")
    return worst


if __name__ == "__main__":
    main()

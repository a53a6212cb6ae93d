"""A narrow gust travels over a lawn of hair: a few guides, guides inserted where they part, and the truth.

Hair between two guides can only do what lies between theirs. Where a gust bends one and not the other, a guide is
inserted half-way (`AdaptiveGuides`), moves by itself, and takes the hair around it along. Rows of the picture, from
above: the guides alone; inserted ones too; every hair simulated by itself. Printed is how far the hair of the first two
is from that of the last.

    python examples/03_motion/02_adaptive_guides.py --output gust.png
"""

import argparse
from pathlib import Path

import numpy as np

import mane
from mane.forces import AdaptiveGuides
from mane.pictures import write_png

WIDTH, DEPTH, LENGTH = 0.16, 0.08, 0.10  # [m] of the lawn
SPEED, NARROW = 3.0, 0.03  # [m/s] of the wind, [m] of the gust
FRAME_RATE = 48.0


def make_lawn(strands, guides_along, seed=1):
    """Straight hairs that stand on a board, and a few of them, in rows, as guides."""
    x, z = np.meshgrid(np.linspace(-0.5, 0.5, guides_along) * WIDTH, np.linspace(-0.5, 0.5, guides_along // 2) * DEPTH)
    dense = np.random.default_rng(seed).uniform([-0.5, -0.5], [0.5, 0.5], (strands, 2)) * [WIDTH, DEPTH]
    roots = np.insert(np.concatenate([np.stack([x.ravel(), z.ravel()], axis=1), dense]), 1, 0.0, axis=1)
    points = roots[:, None] + np.linspace(0.0, LENGTH, 14)[:, None] * np.array([0.0, 1.0, 0.0])
    groom = mane.Groom.from_uniform(points.astype(np.float32))
    return groom, mane.Guides.chosen(groom, np.arange(x.size))


def gust(points, time):
    """Wind across the lawn, in a band that travels along it."""
    wind = np.zeros_like(points)
    wind[:, 2] = SPEED * np.exp(-(((points[:, 0] - 0.2 * (time - 0.4)) / NARROW) ** 2))
    return wind


def blow(guides, parts, skin, frames):
    """Return the hair of every frame, (F, S, V, 3) [m], and how many guides were inserted at most."""
    hair, most = [], 0
    sim = mane.Simulation(
        guides, material=mane.Material(radius=6e-5), wind=gust, drag=1.0, forces=parts, frame_rate=FRAME_RATE
    )
    for _ in range(frames):
        frame = sim.step()
        hair.append(frame.points if skin is None else skin(frame).copy())
        most = max(most, 0 if frame.inserted is None else frame.inserted.count)
    return np.array(hair), most


def draw(groom, hair, shown, size):
    """Pictures of some frames beside each other."""
    board = mane.shapes.Box((0.0, -0.003, 0.0), (0.5 * WIDTH + 0.005, 0.003, 0.5 * DEPTH + 0.005)).mesh()
    camera = mane.Camera(position=(0.0, 0.42, 0.36), look_at=(0.0, 0.4 * LENGTH, 0.015))
    pictures = [mane.render(groom.with_points(hair[k].reshape(-1, 3)), board, camera=camera, size=size) for k in shown]
    return np.concatenate(pictures, axis=1)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skin", default="linear", choices=["rigid", "linear", "physical"])
    parser.add_argument("--strands", type=int, default=4_000)
    parser.add_argument("--guides", type=int, default=8, help="along the long side; half as many along the other")
    parser.add_argument("--frames", type=int, default=36)
    parser.add_argument("--pictures", type=int, default=4)
    parser.add_argument("--size", type=int, nargs=2, default=(400, 260))
    parser.add_argument("--output", type=Path, default=Path("gust.png"))
    args = parser.parse_args(argv)

    groom, guides = make_lawn(args.strands, args.guides)
    skin = mane.skin(args.skin, groom, guides)
    truth, _ = blow(mane.Guides.from_groom(groom), [], None, args.frames)
    shown = np.linspace(0, args.frames - 1, args.pictures + 1).astype(int)[1:]
    rows, errors = [], []
    for name, parts in (("guides alone", []), ("with inserted guides", [AdaptiveGuides(opens_at=0.006, fade=0.1)])):
        hair, most = blow(guides, parts, skin, args.frames)
        errors.append(float(np.linalg.norm(hair - truth, axis=3).mean()))
        print(f"{name}: {1e3 * errors[-1]:.2f} mm off in the mean; {most} guides inserted at most")
        rows.append(draw(groom, hair, shown, tuple(args.size)))
    write_png(args.output, np.concatenate([*rows, draw(groom, truth, shown, tuple(args.size))], axis=0))
    return errors


if __name__ == "__main__":
    main()

"""A comb in a curtain of hair: guides that are always the same, guides that are chosen, and hair that knows its side.

Hair between two guides is drawn through whatever parts them. The adaptive skin (chai2017) looks for solids between
guides in every frame and lets a hair hang only on those that are on its own side; the pass `keep_sides` remembers where
each hair was, so that teeth take it along. From left to right: the linear skin, the adaptive one, the same with sides
kept, every hair simulated by itself. Printed is, on average below the comb, how far hair of the first three is from any
hair of the last, which is what an eye compares, and how far each hair is from itself.

    python examples/04_methods/02_hair_around_a_comb.py --output comb.png
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

import mane
from mane.motions import KeyframedMotion
from mane.pictures import write_png

WIDTH, DEPTH, LENGTH = 0.12, 0.02, 0.2  # [m] of the curtain
FRAME_RATE = 60.0


def make_curtain(strands, guides, seed=1):
    """Straight hairs that hang from a bar, some of them guides."""
    rng = np.random.default_rng(seed)
    roots = rng.uniform([-0.5, 0.0, -0.5], [0.5, 0.0, 0.5], (strands, 3)) * [WIDTH, 0.0, DEPTH]
    points = roots[:, None] - np.linspace(0.0, LENGTH, 16)[:, None] * np.array([0.0, 1.0, 0.0])
    groom = mane.Groom.from_uniform(points.astype(np.float32))
    return groom, mane.select_guides(groom, guides, method="farthest", seed=seed)


def make_comb():
    """A comb whose teeth point into the curtain comes from the front, and is drawn aside."""
    turn = np.sqrt([0.5, 0.0, 0.0, 0.5])  # a quarter turn about X, as (x, y, z, w)
    times, way = [0.0, 0.25, 0.75], [[-0.02, -0.1, 0.09], [-0.02, -0.1, 0.014], [0.05, -0.1, 0.014]]
    comb = mane.props.make_comb(teeth=9, spacing=0.012, tooth_radius=0.002, tooth_length=0.05)
    return comb.solid(KeyframedMotion(times, way, np.tile(turn, (3, 1))))


def simulate(guides, comb, frames):
    """Guides beside the comb, frame by frame."""
    sim = mane.Simulation(guides, solids=[comb], frame_rate=FRAME_RATE)
    return sim, [sim.step() for _ in range(frames)]


def carry(skin, passes, frames):
    """Every hair of the last frame: by a skin, and what is done to it then."""
    for frame in frames:
        points = skin(frame)
        for finish in passes:
            points = finish(points, frame)
    return points.copy()


def distance_below(points, truth):
    """Mean distance of the lower half of all hairs from where they are when each is simulated by itself [m]."""
    half = points.shape[1] // 2
    return float(np.linalg.norm(points[:, half:] - truth[:, half:], axis=2).mean())


def distance_to_any(points, truth):
    """The same from the closest hair of the truth, whichever that is [m]."""
    return float(cKDTree(places_below(truth)).query(places_below(points))[0].mean())


def places_below(points, steps=6):
    """Places on the lower half of all hairs, `steps` to a segment, (P, 3)."""
    lower = points[:, points.shape[1] // 2 :]
    along = np.linspace(0.0, 1.0, steps, endpoint=False)[:, None, None, None]
    return ((1.0 - along) * lower[:, :-1] + along * lower[:, 1:]).reshape(-1, 3)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strands", type=int, default=3_000)
    parser.add_argument("--guides", type=int, default=60)
    parser.add_argument("--frames", type=int, default=42)
    parser.add_argument("--size", type=int, nargs=2, default=(400, 440))
    parser.add_argument("--output", type=Path, default=Path("comb.png"))
    args = parser.parse_args(argv)

    groom, guides = make_curtain(args.strands, args.guides)
    comb = make_comb()
    sim, frames = simulate(guides, comb, args.frames)
    sides = [mane.skins.LengthKeeping(groom), mane.skins.SideKeeping(sim.solids)]  # a scene has them behind `adaptive`
    ways = {"linear": ("linear", []), "adaptive": ("adaptive", []), "sides kept": ("adaptive", sides)}
    hair = {name: carry(mane.skin(method, groom, sim), passes, frames) for name, (method, passes) in ways.items()}
    truth = simulate(mane.Guides.from_groom(groom), comb, args.frames)[1][-1].points
    errors = {name: (distance_to_any(points, truth), distance_below(points, truth)) for name, points in hair.items()}
    hair["every hair simulated"] = truth
    camera = mane.Camera(position=(0.14, -0.02, 0.42), look_at=(0.01, -0.1, 0.0))
    mesh = comb.at(frames[-1].time).mesh()
    pictures = [
        mane.render(
            groom.with_points(points.reshape(-1, 3)), mesh, camera=camera, size=tuple(args.size), hair_width=3e-4
        )
        for points in hair.values()
    ]
    write_png(args.output, np.concatenate(pictures, axis=1))
    told = ", ".join(f"{name} {1e3 * of_any:.2f} and {1e3 * own:.2f} mm" for name, (of_any, own) in errors.items())
    print(f"below the comb, from any hair of the truth and from its own: {told}")
    return errors


if __name__ == "__main__":
    main()

"""A coat of fur on an animal that walks: 100,000 hairs, a movie, and how much of the hair is inside the body.

Where the skin folds into itself, between thigh and belly, the body covers roots of its own; no hair could stay outside
there, so these are counted apart.

    python examples/05_characters/01_fur_on_a_walking_creature.py --output fox.mp4
    python examples/05_characters/01_fur_on_a_walking_creature.py --motion shake --strands 20000 --output shake.png
"""

import argparse
from pathlib import Path

import numpy as np

import mane
from mane.metrics import TOUCH, penetration_depth
from mane.pictures import MOVIE_SUFFIX, follow, outline, write_frames, write_movie
from mane.skins import SolidAdjustment

RATE = 24.0
COVERED = 5e-4  # [m]: roots deeper than this are covered by another part of the body
MEASURED = 4_000  # hairs
STRIP = 3  # pictures side by side


class Walk:
    """Fur on a creature, one frame after the other."""

    def __init__(self, args):
        self.args = args
        self.groom = mane.styles.make("fox", strands=args.strands, seed=1)
        guides = mane.select_guides(self.groom, args.guides, seed=1)
        duration = max(args.frames / RATE, 1.5)
        self.body = mane.make_creature().solid(args.motion, duration=duration, frame_rate=2 * RATE)
        self.sim = mane.Simulation(guides, args.model, body=self.body)
        self.skin = mane.skin("physical", self.groom, self.sim)
        self.push_out = SolidAdjustment(self.sim.solids)
        times = np.arange(args.frames) / RATE
        shown = [outline(self.mesh(time)) for time in times]
        self.cameras = follow(shown, direction=args.direction, aspect=args.size[0] / args.size[1], margin=0.1)
        self.inside, self.deepest, self.covered = [], 0.0, []
        self.stretch = self.guide_depth = 0.0
        self.strip = []

    def mesh(self, time):
        """The skin at a time."""
        return self.body.mesh.with_points(self.body.animation.points(time))

    def frames(self):
        """Guides and hairs of every frame; the first is where the animation begins."""
        for number in range(self.args.frames):
            frame = self.sim.step() if number else self.sim.reset()
            yield frame, self.push_out(self.skin(frame), frame)

    def measure(self, frame, hair):
        """Count vertices inside the body."""
        some = hair[:: max(1, len(hair) // MEASURED)]
        depth = penetration_depth(some, [self.body.at(frame.time)])
        is_covered = depth[:, 0] > COVERED
        self.covered.append(is_covered.mean())
        self.inside.append((depth[~is_covered, 1:] > TOUCH).mean())
        self.deepest = max(self.deepest, float(depth[~is_covered].max()))
        self.stretch = max(self.stretch, self.sim.report.stretch)
        self.guide_depth = max(self.guide_depth, self.sim.report.penetration)

    def draw(self, frame, hair):
        """Return a picture."""
        return mane.render(
            self.groom.with_points(hair.reshape(-1, 3)),
            self.mesh(frame.time),
            camera=self.cameras.pop(0),
            look="painted",
            size=tuple(self.args.size),
            finest=0.15,
            body_color=mane.styles.body_color("fox"),
        )

    def pictures(self):
        """Simulate, measure and draw all frames; some of them are kept for the strip."""
        kept = {(2 * part + 1) * self.args.frames // (2 * STRIP) for part in range(STRIP)}
        for number, (frame, hair) in enumerate(self.frames()):
            self.measure(frame, hair)
            picture = self.draw(frame, hair)
            self.strip += [picture] * (number in kept)
            yield picture


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--motion", default="walk", choices=["walk", "shake", "breathe"])
    parser.add_argument("--model", default="cosserat", choices=["cosserat", "spring", "chain"])
    parser.add_argument("--strands", type=int, default=100_000)
    parser.add_argument("--guides", type=int, default=400)
    parser.add_argument("--frames", type=int, default=48)
    parser.add_argument("--size", type=int, nargs=2, default=(720, 720))
    parser.add_argument("--direction", default="three-quarter")
    parser.add_argument("--output", type=Path, default=Path("fox.mp4"))
    parser.add_argument("--strip", type=Path, help="some of the frames side by side, a picture")
    args = parser.parse_args(argv)

    walk = Walk(args)
    if args.output.suffix == MOVIE_SUFFIX:
        write_movie(args.output, walk.pictures(), fps=RATE)
    else:
        write_frames(args.output, walk.pictures())
    if args.strip:
        from PIL import Image

        side_by_side = Image.fromarray(np.concatenate(walk.strip, axis=1))
        side_by_side.reduce(max(1, side_by_side.width // 1440)).save(args.strip, quality=88)
    inside, covered = 100 * np.mean(walk.inside), 100 * np.mean(walk.covered)
    print(f"{args.output}: {args.frames} frames of {args.strands:,} hairs")
    print(f"inside the body: {inside:.3f} % of vertices, the deepest by {1e3 * walk.deepest:.2f} mm")
    print(f"guides: stretched by {100 * walk.stretch:.4f} % at most, inside by {1e3 * walk.guide_depth:.2f} mm at most")
    print(f"covered by folds of the skin: {covered:.3f} % of roots")
    return inside, walk.deepest


if __name__ == "__main__":
    main()

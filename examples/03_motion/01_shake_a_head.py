"""Guides on a shaking head, drawn as a strip of frames.

Steps the guides of a hairstyle from a loop of its own, with any strand model, and draws what they do. With `--skin` the
whole head is drawn instead of its guides.

    python examples/03_motion/01_shake_a_head.py --style curly --model spring --output shake.png
    python examples/03_motion/01_shake_a_head.py --style wavy --skin physical --strands 20000
"""

import argparse
from pathlib import Path

import numpy as np

import mane
from mane.pictures import write_png


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--style", default="wavy")
    parser.add_argument("--model", default="cosserat", choices=["cosserat", "spring", "chain"])
    parser.add_argument("--skin", choices=["rigid", "linear", "physical"])
    parser.add_argument("--strands", type=int, default=3_000)
    parser.add_argument("--guides", type=int, default=128)
    parser.add_argument("--frames", type=int, default=48)
    parser.add_argument("--pictures", type=int, default=6)
    parser.add_argument("--size", type=int, nargs=2, default=(320, 360))
    parser.add_argument("--output", type=Path, default=Path("shake.png"))
    args = parser.parse_args(argv)

    groom = mane.styles.make(args.style, strands=args.strands, seed=1)
    guides = mane.select_guides(groom, args.guides, seed=1)
    body = mane.styles.body(args.style)
    sim = mane.Simulation(guides, args.model, body=body, head=mane.make_motion("shake"))
    print(sim.standing_report)
    skin = mane.skin(args.skin, groom, sim) if args.skin else None

    pictures, stretch = [], 0.0
    every = max(1, args.frames // args.pictures)
    for number in range(1, args.frames + 1):
        frame = sim.step()
        stretch = max(stretch, sim.report.stretch)
        if number % every == 0:
            hair = groom.with_points(skin(frame).reshape(-1, 3)) if skin else mane.Groom.from_uniform(frame.points)
            width = None if skin else np.full(len(hair.points), 1e-3, np.float32)  # a guide stands for a lock
            hair = hair if width is None else hair.with_vertex(width=width)
            pictures.append(mane.render(hair, body.transformed(frame.head.matrix), size=tuple(args.size)))
    write_png(args.output, np.concatenate(pictures, axis=1))
    print(f"{args.output}: {len(pictures)} of {args.frames} frames; largest stretch {100 * stretch:.4f} %")
    return stretch


if __name__ == "__main__":
    main()

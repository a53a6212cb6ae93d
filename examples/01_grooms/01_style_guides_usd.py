"""From a style to guides and a USD file.

Grows a head of wavy hair, chooses the guide strands that stand for it, writes both to one USD file, and says how well
the guides represent the strands.

    python examples/01_grooms/01_style_guides_usd.py --strands 20000 --output wavy.usda
"""

import argparse
from pathlib import Path

import mane


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strands", type=int, default=20_000)
    parser.add_argument("--guides", type=int, default=64)
    parser.add_argument("--output", type=Path, default=Path("wavy.usda"))
    args = parser.parse_args(argv)

    groom = mane.styles.make("wavy", strands=args.strands, seed=1)
    guides = mane.select_guides(groom, args.guides, seed=1)
    marks = [strand in set(guides.source.tolist()) for strand in range(groom.strand_count)]
    mane.write_groom(args.output, groom.with_strand(is_guide=marks))

    distance = mane.shape_distances(groom, guides)
    print(f"{args.output}: {groom.strand_count:,} strands, {guides.count} of them marked as guides")
    print(f"a strand differs from the guide most like it by {1e3 * distance.mean():.1f} mm on average")
    return float(distance.mean())


if __name__ == "__main__":
    main()

"""A force and a skin of your own: one class each, one entry in a table, and a scene file knows them by name.

A whirl drags the guides about the vertical; a skin lets every hair follow the guide with the nearest root, and gives
back to the guides what their hairs weigh when they are wet. The scene is simulated, stopped and resumed: what both
remember is saved with every checkpoint, without another line.

    python examples/04_methods/01_your_own_force_and_skin.py --output whirl.png

docs/stages.md explains each attribute.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mane
from mane.forces import INTERACTIONS, Force, GuideLoad, Load, StrandView
from mane.pictures import write_png
from mane.scenes import parse_scene
from mane.skins import SKINS, Skin


@dataclass(frozen=True)
class WhirlParams:
    """Settings of `Whirl`.

    Attributes:
        speed: of the air a decimetre from the axis [m/s].
        rate: at which hair takes on that speed [1/s].
    """

    speed: float = 1.5
    rate: float = 4.0


class Whirl(Force):
    """Air that turns about the vertical through the head, and grows stronger with time."""

    name = "whirl"
    label = "whirl"  # a row of its own in the table of times
    settings = WhirlParams

    def __init__(self, **settings):
        self.params = WhirlParams(**settings)

    def prepare(self, model):
        """Get ready for guides of this model."""
        self._seconds = 0.0

    def add(self, strands: StrandView, load: Load) -> None:
        """Add the drag of the air, and the resistance that makes it safe at any step."""
        self._seconds += strands.dt
        x, z = strands.points[..., 0], strands.points[..., 2]
        air = np.stack([z, np.zeros_like(x), -x], axis=-1) * self.params.speed / 0.1 * min(self._seconds, 1.0)
        drag = self.params.rate * strands.model.mass
        load.force[...] += drag[..., None] * air
        load.resistance[..., :3] += drag[..., None]

    def memory(self):
        """What a checkpoint saves."""
        return {"seconds": np.array(self._seconds)}

    def restore(self, memory):
        """Go back to it."""
        self._seconds = float(memory["seconds"])

    def reset(self):
        """The guides are back at rest."""
        self._seconds = 0.0


@dataclass(frozen=True)
class WetParams:
    """Settings of `WetSkin`.

    Attributes:
        water: weight of the water on the hairs of a guide, in weights of the guide.
    """

    water: float = 2.0


class WetSkin(Skin):
    """Every hair moves as the guide with the nearest root does; the water on it pulls that guide down."""

    name = "wet"
    settings = WetParams
    needs = ("guide_model",)  # the simulation provides it
    may_return_load = True

    def __init__(self, groom, guides, *, guide_model=None, **settings):
        super().__init__(groom, guides)
        self.params, self.model = WetParams(**settings), guide_model
        apart = np.linalg.norm(groom.roots[:, None] - guides.roots[None], axis=2)
        self.nearest = apart.argmin(axis=1)
        if guides.vertex_count != self._points.shape[1]:
            raise ValueError(f"groom: must have {guides.vertex_count} vertices per strand, as the guides have")

    def _fill(self, frame, out):
        drift = frame.points - frame.head.apply(self.guides.rest)
        out[...] = frame.head.apply(self.groom.as_uniform()) + drift[self.nearest]

    def guide_load(self):
        """Weight of the water on every guide."""
        return GuideLoad(self.params.water * self.model.mass[..., None] * self.model.gravity)

    @property
    def nbytes(self):
        """Bytes that it holds."""
        return self._points.nbytes + self.nearest.nbytes


INTERACTIONS["whirl"] = Whirl
SKINS["wet"] = WetSkin

SCENE = """
[groom]
style = "ball"
strands = {strands}
vertices = 10
[guides]
count = {guides}
[frames]
end = {frames}
[[interactions]]
kind = "whirl"
speed = 2.0
[skin]
method = "{skin}"
[output]
cache = "{skin}.cache"
usd = "{skin}.usda"
"""


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strands", type=int, default=3_000)
    parser.add_argument("--guides", type=int, default=100)
    parser.add_argument("--frames", type=int, default=24)
    parser.add_argument("--size", type=int, nargs=2, default=(400, 400))
    parser.add_argument("--output", type=Path, default=Path("whirl.png"))
    args = parser.parse_args(argv)

    pictures, height = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for skin in ("linear", "wet"):
            text = SCENE.format(strands=args.strands, guides=args.guides, frames=args.frames, skin=skin)
            half = parse_scene(text, folder=Path(folder), settings=[f"frames.end={args.frames // 2}"])
            mane.run_scene(half)
            summary = mane.run_scene(parse_scene(text, folder=Path(folder)), resume=True)
            hair = mane.read_groom(Path(folder, f"{skin}.usda"), time=args.frames)
            height[skin] = float(hair.as_uniform()[:, -1, 1].mean())
            print(f"{skin}: {summary.frames} frames after {summary.resumed_after}; tips at {1e3 * height[skin]:.1f} mm")
            pictures.append(mane.render(hair, mane.styles.body("ball"), size=tuple(args.size)))
    write_png(args.output, np.concatenate(pictures, axis=1))
    return height


if __name__ == "__main__":
    main()

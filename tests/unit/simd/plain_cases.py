"""Small cases of every kind of kernel, to be run with the compiler on and off: `python plain_cases.py OUT.npz`."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "skin"))

from skin_frames import SOMEWHERE, curls, frame_of, guides_of

from mane.body.motion_presets import make_motion
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.contact.grid.volume_grid import VolumeGrid
from mane.contact.links.links import StaticLinks
from mane.contact.strips.strips import TriangleStrips
from mane.scene.simulation import Simulation
from mane.skin.table import make_skin

CLOSE = curls(40, 6, seed=1, length=0.08)
GUIDES = guides_of(CLOSE, 10)  # more than one block of eight lanes, and not a full second one


def stepped(model, *parts):
    """Points of guides [m] after a frame of two substeps with wind, a shaking head and parts that act on them."""
    simulation = Simulation(
        GUIDES,
        model,
        solids=[Solid(Sphere((0.0, 0.0, 0.0), 0.1))],
        head=make_motion("shake", ease_in=0.01, rate=3.0),
        wind=(2.0, 0.0, 1.0),
        forces=parts,
        sag_free=False,
        stiffen_to_stand="off",
        substeps=2,
    )
    return simulation.step().points


def skinned(method, **settings):
    """Points of hairs [m] of guides that are bent to one side."""
    skin = make_skin(method, CLOSE, GUIDES, **settings)
    points = SOMEWHERE.apply(GUIDES.rest)
    points[:, :, 0] += 0.3 * np.linspace(0, 1, points.shape[1]) ** 2 * 0.08
    return skin(frame_of(GUIDES, SOMEWHERE, points)).copy()


CASES = {
    "cosserat and links": lambda: stepped("cosserat", StaticLinks(rate=30.0)),
    "spring and strips": lambda: stepped("spring", TriangleStrips(rate=30.0)),
    "chain and grid": lambda: stepped("chain", VolumeGrid(cell=0.03)),
    "linear skin": lambda: skinned("linear"),
    "physical skin": lambda: skinned("physical"),
    "physical skin, three sweeps": lambda: skinned("physical", sweeps=3),
}

if __name__ == "__main__":
    np.savez(sys.argv[1], **{name: case() for name, case in CASES.items()})

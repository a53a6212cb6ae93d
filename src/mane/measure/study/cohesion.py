"""The study of cohesion: what holds a hairstyle together while the head is shaken, and brings it back afterwards.

A head of a few thousand hairs is simulated hair by hair with the volume grid, which is where a perfect method would put
them, and by its guides with each candidate for what acts on guides by default. All are shaken for a second and left
alone for three.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.body.motion_presets import make_motion
from mane.contact.attraction.attraction import Attraction
from mane.contact.grid.volume_grid import VolumeGrid
from mane.contact.links.links import StaticLinks
from mane.geometry.checks import FloatArray, IntArray
from mane.geometry.frames import segment_tangents
from mane.geometry.index import PointIndex
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.metrics.flicker import FlickerMeter
from mane.metrics.summary import measure_all
from mane.scene.simulation import Simulation
from mane.skin.finish.passes import SolidAdjustment
from mane.skin.table import make_skin
from mane.strand.frame import GuideFrame
from mane.strand.material import MATERIALS
from mane.strand.ports import Part

FRAME_RATE = 24.0  # [1/s]
SHAKEN = 1.0  # [s]
SETTLED = 3.0  # [s] that the hair is given to come back
BACK, BACK_P95 = 2e-3, 10e-3  # how far tips may then be from the groom, mean and 95th percentile [m]
NECK = (0.0, -0.1, 0.0)  # what heads turn about [m]
EASE_IN = 0.25  # [s] in which the shake begins, and ends
SUNK = 0.04  # part by which a groom is drawn together to lie below the skin: 4 mm on a head
NEIGHBOUR_REACH = 0.01  # roots that are closer than this are neighbours [m]

# What might hold guides together; `DEFAULT` is what a scene has.
CANDIDATES: dict[str, Callable[[], tuple[Part, ...]]] = {
    "none": lambda: (),
    "attraction 1": lambda: (Attraction(rate=1.0),),
    "attraction 2": lambda: (Attraction(rate=2.0),),
    "attraction 4": lambda: (Attraction(rate=4.0),),
    "links 10": lambda: (StaticLinks(rate=10.0),),
    "links 30": lambda: (StaticLinks(rate=30.0),),
    "volume grid": lambda: (VolumeGrid(),),
}
DEFAULT = "attraction 1"


@dataclass(frozen=True, eq=False)
class Shaken:
    """Hair of one run, in the frame of the head.

    Attributes:
        rest: the groom [m], shape (S, V, 3).
        frames: the hair, frame by frame [m], shape (F, S, V, 3), the first one before the head moves.
        milliseconds: that the guides of one frame took, median.
    """

    rest: FloatArray
    frames: FloatArray
    milliseconds: float

    @property
    def moving(self) -> FloatArray:
        """Frames while the head is shaken."""
        return self.frames[1 : 1 + round(SHAKEN * FRAME_RATE)]

    @property
    def swing(self) -> float:
        """How far tips are from where the head would carry them while it is shaken, mean [m]."""
        return float(np.linalg.norm(self.moving[:, :, -1] - self.rest[:, -1], axis=-1).mean())

    @property
    def left(self) -> tuple[float, float]:
        """How far tips are from where they were groomed in the end, mean and 95th percentile [m]."""
        off = np.linalg.norm(self.frames[-1][:, -1] - self.rest[:, -1], axis=-1)
        return float(off.mean()), float(np.quantile(off, 0.95))


def make_head(style: str, strands: int, guides: int) -> tuple[Groom, Guides]:
    """Grow a head and choose its guides."""
    groom = styles.make(style, strands=strands, seed=1)
    return groom, select_guides(groom, guides, seed=1)


def sunk(groom: Groom, share: float = SUNK) -> Groom:
    """Draw a groom towards the middle of its roots, so that hair near the skin runs below it, as in many files."""
    middle = groom.roots.mean(axis=0)
    return groom.with_points((middle + (1 - share) * (groom.points - middle)).astype(np.float32))


def stand_still(style: str, groom: Groom, guide_count: int) -> tuple[FloatArray, ...]:
    """The first two frames of a head that does not move, every hair [m], shape (S, V, 3) each."""
    guides = select_guides(groom, guide_count, seed=1)
    simulation = Simulation(guides, body=styles.body(style), forces=CANDIDATES[DEFAULT](), frame_rate=FRAME_RATE)
    carry = _skinned(groom, simulation)
    return carry(simulation.frame).copy(), carry(simulation.step()).copy()


def make_simulation(style: str, guides: Guides, parts: Sequence[Part]) -> Simulation:
    """Put guides on the bust that is shaken; they stand as groomed at first."""
    material = style if style in MATERIALS else "straight"
    return Simulation(
        guides,
        material=material,
        body=styles.body(style),
        head=make_motion("shake", pivot=NECK, ease_in=EASE_IN, stop=SHAKEN),
        forces=parts,
        frame_rate=FRAME_RATE,
    )


def simulate_all(style: str, groom: Groom, seconds: float = SHAKEN) -> Shaken:
    """Simulate every strand, with the volume grid between them."""
    guides = Guides.chosen(groom, np.arange(groom.strand_count))
    simulation = make_simulation(style, guides, (VolumeGrid(),))
    return _play(simulation, groom, lambda frame: frame.points, seconds)


def simulate_guides(
    style: str, groom: Groom, guides: Guides, parts: Sequence[Part], binding: str = "triangle"
) -> Shaken:
    """Simulate guides with some parts; the physical skin carries the other hairs, as in a scene, by a `binding`."""
    simulation = make_simulation(style, guides, parts)
    return _play(simulation, groom, _skinned(groom, simulation, binding), SHAKEN + SETTLED)


def _skinned(groom: Groom, simulation: Simulation, binding: str = "triangle") -> Callable[[GuideFrame], FloatArray]:
    skin, solids = make_skin("physical", groom, simulation, binding=binding), simulation.solids
    finish = SolidAdjustment(solids, groom=groom, body=solids[0])
    return lambda frame: finish(skin(frame), frame)


def _play(simulation: Simulation, groom: Groom, carry: Callable[[GuideFrame], FloatArray], seconds: float) -> Shaken:
    count = round(seconds * FRAME_RATE)
    times, frames = [], [_in_head(carry(simulation.frame), simulation.frame)]
    for _ in range(count):
        start = time.perf_counter()
        frame = simulation.step()
        times.append(time.perf_counter() - start)
        frames.append(_in_head(carry(frame), frame))
    return Shaken(groom.as_uniform(), np.stack(frames), 1e3 * float(np.median(times)))


def _in_head(points: FloatArray, frame: GuideFrame) -> FloatArray:
    seen: FloatArray = frame.head.inverse_apply(points.reshape(-1, 3)).reshape(points.shape).astype(np.float32)
    return seen


def neighbours(rest: FloatArray) -> IntArray:
    """Pairs of hairs (P, 2) whose roots are within `NEIGHBOUR_REACH`, each hair with the nearest one only."""
    distance, who = PointIndex(rest[:, 0]).nearest(rest[:, 0], 2)
    near = distance[:, 1] < NEIGHBOUR_REACH
    return np.stack([np.flatnonzero(near), who[near, 1]], axis=1)


def crossing(points: FloatArray, pairs: IntArray) -> NDArray[np.float64]:
    """Angle between neighbouring hairs at the same share of their length [rad], shape (P, V - 1)."""
    tangents = segment_tangents(points).astype(np.float64)
    cosine = np.einsum("pvk,pvk->pv", tangents[pairs[:, 0]], tangents[pairs[:, 1]])
    angle: NDArray[np.float64] = np.arccos(np.clip(cosine, -1, 1))
    return angle


def spread(points: FloatArray, clump: IntArray) -> float:
    """Mean distance of hairs (S, V, 3) from the middle of their clump, in the outer half of their length [m]."""
    outer = points[:, points.shape[1] // 2 :].astype(np.float64)
    size = np.bincount(clump)
    middle = np.zeros((len(size), *outer.shape[1:]))
    np.add.at(middle, clump, outer)
    return float(np.linalg.norm(outer - (middle / size[:, None, None])[clump], axis=2).mean())


def measure(run: Shaken, truth: Shaken, clump: IntArray | None = None) -> dict[str, float]:
    """Numbers of one run beside the simulation of every strand, means over the shake; SI, keys as in `TITLES`.

    Where hairs have a `clump` (S,), also how far they are from the middle of it.
    """
    pairs = neighbours(run.rest)
    still = crossing(run.rest, pairs)
    moving, reference = run.moving, truth.moving
    found = [measure_all(points, run.rest, reference=true) for points, true in zip(moving, reference, strict=True)]
    meter = FlickerMeter()
    for points in moving:
        meter.add(points)
    return {
        **{key: float(np.mean([one[key] for one in found])) for key in ("length_error", "kink", "distance")},
        "flicker": meter.value,
        "crossing": float(np.mean([np.abs(crossing(points, pairs) - still).mean() for points in moving])),
        **({} if clump is None else {"fray": float(np.mean([spread(points, clump) for points in moving]))}),
        "swing": run.swing,
    }

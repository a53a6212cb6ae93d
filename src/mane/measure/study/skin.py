"""The study of skins: scenes, their guides and sampled hairs as simulated, and every hair as each method carries it.

A scene is recorded once: its guides, and hairs sampled from the full head that are simulated one by one with the same
solver and material, which is where a perfect skin would put them. Every method then carries the same guides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mane.body.motion import Motion, Twist
from mane.body.motion_presets import make_motion
from mane.body.solid import PosedSolid, Solid
from mane.geometry.checks import FloatArray, IntArray
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.metrics.flicker import FlickerMeter
from mane.metrics.summary import measure_all
from mane.scene.simulation import Simulation
from mane.skin.table import make_skin
from mane.strand.frame import GuideFrame
from mane.strand.model import STANDARD_GRAVITY

FRAME_RATE = 60.0  # [1/s]
NECK = (0.0, -0.1, 0.0)  # what heads turn about [m]
FLICKER_STRANDS = 2_000  # flicker needs every frame, so fewer strands

Carry = Callable[[GuideFrame], FloatArray]


@dataclass(frozen=True, eq=False)
class SkinScene:
    """A style, its guides and a motion.

    Attributes:
        name: for people, with the paper's figure that it follows.
        style: of `mane.groom.styles`.
        motion: of `mane.body.motion_presets`.
        guides: how many.
        style_options: of the style; `vertices` too.
        motion_options: of the motion.
        gravity: [m/s^2].
    """

    name: str
    style: str
    motion: str
    guides: int = 128
    style_options: Mapping[str, Any] = field(default_factory=dict)
    motion_options: Mapping[str, Any] = field(default_factory=dict)
    gravity: tuple[float, float, float] = STANDARD_GRAVITY

    def make_groom(self, strands: int) -> Groom:
        """Grow the full head."""
        return styles.make(self.style, strands=strands, seed=1, **self.style_options)

    def make_motion(self) -> Motion:
        """Return the motion of the head."""
        return make_motion(self.motion, pivot=NECK, **self.motion_options)


SCENES = (
    SkinScene("curly, shaken (fig. 1)", "curly", "shake"),
    SkinScene("curly, 2,048 guides (fig. 5)", "curly", "shake", guides=2048),
    SkinScene("long curls (fig. 6)", "curly", "turn", style_options={"length": 0.5, "vertices": 64}),
    SkinScene("straight (fig. 7)", "straight", "shake", guides=256),
    SkinScene("large separation (fig. 8)", "straight", "random", motion_options={"amplitude": 1.0, "rate": 2.5}),
    SkinScene("slow motion (fig. 9)", "curly", "turn", motion_options={"rate": 0.25}),
    SkinScene("capture-like (fig. 10)", "curly", "random"),
)


@dataclass(frozen=True, eq=False)
class Recording:
    """A scene as simulated.

    Attributes:
        scene: which.
        groom: the full head at rest.
        guides: its guides at rest.
        frames: the guides, frame by frame.
        sampled: strands of the groom that were simulated too, shape (R,).
        reference: those strands, frame by frame [m], shape (R, V, 3) each.
        simulation: of the guides, which tells skins how they came about.
    """

    scene: SkinScene
    groom: Groom
    guides: Guides
    frames: tuple[GuideFrame, ...]
    sampled: IntArray
    reference: tuple[FloatArray, ...]
    simulation: Simulation


def record(scene: SkinScene, *, strands: int, sampled: int, seconds: float) -> Recording:
    """Simulate the guides of a scene, and `sampled` hairs that are no guides."""
    groom = scene.make_groom(strands)
    guides = select_guides(groom, scene.guides, seed=1)
    others = np.setdiff1d(np.arange(strands), guides.source)
    chosen = np.sort(np.random.default_rng(1).choice(others, sampled, replace=False))
    simulation = make_simulation(guides, scene)
    frames = simulate(simulation, seconds)
    full = simulate(make_simulation(Guides.chosen(groom, chosen), scene), seconds)
    return Recording(scene, groom, guides, frames, chosen, tuple(frame.points for frame in full), simulation)


def make_simulation(guides: Guides, scene: SkinScene) -> Simulation:
    """Put guides on the scene's moving head: Cosserat rods that stand as groomed at first."""
    return Simulation(
        guides,
        "cosserat",
        material=scene.style,
        body=styles.body(scene.style),
        head=scene.make_motion(),
        gravity=scene.gravity,
        frame_rate=FRAME_RATE,
    )


def simulate(simulation: Simulation, seconds: float) -> tuple[GuideFrame, ...]:
    """Return every frame, the first one at rest."""
    return (simulation.frame, *(simulation.step() for _ in range(round(seconds * FRAME_RATE))))


# -- methods -------------------------------------------------------------------------------------------------------


def physical(recording: Recording, **settings: Any) -> Carry:
    """Bind the physical skin to the material and the rest forces of the recording."""
    return make_skin("physical", recording.groom, recording.simulation, **settings)


def _linear(recording: Recording, **settings: Any) -> Carry:
    return make_skin("linear", recording.groom, recording.guides, **settings)


def _half_blend(recording: Recording) -> Carry:
    """Half of the linear skin and half of the forces alone, as hsu2024 fig. 4 does to show that it does not help."""
    linear, forces = _linear(recording), physical(recording, alpha=0.0)

    def carry(frame: GuideFrame) -> FloatArray:
        blended: FloatArray = 0.5 * (linear(frame) + forces(frame))
        return blended

    return carry


METHODS: dict[str, Callable[[Recording], Carry]] = {
    "linear single": lambda recording: _linear(recording, binding="single"),
    "linear": _linear,
    "half blend": _half_blend,
    "physical": physical,
}


def measure(recording: Recording, carry: Carry, *, measured: int, every: int) -> dict[str, float]:
    """Average the metrics of a method over a recording.

    Args:
        recording: guides and reference.
        carry: the bound skin.
        measured: how many strands to look at besides those with a reference.
        every: look at every so many frames (flicker: at all of them).
    """
    strands = _looked_at(recording, measured)
    rest = recording.groom.as_uniform()[strands]
    hair, guides = FlickerMeter(), FlickerMeter()
    found: list[dict[str, float]] = []
    body = Solid(styles.body(recording.scene.style))
    for number, frame in enumerate(recording.frames):
        points = carry(frame)
        hair.add(_in_head(points[strands[:FLICKER_STRANDS]], frame))
        guides.add(_in_head(frame.points, frame))
        if number and number % every == 0:
            reference = recording.reference[number]
            own = np.arange(len(reference))
            solids = [PosedSolid(body, frame.time, frame.head, Twist.zero())]
            found.append(measure_all(points[strands], rest, reference=reference, reference_strands=own, solids=solids))
    mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
    return mean | {"flicker": hair.value, "relative_flicker": hair.value / guides.value}


def measure_reference(recording: Recording, *, every: int) -> dict[str, float]:
    """Average the metrics of the sampled hairs as simulated: what is no artefact of a skin."""
    rest = recording.groom.as_uniform()[recording.sampled]
    found = [measure_all(points, rest) for points in recording.reference[every::every]]
    return {key: float(np.mean([one[key] for one in found])) for key in found[0]}


def measure_guides(recording: Recording, *, every: int) -> dict[str, float]:
    """Average the metrics of the guides: what a skin is given to carry hair with."""
    found = [measure_all(frame.points, recording.guides.rest) for frame in recording.frames[every::every]]
    return {key: float(np.mean([one[key] for one in found])) for key in found[0]}


def _looked_at(recording: Recording, count: int) -> IntArray:
    """Strands to measure: those with a reference first, then others at random."""
    others = np.setdiff1d(np.arange(recording.groom.strand_count), recording.sampled)
    picked = np.random.default_rng(2).permutation(others)[:count]
    return np.concatenate([recording.sampled, picked])


def _in_head(points: FloatArray, frame: GuideFrame) -> FloatArray:
    seen: FloatArray = frame.head.inverse_apply(points.reshape(-1, 3)).reshape(points.shape)
    return seen

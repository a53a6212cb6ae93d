"""The study of skins: scenes, their guides and sampled hairs as simulated, and every hair as each method carries it.

A scene is recorded once: its guides, and hairs sampled from the full head that are simulated one by one with the same
solver and material, which is where a perfect skin would put them. Every method then carries the same guides. What
hsu2024 prints, guides and all, is recorded apart (`PRINTED_GUIDES`), with `PRINTED_METHODS` to carry hair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mane.body.mesh import Mesh
from mane.body.motion import Motion, Twist
from mane.body.motion_presets import make_motion
from mane.body.solid import PosedSolid, Solid
from mane.contact.grid.volume_grid import VolumeGrid
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
from mane.strand.material import MATERIALS
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

    def make_body(self) -> Mesh | None:
        """Return what the hair grows on."""
        return styles.body(self.style)

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


@dataclass(frozen=True)
class GuideMethod:
    """How guides are simulated.

    Attributes:
        model: strand model.
        settings: of the model.
        sag_free: whether the groom is what gravity makes of it, or the shape without gravity.
        has_grid: whether guides meet on a volume grid; hairs that are simulated one by one have no neighbours.
    """

    model: str = "cosserat"
    settings: Mapping[str, Any] = field(default_factory=dict)
    sag_free: bool = True
    has_grid: bool = False


OUR_GUIDES = GuideMethod()
# hsu2024 section 3: position-based rods whose groom is their shape without load, steps of 1 ms, and the grid.
K_NORM = 0.4
PRINTED_GUIDES = GuideMethod("xpbd", {"k_norm": K_NORM}, sag_free=False, has_grid=True)


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


def record(
    scene: SkinScene, *, strands: int, sampled: int, seconds: float, guide_method: GuideMethod = OUR_GUIDES
) -> Recording:
    """Simulate the guides of a scene, and `sampled` hairs that are no guides."""
    groom = scene.make_groom(strands)
    return record_groom(scene, groom, sampled=sampled, seconds=seconds, guide_method=guide_method)


def record_groom(
    scene: SkinScene, groom: Groom, *, sampled: int, seconds: float, guide_method: GuideMethod = OUR_GUIDES
) -> Recording:
    """The same for a given head of hair, on the body of the scene's style."""
    guides = select_guides(groom, scene.guides, seed=1)
    others = np.setdiff1d(np.arange(groom.strand_count), guides.source)
    chosen = np.sort(np.random.default_rng(1).choice(others, sampled, replace=False))
    simulation = make_simulation(guides, scene, guide_method)
    frames = simulate(simulation, seconds)
    alone = replace(guide_method, has_grid=False)
    full = simulate(make_simulation(Guides.chosen(groom, chosen), scene, alone), seconds)
    return Recording(scene, groom, guides, frames, chosen, tuple(frame.points for frame in full), simulation)


def make_simulation(guides: Guides, scene: SkinScene, guide_method: GuideMethod = OUR_GUIDES) -> Simulation:
    """Put guides on the scene's moving head."""
    return Simulation(
        guides,
        guide_method.model,
        material=scene.style if scene.style in MATERIALS else "straight",
        body=scene.make_body(),
        head=scene.make_motion(),
        gravity=scene.gravity,
        frame_rate=FRAME_RATE,
        sag_free=guide_method.sag_free,
        forces=[VolumeGrid()] if guide_method.has_grid else [],
        **guide_method.settings,
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
    linear, forces = _linear(recording), physical(recording, alpha=0.0, load="force")

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


def as_printed(recording: Recording, **settings: Any) -> Carry:
    """Bind algorithm 1 of hsu2024 line by line."""
    return make_skin("hsu2024", recording.groom, recording.simulation, **{"k_norm": K_NORM, **settings})


# On recordings of `PRINTED_GUIDES`.
PRINTED_METHODS: dict[str, Callable[[Recording], Carry]] = {
    "linear, xpbd guides": _linear,
    "hsu2024 as printed": as_printed,
    "physical, xpbd guides": lambda recording: physical(recording, sag_free=False),
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
    body = recording.scene.make_body()
    inside = None if body is None else Solid(body)
    for number, frame in enumerate(recording.frames):
        points = carry(frame)
        hair.add(_in_head(points[strands[:FLICKER_STRANDS]], frame))
        guides.add(_in_head(frame.points, frame))
        if number and number % every == 0:
            reference = recording.reference[number]
            own = np.arange(len(reference))
            solids = [] if inside is None else [PosedSolid(inside, frame.time, frame.head, Twist.zero())]
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

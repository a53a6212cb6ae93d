"""The study of hair that parts around solids: what chai2017 compares, against full simulation of the same hair.

A scene is recorded once: every hair simulated one by one beside the solids, which is where a perfect skin would put
them, and the guides of a model that was learned from other motions of the same head, without solids. Every method
carries the same guides. Hairs near a solid are those with a vertex within `NEAR` of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Motion, Pose
from mane.body.motion_presets import make_motion, turns_about_pivot
from mane.body.solid import Solid
from mane.dataset.learn.adaptive import AdaptiveTraining, learn_from_motion
from mane.dataset.learn.motion import TrainingMotion, seen_from
from mane.dataset.learn.report import guide_frame
from mane.geometry.checks import FloatArray, IntArray
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.measure.study.parting_baselines import ParticleSkin, follow_the_leader
from mane.measure.study.parting_meter import Found, FrameMeter, PropDistance, finish_of, near_solids
from mane.measure.study.parting_scenes import PartingScene
from mane.scene.simulation import Simulation
from mane.skin.adaptive.model import AdaptiveModel
from mane.skin.adaptive.two_way import FORMS
from mane.skin.base import Skin
from mane.skin.finish.passes import LengthKeeping
from mane.skin.finish.sides import SideKeeping
from mane.skin.table import make_skin
from mane.strand.frame import GuideFrame

FRAME_RATE = 100.0  # [1/s] steps of 10 ms, as in chai2017 7.3
NECK = (0.0, -0.1, 0.0)  # what heads turn about [m]
TRAINING_SEEDS, UNSEEN_SEEDS = (11, 12, 13), (21,)
BESIDE_SOLIDS = 2.4  # times the time of a calm step, of one beside a comb (docs/limits.md); for progress alone
PRINTED_HAIRS = 3_000  # eq. 3 tries up to 511 sets per hair and frame
TRAINED_EVERY = 4  # frames of 10 ms: 25 per second


@dataclass(frozen=True)
class Sizes:
    """How much of a scene is made."""

    strands: int
    guides: int
    vertices: int
    seconds: float  # at most
    train_seconds: float


@dataclass(frozen=True, eq=False)
class Recording:
    """A scene as simulated.

    Attributes:
        scene: which.
        groom: all hairs at rest.
        motion: that was learned from.
        model: learned from it.
        simulation: of its guides, which tells skins how they came about.
        frames: the guides, frame by frame.
        truth: every hair, frame by frame [m], shape (F, S, V, 3).
        is_near: whether a hair is near a solid in the truth, shape (F, S).
        others: hairs that are no guides.
        learned: other models of the same motion, by how they were learned; see `learned_by`.
    """

    scene: PartingScene
    groom: Groom
    motion: TrainingMotion
    model: AdaptiveModel
    simulation: Simulation
    frames: tuple[GuideFrame, ...]
    truth: FloatArray
    is_near: NDArray[np.bool_]
    others: NDArray[np.int64]
    learned: dict[AdaptiveTraining, AdaptiveModel] = field(default_factory=dict)

    def learned_by(self, training: AdaptiveTraining, hairs: IntArray | None = None) -> AdaptiveModel:
        """Another model of the same motion, or that of some hairs, learned when it is first asked for."""
        if hairs is not None:
            return learn_from_motion(self.motion.of(hairs), training)
        if training not in self.learned:
            self.learned[training] = learn_from_motion(self.motion, training)
        return self.learned[training]


ProgressCallback = Callable[[str, float], None]


def head_of(scene: PartingScene) -> Motion:
    """How the head of a scene moves, which its model has not learned from."""
    name, settings = scene.head
    about: dict[str, Any] = {"pivot": NECK} if turns_about_pivot(name) else {}
    return make_motion(name, **about, **settings)


def simulation_of(scene: PartingScene, guides: Guides, head: Motion, solids: Sequence[Solid] = ()) -> Simulation:
    """Put strands on the head of a scene."""
    material = scene.style if scene.style in ("straight", "curly") else "straight"
    body = styles.body(scene.style)
    common: dict[str, Any] = {"body": body, "head": head, "solids": list(solids), "frame_rate": FRAME_RATE}
    return Simulation(guides, scene.model, material=material, **common, **scene.strand)


def motion_of(
    scene: PartingScene, groom: Groom, seeds: Sequence[int], seconds: float, done: ProgressCallback
) -> TrainingMotion:
    """Every hair of a groom simulated under random motions of the head, without solids."""
    every, begins, steps = [], [], round(seconds * FRAME_RATE)
    for number, seed in enumerate(seeds):
        head = make_motion("random", pivot=NECK, seed=seed, amplitude=0.6)
        simulation = simulation_of(scene, Guides.chosen(groom, np.arange(groom.strand_count)), head)
        rest = groom.as_uniform()
        for step in range(steps):
            done("simulating every hair to learn from", (number + step / steps) / len(seeds))
            frame = simulation.step()
            if step % TRAINED_EVERY == 0:
                every.append(seen_from(frame.head, frame.points) - rest)
                begins.append(step == 0)
    displacement = np.ascontiguousarray(np.stack(every, axis=1))
    return TrainingMotion(groom.as_uniform(), displacement, np.array(begins), TRAINED_EVERY / FRAME_RATE)


def motions(scene: PartingScene, sizes: Sizes, done: ProgressCallback) -> tuple[Groom, TrainingMotion, TrainingMotion]:
    """A groom, its motion to learn from, and motion that is not learned from."""
    groom = grown(scene, sizes)
    learned = motion_of(scene, groom, TRAINING_SEEDS, sizes.train_seconds, done)
    return groom, learned, motion_of(scene, groom, UNSEEN_SEEDS, sizes.train_seconds, done)


def unseen_hairs(groom: Groom, unseen: TrainingMotion, model: AdaptiveModel) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Every hair of each frame of unseen motion [m], shape (S, V, 3), as simulated and by the best sets of a model."""
    guides = Guides.chosen(groom, model.guides)
    skin = make_skin("adaptive", groom, guides, model=model)
    for number in range(unseen.displacement.shape[1]):
        truth = groom.as_uniform() + unseen.displacement[:, number]
        frame = guide_frame(guides, np.ascontiguousarray(truth[model.guides]), Pose.identity(), 0.0)
        yield truth, skin(frame, copy=True)


def unseen_error(groom: Groom, unseen: TrainingMotion, model: AdaptiveModel) -> float:
    """Mean distance of vertices from where they were in unseen motion [m], by the best sets of a model."""
    others = np.setdiff1d(np.arange(groom.strand_count), model.guides)
    pairs = unseen_hairs(groom, unseen, model)
    errors = [float(np.linalg.norm(made[others] - truth[others], axis=2).mean()) for truth, made in pairs]
    return float(np.mean(errors))


def grown(scene: PartingScene, sizes: Sizes) -> Groom:
    """All hairs of a scene at rest."""
    return styles.make(scene.style, strands=sizes.strands, vertices=sizes.vertices, seed=1, **scene.options)


def record(scene: PartingScene, sizes: Sizes, done: ProgressCallback, **training: Any) -> Recording:
    """Learn, then simulate every hair of a scene, and its guides."""
    groom = grown(scene, sizes)
    steps = round(min(scene.seconds, sizes.seconds) * FRAME_RATE)
    learned = len(TRAINING_SEEDS) * sizes.train_seconds * FRAME_RATE
    part = learned / (learned + BESIDE_SOLIDS * steps)  # of the time of all steps, those to learn from
    motion = motion_of(scene, groom, TRAINING_SEEDS, sizes.train_seconds, lambda text, share: done(text, part * share))
    every = Guides.chosen(groom, np.arange(groom.strand_count))
    full = simulation_of(scene, every, head_of(scene), scene.solids())
    truth = np.empty((steps, *groom.as_uniform().shape), np.float32)
    for number in range(steps):
        done("simulating every hair beside the solids", part + (1 - part) * number / steps)
        truth[number] = full.step().points
    done("simulating the guides", 1.0)
    return _with_guides(scene, groom, motion, truth, AdaptiveTraining(guides=sizes.guides, all_pairs=True, **training))


def truth_seconds(scene: PartingScene, hairs: int, vertices: int, sample: int, seconds: float) -> float:
    """Estimate how long every one of so many hairs takes to simulate beside the solids of a scene [s].

    Simulates a `sample` of them for so many `seconds` of the scene, the last ones before its middle, and scales.
    """
    groom = grown(scene, Sizes(sample, 1, vertices, scene.seconds, 0.0))
    every = Guides.chosen(groom, np.arange(sample))
    simulation = simulation_of(scene, every, head_of(scene), scene.solids())
    for _ in range(round((0.5 * scene.seconds - seconds) * FRAME_RATE)):
        simulation.step()
    steps = max(round(seconds * FRAME_RATE), 1)
    began = perf_counter()
    for _ in range(steps):
        simulation.step()
    return (perf_counter() - began) / steps * scene.seconds * FRAME_RATE * hairs / sample


def _with_guides(
    scene: PartingScene, groom: Groom, motion: TrainingMotion, truth: FloatArray, training: AdaptiveTraining
) -> Recording:
    model = learn_from_motion(motion, training)
    guides = Guides.chosen(groom, model.guides)
    simulation = simulation_of(scene, guides, head_of(scene), scene.solids())
    frames = tuple(simulation.step().copy() for _ in truth)
    others = np.setdiff1d(np.arange(groom.strand_count), model.guides)
    is_near = np.zeros((len(truth), groom.strand_count), bool)
    made = Recording(scene, groom, motion, model, simulation, frames, truth, is_near, others)
    distance = PropDistance(simulation.solids)
    for number in range(len(truth)):
        is_near[number] = near_solids(distance, frames[number].time, truth[number])
    return made


# -- methods -------------------------------------------------------------------------------------------------------


class SidedSkin:
    """A skin whose hairs keep their lengths and their sides of solids, as the passes of those names do it.

    Args:
        skin: as it is without.
        recording: whose solids hair keeps its side of.
    """

    def __init__(self, skin: Skin | ParticleSkin | OwnGuides, recording: Recording) -> None:
        solids = recording.simulation.solids
        self._skin, self._lengths = skin, LengthKeeping(recording.groom)
        self._sides = SideKeeping(solids, body=solids[0], groom=recording.groom)

    def __call__(self, frame: GuideFrame, *, copy: bool = True) -> FloatArray:
        """Every hair at a frame [m], shape (S, V, 3)."""
        return self._sides(self._lengths(self._skin(frame, copy=copy)), frame)


class OwnGuides:
    """An adaptive skin on guides that another training chose, simulated beside those of the recording.

    Args:
        recording: what it learns from, and whose scene it plays.
        training: how it learns.
        hairs: that it learns from and carries, where all would take too long; others stay as they are at rest.
        settings: of the skin.

    Attributes:
        hairs: that it carries, rising.
        guides: which of all hairs they are; never measured, since a simulated guide is the truth itself.
    """

    def __init__(
        self, recording: Recording, training: AdaptiveTraining, hairs: IntArray | None = None, **settings: Any
    ) -> None:
        scene = recording.scene
        self.hairs = np.arange(recording.groom.strand_count) if hairs is None else hairs
        groom = recording.groom if hairs is None else recording.groom.take(hairs)
        model = recording.learned_by(training, hairs)
        guides = Guides.chosen(groom, model.guides)
        self.guides = self.hairs[model.guides]
        self._every = recording.groom.as_uniform().copy()
        self._simulation = simulation_of(scene, guides, head_of(scene), scene.solids())
        self._skin = make_skin("adaptive", groom, self._simulation, model=model, **settings)

    def __call__(self, frame: GuideFrame, *, copy: bool = True) -> FloatArray:
        """Every hair at the next frame [m], shape (S, V, 3)."""
        own = self._simulation.step()
        assert own.time == frame.time
        self._every[self.hairs] = self._skin(own)
        return self._every.copy() if copy else self._every


AnySkin = Skin | ParticleSkin | SidedSkin | OwnGuides
Make = Callable[[Recording], AnySkin]


def _skin(name: str, **settings: Any) -> Make:
    return lambda recording: make_skin(name, recording.groom, recording.simulation, **settings)


def _learned(**settings: Any) -> Make:
    """Learned sets, which never change unless a criterion asks for it."""
    return lambda recording: make_skin(
        "adaptive", recording.groom, recording.simulation, model=recording.model, **settings
    )


def _chosen(**settings: Any) -> Make:
    """Learned sets that are chosen anew in every frame, by both criteria."""
    return _learned(use_motion=True, use_solids=True, **settings)


def _framed(**settings: Any) -> Make:
    """Learned sets on the same guides, which turn the hairs that they carry: B_g of chai2017 eq. 5 and 7 as a frame."""

    def made(recording: Recording) -> Skin:
        model = recording.learned_by(AdaptiveTraining(guides=len(recording.model.guides), use_frames=True))
        return make_skin("adaptive", recording.groom, recording.simulation, model=model, **settings)

    return made


def _as_printed(recording: Recording) -> OwnGuides:
    """Learned and played as printed, on as many guides, which eq. 9 and 10 choose; of many hairs, `PRINTED_HAIRS`."""
    training = AdaptiveTraining.printed(guides=len(recording.model.guides))
    count = recording.groom.strand_count
    some = np.sort(np.random.default_rng(2).choice(count, min(PRINTED_HAIRS, count), replace=False))
    return OwnGuides(recording, training, some if len(some) < count else None, paper=True)


def _more_guides(**settings: Any) -> Make:
    """Learned sets of four times the guides, or of all hairs where there are not as many."""

    def made(recording: Recording) -> OwnGuides:
        count = min(4 * len(recording.model.guides), recording.groom.strand_count)
        return OwnGuides(recording, AdaptiveTraining(guides=count), **settings)

    return made


def _physical_on(target: Make, **settings: Any) -> Make:
    """hsu2024's hair, whose drift correction pulls to where another skin has it."""
    return lambda recording: make_skin(
        "physical", recording.groom, recording.simulation, target=target(recording), **settings
    )


def _particle_wise(recording: Recording) -> ParticleSkin:
    return ParticleSkin(recording.motion, recording.model.guides)


def _sided(make: Make) -> Make:
    def made(recording: Recording) -> SidedSkin:
        skin = make(recording)
        assert not isinstance(skin, SidedSkin)
        return SidedSkin(skin, recording)

    return made


FIXED, DEFAULT = "fixed sets", "fixed sets, sides kept"
METHODS: dict[str, Make] = {
    "linear": _skin("linear"),
    "physical": _skin("physical"),
    FIXED: _learned(),
    "particle-wise [33]": _particle_wise,
    "naive, fixed (eq. 11)": _skin("adaptive", use_motion=False, use_solids=False),
    "naive, adaptive (eq. 11)": _skin("adaptive"),
    "adaptive as printed": _as_printed,
    "default model, played as printed": _learned(paper=True),
    "fixed sets, frames": _framed(),
    "adaptive, frames": _framed(use_motion=True, use_solids=True),
    "motion alone (4.1)": _learned(use_motion=True),
    "motion alone, delta 1": _learned(use_motion=True, delta=1.0),
    "solids alone (4.2)": _learned(use_solids=True),
    "tip rule [13], 2 cm": _learned(tip_distance=0.02),
    "no fade": _chosen(fade=0.0),
    "leaning": _chosen(lean=True),
    "adaptive": _chosen(),
    "adaptive, physical hair": _physical_on(_chosen()),
    "adaptive, physical hair, forces of the roots' guides": _physical_on(_chosen(), forces_of_sets=False),
    "fixed sets, physical hair": _physical_on(_learned()),
    "linear, sides kept": _sided(_skin("linear")),
    "physical, sides kept": _sided(_skin("physical")),
    DEFAULT: _sided(_learned()),
    "naive, fixed, sides kept": _sided(_skin("adaptive", use_motion=False, use_solids=False)),
    "naive, sides kept": _sided(_skin("adaptive")),
    "adaptive, sides kept": _sided(_chosen()),
    "adaptive, physical hair, sides kept": _sided(_physical_on(_chosen())),
    "fixed sets, physical hair, sides kept": _sided(_physical_on(_learned())),
    "fixed sets, 4x the guides": _more_guides(),
    "adaptive, 4x the guides": _more_guides(use_motion=True, use_solids=True),
}

# Skins whose hairs push their guides (section 5) by name: the forms of `adaptive_two_way`, our default first.
TWO_WAY: dict[str, dict[str, Any]] = {
    **{f"two-way, {form}": {"form": form} for form in FORMS if form != "printed"},
    "two-way as printed (eq. 4)": {"form": "printed", "paper": True},
}


Carried = Iterator[tuple[GuideFrame, FloatArray]]  # frames, each with every hair [m], shape (S, V, 3)


def measured_hairs(recording: Recording, skin: AnySkin) -> IntArray:
    """Hairs that tell how close a skin comes: that it carries, and that are guides of neither it nor the recording."""
    if not isinstance(skin, OwnGuides):
        return recording.others
    return np.setdiff1d(np.intersect1d(recording.others, skin.hairs), skin.guides)


def carried(recording: Recording, skin: AnySkin) -> Carried:
    """Every hair in every frame, by a skin that was made for the recording."""
    for frame in recording.frames:
        yield frame, skin(frame, copy=True)


def carried_two_way(recording: Recording, **settings: Any) -> Carried:
    """The same by a skin whose hairs push their guides (chai2017 section 5), which are simulated anew with it."""
    scene = recording.scene
    guides = Guides.chosen(recording.groom, recording.model.guides)
    simulation = simulation_of(scene, guides, head_of(scene), scene.solids())
    criteria = {"use_motion": True, "use_solids": True}
    skin = make_skin("adaptive_two_way", recording.groom, simulation, model=recording.model, **criteria, **settings)
    for _ in recording.frames:
        frame = simulation.step()
        yield frame, skin(frame, copy=True)
        simulation.receive(skin.world_load(frame))


def pushed_out(recording: Recording, hairs: Carried) -> Carried:
    """The same hairs with their lengths and out of the solids: position correction, as `FrameMeter` finishes them."""
    finish = finish_of(recording.groom, recording.simulation.solids)
    for frame, points in hairs:
        for one in finish:
            points = one(points, frame)
        yield frame, points


def measure(recording: Recording, make: Make | None) -> Found:
    """Carry every frame by a method and compare with the truth; None measures the truth itself."""
    if make is None:
        return _measured(recording, ((frame, None) for frame in recording.frames))
    skin = make(recording)
    return _measured(recording, carried(recording, skin), measured_hairs(recording, skin))


def measure_follow_the_leader(recording: Recording) -> Found:
    """Every hair simulated by Dynamic Follow-The-Leader [38], without guides."""
    hairs = follow_the_leader(
        recording.groom.as_uniform(), recording.frames, recording.simulation.solids, dt=1 / FRAME_RATE
    )
    return _measured(recording, zip(recording.frames, hairs, strict=True))


def measure_two_way(recording: Recording, **settings: Any) -> Found:
    """The same for a skin whose hairs push their guides (chai2017 section 5)."""
    return _measured(recording, carried_two_way(recording, **settings))


def _measured(
    recording: Recording, carried: Iterable[tuple[GuideFrame, FloatArray | None]], others: IntArray | None = None
) -> Found:
    """Compare frames with the truth, by default of all hairs but guides; None for hairs is the truth itself."""
    measured = recording.others if others is None else others
    meter = FrameMeter(recording.groom, recording.simulation.solids, measured)
    for number, (frame, made) in enumerate(carried):
        meter.add(frame, recording.truth[number], recording.is_near[number], made)
    return meter.found()

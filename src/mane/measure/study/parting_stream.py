"""Scenes at the sizes of chai2017 table 2: hairs simulated one by one, skins measured against each frame as it comes.

All frames of 150,000 hairs would be 7 GB. Learning and measuring takes a sample of the hairs, drawn at random; guides
are some of it. Hairs of the full simulation meet solids and not each other, so those of the sample move as they would
among all others, and the others are not simulated. The sample is kept in a file, so that other methods are measured
against it without simulating again; of skins nothing is kept but sums, and the frames that are drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mane.dataset.learn.adaptive import AdaptiveTraining, learn_from_motion
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.measure.study import parting
from mane.measure.study.parting import Make, ProgressCallback, Recording
from mane.measure.study.parting_meter import Found, FrameMeter, PropDistance, near_solids
from mane.measure.study.parting_scenes import PartingScene
from mane.measure.study.parting_truth import kept_truth
from mane.strand.frame import GuideFrame


@dataclass(frozen=True)
class FullSize:
    """A scene of table 2.

    Attributes:
        name: for people.
        scene: which.
        hairs: all of them.
        guides: how many.
        vertices: of every hair.
        seconds: of the scene that are simulated [s].
        sample: hairs that are learned of and measured.
        train_seconds: of each motion that is learned from [s].
    """

    name: str
    scene: PartingScene
    hairs: int
    guides: int
    vertices: int
    seconds: float
    sample: int = 10_000
    train_seconds: float = 1.5

    @property
    def steps(self) -> int:
        """Frames of 10 ms."""
        return max(round(self.seconds * parting.FRAME_RATE), 1)


@dataclass(frozen=True, eq=False)
class Streamed:
    """What came of a scene.

    Attributes:
        found: by method.
        full: of the full simulation itself.
        recording: groom, model and guides of the sample; without frames and truth.
        drawn: number of each frame that is drawn -> the frame, and hairs of the sample by method; "full simulation" is
            one of them.
    """

    found: dict[str, Found]
    full: Found
    recording: Recording
    drawn: Mapping[int, tuple[GuideFrame, dict[str, FloatArray]]]


def stream(
    size: FullSize, methods: Mapping[str, Make], drawn: Collection[str], folder: Path, done: ProgressCallback
) -> Streamed:
    """Simulate a sample, unless `folder` has that, learn of it, and carry it through the scene by all methods.

    `drawn` are methods that pictures show.
    """
    scene = size.scene
    groom = parting.grown(
        scene, parting.Sizes(size.hairs, size.guides, size.vertices, size.seconds, size.train_seconds)
    )
    part = groom.take(sampled(size))
    truth = _truth_of(size, part, folder, lambda text, share: done(text, 0.7 * share))
    recording = _recorded(size, part, lambda text, share: done(text, 0.7 + 0.15 * share))
    solids = recording.simulation.solids
    skins = {name: make(recording) for name, make in methods.items()}
    meters = {name: FrameMeter(part, solids, parting.measured_hairs(recording, skin)) for name, skin in skins.items()}
    own, distance = FrameMeter(part, solids, recording.others), PropDistance(solids)
    shown = {min(round(t * parting.FRAME_RATE), size.steps - 1) for t in scene.shown}
    frames: dict[int, tuple[GuideFrame, dict[str, FloatArray]]] = {}
    for number in range(size.steps):
        done(
            f"every skin beside the full simulation, step {number + 1} of {size.steps}",
            0.85 + 0.15 * number / size.steps,
        )
        there, frame = np.array(truth[number]), recording.simulation.step()
        is_near = near_solids(distance, frame.time, there)
        own.add(frame, there, is_near, None)
        pictures = {"full simulation": there}
        for name, skin in skins.items():
            made = skin(frame, copy=True)
            if number in shown and name in drawn:
                pictures[name] = made.copy()
            meters[name].add(frame, there, is_near, made)
        if number in shown:
            frames[number] = frame.copy(), pictures
    return Streamed({name: meter.found() for name, meter in meters.items()}, own.found(), recording, frames)


def _truth_of(size: FullSize, part: Groom, folder: Path, done: ProgressCallback) -> FloatArray:
    """Hairs of the sample in every frame, simulated [m], shape (F, S, V, 3)."""
    scene = size.scene

    def simulate() -> Iterator[FloatArray]:
        every = Guides.chosen(part, np.arange(part.strand_count))
        full = parting.simulation_of(scene, every, parting.head_of(size.scene), scene.solids())
        for number in range(size.steps):
            done(f"hairs beside the solids, step {number + 1} of {size.steps}", number / size.steps)
            yield full.step().points

    key = f"{scene.name} {scene.digest()}, {size.hairs} x {size.vertices}, {part.strand_count} kept, {size.steps} steps"
    return kept_truth(folder, key, (size.steps, part.strand_count, size.vertices, 3), simulate)


def _recorded(size: FullSize, part: Groom, done: ProgressCallback) -> Recording:
    """What is learned of a part of the hairs, and the simulation of its guides, without frames and truth."""
    motion = parting.motion_of(size.scene, part, parting.TRAINING_SEEDS, size.train_seconds, done)
    done("learning", 1.0)
    model = learn_from_motion(motion, AdaptiveTraining(guides=size.guides, all_pairs=True))
    guides = Guides.chosen(part, model.guides)
    simulation = parting.simulation_of(size.scene, guides, parting.head_of(size.scene), size.scene.solids())
    others = np.setdiff1d(np.arange(part.strand_count), model.guides)
    nothing = np.zeros((0, *part.as_uniform().shape), np.float32)
    is_near = np.zeros((0, part.strand_count), bool)
    return Recording(size.scene, part, motion, model, simulation, (), nothing, is_near, others)


def sampled(size: FullSize) -> NDArray[np.int64]:
    """Hairs that are learned of and measured, rising."""
    rng = np.random.default_rng(1)
    return np.sort(rng.choice(size.hairs, min(size.sample, size.hairs), replace=False))

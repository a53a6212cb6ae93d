"""Scenes at the sizes of chai2017 table 2: every hair simulated, and skins measured against each frame as it comes.

All frames of 150,000 hairs would be 7 GB. Here nothing is kept but sums, and the frames that are drawn. Learning and
measuring takes a sample of the hairs, drawn at random; guides are some of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.body.motion_presets import make_motion
from mane.dataset.learn.adaptive import AdaptiveTraining, learn_from_motion
from mane.geometry.checks import FloatArray
from mane.groom.guides import Guides
from mane.measure.study import parting
from mane.measure.study.parting import Done, Make, Recording
from mane.measure.study.parting_meter import Found, FrameMeter, near_solids
from mane.measure.study.parting_scenes import PartingScene
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
    sample: int = 20_000
    train_seconds: float = 0.5

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


def stream(size: FullSize, methods: Mapping[str, Make], drawn: Collection[str], done: Done) -> Streamed:
    """Learn of a sample, then go through the scene once; `drawn` are methods that pictures show."""
    scene = size.scene
    sizes = parting.Sizes(size.hairs, size.guides, size.vertices, size.seconds, size.train_seconds)
    groom = parting.grown(scene, sizes)
    sample = sampled(size)
    part = groom.take(sample)
    motion = parting.motion_of(
        scene, part, parting.TRAINING_SEEDS, size.train_seconds, lambda text, share: done(text, 0.2 * share)
    )
    done("learning", 0.2)
    model = learn_from_motion(motion, AdaptiveTraining(guides=size.guides))
    guides = Guides.chosen(part, model.guides)
    simulation = parting.simulation_of(scene, guides, make_motion("still"), scene.solids())
    others = np.setdiff1d(np.arange(part.strand_count), model.guides)
    nothing = np.zeros((0, *part.as_uniform().shape), np.float32)
    recording = Recording(
        scene, part, motion, model, simulation, (), nothing, np.zeros((0, part.strand_count), bool), others
    )
    skins = {name: make(recording) for name, make in methods.items()}
    meters = {name: FrameMeter(part, simulation.solids, others) for name in skins}
    own = FrameMeter(part, simulation.solids, others)
    every = Guides.chosen(groom, np.arange(groom.strand_count))
    full = parting.simulation_of(scene, every, make_motion("still"), scene.solids())
    shown = {min(round(t * parting.FRAME_RATE), size.steps - 1) for t in scene.shown}
    frames: dict[int, tuple[GuideFrame, dict[str, FloatArray]]] = {}
    for number in range(size.steps):
        done(f"every hair beside the solids, step {number + 1} of {size.steps}", 0.25 + 0.75 * number / size.steps)
        truth, frame = np.ascontiguousarray(full.step().points[sample]), simulation.step()
        is_near = near_solids(simulation.solids, frame.time, truth)
        own.add(frame, truth, is_near, None)
        pictures = {"full simulation": truth}
        for name, skin in skins.items():
            made = skin(frame, copy=True)
            if number in shown and name in drawn:
                pictures[name] = made.copy()
            meters[name].add(frame, truth, is_near, made)
        if number in shown:
            frames[number] = frame.copy(), pictures
    return Streamed({name: meter.found() for name, meter in meters.items()}, own.found(), recording, frames)


def sampled(size: FullSize) -> NDArray[np.int64]:
    """Hairs that are learned of and measured, rising."""
    rng = np.random.default_rng(1)
    return np.sort(rng.choice(size.hairs, min(size.sample, size.hairs), replace=False))

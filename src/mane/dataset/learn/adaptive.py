"""`learn_adaptive`: a model of the adaptive skin from full simulations of a head (chai2017 section 6)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.dataset.dataset import Dataset, open_dataset
from mane.dataset.learn.choice import METHODS, OF_WHOLE_STATES, GuideChoice, motion_features
from mane.dataset.learn.motion import HairStates, TrainingMotion, mean_and_percentile, read_motion
from mane.dataset.learn.weights import learn_sets
from mane.dataset.run import run_dataset
from mane.dataset.spec import MotionTable, Spec, StoreTable
from mane.geometry.checks import require_choice, require_positive
from mane.geometry.linear_algebra import by_one_thread
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.config import GuidesTable, Scene, SkinTable
from mane.scene.guides import make_guides
from mane.scene.hair import load_hair
from mane.scene.scene_file import naming_location
from mane.skin.adaptive.graph import every_pair, shared_pairs
from mane.skin.adaptive.model import AdaptiveModel, groom_key
from mane.skin.adaptive.params import MAX_ELIGIBLE, AdaptiveParams
from mane.skin.adaptive.rows import GuideRows

STORED_RATE = 25.0  # frames per second that suffice to learn from
PERCENTILE = 99.0
CODE_EPSILON = 0.01  # chai2017 6.3

ProgressCallback = Callable[[str, float], None]


def _silent(text: str, share: float) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class AdaptiveTraining:
    """How a model is learned.

    Attributes:
        guides: how many hairs are simulated when the model is used.
        method: how they are chosen: "k_medoids", "sparse_coding", "sparse_coding_printed", "graph" or "random"
        eligible: guides per hair that its sets are made of, 1 to 10
        largest: guides in a set at most; beyond three or four nothing is gained
        epsilon: sets with a guide of less weight are left out
        most_sets: of a hair that are kept
        degree: of the weights along a hair: 0, 1 or 2
        use_frames: guides turn the hairs that they carry, as frames at their vertices (B_g of eq. 5 and 7), and do not
            only move them
        tangents: what a unit tangent counts as in the states of hairs, by which guides are chosen and weights learned
            [m]; the paper's states have them as they are, which is 1 m. 0 for states without
        negative_weights: polynomials below zero are played as they are, and not as zero
        fit_root: polynomials are fitted to the weights of the root as well (eq. 8), which nothing determines
        sigma: of eq. 2, for what d reaches in training
        all_pairs: guides that share no hair are compared as well; cliques as printed need that (`paper = true`)
        train: motions to learn from
        test: motions that are kept back to measure errors on
        seconds: of each motion [s]
        amplitude: of the motions [rad], drawn between two numbers
        seed: of everything random
    """

    guides: int = 200
    method: str = "k_medoids"
    eligible: int = MAX_ELIGIBLE
    largest: int = 4
    epsilon: float = 0.1
    most_sets: int = 80
    degree: int = 0
    use_frames: bool = False
    tangents: float = 0.0
    negative_weights: bool = False
    fit_root: bool = False
    sigma: float = AdaptiveParams.sigma
    all_pairs: bool = False
    train: int = 4
    test: int = 2
    seconds: float = 3.0
    amplitude: tuple[float, float] = (0.3, 0.8)
    seed: int = 0

    def __post_init__(self) -> None:
        require_choice("method", self.method, list(METHODS))
        for name, low, high in (
            ("guides", 1, 100_000),
            ("eligible", 1, MAX_ELIGIBLE),
            ("largest", 1, MAX_ELIGIBLE),
            ("most_sets", 1, 1023),
            ("degree", 0, 2),
            ("train", 1, 10_000),
            ("test", 1, 10_000),
        ):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name}: must be from {low} to {high}, got {getattr(self, name)}")
        require_positive("seconds", self.seconds)
        if not 0 <= self.epsilon < 1:
            raise ValueError(f"epsilon: must be at least 0 and below 1, got {self.epsilon}")
        for name in ("tangents", "sigma"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name}: must be finite and at least 0, got {getattr(self, name)}")

    @classmethod
    def printed(cls, **settings: Any) -> AdaptiveTraining:
        """As chai2017 prints it: sparse coding of states, frames, all subsets, quadratic weights, epsilon of 0.01."""
        given = {"method": "sparse_coding_printed", "largest": 9, "eligible": 9, "epsilon": 0.01, "degree": 2}
        states = {"use_frames": True, "tangents": 1.0, "negative_weights": True, "fit_root": True, "all_pairs": True}
        return cls(**{**given, **states, "most_sets": 511, **settings})


def training_spec(scene: Scene, training: AdaptiveTraining) -> Spec:
    """What is simulated to learn from: every strand of the scene, random motions of the head, no solids."""
    full = replace(scene, guides=GuidesTable(count="all"), solids=(), skin=SkinTable("rigid"), passes=())
    every = max(1, round(scene.frames.rate / STORED_RATE))
    common: dict[str, Any] = {"motion": "random", "amplitude": training.amplitude}
    motions = (
        MotionTable(count=training.train, split="train", **common),
        MotionTable(count=training.test, split="test", **common),
    )
    return Spec(
        scene=full,
        motions=motions,
        seed=training.seed,
        frames=max(3 * every, round(training.seconds * scene.frames.rate)),
        store=StoreTable(fields=("points", "head"), every=every),
    )


def learn_adaptive(
    scene: Scene,
    output: Path,
    training: AdaptiveTraining,
    *,
    data: Path | None = None,
    workers: int | None = 0,
    tell: ProgressCallback | None = None,
) -> AdaptiveModel:
    """Simulate, learn, measure on motion that was not learned from, and write a model, a report and a picture.

    What is simulated goes to `data`, by default beside the model. A run that was stopped goes on there: no sequence is
    simulated twice.

    Args:
        scene: the head; its solids are left out.
        output: file of the model.
        training: how.
        data: folder of the dataset.
        workers: processes that simulate; 0 for this one alone.
        tell: is told what is done, and which part of it.

    Raises:
        ValueError: a sequence cannot be simulated, or there are fewer hairs than guides.
    """
    from mane.dataset.learn.report import write_report
    from mane.io.atomic import atomic_write, check_writable

    say = tell or _silent
    check_writable(output)
    spec = training_spec(scene, training)
    _require_hairs(spec.scene, training.guides)
    store = output.with_suffix(".zarr") if data is None else data
    seconds: dict[str, float] = {}
    began = time.perf_counter()
    summary = run_dataset(
        spec,
        store,
        workers=workers,
        progress=lambda progress: say("simulating every hair", progress.done / progress.count),
    )
    if summary.failures:
        index, reason = next(iter(summary.failures.items()))
        raise ValueError(f"{store}: sequence {index} could not be simulated: {reason}")
    seconds["simulation"] = time.perf_counter() - began
    dataset = open_dataset(store)
    model = learn_from(dataset, training, seconds, say)
    model = write_report(dataset, model, output, seconds, say)
    with atomic_write(output) as file:
        model.to_file().write(file)
    return model


def _require_hairs(scene: Scene, count: int) -> None:
    """Raise ValueError where a scene has fewer hairs than `count`, before any of them is simulated."""
    with naming_location(scene.locations, "groom"):
        hairs = make_guides(scene, load_hair(scene)).count
    if count > hairs:
        raise ValueError(f"guides: must be at most {hairs} (= number of strands of the scene), got {count}")


def learn_from(
    dataset: Dataset,
    training: AdaptiveTraining,
    seconds: dict[str, float] | None = None,
    say: ProgressCallback | None = None,
) -> AdaptiveModel:
    """Learn a model from a dataset of full simulations; `seconds` is filled with what each stage takes."""
    spent = {} if seconds is None else seconds
    with _Stages(spent, say or _silent)("reading"):
        motion = read_motion(dataset, "train")
    return learn_from_motion(motion, training, spent, say)


@by_one_thread
def learn_from_motion(
    motion: TrainingMotion,
    training: AdaptiveTraining,
    seconds: dict[str, float] | None = None,
    say: ProgressCallback | None = None,
) -> AdaptiveModel:
    """Learn a model from the motion of every hair; `seconds` is filled with what each stage takes."""
    tell = say or _silent
    stage = _Stages({} if seconds is None else seconds, tell)
    groom = Groom.from_uniform(motion.rest)
    if training.guides > groom.strand_count:
        raise ValueError(f"guides: must be at most {groom.strand_count} (= number of strands), got {training.guides}")
    with stage("choosing guides"):
        states = HairStates(motion, training.tangents, are_whole=training.method in OF_WHOLE_STATES)
        features = motion_features(states, training.seed)
        choice = METHODS[training.method](features, training.guides, training.seed)
    guides = Guides.chosen(groom, choice.guides)
    slots, counts = eligible_guides(features, choice, training.eligible)
    with stage("comparing guides"):
        pairs = every_pair(guides.capacity) if training.all_pairs else shared_pairs(slots, counts, guides.capacity)
        scale = motion_scale(motion, choice.guides, pairs, training.sigma)
    rows, row_of = GuideRows.of(groom, guides, slots)
    with stage("weights"):
        sets = learn_sets(
            choice.guides,
            motion.rest,
            motion.displacement,
            slots,
            counts,
            rows,
            row_of,
            degree=training.degree,
            largest=training.largest,
            epsilon=training.epsilon,
            most_sets=training.most_sets,
            use_frames=training.use_frames,
            tangents=training.tangents,
            negative_weights=training.negative_weights,
            fit_root=training.fit_root,
            done=lambda share: tell("weights", share),
        )
    frames, vertices = motion.displacement.shape[1:3]
    facts = {
        "groom": groom_key(groom),
        "hairs": groom.strand_count,
        "guide_count": guides.capacity,
        "vertices": vertices,
        "frames": frames,
        "method": training.method,
        "degree": training.degree,
        "use_frames": training.use_frames,
        "negative_weights": training.negative_weights,
        "sigma": training.sigma,
        "sets_per_hair": len(sets.masks) / groom.strand_count,
        "training_error": float(np.sqrt(sets.best_error.sum() / (groom.strand_count * frames * (vertices - 1)))),
    }
    return AdaptiveModel(
        guides=choice.guides,
        slots=slots,
        counts=counts,
        first=sets.first,
        masks=sets.masks,
        log_error=sets.log_error,
        coefficients=sets.coefficients,
        scale=sets.scale,
        pairs=pairs,
        position=scale[0],
        velocity=scale[1],
        usual=scale[2],
        facts=facts,
    )


def eligible_guides(
    features: NDArray[np.float64], choice: GuideChoice, count: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Eligible guides of every hair, (S, M), and how many there are, (S,).

    With codes those that count for a hair (chai2017 6.3): above a threshold, so that none below zero is left. A hair
    with none has the guide that moves most like it, and without codes it has those that do.
    """
    from scipy.spatial import cKDTree

    places = min(count, len(choice.guides))
    if choice.codes is None:
        _, near = cKDTree(features[choice.guides]).query(features, k=np.arange(1, places + 1))
        return near.astype(np.int32), np.full(len(features), places, np.int32)
    order = np.argsort(-choice.codes, axis=1, kind="stable")[:, :places]
    counts = (np.take_along_axis(choice.codes, order, axis=1) >= CODE_EPSILON).sum(axis=1)
    alone = np.flatnonzero(counts == 0)
    if len(alone):
        _, order[alone, 0] = cKDTree(features[choice.guides]).query(features[alone])
    return order.astype(np.int32), np.maximum(counts, 1).astype(np.int32)


def motion_scale(
    motion: TrainingMotion, guides: NDArray[np.int64], pairs: NDArray[np.int64], sigma: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """A and B of chai2017 eq. 2 for pairs of guides, and what d reaches in training."""
    position = motion.displacement[guides] + motion.rest[guides][:, None]
    return mean_and_percentile(position, motion.velocity(guides), ~motion.begins, pairs, sigma, PERCENTILE)


class _Stages:
    """Says what is done, and counts its seconds."""

    def __init__(self, seconds: dict[str, float], tell: ProgressCallback) -> None:
        self._seconds, self._tell = seconds, tell
        self._name, self._began = "", 0.0

    def __call__(self, name: str) -> _Stages:
        self._name = name
        return self

    def __enter__(self) -> None:
        self._tell(self._name, 0.0)
        self._began = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self._seconds[self._name] = time.perf_counter() - self._began

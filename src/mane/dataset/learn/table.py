"""The table of what can be learned, and the settings of each."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Learner:
    """A kind of model.

    Attributes:
        summary: what it is.
        settings: module and dataclass of its settings, whose fields are options of `mane learn`.
        read: module and function that reads what it is learned from: a scene, or a dataset.
        learn: module and function `(what was read, output, settings, *, data, workers, tell)` -> a model.
        describe: module and function that tells people what the facts of a model say.
        simulates: whether it simulates what it learns from, in processes of its own.
        printed: name of the method of the settings class that has a paper's own values.
    """

    summary: str
    settings: str
    read: str
    learn: str
    describe: str
    simulates: bool = True
    printed: str = "printed"

    def load(self, part: str) -> Any:
        """Return what one of the attributes names."""
        module, _, name = getattr(self, part).partition(":")
        return getattr(import_module(module), name)


LEARNERS: dict[str, Learner] = {
    "adaptive": Learner(
        "guides, eligible sets and weights of the adaptive skin (chai2017)",
        settings="mane.dataset.learn.adaptive:AdaptiveTraining",
        read="mane.scene.scene_file:read_scene",
        learn="mane.dataset.learn.adaptive:learn_adaptive",
        describe="mane.dataset.learn.report:describe",
    ),
    "multilinear": Learner(
        "how guides move, with a slider for each axis of a dataset (guan2012)",
        settings="mane.reduced.training:MultilinearTraining",
        read="mane.dataset.dataset:open_dataset",
        learn="mane.dataset.learn.multilinear:learn_multilinear",
        describe="mane.dataset.learn.multilinear:describe",
        simulates=False,
    ),
}

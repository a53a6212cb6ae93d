"""The table of what can be learned, and the settings of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Learner:
    """A kind of model.

    Attributes:
        summary: what it is.
        settings: module and dataclass of its settings, whose fields are options of `mane learn`.
        learn: module and function `(scene, output, settings, *, data, workers, tell)` -> a model.
        printed: name of the method of the settings class that has a paper's own values.
    """

    summary: str
    settings: str
    learn: str
    printed: str = "printed"

    def load(self) -> tuple[Any, Callable[..., Any]]:
        """Return the settings class and the function."""
        found = []
        for place in (self.settings, self.learn):
            module, _, name = place.partition(":")
            found.append(getattr(import_module(module), name))
        return found[0], found[1]


LEARNERS: dict[str, Learner] = {
    "adaptive": Learner(
        "guides, eligible sets and weights of the adaptive skin (chai2017)",
        "mane.dataset.learn.adaptive:AdaptiveTraining",
        "mane.dataset.learn.adaptive:learn_adaptive",
    ),
}

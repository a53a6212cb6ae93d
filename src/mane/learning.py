"""Learning from simulations, as `mane learn` does it: what `mane.open_dataset` reads and a `mane.Scene` go in, and
models of hair (`mane.HairModel`) and of the adaptive skin come out, with a report beside the file of each."""

from mane.dataset.learn.adaptive import AdaptiveTraining, learn_adaptive
from mane.dataset.learn.multilinear import LearningNotice, learn_multilinear
from mane.reduced.training import MultilinearTraining

__all__ = ["AdaptiveTraining", "LearningNotice", "MultilinearTraining", "learn_adaptive", "learn_multilinear"]

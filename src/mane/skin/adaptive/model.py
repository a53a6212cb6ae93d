"""`AdaptiveModel`: what training found out about the hairs of one groom (chai2017 section 6)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.cache import content_key
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.adaptive.graph import MotionScale
from mane.skin.adaptive.params import MAX_ELIGIBLE
from mane.stage.model_file import ModelFile

KIND, VERSION = "adaptive", 2  # 2: sets ranked as they are played, `usual` of the sum of both terms
LOG_UNIT = 0.02  # of `log_error`: errors that differ by less than 2 % count as one
NOT_ARRAYS = ("scale", "facts")


@dataclass(frozen=True, eq=False)
class AdaptiveModel:
    """Eligible sets of S hairs on G guides, N sets in all.

    Attributes:
        guides: strand of the groom that each guide is, shape (G,), int64.
        slots: eligible guides of each hair, shape (S, M), int32.
        counts: how many of them there are, shape (S,), int32.
        first: where the sets of each hair begin and end, shape (S + 1,), int64.
        masks: sets as bits over the eligible guides, those of a hair by rising error, shape (N,), uint16.
        log_error: logarithm of the error of a set in training over that of the hair's best, in `LOG_UNIT`, shape (N,),
            uint8.
        coefficients: of the weight polynomials (chai2017 eq. 6), guide by guide of set by set, lowest power first, in
            units of `scale`; the variable is 0 at the root and 1 at the tip; shape (C, degree + 1), int16.
        scale: unit of the coefficients.
        pairs: of guides whose motion was compared, shape (P, 2), int64; see `MotionScale`, and so are the next three.
        position: shape (P,).
        velocity: shape (P,).
        usual: shape (P,).
        facts: errors, times and where it came from, plain values.
    """

    guides: NDArray[np.int64]
    slots: NDArray[np.int32]
    counts: NDArray[np.int32]
    first: NDArray[np.int64]
    masks: NDArray[np.uint16]
    log_error: NDArray[np.uint8]
    coefficients: NDArray[np.int16]
    scale: float
    pairs: NDArray[np.int64]
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    usual: NDArray[np.float64]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def degree(self) -> int:
        """Of the weight polynomials."""
        result: int = self.coefficients.shape[1] - 1
        return result

    @property
    def use_frames(self) -> bool:
        """Whether weights were learned with B_g of eq. 5 as a frame, and not a translation."""
        return bool(self.facts.get("use_frames", False))

    @property
    def has_negative_weights(self) -> bool:
        """Whether weights below 0 count as they are, and not as 0."""
        return bool(self.facts.get("negative_weights", False))

    @property
    def motion_scale(self) -> MotionScale:
        """What the motion of guides is measured by."""
        return MotionScale(self.pairs, self.position, self.velocity, self.usual, self.facts.get("sigma"))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(getattr(self, f.name).nbytes for f in fields(self) if f.name not in NOT_ARRAYS)

    def to_file(self) -> ModelFile:
        """As a file holds it."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in NOT_ARRAYS}
        return ModelFile(KIND, VERSION, {**self.facts, "scale": self.scale}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> AdaptiveModel:
        """Read a model that `mane learn adaptive` made.

        Raises:
            ValueError: it is none, or damaged.
            OSError: it is not there.
        """
        file = ModelFile.read(path, KIND, VERSION)
        names = [f.name for f in fields(cls) if f.name not in NOT_ARRAYS]
        missing = [name for name in names if name not in file.arrays]
        if missing:
            raise ValueError(f"{path}: lacks {missing[0]!r}; learn it again")
        model = cls(**{name: file.arrays[name] for name in names}, scale=float(file.facts["scale"]), facts=file.facts)
        model.check(str(path))
        return model

    def check(self, name: str) -> None:
        """Raise ValueError, which begins with `name`, where arrays do not fit each other, as kernels trust them to."""
        hairs, width = self.slots.shape if self.slots.ndim == 2 else (0, 0)
        sizes = {
            "counts": (hairs,),
            "first": (hairs + 1,),
            "log_error": self.masks.shape,
            "position": (len(self.pairs),),
            "velocity": (len(self.pairs),),
            "usual": (len(self.pairs),),
        }
        fits = hairs > 0 and 1 <= width <= MAX_ELIGIBLE and self.coefficients.ndim == 2
        fits = fits and all(getattr(self, key).shape == shape for key, shape in sizes.items())
        fits = fits and self.first[0] == 0 and self.first[-1] == len(self.masks) and (np.diff(self.first) >= 1).all()
        fits = fits and ((self.counts >= 1) & (self.counts <= width)).all()
        fits = fits and self.slots.min() >= 0 and max(self.slots.max(), self.pairs.max(initial=0)) < len(self.guides)
        if fits:
            widest = np.repeat(self.counts, np.diff(self.first))
            fits = bool((self.masks > 0).all() and (self.masks < (1 << widest)).all())
            fits = fits and len(self.coefficients) == int(np.bitwise_count(self.masks).sum())
        if not fits:
            raise ValueError(f"{name}: its arrays do not fit each other; learn it again")

    def require_fit(self, groom: Groom, guides: Guides, file: str = "hair.model") -> None:
        """Raise ValueError unless it was learned of this groom and these are its guides; `file` is where it is from."""
        known = self.facts.get("groom")
        if groom.strand_count != len(self.slots) or (known is not None and known != groom_key(groom)):
            is_as_many = groom.strand_count == len(self.slots)
            what = "whose points or vertices differ" if is_as_many else f"this one has {groom.strand_count:,}"
            raise ValueError(
                f"model: was learned of another groom, of {len(self.slots):,} strands{', ' if is_as_many else '; '}"
                f"{what}; `mane learn adaptive` learns this one"
            )
        if guides.capacity != len(self.guides) or (guides.source != self.guides).any():
            raise ValueError(
                f"model: must carry the groom by its own {len(self.guides)} guides, got {guides.count} others; "
                f'[guides] model = "{file}" takes them in a scene, Guides.chosen(groom, model.guides) in a script'
            )


def groom_key(groom: Groom) -> str:
    """A key that changes with any point of a groom."""
    return content_key(groom.points, groom.offsets)

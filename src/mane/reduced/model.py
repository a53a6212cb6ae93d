"""`HairModel`: hair that was learned, with sliders (guan2012).

```python
model = mane.HairModel.load("hair.model")
for frame in model.play(mane.make_motion("shake"), length=0.7, softness=0.2):
    frame.points                    # (G, V, 3); a `GuideFrame`, as of a simulation
```
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mane.groom.groom import Groom
from mane.groom.guides import NOT_FROM_GROOM, Guides
from mane.reduced.canonical import Space, space_arrays, space_of
from mane.reduced.dynamics import CoreTensor, CrossGrams, Dynamics, Ridge, level_pairs, merged_pairs
from mane.reduced.factors import (
    SHORTEST,
    Factor,
    corner_count,
    corner_levels,
    corner_of,
    corner_weights,
    with_safe_ranges,
)
from mane.reduced.principal import Basis
from mane.reduced.representation import REPRESENTATIONS, Representation
from mane.stage.model_file import ModelFile

if TYPE_CHECKING:
    from mane.body.motion import Motion, Pose
    from mane.strand.frame import GuideFrame

Frames = NDArray[np.float32]
Array = NDArray[np.float64]

KIND, VERSION = "multilinear", 2  # 2: controls look back on six steps of the head
SAME_PLACE = 1e-4  # [m] within which strands of a groom are those of a model
MAX_FACTORS = 4


@dataclass(frozen=True, eq=False, repr=False)
class HairModel:
    """G guides of V vertices in C styles, d coefficients.

    Attributes:
        factors: sliders.
        rest: guides that have come to rest in every style [m], shape (C, G, V, 3), float32.
        groomed: the same as groomed, which gravity may have changed.
        strands: strand of the groom that each guide is, shape (G,), int64.
        basis: of the vectors that `representation` makes of a frame.
        mean: of those vectors, shape (D,); empty where they are measured from rest.
        representation: what of a frame is learned.
        space: that it is seen in.
        dynamics: how coefficients go on from frame to frame.
        frame_rate: frames per second that it was learned at, and runs at.
        grid: slider values at which stability was looked at, shape (P, factors).
        radii: largest eigenvalue at each of them, shape (P,).
        facts: errors and where it came from, plain values.
        deviations: standard deviation of each coefficient over all frames that were learned from, (d,); empty in older
            files.
        shape_places: values of each slider at which hair at rest is known, rising, with those of its levels among them;
            empty where it is known at the levels alone.
        shapes: hair at rest at all of them, the last slider running first, shape (S, G, V, 3), float32.
        wind_speed: of the strongest wind that it was learned with [m/s]; None where that is not known.
    """

    factors: tuple[Factor, ...]
    rest: Frames
    groomed: Frames
    strands: NDArray[np.int64]
    basis: Basis
    mean: Frames
    representation: Representation
    space: Space
    dynamics: Dynamics
    frame_rate: float
    grid: Array
    radii: Array
    facts: Mapping[str, Any] = field(default_factory=dict)
    deviations: Array = field(default_factory=lambda: np.zeros(0))
    shape_places: tuple[tuple[float, ...], ...] = ()
    shapes: Frames = field(default_factory=lambda: np.zeros((0, 0, 0, 3), np.float32))
    wind_speed: float | None = None

    def __repr__(self) -> str:
        names = ", ".join(factor.name for factor in self.factors) or "no sliders"
        return f"HairModel({self.guide_count:,} guides of {self.vertex_count} vertices, {names})"

    @property
    def guide_count(self) -> int:
        """Number of guides, G."""
        return int(self.rest.shape[1])

    @property
    def vertex_count(self) -> int:
        """Vertices of a guide, V."""
        return int(self.rest.shape[2])

    @property
    def coefficient_count(self) -> int:
        """Number of coefficients, d."""
        return int(self.basis.numbers.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self._arrays().values())

    # -- sliders ---------------------------------------------------------------------------------------------------

    @cached_property
    def sliders(self) -> dict[str, float]:
        """All sliders at their first level."""
        return {factor.name: 0.0 for factor in self.factors}

    def checked_sliders(self, values: Mapping[str, Any]) -> dict[str, float]:
        """Values of all sliders, 0 where none is given; ValueError for one that is unknown or out of its range."""
        known = {factor.name: factor for factor in self.factors}
        for name in values:
            if name not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise ValueError(f"{name}: is no slider of this model; {has}")
        return {**self.sliders, **{name: known[name].check(value) for name, value in values.items()}}

    def weights(self, sliders: Mapping[str, Any]) -> Array:
        """Weights of all styles (..., C) at slider values of shape (...)."""
        return corner_weights(self.factors, sliders)

    def rest_at(self, sliders: Mapping[str, Any]) -> tuple[Frames, Frames]:
        """Directions (G, V - 1, 3) and lengths (G, V - 1) [m] of guides at rest in a blended style.

        Values of all sliders are numbers, or those of each guide, (G,).
        """
        from mane.reduced.representation import directions, lengths

        known, positions = self._known_shapes
        grid = [Factor(one.name, tuple(own), tuple(own)) for one, own in zip(self.factors, positions, strict=True)]
        weights = corner_weights(grid, sliders)
        own = np.broadcast_to(weights, (self.guide_count, weights.shape[-1])).astype(np.float32)
        unit = np.einsum("gc,cgnk->gnk", own, directions(known))
        unit /= np.maximum(np.linalg.norm(unit, axis=-1, keepdims=True), np.float32(1e-9))
        every = lengths(known)
        length = np.einsum("gc,cgn->gn", own, every)
        # Each slider keeps hair a fifth of its shortest length; two that shorten it together might not.
        return unit, np.maximum(length, np.maximum(np.float32(SHORTEST) * every.min(axis=0), np.float32(1e-6)))

    @property
    def _known_shapes(self) -> tuple[Frames, Sequence[Sequence[float]]]:
        """Hair at rest that is known, (S, G, V, 3) [m], and where on each slider."""
        if self.shape_places:
            return self.shapes, self.shape_places
        return self.rest, [factor.positions for factor in self.factors]

    def with_safe_ranges(self) -> HairModel:
        """The model with sliders that go no farther than hair has a length (`factors.with_safe_ranges`).

        None goes farther than before: there it was checked that the model is stable.
        """
        from mane.reduced.representation import lengths

        known, positions = self._known_shapes
        safe = with_safe_ranges(self.factors, positions, lengths(known).sum(axis=-1))
        both = zip(self.factors, safe, strict=True)
        narrower = [replace(a, least=max(a.least, b.least), most=min(a.most, b.most)) for a, b in both]
        return replace(self, factors=tuple(narrower))

    def guides(self, corner: int = 0) -> Guides:
        """Guides of one style as groomed."""
        strands = Groom.from_uniform(np.ascontiguousarray(self.groomed[corner]))
        count = self.guide_count
        source = np.full(count, NOT_FROM_GROOM)
        return Guides(strands, source, np.ones(count, np.bool_), np.ones(count, np.float32))

    def guides_of(self, groom: Groom) -> tuple[Guides, int]:
        """The strands of a groom that are the guides, and which style the groom is of.

        Raises:
            ValueError: it was learned of another groom.
        """
        text = (
            f"model: was learned of another groom; its {self.guide_count:,} guides of {self.vertex_count} vertices "
            "are none of this one's strands"
        )
        if self.strands.max(initial=0) >= groom.strand_count:
            raise ValueError(f"{text}, of which there are {groom.strand_count:,}")
        guides = Guides.chosen(groom, self.strands, self.vertex_count)
        return guides, self.corner_of(guides)

    def corner_of(self, guides: Guides) -> int:
        """Style that guides are of.

        Raises:
            ValueError: they are of another groom.
        """
        if guides.rest.shape != self.groomed.shape[1:]:
            raise ValueError(
                f"model: was learned of {self.guide_count:,} guides of {self.vertex_count} vertices, got "
                f"{guides.capacity:,} of {guides.vertex_count}; [guides] model takes its own"
            )
        off = np.abs(self.groomed - guides.rest).reshape(len(self.groomed), -1).max(axis=1)
        corner = int(off.argmin())
        if not off[corner] <= SAME_PLACE:
            raise ValueError(
                f"model: was learned of another groom; its {self.guide_count:,} guides of {self.vertex_count} vertices "
                f"are up to {1e3 * off[corner]:.3g} mm from these; `mane learn multilinear` learns it"
            )
        return corner

    def corner_sliders(self, corner: int) -> dict[str, float]:
        """Slider values of a style."""
        return corner_of(self.factors, corner_levels(self.factors)[corner])

    # -- frames ----------------------------------------------------------------------------------------------------

    def play(
        self, head: Motion | Sequence[Pose] | str | None = None, *, frames: int | None = None, **settings: Any
    ) -> Iterator[GuideFrame]:
        """Yield guide frames at the model's frame rate, from rest on.

        Args:
            head: a motion, the name of one, or a pose for every frame.
            frames: how many; None for as many as there are poses, or for ever.
            settings: a value for each slider (a number, rows of time [s] and value, or a number for each guide), and
                settings of `LearnedSource`: body, solids, wind, collisions...
        """
        from mane.reduced.source import play

        return play(self, head, frames, settings)

    # -- files -----------------------------------------------------------------------------------------------------

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "rest": self.rest,
            "groomed": self.groomed,
            "strands": self.strands,
            "basis": self.basis.numbers,
            "basis_scale": self.basis.scale,
            "mean": self.mean,
            "grid": self.grid,
            "radii": self.radii,
            "deviations": self.deviations,
            "shapes": self.shapes,
            **space_arrays(self.space),
        }
        if isinstance(self.dynamics, CrossGrams):
            return {**arrays, "grams": self.dynamics.grams}
        assert isinstance(self.dynamics, CoreTensor)
        return {**arrays, "core": self.dynamics.core, **{f"mode{k}": m for k, m in enumerate(self.dynamics.modes)}}

    def to_file(self) -> ModelFile:
        """As a file holds it."""
        dynamics = self.dynamics
        header = {
            "factors": [asdict(factor) for factor in self.factors],
            "representation": self.representation.name,
            "space": self.space.name,
            "has_wind": self.space.has_wind,
            "bodies": self.space.bodies,
            "frame_rate": self.frame_rate,
            "order": dynamics.order,
            "controls": dynamics.control_count,
            "shape_places": [list(own) for own in self.shape_places],
            "wind_speed": self.wind_speed,
        }
        if isinstance(dynamics, CrossGrams):
            header |= {"summed": dynamics.frames, "ridge": asdict(dynamics.ridge)}
        return ModelFile(KIND, VERSION, {**self.facts, "model": header}, self._arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> HairModel:
        """Read a model that `mane learn multilinear` made.

        Raises:
            ValueError: it is none, or damaged.
            OSError: it is not there.
        """
        return cls.from_file(ModelFile.read(path, KIND, VERSION), str(path))

    @classmethod
    def from_file(cls, file: ModelFile, path: str) -> HairModel:
        """Make one of what a file holds; `path` is for messages."""
        arrays, facts = file.arrays, dict(file.facts)
        try:
            header = facts.pop("model")
            factors = factors_of(header)
            model = cls(
                factors=factors,
                rest=arrays["rest"],
                groomed=arrays["groomed"],
                strands=arrays["strands"],
                basis=Basis(arrays["basis"], arrays["basis_scale"]),
                mean=arrays["mean"],
                representation=REPRESENTATIONS[header["representation"]](),
                space=_space_of(header, arrays),
                dynamics=_dynamics_of(header, arrays, factors),
                frame_rate=float(header["frame_rate"]),
                grid=arrays["grid"],
                radii=arrays["radii"],
                facts=facts,
                deviations=arrays.get("deviations", np.zeros(0)),
                shape_places=tuple(tuple(own) for own in header["shape_places"]),
                shapes=arrays["shapes"],
                wind_speed=header.get("wind_speed"),  # older files do not tell
            )
            model.check()
            model = model.with_safe_ranges()  # of files that tell none, and as rest has it in all of them
        except (KeyError, TypeError, IndexError, AssertionError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"{path}: its arrays do not fit each other ({reason}); learn it again") from None
        return model

    def check(self) -> None:
        """Raise ValueError where arrays do not fit each other, as kernels trust them to."""
        if self.rest.ndim != 4 or self.rest.dtype != np.float32 or len(self.rest) != corner_count(self.factors):
            raise ValueError("rest")
        places = {"positions": self.vertex_count, "directions": self.vertex_count - 1}[self.representation.name]
        size, count = 3 * places * self.guide_count, self.coefficient_count
        has_mean = self.representation.name == "positions"
        fits = {
            "groomed": self.groomed.shape == self.rest.shape and self.groomed.dtype == np.float32,
            "shapes": self._has_shapes(),
            "strands": self.strands.shape == (self.guide_count,),
            "basis": self.basis.numbers.shape == (size, count) and self.basis.numbers.dtype == np.int16,
            "basis_scale": self.basis.scale.shape == (count,),
            "mean": self.mean.shape == ((size,) if has_mean else (0,)),
            "controls": self.space.control_count == self.dynamics.control_count,
            "coefficients": self.dynamics.coefficient_count == count,
            "grid": self.grid.shape == (len(self.radii), len(self.factors)),
            "deviations": self.deviations.shape in ((0,), (count,)),
            "body": self.space.body.basis.shape[0] == self.space.body.mean.size == self.space.body.rest.size,
            "numbers": all(np.isfinite(array).all() for array in self._arrays().values()),
        }
        for name, is_fit in fits.items():
            if not is_fit:
                raise ValueError(name)

    def _has_shapes(self) -> bool:
        if not self.shape_places:
            return not self.shapes.size
        is_rising = all((np.diff(own) > 0).all() for own in self.shape_places)
        shape = (int(np.prod([len(own) for own in self.shape_places])), *self.rest.shape[1:])
        fits = len(self.shape_places) == len(self.factors) and self.shapes.shape == shape
        return is_rising and fits and self.shapes.dtype == np.float32


def factors_of(header: Mapping[str, Any]) -> tuple[Factor, ...]:
    """Factors as a file tells them; older ones do not tell how far their sliders go."""
    return tuple(
        Factor(
            one["name"],
            tuple(_hashable(one["levels"])),
            tuple(one["positions"]),
            one["scale"],
            **{end: float(one[end]) for end in ("least", "most") if end in one},
        )
        for one in header["factors"]
    )


def _hashable(values: Any) -> list[Any]:
    return [tuple(_hashable(value)) if isinstance(value, list) else value for value in values]


def _space_of(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Space:
    bodies = int(header.get("bodies", 1))  # older files know the body now alone
    return space_of(header["space"], arrays, bool(header["has_wind"]), int(header["order"]), bodies)


def _dynamics_of(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], factors: tuple[Factor, ...]
) -> Dynamics:
    order, controls, size = int(header["order"]), int(header["controls"]), arrays["basis"].shape[1]
    total = controls + (order + 1) * size
    if "grams" in arrays:
        levels, grams = tuple(len(factor.levels) for factor in factors), arrays["grams"]
        corners = corner_count(factors)
        if len(grams) != len(level_pairs(levels)) and len(grams) == corners * (corners + 1) // 2:
            grams = merged_pairs(grams, levels)
        if grams.shape != (len(level_pairs(levels)), total * (total + 1) // 2):
            raise ValueError("grams")
        return CrossGrams(grams, int(header["summed"]), levels, controls, size, order, Ridge(**header["ridge"]))
    modes = tuple(arrays[f"mode{k}"] for k in range(len(factors)))
    if arrays["core"].shape[:-1] != (total, *(len(mode) for mode in modes)):
        raise ValueError("core")
    return CoreTensor(arrays["core"], modes, controls, size, order)

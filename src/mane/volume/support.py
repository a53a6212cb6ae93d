"""`HairSupport`: strands of any model on soft springs to a mesh, and to boxes of their own (lee2018 3.2.2).

It is a force like any other: the springs are within the solver's own implicit solve, so that they may be as stiff as
they are printed. The boxes are stepped first, pulled by the hair as it goes on by itself, then the hair is pulled by
the boxes where they are at the end of the step: both sides are implicit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.contact.attraction._kernels import add_pull
from mane.geometry.checks import IntArray, require_positive
from mane.stage.protocol import Memory
from mane.strand.model import StrandModel
from mane.strand.ports import Force, Load, StrandView
from mane.volume.boxes import BoxParams, ShapeBoxes
from mane.volume.lattice import Float64Array

Targets = Callable[[float], Float64Array]


@dataclass(frozen=True)
class SupportParams:
    """How a mesh and boxes support single hairs.

    Attributes:
        stiffness: of the zero-length springs to the mesh and to the boxes [N/m] (lee2018 4: 0.0414).
        frequency: at which a vertex would swing on its spring to the mesh [Hz]: all stiffness of a hair is scaled so
            that it does. None leaves it as printed, which holds hair of its own weight at some 200 Hz: the paper
            prints no masses.
        mesh_springs: factor on the springs to the mesh.
        box_springs: factor on the springs to the boxes; 0 for none.
        damping: of the zero-length springs; 1 is critical, as printed.
        box: what boxes are like.
    """

    stiffness: float = 0.0414
    frequency: float | None = 4.0
    mesh_springs: float = 1.0
    box_springs: float = 1.0
    damping: float = 1.0
    box: BoxParams = field(default_factory=BoxParams)

    def __post_init__(self) -> None:
        require_positive("stiffness", self.stiffness)
        if self.frequency is not None:
            require_positive("frequency", self.frequency)
        for name in ("mesh_springs", "box_springs", "damping"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name}: must be a finite number of at least 0, got {value}")

    def rates(self, model: StrandModel) -> Float64Array:
        """Angular frequency of each vertex on its zero-length spring [1/s], shape (G, V)."""
        if self.frequency is not None:
            return np.full(model.mass.shape, 2 * np.pi * self.frequency)
        result: Float64Array = np.sqrt(self.stiffness / model.mass)
        return result


class HairSupport(Force):
    """Zero-length springs between every vertex and its target, and between it and its place in boxes of its hair.

    Args:
        targets: function of the time [s] that returns where the mesh has the vertices [m], world, shape (G, V, 3).
        params: of the springs.

    Attributes:
        boxes: of the strands, or None without.
    """

    name = "support"
    version = 2  # boxes are remembered strand by strand
    is_mutual = False

    def __init__(self, targets: Targets, params: SupportParams | None = None) -> None:
        self.params = params or SupportParams()
        self.targets = targets
        self.boxes: ShapeBoxes | None = None

    def prepare(self, model: StrandModel) -> None:
        """Make the boxes; those of strands that nothing is known of yet are put around them when they are stepped."""
        params, rate = self.params, self.params.rates(model)
        self._to_mesh, self._to_boxes = rate * np.sqrt(params.mesh_springs), rate * np.sqrt(params.box_springs)
        self._is_known = np.zeros(model.strand_count, np.bool_)
        self.boxes = self._make_boxes(model)

    def _make_boxes(self, model: StrandModel) -> ShapeBoxes | None:
        return shape_boxes(model, self.params)

    def add(self, strands: StrandView, load: Load) -> None:
        """Step the boxes, and add the pull to targets and boxes as both are at the end of the step."""
        end = strands.time
        before, after = (np.ascontiguousarray(self.targets(time), np.float64) for time in (end - strands.dt, end))
        self._pull(strands, before, after, self._to_mesh, load)
        if self.boxes is not None:
            before = self._stepped(self.boxes, strands)
            self._pull(strands, before, self.boxes.places(strands.active), self._to_boxes, load)

    def _stepped(self, boxes: ShapeBoxes, strands: StrandView) -> Float64Array:
        """Step the boxes; return where they had the vertices before [m], shape (G, V, 3)."""
        begins = strands.active & ~self._is_known
        if begins.any():
            boxes.start(begins, strands.points, strands.velocity, strands.roots_before)
        self._is_known[...] = strands.active
        before = boxes.places(strands.active)
        boxes.step(strands.active, strands.points, strands.velocity, strands.roots_after, strands.dt)
        return before

    def _pull(
        self, strands: StrandView, before: Float64Array, after: Float64Array, rate: Float64Array, load: Load
    ) -> None:
        mass, ratio = strands.model.mass, self.params.damping
        add_pull(strands.points, before, after, mass, rate, ratio, strands.dt, load.force, load.resistance)

    def forget(self, strands: NDArray[np.bool_]) -> None:
        """Strands of the mask (G,) were carried elsewhere: boxes are put around them anew."""
        self._is_known[strands] = False

    def reset(self) -> None:
        """Begin anew."""
        self._is_known[...] = False

    def memory(self) -> Memory:
        """The boxes, and which of them stand around their hair."""
        return {"is_known": self._is_known.copy(), **({} if self.boxes is None else self.boxes.memory())}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._is_known[...] = memory["is_known"]
        if self.boxes is not None:
            self.boxes.restore(memory)


class SomeSupport(HairSupport):
    """That of some of the strands, whose boxes are those of them all.

    Args:
        targets: of these strands, shape (A, V, 3); see `HairSupport`.
        params: of the springs.
        boxes: of all strands, or None without.
        rows: these strands, shape (A,).
    """

    def __init__(self, targets: Targets, params: SupportParams, boxes: ShapeBoxes | None, rows: IntArray) -> None:
        super().__init__(targets, params)
        self._all_boxes, self._rows = boxes, rows

    def _make_boxes(self, model: StrandModel) -> ShapeBoxes | None:
        return None if self._all_boxes is None else self._all_boxes.taken(self._rows)


def shape_boxes(model: StrandModel, params: SupportParams) -> ShapeBoxes | None:
    """Boxes of strands, as stiff as their springs to them ask for; None without such springs."""
    if params.box_springs == 0:
        return None
    rate = params.rates(model) * np.sqrt(params.box_springs)
    stiffness = model.mass * rate**2
    scale = stiffness.mean(axis=1) / (params.stiffness * params.box_springs)
    return ShapeBoxes(model, params.box, scale, stiffness, 2 * params.damping * model.mass * rate)

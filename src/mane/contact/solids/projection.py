"""`SolidProjection`: guides that a step has left inside or behind a solid are moved out (chang2002 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.packed import fill_pose_pair
from mane.body.solid import Solid
from mane.contact.solids import _kernels_projection as kernels
from mane.contact.solids._kernels_displacement import RISE, SCRATCH_COUNT
from mane.contact.solids.clearance import Clearances, inner_places, safe_margin
from mane.geometry.checks import as_array, require_positive
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import Constraint, StrandView


@dataclass(frozen=True)
class ProjectionParams:
    """Settings of `SolidProjection`.

    Attributes:
        tolerance: depth that is left alone, as a part of a segment's length.
        thickness: how far above the surface hair is held [m]; as in `ContactParams`.
        push_out_speed: at which hair that was inside before the step comes out, at most [m/s]; as in `ContactParams`.
    """

    tolerance: float = 0.005
    thickness: float = 0.0
    push_out_speed: float = 0.5

    def __post_init__(self) -> None:
        require_positive("projection.tolerance", self.tolerance)
        require_positive("projection.push_out_speed", self.push_out_speed)
        if not (np.isfinite(self.thickness) and self.thickness >= 0):
            raise ValueError(f"projection.thickness: must be a finite number, zero or more, got {self.thickness}")

    @property
    def limits(self) -> tuple[float, float, float]:
        """What `_kernels_projection.check_site` calls the limits."""
        return self.thickness, self.tolerance, self.push_out_speed


class SolidProjection(Constraint):
    """Moves guides that went into a solid, or through it, back to its surface, and keeps all lengths.

    It sees the path that vertices, and places between them where a solid is thin, have really taken, so it also catches
    what `SolidContact` could not foresee. What leads further in is taken from their velocity. What was inside already
    when the step began comes out at a limited speed.

    Limitations: the first segment of a root on the skin is moved only when its end is six times deeper than the
    tolerance.

    Args:
        clearances: shared with the `SolidContact` of the same guides, so that both measure once.
        settings: fields of `ProjectionParams`.
    """

    name = "projection"
    version = 2  # hair comes no farther out of its body than it was groomed, stretched segments come back
    label = "contact"
    settings = ProjectionParams
    is_mutual = False

    def __init__(self, *, clearances: Clearances | None = None, **settings: Any) -> None:
        self.params = ProjectionParams(**settings)
        self._clearances = clearances or Clearances()
        self._buffers: dict[int, _Buffers] = {}

    def prepare(self, model: StrandModel) -> None:
        """Get ready for guides of this model."""
        strands, vertices = model.strand_count, model.vertex_count
        self._model = model
        self._held = np.ascontiguousarray(model.root_kind != RootKind.FREE)
        self._moved = np.zeros(strands, np.bool_)
        self._poses = np.zeros(24)
        self._scratch = (
            np.zeros((strands, vertices, RISE + 1)),
            np.zeros((strands, vertices)),
            np.zeros((strands, SCRATCH_COUNT, vertices, 3)),
        )
        self._before = np.zeros((strands, vertices, 3))
        self._paths = np.zeros((strands, vertices, 3))
        self._is_known = np.zeros(strands, np.bool_)
        self._buffers = {}

    def project(self, strands: StrandView, points: Float64Array, velocity: Float64Array) -> NDArray[np.bool_]:
        """Move what is inside, in place; return which strands moved (G,), in a buffer that the next call reuses."""
        lost = ~self._is_known
        if lost.any():
            self._before[lost] = points[lost] - strands.dt * velocity[lost]
        self._moved.fill(False)
        for moving in strands.solids:
            buffers = self._buffers_of(moving.solid)
            np.subtract(points, self._before, out=self._paths)
            fill_pose_pair(moving.before, moving.after, self._poses)
            kernels.project_strands(
                buffers.clearance.arrays(moving, strands, self._poses),
                self._poses,
                self.params.limits,
                buffers.inner,
                buffers.lowest,
                self._before,
                self._paths,
                buffers.margin,
                self._held,
                strands.active,
                self._model.rest_length,
                strands.dt,
                points,
                velocity,
                buffers.clearance.measured,
                *self._scratch,
                self._moved,
            )
        self._before[...] = points
        self._is_known[...] = strands.active
        return self._moved

    def report(self) -> dict[str, float]:
        """Number of strands that were moved."""
        return {"projected": float(self._moved.sum())}

    def memory(self) -> dict[str, NDArray[Any]]:
        """Where guides were at the end of the last step, and of which of them that is known."""
        return {"before": self._before.copy(), "is_known": self._is_known.copy()}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._before[...] = as_array("projection.before", memory["before"], self._before.shape, np.float64)
        self._is_known[...] = as_array("projection.is_known", memory["is_known"], self._is_known.shape, np.bool_)

    def forget(self, strands: NDArray[np.bool_]) -> None:
        """Strands of the mask (G,) were carried elsewhere: that was no path through anything."""
        self._is_known[strands] = False

    def _buffers_of(self, solid: Solid) -> _Buffers:
        known = self._buffers.get(id(solid))
        if known is None or known.solid is not solid:
            known = _Buffers(solid, self._model, self.params.thickness, self._clearances)
            self._buffers[id(solid)] = known
        return known


class _Buffers:
    """How guides are looked at beside one solid."""

    def __init__(self, solid: Solid, model: StrandModel, thickness: float, clearances: Clearances) -> None:
        self.solid, self.clearance = solid, clearances.of(solid, model)
        self.inner = inner_places(self.clearance.feature, model.longest_segment, thickness)
        self.lowest = self.clearance.lowest(self.inner)
        self.margin = safe_margin(model, thickness)

"""The ports of a strand solver: what may act on guides from outside, and how it says so.

A `Force` adds to a `Load`: at the end of the step, vertex j feels

    F_j = force_j - resistance_j v_j - coupling_j v_(j+1) - coupling_(j-1) v_(j-1)

with v the velocities at the end of the step, so that a spring, a drag or a contact of any stiffness enters the solver's
own implicit solve and cannot blow up. A spring of stiffness k [N/m] to a target, for example, is
force = k (target - x), resistance = k dt on the diagonal.
A `Constraint` moves vertices after the solve, where a force would come too late.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.body.solid import Solid
from mane.geometry.checks import IntArray
from mane.stage.protocol import Stage
from mane.strand.frame import GuideWetness
from mane.strand.model import Float64Array, StrandModel
from mane.strand.roots import RootPose

# Order of the six numbers of a symmetric 3 x 3 matrix in `Load`.
SYMMETRIC = ("xx", "yy", "zz", "xy", "xz", "yz")


@dataclass(frozen=True, eq=False)
class Load:
    """What acts on the vertices during one step; see the formula above. float64, C-contiguous, reused between steps.

    Attributes:
        force: [N], world, shape (G, V, 3).
        resistance: symmetric, positive semidefinite [kg/s], shape (G, V, 6), in the order of `SYMMETRIC`.
        coupling: symmetric [kg/s], shape (G, N, 6): couples the two ends of a segment, for what acts between vertices.
            With the resistance of both ends it must stay positive semidefinite: a resistance D at fraction u of the
            segment is (1-u)^2 D, u^2 D and a coupling of u (1-u) D.
    """

    force: Float64Array
    resistance: Float64Array
    coupling: Float64Array

    @classmethod
    def empty(cls, strand_count: int, vertex_count: int) -> Load:
        """Allocate a load of nothing."""
        return cls(
            np.zeros((strand_count, vertex_count, 3)),
            np.zeros((strand_count, vertex_count, 6)),
            np.zeros((strand_count, vertex_count - 1, 6)),
        )

    def taken(self, rows: IntArray) -> Load:
        """Return what acts on some of the strands; copies."""
        return Load(self.force[rows], self.resistance[rows], self.coupling[rows])

    def clear(self) -> None:
        """Forget everything that was added."""
        for array in (self.force, self.resistance, self.coupling):
            array.fill(0.0)


@dataclass(frozen=True, eq=False)
class GuideLoad:
    """What the full head does to its guides, as a skin found out from one frame: a force on them in the next one.

    Attributes:
        force: [N], world, shape (G, V, 3), of the guides that the skin is bound to.
        resistance: against the velocity of each vertex, as in `Load` [kg/s], shape (G, V, 6); None for none.
    """

    force: Float64Array
    resistance: Float64Array | None = None


@dataclass(frozen=True, eq=False)
class MovingSolid:
    """A solid during one step.

    Attributes:
        solid: its geometry.
        before: from its frame to the world at the start of the step.
        after: the same at the end.
        times: start and end of the step [s], for a surface that deforms in its own frame.
    """

    solid: Solid
    before: Pose
    after: Pose
    times: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class StrandView:
    """What forces and constraints may see of guides during one step. Arrays are the state's own: read, do not write.

    Attributes:
        model: what does not change.
        points: [m], world, shape (G, V, 3); at the start of the step in `add`, at its end in `settle` and `project`.
        velocity: [m/s], likewise.
        orientations: of the segments, likewise, shape (G, N, 4).
        active: slots that hold a guide, shape (G,), bool.
        roots_before: roots at the start of the step.
        roots_after: roots at its end.
        solids: what moves beside the hair.
        time: at the end of the step [s].
        dt: length of the step [s].
    """

    model: StrandModel
    points: Float64Array
    velocity: Float64Array
    orientations: Float64Array
    active: NDArray[np.bool_]
    roots_before: RootPose
    roots_after: RootPose
    solids: tuple[MovingSolid, ...]
    time: float
    dt: float


class Part(Stage):
    """Something that acts on guides and may remember: contacts, damage, random streams.

    Attributes:
        is_mutual: whether it acts between strands; one that acts on each by itself also suits a few hairs alone.
        is_single: whether a simulation may have one of it at most.
    """

    family = "part"
    label = "interactions"
    is_mutual: ClassVar[bool] = True
    is_single: ClassVar[bool] = False

    def prepare(self, model: StrandModel) -> None:
        """Get ready for guides of this model; called once, before anything else."""

    def forget(self, strands: NDArray[np.bool_]) -> None:
        """Strands of the mask (G,) were carried elsewhere: what is remembered of where they were no longer holds."""

    def regroup(self, strands: NDArray[np.bool_]) -> None:
        """Slots of the mask (G,) were inserted or taken out between two frames."""
        self.forget(strands)

    def go_on(self, before: Part) -> None:
        """Take over what `before` moves, the same part of a simulation with other settings; nothing by default."""

    def report(self) -> dict[str, float]:
        """Numbers about the last substep for the `StepReport`, by name; the largest of all substeps is kept."""
        return {}

    def surface(self) -> Mesh | None:
        """Return the surface of a liquid that it moves, as it is now, to be drawn; None for no liquid."""
        return None

    def wetness(self) -> GuideWetness | None:
        """Return how wet it makes the guides; None where it does not."""
        return None

    def measure(self, strands: StrandView) -> dict[str, float]:
        """Numbers about the end of the whole step, by name, when everything has acted; called once per step."""
        return {}


NO_STRANDS: IntArray = np.zeros(0, np.int64)


class Force(Part):
    """A part that pulls."""

    @abstractmethod
    def add(self, strands: StrandView, load: Load) -> None:
        """Add what acts during the coming step to `load`."""

    def may_amend(self) -> bool:
        """Whether `amend` may want the coming step to be taken again; asked after `add`."""
        return False

    def amend(self, strands: StrandView, load: Load, attempt: int) -> IntArray:
        """Change `load`, now that `strands` shows where it leads; return whose step to take again, sorted, shape (A,).

        Asked after every solve of a step, of which `attempt` counts the earlier ones, until no force asks for another
        solve.
        """
        return NO_STRANDS

    def settle(self, strands: StrandView) -> None:
        """Look at what the step has done, for instance how hard a contact was pressed."""


class Constraint(Part):
    """A part that moves vertices by itself after each step."""

    @abstractmethod
    def project(self, strands: StrandView, points: Float64Array, velocity: Float64Array) -> NDArray[np.bool_]:
        """Change `points` and `velocity` (G, V, 3) in place, keeping lengths; return which strands moved (G,)."""

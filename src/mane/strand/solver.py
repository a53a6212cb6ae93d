"""The contract of a strand solver, and the table of those there are."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import IntArray
from mane.geometry.limits import Range
from mane.stage.protocol import Stage
from mane.stage.table import Table
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Load
from mane.strand.roots import RootPose
from mane.strand.state import StrandState

Theta = Annotated[float, Range(above=0.5, most=1)]  # of the theta method

# Longest substep [s]: 8 for a frame of film (docs/decisions/0013).
MAX_SUBSTEP = 1 / 192


class StrandSolver(Stage):
    """Takes guides from one state to the next. Holds the model, its settings and scratch buffers, never the state.

    Attributes:
        model: the guides.
        note: what a user should know of how the strands were prepared, in one line, or "".
        has_twist: whether the frames of its segments can twist.
        is_converged: whether a step solves its equations to the end, so that the groom stands and lengths are kept at
            any step; otherwise that holds as far as short steps and many iterations go.
        max_substep: longest step that it is given where a simulation chooses [s].
    """

    family = "strand"
    label = "guides"
    has_twist: ClassVar[bool]
    is_converged: ClassVar[bool] = True
    max_substep: ClassVar[float] = MAX_SUBSTEP
    note: str = ""
    model: StrandModel

    def __init__(self, model: StrandModel, **settings: Any) -> None:
        self.model = model

    @abstractmethod
    def rest_state(self, roots: RootPose) -> StrandState:
        """Return the groomed shape, carried by `roots`, without motion and with the cut forces of its equilibrium."""

    @abstractmethod
    def step(self, state: StrandState, out: StrandState, roots: RootPose, load: Load, *, dt: float) -> None:
        """Go one step of `dt` [s]: read `state`, write `out` (which may be the same object), with roots as at its end.

        Gravity is the solver's own matter; `load` holds everything else.
        """

    def taken(self, rows: IntArray) -> StrandSolver:
        """Return a solver of some of the strands, which steps them as this one does, to the last bit.

        Needed so that inactive slots cost nothing; a solver that never meets slots may do without.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot step some of its strands alone")

    @abstractmethod
    def adopt(self, state: StrandState, strands: NDArray[np.bool_]) -> None:
        """Points or velocities of the strands of the mask (G,) were changed from outside: make the rest agree."""

    @abstractmethod
    def carry(self, state: StrandState, before: RootPose, after: RootPose) -> None:
        """Move every strand of `state` rigidly, in place, as its root goes from `before` to `after` (a teleport)."""

    @abstractmethod
    def energy(self, state: StrandState) -> Float64Array:
        """Kinetic, elastic and gravitational energy of each strand [J], shape (G,); gravity is zero at the origin."""

    @abstractmethod
    def stretch(self, state: StrandState) -> Float64Array:
        """Length of each segment over its own length without load, less one, shape (G, N)."""


def make_solver(name: str, model: StrandModel, **settings: Any) -> StrandSolver:
    """Make the solver of that name for guides; `settings` are fields of its `...Params`."""
    solver: StrandSolver = SOLVERS.find(name)(model, **settings)
    return solver


SOLVERS: Table[StrandSolver] = Table(
    "model",
    "mane.strand.solver:StrandSolver",
    {
        "chain": "mane.strand.chain.solver:ChainSolver",
        "cosserat": "mane.strand.cosserat.solver:CosseratSolver",
        "spring": "mane.strand.spring.solver:SpringSolver",
        "xpbd": "mane.strand.xpbd.solver:XpbdSolver",
    },
)


def converged_models() -> tuple[str, ...]:
    """Names of the models whose steps solve their equations to the end."""
    return tuple(name for name in SOLVERS if SOLVERS.find(name).is_converged)

"""Models of positions, as guan2012 prints them, at work: `PositionPlayer`, and collisions in the reduced space.

Vertices come out of the coefficients where they come out: strands stretch, and roots leave the scalp. A strand is set
back on its root as a whole; its lengths are those of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.body.solid import Solid
from mane.reduced.canonical import CENTIMETRES, to_canonical, to_world
from mane.reduced.collisions import PrintedWeights, ReducedCollisions, canonical_bust
from mane.reduced.evaluate import project
from mane.reduced.model import HairModel
from mane.reduced.player import BlockedBasis, Frames, HairPlayer, blocked_strands
from mane.reduced.representation import directions, lengths
from mane.strand.stepping import SolverDiverged

Array = NDArray[np.float64]
FARTHEST = 1e6  # [cm] beyond which coefficients have left the hair that they were learned of for good


class PositionPlayer(HairPlayer):
    """A model of positions at work; arguments and attributes as of `HairPlayer`."""

    def _blocked(self, region: NDArray[np.int64]) -> BlockedBasis:
        """No basis: every frame brings directions and lengths of its own."""
        strand_of, owners = blocked_strands(region)
        return BlockedBasis(np.zeros(0, np.int16), strand_of, owners, 0)

    def begin(self, frame: Array, head: Array) -> None:
        """Take hair that has come to rest on a head (7,), seen from a canonical frame (7,)."""
        carried = to_world(head[None], self.rest[None])
        local = to_canonical(frame[None], carried).astype(np.float32)
        self.past[:] = project(self.model, self.model.representation.encode(local, self.rest))

    def settle(self, controls: Array) -> None:
        """Leave hair at rest as it begins: constants are in the controls, and unstable dynamics have no such rest."""

    def synthesize(self, controls: Array) -> Array:
        """Predict the coefficients of the next frame (R, d), and remember them.

        Raises:
            SolverDiverged: least squares without a ridge made a model that is not stable.
        """
        found = super().synthesize(controls)
        if not np.abs(found).max() < FARTHEST:
            raise SolverDiverged(
                "model: as guan2012 prints it, it has left all bounds; `mane info` tells its largest eigenvalue, and "
                "`mane learn multilinear` without --paper learns one that is stable"
            )
        return found

    def positions(self, coefficients: Array) -> Frames:
        """Vertices in canonical space [m], (G, V, 3), of coefficients of all regions (R, d)."""
        model = self.model
        every = model.basis.reconstruct(coefficients) + model.mean
        hair = model.representation.decode(every, self.rest)
        own: Frames = hair[self.region, np.arange(model.guide_count)]
        return own

    def reconstruct(
        self, frame: Pose, *arguments: Any, coefficients: Array | None = None
    ) -> tuple[Frames, Frames, Frames, Frames]:
        """As of `HairPlayer`: strands are laid along the segments that positions have, with their lengths."""
        hair = self.positions(self.past[:, -1] if coefficients is None else coefficients)
        self._set_segments(directions(hair), np.maximum(lengths(hair), np.float32(1e-6)))
        return super().reconstruct(frame, *arguments)


class PrintedCollisions:
    """Methods A and B of guan2012 section 6 for a model of positions at work.

    Args:
        model: whose coefficients are corrected.
        body: a mesh, rigid or animated.
        method: "A" or "B".
        every: sub-sample factor tau (eq. 19).
        whiten: whether the distance from the prediction is measured in standard deviations of the coefficients.
    """

    def __init__(self, model: HairModel, body: Solid, method: str, every: int = 1, whiten: bool = False) -> None:
        if body.mesh is None:
            raise ValueError(f"collisions: method {method} needs a body that is a mesh")
        self._body, self._faces = body, body.mesh.faces.astype(np.int64)
        if whiten and not model.deviations.size:
            raise ValueError("whiten: the model does not tell how its coefficients vary; learn it again")
        solver = ReducedCollisions(model, PrintedWeights(whiten=whiten), every, model.deviations)
        self._solve: Callable[..., Array] = METHODS[method](solver)

    def solved(self, coefficients: Array, frame: Array, pose: Pose, time: float, roots: NDArray[Any]) -> Array:
        """Coefficients (d,) of hair out of the body at `pose`, seen from a canonical frame (7,); roots (G, 3) [m]."""
        body = self._body
        assert body.mesh is not None
        own = body.mesh.points if body.animation is None else body.animation.precise_points(time)
        world = pose.apply(np.asarray(own, np.float64))
        bust = canonical_bust(to_canonical(frame[None], world[None])[0], self._faces)
        where = to_canonical(frame[None], np.asarray(roots, np.float64)[None])[0].reshape(-1) * CENTIMETRES
        return self._solve(coefficients, where, bust)


METHODS: dict[str, Callable[[ReducedCollisions], Callable[..., Array]]] = {
    "A": lambda solver: solver.method_a,
    "B": lambda solver: solver.method_b,
}
PLAYERS: dict[str, type[HairPlayer]] = {"directions": HairPlayer, "positions": PositionPlayer}

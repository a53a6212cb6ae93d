"""`Bundle`: a tie that keeps vertices of many strands together, wherever they go.

What the pulls of a tie must be depends on how far strands give way, and only their solver knows that. So a step is
taken twice: with the pulls of the last one, which shows where the vertices would end, and with pulls that were mended
to bring them to the ball. How far they gave way to the change is remembered for the next step: a vertex that a long
tail hangs from moves a hundred times less than its own mass would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mane.contact.ties import _kernels_bundle as kernels
from mane.strand.model import StrandModel
from mane.strand.ports import Load, StrandView

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mane.contact.ties.ties import Tie

# Speed at which hair outside of a tie is drawn in, at most [m/s]: without a limit it would arrive like a shot.
INWARD_SPEED = 0.5
# Largest pull on a vertex, as an acceleration of its whole strand [m/s^2], 15 times that of gravity: where a strand is
# too short to come to the others, no pull would do.
LARGEST = 150.0


class Bundle:
    """Pulls of one tie.

    Attributes:
        weight: force on each vertex over its distance from the common centre [N/m], shape (K,).
        give: how far each gives way to a force [1/kg], as it was last seen, shape (K, 3, 3).
        pull: size of the force on each [N], shape (K,).
    """

    def __init__(self, tie: Tie, model: StrandModel) -> None:
        self._tie = tie
        self._rows = tie.strands * model.vertex_count + tie.vertices
        self._mass = model.mass[tie.strands, tie.vertices]
        self._most = LARGEST * model.mass.sum(axis=1)[tie.strands]
        count = len(self._rows)
        self.weight, self._old, self.pull, self._scratch = np.zeros((4, count))
        self.give = np.eye(3) / self._mass[:, None, None]
        self._places, self._ends = np.zeros((2, count, 3))
        self._gripped = np.zeros(count, np.bool_)

    def add(self, strands: StrandView, gripped: NDArray[np.bool_], load: Load) -> None:
        """Add the pulls of the last step, and what rubbing does to the vertices that are `gripped` (K,)."""
        points, velocity = strands.points.reshape(-1, 3), strands.velocity.reshape(-1, 3)
        force = load.force.reshape(-1, 3)
        self._gripped[...] = gripped
        self.weight *= gripped
        np.take(points, self._rows, axis=0, out=self._places)
        kernels.add_pulls(self._places, self._rows, self.weight, 1.0, force)
        rubbing = (self._mass, float(self._tie.grip), strands.dt)
        kernels.grip_bundle(points, velocity, self._rows, gripped, *rubbing, self._scratch, force)

    def amend(self, strands: StrandView, load: Load) -> None:
        """Change the pulls to what brings the vertices, which ended as `strands` shows, to the ball."""
        np.take(strands.points.reshape(-1, 3), self._rows, axis=0, out=self._ends)
        self._old[...] = self.weight
        tie, force = self._tie, load.force.reshape(-1, 3)
        limits = (1 / float(tie.stiffness), float(tie.radius), INWARD_SPEED, strands.dt)
        kernels.mend_weights(
            self._places, self._ends, self._gripped, self._old, self.give, self._most, *limits, self.weight
        )
        for weight, sign in ((self._old, -1.0), (self.weight, 1.0)):
            kernels.add_pulls(self._places, self._rows, weight, sign, force)

    def settle(self, strands: StrandView) -> None:
        """See how far the vertices gave way."""
        ended = strands.points.reshape(-1, 3)[self._rows]
        weights = (self._old, self.weight, self._mass, strands.dt)
        kernels.learn_give(self._places, self._ends, ended, *weights, self.give, self.pull)

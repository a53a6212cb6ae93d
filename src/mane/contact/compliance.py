"""How far strands give way: the inertia that a push between two strands meets within one step.

What acts between strands must give both sides the same force to keep their momentum, so it cannot lean on the solver's
own implicit solve, which knows one strand at a time. Instead it is solved implicitly per pair, against the response

    W = (M + dt^2 K)^-1,   M the masses of a strand's vertices, K its bending stiffness,

which is that of the strand or larger: whatever else holds a strand (its length, its tension) only makes W smaller. If
pushes J_c with weights n_c on the vertices act at once, the rows of the matrix that couples them sum to no more than
s_c = n_c |W| sum_c' n_c', so an impulse of at most (what should change) / s_c cannot overshoot: the sum of all of them
is stable at any stiffness, however many act on one strand, and it is the whole answer where there is only one.

A solver that is not implicit (a few iterations of constraints) moves a vertex by its mass first and bends the strand
back later, or not at all: K is then left out.
"""

from __future__ import annotations

import math

import numpy as np

from mane.strand.model import Float64Array, RootKind, StrandModel

HELD = 1e12  # a held root is that many times heavier; its response is then set to zero


class Compliance:
    """Responses |W| of all strands [1/kg], shape (G, V, V), for steps of any length.

    The response to a shorter step is larger and therefore safe for a longer one, so it is computed for the next shorter
    power of two: steps of varying length share a few tables.
    """

    def __init__(self, model: StrandModel) -> None:
        self.model = model
        self._tables: dict[int, Float64Array] = {}

    def of(self, dt: float) -> Float64Array:
        """Return |W| for steps of `dt` [s]; shared between calls, read only."""
        octave = math.floor(math.log2(dt))
        if octave not in self._tables:
            self._tables[octave] = response(self.model, 2.0**octave)
        return self._tables[octave]


def response(model: StrandModel, dt: float) -> Float64Array:
    """Return |(M + dt^2 K)^-1| of every strand [1/kg], shape (G, V, V); zero for vertices that are held."""
    held = model.root_kind != RootKind.FREE
    # The change of direction at joint j is this matrix times the vertices: tangent j less tangent j - 1.
    strands, vertices = model.mass.shape
    tangent = np.zeros((strands, vertices - 1, vertices))
    place = np.arange(vertices - 1)
    tangent[:, place, place] = -1 / model.rest_length
    tangent[:, place, place + 1] = 1 / model.rest_length
    turn = tangent.copy()
    turn[:, 1:] -= tangent[:, :-1]
    turn[model.root_kind != RootKind.CLAMPED, 0] = 0
    stiffness = np.einsum("gji,gj,gjk->gik", turn, model.bend_stiffness / model.joint_length, turn, optimize=True)
    inertia = dt**2 * stiffness if model.is_implicit else np.zeros_like(stiffness)
    diagonal = np.arange(vertices)
    inertia[:, diagonal, diagonal] += model.mass
    inertia[held, 0, 0] *= HELD
    result: Float64Array = np.abs(np.linalg.inv(inertia))
    result[held, 0, :] = 0
    result[held, :, 0] = 0
    return result

"""Implicit viscosity: (1 - nu dt Laplacian) u = u_before for each component, by conjugate gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.fluid import _kernels_viscosity as kernels
from mane.fluid.grid import FloatArray, Grid
from mane.fluid.walls import Walls

WEAK = 0.005  # nu dt / cell^2 up to which one explicit step is exact to 36 times its square, 0.1 percent
TOLERANCE = 1e-6
MOST_ITERATIONS = 200
ZERO, ONE = np.float32(0.0), np.float32(1.0)


def diffuse(
    grid: Grid,
    walls: Walls,
    velocity: FloatArray,
    strength: float,
    *,
    holds: bool,
    is_explicit: bool = False,
    wet: NDArray[np.bool_] | None = None,
) -> None:
    """Let viscosity act on `velocity` (3, *padded) in place.

    Args:
        grid: of the fluid.
        walls: solids that hold it, where `holds`.
        velocity: [m/s].
        strength: nu dt / cell^2.
        holds: whether walls hold the fluid; else it slips along them.
        is_explicit: take what acts from the velocities as they are, for the first half of a trapezoidal step.
        wet: chunks of sixteen faces that matter, of shape (3, *padded) / 16; all of them by default.
    """
    shape = np.array(grid.shape)
    for axis in range(3):
        is_free = walls.free_faces(axis, holds=holds)
        faces = walls.middle[axis] if holds else walls.far, walls.velocity[axis], is_free.view(np.int8)
        chunks = walls.face_chunks(axis, holds=holds)
        if is_explicit or strength <= WEAK:
            chosen = chunks if wet is None else chunks * wet[axis]
            kernels.viscous(
                velocity[axis].copy(), axis, shape, grid.kinds, grid.side_velocity, *faces, chosen,
                np.float32(-strength), ONE, ONE, velocity[axis],
            )  # fmt: skip
            continue

        def applied(
            x: FloatArray, data: np.float32, *, axis: int = axis, faces: Any = faces, chunks: Any = chunks
        ) -> FloatArray:
            y = np.zeros_like(x)
            kernels.viscous(
                x, axis, shape, grid.kinds, grid.side_velocity, *faces, chunks, np.float32(strength), data, ZERO, y
            )
            return y

        before = velocity[axis]
        r = before - applied(before, ONE)
        r *= is_free
        x, p, square = before.copy(), r.copy(), _dot(r, r)
        least = TOLERANCE**2 * max(_dot(before, before), 1e-30)
        for _ in range(MOST_ITERATIONS):
            if square <= least:
                break
            y = applied(p, ZERO)
            alpha = np.float32(square / _dot(p, y))
            x += alpha * p
            r -= alpha * y
            square, last = _dot(r, r), square
            p = r + np.float32(square / last) * p
        velocity[axis] = x


def _dot(a: FloatArray, b: FloatArray) -> float:
    # in a fixed order whatever the number of threads, which a BLAS need not keep to
    return float(np.add.reduce((a * b).reshape(-1), dtype=np.float64))

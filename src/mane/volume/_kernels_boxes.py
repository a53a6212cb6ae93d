"""Boxes of single hairs: each a small mesh of springs, held at its base, pulled by the hair within it."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange
from mane.volume._kernels_springs import add_altitudes, add_edges, solve


@njit(cache=True, error_model="numpy")
def add_attached(
    x,
    v,
    tets,
    slots,
    hair,
    hair_velocity,
    tet_of,
    weights,
    stiffness,
    damping,
    dt,
    # out
    blocks,
    rhs,
):
    """Add zero-length springs between vertices of a hair (V, 3), as they go on by themselves, and their places (V,).

    `stiffness` [N/m] and `damping` [kg/s] are (V,), `weights (V, 4)` barycentric in the tetrahedra `tet_of (V,)`.
    """
    for i in range(1, len(hair)):
        t, k, c = tet_of[i], stiffness[i], damping[i]
        for d in range(3):
            place, speed = 0.0, 0.0
            for a in range(4):
                place += weights[i, a] * x[tets[t, a], d]
                speed += weights[i, a] * v[tets[t, a], d]
            pull = k * (hair[i, d] + dt * hair_velocity[i, d] - place - dt * speed) + c * (hair_velocity[i, d] - speed)
            for a in range(4):
                rhs[tets[t, a], d] += dt * weights[i, a] * pull
                for b in range(4):
                    blocks[slots[t, a, b], d, d] += (dt * dt * k + dt * c) * weights[i, a] * weights[i, b]


@njit(cache=True, error_model="numpy", parallel=True)
def step_boxes(
    chosen,
    goals,
    pattern,
    shape,
    masses,
    edge_stiffness,
    edge_rest,
    altitude_stiffness,
    altitude_rest,
    damping,
    hair,
    hair_velocity,
    attached,
    dt,
    tolerance,
    most,
    # in and out
    x,
    v,
):
    """Step boxes `x, v (H, n, 3)` of the hairs `chosen (A,)`; nodes that are not free go to `goals (A, n, 3)`.

    `pattern` is (starts, columns, diagonal) of the matrix, `shape` (is_free, edges, edge slots, tets, tet slots), the
    same for all; `hair` and `hair_velocity` (A, V, 3) are those of the chosen. Stiffness and rest of springs are by
    hair, and so is `attached`: (tet_of, weights, stiffness, damping) of `add_attached`.
    """
    starts, columns, diagonal = pattern
    is_free, edges, edge_slots, tets, tet_slots = shape
    tet_of, weights, stiffness, damper = attached
    count = x.shape[1]
    for c in prange(len(chosen)):
        h = chosen[c]
        blocks, rhs, change = np.zeros((len(columns), 3, 3)), np.zeros((count, 3)), np.zeros((count, 3))
        inv_mass = np.empty(count)
        for n in range(count):
            inv_mass[n] = 1.0 / masses[h, n] if is_free[n] else 0.0
            for d in range(3):
                blocks[diagonal[n], d, d] += masses[h, n]
                if not is_free[n]:
                    change[n, d] = (goals[c, n, d] - x[h, n, d]) / dt - v[h, n, d]
        own = (x[h], v[h], inv_mass)
        add_edges(*own, edges, edge_slots, edge_stiffness[h], edge_rest[h], damping, dt, blocks, rhs)
        add_altitudes(*own, tets, tet_slots, altitude_stiffness[h], altitude_rest[h], damping, dt, blocks, rhs)
        add_attached(
            x[h],
            v[h],
            tets,
            tet_slots,
            hair[c],
            hair_velocity[c],
            tet_of[h],
            weights[h],
            stiffness[h],
            damper[h],
            dt,
            blocks,
            rhs,
        )
        solve(starts, columns, blocks, diagonal, is_free, rhs, tolerance, most, change)
        for n in range(count):
            for d in range(3):
                v[h, n, d] += change[n, d]
                x[h, n, d] += dt * v[h, n, d]

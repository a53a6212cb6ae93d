"""Sixteen hairs as rows of lanes: what guides hand on to them, and the way of their points in and out.

A vector is two registers wide, so that two instructions of each do not wait for each other; each half of it
holds hairs of one bundle.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd import f64x8
from mane.simd.f64x8 import WIDTH
from mane.simd.f64x16 import load
from mane.simd.jit import inline, njit
from mane.simd.memory import store, use_wide_registers

LANES = 2 * WIDTH

# Rows of lanes that hairs have at rest. Of a hair: stretch per unit of force. Then of a segment:
# length, stiffness of the joint at its start (k_bt / W), rest rotation of that joint in the first sweep and afterwards.
STRAIN, REST_HEAD = 0, LANES
LENGTH, STIFFNESS, FIRST, AGAIN, REST = 0, LANES, 2 * LANES, 6 * LANES, 10 * LANES
# Rows of a frame. First the turn at the root, and whether sweeps leave a hair alone. Then of a vertex: its target, the
# force on the segment from there, its place, the orientation of that segment.
TURN, HELD, HEAD = 0, 4 * LANES, 5 * LANES
TARGET, FORCE, PLACE, FRAME, VERTEX = 0, 3 * LANES, 6 * LANES, 9 * LANES, 13 * LANES


@inline
def load_vector(rows, at):
    """Three rows."""
    return load(rows, at), load(rows, at + LANES), load(rows, at + 2 * LANES)


@inline
def store_vector(rows, at, v):
    """Write three rows."""
    store(rows, at, v[0])
    store(rows, at + LANES, v[1])
    store(rows, at + 2 * LANES, v[2])


@inline
def load_quaternion(rows, at):
    """Four rows."""
    return load(rows, at), load(rows, at + LANES), load(rows, at + 2 * LANES), load(rows, at + 3 * LANES)


@inline
def store_quaternion(rows, at, q):
    """Write four rows."""
    store(rows, at, q[0])
    store(rows, at + LANES, q[1])
    store(rows, at + 2 * LANES, q[2])
    store(rows, at + 3 * LANES, q[3])


@njit(cache=True, error_model="numpy")
def gather_turns(hair, lanes, guide, weight, turn, rows):
    """Fill the turns of the skin at the roots of hairs of one bundle; what their guides leave is the head's, the last.

    `lanes` is the first of the eight lanes of which `hair` has the strands; so it is in all that follow.
    """
    for lane in range(WIDTH):
        x, y, z, w, missing = 0.0, 0.0, 0.0, 0.0, 1.0
        for k in range(len(guide) + 1):
            # Nothing is left, or all where every guide of a hair is gone.
            q = turn[guide[k] if k < len(guide) else len(turn) - 1]
            a = np.float64(weight[hair[lane], k]) if k < len(guide) else missing
            missing -= a
            x, y, z, w = x + a * q[0], y + a * q[1], z + a * q[2], w + a * q[3]
        at, inverse = TURN + lanes + lane, 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
        rows[at] = x * inverse
        rows[at + LANES] = y * inverse
        rows[at + 2 * LANES] = z * inverse
        rows[at + 3 * LANES] = w * inverse


@njit(cache=True, error_model="numpy")
def gather_targets(hair, lanes, targets, rows):
    """Fill the targets of hairs from `targets (S, 3 V)`."""
    for lane in range(WIDTH):
        own, at = targets[hair[lane]], HEAD + TARGET + lanes + lane
        for i in range(len(own) // 3):
            for c in range(3):
                rows[at + i * VERTEX + c * LANES] = own[3 * i + c]


@njit(cache=True, error_model="numpy")
def gather_forces(hair, lanes, weight, force, share, weights, rows):
    """Fill the interpolated force (eq. 10) times `share` from those of the guides of a bundle (K, N, 3).

    `weights` is room for a row of each guide.
    """
    use_wide_registers()
    for lane in range(WIDTH):
        for k in range(len(force)):
            weights[k * WIDTH + lane] = share * weight[hair[lane], k]
    for i in range(force.shape[1]):
        x, y, z = f64x8.broadcast(0.0), f64x8.broadcast(0.0), f64x8.broadcast(0.0)
        for k in range(len(force)):
            w = f64x8.load(weights, k * WIDTH)
            x, y, z = x + w * force[k, i, 0], y + w * force[k, i, 1], z + w * force[k, i, 2]
        at = HEAD + i * VERTEX + FORCE + lanes
        store(rows, at, x)
        store(rows, at + LANES, y)
        store(rows, at + 2 * LANES, z)


@njit(cache=True, error_model="numpy")
def gather_hairs(hair, bundle, guide, weight, force, share, turn, targets, weights, rows):
    """Fill the rows of a block: turns, targets and forces of its hairs; arguments as of `sweep_repeatedly`."""
    rows[HELD : HELD + LANES] = 0.0
    for half in range(2):
        lanes, own = half * WIDTH, bundle[half]
        hairs = hair[lanes : lanes + WIDTH]
        gather_turns(hairs, lanes, guide[own], weight, turn, rows)
        gather_targets(hairs, lanes, targets, rows)
        gather_forces(hairs, lanes, weight, force[own], share, weights, rows)


@njit(cache=True, error_model="numpy")
def scatter_hairs(hair, rows, out):
    """Write the places of the hairs of a block to `out (S, 3 V)`."""
    for lane in range(LANES):
        own, at = out[hair[lane]], HEAD + PLACE + lane
        for i in range(len(own) // 3):
            for c in range(3):
                own[3 * i + c] = rows[at + i * VERTEX + c * LANES]

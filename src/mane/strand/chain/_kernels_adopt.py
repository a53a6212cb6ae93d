"""Chains that take up points and velocities from outside; `_reference.reference_adopt` is the specification.

Strand by strand: few strands are changed from outside at a time.
"""

# mypy: allow-untyped-defs

import math

from mane.simd.jit import inline_fast, njit, prange
from mane.strand._kernels_small import cross, dot, third_axis
from mane.strand.chain._kernels_rows import (
    FOLD,
    carried_frame,
    first_axis,
    in_block,
    less3,
    minus3,
    plus3,
    plus_cross,
    quat_rotate,
    second_axis,
    times3,
)

TOO_NEAR = 1e-9  # of a segment's length: closer than this, a vertex gives no direction


@inline_fast
def vector(numbers):
    """The three numbers of an array."""
    return numbers[0], numbers[1], numbers[2]


@inline_fast
def quaternion(numbers):
    """The four numbers of an array."""
    return numbers[0], numbers[1], numbers[2], numbers[3]


@inline_fast
def direction_towards(way, length, old):
    """Unit vector along `way`, or the old direction where that is too short to have one."""
    distance = math.sqrt(dot(*way, *way))
    if distance < TOO_NEAR * length:
        return old
    return way[0] / distance, way[1] / distance, way[2] / distance


@inline_fast
def half_way(a, p, d):
    """Axis a of the frame along p, turned half of the smallest turn from p to d."""
    cos_half = math.sqrt(0.5 * max(1.0 + dot(*p, *d), FOLD))
    part = 0.5 * dot(*a, *d) / (cos_half * (1.0 + cos_half))
    return minus3(a, part, plus3(p, 0.5 / cos_half, plus3(p, 1.0, d)))


@inline_fast
def closest_rate(e1, e2, lever, missing, length):
    """Rates about the axes e1 and e2 that bring the end of the lever closest to the velocity that is `missing`."""
    a, b = cross(*e1, *lever), cross(*e2, *lever)
    least = TOO_NEAR * length * length  # a curl's lever may lie along an axis, about which it cannot be moved
    aa, ab, bb = dot(*a, *a) + least, dot(*a, *b), dot(*b, *b) + least
    am, bm = dot(*a, *missing), dot(*b, *missing)
    inv = 1.0 / (aa * bb - ab * ab)
    return (bb * am - ab * bm) * inv, (aa * bm - ab * am) * inv


@in_block
def adopt_strand(points, velocity, frames, spin, is_clamped, clamp, clamp_spin, length, offset):
    """Bring one strand back on its chain from root to tip: every link turns to its vertex, then to its velocity."""
    q = quaternion(clamp) if is_clamped else quaternion(frames[0])
    p, s = third_axis(*q), vector(clamp_spin)
    end, v = vector(points[0]), vector(velocity[0])
    for j in range(len(frames)):
        old, beside, l = quaternion(frames[j]), vector(offset[j]), length[j]
        way = less3(less3(vector(points[j + 1]), quat_rotate(*old, beside)), end)
        d = direction_towards(way, l, third_axis(*old))
        x, y = first_axis(*q), second_axis(*q)
        q = carried_frame(q, p, d)
        if j == 0 and not is_clamped:
            # Nothing before it: it turns about its own axes, and keeps the spin about itself.
            s = times3(dot(*vector(spin[0]), *d), d)
            x, y = first_axis(*q), second_axis(*q)
        else:
            x, y = half_way(x, p, d), half_way(y, p, d)
        lever = plus3(quat_rotate(*q, beside), l, d)
        missing = less3(less3(vector(velocity[j + 1]), v), cross(*s, *lever))
        r1, r2 = closest_rate(x, y, lever, missing, l)
        s = plus3(plus3(s, r1, x), r2, y)
        points[j + 1, 0], points[j + 1, 1], points[j + 1, 2] = plus3(end, 1.0, lever)
        velocity[j + 1, 0], velocity[j + 1, 1], velocity[j + 1, 2] = plus_cross(v, s, lever)
        frames[j, 0], frames[j, 1], frames[j, 2], frames[j, 3] = q
        spin[j, 0], spin[j, 1], spin[j, 2] = s
        end, v, p = plus3(end, l, d), plus_cross(v, s, times3(l, d)), d


@njit(cache=True, error_model="numpy", parallel=True)
def adopt_strands(points, velocity, frames, spin, strands, is_clamped, clamp, clamp_spin, length, offset):
    """Bring the strands of the mask (G,) back on their chains: points, velocity, frames and spin change in place."""
    for g in prange(points.shape[0]):
        if strands[g]:
            held = (is_clamped[g], clamp[g], clamp_spin[g])
            adopt_strand(points[g], velocity[g], frames[g], spin[g], *held, length[g], offset[g])

"""Velocities carried along by themselves: MacCormack's scheme on a staggered grid, sixteen faces of a row side by side.

Neighbours in a row move nearly alike. So a sample is no gather: it is the sum over all offsets, in whole cells, that
any of the sixteen needs, each a plain load times the hat function of how far the place is from it, (1 - |d|)+ along
every axis. With one offset in common these are the eight loads of trilinear interpolation.

Arrays are flat, of the padded shape; `rows` is (row, plane), how far neighbours along y and x lie apart, `numbers` are
0 to 15. Displacements are in cells. What comes in through a side has the velocity of that side.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.fluid.grid import SLIP
from mane.simd.f32x16 import WIDTH, first_lanes, load
from mane.simd.jit import inline, njit, prange
from mane.simd.masks import select
from mane.simd.math import absolute, maximum, minimum
from mane.simd.memory import store, use_wide_registers
from mane.simd.reductions import reduce_max, reduce_min

HALF, ONE, ZERO = np.float32(0.5), np.float32(1.0), np.float32(0.0)
QUARTER = np.float32(0.25)
# How far a corrected value may leave the range of the eight around it, as a share of that range: the top of a smooth
# wave lies h^2 / 8 above its neighbours, which differ by h^2 / 2 or more. Without it tops are worn off to first order.
SLACK = np.float32(0.25)
BLOCK = 8  # rows of a block along x and y; along z it is one chunk of sixteen
REACH = 8  # [cells] that anything is carried in a substep: it bounds the sums until a flow that runs away is noticed


@inline
def load_near(field, at, edge):
    """Read sixteen numbers from `at` on; before the first and behind the last the array repeats itself."""
    if 0 <= at <= len(field) - WIDTH:
        return load(field, at)
    for lane in range(WIDTH):
        edge[lane] = field[min(max(at + lane, 0), len(field) - 1)]
    return load(edge, 0)


@inline
def span_of(x):
    """First and last offset, in whole cells, that sixteen displacements along one axis need."""
    # `math.floor` and `math.ceil` are calls, before which all wide registers would be put away
    least, largest = reduce_min(x), reduce_max(x)
    first, last = np.int64(least), np.int64(largest)
    return first - (np.float32(first) > least), last + (np.float32(last) < largest)


@inline
def spans_of(x, y, z):
    """The same along x, y and z."""
    return span_of(x), span_of(y), span_of(z)


@inline
def between(low, high, part):
    """Linear interpolation."""
    return low + part * (high - low)


@inline
def sample_chunk(field, at, rows, x, y, z, spans, edge):
    """Sixteen numbers of a field, displaced by (x, y, z) from `field[at : at + WIDTH]`, and the range of those used."""
    row, plane = rows
    (first_x, last_x), (first_y, last_y), (first_z, last_z) = spans
    first = at + first_x * plane + first_y * row + first_z
    last = at + last_x * plane + last_y * row + last_z
    beyond_all = first + plane + row + 1
    if (
        last_x - first_x <= 1 and last_y - first_y <= 1 and last_z - first_z <= 1
        and first >= 0 and beyond_all <= len(field) - WIDTH
    ):  # fmt: skip
        # one cell for all: its eight corners
        a, b, c = x - np.float32(first_x), y - np.float32(first_y), z - np.float32(first_z)
        p, q = load(field, first), load(field, first + 1)
        r, s = load(field, first + row), load(field, first + row + 1)
        t, u = load(field, first + plane), load(field, first + plane + 1)
        v, w = load(field, first + plane + row), load(field, beyond_all)
        low = minimum(minimum(minimum(p, q), minimum(r, s)), minimum(minimum(t, u), minimum(v, w)))
        high = maximum(maximum(maximum(p, q), maximum(r, s)), maximum(maximum(t, u), maximum(v, w)))
        near = between(between(p, q, c), between(r, s, c), b)
        far = between(between(t, u, c), between(v, w, c), b)
        return between(near, far, a), low, high
    is_within = first >= 0 and last <= len(field) - WIDTH
    total = x - x
    low, high = total + np.float32(np.inf), total - np.float32(np.inf)
    for a in range(first_x, last_x + 1):
        along_x = maximum(ONE - absolute(x - np.float32(a)), ZERO)
        for b in range(first_y, last_y + 1):
            across = along_x * maximum(ONE - absolute(y - np.float32(b)), ZERO)
            start = at + a * plane + b * row
            for c in range(first_z, last_z + 1):
                weight = across * maximum(ONE - absolute(z - np.float32(c)), ZERO)
                value = load(field, start + c) if is_within else load_near(field, start + c, edge)
                total = total + weight * value
                is_used = weight > ZERO
                low = select(is_used, minimum(low, value), low)
                high = select(is_used, maximum(high, value), high)
    return total, low, high


@inline
def clamped(x, y, z, i, j, k, shape, margin, last_z, lanes):
    """Displacements that lead no farther than the faces there are, one beyond the box along x and y less a margin."""
    nx, ny, _ = shape
    x = minimum(maximum(x, np.float32(-min(i, REACH))), np.float32(min(nx + 1 - i, REACH)) - margin)
    y = minimum(maximum(y, np.float32(-min(j, REACH))), np.float32(min(ny + 1 - j, REACH)) - margin)
    z = minimum(maximum(z, np.float32(-REACH)), np.float32(REACH))
    here = lanes + np.float32(k)
    z = minimum(maximum(here + z, ZERO), np.float32(last_z)) - here
    inside = here <= np.float32(last_z)
    return select(inside, x, ZERO), select(inside, y, ZERO), select(inside, z, ZERO)


# Arrays are sliced in such functions, which count no references: in a kernel every slice would count atomically.
@inline
def velocity_in_cells(velocity, at, rows):
    """Velocity in the middle of sixteen cells."""
    row, plane = rows
    u, v, w = velocity[0], velocity[1], velocity[2]
    return (
        HALF * (load(u, at) + load(u, at + plane)),
        HALF * (load(v, at) + load(v, at + row)),
        HALF * (load(w, at) + load(w, at + 1)),
    )


@inline
def store_row(rows, number, at, value):
    """Write sixteen numbers to one of several arrays."""
    store(rows[number], at, value)


@inline
def load_row(rows, number, at):
    """Read sixteen numbers of one of several arrays."""
    return load(rows[number], at)


@inline
def sample_in_cells(velocity, axis, at, rows, x, y, z, spans, edge):
    """A component of velocity at sixteen cells that are displaced: its faces lie half a cell behind their middles."""
    along_x, along_y, along_z = spans
    if axis == 0:
        x = x + HALF
        along_x = span_of(x)
    elif axis == 1:
        y = y + HALF
        along_y = span_of(y)
    else:
        z = z + HALF
        along_z = span_of(z)
    spans = along_x, along_y, along_z
    value, _, _ = sample_chunk(velocity[axis], at, rows, x, y, z, spans, edge)
    return value


@njit(cache=True, error_model="numpy", parallel=True)
def find_bends(velocity, shape, rows, scale, busy, numbers, bends):
    """Fill `bends` (6, size) with how much velocity changes within half a step of every cell, back and forth [m/s].

    The midpoint rule goes along the velocity half a step away. It is asked for once per cell; faces take the mean of
    their two cells, which is off by a second difference of what is a small change already. `scale` is the step over the
    cell [s/m]; `velocity` is (3, size).
    """
    nx, ny, nz = shape
    row, plane = rows
    chunks = (nz + WIDTH - 1) // WIDTH
    for index in prange(1, nx + 1):
        use_wide_registers()
        i = np.int64(index)
        lanes, edge = load(numbers, 0), np.empty(WIDTH, np.float32)
        for j in range(1, ny + 1):
            for chunk in range(chunks):
                k = chunk * WIDTH
                at = i * plane + j * row + k
                if busy[i // BLOCK, j // BLOCK, chunk] == 0:
                    for number in range(6):
                        store_row(bends, number, at, lanes * ZERO)
                    continue
                u, v, w = velocity_in_cells(velocity, at, rows)
                for way in range(2):
                    half = HALF * scale * np.float32(2 * way - 1)
                    x, y, z = clamped(half * u, half * v, half * w, i, j, k, shape, HALF, nz - 1, lanes)
                    spans = spans_of(x, y, z)
                    for axis in range(3):
                        mean = u if axis == 0 else (v if axis == 1 else w)
                        value = sample_in_cells(velocity, axis, at, rows, x, y, z, spans, edge)
                        store_row(bends, 3 * way + axis, at, value - mean)


@inline
def below_and_above(field, at, chunk, lanes, top):
    """Numbers of the cells below and above sixteen faces across z; at the ends of a row that of the only cell."""
    above, below = load(field, at), load(field, at - 1)
    here = lanes + np.float32(chunk * WIDTH)
    return select(here > ZERO, below, above), select(here < np.float32(top), above, below)


@inline
def mean_on_faces(field, axis, at, i, j, chunk, shape, rows, lanes):
    """What a quantity of cells is on sixteen faces across `axis`: the mean of the two beside each."""
    row, plane = rows
    if axis == 0:
        return HALF * (load(field, at - (plane if i > 1 else 0)) + load(field, at - (0 if i <= shape[0] else plane)))
    if axis == 1:
        return HALF * (load(field, at - (row if j > 1 else 0)) + load(field, at - (0 if j <= shape[1] else row)))
    below, above = below_and_above(field, at, chunk, lanes, shape[2])
    return HALF * (below + above)


@inline
def velocity_on_faces(velocity, axis, at, chunk, shape, rows, lanes):
    """Velocity in the middle of sixteen faces: their own component and means of four of each other."""
    u, v, w = velocity[0], velocity[1], velocity[2]
    row, plane = rows
    if axis == 0:
        b = QUARTER * (load(v, at) + load(v, at + row) + load(v, at - plane) + load(v, at - plane + row))
        c = QUARTER * (load(w, at) + load(w, at + 1) + load(w, at - plane) + load(w, at - plane + 1))
        return load(u, at), b, c
    if axis == 1:
        a = QUARTER * (load(u, at) + load(u, at + plane) + load(u, at - row) + load(u, at - row + plane))
        c = QUARTER * (load(w, at) + load(w, at + 1) + load(w, at - row) + load(w, at - row + 1))
        return a, load(v, at), c
    p, q = below_and_above(u, at, chunk, lanes, shape[2])
    r, s = below_and_above(u, at + plane, chunk, lanes, shape[2])
    a = QUARTER * (p + q + r + s)
    p, q = below_and_above(v, at, chunk, lanes, shape[2])
    r, s = below_and_above(v, at + row, chunk, lanes, shape[2])
    return a, QUARTER * (p + q + r + s), load(w, at)


@inline
def way_of_faces(velocity, bends, way, axis, at, i, j, chunk, shape, rows, scale, lanes):
    """How far sixteen faces come (way 0) or go (1) within a step [cells]."""
    a, b, c = velocity_on_faces(velocity, axis, at, chunk, shape, rows, lanes)
    step = scale * np.float32(2 * way - 1)
    x = step * (a + mean_on_faces(bends[3 * way], axis, at, i, j, chunk, shape, rows, lanes))
    y = step * (b + mean_on_faces(bends[3 * way + 1], axis, at, i, j, chunk, shape, rows, lanes))
    z = step * (c + mean_on_faces(bends[3 * way + 2], axis, at, i, j, chunk, shape, rows, lanes))
    return x, y, z


@inline
def beyond(side, x, y, z, axis, i, j, k, shape, lanes):
    """Which of sixteen faces a displacement leads beyond a side of the box."""
    along = side // 2
    first = (i - 1, j - 1, k)[along]
    start = np.float32(first) + (ZERO if axis == along else HALF)
    place = x if along == 0 else (y if along == 1 else z + lanes)
    place = place + start
    return place > np.float32(shape[along]) if side % 2 else place < ZERO


@inline
def is_deep(spans, i, j, k, shape):
    """Whether all places within these offsets of sixteen faces lie within the box."""
    (first_x, last_x), (first_y, last_y), (first_z, last_z) = spans
    nx, ny, nz = shape
    return (
        i + first_x >= 1 and i + last_x <= nx and j + first_y >= 1 and j + last_y <= ny
        and k + first_z >= 0 and k + WIDTH + last_z <= nz
    )  # fmt: skip


@njit(cache=True, error_model="numpy", parallel=True)
def trace_back(velocity, bends, field, axis, shape, rows, kinds, sides, scale, busy, numbers, ranges, out):
    """Fill `out` with `field`, on faces across `axis`, where each of them was one step before; a semi-Lagrangian step.

    `ranges` (2, size) become the least and largest number around that place, infinite where something comes in, which
    is not to be corrected. Blocks whose `busy` is 0 move as one and stay as they are.
    """
    nx, ny, nz = shape
    row, plane = rows
    chunks = (nz + (axis == 2) + WIDTH - 1) // WIDTH
    for index in prange(1, nx + (axis == 0) + 1):
        use_wide_registers()
        i = np.int64(index)
        lanes, edge = load(numbers, 0), np.empty(WIDTH, np.float32)
        for j in range(1, ny + (axis == 1) + 1):
            for chunk in range(chunks):
                k = chunk * WIDTH
                at = i * plane + j * row + k
                if busy[i // BLOCK, j // BLOCK, chunk] == 0:
                    store(out, at, load(field, at))
                    continue
                x, y, z = way_of_faces(velocity, bends, 0, axis, at, i, j, chunk, shape, rows, scale, lanes)
                p, q, r = clamped(x, y, z, i, j, k, shape, ZERO, nz - (axis != 2), lanes)
                spans = spans_of(p, q, r)
                sampled, low, high = sample_chunk(field, at, rows, p, q, r, spans, edge)
                value = sampled
                for turn in range(0 if is_deep(spans, i, j, k, shape) else 6):
                    side = 5 - turn  # the first side counts where a place is beyond several
                    is_beyond = beyond(side, x, y, z, axis, i, j, k, shape, lanes)
                    if kinds[side] == SLIP:
                        value = select(is_beyond, sampled, value)
                    else:
                        value = select(is_beyond, sides[side, axis], value)
                        low = select(is_beyond, np.float32(np.inf), low)
                store(out, at, value)
                store_row(ranges, 0, at, low)
                store_row(ranges, 1, at, high)


@njit(cache=True, error_model="numpy", parallel=True)
def correct(velocity, bends, field, axis, shape, rows, scale, busy, numbers, ranges, carried, out):
    """Fill `out` with `carried` plus half of what is lost on the way forth and back, within what was around it.

    MacCormack's scheme of Selle, Fedkiw, Kim, Liu and Rossignac (2008), with their limiter.
    """
    nx, ny, nz = shape
    row, plane = rows
    chunks = (nz + (axis == 2) + WIDTH - 1) // WIDTH
    for index in prange(1, nx + (axis == 0) + 1):
        use_wide_registers()
        i = np.int64(index)
        lanes, edge = load(numbers, 0), np.empty(WIDTH, np.float32)
        for j in range(1, ny + (axis == 1) + 1):
            for chunk in range(chunks):
                k = chunk * WIDTH
                at = i * plane + j * row + k
                value = load(carried, at)
                if busy[i // BLOCK, j // BLOCK, chunk] == 0:
                    store(out, at, value)
                    continue
                # where the fluid of a face goes to, which is not as far as it came where it speeds up
                x, y, z = way_of_faces(velocity, bends, 1, axis, at, i, j, chunk, shape, rows, scale, lanes)
                p, q, r = clamped(x, y, z, i, j, k, shape, ZERO, nz - (axis != 2), lanes)
                spans = spans_of(p, q, r)
                again, _, _ = sample_chunk(carried, at, rows, p, q, r, spans, edge)
                low, high = load_row(ranges, 0, at), load_row(ranges, 1, at)
                slack = SLACK * (high - low)
                better = value + HALF * (load(field, at) - again)
                better = minimum(maximum(better, low - slack), high + slack)
                is_right = low <= high
                for side in range(0 if is_deep(spans, i, j, k, shape) else 6):
                    is_right = is_right & ~beyond(side, x, y, z, axis, i, j, k, shape, lanes)
                store(out, at, select(is_right, better, value))


@njit(cache=True, error_model="numpy", parallel=True)
def mark_busy(velocity, shape, rows, still, tolerance, numbers, busy):
    """Set `busy` of blocks of eight by eight chunks where velocity differs from `still` (3,) by more than allowed."""
    nx, ny, nz = shape
    row, plane = rows
    for index in prange(busy.shape[0]):
        use_wide_registers()
        block = np.int64(index)
        for other in range(busy.shape[1]):
            for chunk in range(busy.shape[2]):
                most = load(numbers, 0) * ZERO
                for i in range(max(BLOCK * block, 1), min(BLOCK * block + BLOCK, nx + 2)):
                    for j in range(max(BLOCK * other, 1), min(BLOCK * other + BLOCK, ny + 2)):
                        at = i * plane + j * row + chunk * WIDTH
                        for axis in range(3):
                            most = maximum(most, absolute(load_row(velocity, axis, at) - still[axis]))
                known = first_lanes(nz + 1 - chunk * WIDTH)
                busy[block, other, chunk] = reduce_max(select(known, most, ZERO)) > tolerance

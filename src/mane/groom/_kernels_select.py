"""Distances between strands and the search for good guides.

A strand is a column of `features` (R, 3, S): R vectors, laid out so that the inner loops run over strands side by side.
The distance of two strands is the sum over rows of the distance between their vectors; `select.py` says what they are.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange

FAST = {"contract", "arcp", "nsz", "afn"}

# Strands that are handled together: their distances stay in the nearest cache.
BLOCK = 512

# Two ways to sum the same distance may round differently.
SLACK = np.float32(1.00001)

# An exchange that gains less than this share of the total may be rounding.
SMALLEST_GAIN = 1e-7


@njit(cache=True, error_model="numpy", fastmath=FAST)
def block_distances(features, first, last, place, out):
    """Fill `out[:last - first]` with the distances of strands `first` to `last` to `place` (R, 3)."""
    count = last - first
    for s in range(count):
        out[s] = np.float32(0.0)
    for r in range(features.shape[0]):
        x, y, z = features[r, 0, first:last], features[r, 1, first:last], features[r, 2, first:last]
        px, py, pz = place[r, 0], place[r, 1], place[r, 2]
        for s in range(count):
            dx, dy, dz = x[s] - px, y[s] - py, z[s] - pz
            out[s] += np.sqrt(dx * dx + dy * dy + dz * dz)


@njit(cache=True, error_model="numpy")
def distances_to(features, place, out):
    """Fill `out` (S,) with the distance of every strand to `place` (R, 3).

    In one thread: it is called thousands of times for some 0.1 ms each, which is no more than starting threads takes.
    """
    strand_count = features.shape[2]
    for first in range(0, strand_count, BLOCK):
        last = min(first + BLOCK, strand_count)
        block_distances(features, first, last, place, out[first:last])


@njit(cache=True, error_model="numpy", parallel=True)
def nearest_places(features, places, label, distance):
    """Fill `label` and `distance` (S,) with the nearest of `places` (K, R, 3), the first of equals."""
    strand_count = features.shape[2]
    for block in prange((strand_count + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        last = min(first + BLOCK, strand_count)
        here = np.empty(BLOCK, np.float32)
        distance[first:last] = np.inf
        label[first:last] = 0
        for k in range(len(places)):
            block_distances(features, first, last, places[k], here)
            for s in range(last - first):
                if here[s] < distance[first + s]:
                    distance[first + s] = here[s]
                    label[first + s] = k


@njit(cache=True, error_model="numpy")
def copy_strand(features, s, place):
    """Fill `place` (R, 3) with strand `s`."""
    for r in range(features.shape[0]):
        for axis in range(3):
            place[r, axis] = features[r, axis, s]


@njit(cache=True, error_model="numpy")
def index_at_share(weight, share):
    """Index at which the running sum of `weight` reaches `share` of its total; the last one with any weight at most."""
    total = 0.0
    for w in weight:
        total += w
    wanted, running, found = share * total, 0.0, -1
    for i in range(len(weight)):
        if weight[i] > 0.0:
            found = i
            running += weight[i]
            if running > wanted:
                break
    return found


@njit(cache=True, error_model="numpy")
def seed_strands(features, share, chosen, known):
    """Fill `chosen[known:]` with strands drawn one by one, each as likely as it is far from those before it.

    `share` (K,) holds the random numbers; at least one strand is known. Where none is any distance away, the first one
    left is taken.
    """
    strand_count = features.shape[2]
    nearest = np.full(strand_count, np.inf, np.float32)
    here = np.empty(strand_count, np.float32)
    taken = np.zeros(strand_count, np.bool_)
    place = np.empty((features.shape[0], 3), np.float32)
    for k in range(len(chosen)):
        if k >= known:
            drawn = index_at_share(nearest, share[k])
            chosen[k] = drawn if drawn >= 0 else np.argmin(taken)
        taken[chosen[k]] = True
        copy_strand(features, chosen[k], place)
        distances_to(features, place, here)
        for s in range(strand_count):
            nearest[s] = np.float32(0.0) if taken[s] else min(nearest[s], here[s])


@njit(cache=True, error_model="numpy")
def two_nearest(features, s, held, place, distance):
    """Index of the medoid nearest to strand `s`, its distance, and that of the second nearest.

    `held` (R, 3, K) are the medoids, laid out like `features`; `place` (R, 3) and `distance` (K,) are scratch.
    """
    copy_strand(features, s, place)
    block_distances(held, 0, held.shape[2], place, distance)
    index, d1, d2 = 0, np.float32(np.inf), np.float32(np.inf)
    for k in range(len(distance)):
        if distance[k] < d1:
            index, d1, d2 = k, distance[k], d1
        elif distance[k] < d2:
            d2 = distance[k]
    return index, d1, d2


@njit(cache=True, error_model="numpy")
def fill_losses(nearest, d1, d2, loss):
    """Fill `loss` (K,) with what the total grows by when a medoid leaves and its strands go to their second nearest."""
    loss.fill(0.0)
    for s in range(len(nearest)):
        loss[nearest[s]] += np.float64(d2[s]) - d1[s]


@njit(cache=True, error_model="numpy")
def fill_changes(here, nearest, d1, d2, loss, change):
    """Fill `change` (K,) with what the total changes by when a strand at distance `here` (S,) replaces each medoid.

    All K changes in one pass: a strand that the newcomer is nearest to gains the same whichever medoid leaves, and its
    own medoid's leaving no longer costs it anything.
    """
    shared = 0.0
    for k in range(len(loss)):
        change[k] = loss[k]
    for s in range(len(here)):
        if here[s] < d1[s]:
            shared += np.float64(here[s]) - d1[s]
            change[nearest[s]] += np.float64(d1[s]) - d2[s]
        elif here[s] < d2[s]:
            change[nearest[s]] += np.float64(here[s]) - d2[s]
    for k in range(len(loss)):
        change[k] += shared


@njit(cache=True, error_model="numpy")
def is_allowed(kinds, members, leaving, entering):
    """Whether every kind that has a member still has one when pool entry `leaving` makes room for `entering`."""
    for c in range(len(kinds)):
        if kinds[c, leaving] != kinds[c, entering] and members[c, kinds[c, leaving]] == 1:
            return False
    return True


@njit(cache=True, error_model="numpy")
def best_to_leave(change, kinds, members, medoid, entering):
    """The medoid whose replacement changes the total most for the better among those that may leave, or -1."""
    best = -1
    for k in range(len(medoid)):
        if (best < 0 or change[k] < change[best]) and is_allowed(kinds, members, medoid[k], entering):
            best = k
    return best


@njit(cache=True, error_model="numpy")
def swap_medoids(features, pool, kinds, held, medoid):
    """Improve `medoid` (K,), entries of `pool` (Q, R, 3), in place, by exchanging them against others while that pays.

    Each entry of the pool is tried once; an exchange that lowers the summed distance of all strands to their nearest
    medoid is done at once. `kinds` (C, Q) are labels; each that has a medoid at the start keeps one. `held` (R, 3, K)
    is where the medoids are, laid out like `features`, and follows them. K is at least 2.
    """
    strand_count, count = features.shape[2], len(medoid)
    here, left = np.empty(strand_count, np.float32), np.empty(strand_count, np.float32)
    d1, d2 = np.empty(strand_count, np.float32), np.empty(strand_count, np.float32)
    nearest = np.empty(strand_count, np.int64)
    place, scratch = np.empty((features.shape[0], 3), np.float32), np.empty(count, np.float32)
    loss, change = np.empty(count), np.empty(count)
    members = np.zeros((len(kinds), kinds.max() + 1), np.int64)
    for k in range(count):
        for c in range(len(kinds)):
            members[c, kinds[c, medoid[k]]] += 1
    total = 0.0
    for s in range(strand_count):
        nearest[s], d1[s], d2[s] = two_nearest(features, s, held, place, scratch)
        total += d1[s]
    fill_losses(nearest, d1, d2, loss)
    for q in range(len(pool)):
        distances_to(features, pool[q], here)
        fill_changes(here, nearest, d1, d2, loss, change)
        k = best_to_leave(change, kinds, members, medoid, q)
        if k < 0 or change[k] >= -SMALLEST_GAIN * total:
            continue
        distances_to(features, pool[medoid[k]], left)
        for c in range(len(kinds)):
            members[c, kinds[c, medoid[k]]] -= 1
            members[c, kinds[c, q]] += 1
        medoid[k] = q
        for r in range(features.shape[0]):
            for axis in range(3):
                held[r, axis, k] = pool[q, r, axis]
        for s in range(strand_count):
            if left[s] <= d2[s] * SLACK:
                nearest[s], d1[s], d2[s] = two_nearest(features, s, held, place, scratch)
            elif here[s] < d1[s]:
                nearest[s], d1[s], d2[s] = k, here[s], d1[s]
            elif here[s] < d2[s]:
                d2[s] = here[s]
        fill_losses(nearest, d1, d2, loss)


@njit(cache=True, error_model="numpy")
def farthest_points(points, chosen):
    """Fill `chosen[1:]` with points (S, 3) that are each as far as can be from all before it; `chosen[0]` is given."""
    nearest = np.full(len(points), np.inf, np.float32)
    for k in range(1, len(chosen)):
        x, y, z = points[chosen[k - 1]]
        nearest[chosen[k - 1]] = np.float32(-1.0)
        farthest = 0
        for s in range(len(points)):
            dx, dy, dz = points[s, 0] - x, points[s, 1] - y, points[s, 2] - z
            nearest[s] = min(nearest[s], dx * dx + dy * dy + dz * dz)
            if nearest[s] > nearest[farthest]:
                farthest = s
        chosen[k] = farthest

"""Contacts of strands with one solid during one step: found, judged, added to the load, and measured afterwards.

Places of a strand that can touch are numbered along it: place j (K + 1) is vertex j, and the K places behind it are
points of segment j, K = 0 unless the solid is thinner than a segment:

```
   vertex j ---+----+--- vertex j + 1          K = 2
   3 j      3 j + 1  3 j + 2     3 j + 3
```
The contacts of a strand are a short list in this order, the memory of the last step (old) another one. A row of
`record` holds what the load of one contact is made of, see `_kernels_contact`.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.body._kernels_solid import AFTER, BEFORE, to_local, to_world, turn_to_world
from mane.contact.solids._kernels_contact import (
    GAINED,
    TRAIL_SIZE,
    contact_mass,
    copy_record,
    judge_contact,
    settle_contact,
    spread_contact,
)
from mane.contact.solids._kernels_trace import (
    AT_ROOT,
    THIN,
    across_strand,
    between,
    chord,
    length_between,
    measure_before,
    most_distance,
    place_at_start,
    see_before,
    stays_away,
    trace_solid,
    triangle_of,
    vector,
)
from mane.simd.jit import njit, prange
from mane.simd.memory import stay_out_of_line

# Contacts between the two ends of a segment; more would be closer together than hair bends.
INNER_CONTACTS = 3
# The thickness around a solid is reached over this rise from a root that sits in it.
CLIMB = 0.25
# A contact that was pressed is looked at again up to this part of a segment off the surface.
SLACK = 1e-3
# Strands that touch something take most of the time, and those beside each other touch the same: a thread takes every
# strand whose number leaves one of some remainders by this, not a row of neighbours.
SHARES = 32


@njit(cache=True, error_model="numpy")
def fresh_trail(gravity, dt):
    """Trail of a contact that was not there before: nothing pulled, and the point fell."""
    trail = np.zeros(TRAIL_SIZE)
    for i in range(3):
        trail[GAINED + i] = dt * gravity[i]
    return trail


@njit(cache=True, error_model="numpy")
def recall(last, place, pointer, span):
    """Find what the last step left of a place, searching on from `pointer`; return that and the new pointer.

    The first is what `judge_contact` calls old. A contact that has just wandered here from a neighbouring place, at
    most `span` away, brings its force and its trail along.
    """
    old_count, old_place, old_force, old_trail, nothing = last
    while pointer < old_count and old_place[pointer] < place:
        pointer += 1
    if pointer < old_count and old_place[pointer] == place:
        return (True, old_force[pointer], 0.0, old_trail[pointer]), pointer
    neighbour, force = -1, 0.0
    if pointer < old_count and old_place[pointer] - place <= span and old_force[pointer] > 0.0:
        neighbour, force = pointer, old_force[pointer]
    if pointer > 0 and place - old_place[pointer - 1] <= span and old_force[pointer - 1] > force:
        neighbour, force = pointer - 1, old_force[pointer - 1]
    return (False, 0.0, force, old_trail[neighbour] if neighbour >= 0 else nothing), pointer


@njit(cache=True, error_model="numpy")
def try_place(solid, guess, poses, is_thin, tangent, offset, reach, here, there, x, v, masses, old, laws, dt, row):
    """Look for a contact of one point on its path from `here` to `there` in the solid's frame.

    `guess` is a triangle near it (`triangle_of`). Returns what `judge_contact` does, and the distance at the start [m];
    beyond `reach` there is no contact.
    """
    stay_out_of_line()
    start, meets, px, py, pz, d, nx, ny, nz, touched = trace_solid(
        solid, guess, offset, here[0], here[1], here[2], there[0], there[1], there[2]
    )
    if start > reach:
        return np.inf, start
    ax, ay, az = to_world(poses, AFTER, px, py, pz)
    bx, by, bz = to_world(poses, BEFORE, *place_at_start(solid, touched, px, py, pz))
    surface = ((ax - bx) / dt, (ay - by) / dt, (az - bz) / dt)
    normal = turn_to_world(poses, AFTER, nx, ny, nz)
    if is_thin and offset >= 0.0 and start + offset > -solid.feature:
        d, normal = across_strand(d, normal, tangent, solid.feature + offset)
    excess = judge_contact(meets, start, d, normal, (ax, ay, az), surface, x, v, masses, old, laws, dt, row)
    return excess, start


@njit(cache=True, error_model="numpy")
def is_segment_beyond(solid, inner, here, there, reach, known, first):
    """Whether all places between the ends of a segment, `here` and `there` [m], are beyond `reach` [m] for sure.

    Rows of `known` (P, 4) from `first` on remember the distance of each place when it was last measured [m], and where
    that was [m]; there are none where places are not remembered.
    """
    if first >= len(known):
        return False
    for k in range(inner):
        x, row = between(here, there, (k + 1) / (inner + 1)), known[first + k]
        if row[0] - solid.slope * length_between(x, (row[1], row[2], row[3])) <= reach:
            return False
    return True


@njit(cache=True, error_model="numpy")
def remember(x, distance, known, row):
    """Remember the distance [m] of a place between vertices at the local point x [m]."""
    if row < len(known):
        known[row, 0], known[row, 1], known[row, 2], known[row, 3] = distance, x[0], x[1], x[2]


@njit(cache=True, error_model="numpy")
def try_segment(
    solid,
    guess,
    poses,
    inner,
    thickness,
    lowest,
    reach,
    j,
    ends,
    lacks,
    points,
    velocity,
    masses,
    last,
    laws,
    dt,
    between_vertices,
    count,
    place,
    record,
):
    """Look for contacts between the ends of segment j, at `inner` places; return the new count.

    Of neighbouring places, both ends among them, only the one that lacks its goal most becomes a contact: contacts that
    are closer together than hair bends would only fight. `lacks` is what `judge_contact` said of the ends. The last row
    of `record` is for the place at hand, the row behind the list for the best of a run of places.
    """
    stay_out_of_line()
    mass, stiff_mass = masses
    here, there = ends
    x0, x1, v0, v1 = vector(points, j), vector(points, j + 1), vector(velocity, j), vector(velocity, j + 1)
    spacing = solid.slope * length_between(here[0], here[1]) / (inner + 1)
    trial = record[-1]
    pointer, limit = np.int64(0), count + INNER_CONTACTS
    before, is_best = lacks[0], False
    k = 1
    while k <= inner and count < limit:
        u = k / (inner + 1)
        number = j * (inner + 1) + k
        at, offset = between(here[0], here[1], u), min(thickness, lowest[number])
        old, pointer = recall(last, number, pointer, inner + 1)
        excess, start = try_place(
            solid,
            guess,
            poses,
            inner >= THIN,
            chord(points, j, j + 1),
            offset,
            reach,
            at,
            between(there[0], there[1], u),
            between(x0, x1, u),
            between(v0, v1, u),
            (contact_mass(mass, j, u), contact_mass(stiff_mass, j, u)),
            old,
            laws,
            dt,
            trial,
        )
        remember(at, start + offset, between_vertices, j * inner + k - 1)
        if excess < before:
            place[count] = number
            copy_record(trial, record[count])
            is_best = True
        elif is_best:
            count += 1
            is_best = False
        before = excess
        # Places up to there are too far off to be met.
        skipped = max(0, int((start - reach) / spacing))
        if skipped > 0:
            count += 1 if is_best else 0
            before, is_best = np.inf, False
        k += 1 + skipped
    return count + 1 if is_best and before < lacks[1] else count


@njit(cache=True, error_model="numpy")
def find_on_strand(
    solid,
    poses,
    inner,
    thickness,
    laws,
    points,
    velocity,
    masses,
    arc,
    lowest,
    is_held,
    last,
    dt,
    measured,
    between_vertices,
    place,
    record,
):
    """Fill the list of contacts of one strand, `place` (C,) and `record` (C + 2, RECORD_SIZE); return their number.

    The arguments are those of `find_contacts` for one strand; `last` is what the last step left, `measured` what was
    last measured of each vertex.
    """
    stay_out_of_line()
    mass, stiff_mass = masses
    slope, knows_between = solid.slope, len(between_vertices) > 0
    end = len(points) - 1
    count, pointer, on_skin = np.int64(0), np.int64(0), False
    here_prev, there_prev = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    bound_prev, travel_prev, lack_prev = np.inf, 0.0, np.inf
    found = record[-2]
    for j in range(len(points)):
        x, v = vector(points, j), vector(velocity, j)
        there = to_local(poses, AFTER, x[0] + dt * v[0], x[1] + dt * v[1], x[2] + dt * v[2])
        behind = arc[j] - arc[max(j - 1, 0)]
        ahead = arc[min(j + 1, end)] - arc[j]
        half = 0.5 * slope * max(behind, ahead) if inner > 0 and not knows_between else 0.0
        beside = SLACK * (behind + ahead) + thickness
        here, bound = see_before(solid, poses, x, there, beside + half, measured, j)
        travel = slope * length_between(here, there)
        reach = travel + SLACK * (behind + ahead) + thickness
        if bound <= reach + half:
            bound = measure_before(solid, here, measured, j)
        if j == 0 and is_held:
            if knows_between and bound < AT_ROOT * ahead <= most_distance(solid, BEFORE, here, measured, j):
                bound = measure_before(solid, here, measured, j)
            on_skin = bound < AT_ROOT * ahead
        lack, number = np.inf, j * (inner + 1)
        if bound < reach and not (j == 0 and is_held):
            old, pointer = recall(last, number, pointer, inner + 1)
            offset = min(min(thickness, CLIMB * arc[j]) if is_held else thickness, lowest[number])
            both = (mass[j], stiff_mass[j])
            tangent = chord(points, j - 1, j + 1)
            lack, _ = try_place(
                solid,
                triangle_of(solid, measured, j),
                poses,
                inner >= THIN,
                tangent,
                offset,
                reach,
                here,
                there,
                x,
                v,
                both,
                old,
                laws,
                dt,
                found,
            )
        # On a body that is not thin, ends that touch carry their segment: three places on one line would only fight.
        carried = inner < THIN and min(lack, lack_prev) < np.inf
        if j > 0 and inner > 0 and not carried and not (j == 1 and on_skin):
            span = slope * length_between(here_prev, here)
            segment_reach = max(reach, reach - travel + travel_prev)
            # No place is held farther off than `thickness`.
            if 0.5 * (bound + bound_prev - span) < segment_reach and not is_segment_beyond(
                solid, inner, here_prev, here, segment_reach + thickness, between_vertices, (j - 1) * inner
            ):
                ends = ((here_prev, here), (there_prev, there))
                count = try_segment(
                    solid,
                    triangle_of(solid, measured, j),
                    poses,
                    inner,
                    thickness,
                    lowest,
                    segment_reach,
                    j - 1,
                    ends,
                    (lack_prev, lack),
                    points,
                    velocity,
                    masses,
                    last,
                    laws,
                    dt,
                    between_vertices,
                    count,
                    place,
                    record,
                )
        if lack < np.inf:
            copy_record(found, record[count])
            place[count] = number
            count += 1
        here_prev, there_prev, bound_prev, travel_prev, lack_prev = here, there, bound, travel, lack
    return count


@njit(cache=True, error_model="numpy")
def spread_contacts(inner, count, place, record, force, resistance, coupling):
    """Add all contacts of one strand to its load."""
    for c in range(count):
        j, k = place[c] // (inner + 1), place[c] % (inner + 1)
        spread_contact(record[c], j, k / (inner + 1), force, resistance, coupling)


@njit(cache=True, error_model="numpy", parallel=True)
def find_contacts(
    solid,
    poses,
    inner,
    thickness,
    laws,
    points,
    velocity,
    mass,
    stiff_mass,
    arc,
    lowest,
    margin,
    is_held,
    is_active,
    old_count,
    old_place,
    old_force,
    old_trail,
    gravity,
    dt,
    # out
    measured,
    between_vertices,
    count,
    place,
    record,
    force,
    resistance,
    coupling,
):
    """Fill the lists of contacts (count, place, record) of all strands with one solid and add them to the load.

    Args:
        solid: see `body._kernels_solid`.
        poses: (24,), see `body._kernels_solid`.
        inner: places between the ends of a segment.
        thickness: of the layer around the solid [m].
        laws: see `judge_contact`.
        points: [m], (G, V, 3), at the start of the step; `velocity` [m/s], `mass` [kg], with what bending
            adds `stiff_mass` [kg], and arc length `arc` [m] alike.
        lowest: no place is held farther from the solid than this [m], (G, places); see `clearance.Clearance`.
        margin: what must be left between a strand and the solid so that nothing of it can touch [m].
        is_held: whether the root is held by something, (G,).
        is_active: (G,).
        old_count: contacts of the last step, (G,); their places (G, C), normal forces [N], trails.
        gravity: [m/s^2], (3,).
        dt: [s].
        measured: distance of each vertex when it was last measured [m], and where that was [m], (G, V, 4); with what
            `_kernels_deforming` remembers (G, V, 12).
        between_vertices: the same of the places between vertices (G, N * inner, 4), none where it is not remembered.
        count: (G,); `place` (G, C); `record` (G, C + 2, RECORD_SIZE), two rows of scratch.
        force: of the load; `resistance` and `coupling` alike.
    """
    nothing = fresh_trail(gravity, dt)
    rows = (len(points) + SHARES - 1) // SHARES
    for k in prange(rows * SHARES):
        s = k % rows * SHARES + k // rows
        if s >= len(points):
            continue
        count[s] = 0
        # Where only vertices are tested, `find_on_strand` makes the same test for each of them; what touched before is
        # seldom away.
        if is_active[s] and not (
            inner > 0
            and old_count[s] == 0
            and stays_away(solid, poses, inner, is_held[s], arc[s, 1], points[s], velocity[s], dt, margin, measured[s])
        ):
            count[s] = find_on_strand(
                solid,
                poses,
                inner,
                thickness,
                laws,
                points[s],
                velocity[s],
                (mass[s], stiff_mass[s]),
                arc[s],
                lowest[s],
                is_held[s],
                (old_count[s], old_place[s], old_force[s], old_trail[s], nothing),
                dt,
                measured[s],
                between_vertices[s],
                place[s],
                record[s],
            )
            spread_contacts(inner, count[s], place[s], record[s], force[s], resistance[s], coupling[s])


@njit(cache=True, error_model="numpy")
def settle_on_strand(inner, velocity, count, place, record, pressed, trail):
    """Settle all contacts of one strand."""
    end = len(velocity) - 1
    for c in range(count):
        j, k = place[c] // (inner + 1), place[c] % (inner + 1)
        v = between(vector(velocity, j), vector(velocity, min(j + 1, end)), k / (inner + 1))
        pressed[c] = settle_contact(record[c], v, trail[c])


@njit(cache=True, error_model="numpy")
def settle_contacts(
    inner,
    velocity,
    count,
    place,
    record,
    # out
    pressed,
    trail,
):
    """Fill normal force [N] (G, C) and trail (G, C, TRAIL_SIZE) of every contact, from the velocities of the step."""
    for s in range(len(count)):
        settle_on_strand(inner, velocity[s], count[s], place[s], record[s], pressed[s], trail[s])

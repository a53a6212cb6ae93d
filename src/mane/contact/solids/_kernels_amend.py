"""Contacts that a step has shown to be wrong, taken out of the load: an active set method for their inequalities.

A contact acts one way only and hair keeps its length, yet the solve takes contacts for equations. Those that pull, or
that stretch their strand, are dropped, and the strand is stepped again without them.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.contact.solids._kernels_contact import contact_mass, drop_contact, normal_force
from mane.contact.solids._kernels_trace import between, length_between, vector
from mane.simd.jit import njit, prange

# Contacts of a strand that is overstretched are dropped together that press with this part of the hardest one or more,
# and from this attempt on all of them.
HARDEST, ALL_LET_GO = 0.5, 2


@njit(cache=True, error_model="numpy")
def largest_strain(points, rest_length):
    """Largest |length / rest length - 1| of the segments of one strand."""
    largest = 0.0
    for j in range(len(rest_length)):
        length = length_between(vector(points, j), vector(points, j + 1))
        largest = max(largest, abs(length / rest_length[j] - 1.0))
    return largest


@njit(cache=True, error_model="numpy")
def press_of(inner, c, velocity, place, record):
    """Segment and fraction of it where contact c of one strand is, and what it presses with [N]."""
    j, k = place[c] // (inner + 1), place[c] % (inner + 1)
    u = k / (inner + 1)
    v = between(vector(velocity, j), vector(velocity, min(j + 1, len(velocity) - 1)), u)
    return j, u, normal_force(record[c], v)


@njit(cache=True, error_model="numpy")
def press_to_drop(inner, strands, bounds, attempt, count, place, record):
    """From which force on, either way, contacts of one strand are dropped [N]: infinite unless they stretch the hair.

    Between parts of a body that close on each other no place is left for it, and the contacts of hair whose root is
    carried into a solid can only tear it. The hardest ones let go first, so that as much as possible is kept outside.
    """
    points, velocity, rest_length, stretch_stiffness = strands
    total, hardest, strain = 0.0, 0.0, bounds[1]
    for c in range(count):
        press = abs(press_of(inner, c, velocity, place, record)[2])
        total, hardest = total + press, max(hardest, press)
    if total <= strain * np.min(stretch_stiffness) or largest_strain(points, rest_length) <= strain:
        return np.inf
    return HARDEST * hardest if attempt < ALL_LET_GO else 0.0


@njit(cache=True, error_model="numpy")
def drop_on_strand(inner, strands, mass, dt, bounds, attempt, count, place, record, force, resistance, coupling):
    """Take the contacts of one strand out of its load that pull, or that stretch it; return whether there was one.

    One contact alone has nobody to fight with; if it pulls, it is given up in the next step.
    """
    hardest, has_dropped = press_to_drop(inner, strands, bounds, attempt, count, place, record), False
    for c in range(count):
        j, u, press = press_of(inner, c, strands[1], place, record)
        pulls = count > 1 and -dt * press > bounds[0] * contact_mass(mass, j, u)
        if pulls or abs(press) > hardest:
            drop_contact(record[c], j, u, force, resistance, coupling)
            has_dropped = True
    return has_dropped


@njit(cache=True, error_model="numpy", parallel=True)
def drop_wrong_contacts(
    inner,
    points,
    velocity,
    mass,
    rest_length,
    stretch_stiffness,
    dt,
    bounds,
    attempt,
    count,
    place,
    # out
    record,
    force,
    resistance,
    coupling,
    changed,
):
    """Take contacts out of the load that pull, or press harder than hair can bear without being stretched.

    Contacts are one-sided, yet the solve treats them as equations. This is one round of an active set method for the
    inequalities. Marks the strands whose load was changed, (G,).

    Args:
        inner: places between the ends of a segment.
        points: at the end of the step [m], (G, V, 3); `velocity` [m/s] and `mass` [kg] alike.
        rest_length: of segments [m], (G, N); `stretch_stiffness` [N] alike.
        dt: [s].
        bounds: a contact pulls that would change the velocity of its point by more than this [m/s]; the strain of a
            segment that contacts may cause together.
        attempt: how often strands were stepped again before.
        count: of contacts, (G,); their `place` (G, C) and `record` (G, C + 2, RECORD_SIZE).
        record: a contact that is dropped stands for one that does nothing.
        force: of the load; `resistance` and `coupling` alike.
        changed: (G,).
    """
    for s in prange(len(count)):
        if count[s] > 0 and drop_on_strand(
            inner,
            (points[s], velocity[s], rest_length[s], stretch_stiffness[s]),
            mass[s],
            dt,
            bounds,
            attempt,
            count[s],
            place[s],
            record[s],
            force[s],
            resistance[s],
            coupling[s],
        ):
            changed[s] = True

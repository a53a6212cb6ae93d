"""Static links in plain NumPy, one link after the other: the specification of `_kernels`."""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import IntArray
from mane.strand.model import Float64Array

# A link that is drawn out by less [m] has no direction to be damped along: at rest it would be that of rounding.
SHORTEST = 1e-7


def perpendicular(tangent: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Two unit vectors across unit vectors (..., 3), the same ones for the same tangent, right-handed with it."""
    x, y, z = np.moveaxis(tangent, -1, 0)
    sign = np.where(z < 0, -1.0, 1.0)
    a = -1 / (sign + z)
    b = x * y * a
    first = np.stack([1 + sign * x * x * a, sign * b, -sign * x], axis=-1)
    second = np.stack([b, sign + y * y * a, -y], axis=-1)
    return first, second


def carried_frames(
    points: Float64Array, velocity: Float64Array, direction: Float64Array, axis: Float64Array, turning: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """First axis across each segment of one strand (N, 3), carried from its root without twist, and its spin (N,).

    Args:
        points: [m], shape (V, 3).
        velocity: [m/s], likewise.
        direction: in which the root holds the strand, shape (3,).
        axis: unit vector across it, shape (3,).
        turning: angular velocity of the root [rad/s], shape (3,).
    """
    axes, spins = [], []
    before, angular = direction, turning
    for edge, rate in zip(np.diff(points, axis=0), np.diff(velocity, axis=0), strict=True):
        length = np.linalg.norm(edge)
        tangent = edge / length
        # Rodrigues' formula for the smallest rotation from the last tangent to this one.
        about, cosine = np.cross(before, tangent), before @ tangent
        axis = cosine * axis + np.cross(about, axis) + about * (about @ axis) / (1 + cosine)
        # Two segments do not twist against each other: they turn alike about the bisector of their tangents.
        across = np.cross(tangent, rate / length)
        bisector = before + tangent
        spin = ((angular - across) @ bisector) / (tangent @ bisector)
        before, angular = tangent, across + spin * tangent
        axes.append(axis)
        spins.append(spin)
    return np.array(axes), np.array(spins)


def link_forces(
    points: Float64Array,
    velocity: Float64Array,
    other: IntArray,
    fraction: Float64Array,
    local: Float64Array,
    stiffness: Float64Array,
    damping: Float64Array,
    give: Float64Array,
    dt: float,
    frames: list[tuple[Float64Array, Float64Array]] | None = None,
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Forces on all vertices (G, V, 3) [N], and by how much each link is drawn out [m], shape (G, N, count).

    And the torques of the links about their segments (G, N) [N m], which `forces_of_torques` hands to the root.

    Args:
        points: [m], shape (G, V, 3).
        velocity: [m/s], likewise.
        other: as in `LinkTable`, like the next two.
        fraction: likewise.
        local: likewise.
        stiffness: of each link as it is now [N/m], shape (G, N, count).
        damping: of each link [kg/s], likewise.
        give: response of the pair [1/kg], likewise; see `contact.compliance`.
        dt: length of the step [s].
        frames: of each strand, as `carried_frames` gives them; None where they spin freely.
    """
    force = np.zeros_like(points)
    torques = np.zeros(other.shape[:2])
    drawn = np.zeros(other.shape)
    segments = points.shape[1] - 1
    for g, i in np.ndindex(points.shape[0], segments):
        links = np.flatnonzero(other[g, i] >= 0)
        edge = points[g, i + 1] - points[g, i]
        length = np.linalg.norm(edge)
        tangent = edge / length
        axes = np.stack(perpendicular(tangent))
        k, c, s = stiffness[g, i, links], damping[g, i, links], give[g, i, links]
        # What has moved is pulled back as far as a step can bring it, what moves is stopped as far as it can.
        firm = 1 + k * dt**2 * s
        soft = 1 + (k * dt**2 + c * dt) * s
        row, place = other[g, i, links] // segments, other[g, i, links] % segments
        u = fraction[g, i, links, None]
        tied = (1 - u) * points[row, place] + u * points[row, place + 1]
        tied_velocity = (1 - u) * velocity[row, place] + u * velocity[row, place + 1]
        along, across = local[g, i, links, :1], local[g, i, links, 1:]
        # A frame that nothing holds turns about its segment until the links hold it at rest.
        if frames is not None:
            axes = np.stack([frames[g][0][i], np.cross(tangent, frames[g][0][i])])
        seen = (tied - points[g, i]) @ axes.T
        weight = k / firm
        cosine = (weight[:, None] * across * seen).sum()
        sine = (weight * (across[:, 0] * seen[:, 1] - across[:, 1] * seen[:, 0])).sum()
        norm = np.hypot(cosine, sine)
        cosine, sine = (cosine / norm, sine / norm) if norm > 0 and frames is None else (1.0, 0.0)
        turned = np.stack(
            [cosine * across[:, 0] - sine * across[:, 1], sine * across[:, 0] + cosine * across[:, 1]], axis=1
        )
        lever = turned @ axes
        drawn_out = tied - (points[g, i] + along * edge + lever)
        # Likewise its spin.
        rate = velocity[g, i + 1] - velocity[g, i]
        target_velocity = velocity[g, i] + along * rate - np.outer(lever @ rate / length, tangent)
        distance = np.linalg.norm(drawn_out, axis=1)
        direction = drawn_out / np.maximum(distance, SHORTEST)[:, None]
        drift = ((tied_velocity - target_velocity) * direction).sum(axis=1)
        swing = (np.cross(tangent, lever) * direction).sum(axis=1)
        pull = k * dt + c
        inertia = (pull / soft * swing**2).sum()
        if frames is not None:
            drift = drift - frames[g][1][i] * swing
        elif inertia > 0:
            drift = drift - (pull / soft * drift * swing).sum() / inertia * swing
        link = (k / firm)[:, None] * drawn_out + (pull * drift / soft)[:, None] * direction  # chang2002 eq. 2
        drawn[g, i, links] = distance
        torques[g, i] = (np.cross(lever, link) @ tangent).sum()
        couple = (lever * (link @ tangent / length)[:, None]).sum(axis=0)
        force[g, i] += ((1 - along) * link).sum(axis=0) + couple
        force[g, i + 1] += (along * link).sum(axis=0) - couple
        for n in range(len(links)):
            force[row[n], place[n]] -= (1 - u[n]) * link[n]
            force[row[n], place[n] + 1] -= u[n] * link[n]
    return force, drawn, torques


def forces_of_torques(points: Float64Array, direction: Float64Array, torques: Float64Array) -> Float64Array:
    """Forces (V, 3) [N] of torques (N,) [N m] about the segments of a strand that is held in `direction` (3,).

    A torque M does work on the spin of its segment, which by `carried_frames` is a sum over the bends before it, of
    (t x t') . (dt/dt + dt'/dt) / (1 + t . t') with t before and t' behind the bend, and the opposite sign.
    """
    edges = np.diff(points, axis=0)
    length = np.linalg.norm(edges, axis=1)
    tangents = [direction, *(edges / length[:, None])]
    force = np.zeros_like(points)
    for i in range(len(edges)):
        before, tangent = tangents[i], tangents[i + 1]
        on_tangents = -torques[i:].sum() * np.cross(before, tangent) / (1 + before @ tangent)
        force[i + 1] += on_tangents / length[i]
        force[i] -= on_tangents / length[i]
        if i > 0:
            force[i] += on_tangents / length[i - 1]
            force[i - 1] -= on_tangents / length[i - 1]
    return force

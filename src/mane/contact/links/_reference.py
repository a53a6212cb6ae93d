"""Static links in plain NumPy, one link after the other: the specification of `_kernels`."""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import IntArray
from mane.strand.model import Float64Array


def perpendicular(tangent: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Two unit vectors across unit vectors (..., 3), the same ones for the same tangent, right-handed with it."""
    x, y, z = np.moveaxis(tangent, -1, 0)
    sign = np.where(z < 0, -1.0, 1.0)
    a = -1 / (sign + z)
    b = x * y * a
    first = np.stack([1 + sign * x * x * a, sign * b, -sign * x], axis=-1)
    second = np.stack([b, sign + y * y * a, -y], axis=-1)
    return first, second


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
) -> tuple[Float64Array, Float64Array]:
    """Forces on all vertices (G, V, 3) [N], and by how much each link is drawn out [m], shape (G, N, count).

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
    """
    force = np.zeros_like(points)
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
        # The frame turns about its segment until the links hold it at rest.
        seen = (tied - points[g, i]) @ axes.T
        weight = k / firm
        cosine = (weight[:, None] * across * seen).sum()
        sine = (weight * (across[:, 0] * seen[:, 1] - across[:, 1] * seen[:, 0])).sum()
        norm = np.hypot(cosine, sine)
        cosine, sine = (cosine / norm, sine / norm) if norm > 0 else (1.0, 0.0)
        turned = np.stack(
            [cosine * across[:, 0] - sine * across[:, 1], sine * across[:, 0] + cosine * across[:, 1]], axis=1
        )
        lever = turned @ axes
        drawn_out = tied - (points[g, i] + along * edge + lever)
        # Likewise its spin.
        rate = velocity[g, i + 1] - velocity[g, i]
        target_velocity = velocity[g, i] + along * rate - np.outer(lever @ rate / length, tangent)
        distance = np.linalg.norm(drawn_out, axis=1)
        direction = drawn_out / np.maximum(distance, np.finfo(float).tiny)[:, None]
        drift = ((tied_velocity - target_velocity) * direction).sum(axis=1)
        swing = (np.cross(tangent, lever) * direction).sum(axis=1)
        pull = k * dt + c
        inertia = (pull / soft * swing**2).sum()
        if inertia > 0:
            drift = drift - (pull / soft * drift * swing).sum() / inertia * swing
        link = (k * distance / firm + pull * drift / soft)[:, None] * direction  # chang2002 eq. 2
        drawn[g, i, links] = distance
        couple = (lever * (link @ tangent / length)[:, None]).sum(axis=0)
        force[g, i] += ((1 - along) * link).sum(axis=0) + couple
        force[g, i + 1] += (along * link).sum(axis=0) - couple
        for n in range(len(links)):
            force[row[n], place[n]] -= (1 - u[n]) * link[n]
            force[row[n], place[n] + 1] -= u[n] * link[n]
    return force, drawn

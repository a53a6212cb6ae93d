"""Collisions among strands and strips in plain NumPy, every part against every other: the specification of the kernels.

For parts that have not touched before; what is remembered of a contact's side is the kernels' own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mane.geometry.checks import IntArray
from mane.strand.model import Float64Array

LEAST_SCALE = 0.01


@dataclass(frozen=True, eq=False)
class Contact:
    """Two parts that touch: flat vertices and signed weights (K,), unit normal, gap [m], scale of the force."""

    vertices: IntArray
    weights: Float64Array
    normal: Float64Array
    gap: float
    scale: float


def closest_fractions(p: Float64Array, q: Float64Array) -> tuple[float, float]:
    """Fractions of two segments (2, 3) where they are closest: the inner point, or the best of the four ends."""
    d, e, r = p[1] - p[0], q[1] - q[0], p[0] - q[0]
    matrix = np.array([[d @ d, -d @ e], [-d @ e, e @ e]])
    inner = np.linalg.solve(matrix, [-d @ r, e @ r])
    if (inner >= 0).all() and (inner <= 1).all():
        return float(inner[0]), float(inner[1])
    options = [(u, float(np.clip(e @ (r + u * d) / (e @ e), 0, 1))) for u in (0.0, 1.0)]
    options += [(float(np.clip(d @ (w * e - r) / (d @ d), 0, 1)), w) for w in (0.0, 1.0)]
    return min(options, key=lambda uw: float(np.linalg.norm(r + uw[0] * d - uw[1] * e)))


def _unit(vector: Float64Array) -> Float64Array:
    unit: Float64Array = vector / np.linalg.norm(vector)
    return unit


def touches(contact: Contact, velocity: Float64Array, thickness: float, ahead: float, dt: float) -> bool:
    """Whether the gap is below the thickness, or will be by the end of the step; `velocity` is (G V, 3)."""
    speed = float(contact.weights @ velocity[contact.vertices] @ contact.normal)
    closing = min(max(-speed * dt, 0.0), ahead)
    return contact.gap - closing < thickness and contact.gap < thickness + ahead


def segment_contacts(points: Float64Array) -> list[Contact]:
    """Closest points of all pairs of segments of different strands (G, V, 3), but for those of another segment."""
    strands, vertices = points.shape[:2]
    segments = vertices - 1
    result = []
    for g, i, h, j in np.ndindex(strands, segments, strands, segments):
        if h <= g:
            continue
        p, q = points[g, i : i + 2], points[h, j : j + 2]
        u, w = closest_fractions(p, q)
        if (u == 1 and i < segments - 1) or (w == 1 and j < segments - 1):
            continue
        gap = (1 - u) * p[0] + u * p[1] - (1 - w) * q[0] - w * q[1]
        rows = np.array([g * vertices + i, g * vertices + i + 1, h * vertices + j, h * vertices + j + 1])
        scale = 1 - abs(_unit(p[1] - p[0]) @ _unit(q[1] - q[0]))  # chang2002 eq. 3
        if scale < LEAST_SCALE:
            continue
        weights = np.array([1 - u, u, w - 1, -w])
        result.append(Contact(rows, weights, _unit(gap), float(np.linalg.norm(gap)), float(scale)))
    return result


def face_contacts(points: Float64Array, pairs: IntArray, density: Float64Array) -> list[Contact]:
    """Vertices of all other strands over the triangles of strips (P, 2), with the density (P, 2 N) of each."""
    strands, vertices = points.shape[:2]
    flat = points.reshape(-1, 3)
    result = []
    for p, t in np.ndindex(len(pairs), 2 * (vertices - 1)):
        (a, b), i = pairs[p], t // 2
        guides = (a, a, b) if t % 2 == 0 else (b, b, a)
        places = (i, i + 1, i) if t % 2 == 0 else (i + 1, i, i + 1)
        corner = np.array([g * vertices + v for g, v in zip(guides, places, strict=True)])
        x, y, z = flat[corner]
        normal = _unit(np.cross(y - x, z - x))
        along = [_unit(points[g, i + 1] - points[g, i]) for g in (guides[0], guides[2])]
        for g, v in np.ndindex(strands, vertices):
            if g in (a, b):
                continue
            height = (points[g, v] - x) @ normal
            foot = points[g, v] - height * normal
            share = np.linalg.lstsq(np.stack([y - x, z - x], axis=1), foot - x, rcond=None)[0]
            weights = np.array([1 - share.sum(), *share])
            if (weights < 0).any():
                continue
            own = _unit(points[g, min(v + 1, vertices - 1)] - points[g, max(v - 1, 0)])
            hair = _unit((1 - share[1]) * along[0] + share[1] * along[1])
            scale = 1 - abs(own @ hair)
            if scale < LEAST_SCALE or density[p, t] == 0:
                continue
            rows = np.array([g * vertices + v, *corner])
            side = 1.0 if height >= 0 else -1.0
            contact = Contact(rows, np.array([1, *-weights]), side * normal, abs(height), float(density[p, t] * scale))
            result.append(contact)
    return result


def push_forces(
    contacts: list[Contact],
    velocity: Float64Array,
    inv_mass: Float64Array,
    table: Float64Array,
    thickness: float,
    laws: tuple[float, float, float, float],
    dt: float,
) -> Float64Array:
    """Forces of all contacts on the vertices [N], shape (G V, 3); `table` is |W| (G, V, V) of `contact.compliance`."""
    rate, ratio, friction, fastest = laws
    strands, vertices = table.shape[:2]
    busy = np.zeros(strands * vertices)
    for contact in contacts:
        np.add.at(busy, contact.vertices, contact.scale * np.abs(contact.weights))
    give = np.einsum("gvw,gw->gv", table, busy.reshape(strands, vertices)).reshape(-1)
    force = np.zeros_like(velocity)
    for contact in contacts:
        light = (contact.weights**2 * inv_mass[contact.vertices]).sum()
        s = (np.abs(contact.weights) * give[contact.vertices]).sum()
        moving = contact.weights @ velocity[contact.vertices]
        speed = moving @ contact.normal
        k, c = rate**2 / light, 2 * ratio * rate / light
        # As in links: overlap is undone as far as a step can, what comes is stopped as far as it can.
        firm, soft = 1 / (1 + k * dt**2 * s), 1 / (1 + (k * dt**2 + c * dt) * s)
        depth = min(thickness - contact.gap, fastest * (dt + 2 * ratio / rate) * soft / firm)
        normal = max(contact.scale * (firm * k * dt * depth - soft * (k * dt**2 + c * dt) * speed), 0.0)
        sliding = moving - speed * contact.normal
        brake = min(friction * normal / np.linalg.norm(sliding), contact.scale / s)
        np.add.at(force, contact.vertices, np.outer(contact.weights, normal * contact.normal - brake * sliding) / dt)
    return force

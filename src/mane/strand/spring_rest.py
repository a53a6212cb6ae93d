"""Rest lengths with which the groomed shape of a `SpringNet` is its equilibrium under gravity.

A clamped strand's net is statically determinate when its altitudes are left without strain: the three springs of a
joint carry the moment of the weight beyond it, the braces then balance the auxiliary particles, the segments the
vertices. So the tensions follow in closed form, and a spring's rest length is its length less tension / stiffness.
"""

from __future__ import annotations

import numpy as np

from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.spring_joints import Joints
from mane.strand.spring_net import GHOSTS, TO_BRACE, TO_FAR, TO_NEXT, SpringNet, without_clamp

# A spring of a joint may be strained this much to carry the weight (a joint then rests some 0.7 rad away from where it
# is groomed); joints that would need more are stiffened, since softer ones snap through. Strands that `hold` has
# stiffened stay below it.
LARGEST_STRAIN = 0.2

_AUXILIARY, _VERTEX = slice(GHOSTS + 1, None, 2), slice(GHOSTS + 2, None, 2)


def without_sag(net: SpringNet, model: StrandModel) -> SpringNet:
    """Return the net with rest lengths that carry the weight of the groomed shape.

    Joints that would need more strain than `LARGEST_STRAIN` are made stiffer. A hinge carries no moment: the rest of a
    hinged strand is prepared as if it did. A free strand falls and is left as it is.
    """
    tension = static_tensions(net, model)
    tension[model.root_kind == RootKind.FREE] = 0.0
    stiffness, altitude = net.stiffness.copy(), net.altitude_stiffness.copy()
    strain = np.abs(tension) / np.where(stiffness > 0, stiffness * net.rest_length, np.inf)
    joint = np.maximum(strain[:, _AUXILIARY, TO_NEXT:].max(axis=-1), strain[:, _VERTEX, TO_FAR])
    factor = np.maximum(joint / LARGEST_STRAIN, 1.0)
    stiffness[:, _AUXILIARY, TO_NEXT:] *= factor[..., None]
    stiffness[:, _VERTEX, TO_FAR] *= factor
    altitude[:, _AUXILIARY] *= factor
    altitude[:, _VERTEX] *= factor
    stretched = np.divide(tension, stiffness, out=np.zeros_like(tension), where=stiffness > 0)
    return without_clamp(net.with_springs(stiffness, net.rest_length - stretched, altitude), model.root_kind)


def static_tensions(net: SpringNet, model: StrandModel) -> Float64Array:
    """Tension of every spring [N], shape (G, P, 3), that balances gravity in the groomed shape of clamped strands."""
    particles = net.rest_points
    weight = net.mass[..., None] * model.gravity
    tension = np.zeros((*particles.shape[:2], 3))
    springs = Joints.of(particles).levers[..., :3, :]
    carried = np.linalg.solve(np.swapaxes(springs, -1, -2), _moments_beyond(particles, weight)[..., None])[..., 0]
    tension[:, _AUXILIARY, TO_NEXT] = carried[..., 0]
    tension[:, _AUXILIARY, TO_FAR] = carried[..., 1]
    tension[:, _VERTEX, TO_FAR] = carried[..., 2]
    _balance_auxiliary(particles, weight, tension)
    _balance_vertices(particles, weight, tension)
    return tension


def net_forces(particles: Float64Array, tension: Float64Array) -> Float64Array:
    """Sum of the springs' forces on each particle [N], shape (G, P, 3)."""
    force = np.zeros_like(particles)
    for which in range(3):
        apart = particles[:, which + 1 :] - particles[:, : -which - 1]
        pull = apart * (tension[:, which + 1 :, which] / np.linalg.norm(apart, axis=-1))[..., None]
        force[:, which + 1 :] -= pull
        force[:, : -which - 1] += pull
    return force


def _moments_beyond(particles: Float64Array, weight: Float64Array) -> Float64Array:
    """Moment about each joint of the weight of all particles beyond it [N m], shape (G, N, 3)."""
    total = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
    moment = np.cumsum(np.cross(particles, weight)[:, ::-1], axis=1)[:, ::-1]
    about: Float64Array = moment[:, _AUXILIARY] - np.cross(particles[:, GHOSTS:-1:2], total[:, _AUXILIARY])
    return about


def _balance_auxiliary(particles: Float64Array, weight: Float64Array, tension: Float64Array) -> None:
    """Set the tensions of the braces."""
    open_force = (weight + net_forces(particles, tension))[:, _AUXILIARY]
    towards = np.stack([particles[:, GHOSTS:-1:2], particles[:, _VERTEX]], axis=-1) - particles[:, _AUXILIARY, :, None]
    towards /= np.linalg.norm(towards, axis=-2, keepdims=True)
    # The unbalanced force lies in the triangle's plane: two braces suffice.
    normal = np.swapaxes(towards, -1, -2) @ towards
    braces = np.linalg.solve(normal, -np.swapaxes(towards, -1, -2) @ open_force[..., None])[..., 0]
    tension[:, _AUXILIARY, TO_BRACE] = braces[..., 0]
    tension[:, _VERTEX, TO_BRACE] = braces[..., 1]


def _balance_vertices(particles: Float64Array, weight: Float64Array, tension: Float64Array) -> None:
    """Set the tensions of the segments."""
    open_force = (weight + net_forces(particles, tension))[:, _VERTEX]
    beyond = np.cumsum(open_force[:, ::-1], axis=1)[:, ::-1]
    segment = particles[:, _VERTEX] - particles[:, GHOSTS:-1:2]
    along = segment / np.linalg.norm(segment, axis=-1, keepdims=True)
    tension[:, _VERTEX, TO_NEXT] = (along * beyond).sum(axis=-1)

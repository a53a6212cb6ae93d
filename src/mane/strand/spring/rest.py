"""Rest lengths with which the groomed shape of a `SpringNet` is its equilibrium under gravity.

The static balance of a clamped strand needs no search. The five springs of a joint carry the moment of the weight
beyond it, each as much as its stiffness says; the braces then balance the auxiliary particles, the segments the
vertices. So the tensions follow in closed form, and a spring's rest length is its length less tension / stiffness.

Springs under tension turn a joint more or less easily than their stiffness alone says. If the three springs without the
altitudes carried the moment, as they could, that would make a groom's joints up to ten times as soft to one side.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.spring.joints import Joints
from mane.strand.spring.net import AUXILIARY, GHOSTS, TO_BRACE, TO_NEXT, VERTEX, SpringNet, without_clamp

# A joint may rest this far [rad] from where it is groomed to carry the weight; joints that would need more are
# stiffened, since softer ones snap through. Strands that `stiffen_to_stand` has stiffened stay below it.
LARGEST_TURN = 0.7


def without_sag(net: SpringNet, model: StrandModel) -> tuple[SpringNet, Float64Array]:
    """Return the net with rest lengths that carry the weight of the groomed shape, and how much stiffer joints became.

    That is a factor of at least 1 per joint, shape (G, N). Joints that would need more turn than `LARGEST_TURN` are
    made stiffer. A hinge carries no moment: the rest of a hinged strand is prepared as if it did. A free strand falls
    and is left as it is.
    """
    held = model.root_kind != RootKind.FREE
    weight = net.mass[..., None] * model.gravity * held[:, None, None]
    moment = _moments_beyond(net.rest_points, weight)
    joints, stiffness = Joints.of(net.rest_points), net.joint_stiffness
    stiffness[model.root_kind != RootKind.CLAMPED, 0] = 1.0  # any springs will do, which are taken away again
    turn = np.linalg.norm(_turned(joints, stiffness, moment), axis=-1)
    factor = np.maximum(turn / LARGEST_TURN, 1.0)
    stiffness *= factor[..., None]
    carried = stiffness * np.einsum("gnki,gni->gnk", joints.levers, _turned(joints, stiffness, moment))
    stiffer = net.with_joint_stiffness(stiffness)
    tension, altitude_tension = _tensions(stiffer, joints, carried, weight)
    stretched, risen = (
        np.divide(pull, by, out=np.zeros_like(pull), where=by > 0)
        for pull, by in ((tension, stiffer.stiffness), (altitude_tension, stiffer.altitude_stiffness))
    )
    resting = replace(stiffer, rest_length=net.rest_length - stretched, rest_altitude=net.rest_altitude - risen)
    return without_clamp(resting, model.root_kind), np.where(_is_looked_at(model), factor, 1.0)


def _is_looked_at(model: StrandModel) -> NDArray[np.bool_]:
    """Joints whose stiffness carries weight (G, N): not those of free strands, nor hinges at roots."""
    carries = np.repeat((model.root_kind != RootKind.FREE)[:, None], model.segment_count, axis=1)
    carries[:, 0] &= model.root_kind == RootKind.CLAMPED
    return carries


def _turned(joints: Joints, stiffness: Float64Array, moment: Float64Array) -> Float64Array:
    """Turn of each joint [rad] under its moment, shape (G, N, 3)."""
    turned: Float64Array = np.einsum("gnij,gnj->gni", joints.turns(stiffness), moment)
    return turned


def _moments_beyond(particles: Float64Array, weight: Float64Array) -> Float64Array:
    """Moment about each joint of the weight of all particles beyond it [N m], shape (G, N, 3)."""
    total = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
    moment = np.cumsum(np.cross(particles, weight)[:, ::-1], axis=1)[:, ::-1]
    about: Float64Array = moment[:, AUXILIARY] - np.cross(particles[:, GHOSTS:-1:2], total[:, AUXILIARY])
    return about


def _tensions(
    net: SpringNet, joints: Joints, carried: Float64Array, weight: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Tension [N] of springs (G, P, 3) and altitudes (G, P) that balance the weight; `carried` by those of joints."""
    resting = replace(net, stiffness=np.zeros_like(net.stiffness), altitude_stiffness=np.zeros_like(net.rest_altitude))
    placed = resting.with_joint_stiffness(carried)
    tension, altitude_tension = placed.stiffness, placed.altitude_stiffness
    open_force = weight.copy()
    count = 2 * carried.shape[1]
    for number, force in enumerate(np.moveaxis(joints.forces(carried), 2, 0)):
        open_force[:, number : number + count : 2] += force
    _balance_auxiliary(net.rest_points, open_force, tension)
    _balance_vertices(net.rest_points, open_force, tension)
    return tension, altitude_tension


def _balance_auxiliary(particles: Float64Array, open_force: Float64Array, tension: Float64Array) -> None:
    """Set the tensions of the braces, and add what they do to the open forces."""
    towards = np.stack([particles[:, GHOSTS:-1:2], particles[:, VERTEX]], axis=-1) - particles[:, AUXILIARY, :, None]
    towards /= np.linalg.norm(towards, axis=-2, keepdims=True)
    # The unbalanced force lies in the triangle's plane: two braces suffice.
    normal = np.swapaxes(towards, -1, -2) @ towards
    braces = np.linalg.solve(normal, -np.swapaxes(towards, -1, -2) @ open_force[:, AUXILIARY, :, None])[..., 0]
    tension[:, AUXILIARY, TO_BRACE] = braces[..., 0]
    tension[:, VERTEX, TO_BRACE] = braces[..., 1]
    open_force[:, GHOSTS:-1:2] -= towards[..., 0] * braces[..., :1]
    open_force[:, VERTEX] -= towards[..., 1] * braces[..., 1:]


def _balance_vertices(particles: Float64Array, open_force: Float64Array, tension: Float64Array) -> None:
    """Set the tensions of the segments."""
    beyond = np.cumsum(open_force[:, VERTEX][:, ::-1], axis=1)[:, ::-1]
    segment = particles[:, VERTEX] - particles[:, GHOSTS:-1:2]
    along = segment / np.linalg.norm(segment, axis=-1, keepdims=True)
    tension[:, VERTEX, TO_NEXT] = (along * beyond).sum(axis=-1)

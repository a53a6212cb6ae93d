"""The rigid skin: guides carried from root to root, and curls that ride on them."""

import numpy as np
import pytest
from plain_physical import one_each, places_beside, unit
from skin_frames import SOMEWHERE, curls, frame_of, guides_of, other_guides, reordered, reordered_frame, shaken

from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.geometry import quaternion
from mane.geometry._reference import transport_frames
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin import _reference as reference
from mane.skin.binding import bind_guides
from mane.skin.normals import root_normals
from mane.skin.rigid.skin import RigidSkin

# Quaternions and points of some 0.5 m in float32, through three rotations.
ROUNDING = 3e-6
BINDINGS = [("single", 1), ("triangle", 3), ("nearest", 5)]


def transports(groom, guides, binding):
    """Smallest turns (S, K, 3, 3) from the skin at the root of each guide to that at the hair's, either side of it."""
    of_hair, of_guide = root_normals(groom, groom.roots), root_normals(groom, guides.roots)
    out = np.empty((*binding.guides.shape, 3, 3))
    for s, k in np.ndindex(binding.guides.shape):
        here, there = of_hair[s], of_guide[binding.guides[s, k]]
        out[s, k] = quaternion.to_matrix(quaternion.between_vectors(there if here @ there >= 0 else -there, here))
    return out


def vertex_turns(guides, frame):
    """How each vertex of a guide has turned since rest, seen from its root (G, U, 4): halfway between its segments."""
    rest, now = (unit(np.diff(points.astype(np.float64), axis=1)) for points in (guides.rest, frame.points))
    root = quaternion.normalize(frame.root_rotations.astype(np.float64))
    still = transport_frames(rest, np.tile([0.0, 0.0, 0.0, 1.0], (len(rest), 1)))
    turned = quaternion.multiply(transport_frames(now, root), quaternion.conjugate(still))
    turned = quaternion.multiply(quaternion.conjugate(root)[:, None], turned)
    out = np.empty((len(rest), rest.shape[1] + 1, 4))
    for g, turns in enumerate(turned):
        for i in range(1, len(turns)):
            turns[i] *= 1 if turns[i] @ turns[i - 1] >= 0 else -1
        out[g] = quaternion.normalize(np.vstack([turns[:1], turns]) + np.vstack([turns, turns[-1:]]))
    return out


@pytest.mark.parametrize(("binding", "count"), BINDINGS)
def test_it_is_its_reference(binding, count):
    groom, guides = curls(60, 11), other_guides(15, 9)
    frame = shaken(guides)
    bound = bind_guides(groom, guides, binding, count)
    turns = transports(groom, guides, bound)
    bundles = one_each(bound, places_beside(groom, guides, bound, turns))
    expected = reference.rigid_hairs(
        groom.as_uniform(), guides.rest, turns, bound, bundles, frame, vertex_turns(guides, frame)
    )
    skin = RigidSkin(groom, guides, binding=binding, count=count)
    np.testing.assert_allclose(skin(frame), expected, atol=ROUNDING)


@pytest.mark.parametrize(("binding", "count"), BINDINGS)
def test_guides_at_rest_give_the_groom(binding, count):
    groom = styles.make("curly", strands=400, vertices=16, seed=2)
    skin = RigidSkin(groom, guides_of(groom, 40, vertices=12), binding=binding, count=count)
    np.testing.assert_allclose(skin(frame_of(skin.guides)), groom.as_uniform(), atol=ROUNDING)


@pytest.mark.parametrize("detail", [True, False])
def test_a_head_that_moves_rigidly_carries_the_hair_rigidly(detail):
    groom = styles.make("curly", strands=400, vertices=16, seed=2)
    skin = RigidSkin(groom, guides_of(groom, 40), binding="triangle", detail=detail)
    still = skin(frame_of(skin.guides)).astype(np.float64)
    np.testing.assert_allclose(skin(frame_of(skin.guides, SOMEWHERE)), SOMEWHERE.apply(still), atol=ROUNDING)


def test_without_detail_hairs_are_guides_turned_to_their_own_normal():
    """Bristles on a ball: each hair is its guide turned about the ball's centre, as eq. 4 has it."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(400, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    rise = np.linspace(0.1, 0.15, 6)[:, None]
    groom = Groom.from_uniform(normal[:, None] * rise)
    skin = RigidSkin(groom, guides_of(groom, 40), detail=False, scalp=Sphere((0, 0, 0), 0.1).mesh(128))
    # Facets of 0.049 rad give smooth normals to a tenth of that, two of them are compared, and bristles are 5 cm long.
    np.testing.assert_allclose(skin(frame_of(skin.guides)), groom.as_uniform(), atol=2 * 0.0049 * 0.05)


def test_normals_without_a_scalp_are_those_of_the_surface_through_the_roots():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(1500, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    groom = Groom.from_uniform(normal[:, None] * np.array([0.1, 0.15])[:, None])
    found = root_normals(groom, groom.roots)
    cosine = np.abs((found * normal).sum(axis=1))
    assert np.degrees(np.arccos(np.clip(cosine, 0, 1))).mean() < 3
    line = Groom.from_uniform(np.arange(30)[:, None, None] * np.ones((2, 3)) + [[[0, 0, 0], [0, 1, 0]]])
    assert (root_normals(line, line.roots) == 0).all()


def test_a_curl_rides_on_its_spine():
    """A straight guide that bends by a right angle behind its middle takes a curl around it along, with its shape."""
    along = np.linspace(0, 0.2, 41)
    spine = np.stack([0 * along, along, 0 * along], axis=1)
    curl = spine + 0.01 * np.stack([np.cos(100 * along), 0 * along, np.sin(100 * along)], axis=1) - [0.01, 0, 0]
    guides = Guides.from_groom(Groom.from_uniform(spine[None]))
    bent = spine.copy()
    bent[21:] = bent[20] + (along[21:, None] - along[20]) * [1, 0, 0]
    skin = RigidSkin(Groom.from_uniform(curl[None]), guides)
    # The hair is longer than its guide, so it is compared by what it shows of the curl: the distance to its spine.
    moved = skin(frame_of(guides, points=bent[None]))[0].astype(np.float64)
    places = reference.at_parameter(bent[None], 0, skin.bundles.parameter[0, 0])
    before = reference.at_parameter(spine[None], 0, skin.bundles.parameter[0, 0])
    radius, was = np.linalg.norm(moved - places, axis=1), np.linalg.norm(curl - before, axis=1)
    np.testing.assert_allclose(radius, was, atol=1e-6)
    # Beyond the bend, what pointed along +y points along +x.
    beyond = skin.bundles.parameter[0, 0] > 22
    np.testing.assert_allclose((moved - places)[beyond, 0], (curl - before)[beyond, 1], atol=1e-6)


def test_the_numbers_of_guides_do_not_matter():
    groom = curls(100, 9)
    guides = guides_of(groom, 20)
    frame = shaken(guides)
    order = np.random.default_rng(1).permutation(20)
    first = RigidSkin(groom, guides, binding="triangle")(frame)
    second = RigidSkin(groom, reordered(guides, order), binding="triangle")(reordered_frame(frame, order))
    np.testing.assert_array_equal(first, second)


def test_guides_that_turn_over_half_a_turn_do_not_break_the_frames():
    """A guide wound up by several turns along its length: its frames pass the sign change of quaternions."""
    along = np.linspace(0, 0.3, 60)
    straight = np.stack([0 * along, along, 0 * along], axis=1)
    wound = 0.02 * np.stack([np.sin(40 * along), 10 * along, 1 - np.cos(40 * along)], axis=1)
    guides = Guides.from_groom(Groom.from_uniform(straight[None]))
    hair = Groom.from_uniform((straight + [0.002, 0, 0])[None])
    skin = RigidSkin(hair, guides)
    moved = skin(frame_of(guides, Pose.identity(), points=wound[None]))[0]
    steps = np.linalg.norm(np.diff(moved, axis=0), axis=1)
    guide_steps = np.linalg.norm(np.diff(wound, axis=0), axis=1)
    # Offset by 2 mm on a coil of 2 cm, steps differ by a tenth; a flipped frame would make one of 4 mm more.
    np.testing.assert_allclose(steps, guide_steps, atol=0.15 * guide_steps.max())


@pytest.mark.parametrize(("binding", "count"), BINDINGS)
def test_threads_change_no_byte(binding, count, on_threads):
    groom = curls(60, 11)
    guides = guides_of(groom, 15, vertices=9)
    on_threads(lambda: RigidSkin(groom, guides, binding=binding, count=count)(shaken(guides)))

"""Hairs follow guides that come and go during a run: the weights of finer triangles, and no jump on the way there."""

from dataclasses import replace

import numpy as np
import pytest
from skin_frames import SOMEWHERE, curls, frame_of, guides_of, shaken

import mane
from mane.contact.adaptive.adaptive import AdaptiveGuides
from mane.geometry import quaternion
from mane.geometry.frames import segment_frames
from mane.groom.groom import Groom
from mane.scene.simulation import Simulation
from mane.skin._reference import shared_out
from mane.skin.physical.forces import InheritedForces
from mane.strand.frame import InsertedGuides
from mane.strand.halfway import halfway_points

HAIRS, GUIDES, VERTICES = 300, 12, 9
METHODS = ("linear", "physical", "rigid")


def parents_of(skin, count=3):
    """The pairs of guides that most hairs hang on both of."""
    guides = skin.binding.guides[(skin.binding.weights > 0.05).all(axis=1)]
    pairs, seen = np.unique(np.sort(guides[:, :2], axis=1), axis=0, return_counts=True)
    return pairs[np.argsort(-seen, kind="stable")[:count]].astype(np.int64)


def inserted_rest(rest, parents):
    """Strands half-way between others, as a simulation without a body has them at rest."""
    length = np.linalg.norm(np.diff(rest, axis=1), axis=2)
    return halfway_points(rest, parents, rest[parents, 0].mean(axis=1), length[parents].mean(axis=1))


def inserted_into(frame, guides, parents, weight, points=None):
    """A frame with guides inserted where their rest strands would be carried to, or at `points`."""
    rest = inserted_rest(guides.rest, parents)
    turn = quaternion.slerp(*(frame.root_rotations[parents[:, k]].astype(np.float64) for k in (0, 1)), 0.5)
    roots = frame.roots[parents].mean(axis=1)
    carried = quaternion.rotate(turn[:, None], rest - rest[:, :1]) + roots[:, None]
    points = np.asarray(carried if points is None else points, np.float32)
    return replace(
        frame,
        inserted=InsertedGuides(
            parents,
            np.full(len(parents), weight, np.float32),
            rest.astype(np.float32),
            points,
            np.zeros_like(points),
            segment_frames(points),
            frame.cut_force[parents].mean(axis=1),
            np.ascontiguousarray(points[:, 0]),
            turn.astype(np.float32),
        ),
    )


@pytest.fixture(scope="module")
def head():
    groom = curls(HAIRS, VERTICES)
    return groom, guides_of(groom, GUIDES)


def bound(method, head):
    settings = {"binding": "triangle"} if method == "rigid" else {}
    return mane.skin(method, *head, **settings)


def brush():
    """Ten guides that hang in two rows, a centimetre apart, and 400 hairs between them, all alike."""
    x, z = (grid.ravel() for grid in np.meshgrid(np.arange(5) * 0.01, np.arange(2) * 0.01))
    rng = np.random.default_rng(3)
    roots = np.concatenate([np.stack([x, z], axis=1), rng.uniform([0, 0], [0.04, 0.01], (400, 2))])
    roots = np.insert(roots, 1, 0.0, axis=1)
    points = roots[:, None] + np.linspace(0, 1, 10)[:, None] * np.array([0.0, -0.12, 0.0])
    groom = Groom.from_uniform(points.astype(np.float32))
    return groom, mane.Guides.chosen(groom, np.arange(10))


# -- weights -----------------------------------------------------------------------------------------------------------


def test_one_edge_gives_the_weights_of_the_two_finer_triangles():
    weight = np.random.default_rng(1).dirichlet([1, 1, 1], 200)
    shared = shared_out(weight, np.ones((200, 1)), np.tile([[[0, 1]]], (200, 1, 1)))
    # The same place in terms of a, b, d and c = (a + b) / 2, without the farther of a and b.
    np.testing.assert_allclose(shared[:, 0] + shared[:, 3] / 2, weight[:, 0], atol=1e-6)
    np.testing.assert_allclose(shared[:, 1] + shared[:, 3] / 2, weight[:, 1], atol=1e-6)
    np.testing.assert_allclose(shared[:, 2], weight[:, 2], atol=1e-6)
    np.testing.assert_allclose(np.minimum(shared[:, 0], shared[:, 1]), 0, atol=1e-6)


def test_three_edges_leave_nothing_to_the_corners_in_the_middle():
    edges = np.array([[[0, 1], [1, 2], [2, 0]]])
    middle = shared_out(np.full((1, 3), 1 / 3), np.ones((1, 3)), edges)
    np.testing.assert_allclose(middle, [[0, 0, 0, 1 / 3, 1 / 3, 1 / 3]], atol=1e-6)


def test_weights_are_never_negative_keep_their_sum_and_change_smoothly():
    rng = np.random.default_rng(2)
    weight, fade = rng.dirichlet([1, 1, 1], 500), rng.random((500, 3))
    edges = np.tile([[[0, 1], [1, 2], [2, 0]]], (500, 1, 1))
    shared = shared_out(weight, fade, edges)
    assert shared.min() >= 0
    np.testing.assert_allclose(shared.sum(axis=1), 1, atol=1e-6)
    nearby = shared_out(weight, np.minimum(fade + 1e-3, 1), edges)
    # Each of the three takes at most half of everything, and scaling them down changes the others as much.
    assert np.abs(nearby - shared).max() < 4e-3


def test_a_hair_on_one_guide_goes_over_to_a_nearer_root():
    groom, guides = brush()
    skin = mane.skin("rigid", groom, guides, binding="single")
    parents = np.array([[0, 1]])
    frame = inserted_into(frame_of(guides), guides, parents, 1.0)
    part = skin._regrouped(frame, skin.binding.weights)
    middle = guides.roots[[0, 1]].mean(axis=0)
    own = guides.roots[skin.binding.guides[part.hairs, 0]]
    nearer = np.linalg.norm(groom.roots[part.hairs] - middle, axis=1) < np.linalg.norm(
        groom.roots[part.hairs] - own, axis=1
    )
    np.testing.assert_array_equal(part.weight, np.stack([~nearer, nearer], axis=1))
    assert nearer.any()


@pytest.mark.parametrize("binding", ["triangle", "single"])
def test_the_kernel_shares_out_as_specified(binding, head):
    groom, guides = head
    skin = mane.skin("rigid", groom, guides, binding=binding)
    pairs = parents_of(mane.skin("linear", groom, guides), 9)
    frame = inserted_into(frame_of(guides), guides, pairs, 1.0)
    fade = np.random.default_rng(5).random(9).astype(np.float32)
    fade[4] = 0.0
    frame = replace(frame, inserted=replace(frame.inserted, weight=fade))
    part, follow = skin._regrouped(frame, skin.binding.weights), skin._following
    assert len(part.hairs) > 100
    # The bundles that have both parents, or the one guide of a bundle that is a parent, and no others.
    own = skin.bundles.guide
    has = (own[:, None, :, None] == pairs[None, :, None, :]).any(axis=2)
    concerned = (has.any(axis=2) if binding == "single" else has.all(axis=2)) & (fade > 0)
    np.testing.assert_array_equal(part.bundle, np.flatnonzero(concerned.any(axis=1)))
    for row, bundle in enumerate(part.bundle):
        there = follow.edges[row][follow.edges[row] >= 0]
        np.testing.assert_array_equal(there, np.flatnonzero(concerned[bundle]))
        if binding == "triangle":
            np.testing.assert_array_equal(own[bundle][follow.ends[row, : len(there)]], pairs[there])
    share = np.where(follow.edges >= 0, fade[follow.edges], 0.0)[part.of_hair] * follow.is_nearer
    weight = skin.binding.weights[part.hairs].astype(np.float64)
    np.testing.assert_array_equal(part.weight, shared_out(weight, share, follow.ends[part.of_hair]))


# -- skins -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_guides_that_nobody_follows_yet_change_no_byte(method, head):
    skin = bound(method, head)
    frame = shaken(head[1])
    plain = skin(frame).copy()
    np.testing.assert_array_equal(skin(inserted_into(frame, head[1], parents_of(skin), 0.0)), plain)
    np.testing.assert_array_equal(skin(inserted_into(frame, head[1], np.zeros((0, 2), np.int64), 0.0)), plain)


@pytest.mark.parametrize("method", METHODS)
def test_at_rest_the_groom_stays_the_groom(method, head):
    _, guides = head
    skin = bound(method, head)
    still = inserted_into(frame_of(guides, SOMEWHERE), guides, parents_of(skin), 1.0)
    if method == "physical":  # its rest is that of the guides' own cut forces
        forces = skin._loads.forces.model
        beyond = np.cumsum(forces.mass[:, :0:-1], axis=1)[:, ::-1, None] * forces.gravity
        turned = quaternion.rotate(SOMEWHERE.rotation, beyond).astype(np.float32)
        still = replace(still, cut_force=turned)
        still = inserted_into(replace(still, inserted=None), guides, parents_of(skin), 1.0)
    plain = skin(replace(still, inserted=None)).copy()
    # Float32, through nine segments. Loads of the physical skin are read where they are beside a hair, and half-way
    # between two curls of different pitch the load at the mean of two places is not quite the mean of their loads.
    assert np.abs(skin(still) - plain).max() < (3e-4 if method == "physical" else 2e-5)


@pytest.mark.parametrize(
    ("method", "settings"), [("linear", {}), ("physical", {"load": "force"}), ("physical", {"sweeps": 3})]
)
def test_a_guide_that_does_as_its_parents_do_changes_nothing(method, settings):
    groom, guides = brush()  # alike in shape, so that the same places of all guides go with a vertex
    # Forces are shared out evenly; the moments of a guide between two bent ones are not quite the mean of theirs.
    skin = mane.skin(method, groom, guides, **settings)
    parents = parents_of(skin)
    rng = np.random.default_rng(4)
    bend = 0.03 * rng.normal(0, 1, (guides.count, 1, 3)) * np.linspace(0, 1, guides.vertex_count)[:, None] ** 2
    frame = frame_of(guides, points=guides.rest + bend)
    frame = replace(frame, cut_force=rng.normal(0, 1e-6, frame.cut_force.shape).astype(np.float32))
    points = inserted_rest(guides.rest, parents) + bend[parents].mean(axis=1)
    plain = skin(frame).copy()
    changed = skin(inserted_into(frame, guides, parents, 1.0, points)) - plain
    assert np.abs(changed).max() < 2e-6  # float32 at 12 cm, over ten segments
    assert len(skin._regrouped(inserted_into(frame, guides, parents, 1.0, points), skin.binding.weights).hairs) > 50


def inherited_of(rng, bundles, guides, columns, of_hair):
    """Something that hairs of four segments feel."""
    weight = rng.dirichlet(np.ones(columns), len(of_hair)).astype(np.float32)
    turns = quaternion.normalize(np.array([0.0, 0, 0, 1]) + 0.1 * rng.normal(size=(guides + 1, 4)))
    places = rng.uniform(0, 5, (bundles, columns, 5)).astype(np.float32)
    guide = rng.integers(0, guides, (bundles, columns)).astype(np.int32)
    return InheritedForces(rng.normal(size=(guides, 6, 3)), places, turns, weight, guide, of_hair)


def test_hairs_feel_inserted_guides_in_bundles_of_their_own():
    rng = np.random.default_rng(5)
    of_hair = np.array([0, 1, 2, 1, 0, 2], np.int32)
    hairs = np.flatnonzero(of_hair != 1)
    inherited = inherited_of(rng, 3, 7, 3, of_hair)
    inherited = replace(inherited, regrouped=(hairs, inherited_of(rng, 2, 9, 5, of_hair[hairs] // 2)))
    force, turn = inherited.of_hairs(slice(None))
    shared = inherited.by_bundle
    own, weight = shared.of_bundle[of_hair], shared.weight.astype(np.float64)
    np.testing.assert_allclose(np.einsum("sk,skic->sic", weight, shared.force[own]), force, atol=1e-12)
    blended = np.einsum("sk,skc->sc", weight, shared.rotations[shared.guide[own]])
    np.testing.assert_allclose(quaternion.normalize(blended), turn, atol=1e-6)  # weights are float32 of sum 1


def test_the_linear_skin_moves_hairs_by_what_the_inserted_guide_does_beside_its_parents(head):
    _, guides = head
    skin = bound("linear", head)
    parents = parents_of(skin, 1)
    frame = frame_of(guides)
    aside = np.array([0.0, 0.0, 0.02])
    part = skin._regrouped(inserted_into(frame, guides, parents, 1.0), skin.binding.weights)
    for fade in (0.25, 1.0):
        moved = inserted_into(frame, guides, parents, fade, inserted_rest(guides.rest, parents) + aside)
        change = skin(moved) - skin.groom.as_uniform()
        a, b = (((skin.binding.guides == p) * skin.binding.weights).sum(axis=1) for p in parents[0])
        expected = 2 * fade * np.minimum(a, b)[:, None, None] * aside  # chang2002 4.3 as redistribution of weights
        np.testing.assert_allclose(change, np.broadcast_to(expected, change.shape), atol=1e-6)
    assert len(part.hairs) > 10


@pytest.mark.parametrize("method", METHODS)
def test_threads_change_no_byte(method, head, on_threads):
    groom, guides = head
    frame = shaken(guides)
    points = inserted_rest(frame.points, parents := parents_of(bound("linear", head), 9)) + [0.0, 0.0, 0.02]
    frame = inserted_into(frame, guides, parents, 0.7, points)
    plain = bound(method, head)(replace(frame, inserted=None))
    assert (on_threads(lambda: bound(method, (groom, guides))(frame)) != plain).any(axis=(1, 2)).sum() > 100


# -- the full head does not pop ----------------------------------------------------------------------------------------


def parting(points, time):
    out = np.zeros_like(points)
    out[:, 0] = np.sign(points[:, 0] - 0.02) * (1.0 if 0.2 < time < 0.9 else 0.0)
    return out


@pytest.mark.parametrize("method", METHODS)
def test_the_head_does_not_pop_when_guides_come_and_go(method):
    groom, guides = brush()
    skin = mane.skin(method, groom, guides, **({"binding": "triangle"} if method == "rigid" else {}))
    adaptive = AdaptiveGuides(opens_at=0.008, fade=0.25)
    simulation = Simulation(guides, forces=[adaptive], wind=parting, drag=1.0)
    before, counts, jumps, moves = None, [], [], []
    shown = None
    for _ in range(48):
        frame = simulation.step()
        points = skin(frame).astype(np.float64).copy()
        beside = points - skin(replace(frame, inserted=None))
        counts.append(frame.inserted.count)
        if before is not None:
            jumps.append(np.linalg.norm(beside - before, axis=2).max())
            moves.append(np.linalg.norm(points - shown, axis=2).max())
        before, shown = beside, points
    changes = np.flatnonzero(np.diff(counts))
    assert max(counts) > 0
    assert counts[-1] == 0
    jumps, moves = np.array(jumps), np.array(moves)
    # A guide comes without weight, and goes with that of its last frame: s^2 (3 - 2 s) at s = 1/6, of what parents at
    # most half the threshold apart leave between it and them.
    came = changes[np.diff(counts)[changes] > 0]
    assert jumps[came[0]] == 0.0
    assert jumps[changes].max() < 1e-3
    # In between, what it adds from frame to frame is no more than the wind does: it blows the hair 20 mm per frame.
    assert jumps.max() < moves.max()

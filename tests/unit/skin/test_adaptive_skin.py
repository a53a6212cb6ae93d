"""The adaptive skin: graph, cliques and choice against chai2017 as printed, and hair that parts around a tooth."""

import tracemalloc
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from skin_frames import SOMEWHERE, frame_of

from mane.body.motion import Pose
from mane.body.props import make_comb
from mane.body.sdf import build_sdf
from mane.body.shapes import Capsule, Sphere
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.measure.study.adaptive_steps import random_model
from mane.skin.adaptive import _reference as reference
from mane.skin.adaptive.graph import GRAZE, GuideGraph, MotionScale
from mane.skin.adaptive.params import AdaptiveParams
from mane.skin.adaptive.skin import RECOVERY, AdaptiveSkin
from mane.skin.adaptive.two_way import TwoWaySkin, effective_forces
from mane.strand.material import Material

TOOTH = Solid(Capsule((0.0, -0.1, -0.1), (0.0, -0.1, 0.1), 0.002))
ROUNDING = 1e-6


def curtain(hairs=41, vertices=9, width=0.08, depth=0.0):
    """Straight strands of 20 cm that hang from a bar, no two at the same distance from their neighbours."""
    rng = np.random.default_rng(1)
    points = np.zeros((hairs, vertices, 3), np.float32)
    points[:, :, 0] = (np.linspace(-width / 2, width / 2, hairs) + rng.uniform(-2e-4, 2e-4, hairs))[:, None]
    points[:, :, 2] = rng.uniform(-depth, depth, hairs)[:, None]
    points[:, :, 1] = -np.linspace(0, 0.2, vertices)
    return Groom.from_uniform(points)


def every(groom, step):
    """Every n-th strand as a guide, but never the middle one."""
    return Guides.chosen(groom, np.arange(step // 2, groom.strand_count, step))


def swung(guides, amount, time=0.0, pose=None):
    """Guides that part at x = 0 by `amount` [m] at their tips."""
    along = np.linspace(0, 1, guides.vertex_count) ** 2
    points = guides.rest.copy()
    points[:, :, 0] += amount * np.sign(guides.rest[:, :1, 0]) * along
    if pose is not None:
        points = pose.apply(points)
    return replace(frame_of(guides, pose, points=points), time=time, solid_poses=(pose or Pose.identity(),))


def random_graph(seed, count=14, use_solids=True, **settings):
    rng = np.random.default_rng(seed)
    rest = rng.normal(0, 0.05, (count, 6, 3)).astype(np.float32)
    pairs = np.array(list(combinations(range(count), 2)))
    a, b = rng.uniform(0.02, 0.2, (2, len(pairs)))
    scale = MotionScale(pairs, a, b, np.ones(len(pairs)))
    solid = Solid(Sphere((0.0, 0.0, 0.0), 0.02))
    params = AdaptiveParams(paper=True, use_solids=use_solids, **settings).decided(has_model=True)
    graph = GuideGraph(scale, count, [solid], [0], params)
    points = (rest + rng.normal(0, 0.02, rest.shape)).astype(np.float32)
    velocity = rng.normal(0, 0.05, rest.shape).astype(np.float32)
    guides = Guides.from_groom(Groom.from_uniform(rest))
    frame = replace(frame_of(guides, points=points), solid_poses=(Pose.identity(),))
    graph.update(frame, velocity, np.ones(count, np.float32))
    full_a, full_b = np.ones((2, count, count))
    full_a[pairs[:, 0], pairs[:, 1]] = full_a[pairs[:, 1], pairs[:, 0]] = a
    full_b[pairs[:, 0], pairs[:, 1]] = full_b[pairs[:, 1], pairs[:, 0]] = b
    double = points.astype(np.float64)
    d = reference.motion_difference(double, velocity.astype(np.float64), full_a, full_b, params.sigma)
    return graph, d, double, solid


def bits(rows, count):
    """Rows of bits as a boolean matrix."""
    return np.array([[bool(int(row[j >> 6]) >> (j & 63) & 1) for j in range(count)] for row in rows])


@pytest.mark.parametrize("seed", range(4))
def test_the_graph_is_that_of_the_paper(seed):
    graph, d, points, solid = random_graph(seed, delta=4.0)
    count = len(d)
    i, j = graph.scale.pairs.T
    np.testing.assert_allclose(graph.difference, d[i, j], rtol=1e-4)
    distance = solid.at(0.0).distance
    edges = bits(graph.edges, count)
    compared = 0
    for a, b in graph.scale.pairs:
        free = [
            reference.passes_interpolation_check(
                points[a], points[b], lambda p: distance(p.astype(np.float32)), GRAZE * m
            )
            for m in (0.5, 2.0)
        ]
        if free[0] == free[1] and abs(d[a, b] - 4.0) > 1e-3:  # not grazing
            compared += 1
            assert edges[a, b] == edges[b, a] == (d[a, b] < 4.0 and free[0])
    assert compared > 60
    assert edges.diagonal().all()
    assert 0.1 < edges[i, j].mean() < 0.9


def depth_between(first, second, distance, between):
    """How deep the ways between two guides are in a solid [m], (steps, ways).

    Each of `between` places of every segment, followed in steps; the first two are left out, where a way may begin
    in a solid.
    """
    share = np.linspace(0, 1, STEPS + 1)[2:, None, None, None]
    u = (np.arange(between) / between)[:, None, None]
    a, b = ((1 - u) * one[1:] + u * one[:-1] for one in (first, second))
    return -distance((a + share * (b - a)).reshape(-1, 3).astype(np.float32)).reshape(len(share), -1)


STEPS = 128


def comb_in_hair():
    return Solid(make_comb(teeth=9).shape), quaternion.from_axis_angle(np.array([1.0, 0.0, 0.0]), 1.5)


def ball_of_a_grid():
    mesh = Sphere((0.0, 0.0, 0.0), 0.008).mesh(16)
    return Solid(mesh, field=build_sdf(mesh, 24, cache=False)), np.array([0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize("made", [comb_in_hair, ball_of_a_grid])
def test_edges_are_where_no_way_leads_through_a_solid(made):
    """Every way between every pair followed in small steps: of combs tooth by tooth, of grids by their field."""
    rng = np.random.default_rng(6)
    solid, rotation = made()
    groom = curtain(hairs=14, vertices=8, depth=0.01)
    guides = every(groom, 1)
    pairs = np.array(list(combinations(range(guides.capacity), 2)))
    ones = np.ones(len(pairs))
    params = AdaptiveParams(use_motion=False).decided(has_model=False)
    spacing = float(groom.lengths.max()) / 7
    graph = GuideGraph(MotionScale(pairs, ones, ones, ones), guides.capacity, [solid], [0], params, spacing)
    assert graph.between > 1
    blocked, free, only_between = 0, 0, 0
    for place in ([0.0, -0.2 * 3 / 7, 0.012], [0.004, -0.1, 0.005]):  # at vertices, and between
        pose = Pose(np.array(place), rotation)
        shift = rng.normal(0, 0.004, guides.rest.shape) * np.linspace(0, 1, 8)[:, None] * [1, 0.02, 1]
        points = (guides.rest + shift).astype(np.float32)
        frame = replace(frame_of(guides, points=points), solid_poses=(pose,))
        graph.update(frame, np.zeros_like(points), np.ones(guides.capacity, np.float32))
        edges = bits(graph.edges, guides.capacity)
        distance = solid.placed(pose, 0.0).distance
        grazing = float(graph._graze)
        for a, b in pairs:
            depth = depth_between(points[a].astype(np.float64), points[b], distance, graph.between)
            # Steps of the search are 1 / 64 of a way or longer: what is shorter may be stepped over.
            long = (np.lib.stride_tricks.sliding_window_view(depth, 5, axis=0).min(axis=-1) > 2 * grazing).any()
            if depth.max() < 0.5 * grazing:
                free += 1
                assert edges[a, b]
            elif long:
                blocked += 1
                assert not edges[a, b]
                of_vertices = depth_between(points[a].astype(np.float64), points[b], distance, 1)
                only_between += of_vertices.max() < 0
    assert min(blocked, free) > 15
    assert only_between > 0


@pytest.mark.parametrize("seed", range(4))
def test_cliques_are_those_of_algorithm_1(seed):
    graph, d, _, _ = random_graph(seed, delta=15.0)
    edges = bits(graph.edges, len(d))
    found = [frozenset(np.flatnonzero(row).tolist()) for row in bits(graph.cliques(), len(d))]
    assert found == reference.cliques(edges, d)
    assert max(map(len, found)) > 2
    for one in found:
        assert all(edges[a, b] for a, b in combinations(one, 2))


@pytest.mark.parametrize("is_learned", [False, True])
def test_as_printed_guides_that_share_no_hair_are_connected_too(is_learned):
    """Where nothing parts guides the clique of each one is all of them, and no hair loses any."""
    groom = styles.make("straight", strands=300, vertices=8, seed=1)
    guides = select_guides(groom, 60, seed=1)
    model = random_model(groom, guides, all_pairs=True) if is_learned else None
    skin = AdaptiveSkin(groom, guides, model=model, paper=True, use_motion=False, use_solids=False)
    skin(frame_of(guides))
    assert bits(skin.graph.cliques(), guides.capacity).all()
    assert (skin.chosen == skin.sets.first()).all()
    default = AdaptiveSkin(groom, guides, model=model)
    assert len(default.graph.scale.pairs) < 0.5 * len(skin.graph.scale.pairs)  # only those that share a hair are asked
    if is_learned:
        with pytest.raises(
            ValueError, match=r"^paper: cliques as printed need a model that compares all guides; `mane"
        ):
            AdaptiveSkin(groom, guides, model=random_model(groom, guides), paper=True)


def test_pairs_that_a_model_does_not_know_are_refused():
    pairs = np.array([[0, 1], [0, 3], [2, 3]])
    scale = MotionScale(pairs, *np.arange(9.0).reshape(3, 3))
    some = scale.of(pairs[[0, 2]], 4)
    np.testing.assert_array_equal(some.pairs, pairs[[0, 2]])
    np.testing.assert_array_equal(some.usual, [6.0, 8.0])
    for absent in ([[1, 2]], [[2, 3], [1, 3]]):
        with pytest.raises(ValueError, match=rf"^model: does not tell how guides 1 and {absent[-1][1]} move; learn it"):
            scale.of(np.array(absent), 4)


@pytest.mark.parametrize("tangents", [0.0, 1.0])
@pytest.mark.parametrize("use_frames", [False, True])
@pytest.mark.parametrize("amount", [0.0, 0.02])
def test_the_printed_choice_moves_hairs_least(amount, use_frames, tangents):
    groom = curtain()
    guides = every(groom, 4)
    settings = {"paper": True, "eligible": 6, "tangents": tangents, "use_frames": use_frames}
    skin = AdaptiveSkin(groom, guides, solids=[TOOTH], **settings)
    before = skin.chosen.copy()
    frame = swung(guides, amount)
    points = skin(frame).astype(np.float64)
    edges = bits(skin.graph.edges, guides.capacity)
    d = np.full(edges.shape, np.inf)
    i, j = skin.graph.scale.pairs.T
    d[i, j] = d[j, i] = skin.graph.difference
    groups = reference.cliques(edges, d)
    rest, now = guides.rest.astype(np.float64), frame.points.astype(np.float64)
    singles = 0
    for s, hair in enumerate(groom.as_uniform().astype(np.float64)):
        slots = skin.sets.slots[s]

        def guides_in(mask, slots=slots):
            return frozenset(int(slots[a]) for a in range(len(slots)) if mask >> a & 1)

        def of_set(one, hair=hair):
            near = {g: rest[g] + np.where(np.abs(rest[g] - hair).max() < 1e-9, 1e-5, 0) for g in one}
            states = {g: np.hstack(reference.carried(hair, rest[g], now[g], use_frames=use_frames)) for g in one}
            return reference.interpolated(states, reference.near_weights(hair, near)) * [1, 1, 1, *3 * [tangents]]

        sets = reference.candidates([guides_in(before[s])], groups)
        expected = reference.closest_to_last(of_set, sets, guides_in(before[s]))
        chosen = guides_in(skin.chosen[s])
        way = [((of_set(one) - of_set(guides_in(before[s]))) ** 2).sum() for one in (chosen, expected)]
        assert chosen in sets
        assert way[0] == pytest.approx(way[1], rel=1e-4, abs=1e-12 + 1e-11 * tangents)
        np.testing.assert_allclose(points[s], of_set(chosen)[:, :3], atol=2e-5)
        singles += len(chosen) < len(slots)
    assert singles > 5


def test_a_tooth_parts_hair_and_fixed_guides_do_not():
    groom = curtain()
    guides = every(groom, 4)
    frame = swung(guides, 0.02)
    distance = {}
    for name, settings in {"adaptive": {}, "fixed": {"use_solids": False, "use_motion": False}}.items():
        skin = AdaptiveSkin(groom, guides, solids=[TOOTH], fade=0.0, **settings)
        hair = skin(frame)
        sides = np.array([len({bool(guides.rest[g, 0, 0] > 0) for g in skin.hangs_on(s)}) for s in range(len(hair))])
        distance[name] = float(TOOTH.at(0.0).distance(hair[:, 1:].reshape(-1, 3)).min())
        assert (sides == 1).all() == (name == "adaptive")
    assert distance["fixed"] < -5e-4
    assert distance["adaptive"] > -1e-4


@pytest.mark.parametrize("hysteresis", [1.0, 1.2])
def test_hair_comes_back_when_the_tooth_has_gone(hysteresis):
    groom = curtain()
    guides = every(groom, 4)
    skin = AdaptiveSkin(groom, guides, solids=[TOOTH], hysteresis=hysteresis)
    away = Pose(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    whole = skin.chosen.copy()
    skin(swung(guides, 0.02, 0.0))
    assert (skin.chosen != whole).any()
    for number in range(1, 40):
        frame = replace(swung(guides, 0.0, 0.04 * number), solid_poses=(away,))
        hair = skin(frame)
    if hysteresis == 1.0:  # otherwise a set that is nearly as good is kept
        np.testing.assert_array_equal(skin.chosen, whole)
    np.testing.assert_allclose(hair, groom.as_uniform(), atol=ROUNDING)


def test_a_jump_fades_by_its_time_constant():
    """Guides that stand still, and a tooth that appears: all that moves is what is left of the jump."""
    groom = curtain()
    guides = every(groom, 4)
    skin = AdaptiveSkin(groom, guides, solids=[TOOTH], fade=0.2, use_motion=False)
    away = Pose(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    jumping = AdaptiveSkin(groom, guides, solids=[TOOTH], fade=0.0, use_motion=False)
    first = skin(replace(swung(guides, 0.02, 0.0), solid_poses=(away,)), copy=True)
    goal = jumping(swung(guides, 0.02, 0.0), copy=True)
    assert np.abs(first - goal).max() > 2e-3
    for number in range(1, 6):
        hair = skin(swung(guides, 0.02, 0.1 * number), copy=True)
        left = np.exp(-0.1 * number / 0.2)
        np.testing.assert_allclose(hair - goal, left * (first - goal), atol=1.2e-5)


def pressed(guides, time=0.0):
    """Guides right of the tooth pressed together 6 to 10 mm beside it, as if it were drawn through the hair."""
    points = guides.rest.copy()
    along = np.minimum(np.linspace(0, 2, guides.vertex_count), 1)
    right = guides.rest[:, 0, 0] > 0
    goal = 0.006 + 0.05 * guides.rest[:, 0, 0]
    points[right, :, 0] += (goal - guides.rest[:, 0, 0])[right, None] * along
    return replace(frame_of(guides, points=points), time=time, solid_poses=(Pose.identity(),))


@pytest.mark.parametrize("lean", [True, False])
def test_hair_that_would_be_behind_the_tooth_leans_to_its_guides(lean):
    """Hairs keep their distance from guides at rest, which takes those on the left of theirs through the tooth."""
    groom = curtain(hairs=81)
    guides = every(groom, 8)
    skin = AdaptiveSkin(groom, guides, solids=[TOOTH], fade=0.0, lean=lean, use_motion=False)
    hair = skin(pressed(guides), copy=True)
    on_the_right = np.array([all(guides.rest[g, 0, 0] > 0 for g in skin.hangs_on(s)) for s in range(len(hair))])
    crossing = (hair[on_the_right, 4, 0] < 0).sum()
    assert (crossing == 0) == lean
    if lean:
        assert TOOTH.at(0.0).distance(hair[on_the_right, 1:].reshape(-1, 3)).min() > -1e-4
        np.testing.assert_allclose(hair[:, 0], groom.roots, atol=ROUNDING)


@pytest.mark.parametrize(("seed", "is_learned"), [(0, False), (1, False), (1, True)])
def test_hair_leans_as_the_ways_from_its_guides_say(seed, is_learned):
    """Every way followed one by one, against boxes, cells and balls that leave most of them out."""
    rng = np.random.default_rng(seed)
    groom = curtain(hairs=61, vertices=14, depth=0.02)
    guides = every(groom, 6)
    comb = Solid(make_comb(teeth=12).shape)
    settings = {"solids": [comb], "fade": 0.0, "model": random_model(groom, guides) if is_learned else None}
    skins = [AdaptiveSkin(groom, guides, lean=lean, **settings) for lean in (True, False)]
    along = np.linspace(0, 1, guides.vertex_count)[:, None]
    points = (guides.rest + 0.012 * rng.normal(size=(guides.capacity, 1, 3)) * along).astype(np.float32)
    # Teeth to the front, through the middle of the curtain and some way off its plane.
    turn = quaternion.from_axis_angle(np.array([1.0, 0.2, 0.1]) / np.linalg.norm([1.0, 0.2, 0.1]), 1.4)
    pose = Pose(np.array([0.003, -0.12, -0.015]), turn)
    frame = replace(frame_of(guides, points=points), solid_poses=(pose,))
    leaning, upright = (skin(frame, copy=True) for skin in skins)
    skin = skins[0]
    step = groom.lengths.mean() / (groom.vertex_counts[0] - 1)
    recovery = (step / RECOVERY[0], step / RECOVERY[1])
    moved, expected = leaning - upright, np.zeros_like(leaning)
    for s in range(groom.strand_count):
        own = skin.hangs_on(s)
        expected[s] = reference.leaning(
            upright[s].astype(np.float64),
            points[own].astype(np.float64),
            (points - guides.rest)[own].astype(np.float64),
            lambda places: comb.placed(pose, 0.0).distance(places.astype(np.float32)),
            skin.graph.between,
            recovery,
        )
    leans = np.linalg.norm(expected, axis=2).max(axis=1) > 1e-4
    assert leans.sum() > 5
    apart = np.linalg.norm(moved - expected, axis=2).max(axis=1)
    # A way is followed in 400 steps there; one that grazes a tooth between two of them is seen or not.
    assert (apart < 2e-4).mean() > 0.95
    assert (apart[~leans] == 0).mean() > 0.95
    if is_learned:  # teeth part no guides of sets that stay
        assert bits(skin.graph.edges, guides.capacity)[tuple(skin.graph.scale.pairs.T)].all()
        assert (skin.chosen == 0).all()


def test_what_hair_leans_by_fades_as_jumps_do_when_the_guides_come_back():
    groom = curtain(hairs=81)
    guides = every(groom, 8)
    leaning, upright = (
        AdaptiveSkin(groom, guides, solids=[TOOTH], fade=0.1, lean=lean, use_motion=False) for lean in (True, False)
    )
    frames = [pressed(guides)] + [replace(pressed(guides, 0.0), points=guides.rest, time=t) for t in (0.02, 0.05)]
    by = np.stack([leaning(frame, copy=True) - upright(frame, copy=True) for frame in frames])
    assert np.abs(by[0]).max() > 0.002
    np.testing.assert_allclose(by[1], np.exp(-0.2) * by[0], atol=1e-6)
    np.testing.assert_allclose(by[2], np.exp(-0.5) * by[0], atol=1e-6)


def teeth_in_swung_hair(guides):
    """Guides that part beside a tooth, or are pressed together by it, while it comes and goes."""
    away = Pose(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    for number in range(8):
        time = 0.01 * number
        frame = swung(guides, 0.02 * np.sin(number), time) if number % 3 else pressed(guides, time)
        yield replace(frame, solid_poses=(away,)) if number % 4 == 2 else frame


@pytest.mark.parametrize("is_learned", [False, True])
@pytest.mark.parametrize("made", [AdaptiveSkin, TwoWaySkin])
def test_a_frame_that_is_asked_for_again_leaves_fades_leans_and_loads(made, is_learned):
    groom = curtain(hairs=81)
    guides = every(groom, 8)
    model = random_model(groom, guides) if is_learned else None
    settings = {"solids": [TOOTH], "model": model, "lean": True, "use_motion": True, "use_solids": True}
    once, twice = made(groom, guides, **settings), made(groom, guides, **settings)
    fades, leans, loads = 0, 0, 0
    for frame in teeth_in_swung_hair(guides):
        expected, load = once(frame).tobytes(), once.guide_load()
        assert [twice(again).tobytes() for again in (frame, frame, frame.copy())] == 3 * [expected]
        memory, same = once.memory(), twice.memory()
        assert list(memory) == list(same)
        assert all(memory[name].tobytes() == same[name].tobytes() for name in memory)
        fades, leans, loads = fades + len(memory["fading"]), leans + len(memory["leaning"]), loads + (load is not None)
        if load is not None:
            np.testing.assert_array_equal(twice.guide_load().force, load.force)
    assert min(fades, leans) > 20
    assert (loads > 0) == (made is TwoWaySkin)


def test_another_frame_at_the_same_time_begins_anew():
    """Hair that is looked at again with a solid elsewhere is where that has it, without a fade."""
    groom = curtain()
    guides = every(groom, 4)
    skin, fresh = (AdaptiveSkin(groom, guides, solids=[TOOTH], hysteresis=1.0) for _ in range(2))
    away = Pose(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    apart = swung(guides, 0.02, 0.3)
    before = skin(replace(apart, solid_poses=(away,)), copy=True)
    assert skin(apart).tobytes() == fresh(apart).tobytes() != before.tobytes()
    skin.reset()
    fresh.reset()
    assert skin(apart).tobytes() == fresh(apart).tobytes()


def test_guides_at_rest_give_the_groom_even_inside_a_solid():
    groom = curtain()
    guides = every(groom, 4)
    inside = Solid(Sphere((0.0, -0.1, 0.0), 0.03))
    hair = AdaptiveSkin(groom, guides, solids=[inside])(swung(guides, 0.0))
    np.testing.assert_allclose(hair, groom.as_uniform(), atol=ROUNDING)


def test_rest_and_rigid_motion_are_exact_far_from_the_origin():
    groom = curtain()
    guides = every(groom, 4)
    skin = AdaptiveSkin(groom, guides, solids=[TOOTH])
    far = Pose(np.array([20.0, 3.0, -5.0]), SOMEWHERE.rotation)
    frame = replace(frame_of(guides, far), solid_poses=(Pose(np.array([90.0, 0, 0]), far.rotation),))
    # What a float32 of 20 m holds is 1e-6 of it.
    np.testing.assert_allclose(skin(frame), far.apply(groom.as_uniform().astype(np.float64)), atol=5e-6)


def test_guides_that_fade_leave_hair_to_the_others_and_to_the_head():
    groom = curtain()
    guides = every(groom, 8)
    skin = AdaptiveSkin(groom, guides, fade=0.0)
    frame = swung(guides, 0.01)
    gone = replace(frame, active=np.zeros_like(frame.active), weight=np.zeros_like(frame.weight))
    np.testing.assert_allclose(skin(gone), groom.as_uniform(), atol=ROUNDING)
    faint = replace(frame, weight=np.full_like(frame.weight, 1e-6))
    assert np.abs(skin(faint) - groom.as_uniform()).max() < 1e-5
    skin.reset()
    half = replace(frame, weight=np.full_like(frame.weight, 0.5))
    whole = AdaptiveSkin(groom, guides, fade=0.0)(frame, copy=True)
    np.testing.assert_allclose(skin(half), whole, atol=ROUNDING)


def test_a_longer_hair_follows_the_tip_of_a_short_guide():
    points = np.zeros((2, 5, 3), np.float32)
    points[:, :, 1] = -np.linspace(0, 0.1, 5)
    points[1, :, 1] *= 2
    points[1, :, 0] = 0.001
    groom = Groom.from_uniform(points)
    guides = Guides.chosen(groom, [0])
    frame = frame_of(guides, points=guides.rest + np.array([1.0, 0, 0], np.float32) * np.linspace(0, 0.04, 5)[:, None])
    moved = AdaptiveSkin(groom, guides)(frame) - points
    np.testing.assert_allclose(moved[0, :, 0], [0, 0.01, 0.02, 0.03, 0.04], atol=1e-6)
    # Its length counts in steps of 4 %.
    np.testing.assert_allclose(moved[1, :, 0], [0, 0.02, 0.04, 0.04, 0.04], atol=0.02 * 0.04)


def test_the_tip_rule_cuts_pairs_with_distant_tips():
    groom = curtain()
    guides = every(groom, 4)
    skin = AdaptiveSkin(groom, guides, tip_distance=0.012, use_motion=False, use_solids=False)
    skin(swung(guides, 0.02))
    tips = guides.rest[:, -1, 0] + 0.02 * np.sign(guides.rest[:, 0, 0])
    for s in range(groom.strand_count):
        assert np.ptp(tips[skin.hangs_on(s)]) <= 0.012


def test_forces_on_guides_solve_eq_4():
    """The gradient vanishes at the solution, and it is the smallest of all solutions."""
    rng = np.random.default_rng(2)
    weights = rng.random((12, 5))
    weights[:, 4] = weights[:, 3]  # two guides that no hair tells apart
    asked = rng.normal(size=(12, 3))
    printed = effective_forces(csr_array(weights), asked, 0.0)
    np.testing.assert_allclose(weights.T @ (weights @ printed - asked), 0, atol=1e-9)
    np.testing.assert_allclose(printed, np.linalg.pinv(weights) @ asked, atol=1e-9)
    damped = effective_forces(csr_array(weights), asked, 0.3)
    np.testing.assert_allclose(weights.T @ (weights @ damped - asked) + 0.3 * damped, 0, atol=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["weights above zero", "one below zero"])
def test_two_way_correction_as_printed_is_all_of_eq_4(sign):
    """Every hair, every guide and every vertex, as one dense system, hairs without a solid asking for nothing."""
    groom = curtain()
    guides = every(groom, 4)
    skin = TwoWaySkin(groom, guides, solids=[TOOTH], form="printed", strength=1.0, **ALWAYS_ALL)
    own = skin.sets.weights

    def weights_of(tables, hairs, masks):
        found = own(tables, hairs, masks)
        found[hairs % 3 == 0, 0] *= sign
        return found

    skin.sets.weights = weights_of
    skin(swung(guides, 0.0, 0.0))
    hair = skin(swung(guides, 0.0, 0.01), copy=True)
    weights = skin.sets.weights(skin._tables, np.arange(groom.strand_count), skin.chosen)
    count, vertices = hair.shape[:2]
    system = np.zeros((count, vertices, guides.capacity, vertices))
    for s, i in np.ndindex(count, vertices):
        for member, guide in enumerate(skin.sets.slots[s]):
            system[s, i, guide, i] += weights[s, member, i]
    size = guides.capacity * vertices
    matrix, push = system.reshape(-1, size), skin._penetration(swung(guides, 0.0, 0.01), hair).push
    # With a strength of 1 a guide goes as far within a step as is asked for: F = m x / dt^2.
    forces = np.linalg.lstsq(matrix, push.reshape(-1, 3), rcond=1e-6)[0].reshape(guides.capacity, vertices, 3)
    expected = Material().model(guides).mass[..., None] * forces / 0.01**2
    assert np.abs(push).max() > 1e-3
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(skin.guide_load().force, expected, atol=1e-7 * np.abs(expected).max())


def test_forces_of_many_hairs_take_memory_by_what_hangs_together():
    """Vertices of 20,000 hairs on 4,000 of guides, two each: 640 MB as a dense system, 128 MB its normal matrix."""
    rng = np.random.default_rng(6)
    first, weight = rng.integers(0, 3_999, 20_000), rng.random(20_000)
    columns, row = np.concatenate([first, first + 1]), np.tile(np.arange(20_000), 2)
    weights = csr_array((np.concatenate([weight, 1 - weight]), (row, columns)), shape=(20_000, 4_000))
    asked = rng.normal(size=(20_000, 3))
    tracemalloc.start()
    forces = effective_forces(weights, asked, 0.05)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20e6
    np.testing.assert_allclose(weights.T @ (weights @ forces - asked) + 0.05 * forces, 0, atol=1e-9)


FORMS = ["velocity", "own_side", "colliding", "printed"]
ALWAYS_ALL = {"use_motion": False, "use_solids": False}  # sets that no tooth changes


def depth_in(solid, hair, time=0.0):
    """Sum of the depths of all vertices in a solid [m]."""
    return float(np.maximum(-solid.at(time).distance(hair.reshape(-1, 3)), 0).sum())


@pytest.mark.parametrize("form", FORMS)
def test_hairs_in_a_tooth_push_their_guides_out_of_it(form):
    groom = curtain()
    guides = every(groom, 4)
    skin = TwoWaySkin(groom, guides, solids=[TOOTH], form=form, **ALWAYS_ALL)
    skin(swung(guides, 0.0, 0.0))
    assert skin.guide_load() is None  # nothing is known of the time that passed
    hair = skin(swung(guides, 0.0, 0.01), copy=True)
    inside = np.flatnonzero(TOOTH.at(0.0).distance(hair.reshape(-1, 3)).reshape(hair.shape[:2]).min(axis=1) < 0)
    assert 0 < len(inside) < 5
    force = skin.guide_load().force
    told = np.flatnonzero(np.abs(force).max(axis=(1, 2)) > 0)
    if form != "printed":  # which counts hairs that ask for nothing, too, and the guides that these bring in
        assert set(told) <= {g for s in inside for g in skin.hangs_on(s)}
    assert len(told) >= 2
    if form == "own_side":  # away from the tooth, each on its side
        assert (force[told][:, :, 0] * np.sign(guides.rest[told, :1, 0]) > -1e-12).all()
    memory = skin.memory()
    other = TwoWaySkin(groom, guides, solids=[TOOTH], form=form)
    other.restore(memory)
    np.testing.assert_array_equal(other.guide_load().force, force)


@pytest.mark.parametrize("form", FORMS)
def test_hairs_are_less_deep_where_their_guides_were_pushed(form):
    """Guides that are free to go as they are told for the time of a frame: x + F / m dt^2.

    A tooth that comes from the side pushes all hairs one way. With `strength` 0.5 these ask for half of their depth,
    of which eq. 4 with a Tikhonov term t gives them about w.w / (w.w + t) by weights w: over half on three guides.
    """
    groom, beside = curtain(), Solid(Capsule((0.041, -0.1, -0.1), (0.041, -0.1, 0.1), 0.005))
    guides = every(groom, 4)
    skin = TwoWaySkin(groom, guides, solids=[beside], form=form, strength=0.5, eligible=3, **ALWAYS_ALL)
    frame = swung(guides, 0.0, 0.0)
    skin(frame)
    before = depth_in(beside, skin(replace(frame, time=0.01)))
    assert before > 0.002
    moved = guides.rest + skin.guide_load().force / Material().model(guides).mass[..., None] * 0.01**2
    after = depth_in(beside, skin(replace(frame, points=moved.astype(np.float32), time=0.02)))
    assert after < (0.75 if form in ("own_side", "colliding") else 1.0) * before


@pytest.mark.parametrize("form", FORMS)
def test_a_short_hair_pushes_a_long_guide_where_it_is(form):
    """A hair of 10 cm beside a guide of 20 cm, a tooth at its tip: the lower half of the guide is left alone."""
    points = np.zeros((2, 9, 3), np.float32)
    points[:, :, 1] = -np.linspace(0, 0.2, 9)
    points[1, :, 1] *= 0.5
    points[1, :, 0] = 0.01
    groom = Groom.from_uniform(points)
    tip = Solid(Capsule((0.011, -0.1, -0.1), (0.011, -0.1, 0.1), 0.004))
    guides = Guides.chosen(groom, [0])
    skin = TwoWaySkin(groom, guides, solids=[tip], form=form, **ALWAYS_ALL)
    skin(swung(guides, 0.0, 0.0))
    skin(swung(guides, 0.0, 0.01))
    told = np.flatnonzero(np.abs(skin.guide_load().force[0]).max(axis=1))
    assert told.size
    assert told.max() <= 5  # its length counts in steps of 4 %
    assert form == "printed" or told.min() >= 3  # eq. 4 counts what hangs above, too, which asks for nothing


@pytest.mark.parametrize("paper", [False, True])
def test_guides_that_are_thrown_and_solids_that_swallow_them_leave_hair_whole(paper):
    groom = curtain(hairs=21)
    guides = every(groom, 4)
    ball = Solid(Sphere((0.0, 0.0, 0.0), 0.5))  # larger than all of the hair
    skin = AdaptiveSkin(groom, guides, solids=[TOOTH, ball], paper=paper)
    rng = np.random.default_rng(4)
    along = np.linspace(0, 1, guides.vertex_count)[:, None]
    for number in range(25):
        points = guides.rest + 0.1 * rng.normal(size=(guides.capacity, 1, 3)) * along
        poses = tuple(Pose(rng.normal(0, 0.3, 3), SOMEWHERE.rotation) for _ in range(2))
        weight = np.where(rng.random(guides.capacity) < 0.3, rng.random(guides.capacity), 1.0).astype(np.float32)
        frame = replace(frame_of(guides, points=points), time=0.01 * number, solid_poses=poses, weight=weight)
        hair = skin(frame)
        assert np.isfinite(hair).all()
        np.testing.assert_allclose(hair[:, 0], groom.roots, atol=ROUNDING)
        assert (np.linalg.norm(np.diff(hair, axis=1), axis=2).sum(axis=1) < 2.01 * groom.lengths).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eligible": 11}, "eligible: must be from 1 to 10, got 11"),
        ({"hysteresis": 0.5}, "hysteresis: must be at least 1, got 0.5"),
        ({"fade": -1.0}, "fade: must be at least 0, got -1.0"),
        ({"delta": 0.0}, "delta"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveParams(**settings)


def test_criteria_are_used_where_sets_are_not_learned():
    """Learned sets stay: chosen anew they are farther from full simulation (decision 43)."""
    learned, naive = (AdaptiveParams().decided(has_model=has) for has in (True, False))
    assert (learned.use_motion, learned.use_solids) == (False, False)
    assert (naive.use_motion, naive.use_solids) == (True, True)
    printed = AdaptiveParams(paper=True, use_solids=False).decided(has_model=True)
    assert (printed.use_motion, printed.use_solids) == (True, False)  # what is given is kept

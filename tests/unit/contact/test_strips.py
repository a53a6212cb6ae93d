"""Triangle strips: who meets whom, how hard, what breaks and heals, and that hair does not pass through hair."""

import numpy as np
import pytest
from brushes import LENGTH, brush, disturbed, forces_of, kinetic, momentum, rods, spin
from hypothesis import given, settings
from hypothesis import strategies as st
from mass_points import PointSolver, Scene

from mane.contact.compliance import response
from mane.contact.neighbours import find_pairs
from mane.contact.strips import _reference as reference
from mane.contact.strips.params import StripParams
from mane.contact.strips.strips import TriangleStrips, WispCollisions
from mane.strand.model import RootKind

THICK = 0.003
DT = 0.004
ROUNDING = 1e-12


def strips(model, **settings) -> TriangleStrips:
    part = TriangleStrips(**{"thickness": THICK, "broad_phase_interval": 0.0, **settings})
    part.prepare(model)
    return part


def straight(start, direction, vertices=4):
    """A strand of segments of 2 cm."""
    direction = np.asarray(direction, float) / np.linalg.norm(direction)
    return np.asarray(start, float) + LENGTH * np.arange(vertices)[:, None] * direction


def crossing(angle, gap):
    """Two strands, one above the other, whose middle segments cross at an angle with a gap between them."""
    half = 1.5 * LENGTH
    other = np.array([np.cos(angle), 0.0, np.sin(angle)])
    return np.stack([straight([-half, gap, 0], [1, 0, 0]), straight(-half * other, other)])


def far_apart(points):
    """A model of these strands, groomed so that none is near another; then what they are moved to is new to them."""
    groomed = np.array(points, float)
    groomed += np.arange(len(groomed))[:, None, None]
    return brush(points=groomed)


def densities(points, pairs, groomed, params):
    """How dense the hair on each triangle is (P, 2 N): rest width over width, the longer of two edges across it."""
    found = np.zeros((len(pairs), 2 * (points.shape[1] - 1)))
    for p, t in np.ndindex(found.shape):
        (a, b), i = pairs[p], t // 2
        rest, now = (
            max(np.linalg.norm(x[a, i + 1] - x[b, i]), np.linalg.norm(x[a, i + t % 2] - x[b, i + t % 2]))
            for x in (groomed, points)
        )
        found[p, t] = 0.0 if now > params.breaks_at * rest else min(rest / now, params.densest)
    return found


@pytest.mark.parametrize(
    ("seed", "vertices", "where"),
    [
        *((seed, 4, 0.0) for seed in range(6)),
        (2848, 4, 0.0),  # a thin strip, whose contact counts all the same
        (6, 4, 300.0),  # far from the origin
        (7, 19, 0.0),  # more segments than fit side by side
    ],
)
def test_kernels_do_what_the_reference_says(seed, vertices, where):
    groomed = brush(2, vertices=vertices)
    points, velocity = disturbed(groomed, seed, shift=0.008, speed=0.3)
    points = points + where
    model = far_apart(groomed.rest_points)
    part = strips(model)
    # Set by hand, as groomed no strand is near another; and no two triangles are of one width.
    pairs, rest = np.array([[0, 1], [1, 2]]), disturbed(groomed, seed + 1, shift=0.003)[0]
    part.set_pairs(pairs, rest_points=rest)
    forces = forces_of(part, model, points, velocity, dt=DT)
    contacts = reference.segment_contacts(points)
    contacts += reference.face_contacts(points, pairs, densities(points, pairs, rest, part.params))
    contacts = [c for c in contacts if reference.touches(c, velocity.reshape(-1, 3), THICK, THICK, DT)]
    inv_mass = (1 / model.mass).reshape(-1)
    # The response to a step of 2^-8 s, the next power of two below.
    table = response(model, 2.0**-8)
    flat = velocity.reshape(-1, 3)
    expected = reference.push_forces(contacts, flat, inv_mass, table, THICK, part.params.laws(model), DT)
    assert part.report()["hair contacts"] == len(contacts)
    np.testing.assert_allclose(forces.reshape(-1, 3), expected, rtol=0, atol=1e-9 * np.abs(expected).max(initial=1e-9))


def test_hair_crumpled_up_in_one_place_meets_all_there_is():
    groomed = brush(2, vertices=14)
    points = np.random.default_rng(0).uniform(-0.003, 0.003, groomed.rest_points.shape)
    velocity = np.zeros_like(points)
    model = far_apart(groomed.rest_points)
    part = strips(model)
    part.set_pairs([[0, 1], [2, 3]], rest_points=points)
    forces_of(part, model, points, velocity, dt=DT)
    pairs = np.array([[0, 1], [2, 3]])
    contacts = reference.segment_contacts(points)
    contacts += reference.face_contacts(points, pairs, densities(points, pairs, points, part.params))
    met = [c for c in contacts if reference.touches(c, velocity.reshape(-1, 3), THICK, THICK, DT)]
    # More of one strand, and of one strip, than there are vertices in all.
    assert min(part._segment_contacts.count.max(), part._face_contacts.count.max()) > points.size / 3
    assert part.report()["hair contacts"] == len(met)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), friction=st.sampled_from([0.0, 0.5]))
def test_forces_cancel_and_so_do_moments_without_friction(seed, friction):
    model = brush()
    points, velocity = disturbed(model, seed, shift=0.008)
    part = strips(model, friction=friction)
    forces = forces_of(part, model, points, velocity)
    size = np.abs(forces).sum()
    assert part.report()["hair contacts"] > 0
    assert np.abs(forces.sum(axis=(0, 1))).max() <= ROUNDING * size
    moment = np.abs(np.cross(points, forces).sum(axis=(0, 1))).max()
    # Friction acts on either side of the gap: its moment is at most the gap times the force.
    assert moment <= ROUNDING * size * np.abs(points).max() + friction * 2 * THICK * size


@pytest.mark.parametrize("degrees", [0, 5, 20, 45, 70, 90])
def test_the_push_of_crossing_segments_follows_their_angle(degrees):
    def pushed(angle):
        points = crossing(angle, 0.8 * THICK)
        model = far_apart(points)
        # A soft spring at a vanishing step, so that only its stiffness shows.
        forces = forces_of(strips(model, rate=1.0, strips=False), model, points, dt=1e-6)
        return forces[0].sum(axis=0)

    full = pushed(np.pi / 2)
    assert full[1] > 0
    scale = 1 - np.cos(np.radians(degrees))  # chang2002 eq. 3
    expected = 0.0 if scale < reference.LEAST_SCALE else scale
    np.testing.assert_allclose(pushed(np.radians(degrees)), expected * full, atol=1e-5 * full[1])


@pytest.mark.parametrize("degrees", [10, 20, 45, 90])
def test_at_default_rate_and_step_the_push_is_that_of_a_spring_whose_stiffness_follows_the_angle(degrees):
    """An implicit step of the spring (1 - |a . b|) k against what both strands give way, written out for one."""
    params, dt = StripParams(), 1 / 192  # the longest substep
    points = crossing(np.radians(degrees), 0.8 * params.thickness)
    model = far_apart(points)
    part = TriangleStrips(strips=False)
    part.prepare(model)
    push = forces_of(part, model, points, dt=dt)[0, :, 1].sum()
    (contact,) = (
        c
        for c in reference.segment_contacts(points)
        if reference.touches(c, 0 * points.reshape(-1, 3), 0.002, 0.002, dt)
    )
    scale = 1 - np.cos(np.radians(degrees))  # chang2002 eq. 3
    give_way = response(model, 2.0**-8)  # of steps of the next power of two below
    weights = np.zeros(points.shape[:2])
    weights.reshape(-1)[contact.vertices] = np.abs(contact.weights)
    w = np.einsum("gv,gvu,gu->", weights, give_way, weights)
    k = params.rate**2 / (contact.weights**2 / model.mass.reshape(-1)[contact.vertices]).sum()
    expected = scale * k * 0.2 * params.thickness / (1 + scale * k * dt**2 * w)
    assert push == pytest.approx(expected, rel=1e-9)


def test_with_shorter_steps_the_push_at_default_rate_comes_to_that_of_the_paper():
    def pushed(degrees, dt):
        points = crossing(np.radians(degrees), 0.8 * StripParams().thickness)
        model = far_apart(points)
        part = TriangleStrips(strips=False)
        part.prepare(model)
        return forces_of(part, model, points, dt=dt)[0, :, 1].sum()

    ratios = [pushed(10, dt) / pushed(90, dt) for dt in (1 / 192, 1 / 1536, 1e-5)]
    assert ratios[0] < 0.2  # it was 0.59 while the step was counted twice
    assert ratios[0] > ratios[1] > ratios[2]
    assert ratios[2] == pytest.approx(1 - np.cos(np.radians(10)), rel=0.02)


def curtain(width=0.012, **settings):
    """Two held guides with a strip between them, and a third strand that may come near it, groomed far away."""
    guides = np.stack([straight([x, 0, 0], [0, -1, 0], 5) for x in (0.0, width, 1.0)])
    model = brush(points=guides, root=[RootKind.CLAMPED, RootKind.CLAMPED, RootKind.FREE])
    part = TriangleStrips(**{"thickness": THICK, "broad_phase_interval": 0.0, **settings})
    part.prepare(model)
    part.set_pairs([[0, 1]])
    return model, part


def beside_curtain(model, gap, *, tilt=0.0):
    """The third strand lies across the strip's middle, vertex 1 in front of a triangle."""
    points = model.rest_points.copy()
    across = np.array([np.cos(tilt), 0.0, np.sin(tilt)])
    points[2] = np.array([0.004, -0.027, gap]) + LENGTH * (np.arange(5) - 1)[:, None] * across
    return points


def test_a_triangle_hands_the_push_to_its_vertices():
    model, part = curtain()
    points = beside_curtain(model, 0.8 * THICK, tilt=np.pi / 2)
    forces = forces_of(part, model, points)
    assert part.report()["hair contacts"] == 1
    # The hair points away from the strip; only vertex 1 is near it, over a triangle of segment 1.
    push = forces[2, 1]
    assert push[2] > 0
    np.testing.assert_allclose(forces.sum(axis=(0, 1)), 0, atol=1e-12 * push[2])
    # x = 4 of 12 mm: a third of the push goes to the second guide.
    np.testing.assert_allclose(forces[1].sum(axis=0), -push / 3, atol=1e-9 * push[2])


def test_a_strip_thins_out_breaks_and_heals_at_the_stated_widths():
    model, part = curtain(breaks_at=3.0, heals_at=2.0)
    rest = part._rest_width[0, 3]  # of a slanted triangle

    def opened(times):
        points = beside_curtain(model, 0.8 * THICK, tilt=np.pi / 2)
        # The slanted edge is `times` its length at rest.
        points[1, :, 0] = np.sqrt((times * rest) ** 2 - LENGTH**2)
        forces_of(part, model, points)
        return part._density[0, 3]

    np.testing.assert_allclose(opened(1.0), 1.0, rtol=1e-9)
    np.testing.assert_allclose(opened(2.0), 0.5, rtol=1e-9)
    np.testing.assert_allclose(opened(2.99), 1 / 2.99, rtol=1e-9)
    assert not part.broken.any()
    assert opened(3.01) == 0
    assert part.broken.all()
    assert opened(2.01) == 0  # still broken, so that it does not flicker
    np.testing.assert_allclose(opened(1.99), 1 / 1.99, rtol=1e-9)
    assert not part.broken.any()


def test_a_strand_stops_at_the_strip_and_passes_where_there_are_only_wisps():
    def flown(kind):
        model, _ = curtain(width=0.024)
        part = kind(thickness=THICK, broad_phase_interval=0.0)
        scene = rods(model, part)
        part.prepare(model)
        if kind is TriangleStrips:
            part.set_pairs([[0, 1]])
        # A short strand flies end first between the guides: nothing but the strip is in its way.
        scene.state.points[2] = beside_curtain(model, 0.01, tilt=np.pi / 2)[2] + [0.008, 0, LENGTH]
        scene.state.velocity[2] = [0, 0, -0.3]
        scene.solver.adopt(scene.state, np.array([False, False, True]))
        lowest = 0.0
        for _ in range(50):
            scene.step(DT)
            lowest = min(lowest, scene.state.points[2, 0, 2])
        return lowest

    assert flown(WispCollisions) < -0.02
    assert flown(TriangleStrips) > -0.001


def test_segments_that_slipped_through_are_brought_back():
    model = far_apart(crossing(np.pi / 2, 0.0))
    part = strips(model, strips=False)
    above = forces_of(part, model, crossing(np.pi / 2, 0.001))
    assert above[0, :, 1].sum() > 0
    below = forces_of(part, model, crossing(np.pi / 2, -0.001))
    assert below[0, :, 1].sum() > above[0, :, 1].sum() * 0.999  # still up, where it came from
    # One that has forgotten pushes it on instead.
    part.forget(np.ones(2, np.bool_))
    assert forces_of(part, model, crossing(np.pi / 2, -0.001))[0, :, 1].sum() < 0


def test_hair_that_has_not_moved_is_not_searched_again(monkeypatch):
    points = crossing(np.pi / 2, 0.5 * THICK)
    model = far_apart(points)
    part = strips(model, strips=False, broad_phase_interval=1e-9)
    searches = []
    find = part._broad_phase.find
    monkeypatch.setattr(part._broad_phase, "find", lambda *given: (searches.append(1), find(*given)))
    shifts = (0.0, 0.0, 0.05, 0.2)
    pushes = [forces_of(part, model, points + far * THICK, dt=DT, time=DT * n) for n, far in enumerate(shifts)]
    assert len(searches) == 3  # the groom, the first step, the last
    for push in pushes[1:]:
        np.testing.assert_allclose(push, pushes[0], atol=1e-9 * np.abs(pushes[0]).max())


def test_a_contact_that_slides_on_to_the_next_segment_keeps_its_side():
    def crossing_at(fraction, gap):
        """Strand 0 along x; strand 1 crosses it at that many segments from its middle vertex."""
        points = crossing(np.pi / 2, gap)
        points[1, :, 0] += (0.5 + fraction) * LENGTH
        return points

    model = far_apart(crossing(np.pi / 2, 0.0))
    part = strips(model, strips=False)
    assert forces_of(part, model, crossing_at(-0.1, 0.5 * THICK), dt=DT)[0, :, 1].sum() > 0
    # Sunk through by now, and over the next segment: it is brought back to where it came from.
    assert forces_of(part, model, crossing_at(0.1, -0.1 * THICK), dt=DT)[0, :, 1].sum() > 0
    part.forget(np.ones(2, np.bool_))
    assert forces_of(part, model, crossing_at(0.1, -0.1 * THICK), dt=DT)[0, :, 1].sum() < 0


def test_a_contact_that_goes_on_without_being_looked_at_pushes_as_much():
    """Two crossing strands fly together and stop each other where they cross, looked at as often or half as often."""

    def closing(narrow_phase_interval):
        points = crossing(np.pi / 2, 1.2 * THICK)
        scene = Scene(
            PointSolver(far_apart(points)),
            [TriangleStrips(thickness=THICK, strips=False, narrow_phase_interval=narrow_phase_interval)],
        )
        scene.state.points[...] = points
        scene.state.velocity[0] = [0.0, -0.2, 0.0]
        scene.run(0.08, DT)
        middle = scene.state.velocity[:, 1:3, 1].mean(axis=1)
        return middle[1] - middle[0]

    assert closing(0.0) < 0.01
    np.testing.assert_allclose(closing(0.007), closing(0.0), atol=0.002)  # a hundredth of the speed they came with


def test_hair_that_overlaps_as_groomed_stays_at_rest():
    tangled, _ = disturbed(brush(), 5, shift=0.008)
    model = brush(points=tangled)
    part = strips(model)
    assert not forces_of(part, model, tangled).any()
    assert len(part._groomed[0][1]) + len(part._groomed[1][1]) > 0


@pytest.mark.parametrize("nowhere", [np.nan, np.inf])
def test_a_strand_that_is_nowhere_touches_nobody_and_leaves_the_others_be(nowhere):
    model = brush()
    points, velocity = disturbed(model, 1, shift=0.008)
    lost = np.arange(9) == 4
    away = points.copy()
    away[lost] += 1.0
    expected = forces_of(strips(model), model, away, velocity)
    points[lost] = nowhere
    forces = forces_of(strips(model), model, points, velocity)
    assert not forces[lost].any()
    assert expected.any()
    np.testing.assert_array_equal(forces[~lost], expected[~lost])


def test_who_takes_no_part_is_not_touched():
    points = crossing(np.pi / 2, 0.5 * THICK)
    model = far_apart(points)
    assert forces_of(strips(model), model, points).any()
    assert not forces_of(strips(model, groups=[0, -1]), model, points).any()


def test_colliding_bundles_keep_their_momentum_and_gain_no_energy():
    one, two = brush(2, vertices=5).rest_points, brush(2, vertices=5).rest_points[:, :, [1, 0, 2]]
    model = brush(points=np.concatenate([one, two + [0.05, -0.04, 0.03]]))
    scene = rods(
        model, TriangleStrips(thickness=THICK, broad_phase_interval=0.0, rate=1e5, groups=[0, 0, 0, 0, 1, 1, 1, 1])
    )
    scene.state.velocity[4:] = [0, 0, -0.4]
    before = momentum(model, scene.state.velocity)
    energy = kinetic(model, scene.state.velocity)
    touched = 0.0
    for _ in range(60):
        touched = max(touched, scene.step(DT).parts["hair contacts"])
        drift = np.abs(momentum(model, scene.state.velocity) - before).max()
        assert drift <= 1e-6 * np.abs(before).max()
        assert kinetic(model, scene.state.velocity) <= energy * (1 + 1e-9)
    assert touched > 4
    assert scene.state.velocity[:4, :, 2].mean() < -0.05  # the push has arrived


def test_loose_vertices_keep_their_angular_momentum_without_friction():
    points = crossing(np.pi / 3, 2 * THICK)
    model = brush(points=points)
    scene = Scene(PointSolver(model), [TriangleStrips(thickness=THICK, broad_phase_interval=0.0, friction=0.0)])
    scene.state.velocity[0] = [0.1, -0.5, 0.2]
    before = spin(model, scene.state.points, scene.state.velocity)
    assert max(scene.step(DT).parts["hair contacts"] for _ in range(5)) > 0
    after = spin(model, scene.state.points, scene.state.velocity)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12 * np.abs(before).max())


def tossed(broad_phase_interval, narrow_phase_interval):
    """A brush whose strands are thrown against each other, after some steps."""
    model = brush(root=RootKind.CLAMPED, gravity=(6.0, -5.0, 1.0))
    scene = rods(
        model,
        TriangleStrips(
            thickness=THICK, broad_phase_interval=broad_phase_interval, narrow_phase_interval=narrow_phase_interval
        ),
    )
    rng = np.random.default_rng(6)
    scene.state.velocity[...] = rng.normal(0, 0.5, (9, 1, 3)) * np.linspace(0, 1, 6)[:, None]
    scene.run(0.084, DT)
    return scene


@pytest.mark.parametrize(("broad_phase_interval", "narrow_phase_interval"), [(0.0, 0.0), (0.02, 0.01)])
def test_threads_change_no_byte(broad_phase_interval, narrow_phase_interval, on_threads):
    groomed = brush(4)
    model = far_apart(groomed.rest_points)
    points, velocity = disturbed(groomed, 2, shift=0.008, speed=0.3)

    def three_steps():
        part = strips(model, broad_phase_interval=broad_phase_interval, narrow_phase_interval=narrow_phase_interval)
        part.set_pairs([[0, 1], [5, 6], [10, 11], [14, 15]], rest_points=groomed.rest_points)
        times = DT * np.arange(3)
        forces = [forces_of(part, model, points + t * velocity, velocity, dt=DT, time=t) for t in times]
        return forces, part.memory(), part.report()

    on_threads(three_steps)


@pytest.mark.parametrize(("broad_phase_interval", "narrow_phase_interval"), [(0.0, 0.0), (0.02, 0.0), (0.02, 0.01)])
def test_it_goes_on_from_what_it_remembers(broad_phase_interval, narrow_phase_interval):
    one = tossed(broad_phase_interval, narrow_phase_interval)
    fresh = rods(
        one.solver.model,
        TriangleStrips(
            thickness=THICK, broad_phase_interval=broad_phase_interval, narrow_phase_interval=narrow_phase_interval
        ),
    )
    fresh.state.assign(one.state)
    fresh.time = one.time
    memory = one.forces[0].memory()
    fresh.forces[0].restore(memory)
    assert len(memory["segments.keys"]) + len(memory["faces.keys"]) > 0
    one.run(0.1, DT)
    fresh.run(0.1, DT)
    np.testing.assert_array_equal(one.state.points, fresh.state.points)


def test_neighbours_of_a_lattice_are_the_four_nearest():
    model = brush(4)
    everyone, one_group = np.ones(16, np.bool_), np.zeros(16, np.int64)
    roots = model.rest_points[:, 0]
    pairs = find_pairs(roots, everyone, one_group, "all", None)
    apart = np.linalg.norm(roots[pairs[:, 0]] - roots[pairs[:, 1]], axis=1)
    np.testing.assert_allclose(apart, 0.012, rtol=1e-6)
    assert len(pairs) == 24
    upright = roots[:, [0, 2, 1]]  # the lattice on a wall: half of the neighbours are above each other
    assert len(find_pairs(upright, everyone, one_group, "horizontal", None)) == 12
    halves = np.arange(16) // 8
    split = find_pairs(roots, everyone, halves, "all", None)
    assert (halves[split[:, 0]] == halves[split[:, 1]]).all()
    assert len(split) == 20


def test_new_strips_keep_what_is_broken_of_the_old():
    model, part = curtain()
    points = model.rest_points.copy()
    points[1, :, 0] = 0.5
    forces_of(part, model, points)
    assert part.broken.all()
    part.set_pairs([[0, 2], [0, 1]])
    np.testing.assert_array_equal(part.broken.all(axis=1), [False, True])
    with pytest.raises(
        ValueError, match=r"strips.pairs: must be two different strands below 3, got \[1, 1\] at pair 0"
    ):
        part.set_pairs([[1, 1]])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"thickness": 0.0}, "strips.thickness: must be above 0, got 0.0"),
        ({"neighbours": "some"}, "strips.neighbours: 'some' is unknown; choose from all, horizontal"),
        ({"breaks_at": 1.0}, r"strips.breaks_at: must be at least heals_at \(2.0\), got 1.0"),
    ],
)
def test_settings_are_checked(wrong, message):
    with pytest.raises(ValueError, match=message):
        TriangleStrips(**wrong)

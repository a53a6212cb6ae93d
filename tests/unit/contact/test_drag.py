"""Drag: against published cylinder drag, a plain reference, and closed forms of falling and drifting hair."""

import math

import numpy as np
import pytest
from loose_points import LoosePoints, load_of, matrices, view
from scipy import optimize

from mane.contact.air import _reference as reference
from mane.contact.air.drag import AIR_DENSITY, AIR_VISCOSITY, Drag
from mane.contact.air.shelter import HairShelter
from mane.groom.groom import Groom
from mane.strand.material import Material
from mane.strand.model import StrandModel

AIR = (AIR_DENSITY, AIR_VISCOSITY)


def straight(direction=(1.0, 0.0, 0.0), length: float = 0.2, segments: int = 10, **options) -> StrandModel:
    points = np.linspace(0, length, segments + 1)[:, None] * np.asarray(direction)
    return Material(**options).model(points[None], root="free")


def prepared(model: StrandModel, *arguments, **options) -> Drag:
    drag = Drag(*arguments, **options)
    drag.prepare(model)
    return drag


# -- the numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reynolds", "measured"), [(1.0, 10.5), (5.0, 4.0), (10.0, 2.8), (100.0, 1.4)])
def test_drag_coefficient_is_that_of_measured_cylinders(reynolds, measured):
    # Values read off the standard curve (Wieselsberger, Tritton), whose scatter is some ten percent.
    assert reference.drag_coefficient(reynolds) == pytest.approx(measured, rel=0.12)


@pytest.mark.parametrize("reynolds", [0.01, 0.1, 0.3])
def test_slow_flow_is_that_of_lamb(reynolds):
    # Lamb 1911: Cd = 8 pi / (Re ln(7.406 / Re)); his next term is some 0.87 / ln^3 of it, 5 percent at 0.3.
    lamb = 8 * math.pi / (reynolds * math.log(7.406 / reynolds))
    assert reference.drag_coefficient(reynolds) == pytest.approx(lamb, rel=0.15)


def test_creeping_flow_resists_twice_as_much_across_as_along():
    # Cox 1970, in the limit of an endless strand.
    across = reference.across_coefficient(0.0, 1e-9, 1e60, *AIR)
    along = reference.along_coefficient(0.0, 1e-9, 1e60, *AIR)
    assert across / along == pytest.approx(2.0, rel=0.02)


def test_force_and_resistance_are_the_references():
    rng = np.random.default_rng(1)
    points = np.cumsum(rng.normal(size=(5, 7, 3)) * 0.01, axis=1)
    model = Material(radius=rng.uniform(25e-6, 60e-6, 5)).model(points)
    velocity, wind = rng.normal(size=points.shape), np.array([1.0, -0.5, 2.0])
    load = load_of(prepared(model, wind, scale=0.7), view(model, velocity=velocity))
    for g, v in np.ndindex(5, 7):
        neighbours = [n for n in (v - 1, v + 1) if 0 <= n < 7]
        edges = points[g, neighbours] - points[g, v]
        expected = 0.7 * reference.resistance(
            edges, wind - velocity[g, v], model.radius[g, v], model.strand_length[g], *AIR
        )
        np.testing.assert_allclose(matrices(load.resistance)[g, v], expected, rtol=1e-9, atol=1e-12 * expected.max())
        np.testing.assert_allclose(load.force[g, v], expected @ wind, rtol=1e-9, atol=1e-12 * expected.max())
    assert (np.linalg.eigvalsh(matrices(load.resistance)) > 0).all()


@pytest.mark.parametrize(("strands", "vertices"), [(1, 3), (8, 4), (9, 25)])
@pytest.mark.parametrize("speed", [0.0, 1e-6, 0.1, 1e3])
def test_resistance_is_the_references_for_any_number_of_vertices_at_any_speed(strands, vertices, speed):
    rng = np.random.default_rng(4)
    points = np.cumsum(rng.normal(size=(strands, vertices, 3)) * 0.01, axis=1)
    model = Material().model(points)
    velocity = speed * rng.normal(size=points.shape)
    load = load_of(prepared(model), view(model, velocity=velocity))
    assert not load.force.any()
    for g, v in np.ndindex(strands, vertices):
        neighbours = [n for n in (v - 1, v + 1) if 0 <= n < vertices]
        edges = points[g, neighbours] - points[g, v]
        expected = reference.resistance(edges, -velocity[g, v], model.radius[g, v], model.strand_length[g], *AIR)
        # Powers and logarithms are good to some ten roundings, sums of squares that nearly cancel to a few more.
        np.testing.assert_allclose(matrices(load.resistance)[g, v], expected, rtol=0, atol=1e-12 * expected.max())


def test_a_strand_feels_drag_while_it_is_active():
    model = Material().model(np.cumsum(np.random.default_rng(5).normal(size=(11, 5, 3)) * 0.01, axis=1))
    drag = prepared(model, [0, 0, 1.0])
    strands = view(model)
    whole = load_of(drag, strands)
    strands.active[[2, 10]] = False
    part = load_of(drag, strands)
    for one, other in ((part.force, whole.force), (part.resistance, whole.resistance)):
        assert not one[[2, 10]].any()
        np.testing.assert_array_equal(one[strands.active], other[strands.active])
    strands.active[:] = True
    np.testing.assert_array_equal(load_of(drag, strands).force, whole.force)


def test_the_force_on_a_strand_does_not_depend_on_its_vertices():
    coarse, fine = (
        load_of(prepared(model, [0, 0, 3.0]), view(model)).force.sum(axis=1)
        for model in (straight(segments=5), straight(segments=50))
    )
    np.testing.assert_allclose(coarse, fine, rtol=1e-12)


# -- motion ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [25e-6, 40e-6, 60e-6])
def test_a_level_strand_falls_at_the_speed_where_drag_is_weight(radius):
    model = straight(radius=radius)
    weight = 1320 * math.pi * radius**2 * 9.81

    def excess(speed):
        return speed * reference.across_coefficient(speed, radius, 0.2, *AIR) - weight

    terminal = optimize.brentq(excess, 1e-3, 10.0)
    points = LoosePoints(model, [Drag()], rigid=True)
    for _ in range(200):
        points.step(0.01)
    # Steady motion is free of integration error; it is approached within some 0.05 s.
    np.testing.assert_allclose(points.velocity[..., 1], -terminal, rtol=1e-6)
    np.testing.assert_allclose(points.velocity[..., [0, 2]], 0.0, atol=1e-12)


def test_an_upright_strand_falls_faster_than_a_level_one():
    speeds = []
    for direction in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
        points = LoosePoints(straight(direction), [Drag()], rigid=True)
        for _ in range(200):
            points.step(0.02)
        speeds.append(-points.velocity[0, 5, 1])
    assert speeds[1] > 2 * speeds[0]


@pytest.mark.parametrize("speed", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("dt", [1e-3, 0.1])
def test_hair_drifts_up_to_the_speed_of_any_wind_and_never_beyond(speed, dt):
    model = straight((0.6, 0.8, 0.0))
    weightless = StrandModel(
        model.rest_points,
        model.mass,
        model.stretch_stiffness,
        model.bend_stiffness,
        model.twist_stiffness,
        model.damping,
        model.radius,
        model.root_kind,
        gravity=np.zeros(3),
    )
    points = LoosePoints(weightless, [Drag([0, 0, speed])])
    fastest = 0.0
    for _ in range(50):
        points.step(dt)
        assert (points.velocity[..., 2] >= fastest * (1 - 1e-12)).all()
        fastest = points.velocity[..., 2].max()
    assert fastest <= speed * (1 + 1e-12)


def test_still_air_takes_energy_only():
    model = straight()
    velocity = np.random.default_rng(0).normal(size=model.rest_points.shape)
    load = load_of(prepared(model), view(model, velocity=velocity))
    assert not load.force.any()
    power = np.einsum("gvi,gvij,gvj->", velocity, matrices(load.resistance), velocity)
    assert power > 0


# -- handling -------------------------------------------------------------------------------------------------------


def test_scale_may_be_painted():
    model = straight(segments=4)
    groom = Groom.from_uniform(model.rest_points, vertex={"cover": np.array([0, 0.25, 0.5, 0.75, 1.0], np.float32)})
    plain = load_of(prepared(model, [0, 0, 1]), view(model))
    scaled = load_of(prepared(model, [0, 0, 1], scale="cover", guides=groom), view(model))
    np.testing.assert_allclose(scaled.force, plain.force * np.linspace(0, 1, 5)[None, :, None], rtol=1e-7)


def test_shelter_is_part_of_the_memory():
    rng = np.random.default_rng(2)
    points = np.cumsum(rng.normal(size=(30, 6, 3)) * 0.01, axis=1)
    model = Material().model(points)
    moved = view(model, points + [0.0, 0.0, 0.05] * rng.random((30, 6, 1)), time=0.03)

    def sheltered():
        return prepared(model, [0, 0, 2.0], shelters=[HairShelter()], shelter_interval=0.05)

    whole, first, second = sheltered(), sheltered(), sheltered()
    load_of(whole, view(model, time=0.01))
    load_of(first, view(model, time=0.01))
    second.restore(first.memory())
    np.testing.assert_array_equal(load_of(second, moved).force, load_of(whole, moved).force)
    # Without the memory the shelter would have been that of the moved hair, which also is what a teleport asks for.
    whole.forget(np.ones(30, np.bool_))
    fresh = load_of(sheltered(), moved).force
    assert (fresh != load_of(second, moved).force).any()
    np.testing.assert_array_equal(load_of(whole, moved).force, fresh)


def test_the_same_bytes_on_any_number_of_threads(on_threads):
    rng = np.random.default_rng(3)
    model = Material().model(np.cumsum(rng.normal(size=(33, 9, 3)) * 0.01, axis=1))
    on_threads(lambda: load_of(prepared(model, [1, 2, 3], shelters=[HairShelter()]), view(model)))


def test_a_segment_without_length_feels_nothing():
    model = straight(segments=3)
    load = load_of(prepared(model, [0, 0, 1]), view(model, np.zeros_like(model.rest_points)))
    assert not load.force.any()
    assert not load.resistance.any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": 0.0}, "density: must be a finite number above zero"),
        ({"viscosity": -1.0}, "viscosity: must be a finite number above zero"),
        ({"shelter_interval": 0.0}, "shelter_interval: must be a finite number above zero"),
    ],
)
def test_air_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Drag(**options)


def test_a_negative_scale_is_refused():
    with pytest.raises(ValueError, match=r"drag.scale: must be at least 0, got -1 at strand 0, vertex 0"):
        prepared(straight(), scale=-1.0)

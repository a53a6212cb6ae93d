"""Material: physical units in, the constants of a rod out."""

import math

import numpy as np
import pytest

from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.strand.material import MATERIALS, Material, damping_time, joint_means, make_material, root_kinds
from mane.strand.model import RootKind
from mane.strand.variation import Curve, Painted, Vary


def straight_points(strands: int = 2, vertices: int = 11, length: float = 0.1) -> np.ndarray:
    points = np.zeros((strands, vertices, 3))
    points[..., 0] = np.linspace(0, length, vertices)
    return points


def test_an_even_strand_has_the_constants_of_a_round_rod():
    young, radius, density, poisson = 3.9e9, 40e-6, 1320.0, 0.37
    model = Material(young, radius, density, poisson, damping=1e-3).model(straight_points())
    area = math.pi * radius**2
    np.testing.assert_allclose(model.stretch_stiffness, young * area)
    np.testing.assert_allclose(model.bend_stiffness, young * math.pi * radius**4 / 4)
    np.testing.assert_allclose(model.twist_stiffness, young / (2 * (1 + poisson)) * math.pi * radius**4 / 2)
    np.testing.assert_allclose(model.damping, 1e-3)
    step = density * area * 0.01
    np.testing.assert_allclose(model.mass, np.tile([step / 2] + 9 * [step] + [step / 2], (2, 1)))


def test_a_cone_weighs_what_a_cone_weighs():
    model = Material(radius=Curve([0, 1], [60e-6, 20e-6])).model(straight_points())
    expected = 1320 * math.pi * 0.1 / 3 * (60e-6**2 + 60e-6 * 20e-6 + 20e-6**2)
    np.testing.assert_allclose(model.mass.sum(axis=1), expected, rtol=1e-12)


def test_joints_take_the_mean_over_the_rod_that_they_stand_for():
    # Of a value that is linear in arc length, the mean over a piece is the value at the middle of the piece.
    length = np.array([[0.1, 0.3, 0.2]])
    place = np.array([[0.0, 0.1, 0.4, 0.6]])
    middles = np.array([[0.025, (0.05 + 0.25) / 2, (0.25 + 0.5) / 2]])
    np.testing.assert_allclose(joint_means(2 + 5 * place, length), 2 + 5 * middles)


def test_the_stiffness_knob_bends_and_twists_only():
    plain, soft = (Material(stiffness=factor).model(straight_points()) for factor in (1.0, 0.1))
    np.testing.assert_allclose(soft.bend_stiffness, 0.1 * plain.bend_stiffness)
    np.testing.assert_allclose(soft.twist_stiffness, 0.1 * plain.twist_stiffness)
    np.testing.assert_array_equal(soft.stretch_stiffness, plain.stretch_stiffness)
    np.testing.assert_array_equal(soft.mass, plain.mass)


def test_damping_follows_from_a_ratio_at_a_frequency():
    # m x'' + tau k x' + k x = 0 loses 2 pi ratio / sqrt(1 - ratio^2) in the log of its amplitude per period.
    ratio, frequency = 0.2, 3.0
    omega = 2 * math.pi * frequency
    tau = damping_time(ratio, frequency)
    roots = np.roots([1.0, tau * omega**2, omega**2])
    decrement = -2 * math.pi * roots[0].real / abs(roots[0].imag)
    assert decrement == pytest.approx(2 * math.pi * ratio / math.sqrt(1 - ratio**2), rel=1e-12)
    assert Material().damped(ratio, frequency).damping == tau


def test_fields_come_from_the_grooms_own_maps():
    groom = Groom.from_uniform(
        straight_points(),
        strand={"width": np.array([60e-6, 100e-6], np.float32)},
        vertex={"softness": np.tile(np.linspace(0, 1, 11, dtype=np.float32), 2)},
    )
    material = Material(radius=Painted("width", high=0.5), stiffness=Painted("softness", 1.0, 0.25))
    model = material.model(Guides.from_groom(groom))
    np.testing.assert_allclose(model.radius[:, 0], [30e-6, 50e-6], rtol=1e-6)
    assert model.bend_stiffness[0, -1] < 0.4 * model.bend_stiffness[0, 0]
    # E I grows with the fourth power of the radius
    np.testing.assert_allclose(model.bend_stiffness[1] / model.bend_stiffness[0], (5 / 3) ** 4, rtol=1e-6)


def test_strands_may_differ_by_chance():
    model = Material(radius=40e-6 * Vary(0.8, 1.2, seed=1)).model(straight_points(50))
    assert len(np.unique(model.radius[:, 0])) == 50
    assert (np.ptp(model.radius, axis=1) == 0).all()


@pytest.mark.parametrize("name", list(MATERIALS))
def test_presets_lie_within_what_is_measured_on_human_hair(name):
    model = make_material(name).model(straight_points())
    assert 25e-6 <= model.radius[0, 0] <= 60e-6
    young = model.bend_stiffness / (math.pi * model.radius[0, 0] ** 4 / 4)
    assert ((young >= 3e9) & (young <= 4e9)).all()


def test_an_unknown_preset_names_those_there_are():
    with pytest.raises(ValueError, match=r"material: 'silky' is unknown; choose from coarse, curly, fine"):
        make_material("silky")


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("hinged", [1, 1, 1]),
        (RootKind.FREE, [2, 2, 2]),
        (["clamped", "free", "hinged"], [0, 2, 1]),
        (np.array([2, 1, 0]), [2, 1, 0]),
    ],
)
def test_roots_are_held_as_asked(root, expected):
    assert root_kinds(root, 3).tolist() == expected
    assert Material().model(straight_points(3), root=root).root_kind.tolist() == expected


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("glued", r"root: 'glued' is unknown; choose from clamped, free, hinged"),
        (["clamped", "glued", "free"], r"root: 'glued' is unknown"),
        ([0, 1], r"root: must have shape \(3,\), got \(2,\)"),
        ([0, 1, 5], r"root_kind: must be 0 \(clamped\), 1 \(hinged\) or 2 \(free\), got 5 at strand 2"),
    ],
)
def test_a_root_that_cannot_be_is_refused(root, message):
    with pytest.raises(ValueError, match=message):
        Material().model(straight_points(3), root=root)


@pytest.mark.parametrize(
    ("material", "message"),
    [
        (Material(young=-1.0), r"material.young: must be above 0, got -1 at strand 0, vertex 0"),
        (Material(radius=Curve([0, 1], [1e-5, 0])), r"material.radius: must be above 0, got 0 at strand 0, vertex 10"),
        (Material(poisson=0.6), r"material.poisson: must be at most 0.5, got 0.6"),
        (Material(damping=-1e-3), r"material.damping: must be at least 0, got -0.001"),
        (Material(density=np.nan), r"material.density: must be finite, got nan"),
    ],
)
def test_what_no_hair_can_be_is_refused(material, message):
    with pytest.raises(ValueError, match=message):
        material.model(straight_points())


def test_damping_needs_a_frequency():
    with pytest.raises(ValueError, match=r"frequency: must be a finite number above zero, got 0"):
        damping_time(0.1, 0.0)
    with pytest.raises(ValueError, match=r"ratio: must be a finite number, at least zero, got -0.1"):
        damping_time(-0.1, 1.0)

"""Hold: which groomed strands stand under gravity, against closed forms and the energy; and making them stand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mane.strand.material import Material
from mane.strand.model import StrandModel
from mane.strand.standing._reference import StandingStrand
from mane.strand.standing.stiffen import DEFAULT_MARGIN, LARGEST_STRAIN, stiffen_to_stand

GREENHILL = (
    7.8373  # rho A g L^3 / (E I) at which an upright column buckles: 9/4 j^2, j = 1.86635 first zero of J_(-1/3)
)


def straight(length: float, segments: int, direction=(0.0, 1.0, 0.0), **options) -> StrandModel:
    points = np.linspace(0, length, segments + 1)[:, None] * np.asarray(direction)
    return Material().model(points[None], **options)


def load_number(model: StrandModel) -> float:
    """G = rho A g L^3 / (E I) of an even strand."""
    length = model.strand_length[0]
    return model.mass[0].sum() * 9.81 * length**2 / model.bend_stiffness[0, 0]


def crooked(seed: int, strands: int = 4, segments: int = 6) -> StrandModel:
    """Strands that turn every way, some 6 cm long, thick enough that their joints could carry them."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(strands, segments, 3)) * 0.01 + [0.0, 0.006, 0.0]
    points = np.concatenate([np.zeros((strands, 1, 3)), np.cumsum(steps, axis=1)], axis=1)
    return Material(radius=rng.uniform(40e-6, 60e-6, strands)).model(points)


def lowest_curvature(model: StrandModel, strand: int, factor: float) -> float:
    return float(np.linalg.eigvalsh(StandingStrand.of(model, strand, factor).second_variation())[0])


# -- the second variation is that of the energy ---------------------------------------------------------------------


def test_the_groomed_shape_is_an_equilibrium_and_its_second_variation_is_the_energys():
    strand = StandingStrand.of(crooked(0), 0)
    size = strand.edges.size
    h = 1e-3  # central differences: error h^2 = 1e-6 times fourth derivatives of the order of the second ones
    turn = h * np.eye(size)

    def energy(turns):
        return strand.energy(turns.reshape(-1, 3))

    slope = np.array([(energy(step) - energy(-step)) / (2 * h) for step in turn])
    assert np.abs(slope).max() < 1e-5 * np.abs(strand.moments).max()
    second = np.array(
        [[energy(a + b) - energy(a - b) - energy(b - a) + energy(-a - b) for b in turn] for a in turn]
    ) / (4 * h * h)
    np.testing.assert_allclose(strand.second_variation(), second, atol=5e-6 * np.abs(second).max())


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_the_critical_factor_is_where_the_reference_loses_its_last_positive_curvature(seed):
    model = crooked(seed, strands=2)
    report = stiffen_to_stand(model, mode="report")[1]
    for strand in range(model.strand_count):
        critical = report.critical[strand]
        if critical > report.strain[strand]:  # otherwise the joints' reach decides, not the curvature
            assert lowest_curvature(model, strand, critical * (1 - 1e-4)) < 0
        assert lowest_curvature(model, strand, critical * (1 + 1e-4)) > 0


# -- closed forms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("segments", "tolerance"), [(10, 6e-3), (20, 1.5e-3), (40, 4e-4)])
def test_an_upright_strand_buckles_where_greenhill_says(segments, tolerance):
    # Second order in the length of a segment: the tolerance falls by four when that halves.
    model = straight(0.15, segments)
    buckles_at = load_number(model) / stiffen_to_stand(model, mode="report")[1].critical[0]
    assert buckles_at == pytest.approx(GREENHILL, rel=tolerance)


def test_a_hair_of_40_micrometres_stands_up_to_10_centimetres():
    # L^3 = 7.837 E r^2 / (4 rho g)
    tallest = (GREENHILL * 3.9e9 * (40e-6) ** 2 / (4 * 1320 * 9.81)) ** (1 / 3)
    assert tallest == pytest.approx(0.098, abs=1e-3)
    assert stiffen_to_stand(straight(0.99 * tallest, 25), mode="report")[1].unstable_count == 0
    assert stiffen_to_stand(straight(1.01 * tallest, 25), mode="report")[1].unstable_count == 1


def test_a_hanging_strand_needs_no_stiffness():
    model, report = stiffen_to_stand(straight(0.5, 25, (0.0, -1.0, 0.0)))
    assert report.critical[0] < 1e-5
    assert report.raised_count == 0
    assert str(report) == "all 1 clamped strands stand as groomed"
    assert model is stiffen_to_stand(model)[0]


def test_without_gravity_everything_stands():
    assert stiffen_to_stand(straight(1.0, 25, gravity=(0, 0, 0)))[1].raised_count == 0


def test_strain_of_a_level_strand_is_that_of_its_first_whole_joint():
    # Moment at the end of the first segment: q (L - h)^2 / 2. The clamp carries more, but stands for half a segment.
    length, h = 0.3, 0.01
    model = straight(length, 30, (1.0, 0.0, 0.0))
    moment = model.mass[0].sum() / length * 9.81 * (length - h) ** 2 / 2
    report = stiffen_to_stand(model, mode="report")[1]
    assert report.strain[0] == pytest.approx(moment * h / (2 * model.bend_stiffness[0, 0]), rel=1e-9)


# -- what is done about it -------------------------------------------------------------------------------------------


def test_stiffened_strands_stand_with_the_margin():
    model = crooked(5, strands=20, segments=12)
    stiff, before = stiffen_to_stand(model)
    assert before.stiffened
    assert before.unstable_count > 0
    after = stiffen_to_stand(stiff, mode="report")[1]
    # the precision of the bisection, 1e-6
    assert (after.critical * DEFAULT_MARGIN < 1 + 1e-5).all()
    assert (after.strain < LARGEST_STRAIN * (1 + 1e-9)).all()
    assert after.unstable_count == 0
    ratio = stiff.bend_stiffness / model.bend_stiffness
    np.testing.assert_allclose(ratio, np.broadcast_to(before.factor[:, None], ratio.shape))
    np.testing.assert_allclose(stiff.twist_stiffness / model.twist_stiffness, ratio)
    np.testing.assert_array_equal(stiff.mass, model.mass)


def test_a_larger_margin_asks_for_proportionally_more():
    model = straight(0.2, 25)
    factors = [stiffen_to_stand(model, margin=margin)[1].factor[0] for margin in (1.5, 3.0)]
    assert factors[1] == pytest.approx(2 * factors[0], rel=1e-6)


def test_reporting_and_off_leave_the_model_alone():
    model = straight(0.2, 25)
    same, report = stiffen_to_stand(model, mode="report")
    assert same is model
    assert report.largest_factor > 10
    assert "1 of 1 strands would fall out of their groomed shape by their weight; 1 would have to be stiffened" in str(
        report
    )
    same, report = stiffen_to_stand(model, mode="off")
    assert same is model
    assert report.raised_count == 0


def test_only_clamped_strands_are_held():
    points = np.repeat(straight(0.2, 25).rest_points, 3, axis=0)
    model = Material().model(points, root=["clamped", "hinged", "free"])
    stiff, report = stiffen_to_stand(model)
    assert (report.factor > 1).tolist() == [True, False, False]
    assert str(report).endswith("; 2 with hinged or free roots not stiffened")
    np.testing.assert_array_equal(stiff.bend_stiffness[1:], model.bend_stiffness[1:])


def test_turning_scene_and_gravity_together_changes_nothing():
    model = crooked(7)
    c, s = math.cos(0.7), math.sin(0.7)
    turn = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    turned = Material(radius=model.radius[:, 0]).model(model.rest_points @ turn.T, gravity=turn @ model.gravity)
    np.testing.assert_allclose(stiffen_to_stand(turned)[1].critical, stiffen_to_stand(model)[1].critical, rtol=3e-6)


def test_the_same_bytes_on_any_number_of_threads(on_threads):
    model = crooked(8, strands=40)
    on_threads(lambda: stiffen_to_stand(model))


def test_settings_that_make_no_sense_are_refused():
    model = straight(0.1, 5)
    with pytest.raises(ValueError, match="stiffen_to_stand: 'spray' is unknown; choose from off, on, report"):
        stiffen_to_stand(model, mode="spray")
    with pytest.raises(ValueError, match=r"margin: must be a finite number above 1, got 1.0"):
        stiffen_to_stand(model, margin=1.0)


def report_of(*factors):
    from mane.strand.standing.stiffen import StandingReport

    factor = np.array(factors, np.float64)
    return str(StandingReport(factor, factor, np.zeros(len(factor)), np.ones(len(factor), np.bool_), 1.5, True))


def test_factors_that_no_hair_has_are_said_in_words():
    """A groom of 20 m was "stiffened 2.7e+05 times", one without units "less than inf times"."""
    assert "half of them more than 1,000 times, as no hair is: check their unit" in report_of(2.7e5, 3e5, 2.0)
    assert "the softest more than 1,000 times" in report_of(2.0, 3.0, 2.7e5)
    assert "half of them less than 2.5 times, the softest 3 times" in report_of(2.0, 3.0)
    text = report_of(2.0, 3.0, np.inf, np.inf, np.inf)
    assert "inf" not in text
    assert "2 stiffened" in text
    assert text.endswith("; 3 cannot stand at any stiffness and are left as they are")
    assert report_of(np.inf, 1.0).endswith("by their weight; 1 cannot stand at any stiffness and are left as they are")

"""`AdaptiveGuides`: inserted half-way where guides part, faded, taken out and reused; nobody else is disturbed."""

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.contact.adaptive.adaptive import AdaptiveGuides
from mane.contact.grid.volume_grid import VolumeGrid
from mane.contact.links.links import StaticLinks
from mane.contact.neighbours import with_split
from mane.contact.strips.strips import TriangleStrips
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation
from mane.strand.roots import RootPose
from mane.strand.solver import SOLVERS

APART, LENGTH, VERTICES = 0.01, 0.1, 8
FADE = 0.1
FRAME = 1 / 50
TURNED = Pose(np.array([0.1, 0.2, 0.3]), quaternion.from_axis_angle(np.array([0.0, 1.0, 0.0]), 0.4))


def brush(columns=4, rows=1, **attributes):
    """Guides that hang side by side, a centimetre apart."""
    x, z = np.meshgrid(np.arange(columns) * APART, np.arange(rows) * APART)
    roots = np.stack([x.ravel(), np.zeros(x.size), z.ravel()], axis=1)
    points = roots[:, None] + np.linspace(0, 1, VERTICES)[:, None] * np.array([0.0, -LENGTH, 0.0])
    return Guides.from_groom(Groom.from_uniform(points.astype(np.float32), strand=attributes))


def parting(points, time):
    """A wind that blows the two halves of the brush apart for a quarter of a second, after a calm one."""
    out = np.zeros_like(points)
    out[:, 0] = np.where(points[:, 0] > 1.5 * APART, 1.0, -1.0) * (2.0 if 0.05 < time < 0.3 else 0.0)
    return out


def blown(model="cosserat", *parts, guides=None, **settings):
    adaptive = AdaptiveGuides(**{"fade": FADE, **settings})
    simulation = Simulation(
        guides or brush(), model, forces=[*parts, adaptive], wind=parting, drag=1.0, frame_rate=1 / FRAME
    )
    return simulation, adaptive


def run_until_inserted(simulation):
    for _ in range(20):
        frame = simulation.step()
        if frame.inserted.count:
            return frame
    raise AssertionError("nothing was inserted")


def unit_segments(points):
    edge = np.diff(points.astype(np.float64), axis=-2)
    return edge / np.linalg.norm(edge, axis=-1, keepdims=True)


# -- one insertion -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", sorted(SOLVERS))
def test_a_guide_is_inserted_halfway_with_the_mean_directions_and_velocities_and_its_own_lengths(model):
    simulation, _ = blown(model)
    frame = run_until_inserted(simulation)
    new = frame.inserted
    np.testing.assert_array_equal(new.parents, [[1, 2]])
    assert new.weight == 0  # nobody follows it yet
    a, b, c = frame.points[1], frame.points[2], new.points[0]
    np.testing.assert_allclose(c[0], (a[0] + b[0]) / 2, atol=1e-7)
    mean = unit_segments(a) + unit_segments(b)
    # Positions are float32: a metre's rounding over a segment of 14 mm.
    np.testing.assert_allclose(unit_segments(c), mean / np.linalg.norm(mean, axis=1, keepdims=True), atol=4e-6)
    np.testing.assert_allclose(np.linalg.norm(np.diff(c, axis=0), axis=1), LENGTH / (VERTICES - 1), rtol=4e-6)
    velocity = (frame.velocity[1] + frame.velocity[2]) / 2
    assert np.abs(velocity).max() > 0.05
    # Chains know no velocity along a link; what is left of the mean is what turns it.
    along = np.abs((np.diff(velocity, axis=0) * unit_segments(c)).sum(axis=1)).sum() if model == "chain" else 0.0
    np.testing.assert_allclose(new.velocity[0], velocity, atol=2e-6 + along)
    assert simulation.report.parts["inserted guides"] == 1


@pytest.mark.parametrize("model", sorted(SOLVERS))
def test_without_interactions_nobody_else_notices(model):
    simulation, _ = blown(model)
    plain = Simulation(brush(), model, wind=parting, drag=1.0, frame_rate=1 / FRAME)
    most = 0
    for _ in range(12):
        frame, expected = simulation.step(), plain.step()
        most = max(most, frame.inserted.count)
        for name in ("points", "velocity", "orientations", "cut_force", "active", "weight"):
            np.testing.assert_array_equal(getattr(frame, name), getattr(expected, name))
    assert most == 1


def test_an_inserted_guide_moves_by_itself():
    simulation, _ = blown()
    run_until_inserted(simulation)
    for _ in range(10):
        frame = simulation.step()
    # The wind changes sides 5 mm beside its root: it is blown to one side, with its own length.
    c = frame.inserted.points[0].astype(np.float64)
    halfway = (frame.points[1] + frame.points[2]) / 2
    assert np.linalg.norm(c[-1] - halfway[-1]) > 0.02
    np.testing.assert_allclose(np.linalg.norm(np.diff(c, axis=0), axis=1).sum(), LENGTH, rtol=1e-4)


# -- coming and going --------------------------------------------------------------------------------------------------


class Driven:
    """Guides moved by hand: `gaps` are how much farther apart than groomed neighbours are."""

    def __init__(self, count=5, **settings):
        self.part = AdaptiveGuides(**{"opens_at": 0.01, "closes_at": 0.5, "fade": 4 * FRAME, **settings})
        self.simulation = Simulation(brush(count), forces=[self.part], frame_rate=1 / FRAME)
        self.state = self.simulation._state

    def show(self, *gaps):
        places = np.concatenate([[0.0], np.cumsum(gaps)])
        points = self.simulation.strands.rest_points.copy()
        points[:, 1:, 0] += places[:, None]
        self.state.points[: len(points)] = points
        roots = self.simulation._roots
        self.part.adapt(self.simulation._solver, self.state, roots, FRAME)
        return self.part.present, self.part.weight


def test_hysteresis_keeps_a_guide_between_the_two_thresholds():
    driven = Driven(2)
    present = [bool(driven.show(gap)[0][0]) for gap in (0.009, 0.006, 0.011, 0.009, 0.0055, 0.009, 0.0055)]
    assert present == [False, False, True, True, True, True, True]
    weights = [float(driven.show(0.004)[1][0]) for _ in range(4)]
    assert weights == pytest.approx([1.0, *(s * s * (3 - 2 * s) for s in (0.75, 0.5, 0.25))])
    assert driven.show(0.004)[0].tolist() == [False]
    assert driven.show(0.009)[0].tolist() == [False]


def test_weights_rise_and_fall_without_a_jump_even_when_called_back():
    driven = Driven(2)
    gaps = [0.02] * 3 + [0.0] * 2 + [0.02] * 6 + [0.0] * 6
    weights = np.array([driven.show(gap)[1][0] for gap in gaps])
    # The slope of s^2 (3 - 2 s) is at most 1.5, and a frame is a quarter of the fade.
    assert np.abs(np.diff(weights, prepend=0.0)).max() < 1.5 / 4
    assert weights.max() == 1.0
    assert weights[-1] == 0.0


def test_a_guide_that_left_is_used_again():
    driven = Driven(2)
    for _ in range(2):
        present, weight = driven.show(0.02)
        assert present.all()
        assert weight == 0
        for _ in range(3):
            driven.show(0.02)
        assert driven.show(0.0)[0].all()
        for _ in range(5):
            present, _ = driven.show(0.0)
        assert not present.any()


def test_the_farthest_pairs_come_first_and_nobody_is_put_out():
    driven = Driven(5, limit=2)
    assert driven.show(0.011, 0.03, 0.012, 0.02)[0].tolist() == [False, True, False, True]
    assert driven.show(0.5, 0.011, 0.5, 0.011)[0].tolist() == [False, True, False, True]


def test_a_limit_of_none_inserts_none():
    simulation, adaptive = blown(limit=0)
    for _ in range(8):
        assert simulation.step().inserted.count == 0
    assert len(adaptive.pairs) == 0


def test_groups_keep_to_themselves_and_negative_ones_are_left_alone():
    assert blown(groups=[0, 0, 1, 1])[1].pairs.tolist() == [[0, 1], [2, 3]]
    assert blown(groups=[0, 0, -1, -1])[1].pairs.tolist() == [[0, 1]]
    named = brush(group_id=np.array([3, 3, 5, 5]))
    assert blown(guides=named)[1].pairs.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert AdaptiveGuides(guides=named).choose_pairs(Simulation(named).strands, np.ones(4, np.bool_)).tolist() == [
        [0, 1],
        [2, 3],
    ]


def test_momentum_is_what_there_was_and_what_inserted_guides_brought():
    adaptive = AdaptiveGuides(fade=FADE, opens_at=0.005)
    simulation = Simulation(brush(), forces=[adaptive], root="free", gravity=(0, 0, 0), drag=0.0, frame_rate=1 / FRAME)
    saved = simulation.memory()
    saved["strand.velocity"][:4, :, 0] = np.array([-0.1, -0.1, 0.1, 0.1])[:, None] + 0.05
    simulation.restore(saved)
    mass = simulation._solver.model.mass

    def momentum():
        there = simulation.active[:, None, None] * simulation._state.velocity
        return (mass[..., None] * there).sum(axis=(0, 1))

    first = momentum()
    for _ in range(10):
        frame = simulation.step()
    assert frame.inserted.count == 1
    one = mass[4].sum() * 0.05  # of a guide with the mean velocity of its two neighbours
    np.testing.assert_allclose(adaptive.brought, [one, 0, 0], atol=1e-12 * one + 1e-20)
    np.testing.assert_allclose(momentum(), first + adaptive.brought, atol=1e-9 * abs(one))


# -- on a head ---------------------------------------------------------------------------------------------------------


def test_spare_roots_lie_on_the_skin_and_no_spare_strand_in_the_head():
    out = np.stack([np.cos(angle := np.arange(8) * np.pi / 4), 0 * angle, np.sin(angle)], axis=1)
    down = np.linspace(0, 1, VERTICES)[:, None] * np.array([0.0, -0.08, 0.0])
    guides = Guides.from_groom(Groom.from_uniform((0.101 * out[:, None] + down).astype(np.float32)))
    simulation = Simulation(guides, body=Sphere((0.0, 0.0, 0.0), 0.1), forces=[AdaptiveGuides(reach=0.09)])
    spare = simulation._solver.model.rest_points[8:]
    assert len(spare) == 8
    # Half-way between two of eight around the head, the chord is 8 mm inside.
    away = np.linalg.norm(spare, axis=2)
    np.testing.assert_allclose(away[:, 0], 0.101, atol=1e-6)
    assert away.min() > 0.1 - 1e-6
    moved = simulation._checked_roots(RootPose.carried(guides.roots.astype(np.float64), TURNED))
    np.testing.assert_allclose(moved.positions[8:], TURNED.apply(spare[:, 0]), atol=1e-7)


# -- beside other parts ------------------------------------------------------------------------------------------------


def test_a_strip_is_split_in_two_around_a_spare_strand():
    parents = np.array([[0, 0], [1, 1], [2, 2], [1, 2]])
    pairs, splitter = with_split(np.array([[0, 1], [1, 2]]), parents)
    assert pairs.tolist() == [[0, 1], [1, 2], [1, 3], [3, 2]]
    assert splitter.tolist() == [-1, 3, -1, -1]


def test_the_strip_between_two_guides_becomes_two_and_one_again():
    strips = TriangleStrips(breaks_at=100.0, heals_at=90.0)
    simulation, _ = blown("cosserat", strips)
    simulation.step()
    pair = strips.pairs.tolist()
    whole, halves = pair.index([1, 2]), [row for row, (a, b) in enumerate(pair) if 5 in (a, b)]
    assert [pair[row] for row in halves] == [[1, 5], [5, 2]]
    seen = []
    for _ in range(50):
        was_inserted = bool(simulation.active[5])
        simulation.step()
        dense = (strips.density > 0).all(axis=1)
        assert dense[halves].all() == was_inserted
        assert dense[whole] != was_inserted
        seen.append(was_inserted)
    assert seen[0] is False
    assert True in seen
    assert seen[-1] is False


def test_an_inserted_guide_has_no_links_even_when_links_are_made_anew():
    links = StaticLinks(rate=5.0)
    simulation, _ = blown("cosserat", links)
    run_until_inserted(simulation)
    links.rebuild()
    simulation.step()
    other, segments = links.memory()["other"], VERTICES - 1
    assert (other[:4] >= 0).any()
    assert (other[4:] == -1).all()
    assert (other < 4 * segments).all()


def everything():
    return [StaticLinks(rate=5.0), TriangleStrips(), VolumeGrid()]


def test_continuing_from_a_checkpoint_equals_not_stopping():
    whole, _ = blown("cosserat", *everything())
    frames = [whole.step() for _ in range(40)]
    counts = np.array([frame.inserted.count for frame in frames])
    came, went = int((counts > 0).argmax()), 39 - int((counts[::-1] > 0).argmax())
    assert 0 < came < went < 39
    for stop in (came - 1, came, (came + went) // 2, went):
        first, _ = blown("cosserat", *everything())
        for _ in range(stop + 1):
            first.step()
        second, _ = blown("cosserat", *everything())
        second.load_checkpoint(first.checkpoint())
        frame = second.frame
        for number in range(stop + 1, min(stop + 6, 40)):
            frame = second.step()
            expected = frames[number]
            np.testing.assert_array_equal(frame.points, expected.points)
            for name in ("parents", "weight", "points", "velocity", "cut_force"):
                np.testing.assert_array_equal(getattr(frame.inserted, name), getattr(expected.inserted, name))


def test_the_number_of_threads_changes_no_byte(on_threads):
    """Sixteen pairs of guides that are parted, and a slot for each: the second of two threads has some of both."""
    apart = brush(2, 16).rest * np.float32([1.0, 1.0, 1.5]) + np.float32([APART, 0.0, 0.0])
    guides = Guides.from_groom(Groom.from_uniform(apart))

    def last_frame():
        simulation, _ = blown("cosserat", *everything(), guides=guides, reach=1.1 * APART)
        for _ in range(8):
            frame = simulation.step()
        assert len(simulation.active) == 48
        return frame

    assert on_threads(last_frame).inserted.count == 16


def test_a_reset_takes_all_of_them_out():
    simulation, _ = blown()
    run_until_inserted(simulation)
    frame = simulation.reset()
    assert frame.inserted.count == 0
    assert not simulation.active[4:].any()
    np.testing.assert_allclose(frame.points, brush().rest, atol=1e-7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limit": -1}, "limit: must be at least 0, got -1"),
        ({"opens_at": 0.0}, "opens_at: must be"),
        ({"closes_at": 1.0}, "closes_at: must be at least 0 and below 1, got 1.0"),
        ({"fade": -1.0}, "fade: must be"),
        ({"neighbours": "some"}, "neighbours: 'some' is unknown"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveGuides(**settings)


def test_two_of_them_are_refused():
    with pytest.raises(ValueError, match="forces: must hold one AdaptiveGuides at most, got 2"):
        Simulation(brush(), forces=[AdaptiveGuides(), AdaptiveGuides()])

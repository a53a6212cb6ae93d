"""Strands and vertices that contact passes over because they are surely away: looking at all changes no bit."""

import numpy as np

from mane.body.motion import Pose, Twist
from mane.body.motion_presets import make_motion
from mane.body.props.comb import make_comb
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.contact.solids import projection
from mane.contact.solids._kernels_projection import project_strand
from mane.contact.solids.clearance import Clearances, not_measured
from mane.groom import styles
from mane.groom.select import select_guides
from mane.scene.simulation import Simulation
from mane.strand.material import Material

FRAMES = 12


def project_everyone(
    solid,
    poses,
    limits,
    inner,
    lowest,
    before,
    ways,
    margin,
    is_held,
    is_active,
    rest_length,
    dt,
    points,
    velocity,
    *tables,
):
    """Do what `project_strands` does, asking nobody first."""
    *scratch, moved = tables
    for s in np.flatnonzero(is_active):
        rows = [table[s] for table in scratch]
        fixed = (lowest[s], before[s], is_held[s], rest_length[s], dt)
        moved[s] |= project_strand(solid, poses, limits, inner, *fixed, points[s], velocity[s], *rows)


class Combing:
    """A comb that goes to and fro behind the head."""

    teleports = ()

    def pose(self, time):
        return Pose(np.array([0.0, -0.05, -0.24 + 0.08 * np.sin(7.0 * time)]), np.array([0.0, 0.28, 0.0, 0.96]))

    def velocity(self, time):
        return Twist(np.array([0.0, 0.0, 0.56 * np.cos(7.0 * time)]), np.zeros(3), self.pose(time).position)

    def teleported(self, start, end):
        return False


def shaken(frames):
    """States of guides of all lengths of segments, shaken between a comb and the body, frame by frame."""
    head = make_motion("random", amplitude=np.radians(40), rate=3.0, seed=2)
    comb = Solid(make_comb(teeth=8).shape, Combing())
    guides = select_guides(styles.make("straight", strands=200, vertices=10, seed=1), 10, method="farthest", seed=1)
    ball = Solid(Sphere((0.0, -0.05, -0.17), 0.03), make_motion("shake"))
    sim = Simulation(guides, body=styles.body("straight"), solids=[comb, ball], head=head, contact={"thickness": 0.001})
    yield sim
    for _ in range(frames):
        sim.step()
        yield {name: array.tobytes() for name, array in sim.checkpoint().items()}


def looking_at_all(part, method):
    """Let a part forget what it has measured before each call of `method`, so that it is sure of nothing."""
    whole, clearances = getattr(part, method), part._clearances

    def look(*args):
        for clearance in clearances._known.values():
            clearance.measured[..., 0] = -np.inf
        for one in getattr(part, "_solids", ()):
            one._between[..., 0] = -np.inf
        return whole(*args)

    setattr(part, method, look)


def test_looking_at_everything_changes_no_bit(monkeypatch):
    quick, plain = shaken(FRAMES), shaken(FRAMES)
    simulation = next(quick)
    expected = list(quick)
    assert simulation.report.parts["contacts"] > 0
    contact = next(part for part in simulation.parts if part.name == "contact")
    assert any(np.isfinite(one._between[..., 0]).any() for one in contact._solids)  # something is remembered
    monkeypatch.setattr(projection.kernels, "project_strands", project_everyone)
    parts = {part.name: part for part in next(plain).parts}
    for name, method in (("contact", "add"), ("contact", "settle"), ("contact", "measure"), ("projection", "project")):
        part = parts[name]
        looking_at_all(part, method)
    assert list(plain) == expected


def test_a_table_of_clearances_is_shared_by_those_who_ask_for_the_same_solid():
    model = Material().model(select_guides(styles.make("bob", strands=30, vertices=6, seed=1), 5, seed=1))
    clearances, ball, other = Clearances(), Solid(Sphere((0, 0, 0), 0.1)), Solid(Sphere((0, 0, 0), 0.1))
    table = clearances.of(ball, model)
    assert table is clearances.of(ball, model)
    assert table is not clearances.of(other, model)
    np.testing.assert_array_equal(table.measured, not_measured(5, 6))

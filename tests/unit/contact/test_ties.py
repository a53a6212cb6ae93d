"""Ties: what they hold, what they leave alone, and when they let go."""

import numpy as np
import pytest
from loose_points import view
from mass_points import GRAVITY, PointSolver, Scene, make_model

from mane.body.motion import Pose
from mane.contact.grid.volume_grid import VolumeGrid
from mane.contact.ties.ties import Tie, Ties
from mane.geometry import quaternion
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation
from mane.strand.cosserat.solver import CosseratSolver
from mane.strand.material import Material
from mane.strand.model import RootKind
from mane.strand.ports import Force, Load
from mane.strand.roots import RootPose
from mane.strand.solver import MAX_SUBSTEP
from mane.strand.stepping import StepPath, Stepper

DT = 1 / 250
MASS = 1e-7


def bundle(strands=7, seed=0, **settings):
    """Free strands side by side, with a tie around the middle vertex of each."""
    rng = np.random.default_rng(seed)
    points = np.zeros((strands, 5, 3))
    points[..., 1] = -np.linspace(0, 0.1, 5)
    points[..., [0, 2]] += rng.uniform(-0.02, 0.02, (strands, 1, 2))
    tie = Tie(np.arange(strands), np.full(strands, 2), **{"radius": 0.005, **settings})
    return make_model(points, mass=MASS, gravity=(0, 0, 0), bend=1e-9), tie


def momenta(model, state):
    impulse = model.mass[..., None] * state.velocity
    return impulse.sum(axis=(0, 1)), np.cross(state.points, impulse).sum(axis=(0, 1))


def free_rods(strands=6):
    """Free Cosserat rods in flight, without gravity, and the stepper for forces that act on them."""
    rng = np.random.default_rng(5)
    points = np.zeros((strands, 6, 3))
    points[..., 1] = -np.linspace(0, 0.1, 6)
    points[..., [0, 2]] += rng.uniform(-0.02, 0.02, (strands, 1, 2))
    solver = CosseratSolver(Material().model(points, root="free", gravity=(0, 0, 0)))
    roots = RootPose.checked(points[:, 0], np.broadcast_to([0, 0, 0, 1.0], (strands, 4)), strands)
    state = solver.rest_state(roots)
    state.velocity += rng.normal(0, 0.3, (strands, 1, 3))
    return solver, roots, state


@pytest.mark.parametrize("force", ["tie", "grid"])
def test_free_rods_keep_their_momentum(force):
    solver, roots, state = free_rods()
    tie = Tie(np.arange(6), np.full(6, 3), radius=0.005)
    acting = Ties([tie]) if force == "tie" else VolumeGrid(friction=50.0)
    stepper = Stepper(solver, [acting])
    before, _ = momenta(solver.model, state)
    start = state.velocity.copy()
    size = (solver.model.mass[..., None] * np.abs(start)).sum()
    stepper.step(state, state, StepPath(lambda f: roots), time=0.2, dt=0.2, substeps=50)
    assert np.abs(state.velocity - start).max() > 0.1
    # float32 accuracy; what is left is the solver's own rounding
    np.testing.assert_allclose(momenta(solver.model, state)[0], before, atol=1e-7 * size)


def spread(state, tie):
    tied = state.points[tie.strands, tie.vertices]
    return np.linalg.norm(tied - tied.mean(axis=0), axis=1).max()


@pytest.mark.parametrize("stiffness", [1e-3, 1.0, np.inf])
def test_a_free_bundle_keeps_both_momenta(stiffness):
    model, tie = bundle(stiffness=stiffness)
    scene = Scene(PointSolver(model), [Ties([tie])])
    scene.state.velocity += np.random.default_rng(1).normal(0, 0.5, model.rest_points.shape)
    linear, angular = momenta(model, scene.state)
    size = (model.mass[..., None] * np.abs(scene.state.velocity)).sum()
    for _ in range(50):
        scene.step(DT)
        now = momenta(model, scene.state)
        # pulls of one tie are balanced to rounding; the positions of the other vertices drift up to a metre
        np.testing.assert_allclose(now[0], linear, atol=1e-12 * size)
        np.testing.assert_allclose(now[1], angular, atol=1e-12 * size)


@pytest.mark.parametrize("stiffness", [1e-2, np.inf])
def test_loose_hair_is_gathered_to_the_radius(stiffness):
    model, tie = bundle(stiffness=stiffness)
    scene = Scene(PointSolver(model), [Ties([tie])])
    assert spread(scene.state, tie) > 2 * tie.radius
    # a spring of 1e-2 N/m on 1e-7 kg swings at 300 rad/s; half a second is many times its decay
    scene.run(0.5, DT)
    assert spread(scene.state, tie) < 1.3 * tie.radius  # the ball is about their balance, not about their mean
    untied = np.delete(scene.state.points, 2, axis=1)
    np.testing.assert_array_equal(untied, np.delete(model.rest_points, 2, axis=1))


def test_hair_within_the_radius_feels_nothing_even_when_it_turns():
    model, tie = bundle(radius=0.05)
    scene = Scene(PointSolver(model), [Ties([tie])])
    spin = np.array([3.0, 5.0, -2.0])
    scene.state.velocity[...] = np.cross(spin, model.rest_points)
    before = scene.state.velocity.copy()
    scene.step(DT)
    # the motion is that of the whole, so that nothing is slowed down either
    np.testing.assert_allclose(scene.state.velocity, before, atol=1e-9 * np.abs(before).max())


def weight_on_a_tie(share, **settings):
    """Run one vertex that hangs from a tie to the head, its weight `share` of the tie's strength."""
    model = make_model([[[0, 0, 0], [0.01, 0, 0], [0.02, 0, 0]]], mass=MASS)
    load = MASS * GRAVITY
    # one radius above it, so that it hangs in the tie from the start
    tie = Tie([0], [1], radius=1e-3, holds="head", centre=(0.01, 1e-3, 0), strength=load / share, **settings)
    ties = Ties([tie])
    scene = Scene(PointSolver(model), [ties])
    report = scene.run(0.6, DT)
    return scene, ties, report, load


def test_a_tie_holds_below_its_stated_load_and_says_what_it_carries():
    scene, ties, report, load = weight_on_a_tie(0.98)
    assert ties.held[0].all()
    # a stiffness of 300 m / dt^2 gives way by g dt^2 / 300
    assert -scene.state.points[0, 1, 1] == pytest.approx(GRAVITY * DT**2 / 300, rel=1e-3)
    assert report.parts["tie load"] == pytest.approx(load, rel=1e-3)


def test_a_tie_lets_go_above_its_stated_load():
    scene, ties, report, _ = weight_on_a_tie(1.02)
    assert not ties.held[0].any()
    assert report.parts["tie losses"] == 1
    assert -scene.state.points[0, 1, 1] > 0.5  # and it fell


@pytest.mark.parametrize(("lets_go", "left"), [("strand", 4), ("all", 0)])
def test_one_strand_that_is_torn_away_goes_alone_or_opens_the_tie(lets_go, left):
    model, tie = bundle(strands=5, radius=0.05, strength=1e-4, lets_go=lets_go, holds="head")
    ties = Ties([tie])
    scene = Scene(PointSolver(model), [ties, Tug(3, 2, 5e-4)])
    scene.run(0.2, DT)
    assert ties.held[0].sum() == left
    assert not ties.held[0][3]
    ties.retie()
    assert ties.held[0].all()


class Tug(Force):
    """A steady pull along x at one vertex."""

    def __init__(self, strand, vertex, force):
        self.where, self.size = (strand, vertex, 0), force

    def add(self, strands, load):
        load.force[self.where] += self.size


def test_a_clip_follows_the_head():
    points = np.zeros((3, 6, 3))
    points[..., 1] = -np.linspace(0, 0.1, 6)
    points[..., 0] = 0.01 * np.arange(3)[:, None]
    model = Material().model(points)
    tie = Tie(np.arange(3), np.full(3, 4), radius=0.012, holds="head")
    solver = CosseratSolver(model)
    roots = model.rest_points[:, 0].copy()
    start = RootPose.checked(roots, np.broadcast_to([0, 0, 0, 1.0], (3, 4)), 3)
    turn = quaternion.exp(np.array([0.0, 0.0, np.pi / 2]))
    goal = RootPose.checked(quaternion.rotate(turn, roots), np.broadcast_to(turn, (3, 4)), 3)
    stepper = Stepper(solver, [Ties([tie])])
    state = solver.rest_state(start)
    stepper.step(state, state, StepPath(lambda f: start.toward(goal, f)), time=0.5, dt=0.5, substeps=125)
    centre = quaternion.rotate(turn, points[:, 4].mean(axis=0))
    reached = np.linalg.norm(state.points[:, 4] - centre, axis=1)
    # A vertex that slides along the ball by s in a step leaves it by s^2 / 2 r: 0.1 mm at 0.4 m/s, which is twice the
    # speed of the tie itself.
    assert reached.max() < tie.radius + (0.4 * 0.004) ** 2 / (2 * tie.radius)


def test_what_was_let_go_is_remembered():
    _, ties, _, _ = weight_on_a_tie(1.02)
    other = Ties(ties.ties)
    other.prepare(make_model(np.diag([1.0, 2.0, 3.0])[None], mass=MASS))
    other.restore(ties.memory())
    assert not other.held[0].any()
    np.testing.assert_array_equal(other.memory()["load"], ties.memory()["load"])


def test_an_empty_slot_is_not_pulled():
    model, tie = bundle()
    ties = Ties([tie])
    scene = Scene(PointSolver(model), [ties])
    scene.stepper.active[:] = [False] * 3 + [True] * 4
    scene.step(DT)
    moved = np.abs(scene.state.velocity).sum(axis=(1, 2)) > 0
    assert not moved[:3].any()
    assert moved[3:].any()


@pytest.mark.parametrize(("name", "count"), [("ponytail", 1), ("braid", 2)])
def test_styles_place_their_ties_where_groomed_hair_feels_nothing(name, count):
    guides = Guides.from_groom(styles.make(name, strands=60, vertices=24, seed=3))
    ties = Ties.of_style(name, guides)
    assert len(ties.ties) == count
    # cut ends of a ponytail apart, all strands pass through
    assert all(len(tie.strands) >= 0.9 * guides.count for tie in ties.ties)
    model = Material().model(guides)
    ties.prepare(model)
    load = Load.empty(model.strand_count, model.vertex_count)
    ties.add(view(model), load)
    assert not load.force.any()


def test_a_ponytail_that_is_shaken_stays_in_its_tie():
    guides = Guides.from_groom(styles.make("ponytail", strands=16, vertices=12, seed=3))
    ties = Ties.of_style("ponytail", guides)
    tie = ties.ties[0]

    def farthest(forces):
        sim, found = Simulation(guides, forces=forces), 0.0
        for frame in range(12):
            turn = quaternion.exp(np.array([0.0, 0.6 * np.sin(2.5 * 2 * np.pi * frame / 24), 0.0]))
            points = sim.step(Pose(np.zeros(3), turn)).points[tie.strands, tie.vertices]
            found = max(found, np.linalg.norm(points - quaternion.rotate(turn, tie.centre), axis=1).max())
        return found

    # The tie moves at up to 9.4 rad/s x 0.11 m = 1 m/s. Hair that slides along the ball at that speed leaves it by
    # (1 m/s dt)^2 / 2 r = 0.65 mm in a step.
    assert farthest([ties]) < tie.radius + (1.0 * MAX_SUBSTEP) ** 2 / (2 * tie.radius)
    assert farthest([]) > 1.5 * tie.radius


@pytest.mark.parametrize("model", ["chain", "cosserat", "spring"])
def test_a_bundle_that_is_shaken_stays_together(model):
    guides = Guides.from_groom(styles.make("ponytail", strands=16, vertices=12, seed=3))
    ties = Ties.of_style("ponytail", guides, holds="bundle")
    tie = ties.ties[0]

    def farthest(forces):
        sim, found = Simulation(guides, model, forces=forces), 0.0
        for frame in range(12):
            turn = quaternion.exp(np.array([0.0, 0.6 * np.sin(2.5 * 2 * np.pi * frame / 24), 0.0]))
            points = sim.step(Pose(np.zeros(3), turn)).points[tie.strands, tie.vertices].astype(np.float64)
            found = max(found, smallest_ball(points))
        return found

    # Hair outside is drawn in at 0.5 m/s, 2.6 mm in a step; what leaves between two looks of the tie is of that size.
    assert farthest([ties]) < tie.radius + 2 * 0.0026
    assert farthest([]) > 1.5 * tie.radius


def smallest_ball(points):
    """Radius of the smallest ball around points (K, 3), to a hundredth (Badoiu and Clarkson 2003)."""
    centre = points.mean(axis=0)
    for count in range(2, 200):
        centre += (points[np.linalg.norm(points - centre, axis=1).argmax()] - centre) / count
    return np.linalg.norm(points - centre, axis=1).max()


def test_pulls_find_the_centre_of_two_clusters():
    """Two tight clusters on either side are drawn together, each as hard as the other, at once."""
    points = np.zeros((6, 3, 3))
    points[..., 1] = -np.linspace(0, 0.02, 3)
    points[:3, :, 0], points[3:, :, 0] = 0.03, -0.03
    points[..., 2] = 1e-4 * np.arange(6)[:, None]
    model = make_model(points, mass=MASS, gravity=(0, 0, 0))
    scene = Scene(PointSolver(model), [Ties([Tie(np.arange(6), np.full(6, 1), radius=0.005, grip=0.0)])])
    for _ in range(4):
        scene.step(DT)
    speed = scene.state.velocity[:, 1, 0]
    # drawn in at the speed of half a metre per second, from both sides
    np.testing.assert_allclose(speed[:3], -0.5, rtol=0.05)
    np.testing.assert_allclose(speed[3:], 0.5, rtol=0.05)


def test_a_bundle_goes_on_from_what_it_remembers():
    guides = Guides.from_groom(styles.make("ponytail", strands=8, vertices=8, seed=3))

    def shaken():
        return Simulation(guides, forces=[Ties.of_style("ponytail", guides, holds="bundle")])

    def pose(frame):
        return Pose(np.zeros(3), quaternion.exp(np.array([0.0, 0.5 * np.sin(frame), 0.0])))

    sim, other = shaken(), shaken()
    for frame in range(4):
        sim.step(pose(frame))
    other.load_checkpoint(sim.checkpoint())
    for frame in range(4, 7):
        np.testing.assert_array_equal(sim.step(pose(frame)).points, other.step(pose(frame)).points)


def test_loose_styles_have_no_ties():
    assert styles.ties("curly") == ()
    guides = Guides.from_groom(styles.make("brush", strands=5))
    with pytest.raises(ValueError, match="ties: style 'brush' has none"):
        Ties.of_style("brush", guides)


def test_around_takes_the_guides_that_pass():
    points = np.zeros((4, 5, 3), np.float32)
    points[..., 1] = -np.linspace(0, 0.1, 5)
    points[..., 0] = 0.02 * np.arange(4)[:, None]
    guides = Guides.from_groom(Groom.from_uniform(points))
    tie = Ties.around(guides, (0.0, -0.06, 0.0), 0.015).ties[0]
    # 0 and 20 mm away are within twice the radius, 40 mm are not; -0.06 lies between vertices 2 and 3, nearer to 2
    np.testing.assert_array_equal(tie.strands, [0, 1])
    np.testing.assert_array_equal(tie.vertices, [2, 2])
    with pytest.raises(ValueError, match=r"tie.point: no guide passes within 0.03 m of \(1, 0, 0\)"):
        Ties.around(guides, (1.0, 0, 0), 0.015)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius": 0.0}, "tie.radius: must be above 0, got 0.0"),
        ({"holds": "wall"}, "tie.holds: 'wall' is unknown; choose from bundle, head"),
        ({"lets_go": "none"}, "tie.lets_go: 'none' is unknown; choose from all, strand"),
        ({"strength": -1.0}, "tie.strength: must be above 0, got -1.0"),
        ({"strands": []}, "tie.strands: must be numbers|tie.strands: must hold at least one"),
        ({"strands": [0, 9]}, r"ties\[0\].strands: must be within 0 to 6, got 9 at index 1"),
        ({"vertices": [0, 1]}, r"ties\[0\].vertices: must not be a held root, got 0 at index 0"),
        ({"strands": [1, 1]}, r"ties\[0\]: must hold a vertex once, got 1 of them again"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    model, _ = bundle()
    held = make_model(model.rest_points, root=RootKind.CLAMPED)
    given = {"strands": [0, 1], "vertices": [2, 2], "radius": 0.01, **settings}
    if not len(given["strands"]):
        given["vertices"] = []
    with pytest.raises(ValueError, match=message):
        Ties([Tie(**given)]).prepare(held)

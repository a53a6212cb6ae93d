"""Ten thousand frames that no head would survive: shaken, teleported every hundred frames, combed all the while."""

import numpy as np
import pytest

from mane.body.bust import make_bust
from mane.body.motion import Pose, Twist
from mane.body.motion_presets import make_motion
from mane.body.props.comb import make_comb
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.groom import styles
from mane.groom.select import select_guides
from mane.scene.simulation import Simulation
from mane.strand.solver import converged_models

FRAME_RATE = 96.0  # two of the longest substeps
TELEPORT_FRAMES, RECOVERY_FRAMES = 100, 10
LARGEST_STRETCH = {"cosserat": 0.01, "chain": 0.01, "spring": 0.05}
DEEPEST = 1e-3  # [m]


class Jumping:
    """A motion carried to another place and direction at every teleport."""

    def __init__(self, motion, frames, seed):
        self.motion = motion
        rng = np.random.default_rng(seed)
        count = frames // TELEPORT_FRAMES + 1
        self.teleports = tuple(np.arange(1, count) * TELEPORT_FRAMES / FRAME_RATE)
        shifts = rng.uniform(-2, 2, (count, 3))
        turns = rng.uniform(-np.pi, np.pi, count)
        self.places = [
            Pose(s, quaternion.from_axis_angle([0.0, 1.0, 0.0], a)) for s, a in zip(shifts, turns, strict=True)
        ]

    def place(self, time):
        # A frame's time is a sum of steps: half a frame decides on which side of a jump it lies.
        return self.places[int((time + 0.5 / FRAME_RATE) * FRAME_RATE / TELEPORT_FRAMES)]

    def pose(self, time):
        return self.place(time).compose(self.motion.pose(time))

    def velocity(self, time):
        twist, place = self.motion.velocity(time), self.place(time)
        linear, angular = (quaternion.rotate(place.rotation, v) for v in (twist.linear, twist.angular))
        return Twist(linear, angular, place.apply(twist.at))

    def teleported(self, start, end):
        half = 0.5 / FRAME_RATE
        return any(start + half < time <= end + half for time in self.teleports)


class Combing:
    """A comb that goes to and fro behind the head, through the hair, never nearer to the skin than 3 cm."""

    teleports = ()

    def __init__(self):
        self.turn = quaternion.from_axis_angle([0.0, 1.0, 0.0], 0.3)

    def pose(self, time):
        return Pose(np.array([0.03 * np.sin(3.1 * time), -0.05, -0.24 + 0.08 * np.sin(7.0 * time)]), self.turn)

    def velocity(self, time):
        linear = np.array([0.093 * np.cos(3.1 * time), 0.0, 0.56 * np.cos(7.0 * time)])
        return Twist(linear, np.zeros(3), self.pose(time).position)

    def teleported(self, start, end):
        return False


def violent_simulation(model, frames, guides):
    bust = make_bust()
    groom = styles.make("straight", strands=400, vertices=16, seed=1)
    head = make_motion("random", amplitude=np.radians(40), rate=3.0, seed=2)
    comb = Solid(make_comb(teeth=12).shape, Jumping(Combing(), frames, seed=5))
    return Simulation(
        select_guides(groom, guides, method="farthest", seed=1),
        model,
        body=bust.mesh,
        solids=[comb],
        head=Jumping(head, frames, seed=5),
        frame_rate=FRAME_RATE,
    )


def depths(simulation, frame):
    """How deep the deepest vertex, roots apart, is inside each solid [m]."""
    points = frame.points[:, 1:].reshape(-1, 3)
    found = []
    for solid, pose in zip(simulation.solids, frame.solid_poses, strict=True):
        local = pose.inverse_apply(points)
        distance = solid.shape.distance(local) if solid.shape is not None else solid.field.sample(local)
        found.append(-float(distance.min()))
    return found


def run_violently(model, frames, guides):
    simulation = violent_simulation(model, frames, guides)
    stretch, deepest, touched = 0.0, 0.0, 0.0
    for number in range(1, frames + 1):
        frame = simulation.step()
        assert np.isfinite(frame.points).all(), f"frame {number}"
        assert np.isfinite(frame.cut_force).all(), f"frame {number}"
        stretch = max(stretch, simulation.report.stretch)
        touched = max(touched, simulation.report.parts["contacts"])
        if number % TELEPORT_FRAMES >= RECOVERY_FRAMES:
            deepest = max(deepest, *depths(simulation, frame))
    assert touched > 0  # otherwise nothing was tried
    assert stretch < LARGEST_STRETCH[model]
    assert deepest < DEEPEST


@pytest.mark.parametrize("model", converged_models())
def test_a_violent_second(model):
    run_violently(model, 130, guides=12)


@pytest.mark.stress
@pytest.mark.parametrize("model", converged_models())
def test_ten_thousand_violent_frames(model):
    run_violently(model, 10_000, guides=24)

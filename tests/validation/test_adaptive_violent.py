"""Hair on the adaptive skin among gears, a comb and a hand, on a ball that is shaken: five thousand frames."""

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.motion_presets import make_motion
from mane.body.props import make_comb, make_gears, make_hand
from mane.geometry import quaternion
from mane.groom import styles
from mane.groom.select import select_guides
from mane.scene.simulation import Simulation
from mane.skin.finish.passes import LengthKeeping, SolidAdjustment
from mane.skin.table import make_skin

FRAME_RATE = 100.0
STRETCH, DEEPEST = 0.01, 1e-3  # [1], [m]
X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


def swinging(seconds, middle, swing, rate, rotation):
    """To and fro about a place, `rate` times a second, and aside in another rhythm."""
    times = np.arange(0.0, seconds + 0.1, 0.02)
    phase = 2 * np.pi * rate * times[:, None]
    places = np.array(middle) + np.sin(phase) * swing + 0.01 * np.sin(2.3 * phase) * np.array([1.0, 1.0, 1.0])
    return KeyframedMotion(times, places, np.tile(rotation, (len(times), 1)))


def solids_of(seconds):
    """A comb on one side, a hand on the other, gears below; none closer to the ball than its fingers are thick."""
    comb = make_comb(teeth=12)
    at_ball = quaternion.from_axis_angle(Z, -0.5 * np.pi)
    hand = make_hand(curl=0.1, spread=0.15)
    from_left = quaternion.from_axis_angle(Z, 0.5 * np.pi)
    flat = Pose(np.array([-0.08, -0.17, 0.0]), quaternion.from_axis_angle(X, -0.5 * np.pi))
    gears = make_gears(teeth=(20, 17, 24), speed=4.0, pose=flat)
    return [
        comb.solid(swinging(seconds, [0.15, 0.0, 0.0], [0.0, 0.0, 0.12], 1.1, at_ball)),
        hand.solid(swinging(seconds, [-0.3, 0.0, 0.0], [0.0, 0.0, 0.12], 0.8, from_left)),
        *(gear.solid() for gear in gears),
    ]


def run_violently(frames, hairs=600, guides=60):
    """Returns the largest stretch of guides and hairs, the deepest vertex [m] and how often anything touched."""
    groom = styles.make("ball", strands=hairs, vertices=12, seed=1, length=0.12)
    simulation = Simulation(
        select_guides(groom, guides, method="farthest", seed=1),
        body=styles.body("ball"),
        head=make_motion("random", amplitude=np.radians(40), rate=3.0, seed=2),
        solids=solids_of(frames / FRAME_RATE),
        frame_rate=FRAME_RATE,
    )
    skin = make_skin("adaptive", groom, simulation)
    # Twice, since solids are dealt with one after another: out of a gear hair may come into its neighbour.
    push_out = SolidAdjustment(simulation.solids, groom=groom, body=simulation.solids[0], rounds=8, strict=True)
    passes = [LengthKeeping(groom), push_out, push_out]
    rest = np.linalg.norm(np.diff(groom.as_uniform(), axis=1), axis=2)
    guide_stretch, stretch, deepest, touched = 0.0, 0.0, 0.0, 0
    for number in range(frames):
        frame = simulation.step()
        points = skin(frame, copy=True)
        for finish in passes:
            points = finish(points, frame)
        assert np.isfinite(frame.points).all(), f"frame {number}"
        assert np.isfinite(points).all(), f"frame {number}"
        guide_stretch = max(guide_stretch, simulation.report.stretch)
        length = np.linalg.norm(np.diff(points, axis=1), axis=2)
        stretch = max(stretch, float(np.abs(length.sum(axis=1) / rest.sum(axis=1) - 1).max()))
        flat = points[:, 1:].reshape(-1, 3)
        for solid in simulation.solids[1:]:
            deepest = max(deepest, -float(solid.at(frame.time).distance(flat).min()))
        touched += simulation.report.parts["contacts"] > 0
    return guide_stretch, stretch, deepest, touched


@pytest.mark.stress
def test_five_thousand_frames_among_gears_comb_and_hand():
    guide_stretch, stretch, deepest, touched = run_violently(5_000)
    assert touched > 3_000  # otherwise nothing was tried
    assert guide_stretch < STRETCH
    assert stretch < STRETCH
    assert deepest < DEEPEST

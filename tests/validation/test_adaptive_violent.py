"""Hair on the adaptive skin among gears, a comb and a hand, on a ball that is shaken: five thousand frames."""

from typing import NamedTuple

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.motion_presets import make_motion
from mane.body.props import make_comb, make_gears, make_hand
from mane.dataset.learn.adaptive import AdaptiveTraining, learn_from_motion
from mane.geometry import quaternion
from mane.groom import styles
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.measure.study.parting import TRAINING_SEEDS, motion_of
from mane.measure.study.parting_scenes import URCHIN
from mane.scene.config import ROUNDS_BEHIND_SIDES
from mane.scene.simulation import Simulation
from mane.skin.finish.passes import LengthKeeping, SolidAdjustment
from mane.skin.finish.sides import SideKeeping
from mane.skin.table import make_skin

FRAME_RATE = 100.0
# The last round of `push_out` moves vertices and restores no lengths, which leaves single segments off: in 5,000 frames
# by up to 8.7 % as scenes have it (1.0 % with push-out alone). Added up without their signs, errors of a hair are as
# large as that segment alone makes them (0.79 %), so they are held to 1 %, too: two segments of eleven that are off by
# 10 % each way are refused. A single one may then be off by 11 times that.
STRETCH, DEEPEST, SEGMENTS = 0.01, 1e-3, 11  # [1], [m]
X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


class Violence(NamedTuple):
    """The largest errors of a run.

    Attributes:
        of_guides: how far the length of a guide was off [1].
        of_hairs: of a whole hair [1].
        added_up: how far the segments of a hair were off, too long and too short alike, over its length [1].
        of_segments: how far a single segment was off [1].
        depth: of a vertex in a solid [m].
        touched: frames in which anything touched.
    """

    of_guides: float
    of_hairs: float
    added_up: float
    of_segments: float
    depth: float
    touched: int

    def __str__(self) -> str:
        off = f"guides {1e2 * self.of_guides:.4f} %, hairs {1e2 * self.of_hairs:.2f} %"
        segments = f"segments {1e2 * self.of_segments:.2f} % and {1e2 * self.added_up:.2f} % added up"
        return f"{off}, {segments} off their lengths, {1e3 * self.depth:.3f} mm deep"


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


def push_out_alone(groom, solids):
    """Passes without memory, strict; twice, since out of a gear hair may come into its neighbour."""
    push_out = SolidAdjustment(solids, groom=groom, body=solids[0], rounds=8, strict=True)
    return [LengthKeeping(groom), push_out, push_out]


def as_scenes_have_it(groom, solids):
    """The passes that a scene has behind skin `adaptive` by itself."""
    push_out = SolidAdjustment(solids, groom=groom, body=solids[0], rounds=ROUNDS_BEHIND_SIDES)
    return [LengthKeeping(groom), SideKeeping(solids, body=solids[0], groom=groom), push_out]


def learned_sets(groom, guides):
    """A model of so many guides, of hair without solids."""
    motion = motion_of(URCHIN, groom, TRAINING_SEEDS, 0.5, lambda text, share: None)
    return learn_from_motion(motion, AdaptiveTraining(guides=guides))


def run_violently(frames, passes_of, *, is_learned=False, hairs=600, guides=60):
    """The largest errors of so many frames."""
    groom = styles.make("ball", strands=hairs, vertices=SEGMENTS + 1, seed=1, length=0.12)
    model = learned_sets(groom, guides) if is_learned else None
    nearest = select_guides(groom, guides, method="farthest", seed=1)
    simulation = Simulation(
        nearest if model is None else Guides.chosen(groom, model.guides),
        body=styles.body("ball"),
        head=make_motion("random", amplitude=np.radians(40), rate=3.0, seed=2),
        solids=solids_of(frames / FRAME_RATE),
        frame_rate=FRAME_RATE,
    )
    skin = make_skin("adaptive", groom, simulation, **({} if model is None else {"model": model}))
    passes = passes_of(groom, simulation.solids)
    rest = np.linalg.norm(np.diff(groom.as_uniform(), axis=1), axis=2)
    guide_stretch, stretch, added_up, of_segment, deepest, touched = 0.0, 0.0, 0.0, 0.0, 0.0, 0
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
        added_up = max(added_up, float((np.abs(length - rest).sum(axis=1) / rest.sum(axis=1)).max()))
        of_segment = max(of_segment, float(np.abs(length / rest - 1).max()))
        flat = points[:, 1:].reshape(-1, 3)
        for solid in simulation.solids[1:]:
            deepest = max(deepest, -float(solid.at(frame.time).distance(flat).min()))
        touched += simulation.report.parts["contacts"] > 0
    found = Violence(guide_stretch, stretch, added_up, of_segment, deepest, touched)
    print(found)  # noqa: T201 (shown by -s)
    return found


@pytest.mark.stress
@pytest.mark.parametrize(
    ("passes_of", "is_learned"),
    [(push_out_alone, False), (as_scenes_have_it, False), (as_scenes_have_it, True)],
    ids=["push-out alone, naive", "as scenes have it, naive", "as scenes have it, learned"],
)
def test_five_thousand_frames_among_gears_comb_and_hand(passes_of, is_learned):
    found = run_violently(5_000, passes_of, is_learned=is_learned)
    assert found.touched > 3_000  # otherwise nothing was tried
    assert found.of_guides < STRETCH
    assert found.of_hairs < STRETCH
    assert found.added_up < STRETCH
    assert found.of_segments < SEGMENTS * STRETCH
    assert found.depth < DEEPEST

"""Hair that stays on its side of solids: a rod goes through a curtain of hair that its skin leaves where it hangs."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from skin_frames import frame_of

from mane.body.motion import Pose
from mane.body.props import make_comb
from mane.body.shapes import Capsule, Sphere
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.finish._kernels_sides import FOLD
from mane.skin.finish.passes import SolidAdjustment
from mane.skin.finish.sides import SideKeeping
from mane.stage import memory as checkpoints

STEP, LENGTH, HEIGHT = 0.01, 0.2, -0.1
STILL = np.array([0.0, 0.0, 0.0, 1.0])


def curtain(hairs=7, vertices=21):
    """Hairs side by side along x that hang straight down from y = 0, z = 0."""
    points = np.zeros((hairs, vertices, 3), np.float32)
    points[..., 0] = np.linspace(-0.03, 0.03, hairs)[:, None]
    points[..., 1] = np.linspace(0.0, -LENGTH, vertices)
    return points


def rod(radius=0.002):
    """A rod along x at half the height of the curtain, when it is at z = 0."""
    return Solid(Capsule((-0.1, HEIGHT, 0.0), (0.1, HEIGHT, 0.0), radius))


def frames_of(places, head=None, step=STEP):
    """Frames of 10 ms, or another `step`, in which a solid stands at `places`."""
    hair = Groom.from_uniform(curtain(2))
    base = frame_of(Guides.from_groom(hair), head)
    return [
        replace(base, time=step * number, solid_poses=(Pose(np.asarray(place, float), STILL),))
        for number, place in enumerate(places)
    ]


def pressed(steps=81, start=-0.04, end=0.04, aside=0.0):
    """Places of a rod that comes from behind the curtain, and stops before it."""
    along = np.linspace(0.0, 1.0, steps)
    return [(aside * t, 0.0, start + (end - start) * t) for t in along]


def carried(finish, frames, points=None):
    """Hairs of all frames, each made of the same curtain."""
    return [finish((curtain() if points is None else points).copy(), frame).copy() for frame in frames]


def at_height(hairs, height=HEIGHT):
    """Where hairs pass a height, z [m]."""
    return np.array([np.interp(-height, -hair[:, 1], hair[:, 2]) for hair in hairs.astype(np.float64)])


def test_a_rod_takes_hair_along_that_it_would_pass():
    frames = frames_of(pressed())
    made = carried(SideKeeping([rod()]), frames)
    for frame, hairs in zip(frames, made, strict=True):
        front = frame.solid_poses[0].position[2] + 0.002
        if front > 0.001:
            assert (at_height(hairs) > front - 5e-4).all()
            assert (rod().distance(frame.solid_poses[0].inverse_apply(hairs.reshape(-1, 3))) > -1e-5).all()
    # `push_out`, which sees one frame, lets the rod pass.
    assert abs(at_height(carried(SolidAdjustment([rod()]), frames)[-1])).max() < 1e-6


def test_lengths_and_roots_are_kept_and_hair_below_goes_along():
    hairs = carried(SideKeeping([rod()]), frames_of(pressed()))[-1]
    segments = np.linalg.norm(np.diff(hairs.astype(np.float64), axis=1), axis=2)
    np.testing.assert_allclose(segments, LENGTH / 20, rtol=1e-5)
    np.testing.assert_array_equal(hairs[:, 0], curtain()[:, 0])
    assert (hairs[:, -1, 2] > 0.03).all()  # hangs from the rod
    between = hairs[:, 5, 2]
    assert ((between > 0.015) & (between < 0.03)).all()  # halfway from the root


@pytest.mark.parametrize(
    ("radius", "speed", "step"),
    [(0.0005, 0.25, STEP), (0.0005, 0.6, STEP), (0.003, 2.0, STEP), (0.0005, 0.38, 1 / 24), (0.0005, 0.95, 1 / 24)],
)
def test_no_tooth_is_too_thin_and_no_rod_too_fast(radius, speed, step):
    steps = round(0.08 / (speed * step))
    frames = frames_of(pressed(steps + 1), step=step)
    hairs = carried(SideKeeping([rod(radius)]), frames)[-1]
    assert (at_height(hairs) > 0.04).all()


def test_a_body_that_hair_does_not_touch_counts_for_nothing():
    """[body] collide = false: it is among the solids, and none of those that are touched."""
    body, groom = Solid(Sphere((0.0, HEIGHT, -0.05), 0.03)), Groom.from_uniform(curtain())
    frames = [replace(one, solid_poses=(Pose.identity(), *one.solid_poses)) for one in frames_of(pressed())]
    alone = carried(SideKeeping([rod()]), frames_of(pressed()))
    finish = SideKeeping([body, rod()], touched=[1], body=body, groom=groom)
    np.testing.assert_array_equal(carried(finish, frames)[-1], alone[-1])


def test_hair_comes_back_when_nothing_holds_it():
    fade = 0.1
    gone = [(0.0, 1.0, 0.0)] * 60
    finish = SideKeeping([rod()], fade=fade)
    made = carried(finish, frames_of([*pressed(), *gone]))
    aside = np.array([np.abs(hairs - curtain()).max() for hairs in made[len(pressed()) - 1 :]])
    assert aside[0] > 0.03
    # Exponential, but for lengths that are restored: hair that is drawn aside hangs higher.
    np.testing.assert_allclose(aside[1:40] / aside[:39], np.exp(-STEP / fade), rtol=0.02)
    np.testing.assert_array_equal(
        carried(SideKeeping([rod()], fade=0.01), frames_of([*pressed(), *gone]))[-1], curtain()
    )


def test_friction_takes_hair_along_the_rod():
    frames = frames_of(pressed(aside=0.05))
    smooth, rough = (carried(SideKeeping([rod()], friction=mu), frames)[-1] for mu in (0.0, 1.0))
    assert abs(smooth[..., 0] - curtain()[..., 0]).max() < 1e-5
    moved = (rough - curtain())[:, 10:, 0]
    assert (moved > 0.01).all()
    assert (moved < 0.05).all()


def test_a_rod_that_is_put_elsewhere_takes_nothing_along():
    finish = SideKeeping([rod()])
    for hairs in carried(finish, frames_of([(0.0, 0.0, -0.4), (0.0, 0.0, 0.4), (0.0, 0.0, -0.4)])):
        np.testing.assert_array_equal(hairs, curtain())


def test_what_is_aside_turns_with_the_head():
    turn = Pose(np.zeros(3), quaternion.from_axis_angle(np.array([0.0, 1.0, 0.0]), 1.2))
    frames, away = frames_of(pressed()), frames_of([(0.0, 9.0, 0.0)], turn)[0]
    finish = SideKeeping([rod()])
    before = carried(finish, frames)[-1]
    after = finish(turn.apply(curtain()).astype(np.float32), replace(away, time=frames[-1].time + STEP))
    seen = turn.inverse_apply(after)
    kept = np.exp(-STEP / finish.params.fade)
    np.testing.assert_allclose((seen - curtain())[:, 10, 2], kept * (before - curtain())[:, 10, 2], rtol=0.01)


def test_hair_that_meets_nothing_keeps_its_bytes_and_the_body_is_left_to_others():
    ball, passing = Solid(Sphere((0.0, -0.05, 0.0), 0.02)), frames_of(pressed(end=-0.005))
    both = [replace(frame, solid_poses=(Pose.identity(), *frame.solid_poses)) for frame in passing]
    for hairs in carried(SideKeeping([ball, rod()], body=ball), both):
        np.testing.assert_array_equal(hairs, curtain())


def before_a_shoulder(radius=0.03, steps=81, rod_at=0.055):
    """A round shoulder along x below the roots, a rod before it that touches nothing, and hairs at rest and later.

    At rest hairs hang slanted before the shoulder. Their skin swings them straight down, through the middle of it,
    where they go on trembling by some thousandths of a radian.
    """
    shoulder = Solid(Capsule((-0.1, -0.15, 0.0), (0.1, -0.15, 0.0), radius))
    angles = 0.35 * np.maximum(1.0 - np.linspace(0.0, 2.0, steps), 0.0) + 0.003 * (-1.0) ** np.arange(steps)
    hairs = []
    for angle in (0.35, *angles):
        hair = curtain()
        hair[..., 2] = -hair[..., 1] * np.sin(angle)
        hair[..., 1] *= np.cos(angle)
        hairs.append(hair)
    frames = frames_of([(0.0, -HEIGHT - 0.02, rod_at)] * steps)
    frames = [replace(frame, solid_poses=(Pose.identity(), *frame.solid_poses)) for frame in frames]
    return shoulder, hairs[0], frames, hairs[1:]


@pytest.mark.parametrize("rod_at", [0.055, 3.0])
def test_hair_that_is_carried_into_the_body_stays_on_its_side_and_does_not_jump(rod_at):
    """`push_out`, which sees one frame, puts hair that comes down on a shoulder now before it and now behind."""
    shoulder, rest, frames, targets = before_a_shoulder(rod_at=rod_at)
    groom, moved = Groom.from_uniform(rest), {}
    for name, given in (("left to push_out", {}), ("kept", {"groom": groom})):
        finish = SideKeeping([shoulder, rod()], body=shoulder, **given)
        push_out = SolidAdjustment([shoulder, rod()], groom=groom, body=shoulder, rounds=8)
        made = [push_out(finish(goal.copy(), frame), frame).copy() for goal, frame in zip(targets, frames, strict=True)]
        moved[name] = [float(np.abs(b - a).max()) for a, b in itertools.pairwise(made)]
        assert shoulder.distance(made[-1][:, 1:].reshape(-1, 3)).min() > -1e-3
    assert max(moved["left to push_out"][-20:]) > 0.05
    assert max(moved["kept"]) < 0.02
    assert max(moved["kept"][-20:]) < 0.002
    assert made[-1][:, -1, 2].min() > 0.02  # before the shoulder
    lengths = np.linalg.norm(np.diff(made[-1].astype(np.float64), axis=1), axis=2)
    np.testing.assert_allclose(lengths, LENGTH / 20, rtol=0.02)


@pytest.mark.parametrize("bend", [0.2, 1.0])
def test_hair_is_folded_no_more_than_it_was_or_by_half_a_right_angle(bend):
    """Hair that comes down on a shoulder would be laid in folds like a bellows; what is bent by itself stays bent."""
    shoulder, rest, frames, targets = before_a_shoulder()
    zigzag = (LENGTH / 20 * bend * (np.arange(21) % 2)).astype(np.float32)
    finish = SideKeeping([shoulder, rod()], body=shoulder, groom=Groom.from_uniform(rest))

    def cosines(hairs):
        way = np.diff(hairs.astype(np.float64), axis=1)
        way /= np.linalg.norm(way, axis=2, keepdims=True)
        return np.einsum("svc,svc->sv", way[:, 1:], way[:, :-1])

    moved = 0
    for goal, frame in zip(targets, frames, strict=True):
        goal[..., 0] += zigzag
        made = finish(goal.copy(), frame)
        assert (cosines(made) > np.minimum(cosines(goal), FOLD) - 1e-3).all()
        moved += (made != goal).any()
    assert moved > 30
    assert (cosines(goal).min() < FOLD) == (bend > 0.5)


def test_hair_that_was_groomed_into_the_body_is_left_there():
    shoulder, rest, frames, targets = before_a_shoulder()
    mixed = rest.copy()
    mixed[3:] = targets[-1][3:]
    finish = SideKeeping([shoulder, rod()], body=shoulder, groom=Groom.from_uniform(mixed))
    for frame in frames[:3]:
        np.testing.assert_array_equal(finish(mixed.copy(), frame), mixed)


def test_solids_that_jump_and_hair_that_is_flung_leave_lengths_and_roots():
    rng = np.random.default_rng(7)
    comb = make_comb().solid()
    finish, segments = SideKeeping([comb]), LENGTH / 20
    for number in range(150):
        pose = Pose(rng.uniform(-0.06, 0.06, 3) + [0.0, HEIGHT, 0.0], quaternion.random(1, rng)[0].astype(float))
        head = Pose(rng.uniform(-0.05, 0.05, 3), quaternion.exp(rng.normal(0.0, 0.3, 3)))
        frame = replace(frames_of([(0, 0, 0)], head)[0], time=STEP * (number + 1), solid_poses=(pose,))
        target = head.apply(curtain()).astype(np.float32)
        hairs = finish(target.copy(), frame)
        np.testing.assert_array_equal(hairs[:, 0], target[:, 0])
        lengths = np.linalg.norm(np.diff(hairs.astype(np.float64), axis=1), axis=2)
        np.testing.assert_allclose(lengths, segments, rtol=1e-4)


def test_it_goes_on_from_its_memory_while_it_holds_hair():
    frames = frames_of(pressed(aside=0.02))
    expected = carried(SideKeeping([rod()]), frames)
    first, second = SideKeeping([rod()]), SideKeeping([rod()])
    carried(first, frames[:60])
    second.restore(first.memory())
    assert [one.tobytes() for one in carried(second, frames[60:])] == [one.tobytes() for one in expected[60:]]


def test_a_large_memory_is_saved_as_rarely_after_a_restore(monkeypatch):
    monkeypatch.setattr(checkpoints, "SAVED_BYTES", curtain().nbytes // 4)
    first, second = SideKeeping([rod()]), SideKeeping([rod()])
    carried(first, frames_of(pressed())[:3])
    second.restore(first.memory())
    assert first.save_every == second.save_every == 5
    carried(second, frames_of(pressed())[3:4])
    assert second.save_every == 5


def test_a_frame_that_is_asked_for_again_gives_the_same_hair_and_changes_nothing():
    gone = [(0.0, 1.0, 0.0)] * 150
    frames = frames_of([*pressed(aside=0.02), *gone])
    once, twice = SideKeeping([rod()], fade=0.05), SideKeeping([rod()], fade=0.05)
    for frame in frames:
        expected = once(curtain(), frame).tobytes()
        assert [twice(curtain(), again).tobytes() for again in (frame, frame.copy())] == [expected] * 2
        kept, same = once.memory(), twice.memory()
        assert all(kept[name].tobytes() == same[name].tobytes() for name in kept)
    assert expected == curtain().tobytes()  # it has come back meanwhile


def test_threads_and_neighbours_change_nothing(on_threads):
    rng = np.random.default_rng(2)
    many = np.repeat(curtain(), 120, axis=0)
    many[..., 0] += rng.normal(0.0, 0.01, (len(many), 1)).astype(np.float32)
    frames = frames_of(pressed(41))
    whole = on_threads(lambda: carried(SideKeeping([rod()]), frames, many)[-1])
    alone = carried(SideKeeping([rod()]), frames, many[300:301])[-1]
    np.testing.assert_array_equal(whole[300:301], alone)

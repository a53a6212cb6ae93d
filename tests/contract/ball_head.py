"""A ball of hair that all batteries share: small, with guides that move, a body, and a solid that passes by."""

from functools import cache

import numpy as np

from mane.body.motion import Pose, Twist
from mane.body.motion_keys import KeyframedMotion
from mane.body.motion_presets import make_motion
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.groom import styles
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.scene.simulation import Simulation
from mane.stage.protocol import needed

ARRAYS = ("points", "velocity", "orientations", "cut_force", "roots", "root_rotations", "weight")
# Turns about gravity and shifts: what looks the same to hair.
ELSEWHERE = Pose(np.array([0.4, -0.3, 0.2]), quaternion.from_axis_angle(np.array([0.0, 1.0, 0.0]), 1.1))


@cache
def groom(strands=90, vertices=8):
    return styles.make("ball", strands=strands, vertices=vertices, seed=3, length=0.06)


@cache
def guides(count=20):
    return select_guides(groom(), count, seed=3)


def few_guides(count):
    """The first guides alone, in slots of which one is empty."""
    rest = guides().rest[: count + 1]
    active = np.arange(count + 1) < count
    whole = Guides.from_groom(guides().strands.take(np.arange(count + 1)))
    assert whole.rest.shape == rest.shape
    return Guides(whole.strands, whole.source, active, active.astype(np.float32))


class Carried:
    """A motion on a base that stands elsewhere."""

    teleports = ()

    def __init__(self, motion, base):
        self.motion, self.base = motion, base

    def teleported(self, start, end):
        return False

    def pose(self, time):
        return self.base.compose(self.motion.pose(time))

    def velocity(self, time):
        return Twist.zero()


def shaking(base=None):
    motion = make_motion("shake", ease_in=0.05, rate=3.0)
    return motion if base is None else Carried(motion, base)


STILL = type("Still", (), {"teleported": lambda *_: False, "pose": lambda *_: Pose.identity()})()


def riding_body(motion, frames, substeps=2):
    """The ball as an animated mesh that moves as a head with this motion does, sampled at the ends of all substeps."""
    mesh = Sphere((0.0, 0.0, 0.0), 0.06).mesh(24)
    times = np.arange(frames * substeps + 1) / (24 * substeps)
    moved = [motion.pose(time).apply(mesh.points.astype(np.float64)) for time in times]
    return Solid.animated(mesh, times, np.stack(moved).astype(np.float32))


def passing_ball(base=None):
    """A solid that comes up to the hair."""
    base = Pose.identity() if base is None else base
    places = np.array([[0.15, 0.0, 0.0], [0.06, 0.0, 0.0]])
    motion = KeyframedMotion(np.array([0.0, 0.3]), base.apply(places), np.tile(base.rotation, (2, 1)))
    return Solid(Sphere((0.0, 0.0, 0.0), 0.03), motion)


def make_part(stage, settings, of=None):
    given = {"guides": guides() if of is None else of}
    return stage.for_scene(**needed(stage, given.get), **settings)


def make_simulation(parts=(), *, of=None, model="cosserat", body=True, base=None, head=None, solids=True, **settings):
    return Simulation(
        guides() if of is None else of,
        model,
        body=styles.body("ball") if body is True else body or None,
        solids=[passing_ball(base)] if solids else [],
        forces=list(parts),
        head=shaking(base) if head is None else head,
        substeps=2,
        **settings,
    )


def run(simulation, frames):
    return [simulation.step() for _ in range(frames)]


def bytes_of(frame):
    return {name: getattr(frame, name).tobytes() for name in ARRAYS}


def variants(table):
    """Every entry of a table with every one of its examples, as parameters of a test."""
    import pytest

    return [
        pytest.param(table[name], settings, id=f"{name}{number or ''}")
        for name in table
        for number, settings in enumerate(table[name].examples)
    ]

"""Tables of a scene about what hair grows on and touches: body, head, solids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from mane.body.interpolation import INTERPOLATIONS
from mane.geometry.limits import Choice, NotNegative, Positive, Range, check_limits
from mane.scene.config_output import require

Vector3 = tuple[float, float, float]
Settings = Mapping[str, Any]
Paths = str | tuple[str, ...]

OWN_BODY, NO_BODY = "own", "none"
CHARACTERS = ("bust", "creature")  # as in `mane.body.characters`
AUTO = "auto"
REST_POSES = (AUTO, "bind", "first")
LONGEST_PREROLL = 1e4  # [s]
Interpolation = Annotated[str, Choice(*INTERPOLATIONS)]
Rate = Annotated[float, Range(above=0, below=1e4)]


def is_mesh_file(mesh: str) -> bool:
    """Whether a body's mesh is the name of a file, not that of a body made in code."""
    return mesh not in (OWN_BODY, NO_BODY, *CHARACTERS)


@dataclass(frozen=True)
class BodyTable:
    """What the hair grows on; it moves with the head, and hair collides with it. A file that moves deforms it.

    Options of the motion are further keys of the table.

    Attributes:
        mesh: a mesh file, "bust", "creature", "none", or "own": that of the style, none for a groom from a file
        motion: of the creature: walk, shake, breathe or violent; of a bust: random, walk, turn, look, jump, dance, nod,
            look_around or shrug
        prim: path or paths in a USD file of the meshes that carry hair; without it those that roots lie on
        ignore: path or paths in a USD file that hair does not collide with
        rest: pose that the groom was made in: "auto", "bind", "first" (frame), or a time code of the file
        start: time code of the file that the first frame shows; without it where the file starts
        preroll: time that the body takes from that pose to its first frame [s], or "auto"
        interpolation: between samples of a file that moves: "cubic" keeps velocities continuous, "linear" does not
        collide: whether hair collides with it; false where it only carries the hair and simpler solids stand for it
        animation: an array that moves the points of the mesh: .npy (frames, points, 3), or .npz with points and times
        rate: samples per second of the array, or frames per second at which Alembic is opened; without it 24; of a
            motion with cycles how many per second
        unit: unit of the file where it does not say
        up: up axis of the file where it does not say
        settings: options of the motion
    """

    mesh: str = OWN_BODY
    motion: str | None = None
    prim: Paths | None = None
    ignore: Paths | None = None
    rest: float | str = AUTO
    start: float | None = None
    preroll: Annotated[float, Range(least=0, below=LONGEST_PREROLL)] | str = AUTO
    interpolation: Interpolation = "cubic"
    collide: bool = True
    animation: str | None = None
    rate: Rate | None = None
    unit: str | None = None
    up: str | None = None
    settings: Settings = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.motion is not None and self.rate is not None and not self.is_file:  # two things of one name
            object.__setattr__(self, "settings", {**self.settings, "rate": self.rate})
            object.__setattr__(self, "rate", None)
        choices = ", ".join(map(repr, REST_POSES))
        is_known = not isinstance(self.rest, str) or self.rest in REST_POSES
        require(is_known, "rest", f"must be {choices} or a time code", self.rest)
        is_time = not isinstance(self.preroll, str)
        require(is_time or self.preroll == AUTO, "preroll", 'must be "auto" or a time [s] from 0 on', self.preroll)
        _check_animation(self, not self.is_file)
        if self.motion is not None and self.is_file:
            raise ValueError("motion: is for a body made in code; a file that moves has its own")

    @property
    def is_file(self) -> bool:
        """Whether the body comes from a file."""
        return is_mesh_file(self.mesh)


@dataclass(frozen=True)
class HeadTable:
    """How the head moves.

    Attributes:
        motion: still, shake, nod, turn, tilt, walk, jump, look, dance, random, or a motion file (.json,
            .csv, .npz, .bvh, .usd, .usda, .usdc, .usdz; docs/motions.md)
        amplitude: of a named motion: angle [rad], or length [m] for walk and jump
        rate: of a named motion [Hz]
        pivot: point that a named motion turns about [m]; without it the neck, found on the body
        ease_in: time in which a named motion begins [s]
        stop: time at which a named motion is over [s], at least twice `ease_in`; without it never
        seed: of the motions look, dance and random; without it that of the scene
    """

    motion: str = "still"
    amplitude: NotNegative | None = None
    rate: Positive | None = None
    pivot: Vector3 | None = None
    ease_in: Positive | None = None
    stop: Positive | None = None
    seed: Annotated[int, Range(least=0)] | None = None

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True)
class SolidTable:
    """Something else that hair collides with. Sizes of the prop or shape are further keys of the table.

    Attributes:
        prop: comb, gear, hairbrush, hand, horse, rod or urchin
        shape: or box, capsule, plane, sphere or torus
        mesh: or a mesh file; one that moves deforms the solid
        position: where its origin is [m]
        rotation_vector: its orientation there: axis times angle [rad]
        motion: a motion file (.json, .csv, .npz, .bvh, .usd, .usda, .usdc, .usdz; docs/motions.md) or a named motion,
            in place of `keyframes`
        keyframes: of its position: rows of time [s] and position [m]
        prim: path or paths in a USD file of what is taken, with all below; without it everything
        ignore: path or paths in a USD file that are left out
        start: time code of the mesh file that the first frame shows; without it where the file starts; of a capsule
            one of its ends
        interpolation: between samples of a file that moves: "cubic" keeps velocities continuous, "linear" does not
        animation: an array that moves the points of the mesh: .npy (frames, points, 3), or .npz with points and times
        rate: samples per second of the array, or frames per second at which Alembic is opened; without it 24
        unit: unit of the mesh file where it does not say
        up: up axis of the mesh file where it does not say
        settings: sizes of the prop or shape
    """

    prop: str | None = None
    shape: str | None = None
    mesh: str | None = None
    position: Vector3 = (0.0, 0.0, 0.0)
    rotation_vector: Vector3 = (0.0, 0.0, 0.0)
    motion: str | None = None
    keyframes: tuple[tuple[float, float, float, float], ...] = ()
    prim: Paths | None = None
    ignore: Paths | None = None
    start: float | Vector3 | None = None
    interpolation: Interpolation = "cubic"
    animation: str | None = None
    rate: Rate | None = None
    unit: str | None = None
    up: str | None = None
    settings: Settings = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.shape == "capsule" and self.start is not None:  # two things of one name, of which a table has one
            object.__setattr__(self, "settings", {**self.settings, "start": self.start})
            object.__setattr__(self, "start", None)
        require(not isinstance(self.start, tuple), "start", "must be a time code", self.start)
        if sum(value is not None for value in (self.prop, self.shape, self.mesh)) != 1:
            raise ValueError("prop: must be given, or shape, or mesh, and only one of them")
        if self.keyframes and self.motion is not None:
            raise ValueError("keyframes: must be left out where motion is given")
        times = [row[0] for row in self.keyframes]
        if any(after <= before for before, after in pairwise(times)):
            raise ValueError(f"keyframes: times must rise, got {times}")
        _check_animation(self, self.mesh is None)


def _check_animation(table: BodyTable | SolidTable, is_no_file: bool) -> None:
    """Refuse keys of a moving file where there is none."""
    names = ("prim", "ignore", "start", "animation", "rate")
    given = [name for name in names if getattr(table, name, None) is not None]
    given += ["interpolation"] * (table.interpolation != "cubic")
    if is_no_file and given:
        raise ValueError(f"{given[0]}: is for a mesh from a file")
    if table.animation is not None:
        suffix = Path(table.animation).suffix
        require(suffix in (".npy", ".npz"), "animation", "must end in .npy or .npz", table.animation)
    check_limits(table)

"""Gears that mesh: involute teeth, a bore, and windows between spokes.

Teeth follow the standard rack (pressure angle 20 degrees, addendum of one module, dedendum of 1.25), thinned a little
so that a gap remains between the flanks. A gear's outline is a formula in the plane; it is extruded along Z.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.body.motion import EASE_IN, Pose
from mane.body.motion_spin import SpinMotion
from mane.body.props.base import Prop
from mane.geometry import quaternion
from mane.geometry.limits import Positive, Range, check_arguments

Points2 = NDArray[np.float64]  # (P, 2) [m]
Angles = NDArray[np.float64]  # (P,) [rad]

PRESSURE_ANGLE = math.radians(20)
ADDENDUM = 1.0  # [modules] of tooth outside the pitch circle
DEDENDUM = 1.25  # [modules] of gap inside it; the difference is clearance
BACKLASH = 0.06  # [modules] of play between flanks, along the pitch circle
MIN_TEETH = 17  # fewer teeth of this rack are undercut, and their partners' tips would cut into them
FLANK_SAMPLES = 7  # corners along the involute
# Below the base circle there is no involute; the flank runs on to the root, widening by this part of the gap.
FILLET = 0.25
BORE, HUB = 0.18, 0.38  # [pitch radii]
RIM = 1.6  # [modules] of solid rim under the teeth
MAX_SPOKES = 8
SPOKE_SHARE = 0.28  # of the full turn that spokes take
BEVEL = 0.06  # [modules]
CLEARANCE = 0.5  # [modules] between gears that do not mesh

Teeth = Annotated[int, Range(least=MIN_TEETH, whole=True)]
Spokes = Annotated[int, Range(least=0, most=MAX_SPOKES, whole=True)]


def gear_outline(teeth: Teeth, module: Positive) -> Points2:
    """Return the outline of a gear [m], counter-clockwise from the middle of a tooth on +X, shape (P, 2).

    Its corners lie on the exact outline, which bulges out between them along flanks and tips.
    """
    check_arguments(gear_outline, locals(), "gear.")
    radius, angle = _tooth(teeth, module)
    step = 2 * math.pi / teeth
    angles = np.concatenate([angle + k * step for k in range(teeth)])
    radii = np.tile(radius, teeth)
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)


def _tooth(teeth: int, module: float) -> tuple[NDArray[np.float64], Angles]:
    """Radii [m] and rising angles [rad] from the middle of a tooth to just before the middle of the next."""
    pitch = 0.5 * module * teeth
    base = pitch * math.cos(PRESSURE_ANGLE)
    root, tip = pitch - DEDENDUM * module, pitch + ADDENDUM * module
    # Half the angle of a tooth at the pitch circle, and from there at any radius of the involute.
    half_at_pitch = 0.5 * math.pi / teeth - 0.25 * BACKLASH * module / pitch
    flank = np.linspace(max(base, root), tip, FLANK_SAMPLES)
    roll = np.arccos(np.minimum(base / flank, 1.0))
    half = half_at_pitch + (math.tan(PRESSURE_ANGLE) - PRESSURE_ANGLE) - (np.tan(roll) - roll)
    middle_of_gap = math.pi / teeth
    if base > root:
        widened = half[0] + FILLET * (middle_of_gap - half[0])
        flank, half = np.concatenate([[root], flank]), np.concatenate([[widened], half])
    radii = np.concatenate([[tip], flank[::-1], [root], flank])
    return radii, np.concatenate([[0.0], half[::-1], [middle_of_gap], 2 * middle_of_gap - half])


def make_gear(*, teeth: Teeth = 24, module: Positive = 0.004, thickness: Positive = 0.012, spokes: Spokes = 5) -> Prop:
    """Make one gear: its axis is Z, its middle the origin, and the middle of a tooth is on +X.

    Args:
        teeth: number of teeth.
        module: pitch diameter over number of teeth [m]; gears mesh when they share it.
        thickness: along Z [m].
        spokes: number of spokes between hub and rim, with windows between them; 0 leaves the disc full, 1 is refused.
    """
    check_arguments(make_gear, locals(), "gear.")
    if spokes == 1:
        raise ValueError(f"gear.spokes: must be 0 or from 2 to {MAX_SPOKES}, got {spokes}")
    outline = gear_outline(teeth, module)
    bevel = min(BEVEL * module, 0.25 * thickness)
    return Prop("gear", _extruded(*_disc(outline, teeth, module, spokes), thickness, bevel))


def _disc(outline: Points2, teeth: int, module: float, spokes: int) -> tuple[Points2, NDArray[np.int64]]:
    """Triangles of the gear's face, facing +Z: rings of cells from bore to rim, and a strip from the rim to the teeth.

    The rings have two columns of cells per tooth. The inner three meet the edges of the windows between them; the last
    one has a corner below the middle of every tooth, which sees both its flanks, and one below every gap.
    """
    count, pitch = 2 * teeth, 0.5 * module * teeth
    root = pitch - DEDENDUM * module
    is_window, fitted = _columns(count, spokes)
    aligned = 2 * math.pi * np.arange(count) / count
    rings = [
        (BORE * pitch, fitted),
        (HUB * pitch, fitted),
        (root - RIM * module, fitted),
        (root - 0.5 * module, aligned),
    ]
    circles = [radius * np.stack([np.cos(angles), np.sin(angles)], axis=1) for radius, angles in rings]
    ring, column = np.divmod(np.arange(3 * count), count)
    here, following = ring * count + column, ring * count + (column + 1) % count
    quads = np.stack([here, here + count, following + count, following], axis=1)
    quads = quads[(ring != 1) | ~is_window[column]]
    strip = _teeth_strip(len(outline), teeth, 3 * count, 4 * count)
    return np.concatenate([*circles, outline]), np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]], strip])


def _teeth_strip(corner_count: int, teeth: int, rim: int, outline: int) -> NDArray[np.int64]:
    """Triangles from the rim's last ring, whose points start at index `rim`, to those of the outline at `outline`."""
    flank = (corner_count // teeth - 2) // 2
    # From the middle of a tooth down its flank, the middle of the gap, and up the flank of the next tooth.
    below = np.array([0] * (1 + flank) + [1] + [2] * flank)
    below = rim + (below + 2 * np.arange(teeth)[:, None]).ravel() % (2 * teeth)
    below_next = np.roll(below, -1)
    corner = outline + np.arange(corner_count)
    corner_next = np.roll(corner, -1)
    steps = below != below_next
    fans = np.stack([below, corner, corner_next], axis=1)
    return np.concatenate([fans, np.stack([below, corner_next, below_next], axis=1)[steps]])


def _columns(count: int, spokes: int) -> tuple[NDArray[np.bool_], Angles]:
    """Which columns lie in a window, and the angles [rad] at which columns begin: almost even, exact at the edges."""
    if spokes == 0:
        return np.zeros(count, np.bool_), 2 * math.pi * np.arange(count) / count
    # Windows and spokes take turns, starting with the window after the spoke that is centred on +X.
    edges = (np.arange(spokes)[:, None] + 0.5 * np.array([SPOKE_SHARE, 2 - SPOKE_SHARE])).ravel() / spokes
    index = np.round(edges * count).astype(np.int64)
    is_window = np.searchsorted(index, np.arange(count), side="right") % 2 == 1
    turn = np.concatenate([edges[-1:] - 1, edges, edges[:1] + 1])
    index = np.concatenate([index[-1:] - count, index, index[:1] + count])
    return is_window, 2 * math.pi * np.interp(np.arange(count), index, turn)


def _extruded(points: Points2, triangles: NDArray[np.int64], thickness: float, bevel: float) -> Mesh:
    r"""Make a closed solid of plane triangles, from z = -thickness/2 to +thickness/2, with bevelled edges.

    ```
        ____          Four layers: the lower face, the two edges of the wall, the upper face. Faces are drawn in by the
       /    \         bevel along their border; inside it only their own layers are used.
      |      |
       \____/
    ```
    """
    count, half = len(points), 0.5 * thickness
    border = _border(triangles, count)
    drawn_in = points + bevel * _inward(points, border)
    layers = [(drawn_in, -half), (points, bevel - half), (points, half - bevel), (drawn_in, half)]
    vertices = np.concatenate([np.column_stack([plane, np.full(count, z)]) for plane, z in layers])
    a, b = border.T
    faces = [triangles[:, ::-1], triangles + 3 * count]
    for level in range(3):
        low, high = level * count, (level + 1) * count
        faces += [np.stack([a + low, b + low, b + high], axis=1), np.stack([a + low, b + high, a + high], axis=1)]
    used, packed = np.unique(np.concatenate(faces), return_inverse=True)
    return Mesh(vertices[used].astype(np.float32), packed.reshape(-1, 3).astype(np.int32))


def _border(triangles: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Edges that only one triangle has, in its direction, so that the inside is on their left, shape (E, 2)."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    code, twin = edges[:, 0] * count + edges[:, 1], edges[:, 1] * count + edges[:, 0]
    return edges[~np.isin(code, twin)]


def _inward(points: Points2, border: NDArray[np.int64]) -> Points2:
    """How far each point moves when every border edge moves in by one; zero for points off the border."""
    along = points[border[:, 1]] - points[border[:, 0]]
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
    total = np.zeros_like(points)
    for end in range(2):
        np.add.at(total, border[:, end], normal)
    # With unit normals n and m the corner moves by (n + m) / (1 + n.m), and |n + m|^2 = 2 (1 + n.m).
    square = np.einsum("ij,ij->i", total, total)[:, None]
    result: Points2 = np.divide(2 * total, square, out=np.zeros_like(total), where=square > 0)
    return result


def make_gears(
    *,
    teeth: Sequence[int] = (24, 18, 30),
    module: float = 0.004,
    thickness: float = 0.012,
    spokes: int = 5,
    speed: float = 1.0,
    bearings: Sequence[float] | None = None,
    pose: Pose | None = None,
    ease_in: float = EASE_IN,
) -> tuple[Prop, ...]:
    """Make a train of gears, each driven by the one before it, with motions that keep their teeth in step.

    The gears lie in the XY plane of `pose` with the first one's centre at its origin; every gear's own frame is that of
    `make_gear`, and `prop.motion` carries it to the world.

    Args:
        teeth: number of teeth of each gear, 17 or more.
        module: pitch diameter over number of teeth [m].
        thickness: of all gears [m].
        spokes: of each gear; 0 leaves the discs full.
        speed: angular speed of the first gear [rad/s], counter-clockwise seen from +Z; the others follow.
        bearings: direction from each gear to the next [rad], from +X towards +Y, one less than there are gears; a
            zigzag along +X unless given.
        pose: where the train stands; the world's own frame unless given.
        ease_in: time from rest to full speed [s].
    """
    if len(teeth) == 0:
        raise ValueError("gears.teeth: must name at least one gear, got none")
    if bearings is None:
        bearings = [math.radians(30 if i % 2 else -30) for i in range(len(teeth) - 1)]
    if len(bearings) != len(teeth) - 1:
        raise ValueError(f"gears.bearings: must be {len(teeth) - 1} for {len(teeth)} gears, got {len(bearings)}")
    gears = [make_gear(teeth=count, module=module, thickness=thickness, spokes=spokes) for count in teeth]
    centers, phases, speeds = _train(teeth, module, speed, bearings)
    _check_apart(teeth, module, centers)
    stand = pose or Pose.identity()
    props = []
    for i, gear in enumerate(gears):
        base = stand.compose(Pose(np.array([*centers[i], 0.0]), quaternion.identity(dtype=np.float64)))
        motion = SpinMotion(speeds[i], base, phase=phases[i], ease_in=ease_in)
        props.append(Prop(f"gear {i}", gear.mesh, motion=motion))
    return tuple(props)


def _train(
    teeth: Sequence[int], module: float, speed: float, bearings: Sequence[float]
) -> tuple[list[Points2], list[float], list[float]]:
    """Centres [m], angles at rest [rad] and speeds [rad/s] at which each gear's teeth stand in its neighbour's gaps."""
    centers, phases, speeds = [np.zeros(2)], [0.0], [speed]
    for (here, there), bearing in zip(pairwise(teeth), bearings, strict=True):
        distance = 0.5 * module * (here + there)
        centers.append(centers[-1] + distance * np.array([math.cos(bearing), math.sin(bearing)]))
        # Along the common tangent both pitch circles move alike. A tooth of this gear is off the line of centres by
        # r (phase - bearing), one of the next by -r' (phase' - bearing - pi), and the two must be half a pitch apart.
        offset = 0.5 * module * here * (phases[-1] - bearing) + 0.5 * math.pi * module
        phases.append(bearing + math.pi - offset / (0.5 * module * there))
        speeds.append(-speeds[-1] * here / there)
    return centers, phases, speeds


def _check_apart(teeth: Sequence[int], module: float, centers: Sequence[Points2]) -> None:
    for i, j in combinations(range(len(teeth)), 2):
        if j == i + 1:
            continue
        needed = module * (0.5 * (teeth[i] + teeth[j]) + 2 * ADDENDUM + CLEARANCE)
        distance = float(np.linalg.norm(centers[i] - centers[j]))
        if distance < needed:
            raise ValueError(
                f"gears.bearings: gears {i} and {j} must be {needed:.4g} m apart, got {distance:.4g}; "
                "turn the bearings further apart"
            )

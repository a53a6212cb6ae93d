"""Cameras that frame hair by themselves: standing still, circling around it, or travelling along with it.

    outlines  what each frame must show, one set of points per frame
       |
    look_at, turntable, follow  ->  one `Camera` per frame

Every preset keeps its distance over all frames, so that nothing is cut off and the picture does not pump.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray, as_floats, require_choice
from mane.groom.groom import Groom
from mane.render.camera import Camera

# From the head towards the camera, by name; the head faces +Z, and +X is its left.
DIRECTIONS: dict[str, tuple[float, float, float]] = {
    "three-quarter": (0.45, 0.08, 1.0),
    "front": (0.0, 0.06, 1.0),
    "left": (1.0, 0.06, 0.0),
    "right": (-1.0, 0.06, 0.0),
    "back": (0.0, 0.06, -1.0),
    "rear": (-0.75, 0.12, -0.85),
    "above": (0.45, 0.8, 1.0),
    "top": (0.0, 1.0, 0.0),
}

STRAY = 0.001  # share of the hair's points on either side of each axis that do not push the camera away
ENOUGH_POINTS = 50_000  # of the hair, taken all over it, to find its outline
GOLDEN_RATIO = 0.5 * (5.0**0.5 - 1.0)
SMOOTHING = 6.0  # frames; standard deviation of the bell that a moving target is averaged with, at most ...
SMOOTHING_SHARE = 0.1  # ... this share of all frames
HEAD_ROOM = 0.15  # around a box of the roots, and ...
FACE = 0.25  # ... below it, in sizes of the box: from the nape to the chin
HALVINGS = 24  # of the interval in which a distance is searched: 1e-7 of it

Outline = FloatArray
Preset = Callable[..., list[Camera]]


def outline(*content: Groom | Mesh | ArrayLike | None) -> Outline:
    """Return the points that a picture must show: corners of the convex hull of everything given, shape (K, 3) [m].

    Args:
        content: grooms, meshes or points (N, 3); None is left out. Of a groom, single stray tips do not count.
    """
    parts = [_shown_points(part) for part in content if part is not None]
    if not parts:
        raise ValueError("content: must hold a groom, a mesh or points, got nothing")
    return _hull(np.concatenate(parts))


def _shown_points(content: Groom | Mesh | ArrayLike) -> FloatArray:
    if isinstance(content, Groom):
        points = _scattered(content.points)
        low, high = np.quantile(points, [STRAY, 1.0 - STRAY], axis=0, method="nearest")
        kept = ((points >= low) & (points <= high)).all(axis=1)
        return points[kept] if kept.any() else points
    if isinstance(content, Mesh):
        return content.points[np.unique(content.faces)]
    points = as_floats("content", content, ("N", 3))
    if len(points) == 0:
        raise ValueError("content: must hold at least one point, got none")
    return points


def _scattered(points: FloatArray) -> FloatArray:
    """At most `ENOUGH_POINTS` of the points; multiples of the golden ratio keep step with no number of vertices."""
    if len(points) <= ENOUGH_POINTS:
        return points
    return points[(np.arange(ENOUGH_POINTS) * GOLDEN_RATIO % 1.0 * len(points)).astype(np.int64)]


def _hull(points: FloatArray) -> Outline:
    """Corners of the convex hull; points that lie in a plane or on a line have none and come back as they are."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        result: Outline = points[np.sort(ConvexHull(points).vertices)]
        return result
    except (QhullError, ValueError):
        return points


def head_outline(groom: Groom | None, bodies: Sequence[Mesh]) -> Outline:
    """Return what a picture of the head must show: a box around the roots, and so much of the face as lies below them.

    Without hair it is all of the bodies.
    """
    if groom is None:
        return outline(*bodies)
    roots = _scattered(groom.roots)
    low, high = np.quantile(roots, [STRAY, 1.0 - STRAY], axis=0, method="nearest").astype(np.float64)
    size = float((high - low).max())
    low, high = low - HEAD_ROOM * size, high + HEAD_ROOM * size
    low[1] -= FACE * size
    return np.stack(np.meshgrid(*np.stack([low, high]).T), axis=-1).reshape(-1, 3).astype(np.float32)


# name -> what a picture of hair and bodies must show; the same names on the command line
FRAMED: dict[str, Callable[[Groom | None, Sequence[Mesh]], Outline]] = {
    "all": lambda groom, bodies: outline(groom, *bodies),
    "hair": lambda groom, bodies: outline(*bodies) if groom is None else outline(groom),
    "head": head_outline,
}


def direction_of(direction: str | ArrayLike) -> tuple[float, float, float]:
    """Return the vector towards the camera of a name in `DIRECTIONS`, or of three numbers, also as text "x,y,z"."""
    if isinstance(direction, str) and "," not in direction:
        require_choice("direction", direction, list(DIRECTIONS))
        return DIRECTIONS[direction]
    vector: ArrayLike = direction
    if isinstance(direction, str):
        try:
            vector = [float(word) for word in direction.split(",")]
        except ValueError:
            raise ValueError(f"direction: must be a name or three numbers x,y,z, got {direction!r}") from None
    x, y, z = as_floats("direction", vector, (3,)).tolist()
    return x, y, z


def look_at(
    outlines: Sequence[ArrayLike],
    *,
    direction: str | ArrayLike = "three-quarter",
    aspect: float = 16 / 9,
    fov: float = 0.45,
    margin: float = 0.06,
) -> list[Camera]:
    """Cameras of one that stands still and turns after the hair; the same camera for all frames if nothing moves.

    Args:
        outlines: what each frame must show: points [m], shape (K, 3) each.
        direction: from the content towards the camera: a name of `DIRECTIONS`, or a vector of any length.
        aspect: width of the picture over its height.
        fov: vertical field of view [rad].
        margin: share of the picture left free on each side.
    """
    frames = _checked(outlines)
    towards = direction_of(direction)
    standing = Camera.framing(np.concatenate(frames), towards, aspect=aspect, fov=fov, margin=margin)
    targets = _targets(frames)
    if np.ptp(targets, axis=0).max() == 0.0:
        return [standing] * len(frames)
    back = standing.axes[2]
    middle = targets.mean(axis=0)

    def cameras(distance: float) -> Iterator[Camera]:
        eye = tuple((middle + distance * back).tolist())
        return (Camera(eye, tuple(target), fov=fov) for target in targets.tolist())

    def shows_all(distance: float) -> bool:
        return all(fits(camera, frame, aspect, margin) for camera, frame in zip(cameras(distance), frames, strict=True))

    size = float(np.linalg.norm(np.ptp(np.concatenate(frames), axis=0)))
    near, far = 1e-3 * size, 2.0 * size
    while not shows_all(far):
        far *= 2.0
    for _ in range(HALVINGS):
        half = 0.5 * (near + far)
        near, far = (near, half) if shows_all(half) else (half, far)
    return list(cameras(far))


def turntable(
    outlines: Sequence[ArrayLike],
    *,
    direction: str | ArrayLike = "three-quarter",
    aspect: float = 16 / 9,
    fov: float = 0.45,
    margin: float = 0.06,
    turns: float = 1.0,
) -> list[Camera]:
    """Cameras of one that circles around the vertical axis through the middle; arguments as in `look_at`.

    The first frame is seen from `direction`; after the last one a full turn is complete and the first could follow. A
    still groom of 90 frames is `turntable([outline(groom)] * 90)`. A positive number of `turns` carries the camera to
    the content's left, which seems to turn to its right.
    """
    frames = _checked(outlines)
    low, high = np.min([f.min(axis=0) for f in frames], axis=0), np.max([f.max(axis=0) for f in frames], axis=0)
    middle = 0.5 * (low + high)
    angles = 2.0 * np.pi * turns * np.arange(len(frames)) / len(frames)
    # With the camera as the world, the content turns the other way: frame that once, and the rig goes around.
    turned = [(frame - middle) @ _turn_y(-angle).T for frame, angle in zip(frames, angles, strict=True)]
    rig = Camera.framing(np.concatenate(turned), direction_of(direction), aspect=aspect, fov=fov, margin=margin)
    return [_moved(rig, _turn_y(angle), middle) for angle in angles]


def follow(
    outlines: Sequence[ArrayLike],
    *,
    direction: str | ArrayLike = "three-quarter",
    aspect: float = 16 / 9,
    fov: float = 0.45,
    margin: float = 0.06,
) -> list[Camera]:
    """Cameras of one that travels along with the hair, smoothly, seeing it from one side; arguments as in `look_at`."""
    frames = _checked(outlines)
    targets = _targets(frames)
    rest = [frame - target for frame, target in zip(frames, targets, strict=True)]
    rig = Camera.framing(np.concatenate(rest), direction_of(direction), aspect=aspect, fov=fov, margin=margin)
    return [_moved(rig, np.eye(3), target) for target in targets]


# name -> one camera per outline; the same names on the command line
PRESETS: dict[str, Preset] = {"look-at": look_at, "turntable": turntable, "follow": follow}


def fits(camera: Camera, points: ArrayLike, aspect: float, margin: float = 0.0) -> bool:
    """Whether points (N, 3) are before the camera and inside its picture, `margin` (a share of it) off its edges."""
    right, up, back = camera.axes
    offset = np.asarray(points, np.float64) - camera.position
    depth = -(offset @ back)
    reach = np.tan(0.5 * camera.fov) * (1.0 - 2.0 * margin) * depth
    within = (np.abs(offset @ right) <= aspect * reach) & (np.abs(offset @ up) <= reach)
    return bool((within & (depth > 0)).all())


def _checked(outlines: Sequence[ArrayLike]) -> list[NDArray[np.float64]]:
    frames = [as_floats(f"outlines[{i}]", points, ("K", 3)) for i, points in enumerate(outlines)]
    if not frames:
        raise ValueError("outlines: must hold what at least one frame shows, got none")
    for i, frame in enumerate(frames):
        if len(frame) == 0:
            raise ValueError(f"outlines[{i}]: must hold at least one point, got none")
    return [frame.astype(np.float64) for frame in frames]


def _targets(frames: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Middle of each frame's content, averaged over the frames around it, shape (F, 3); an even pace is kept."""
    from scipy.ndimage import gaussian_filter1d

    middles = np.stack([0.5 * (frame.min(axis=0) + frame.max(axis=0)) for frame in frames])
    if np.ptp(middles, axis=0).max() == 0.0:
        return middles
    width = min(SMOOTHING, SMOOTHING_SHARE * len(frames))
    beyond = int(np.ceil(4.0 * width))
    # Before the first frame and after the last, things go on as they went: mirrored in the point at the end.
    longer = np.pad(middles, ((beyond, beyond), (0, 0)), mode="reflect", reflect_type="odd")
    return np.asarray(gaussian_filter1d(longer, width, axis=0)[beyond:-beyond])


def _turn_y(angle: float) -> NDArray[np.float64]:
    """Rotation about the vertical, counter-clockwise seen from above: from +Z (the front) towards +X."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def _moved(camera: Camera, turn: NDArray[np.float64], to: NDArray[np.float64]) -> Camera:
    """The camera turned about the origin and carried along; its own up axis too, so that one from above turns."""
    x, y, z = (turn @ camera.position + to).tolist()
    a, b, c = (turn @ camera.look_at + to).tolist()
    u, v, w = (turn @ camera.axes[1]).tolist()
    return Camera((x, y, z), (a, b, c), (u, v, w), camera.fov)

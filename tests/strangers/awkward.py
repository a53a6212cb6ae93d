"""Awkward grooms and bodies as strangers bring them, made in code: a table that every test of this folder goes over.

A ball of hair is the start of all of them; what is wrong with each is one function. A new one is one entry in `GROOMS`
or `BODIES`, and is met by every command.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mane.body.mesh import Mesh
from mane.body.shapes import Sphere
from mane.io.meshes import write_mesh

RADIUS = 0.1  # of the head [m]
LENGTH = 0.15  # of a hair [m]
UPS = {"x": (2, 0, 1), "y": (0, 1, 2), "z": (1, 2, 0)}  # where the file's axes x, y, z are found in (x, y up, z)


@dataclass(frozen=True)
class Stranger:
    """Hair as a file holds it.

    Attributes:
        strands: points of each [units of the file], (V, 3); may hold what no groom can.
        scale: of the body that it grows on.
        up: axis of the file, with its sign.
        told: what a user would say of the file: keys of [groom].
    """

    strands: list[np.ndarray]
    scale: float = 1.0
    up: str = "y"
    told: dict[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Write mane's own .npz, with whatever the strands hold."""
        counts = [len(strand) for strand in self.strands]
        points = np.concatenate([np.zeros((0, 3)), *self.strands]).astype(np.float32)
        np.savez(path, format_version=1, points=points, offsets=np.concatenate([[0], np.cumsum(counts, dtype=int)]))
        return path


def hairs(count: int = 60, vertices: int = 8, length: float = LENGTH, seed: int = 0) -> np.ndarray:
    """Hairs (S, V, 3) [m] on the upper half of the ball, hanging over, each with a wave of its own."""
    rng = np.random.default_rng(seed)
    out = rng.normal(size=(count, 3))
    out[:, 1] = np.abs(out[:, 1]) + 0.2
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    t = np.linspace(0, 1, vertices)[None, :, None]
    wave = 0.06 * length * np.sin(6 * t + rng.uniform(0, 6, (count, 1, 1))) * rng.normal(size=(count, 1, 3)) * t
    droop = np.array([0.0, -0.6, 0.0]) * length * t**2
    return (RADIUS + 1e-4) * out[:, None] + length * out[:, None] * t * (1 - 0.3 * t) + droop + wave


def stubs() -> Stranger:
    made = hairs()
    made[::9] = made[::9, :1] + (made[::9] - made[::9, :1]) * 1e-3  # 0.15 mm
    return Stranger(list(made))


def doubled_points() -> Stranger:
    made = hairs()
    made[::3, 1] = made[::3, 0]
    made[1::5, -1] = made[1::5, -2]
    made[2::7, 3:6] = made[2::7, 3:4]
    return Stranger(list(made))


def short_segments() -> Stranger:
    """Segments of 0.1 um, one after the other."""
    made = hairs()
    for i in (3, 4):
        step = 1e-7 * np.array([1.0, 0.3, 0.0]) - (made[::4, i] - made[::4, i - 1])
        made[::4, i:] += step[:, None]
    return Stranger(list(made))


def folded() -> Stranger:
    made = hairs()
    made[::5, 5:] = 2 * made[::5, 4:5] - made[::5, 5:]
    made[1::5, 4:] = made[1::5, 3::-1]  # back along itself, to the root
    return Stranger(list(made))


def single_points() -> Stranger:
    made = list(hairs())
    for i in range(0, len(made), 6):
        made[i] = made[i][:1]
    made[7] = made[7][:0]
    return Stranger(made)


def without_length() -> Stranger:
    made = hairs()
    made[::6] = made[::6, :1]
    return Stranger(list(made))


def mixed_lengths() -> Stranger:
    """Lengths of 1 : 1000."""
    made = hairs()
    share = np.geomspace(1e-3, 1, len(made))[:, None, None]
    return Stranger(list(made[:, :1] + (made - made[:, :1]) * share))


def mixed_counts() -> Stranger:
    return Stranger([strand[: 2 + i % 7] for i, strand in enumerate(hairs())])


def off_the_body() -> Stranger:
    made = hairs()
    made[::4] += 0.03 * made[::4, :1] / np.linalg.norm(made[::4, :1], axis=2, keepdims=True)
    return Stranger(list(made))


def inside_the_body() -> Stranger:
    made = hairs()
    made[::4] -= 0.01 * made[::4, :1] / np.linalg.norm(made[::4, :1], axis=2, keepdims=True)
    return Stranger(list(made))


def nan_islands() -> Stranger:
    made = hairs()
    made[::5, 3] = np.nan
    made[1::5, 5:] = np.inf
    made[2::5, 0] = np.nan
    made[4] = np.nan
    return Stranger(list(made))


def all_alike() -> Stranger:
    return Stranger([hairs(1)[0]] * 20)


def two_vertices() -> Stranger:
    return Stranger(list(hairs(vertices=2)))


def single_strand() -> Stranger:
    return Stranger(list(hairs(1)))


def at_scale(scale: float) -> Callable[[], Stranger]:
    return lambda: Stranger(list(scale * hairs()), scale=scale)


def with_up(up: str) -> Callable[[], Stranger]:
    made = hairs()[..., UPS[up[-1]]]
    if up.startswith("-"):
        made = made * np.where(np.arange(3) == "xyz".index(up[-1]), -1.0, 1.0)
    return lambda: Stranger(list(made), up=up, told={"up": up})


GROOMS: dict[str, Callable[[], Stranger]] = {
    "stubs": stubs,
    "doubled_points": doubled_points,
    "short_segments": short_segments,
    "folded": folded,
    "single_points": single_points,
    "without_length": without_length,
    "mixed_lengths": mixed_lengths,
    "mixed_counts": mixed_counts,
    "off_the_body": off_the_body,
    "inside_the_body": inside_the_body,
    "nan_islands": nan_islands,
    "all_alike": all_alike,
    "two_vertices": two_vertices,
    "single_strand": single_strand,
    **{f"scale_{scale:g}": at_scale(scale) for scale in (1e-4, 1e-3, 0.01, 0.0254, 0.1, 10, 39.37, 100, 1e3, 1e5)},
    **{f"up_{up}": with_up(up) for up in ("x", "y", "z", "-x", "-y", "-z")},
}


# -- bodies ------------------------------------------------------------------------------------------------------------


def ball() -> Mesh:
    return Sphere((0.0, 0.0, 0.0), RADIUS).mesh(48)


def open_ball() -> Mesh:
    """Without its lower part, as a bust that ends at the neck."""
    mesh = ball()
    centre = mesh.points[mesh.faces].mean(axis=1)
    return Mesh(mesh.points, mesh.faces[centre[:, 1] > -0.4 * RADIUS])


def fin() -> Mesh:
    """Non-manifold: a sheet that stands on an edge which two triangles of the ball share already."""
    mesh = ball()
    a, b = mesh.faces[0, :2]
    tip = (2.0 * mesh.points[a]).astype(np.float32)
    points = np.concatenate([mesh.points, tip[None]])
    return Mesh(points, np.concatenate([mesh.faces, [[a, b, len(mesh.points)]]]))


def doubled() -> Mesh:
    """Every triangle twice."""
    mesh = ball()
    return Mesh(mesh.points, np.concatenate([mesh.faces, mesh.faces]))


def inside_out() -> Mesh:
    mesh = ball()
    return Mesh(mesh.points, mesh.faces[:, ::-1])


BODIES: dict[str, Callable[[], Mesh]] = {
    "ball": ball,
    "open": open_ball,
    "fin": fin,
    "doubled": doubled,
    "inside_out": inside_out,
}


def write_body(path: Path, body: str, stranger: Stranger) -> Path:
    """Write the body that a stranger's hair grows on, in the units and axes of that hair's file."""
    mesh = BODIES[body]()
    points = stranger.scale * mesh.points[:, UPS[stranger.up[-1]]]
    if stranger.up.startswith("-"):
        points = points * np.where(np.arange(3) == "xyz".index(stranger.up[-1]), -1.0, 1.0)
    write_mesh(path, Mesh(points.astype(np.float32), mesh.faces))
    return path

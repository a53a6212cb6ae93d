"""Grooms, guides and frames for the tests of skins, made by hand so that every answer is known."""

from dataclasses import replace

import numpy as np

from mane.body.motion import Pose
from mane.geometry import quaternion
from mane.geometry.frames import segment_frames
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.strand.frame import GuideFrame

SOMEWHERE = Pose(np.array([0.3, 1.1, -0.7]), quaternion.from_axis_angle(np.array([1.0, 2.0, -0.5]), 2.1))


def curls(hairs: int, vertices: int, seed: int = 0, length: float = 0.2) -> Groom:
    """Helices that grow off a cap of a ball of 10 cm, no two alike in radius, pitch, phase or length."""
    rng = np.random.default_rng(seed)
    around, down = rng.uniform(0, 2 * np.pi, hairs), np.sqrt(rng.random(hairs))
    normal = np.stack([np.cos(around) * np.sin(down), np.cos(down), np.sin(around) * np.sin(down)], axis=1)
    along = np.linspace(0, 1, vertices)
    straight = length * rng.uniform(0.5, 1.0, (hairs, 1)) * along
    turn = rng.uniform(2, 8, (hairs, 1)) * along + rng.uniform(0, 6, (hairs, 1))
    radius = rng.uniform(0.002, 0.01, (hairs, 1)) * np.minimum(4 * along, 1)
    local = np.stack([radius * np.cos(turn), radius * np.sin(turn), straight], axis=2)
    local[:, :, :2] -= local[:, :1, :2]
    upright = quaternion.between_vectors(np.array([0.0, 0.0, 1.0]), normal)
    return Groom.from_uniform(0.1 * normal[:, None] + quaternion.rotate(upright[:, None], local))


def guides_of(groom: Groom, count: int, vertices: int | None = None) -> Guides:
    """Every n-th strand as a guide, cut to `vertices`."""
    return Guides.chosen(groom, np.arange(count) * (groom.strand_count // count), vertices)


def other_guides(count: int, vertices: int) -> Guides:
    """Guides that are no hairs of `curls`: none ends just where a hair does, so that rounding decides nothing."""
    return Guides.from_groom(curls(count, vertices, seed=4))


def frame_of(guides: Guides, pose: Pose | None = None, points=None, rotations=None) -> GuideFrame:
    """Guides at rest, carried by `pose`; or with `points` and `rotations` of their roots of one's own."""
    pose = pose or Pose.identity()
    points = pose.apply(guides.rest) if points is None else np.asarray(points, np.float32)
    slots, vertices = points.shape[:2]
    turned = np.tile(pose.rotation, (slots, 1)) if rotations is None else rotations
    return GuideFrame(
        points=points,
        velocity=np.zeros_like(points),
        orientations=segment_frames(points),
        cut_force=np.zeros((slots, vertices - 1, 3), np.float32),
        roots=np.ascontiguousarray(points[:, 0]),
        root_rotations=np.asarray(turned, np.float32),
        active=guides.active,
        weight=guides.weight,
        head=pose,
        solid_poses=(),
        time=0.0,
    )


def shaken(guides: Guides, seed: int = 5, size: float = 0.03) -> GuideFrame:
    """Guides on a skin that has turned and deformed, each bent its own way."""
    rng = np.random.default_rng(seed)
    twist = quaternion.exp(rng.normal(0, 0.2, (guides.capacity, 3)))
    turn = quaternion.multiply(SOMEWHERE.rotation, twist)
    roots = SOMEWHERE.apply(guides.roots.astype(np.float64)) + rng.normal(0, 0.01, (guides.capacity, 3))
    along = np.linspace(0, 1, guides.vertex_count)[:, None]
    bend = size * rng.normal(0, 1, (guides.capacity, 1, 3)) * along**2
    seen = guides.rest.astype(np.float64) - guides.roots[:, None]
    points = roots[:, None] + quaternion.rotate(turn[:, None], seen) + bend
    return replace(frame_of(guides, points=points, rotations=turn), head=SOMEWHERE)


def reordered(guides: Guides, order) -> Guides:
    """The same guides in other slots."""
    return Guides(guides.strands.take(order), guides.source[order], guides.active[order], guides.weight[order])


def reordered_frame(frame: GuideFrame, order) -> GuideFrame:
    """The same frame for guides in other slots."""
    names = ("points", "velocity", "orientations", "cut_force", "roots", "root_rotations", "active", "weight")
    return replace(frame, **{name: np.ascontiguousarray(getattr(frame, name)[order]) for name in names})

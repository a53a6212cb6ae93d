"""The heads of hsu2024 table 1, which benchmarks, reproductions and studies of skins measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mane.body.motion import Pose
from mane.geometry import quaternion
from mane.geometry.frames import segment_frames, segment_tangents
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.strand.frame import GuideFrame


@dataclass(frozen=True)
class Head:
    """One row of hsu2024 table 1: sizes, and the paper's microseconds on an RTX 4090 for either method."""

    name: str
    guides: int
    hairs: int
    vertices: int
    paper: dict[str, float]


HEADS = (
    Head("Josh", 128, 106_686, 16, {"linear": 283, "physical": 346}),
    Head("Alice", 128, 30_307, 64, {"linear": 360, "physical": 425}),
    Head("Hadley", 256, 64_663, 16, {"linear": 163, "physical": 199}),
    Head("Danielle", 256, 46_706, 16, {"linear": 111, "physical": 137}),
)


def bench_head(head: Head) -> tuple[Groom, Guides]:
    """Curls of the head's size, and its guides; hairs and guides have the same vertex count, as in the paper."""
    groom = styles.make("curly", strands=head.hairs, vertices=head.vertices, seed=1)
    return groom, select_guides(groom, head.guides, seed=1)


def bench_frame(guides: Guides) -> GuideFrame:
    """Guides on a turned head, each swung its own way, with the cut forces of hair that hangs from them."""
    rng = np.random.default_rng(0)
    pose = Pose(np.array([0.1, 0.2, 0.0]), quaternion.from_axis_angle(np.array([0.2, 1.0, 0.1]), 0.6))
    along = np.linspace(0, 1, guides.vertex_count)[:, None]
    swing = 0.03 * rng.normal(size=(guides.capacity, 1, 3)) * along**2
    points = (pose.apply(guides.rest.astype(np.float64)) + swing).astype(np.float32)
    beyond = np.linspace(1, 0, guides.vertex_count - 1)[:, None]
    weight = 1e-5 * beyond * segment_tangents(points)  # [N], about that of 20 cm of hair
    return GuideFrame(
        points=points,
        velocity=np.zeros_like(points),
        orientations=segment_frames(points),
        cut_force=weight.astype(np.float32),
        roots=np.ascontiguousarray(points[:, 0]),
        root_rotations=np.tile(pose.rotation, (guides.capacity, 1)).astype(np.float32),
        active=guides.active,
        weight=guides.weight,
        head=pose,
        solid_poses=(),
        time=0.0,
    )

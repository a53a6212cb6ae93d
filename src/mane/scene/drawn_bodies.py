"""`DrawnBodies`: body and solids of a source as meshes, where a frame has them."""

from __future__ import annotations

from functools import cached_property

from mane.body.mesh import Mesh
from mane.strand.frame import GuideFrame
from mane.strand.source import GuideSource


class DrawnBodies:
    """Body and solids of a source.

    Args:
        source: of the frames.
    """

    def __init__(self, source: GuideSource) -> None:
        self._solids = source.solids

    @cached_property
    def still(self) -> list[Mesh]:
        """Their meshes, not moved."""
        meshes = []
        for solid in self._solids:
            if solid.mesh is not None:
                meshes.append(solid.mesh)
            else:
                assert solid.shape is not None
                meshes.append(solid.shape.mesh())
        return meshes

    def at(self, frame: GuideFrame) -> list[Mesh]:
        """Their meshes where they are."""
        meshes = []
        for solid, still, pose in zip(self._solids, self.still, frame.solid_poses, strict=True):
            points = still.points if solid.animation is None else solid.animation.points(frame.time)
            meshes.append(still.with_points(pose.apply(points)))
        return meshes

"""`Character`: a skinned mesh with a table of motions made in code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mane.body.animated import AnimatedMesh
from mane.body.mesh import Mesh
from mane.body.skeleton import JointAnimation, Skeleton, SkinnedMesh
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray, require_choice

# Takes the skeleton and what the motion may vary, all of it by name: `duration` [s], `frame_rate` [1/s] and others.
MakeMotion = Callable[..., JointAnimation]


@dataclass(frozen=True, eq=False)
class Character:
    """A body that joints move.

    Attributes:
        skinned: the mesh at rest, its skeleton, weights and blend shapes.
        landmarks: named points of the skin at rest [m], name -> shape (3,).
        motions: name -> function that makes a joint animation of the skeleton.
    """

    skinned: SkinnedMesh
    landmarks: Mapping[str, FloatArray]
    motions: Mapping[str, MakeMotion]

    @property
    def mesh(self) -> Mesh:
        """The skin at rest, in which hair is groomed."""
        return self.skinned.mesh

    @property
    def skeleton(self) -> Skeleton:
        """The joints."""
        return self.skinned.skeleton

    def motion(self, name: str, **options: Any) -> JointAnimation:
        """Make a motion of the table; options are those of its function."""
        require_choice("motion", name, list(self.motions))
        return self.motions[name](self.skeleton, **options)

    def animated(self, name: str, **options: Any) -> AnimatedMesh:
        """Return the skin as a motion of the table moves it; samples are skinned when they are needed."""
        return self.skinned.animated(self.motion(name, **options))

    def solid(self, name: str, **options: Any) -> Solid:
        """Return the same as something that hair grows on and touches."""
        animation = self.motion(name, **options)
        return Solid.animated(self.mesh, animation.times, self.skinned.samples(animation))

"""`Skeleton`, `JointAnimation` and `SkinnedMesh`: a mesh that joints move, by linear blend skinning.

The data is what UsdSkel stores: joints with parents, a rest transform of each relative to its parent and a bind
transform in the skeleton's space, joint indices and weights per vertex, blend shapes as offsets per vertex, and samples
of local rotations, translations, scales and blend shape weights. Matrices act on column vectors, quaternions are
(x, y, z, w).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body import _kernels_skinning as kernels
from mane.body.animated import AnimatedMesh
from mane.body.mesh import Mesh
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray, as_array, as_floats, require_choice, require_finite

Float64Array = NDArray[np.float64]

MOST_INFLUENCES = 8  # joints per vertex
SUM_TOLERANCE = 1e-3  # how far the weights of a vertex may sum up beside 1
NO_PARENT = -1


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Joints in a tree, parents before their children.

    Attributes:
        names: of the joints, no two alike.
        parents: number of each joint's parent, -1 for none, shape (J,).
        rest_transforms: of each joint relative to its parent in the rest pose, shape (J, 4, 4), float64.
        bind_transforms: of each joint in the skeleton's space when the mesh was bound, shape (J, 4, 4), float64.
    """

    names: tuple[str, ...]
    parents: IntArray
    rest_transforms: Float64Array
    bind_transforms: Float64Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        count = len(self.names)
        for name in self.names:
            if self.names.count(name) > 1:
                raise ValueError(f"skeleton.names: no two joints may be called alike, got {name!r} more than once")
        parents = as_array("skeleton.parents", self.parents, (count,), np.int64)
        late = (parents >= np.arange(count)) | (parents < NO_PARENT)
        if late.any():
            joint = int(late.argmax())
            raise ValueError(
                f"skeleton.parents: a parent must come before its children, got {parents[joint]} at joint {joint}; "
                "sort the joints"
            )
        object.__setattr__(self, "parents", parents)
        for name in ("rest_transforms", "bind_transforms"):
            matrices = as_array(f"skeleton.{name}", getattr(self, name), (count, 4, 4), np.float64)
            require_finite(f"skeleton.{name}", matrices)
            object.__setattr__(self, name, matrices)
        singular = np.abs(np.linalg.det(self.bind_transforms)) < np.finfo(np.float32).tiny
        if singular.any():
            joint = int(singular.argmax())
            raise ValueError(f"skeleton.bind_transforms: must be invertible, got a flat one at {self.names[joint]!r}")

    @classmethod
    def from_positions(cls, joints: Mapping[str, tuple[str | None, ArrayLike]]) -> Skeleton:
        """Make a skeleton whose joints all look along the world's axes in the rest pose, which is the bind pose.

        Args:
            joints: name -> (name of the parent or None, position in the rest pose [m], shape (3,)), parents first.
        """
        names = tuple(joints)
        order = {name: number for number, name in enumerate(names)}
        parents, positions = np.full(len(names), NO_PARENT), np.zeros((len(names), 3))
        for number, (parent, position) in enumerate(joints.values()):
            positions[number] = as_floats(f"joints[{names[number]!r}]", position, (3,))
            if parent is not None:
                require_choice(f"joints[{names[number]!r}]", parent, names)
                parents[number] = order[parent]
        local = np.tile(np.eye(4), (len(names), 1, 1))
        world = local.copy()
        for number, parent in enumerate(parents):
            above = np.zeros(3) if parent == NO_PARENT else world[parent, :3, 3]
            # Rounded now: an animation holds float32, and the rest pose of one must give exactly these transforms.
            local[number, :3, 3] = (positions[number] - above).astype(np.float32)
            world[number, :3, 3] = above + local[number, :3, 3]
        return cls(names, parents, local, world)

    @property
    def joint_count(self) -> int:
        """Number of joints, J."""
        return len(self.names)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Names with those of all joints above, as UsdSkel has them: `root/spine/neck`."""
        paths: list[str] = []
        for name, parent in zip(self.names, self.parents, strict=True):
            paths.append(name if parent == NO_PARENT else f"{paths[parent]}/{name}")
        return tuple(paths)

    def index(self, name: str) -> int:
        """Return the number of the joint of that name."""
        require_choice("joint", name, self.names)
        return self.names.index(name)

    @cached_property
    def bind_positions(self) -> Float64Array:
        """Where the joints are in the bind pose [m], shape (J, 3)."""
        return np.ascontiguousarray(self.bind_transforms[:, :3, 3])

    @cached_property
    def rest_translations(self) -> FloatArray:
        """Translation of each joint relative to its parent in the rest pose [m], shape (J, 3)."""
        return self.rest_transforms[:, :3, 3].astype(np.float32)

    @cached_property
    def rest_scales(self) -> FloatArray:
        """Scale of each joint relative to its parent in the rest pose, shape (J, 3)."""
        result: FloatArray = np.linalg.norm(self.rest_transforms[:, :3, :3], axis=1).astype(np.float32)
        return result

    @cached_property
    def rest_rotations(self) -> FloatArray:
        """Rotation of each joint relative to its parent in the rest pose, shape (J, 4)."""
        axes = self.rest_transforms[:, :3, :3]
        return quaternion.from_matrix(axes / np.linalg.norm(axes, axis=1, keepdims=True)).astype(np.float32)

    def world_transforms(
        self, rotations: ArrayLike, translations: ArrayLike, scales: ArrayLike | None = None
    ) -> Float64Array:
        """Return where the joints are in the skeleton's space, shape (..., J, 4, 4): forward kinematics.

        Args:
            rotations: of each joint relative to its parent, shape (..., J, 4).
            translations: of the same [m], shape (..., J, 3).
            scales: of the same along the joint's own axes, shape (..., J, 3); None for those of the rest pose.
        """
        turned = quaternion.to_matrix(quaternion.normalize(np.asarray(rotations, np.float64)))
        local = np.zeros((*turned.shape[:-2], 4, 4))
        own = self.rest_scales if scales is None else np.asarray(scales)
        local[..., :3, :3] = turned * own.astype(np.float64)[..., None, :]
        local[..., :3, 3] = translations
        local[..., 3, 3] = 1.0
        world = local.copy()
        for joint, parent in enumerate(self.parents):
            if parent != NO_PARENT:
                world[..., joint, :, :] = world[..., parent, :, :] @ local[..., joint, :, :]
        return world


@dataclass(frozen=True, eq=False)
class JointAnimation:
    """Samples of how joints stand relative to their parents, and of how much each blend shape is there.

    Attributes:
        times: of the samples [s], shape (F,), rising, float64.
        rotations: shape (F, J, 4), float32.
        translations: [m], shape (F, J, 3), float32.
        scales: shape (F, J, 3), float32; None for those of the rest pose.
        blend_weights: of the blend shapes, shape (F, B), float32; none unless given.
    """

    times: Float64Array
    rotations: FloatArray
    translations: FloatArray
    scales: FloatArray | None = None
    blend_weights: FloatArray = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def __post_init__(self) -> None:
        times = as_array("animation.times", self.times, ("F",), np.float64)
        require_finite("animation.times", times)
        if len(times) == 0:
            raise ValueError("animation.times: must hold at least one time, got none")
        if (np.diff(times) <= 0).any():
            first = int((np.diff(times) <= 0).argmax())
            raise ValueError(f"animation.times: must rise, got {times[first]} s before {times[first + 1]} s at {first}")
        object.__setattr__(self, "times", times)
        frames, joints = len(times), np.shape(self.rotations)[1] if np.ndim(self.rotations) == 3 else "J"
        for name, size in (("rotations", 4), ("translations", 3), ("scales", 3)):
            if getattr(self, name) is not None:
                checked = as_floats(f"animation.{name}", getattr(self, name), (frames, joints, size))
                object.__setattr__(self, name, checked)
        weights = self.blend_weights if np.size(self.blend_weights) else np.zeros((frames, 0), np.float32)
        object.__setattr__(self, "blend_weights", as_floats("animation.blend_weights", weights, (frames, "B")))

    def __len__(self) -> int:
        """Number of samples, F."""
        return len(self.times)

    @property
    def joint_count(self) -> int:
        """Number of joints, J."""
        result: int = self.rotations.shape[1]
        return result

    def sample_transforms(self, skeleton: Skeleton, sample: int) -> Float64Array:
        """Return where the joints are in the skeleton's space at a sample, shape (J, 4, 4)."""
        scales = None if self.scales is None else self.scales[sample]
        return skeleton.world_transforms(self.rotations[sample], self.translations[sample], scales)


@dataclass(frozen=True, eq=False)
class BlendShape:
    """Offsets that are added to the mesh at rest, times a weight, before joints move it.

    Attributes:
        name: what it is called.
        offsets: at a weight of 1 [m], shape (N, 3).
    """

    name: str
    offsets: FloatArray


@dataclass(frozen=True, eq=False)
class SkinnedMesh:
    """A mesh bound to a skeleton.

    Attributes:
        mesh: in the bind pose, in the skeleton's space [m].
        skeleton: the joints.
        joint_indices: joints that move each vertex, shape (N, K), int32, K at most 8.
        joint_weights: how much each of them does, shape (N, K), float32; not negative, a sum of 1 per vertex.
        blend_shapes: what is added to the mesh at rest.
    """

    mesh: Mesh
    skeleton: Skeleton
    joint_indices: NDArray[np.int32]
    joint_weights: FloatArray
    blend_shapes: tuple[BlendShape, ...] = ()

    def __post_init__(self) -> None:
        count = self.mesh.vertex_count
        indices = as_array("joint_indices", self.joint_indices, (count, "K"), np.int64)
        influences = indices.shape[1]
        if not 1 <= influences <= MOST_INFLUENCES:
            raise ValueError(f"joint_indices: must have 1 to {MOST_INFLUENCES} joints per vertex, got {influences}")
        outside = ((indices < 0) | (indices >= self.skeleton.joint_count)).any(axis=1)
        if outside.any():
            vertex = int(outside.argmax())
            raise ValueError(
                f"joint_indices: must be joints 0 to {self.skeleton.joint_count - 1}, "
                f"got {indices[vertex].tolist()} at vertex {vertex}"
            )
        object.__setattr__(self, "joint_indices", indices.astype(np.int32))
        weights = as_floats("joint_weights", self.joint_weights, (count, influences))
        _check_weights(weights)
        object.__setattr__(self, "joint_weights", weights)
        shapes = tuple(
            BlendShape(shape.name, as_floats(f"blend_shapes[{shape.name!r}].offsets", shape.offsets, (count, 3)))
            for shape in self.blend_shapes
        )
        object.__setattr__(self, "blend_shapes", shapes)

    @cached_property
    def _offsets(self) -> FloatArray:
        """Offsets of all blend shapes [m], shape (B, N, 3)."""
        return np.array([shape.offsets for shape in self.blend_shapes], np.float32).reshape(
            -1, self.mesh.vertex_count, 3
        )

    @cached_property
    def _skeleton_from_bound(self) -> Float64Array:
        """From the bind pose's space to each joint's own, shape (J, 4, 4)."""
        return np.linalg.inv(self.skeleton.bind_transforms).astype(np.float64)

    def deformed(self, world_transforms: ArrayLike, blend_weights: ArrayLike | None = None) -> FloatArray:
        """Return the points of the mesh moved by joints [m], shape (N, 3), float32.

        Args:
            world_transforms: of the joints in the skeleton's space, shape (J, 4, 4).
            blend_weights: of the blend shapes, shape (B,); None for none of them.
        """
        joints, shapes = self.skeleton.joint_count, len(self.blend_shapes)
        world = as_array("world_transforms", world_transforms, (joints, 4, 4), np.float64)
        weights = np.zeros(shapes) if blend_weights is None else blend_weights
        weights = as_array("blend_weights", weights, (shapes,), np.float64)
        # How far each joint moves a point: what stays in place stays there to the last bit.
        change = np.ascontiguousarray((world @ self._skeleton_from_bound - np.eye(4))[:, :3])
        out = np.empty_like(self.mesh.points)
        kernels.skin_points(
            self.mesh.points, self._offsets, self.joint_indices, self.joint_weights, change, weights, out
        )
        return out

    def samples(self, animation: JointAnimation) -> SkinnedSamples:
        """Return the mesh at the samples of an animation, each skinned when it is asked for."""
        return SkinnedSamples(self, animation)

    def animated(self, animation: JointAnimation) -> AnimatedMesh:
        """Return the mesh as the animation moves it; samples are skinned when they are needed and take no memory."""
        return AnimatedMesh(self.mesh, animation.times, self.samples(animation))


class SkinnedSamples:
    """Points of a skinned mesh at the samples of an animation [m], each (N, 3), float32: `PointSamples`."""

    def __init__(self, skinned: SkinnedMesh, animation: JointAnimation) -> None:
        joints, shapes = skinned.skeleton.joint_count, len(skinned.blend_shapes)
        if animation.joint_count != joints:
            raise ValueError(f"animation: must move the skeleton's {joints} joints, got {animation.joint_count}")
        if animation.blend_weights.shape[1] not in (0, shapes):
            raise ValueError(
                f"animation.blend_weights: must weigh the mesh's {shapes} blend shapes, "
                f"got {animation.blend_weights.shape[1]}"
            )
        self.skinned, self.animation = skinned, animation

    def __len__(self) -> int:
        return len(self.animation)

    def __getitem__(self, sample: int) -> FloatArray:
        weights = self.animation.blend_weights[sample]
        transforms = self.animation.sample_transforms(self.skinned.skeleton, sample)
        return self.skinned.deformed(transforms, weights if len(weights) else None)


def _check_weights(weights: FloatArray) -> None:
    if weights.min(initial=0.0) < 0:
        vertex = int((weights.min(axis=1) < 0).argmax())
        raise ValueError(f"joint_weights: must not be negative, got {weights[vertex].min()} at vertex {vertex}")
    total = weights.sum(axis=1, dtype=np.float64)
    wrong = np.abs(total - 1.0) > SUM_TOLERANCE
    if wrong.any():
        vertex = int(wrong.argmax())
        raise ValueError(
            f"joint_weights: must sum to 1 at every vertex, got {total[vertex]:g} at vertex {vertex}; "
            "divide each row by its sum"
        )

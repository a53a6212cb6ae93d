"""`VolumeSkin`: every hair rides in a tetrahedral mesh of the air around the body (lee2018 3.1, 3.3)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.base import Skin
from mane.skin.root_carry import RootCarry
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame
from mane.volume import _kernels_embed as kernels
from mane.volume.around import mesh_for, root_patches
from mane.volume.driver import RigidDriver, SkinDriver
from mane.volume.dynamic import DynamicMesh
from mane.volume.embedding import NO_PLANES, Embedding, SkinPlanes
from mane.volume.kdsm import Kdsm
from mane.volume.lattice import Float64Array
from mane.volume.motion import HeadPoints, MeshMotion, SkinPoints, SteppedMesh
from mane.volume.packed_styles import PackedStyles
from mane.volume.params import LENGTHS, VolumeParams
from mane.volume.styles import CarriedWetness, Level, level_of, make_styles

FALLOFF = 2.0  # of a follicle's residual, over the lattice spacing
NEAR_SKIN = 0.75  # how far from the skin hair stays above its own piece of it, over the lattice spacing


class VolumeSkin(Skin):
    """Hairs carried by a mesh that moves with the body, swings by its own inertia, and knows nothing of guides.

    On a body that deforms, nodes below the skin follow it, the skin pulls at the mesh by springs, and the rest swings
    along; every root sits on its follicle, and what a follicle is off the mesh fades along its hair. On anything else
    the mesh is held at the roots and carried by the head. Lengths are set from root to tip, and hair near the skin is
    kept above it, both in one pass.

    Args:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: not used; a scene has them all the same.
        mesh: a file that `mane volume` wrote for this body, or a `MeshMotion`; stepped along with the frames without.
        body: what hair grows on.
        level: function of time [s] and points at rest (P, 3) that says which style each point has, in place of
            `wetness`; see `Level`.
        settings: fields of `VolumeParams`.

    Attributes:
        params: the settings.
        motion: gives the nodes of the mesh.
        embedding: of the groom.
        styles: what it blends to.

    Limitations: hairs do not touch each other; solids other than the body need the pass `push_out`.
    """

    name = "volume"
    follows_guides = False
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"spacing": 0.04},
        {"spacing": 0.04, "lengths": "printed"},
        {"spacing": 0.05, "styles": ("sagged", "clumped"), "wetness": ((0.0, 0.0), (0.1, 2.0)), "dynamic": 0.2},
    )
    settings: ClassVar[type[VolumeParams]] = VolumeParams
    needs: ClassVar[tuple[str, ...]] = ("body",)
    files = ("mesh", "styles")

    def __init__(
        self,
        groom: Groom,
        guides: Guides,
        *,
        mesh: str | os.PathLike[str] | MeshMotion | None = None,
        body: Solid | None = None,
        level: Level | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(groom, guides)
        self.params = self.settings(**settings)
        self._styled_on = body
        # A body that does not deform is carried by the head, as its hair is.
        self._body = body if body is not None and body.animation is not None else None
        self.motion = self._make_motion(mesh)
        self._bind(level)

    # -- binding -------------------------------------------------------------------------------------------------------

    def _make_motion(self, mesh: str | os.PathLike[str] | MeshMotion | None) -> MeshMotion:
        first = mesh if isinstance(mesh, MeshMotion) else self._first_motion(mesh)
        params, second = self.params, first.mesh
        if params.dynamic == 0:
            return first
        if params.dynamic_spacing is not None:
            second = mesh_for(self.groom, self._body, params.dynamic_spacing)
        settings = replace(params.second_mesh, follow_shape=params.follow_shape_at(second.nodes))
        return DynamicMesh(first, settings, mesh=second, step=1.0 / params.steps)

    def _first_motion(self, mesh: str | os.PathLike[str] | None) -> MeshMotion:
        if mesh is None:
            return stepped_mesh(self.groom, self._body, self.params)
        from mane.volume.file import read_kdsm

        return read_kdsm(mesh, self._body)

    def _bind(self, level: Level | None) -> None:
        made, params = self.motion.mesh, self.params
        patches = root_patches(self.groom, self._body, made)
        self.embedding = Embedding(self.groom, made, patches)
        if level is not None and not params.styles:
            raise ValueError("level: must come with styles, got none")
        self._level: Level | None = level_of(params, level) if params.styles else None
        if params.from_water and level is None:
            self._level = CarriedWetness(self.groom, self.guides, len(params.styles))
        self.styles = PackedStyles(made, len(params.styles), len(self.embedding.rest))
        for number, name in enumerate(params.styles):
            style = make_styles([name], self.groom, self._styled_on, made)[0]
            self.styles.put(number, Embedding(style, made, patches, f"styles: {name}"))
        self._drift = self.embedding.rest.copy() if params.lengths == "printed" else None
        spacing = made.lattice.spacing
        self._falloff = np.float32(FALLOFF * spacing if params.falloff is None else params.falloff)
        near = NEAR_SKIN * spacing
        self._reach2 = np.float32((4 * near) ** 2)
        if self._body is None or self._body.skin is None:
            self._planes: SkinPlanes | None = None
            self._plane: NDArray[np.signedinteger] = np.full(len(self.embedding.rest), -1, np.int16)
        else:
            self._planes = SkinPlanes(self._body.skin, near)
            self._plane = self._planes.closest(made, self.embedding)

    # -- frames --------------------------------------------------------------------------------------------------------

    def _check_frame(self, frame: GuideFrame) -> None:
        super()._check_frame(frame)
        if isinstance(self._level, CarriedWetness):
            self._level.see(frame)

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        roots = frame.head.apply(self.groom.roots.astype(np.float64))
        self._carry_all(frame.time, self.motion.nodes(frame), roots, NO_PLANES, out)

    def _fill_on_skin(self, frame: GuideFrame, carry: RootCarry, out: FloatArray) -> None:
        assert self._body is not None
        assert self._body.animation is not None
        roots = self.groom.roots[:, None].copy()
        carry.carry(frame, roots)
        if frame.is_rest_pose:
            nodes, skin = self.motion.mesh.nodes, self._body.animation.mesh.points.astype(np.float64)
        else:
            nodes = self.motion.nodes(frame)
            skin = frame.solid_poses[0].apply(self._body.animation.precise_points(frame.time))
        assert self._planes is not None
        self._carry_all(frame.time, nodes, roots[:, 0], self._planes.at(skin), out)

    def _carry_all(
        self, time: float, nodes: Float64Array, roots: NDArray[Any], planes: FloatArray, out: FloatArray
    ) -> None:
        maps = self.motion.mesh.affine_maps(nodes)
        own = self.embedding
        rest_planes = NO_PLANES if self._planes is None else self._planes.rest
        shared = (self._plane, planes, rest_planes, np.float32(self.params.tau), self._reach2)
        flat, roots = out.reshape(-1, 3), np.ascontiguousarray(roots, np.float32)
        if self._level is not None:
            level = np.ascontiguousarray(self.style_level(time, own.rest), np.float32)
            now = (level, maps, roots, self._falloff)
            kernels.blend_strands(own.offsets, own.rest, own.tets, *self.styles.arrays, *now, *shared, flat)
            return
        rest = own.rest if self._drift is None else self._drift
        way = LENGTHS[self.params.lengths]
        kernels.carry_strands(own.offsets, rest, own.tets, maps, roots, self._falloff, way, *shared, flat)
        if self._drift is not None:
            kernels.embed_again(own.offsets, own.tets, maps, flat, self._drift)

    def grow_on(self, body: Solid | None) -> None:
        """Let roots ride on the skin of the body, where that deforms; the mesh must have been made for it."""
        is_deforming = body is not None and body.animation is not None
        if is_deforming and self._body is not body:
            raise ValueError("body: must be given to a volume skin on a body that deforms; bind it by a Simulation")
        super().grow_on(body)

    def style_level(self, time: float, rest: FloatArray) -> FloatArray | None:
        """Which style points of the hair at rest have; see `Skin.style_level`."""
        if self._level is None:
            return None
        return np.clip(np.asarray(self._level(time, rest), np.float32), 0, len(self.params.styles))

    # -- protocol ------------------------------------------------------------------------------------------------------

    @property
    def remembers(self) -> bool:
        """Whether a frame depends on those before it: where the mesh is stepped, or lengths drift."""
        return self.motion.remembers or self._drift is not None

    def memory(self) -> Memory:
        """The mesh, and the embedding where it drifts."""
        drift = {} if self._drift is None else {"drift": self._drift.copy()}
        return {**self.motion.memory(), **drift}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.motion.restore(memory)
        if self._drift is not None:
            self._drift[...] = memory["drift"]

    def reset(self) -> None:
        """Begin anew."""
        self.motion.reset()
        if self._drift is not None:
            self._drift[...] = self.embedding.rest

    @property
    def nbytes(self) -> int:
        """Bytes that the binding holds, its buffer included."""
        held = self.embedding.nbytes + self.styles.nbytes + self._plane.nbytes + self._points.nbytes
        return held + (0 if self._drift is None else self._drift.nbytes)


def stepped_mesh(groom: Groom, body: Solid | None, params: VolumeParams) -> SteppedMesh:
    """Make a mesh around hair, and around the body where that deforms, that is stepped along with the frames."""
    step = 1.0 / params.steps
    mesh = mesh_for(groom, body, params.spacing)
    if body is None or body.animation is None:
        return SteppedMesh(Kdsm(mesh, RigidDriver(mesh), params.springs), HeadPoints(), step)
    driver = SkinDriver(mesh, body.animation.skin, params.springs)
    return SteppedMesh(Kdsm(mesh, driver, params.springs), SkinPoints(body.animation), step)

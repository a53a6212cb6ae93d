"""`Hsu2024Skin`: hsu2024 section 4 as the paper prints it, to compare `physical` with.

Algorithm 1 line by line: the closest segments of every vertex (eq. 9), forces alone (eq. 10), all of the gap closed
with the tangent of the unloaded segment (eq. 21 and 22), the blended force both turns and stretches (eq. 12, 23),
nothing is limited, and one sweep. What the paper leaves open: the stiffness k_norm, as in the strand model `xpbd`; the
unit of k_pen; and that a guide's displacement is seen from the skin at its root. One thing is put right: the sign of
the penetration torque, which follows from eq. 18.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from mane.body._kernels_solid import SolidList
from mane.body.packed import shape_arrays, solid_list
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray
from mane.geometry.frames import segment_frames
from mane.geometry.limits import Positive, Range, check_limits
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin import _kernels_linear
from mane.skin.bound import BoundSkin
from mane.skin.hsu2024 import _kernels as kernels
from mane.skin.safety import HairSpacing
from mane.skin.solids import SkinSolids
from mane.strand.frame import GuideFrame
from mane.strand.material import Material
from mane.strand.model import STANDARD_GRAVITY, Float64Array, StrandModel

ROWS_AT_ONCE = 4096  # hairs whose material is worked out together: it takes double precision


@dataclass(frozen=True)
class Hsu2024Params:
    """Settings of `Hsu2024Skin`.

    Attributes:
        alpha: share of the drift correction in the force (eq. 23), 0 to below 1; the paper has 0.05 to 0.1.
        k_norm: k_bt / k_ss (5), which the paper does not give. Below 3 alpha segments turn past their targets, more at
            every segment, and hair into a zigzag; real hair has the square of radius over segment length, some 1e-5.
        k_pen: stiffness of eq. 18 in weights of the hair per metre; the paper has 1e4 of units that it does not give.
    """

    alpha: Annotated[float, Range(least=0, below=1)] = 0.05
    k_norm: Positive = 0.4
    k_pen: Positive = 1e4

    def __post_init__(self) -> None:
        check_limits(self)


class Hsu2024Skin(BoundSkin):
    """Carries hair as hsu2024 prints it.

    Meant for guides whose groom is their shape without load (`sag_free=False`), as in the paper. Of other guides it
    takes the change of their forces since rest, so that guides at rest give the groom.

    Args:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: what carries it, at rest; every hair hangs on the three around its root.
        material: of the hairs.
        guide_model: mechanics of the guides; taken for the direction and the size of gravity alone.
        rest: the guides at rest; without it they feel nothing then.
        solids: what segments are turned out of, in the order of `frame.solid_poses`.
        settings: fields of `Hsu2024Params`.

    Limitations: guides that are inserted during a run are not followed.
    """

    name = "hsu2024"
    settings = Hsu2024Params
    needs = ("material", "guide_model", "rest")

    def __init__(
        self,
        groom: Groom,
        guides: Guides,
        *,
        material: Material | None = None,
        guide_model: StrandModel | None = None,
        rest: GuideFrame | None = None,
        solids: Sequence[Solid] = (),
        **settings: Any,
    ) -> None:
        self._spacing = HairSpacing(groom)
        groom = self._spacing.groom
        super().__init__(groom, guides, binding="triangle")
        self.params = Hsu2024Params(**settings)
        gravity = STANDARD_GRAVITY if guide_model is None else guide_model.gravity
        points = groom.as_uniform()
        # Numbers near zero keep float32 exact for a figure that stands far from the origin.
        self._pivot = groom.roots.astype(np.float64).mean(axis=0)
        self._rest = (points - self._pivot).astype(np.float32)
        self._guide_rest = guides.rest.astype(np.float64) - self._pivot
        self._place, self._share = np.empty((2, *points.shape), np.float32)
        kernels.bind_vertices(points, guides.rest, self.binding.guides, self.binding.weights, self._place, self._share)
        self._rest_force = np.zeros((guides.capacity, guides.vertex_count - 1, 3))
        if rest is not None:
            self._rest_force[...] = rest.cut_force
        segments = (groom.strand_count, points.shape[1] - 1)
        self._length, self._k_ss, self._k_bt = np.empty((3, *segments), np.float32)
        self._darboux, self._k_pen = np.empty((*segments, 4), np.float32), np.empty(groom.strand_count)
        size = float(np.linalg.norm(gravity)) or float(np.linalg.norm(STANDARD_GRAVITY))
        for start in range(0, groom.strand_count, ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, groom.strand_count))
            self._bind(Material() if material is None else material, size, rows)
        self.solids = tuple(solids)
        self._solids = SkinSolids(solids) if solids else None
        # The kernel takes a table of some solid, at no pose, for none.
        self._no_solids = solid_list([shape_arrays(Sphere((0.0, 0.0, 0.0), 1.0))]), np.zeros((0, 12), np.float32)

    def _bind(self, material: Material, gravity: float, rows: slice) -> None:
        hairs = material.of_part(rows, self._points.shape[:2]).model(self.groom.take(np.arange(rows.start, rows.stop)))
        weight = hairs.mass.sum(axis=1) * gravity
        self._length[rows] = hairs.rest_length
        self._k_ss[rows] = 4 * hairs.bend_stiffness / (hairs.rest_length * self.params.k_norm)
        self._k_bt[rows] = 4 * hairs.bend_stiffness / hairs.joint_length  # |C| of eq. 2 is half of an angle
        self._k_pen[rows] = self.params.k_pen * weight
        frames = quaternion.normalize(segment_frames(hairs.rest_points).astype(np.float64))
        edge = np.diff(hairs.rest_points, axis=1)
        tangent = edge / np.linalg.norm(edge, axis=2, keepdims=True)
        axis = quaternion.rotate(frames, np.array([0.0, 0.0, 1.0]))
        frames = quaternion.normalize(quaternion.multiply(quaternion.between_vectors(axis, tangent), frames))
        self._darboux[rows, 0] = frames[:, 0]
        self._darboux[rows, 1:] = quaternion.multiply(quaternion.conjugate(frames[:, :-1]), frames[:, 1:])

    def grow_on(self, body: Solid | None) -> None:
        """See `Skin.grow_on`; where hair is carried by its roots afterwards, it cannot meet solids before."""
        if self.solids and body is not None and body.animation is not None:
            raise ValueError("solids: must be none on a body that deforms; a finishing pass keeps hair out of them")
        super().grow_on(body)

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        _, share = self._present_weights(frame, self.binding.weights, self.bundles.guide)
        rotation = np.empty((len(frame.points), 3, 3))
        _kernels_linear.fill_turns(frame.root_rotations, rotation)
        shift = np.empty(frame.points.shape)
        _kernels_linear.fill_guide_motion(frame.points, self._guide_rest, rotation, shift)
        solids, poses = self._solids_at(frame)
        kernels.interpolate_hairs(
            *(self._rest, self._darboux, self._length, self._k_ss, self._k_bt),
            *(self.binding.guides, self._place, self._share, np.where(frame.active, frame.weight, 0.0)),
            *(shift, self._forces(frame, rotation), _turns(frame)),
            *(self.params.alpha, self._k_pen, solids, poses),
            out,
        )
        self._hand_to_head(frame, share, out)

    def _forces(self, frame: GuideFrame, rotation: Float64Array) -> Float64Array:
        """f^ss on the vertices of the guides (eq. 4) (G, U, 3) [N]: that of the segment beyond, none at the tip."""
        force = np.zeros(frame.points.shape)
        force[:, :-1] = frame.cut_force - np.einsum("gab,gib->gia", rotation, self._rest_force)
        return force

    def _solids_at(self, frame: GuideFrame) -> tuple[SolidList, FloatArray]:
        return self._no_solids if self._solids is None else self._solids.at(frame)

    @property
    def nbytes(self) -> int:
        """Bytes that the binding holds, its buffer included."""
        held: tuple[NDArray[Any], ...] = (
            *(self._rest, self._place, self._share, self._length, self._k_ss, self._k_bt, self._darboux, self._k_pen),
            *(self._guide_rest, self._rest_force, self.binding.guides, self.binding.weights, self._points),
        )
        solids = 0 if self._solids is None else self._solids.nbytes
        return sum(array.nbytes for array in held) + self.bundles.nbytes + solids


def _turns(frame: GuideFrame) -> Float64Array:
    """How the skin has turned at each guide's root, then the head (G + 1, 4), all with the sign of the head's."""
    turns = np.concatenate([frame.root_rotations, frame.head.rotation[None]]).astype(np.float64)
    size = np.linalg.norm(turns, axis=1, keepdims=True)
    turns = np.where(size > 0, turns / np.where(size > 0, size, 1.0), [0.0, 0.0, 0.0, 1.0])  # an empty slot has zeros
    return turns * np.where(turns @ turns[-1] < 0, -1.0, 1.0)[:, None]

"""`IndividualSkin`: the volume skin whose hairs are simulated one by one where they touch something (lee2018 3.2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mane.body.solid import Solid
from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.root_carry import RootCarry
from mane.skin.safety import HairSpacing
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame
from mane.strand.material import Material
from mane.strand.surroundings import Surroundings
from mane.volume.individual import IndividualHairs, IndividualParams
from mane.volume.params import VolumeParams
from mane.volume.pool import within
from mane.volume.skin import VolumeSkin

PREFIX = "hairs."


@dataclass(frozen=True)
class IndividualSkinParams(IndividualParams, VolumeParams):
    """Settings of `IndividualSkin`: those of `VolumeSkin`, and how single hairs are simulated."""

    def __post_init__(self) -> None:
        VolumeParams.__post_init__(self)
        IndividualParams.__post_init__(self)


class IndividualSkin(VolumeSkin):
    """Hairs that a mesh carries, and that are simulated one by one where they touch a solid.

    A hair that comes near a solid is simulated from then on, by any strand model, on soft springs to where the mesh has
    it (styles blended, lengths kept) and to boxes that hold its shape; when nothing has been near it for a while, it is
    led back to the mesh. All others cost what `VolumeSkin` costs.

    Args:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: not used; a scene has them all the same.
        solids: body first, if there is one, and what hair touches.
        material: of the hair.
        hairs: strands that may be simulated, shape (G,), in place of `hair_share` and `hair_region`.
        settings: fields of `IndividualSkinParams`, and arguments of `VolumeSkin`.

    Attributes:
        individual: the hairs that may be simulated.

    Limitations: hairs do not touch each other; material and rest shape of all hairs that may be simulated are held, a
    state of those alone that are.
    """

    name = "individual"
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"spacing": 0.04},
        {"spacing": 0.04, "touching_only": False, "strand_model": "spring", "kinematic_roots": 0.3, "show_boxes": 0.2},
    )
    settings: ClassVar[type[VolumeParams]] = IndividualSkinParams
    needs: ClassVar[tuple[str, ...]] = ("body", "solids", "material")

    def __init__(
        self,
        groom: Groom,
        guides: Guides,
        *,
        body: Solid | None = None,
        solids: Sequence[Solid] = (),
        material: Material | None = None,
        hairs: IntArray | None = None,
        **settings: Any,
    ) -> None:
        self._spacing = HairSpacing(groom)
        groom = self._spacing.groom
        super().__init__(groom, guides, body=body, **settings)
        assert isinstance(self.params, IndividualSkinParams)
        self._hairs = self.params.hairs_of(groom) if hairs is None else np.asarray(hairs, np.int64)
        others = [one for one in solids if one is not body]
        self.individual = IndividualHairs(
            groom.take(self._hairs),
            Material() if material is None else material,
            Surroundings(body, others),
            self.params,
        )

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        super()._fill(frame, out)
        self._simulate(frame, out)

    def _fill_on_skin(self, frame: GuideFrame, carry: RootCarry, out: FloatArray) -> None:
        super()._fill_on_skin(frame, carry, out)
        self._simulate(frame, out)

    def _simulate(self, frame: GuideFrame, out: FloatArray) -> None:
        if not frame.is_rest_pose:
            changed, points = self.individual.step(frame, out[self._hairs])
            out[self._hairs[changed]] = points

    @property
    def remembers(self) -> bool:
        """Whether a frame depends on those before it: it does."""
        return True

    def memory(self) -> Memory:
        """Mesh and single hairs."""
        return {**super().memory(), **{PREFIX + name: array for name, array in self.individual.memory().items()}}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        super().restore(memory)
        self.individual.restore(within(memory, PREFIX))

    def reset(self) -> None:
        """Begin anew."""
        super().reset()
        self.individual.reset()

"""`IndividualSkin`: the volume skin whose hairs are simulated one by one where they touch something (lee2018 3.2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
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
from mane.volume.boxes import BoxParams
from mane.volume.individual import IndividualHairs, IndividualParams
from mane.volume.params import VolumeParams
from mane.volume.skin import VolumeSkin
from mane.volume.support import SupportParams

PREFIX = "hairs."


@dataclass(frozen=True)
class IndividualSkinParams(VolumeParams):
    """Settings of `IndividualSkin`: those of `VolumeSkin`, and how single hairs are simulated.

    Attributes:
        strand_model: name of the strand model.
        touching_only: simulate only hairs that touch a solid other than the body; false for all of them.
        margin: distance from a solid at which a hair is simulated [m].
        linger: how long it is after it has touched one [s].
        return_time: in which it goes back to the mesh then [s].
        kinematic_roots: part of the length, from the root, over which hair goes from following the mesh to being
            simulated.
        show_boxes: share of the boxes' position in what is shown, 0 to 1.
        show_mesh: share of the mesh's position in what is shown, 0 to 1.
        support_frequency: at which a vertex would swing on its spring to the mesh [Hz]; 0 for the stiffness as printed
            (lee2018 4).
        mesh_springs: factor on the springs to the mesh.
        box_springs: factor on the springs to the boxes that hold a hair's shape; 0 for no boxes.
        boxes: of a long hair, at most.
    """

    strand_model: str = "cosserat"
    touching_only: bool = True
    margin: float = 0.003
    linger: float = 0.25
    return_time: float = 0.5
    kinematic_roots: float = 0.0
    show_boxes: float = 0.0
    show_mesh: float = 0.0
    support_frequency: float = 4.0
    mesh_springs: float = 1.0
    box_springs: float = 1.0
    boxes: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.boxes >= 1:
            raise ValueError(f"boxes: must be at least 1, got {self.boxes}; box_springs = 0 is for none")
        if not (np.isfinite(self.support_frequency) and self.support_frequency >= 0):
            raise ValueError(f"support_frequency: must be at least 0 Hz, got {self.support_frequency}")
        _ = self.individual

    @property
    def individual(self) -> IndividualParams:
        """How single hairs are simulated."""
        support = SupportParams(
            frequency=self.support_frequency or None,
            mesh_springs=self.mesh_springs,
            box_springs=self.box_springs,
            box=BoxParams(most=self.boxes),
        )
        shared = {one.name for one in fields(IndividualParams)} - {"model", "support"}
        own = {name: getattr(self, name) for name in shared}
        return IndividualParams(model=self.strand_model, support=support, **own)


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
        hairs: strands that may be simulated, shape (G,); all by default.
        settings: fields of `IndividualSkinParams`, and arguments of `VolumeSkin`.

    Attributes:
        individual: the hairs that may be simulated.

    Limitations: hairs do not touch each other; memory of all hairs that may be simulated is held all the time.
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
        self._hairs = np.arange(groom.strand_count) if hairs is None else np.asarray(hairs, np.int64)
        others = [one for one in solids if one is not body]
        self.individual = IndividualHairs(
            groom if hairs is None else groom.take(self._hairs),
            Material() if material is None else material,
            Surroundings(body, others),
            self.params.individual,
        )

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        super()._fill(frame, out)
        self._simulate(frame, out)

    def _fill_on_skin(self, frame: GuideFrame, carry: RootCarry, out: FloatArray) -> None:
        super()._fill_on_skin(frame, carry, out)
        self._simulate(frame, out)

    def _simulate(self, frame: GuideFrame, out: FloatArray) -> None:
        if not frame.is_rest_pose:
            out[self._hairs] = self.individual.step(frame, out[self._hairs].astype(np.float64))

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
        own = {name.removeprefix(PREFIX): array for name, array in memory.items() if name.startswith(PREFIX)}
        self.individual.restore(own)

    def reset(self) -> None:
        """Begin anew."""
        super().reset()
        self.individual.reset()

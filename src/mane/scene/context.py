"""`SceneContext`: what the tables of a scene describe, made when a stage first needs it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from mane.body.motion import Motion
from mane.body.neck import find_neck
from mane.body.solid import Solid
from mane.contact.table import INTERACTIONS
from mane.groom.guides import Guides
from mane.io.bodies import FileClock
from mane.scene import parts
from mane.scene.bodies import SceneBody, make_body
from mane.scene.config import HandsTable, Scene
from mane.scene.config_body import CHARACTERS
from mane.scene.deeds import read_deeds
from mane.scene.learned import given_sliders, keyframed_sliders, kind_of, load_hair_model, source_kind
from mane.scene.options import require_taken
from mane.scene.scene_file import naming_location
from mane.scene.sources import SOURCES
from mane.strand.material import Material
from mane.strand.ports import Part
from mane.strand.source import GuideSource
from mane.strand.surroundings import Surroundings

if TYPE_CHECKING:
    from mane.contact.air.waterflow import Waterflow


class SceneContext:
    """Gives a source and its parts what they need of a scene: attributes named as in `mane.stage.protocol.NEEDS`.

    Args:
        scene: the description.
        guides: that were chosen.
    """

    def __init__(self, scene: Scene, guides: Guides) -> None:
        self.scene, self.guides = scene, guides
        strand = scene.strand
        self.seed, self.frame_rate = scene.seed, scene.frames.rate
        self.model, self.model_settings = strand.model, dict(strand.settings)
        self.root, self.sag_free, self.stiffen_to_stand = strand.root, strand.sag_free, strand.stiffen_to_stand
        self.gravity, self.drag = strand.gravity, strand.drag
        self.substeps = "auto" if strand.substeps is None else strand.substeps
        self.contact = {name: getattr(scene.contact, name) for name in scene.contact.__dataclass_fields__}

    def provide(self, need: str) -> Any:
        """Return what a stage that needs it is given, as `GuideSource.provide` does."""
        if not hasattr(type(self), need) and need not in vars(self):
            raise LookupError(need)
        return getattr(self, need)

    def make_source(self) -> GuideSource:
        """Make what produces the guide frames of the scene, hands included."""
        file = self.scene.hands.file
        if file is None:
            return self._make_source()
        from mane.scene.handled import HandledSource

        with naming_location(self.scene.locations, "hands"):
            deeds = read_deeds(self.scene.path(file))
        alone = replace(self.scene, hands=HandsTable())
        return HandledSource(alone, lambda scene: SceneContext(scene, self.guides).make_source(), deeds)

    def _make_source(self) -> GuideSource:
        table = self.scene.source
        with naming_location(self.scene.locations, "guides"):
            source = SOURCES.find(source_kind(self.scene))
            require_taken(self.scene, source)
        given = {need: self.provide(need) for need in source.needs}  # first, so that errors name their own table
        # What a model refuses is blamed on the table that names it.
        decides = "strand" if self.hair_model is None else "guides"
        with naming_location(self.scene.locations, "source" if table.settings else decides):
            made: GuideSource = parts.make_stage(source, table.settings, given.__getitem__)
        return made

    @property
    def hair_model(self) -> Any:
        """A model of the guides that was learned, or None."""
        model = self.scene.guides.model
        if model is None or kind_of(self.scene.path(model)).source is None:
            return None
        return load_hair_model(self.scene.path(model))

    @property
    def sliders(self) -> dict[str, Any]:
        """Values of its sliders, which it can have."""
        with naming_location(self.scene.locations, "guides"):
            keyframed = keyframed_sliders(self.scene, self.hair_model)
        with naming_location(self.scene.locations, "guides.sliders"):
            return {**keyframed, **given_sliders(self.scene, self.hair_model, self.guides)}

    @cached_property
    def head(self) -> Motion:
        """The motion of the head."""
        with naming_location(self.scene.locations, "head"):
            return parts.make_head_motion(self.scene.head, self.scene.folder, self.scene.seed, self._neck)

    def _neck(self) -> ArrayLike:
        """Point that the head turns about [m]: the origin of what is made in code, else found on body and roots."""
        if self.scene.groom.style is not None or self.scene.body.mesh in CHARACTERS:
            return (0.0, 0.0, 0.0)
        return find_neck(None if self.body is None else self.body.mesh, self.guides.rest[self.guides.active, 0])

    @cached_property
    def _body(self) -> SceneBody:
        with naming_location(self.scene.locations, "body"):
            return make_body(self.scene, self.guides.rest[:, 0])

    @property
    def body(self) -> Solid | None:
        """What the hair grows on."""
        return self._body.solid

    @property
    def body_clock(self) -> FileClock | None:
        """Time codes of the body's file over the seconds of the scene; None where it does not move."""
        return self._body.clock

    @property
    def preroll(self) -> float | str:
        """Seconds from the rest pose of a body that deforms to where it begins, or "auto"."""
        return self.scene.body.preroll

    @property
    def collide_with_body(self) -> bool:
        """Whether hair touches the body, or is only carried by it."""
        return self.scene.body.collide

    @cached_property
    def surroundings(self) -> list[Solid]:
        """Solids besides the body."""
        solids = []
        for index, table in enumerate(self.scene.solids):
            with naming_location(self.scene.locations, f"solids.{index}"):
                solids.append(parts.make_solid(table, self.scene.folder, self.scene.seed))
        return solids

    @property
    def solids(self) -> tuple[Solid, ...]:
        """Body, if there is one, and solids."""
        return (*(() if self.body is None else (self.body,)), *self.surroundings)

    @cached_property
    def forces(self) -> list[Part]:
        """What acts on the guides besides: interactions, and water."""
        made: list[Part] = []
        added = len(self.scene.acting) - len(self.scene.interactions)
        for index, table in enumerate(self.scene.acting):
            key = f"interactions.{index - added}" if index >= added else "strand"
            with naming_location(self.scene.locations, key):
                made.append(parts.make_stage(INTERACTIONS.find(table.kind), table.settings, self.provide))
        water = self._water()
        if water is None:
            return made
        wetting = parts.make_wetting(self.scene.water, water)
        return [*made, water, *([] if wetting is None else [wetting])]

    def _water(self) -> Waterflow | None:
        scene = self.scene
        if scene.water.cell is None:
            return None
        sources = []
        for index, table in enumerate(scene.water_sources):
            with naming_location(scene.locations, f"water_sources.{index}"):
                sources.append(parts.make_water_source(table))
        pose = self.head.pose(0.0)
        solids = Surroundings(self.body, self.surroundings, collide_with_body=True).moving(pose, pose, 0.0, 0.0)
        with naming_location(scene.locations, "water"):
            return parts.make_water(
                scene.water, sources, self.guides, solids, gravity=self.gravity, seed=self.seed, scale=self.drag
            )

    @property
    def material(self) -> Material:
        """Of the hair."""
        return parts.make_material(self.scene.strand)

    @property
    def wind(self) -> Any:
        """What blows, or None."""
        return parts.make_wind(self.scene.wind, self.scene.seed)

    @property
    def shelters(self) -> list[Any]:
        """What keeps the wind away."""
        return parts.make_shelters(self.scene.wind)

    @cached_property
    def air(self) -> Any:
        """The air as a fluid, or None."""
        fields = []
        for index, table in enumerate(self.scene.air_fields):
            with naming_location(self.scene.locations, f"air_fields.{index}"):
                fields.append(parts.make_air_field(table, self.scene.folder))
        with naming_location(self.scene.locations, "air"):
            return parts.make_air(self.scene.air, self.wind, fields, self.drag, self.guides)

"""From a scene to the things that run: hair, guides, simulation, skin, finishing passes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mane.body.cache import content_key
from mane.body.motion import Pose
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.scene import parts
from mane.scene.clock import StageClock
from mane.scene.config import BUST, NO_BODY, OWN_BODY, Scene
from mane.scene.hair import Hair, load_hair
from mane.scene.scene_file import naming_place
from mane.scene.simulation import Simulation
from mane.skin.base import Skin
from mane.skin.finish import FinishingPass, HermiteSubdivision, SolidAdjustment
from mane.skin.table import make_skin
from mane.strand.frame import GuideFrame
from mane.strand.hold import stiffening

DEFAULT_GUIDES = 128


@dataclass(eq=False)
class Assembly:
    """Everything that a scene describes, ready to run.

    Attributes:
        scene: the description.
        hair: all strands.
        guides: those that are simulated.
        simulation: steps them.
        rest: the guides at rest on the head in its rest pose.
        clock: of the run.
    """

    scene: Scene
    hair: Hair
    guides: Guides
    simulation: Simulation
    rest: GuideFrame
    clock: StageClock

    @cached_property
    def dresser(self) -> Dresser:
        """What makes the full head of a frame of guides; bound when it is first needed."""
        with self.clock.stage("bind skin"), naming_place(self.scene.places, "skin"):
            return Dresser(self)

    @property
    def keys(self) -> dict[str, str]:
        """Keys that change with any point of the hair or of the guides."""
        return {"hair": self.hair.key, "guides": content_key(self.guides.rest, self.guides.source, self.guides.active)}

    def with_hair(self, hair: Hair) -> Assembly:
        """Return the same for other hair on the same guides."""
        return replace(self, hair=hair)


class Dresser:
    """Makes the full head: skin, then finishing passes."""

    def __init__(self, assembly: Assembly) -> None:
        scene = assembly.scene
        self.skin: Skin = _make_skin(assembly)
        self._levels = scene.finish.subdivide
        solids = assembly.simulation.solids
        self.passes: list[FinishingPass] = []
        if scene.finish.push_out and solids:
            self.passes.append(SolidAdjustment(solids, thickness=scene.finish.thickness))
        if self._levels:
            self.passes.append(HermiteSubdivision(self._levels))
        self._clock = assembly.clock

    @property
    def remembers(self) -> bool:
        """Whether a frame depends on those before it."""
        return getattr(getattr(self.skin, "params", None), "warm_start", "rest") == "previous"

    def __call__(self, frame: GuideFrame) -> FloatArray:
        """Return all hairs at this frame [m], world, shape (S, V, 3), in a buffer that the next call reuses."""
        with self._clock.stage("skin"):
            points = self.skin(frame)
        with self._clock.stage("finish"):
            for finish in self.passes:
                points = finish(points, frame)
        return points

    @property
    def drawn(self) -> Groom:
        """The strands at rest with the vertices that come out of the passes."""
        groom = self.skin.groom
        if not self._levels:
            return groom
        # A pass of its own, whose buffer is not that of the hair of the current frame.
        finer = HermiteSubdivision(self._levels)(groom.as_uniform())
        return Groom.from_uniform(finer, strand=groom.strand, group_names=groom.group_names)


def build(
    scene: Scene, clock: StageClock | None = None, *, hair: Hair | None = None, guides: Guides | None = None
) -> Assembly:
    """Make what a scene describes; ValueError and OSError name the line of the scene, or the file.

    Args:
        scene: the description.
        clock: to count the time with.
        hair: in place of what [groom] describes, say of a scene that was built before.
        guides: in place of what [guides] describes.
    """
    clock = clock or StageClock()
    places = scene.places
    if hair is None:
        with clock.stage("groom"), naming_place(places, "groom"):
            hair = load_hair(scene)
    if guides is None:
        with clock.stage("choose guides"), naming_place(places, "guides"):
            guides = _choose_guides(scene, hair.groom)
    with clock.stage("prepare simulation"):
        simulation, rest = _make_simulation(scene, guides)
    return Assembly(scene, hair, guides, simulation, rest, clock)


def _choose_guides(scene: Scene, groom: Groom) -> Guides:
    table = scene.guides
    if table.method == "marked":
        return select_guides(groom, method="marked", vertices=table.vertices, seed=scene.seed)
    count = min(DEFAULT_GUIDES, groom.strand_count) if table.count is None else table.count
    if count > groom.strand_count:
        raise ValueError(f"count: must be at most {groom.strand_count} (= number of strands), got {count}")
    return select_guides(groom, count, method=table.method, vertices=table.vertices, seed=scene.seed)


def _make_simulation(scene: Scene, guides: Guides) -> tuple[Simulation, GuideFrame]:
    places, table = scene.places, scene.strand
    with naming_place(places, "head"):
        head = parts.make_head_motion(scene.head, scene.folder, scene.seed)
    with naming_place(places, "body"):
        body = _make_body(scene)
    solids = []
    for index, solid in enumerate(scene.solids):
        with naming_place(places, f"solids.{index}"):
            solids.append(parts.make_solid(solid, scene.folder, scene.seed))
    forces = []
    for index, interaction in enumerate(scene.interactions):
        with naming_place(places, f"interactions.{index}"):
            forces.append(parts.make_interaction(interaction, guides))
    with naming_place(places, "strand"):
        simulation = Simulation(
            guides,
            table.model,
            material=parts.make_material(table),
            body=body,
            solids=solids,
            forces=forces,
            head=head,
            wind=parts.make_wind(scene.wind, scene.seed),
            shelters=parts.make_shelters(scene.wind),
            drag=table.drag,
            contact={name: getattr(scene.contact, name) for name in scene.contact.__dataclass_fields__},
            root=table.root,
            sag_free=table.sag_free,
            hold=table.hold,
            gravity=table.gravity,
            frame_rate=scene.frames.rate,
            substeps="auto" if table.substeps is None else table.substeps,
            **dict(table.settings),
        )
    rest = simulation.reset(Pose.identity())
    simulation.reset()
    return simulation, rest


def _make_body(scene: Scene) -> Solid | None:
    name = scene.body.mesh
    if name == NO_BODY or (name == OWN_BODY and scene.groom.style is None):
        return None
    if name == OWN_BODY:
        from mane.groom import styles

        assert scene.groom.style is not None
        return Solid(styles.body(scene.groom.style))
    if name == BUST:
        from mane.body.bust import make_bust

        return Solid(make_bust().mesh)
    from mane.io.meshes import read_mesh

    return Solid(read_mesh(scene.path(name), unit=scene.body.unit, up=scene.body.up))


def _make_skin(assembly: Assembly) -> Skin:
    table = assembly.scene.skin
    settings: dict[str, Any] = dict(table.settings)
    if table.method == "physical":
        material, strands = parts.make_material(assembly.scene.strand), assembly.simulation.strands
        settings["material"] = material
        settings["guide_model"] = strands
        settings["guide_hold"] = stiffening(strands, material.model(assembly.guides))
        settings["rest"] = assembly.rest
    return make_skin(table.method, assembly.hair.groom, assembly.guides, **settings)

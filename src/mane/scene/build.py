"""From a scene to the things that run: hair, guides, what makes them move, what carries every hair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mane.body.animated import AnimatedMesh
from mane.body.cache import content_key
from mane.groom.guides import Guides
from mane.io.bodies import FileClock
from mane.io.fit import ReadFile, require_fit
from mane.scene.config import Scene
from mane.scene.context import SceneContext
from mane.scene.guides import make_guides
from mane.scene.hair import Hair, load_hair
from mane.scene.hair_stage import HairStage
from mane.scene.scene_file import naming_location
from mane.skin.table import SKINS
from mane.stage.clock import StageClock
from mane.strand.source import GuideSource

KEY_SAMPLES = 17  # of a body's animation, by which it is known again


@dataclass(eq=False)
class Assembly:
    """Everything that a scene describes, ready to run.

    Attributes:
        scene: the description.
        hair: all strands.
        guides: those that are simulated.
        source: makes them move.
        clock: of the run.
        body_clock: time codes of the file of a body that moves, over the seconds of the scene; None for others.
    """

    scene: Scene
    hair: Hair
    guides: Guides
    source: GuideSource
    clock: StageClock
    body_clock: FileClock | None = None

    @cached_property
    def hair_stage(self) -> HairStage:
        """What makes the full head of a frame of guides; bound when it is first needed."""
        with self.clock.stage("bind skin"):
            return HairStage(self.scene, self.hair.groom, self.source, self.clock)

    @property
    def may_return_load(self) -> bool:
        """Whether the skin of the scene may push the guides, so that it decides what is simulated."""
        return SKINS.find(self.scene.skin.method).may_return_load

    @property
    def keys(self) -> dict[str, str]:
        """Keys that change with any point of the hair or of the guides, or with the animation of the body."""
        keys = {"hair": self.hair.key, "guides": content_key(self.guides.rest, self.guides.source, self.guides.active)}
        body = self.source.solids[0].animation if self.source.has_body else None
        return keys if body is None else {**keys, "frames of the body": _animation_key(body)}

    def with_hair(self, hair: Hair) -> Assembly:
        """Return the same for other hair on the same guides."""
        return replace(self, hair=hair)


def _animation_key(body: AnimatedMesh) -> str:
    """A key that changes with another animation: its mesh, its times, and some of its samples."""
    last = len(body.times) - 1
    some = [body.sample(number) for number in np.unique(np.linspace(0, last, KEY_SAMPLES).astype(np.int64)).tolist()]
    return content_key(body.mesh.points, body.mesh.faces, body.times, *some)


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
    locations = scene.locations
    if hair is None:
        with clock.stage("groom"), naming_location(locations, "groom"):
            hair = load_hair(scene)
    if guides is None:
        with clock.stage("choose guides"), naming_location(locations, "guides"):
            guides = make_guides(scene, hair)
    with clock.stage("prepare simulation"):
        context = SceneContext(scene, guides)
        with naming_location(locations, "groom" if scene.groom.file else "body"):
            _check_scale(scene, hair, context)
        source = context.make_source()
        source.clock = clock
    return Assembly(scene, hair, guides, source, clock, context.body_clock)


def _check_scale(scene: Scene, hair: Hair, context: SceneContext) -> None:
    """Refuse hair and body from files that cannot be meant; see `mane.io.fit`."""
    groom, body = scene.groom, scene.body
    if groom.any_scale or not (groom.file or body.is_file):
        return
    solid = context.body
    hair_file = None
    if groom.file is not None:
        hair_file = ReadFile(scene.path(groom.file), groom.unit, groom.up, '[groom] unit = "{}"', '[groom] up = "{}"')
    body_file = None
    if body.is_file:
        body_file = ReadFile(scene.path(body.mesh), body.unit, body.up, '[body] unit = "{}"', '[body] up = "{}"')
    mesh = None if solid is None else solid.mesh
    require_fit(hair.source, mesh, hair=hair_file, body=body_file, override="[groom] any_scale = true")

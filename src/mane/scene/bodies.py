"""What the tables [body] and [[solids]] name: bodies and solids from files, still or moving."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mane.body.motion import Motion
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.io.bodies import BodyFile, FileClock, open_body, read_body
from mane.io.grooms import naming
from mane.io.notices import FileNotice
from mane.scene.config_body import CHARACTERS, NO_BODY, OWN_BODY, Paths

if TYPE_CHECKING:
    from mane.scene.config import Scene, SolidTable


SAMPLES_PER_FRAME = 2  # of a motion made in code
HELD_UNTOLD = 1.0  # frames at the end of a scene in which a body may stand still without a word


@dataclass(frozen=True, eq=False)
class SceneBody:
    """What the hair of a scene grows on.

    Attributes:
        solid: the body, or None.
        clock: time codes of its file over the seconds of the scene, or None where it does not move.
    """

    solid: Solid | None
    clock: FileClock | None = None


def make_body(scene: Scene, roots: FloatArray) -> SceneBody:
    """Make the body of a scene; `roots` of the guides [m], shape (G, 3), tell what the table leaves open."""
    table = scene.body
    if table.mesh == NO_BODY or (table.mesh == OWN_BODY and scene.groom.style is None):
        return SceneBody(None)
    if table.motion is not None:
        return SceneBody(_moving_character(scene))
    if table.mesh == OWN_BODY:
        from mane.groom import styles

        assert scene.groom.style is not None
        return SceneBody(Solid(styles.body(scene.groom.style)))
    if table.mesh in CHARACTERS:
        from mane.body.characters import make_character

        return SceneBody(Solid(make_character(table.mesh).mesh))
    path = scene.path(table.mesh)
    found = open_body(
        path,
        roots=roots,
        prim=_paths(table.prim),
        ignore=_paths(table.ignore) or (),
        rest=table.rest,
        start=table.start,
        animation=None if table.animation is None else scene.path(table.animation),
        rate=table.rate,
        unit=table.unit,
        up=table.up,
    )
    _tell_of_an_early_end(scene, path, found)
    with naming(path):
        return SceneBody(found.solid(interpolation=table.interpolation), found.clock)


def _tell_of_an_early_end(scene: Scene, path: Path, found: BodyFile) -> None:
    """Say that the body stands still in the last frames of a scene that is longer than the animation."""
    last = (scene.frames.count - 1) / scene.frames.rate
    if len(found.times) < 2 or last <= found.times[-1] + HELD_UNTOLD / scene.frames.rate:
        return
    number = scene.frames.start + math.floor(found.times[-1] * scene.frames.rate + 1e-6)
    warnings.warn(
        f"{path}: its animation ends at frame {number}, and the body stands still in later ones; [frames] end is "
        f"{scene.frames.end}",
        FileNotice,
        stacklevel=2,
    )


def character_of(scene: Scene) -> str:
    """Name of the character that [body] is of, as in `mane.body.characters`; ValueError where it has no joints."""
    if scene.body.mesh in CHARACTERS:
        return scene.body.mesh
    from mane.groom.styles import STYLES

    style = scene.groom.style if scene.body.mesh == OWN_BODY else None
    found = None if style is None else STYLES[style].character
    if found is None:
        raise ValueError(f"motion: needs a body with joints; set mesh to {' or '.join(map(repr, CHARACTERS))}")
    return found


def check_character_motion(scene: Scene) -> None:
    """Raise ValueError for a motion of [body] with values out of range; needs the joints, not the skin."""
    if scene.body.motion is not None:
        from mane.body.characters import character_motion, character_skeleton

        name = character_of(scene)
        character_motion(name, scene.body.motion)(character_skeleton(name), **_motion_options(scene))


def _moving_character(scene: Scene) -> Solid:
    """A character in the motion of [body]."""
    from mane.body.characters import make_character

    assert scene.body.motion is not None
    return make_character(character_of(scene)).solid(scene.body.motion, **_motion_options(scene))


def _motion_options(scene: Scene) -> dict[str, Any]:
    """Options of the motion of [body]: sampled twice per frame, for as long as the scene, if it does not say else."""
    frames = scene.frames
    by_default = {"duration": frames.count / frames.rate, "frame_rate": SAMPLES_PER_FRAME * frames.rate}
    return {**by_default, **scene.body.settings}


def read_solid(table: SolidTable, folder: Path, motion: Motion) -> Solid:
    """Read a solid from its mesh file; one that moves deforms, and `motion` carries it along."""
    assert table.mesh is not None
    assert not isinstance(table.start, tuple)
    return read_body(
        folder / table.mesh,
        only=_paths(table.prim),
        ignore=_paths(table.ignore) or (),
        start=table.start,
        animation=None if table.animation is None else folder / table.animation,
        rate=table.rate,
        unit=table.unit,
        up=table.up,
        motion=motion,
        interpolation=table.interpolation,
    )


def _paths(paths: Paths | None) -> tuple[str, ...] | None:
    return (paths,) if isinstance(paths, str) else paths

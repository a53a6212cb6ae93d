"""From a file that a person has to what the salon shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mane.salon.programs import CacheProgram, ModelProgram, Program
from mane.scene.cache import Cache
from mane.scene.config import HandsTable, Scene
from mane.scene.deeds import read_deeds
from mane.scene.learned import kind_of, load_hair_model, source_kind
from mane.scene.scene_file import overridden, parse_scene, read_scene

RATE = 100.0  # steps per second: hair that is combed moves too fast for the frames of a film
STANDARD = """
[groom]
style = "wavy"
strands = 30000
vertices = 24

[guides]
count = 128

[head]
motion = "look"

[strand]
material = "wavy"

[skin]
method = "linear"

[camera]
look = "light_brown"
"""
PROPS = """
[[solids]]
prop = "comb"
position = [0.22, 0.16, 0.1]
rotation_vector = [0.0, -1.2, 0.0]

[[solids]]
shape = "sphere"
center = [0.0, 0.0, 0.0]
radius = 0.035
position = [-0.24, 0.1, 0.1]

[[solids]]
prop = "rod"
position = [0.26, -0.05, 0.1]
"""
GROOM = """
[groom]
file = "{name}"

[guides]
count = 128

[body]
mesh = "none"

[skin]
method = "linear"

[camera]
look = "brown"
"""
MODEL = """
[groom]
file = {groom}
{own}

[guides]
model = "{name}"

[body]
mesh = "none"

[head]
motion = "look"

[skin]
{skin}

[camera]
look = "brown"
"""


def salon_program(path: Path | None = None, settings: Sequence[str] = (), *, groom: Path | None = None) -> Program:
    """Return what a salon shows of a file; ValueError and OSError name the file, or what is missing.

    Args:
        path: a scene file, a groom file, a cache or a model; None for a head of waves.
        settings: `key=value` texts in place of what it says.
        groom: that a model belongs to; without it a model that is played shows its own guides.
    """
    if path is not None and path.is_dir():
        return CacheProgram(overridden(Cache.open(path).scene, settings), path=path)
    scene = salon_scene(path, settings, groom=groom)
    if path is not None and path.suffix == ".model" and groom is None:
        return ModelProgram(scene, path=path)
    if scene.hands.file is None:
        return Program(scene)
    return Program(replace(scene, hands=HandsTable()), tuple(read_deeds(scene.path(scene.hands.file))))


def salon_scene(path: Path | None = None, settings: Sequence[str] = (), *, groom: Path | None = None) -> Scene:
    """Return the scene of a file that is simulated, or of a model; arguments as of `salon_program`."""
    if path is None:
        scene = parse_scene(STANDARD + PROPS, name="the salon")
    elif path.suffix == ".toml":
        scene = read_scene(path)
    else:
        if not path.is_file():
            raise FileNotFoundError(2, "no such file", str(path))
        text = _model_text(path, groom) if path.suffix == ".model" else GROOM.format(name=path.name) + PROPS
        scene = parse_scene(text, name=str(path), folder=path.absolute().parent)
    scene = overridden(scene, settings)
    rate = RATE
    if source_kind(scene) != "simulation":  # a model is played at the rate that it was learned at
        assert scene.guides.model is not None
        rate = load_hair_model(scene.path(scene.guides.model)).frame_rate
    return replace(scene, frames=replace(scene.frames, rate=rate, preroll=0.0))


def _model_text(path: Path, groom: Path | None) -> str:
    """A scene in which a model is at work: played, or as the skin that it is of."""
    is_played = kind_of(path).source is not None
    if groom is None and not is_played:
        raise ValueError(f"{path}: needs the groom that it was learned of; give it with --groom")
    file = json.dumps(str((groom or path).absolute()))
    skin = 'method = "linear"' if is_played else f'method = "adaptive"\nmodel = "{path.name}"'
    own = "any_scale = true" if groom is None else ""
    return MODEL.format(groom=file, own=own, name=path.name, skin=skin) + PROPS

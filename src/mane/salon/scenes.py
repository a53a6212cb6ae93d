"""From a file that a person has to a scene that the salon can play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mane.scene.config import Scene
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
"""


def salon_scene(path: Path | None = None, settings: Sequence[str] = (), *, groom: Path | None = None) -> Scene:
    """Return the scene of the salon; ValueError and OSError name the file, or what is missing.

    Args:
        path: a scene file, a groom file or a model; None for a head of waves.
        settings: `key=value` texts in place of what it says.
        groom: that a model belongs to.
    """
    if path is None:
        scene = parse_scene(STANDARD + PROPS, name="the salon")
    elif path.suffix == ".toml":
        scene = read_scene(path)
    elif path.is_dir():
        raise ValueError(f"{path}: a cache is not played in the salon yet; give its scene file")
    elif path.suffix == ".model":
        scene = _of_model(path, groom)
    else:
        if not path.is_file():
            raise FileNotFoundError(2, "no such file", str(path))
        scene = parse_scene(GROOM.format(name=path.name) + PROPS, name=str(path), folder=path.absolute().parent)
    scene = overridden(scene, settings)
    if scene.guides.model is not None:
        return scene  # is played at the rate that it was learned at
    return replace(scene, frames=replace(scene.frames, rate=RATE, preroll=0.0))


def _of_model(path: Path, groom: Path | None) -> Scene:
    from mane.scene.learned import kind_of

    if groom is None:
        raise ValueError(f"{path}: a model needs the groom that it was learned of; give it with --groom")
    kind_of(path)  # says what is wrong with the file
    text = f'[groom]\nfile = "{groom.absolute()}"\n[guides]\nmodel = "{path.absolute()}"\n[body]\nmesh = "none"\n'
    return parse_scene(text + '[skin]\nmethod = "linear"\n', name=str(path))

"""Files of the hair as it is now: a picture of the good renderer, and a groom."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.io.grooms import write_groom
from mane.render.camera import Camera
from mane.render.looks import STYLE_LEVEL
from mane.render.renderer import render
from mane.render.sheet import write_png
from mane.salon.shown import look_of
from mane.scene.config import Scene
from mane.skin.guide_values import GuideValues
from mane.strand.frame import GuideFrame
from mane.strand.source import GuideSource


def write_groom_of(path: Path, points: FloatArray, groom: Groom) -> None:
    """Write hairs (S, V, 3) [m] with the attributes of `groom`."""
    write_groom(path, groom.with_points(points.reshape(-1, 3)))


def draw_picture(
    path: Path,
    points: FloatArray,
    groom: Groom,
    scene: Scene,
    source: GuideSource,
    frame: GuideFrame,
    eye: Any,
    target: Any,
    fov: float,
) -> None:
    """Draw hairs (S, V, 3) [m] and solids as a page sees them: its camera, in the size that the scene has."""
    if np.linalg.norm(np.subtract(eye, target)) < 1e-3 or not 5 <= fov <= 120:
        raise ValueError("camera: must stand off what it looks at, with an angle of 5 to 120 degrees")
    meshes = [
        solid.placed(pose, frame.time).mesh() for solid, pose in zip(source.solids, frame.solid_poses, strict=True)
    ]
    position, look_at = ((float(x), float(y), float(z)) for x, y, z in (eye, target))
    camera = Camera(position, look_at, fov=math.radians(fov))
    moved, looks = groom.with_points(points.reshape(-1, 3)), [look_of(scene)]
    if frame.wet is not None:
        held = GuideValues(groom, source.guides)(frame.wet.held, points.shape[1])
        moved, looks = moved.with_vertex(**{STYLE_LEVEL: held.reshape(-1)}), [*looks, replace(looks[0], wetness=1.0)]
    size, finest = scene.camera.size, scene.camera.finest
    write_png(path, render(moved, meshes, camera=camera, look=looks, size=size, finest=finest, water=frame.water))

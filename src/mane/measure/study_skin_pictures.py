"""The study of skins to look at: the same head and frame by every method, side by side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mane.groom import styles
from mane.groom.groom import Groom
from mane.measure.study_skin import METHODS, Recording
from mane.metrics.kink import kink
from mane.metrics.length import length_error
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.strand.frame import GuideFrame

PICTURE = (480, 600)  # pixels
DRAWN_STRANDS = 25_000  # at most: more would hide behind each other, and take minutes to draw
SHOWN = 0.8  # share of the recording at which the picture is taken, well into the motion


def draw_scene(recording: Recording) -> np.ndarray:
    """One late frame of a recording, guides first and then every method; (H, W, 3) uint8."""
    frame = recording.frames[round(SHOWN * (len(recording.frames) - 1))]
    body = styles.body(recording.scene.style).transformed(frame.head.matrix)
    views = list(_views(recording, frame))
    camera = Camera.framing(np.concatenate([body.points, frame.points.reshape(-1, 3)]), aspect=PICTURE[0] / PICTURE[1])
    images = [render(hair, body, camera=camera, size=PICTURE) for hair, _ in views]
    return side_by_side(images, [caption for _, caption in views], title=recording.scene.name)


def _views(recording: Recording, frame: GuideFrame) -> Iterator[tuple[Groom, str]]:
    """Hair as drawn, and its caption."""
    yield Groom.from_uniform(frame.points), f"{recording.guides.count} guides"
    rest = recording.groom.as_uniform()
    drawn = np.arange(0, len(rest), -(-len(rest) // DRAWN_STRANDS))
    for name, make in METHODS.items():
        points = make(recording)(frame).copy()
        stretched, kinks = np.abs(length_error(points, rest)).mean(), kink(points, rest).mean()
        measured = f"length off by {100 * stretched:.2g} %, kink {kinks:.2g} rad"
        yield recording.groom.take(drawn).with_points(points[drawn]), f"{name}\n{measured}"

"""The study of skins to look at: the same head and frame by every method, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from mane.groom import styles
from mane.groom.groom import Groom
from mane.measure.study_skin import METHODS, SCENES, Recording, record
from mane.metrics.kink import kink
from mane.metrics.length import length_error
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.strand.frame import GuideFrame

PICTURE = (480, 600)  # pixels
SHOWN = 0.8  # share of the recording at which the picture is taken, well into the motion


def draw(
    folder: Path | str,
    *,
    strands: int = 20_000,
    seconds: float = 1.5,
    scenes: int = len(SCENES),
    progress: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write one row of pictures for each of the first `scenes` scenes into `folder`; returns what was written."""
    from PIL import Image

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for number, scene in enumerate(SCENES[:scenes]):
        if progress:
            progress(f"skin: drawing {scene.name}")
        row = draw_scene(record(scene, strands=strands, sampled=1, seconds=seconds))
        path = target / f"skin_{number}_{scene.style}.png"
        Image.fromarray(row).save(path)
        written.append(path)
    return written


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
    for name, make in METHODS.items():
        points = make(recording)(frame).copy()
        stretched, kinks = np.abs(length_error(points, rest)).mean(), kink(points, rest).mean()
        measured = f"length off by {100 * stretched:.2g} %, kink {kinks:.2g} rad"
        yield recording.groom.with_points(points), f"{name}\n{measured}"

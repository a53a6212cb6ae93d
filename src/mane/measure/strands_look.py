"""What strands look like: a strip of frames per model, with long straight, wavy and curly guides on a shaking head."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mane.body.motion_presets import make_motion
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.select import select_guides
from mane.render.renderer import render
from mane.render.sheet import write_png
from mane.scene.simulation import Simulation

STYLES = ("straight", "wavy", "curly")
GUIDES, GROOM_STRANDS = 48, 2_000
FRAMES, EVERY = 24, 6  # at 24 frames per second
SIZE = (200, 220)
WIDTH = 1e-3  # [m]: a guide stands for a lock


def draw_strips(folder: Path, models: list[str], *, quick: bool) -> None:
    """Write `shake_MODEL.png` for each model: a row per style, a picture for every sixth frame."""
    frames = 12 if quick else FRAMES
    for model in models:
        rows = [np.concatenate(_strip(model, style, frames), axis=1) for style in STYLES]
        write_png(folder / f"shake_{model}.png", np.concatenate(rows, axis=0))


def _strip(model: str, style: str, frames: int) -> list[np.ndarray]:
    groom = styles.make(style, strands=GROOM_STRANDS, seed=1)
    body = styles.body(style)
    sim = Simulation(select_guides(groom, GUIDES, seed=1), model, material=style, body=body, head=make_motion("shake"))
    pictures = []
    for number in range(1, frames + 1):
        frame = sim.step()
        if number % EVERY == 0:
            hair = Groom.from_uniform(frame.points)
            hair = hair.with_vertex(width=np.full(len(hair.points), WIDTH, np.float32))
            pictures.append(render(hair, body.transformed(frame.head.matrix), size=SIZE))
    return pictures

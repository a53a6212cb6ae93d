"""What strands look like on a shaking head: kinks of straight hair, and a strip of frames per model with long straight,
wavy and curly guides.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mane.body.motion_presets import make_motion
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.select import select_guides
from mane.measure.figures import Figures
from mane.metrics.kink import kink
from mane.render.renderer import render
from mane.render.sheet import write_png
from mane.scene.simulation import Simulation

STYLES = ("straight", "wavy", "curly")
GUIDES, GROOM_STRANDS = 48, 2_000
FRAMES, EVERY = 24, 6  # at 24 frames per second
SIZE = (200, 220)
WIDTH = 1e-3  # [m]: a guide stands for a lock
MORE_KINKS = 1.5  # a model's kinks over those of rods, at most


def shaken_kinks(figures: Figures, models: list[str], *, quick: bool) -> None:
    """Mean kink of straight guides on a shaking head, every model beside Cosserat rods."""
    frames = (12,) if quick else (12, 18, 24)
    rods = _kinks("cosserat", frames)
    for model in models:
        found = rods if model == "cosserat" else _kinks(model, frames)
        for frame in frames:
            case = f"straight hair on a shaking head, {model}, frame {frame}"
            figures.add(case, "mean kink", found[frame], "rad", reference=rods[frame], source="cosserat")
            figures.add(case, "mean kink / that of rods", found[frame] / rods[frame], "1", target=MORE_KINKS)


def _kinks(model: str, frames: tuple[int, ...]) -> dict[int, float]:
    """Mean kink [rad] in some frames."""
    sim = _shaken(model, "straight")
    found = {}
    for number in range(1, frames[-1] + 1):
        points = sim.step().points
        if number in frames:
            found[number] = float(kink(points, sim.strands.rest_points.astype(np.float32)).mean())
    return found


def draw_strips(folder: Path, models: list[str], *, quick: bool) -> None:
    """Write `shake_MODEL.png` for each model: a row per style, a picture for every sixth frame."""
    frames = 12 if quick else FRAMES
    for model in models:
        rows = [np.concatenate(_strip(model, style, frames), axis=1) for style in STYLES]
        write_png(folder / f"shake_{model}.png", np.concatenate(rows, axis=0))


def _strip(model: str, style: str, frames: int) -> list[np.ndarray]:
    sim, body = _shaken(model, style), styles.body(style)
    pictures = []
    for number in range(1, frames + 1):
        frame = sim.step()
        if number % EVERY == 0:
            hair = Groom.from_uniform(frame.points)
            hair = hair.with_vertex(width=np.full(len(hair.points), WIDTH, np.float32))
            pictures.append(render(hair, body.transformed(frame.head.matrix), size=SIZE))
    return pictures


def _shaken(model: str, style: str) -> Simulation:
    guides = select_guides(styles.make(style, strands=GROOM_STRANDS, seed=1), GUIDES, seed=1)
    return Simulation(guides, model, material=style, body=styles.body(style), head=make_motion("shake"))

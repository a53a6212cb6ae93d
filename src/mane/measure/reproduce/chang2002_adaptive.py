"""chang2002 4.3, figure 4: guides are inserted where a gust parts their neighbours, and taken out again behind it.

A lawn of hair with few guides; a narrow gust travels along it. The hair that the guides carry is compared with hairs
that were simulated one by one, with inserted guides and without; drawn are the guides, inserted ones in another colour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mane.body.shapes import Box
from mane.contact.adaptive.adaptive import AdaptiveGuides
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.measure.pictures import PAINTED, draw_row, locks, stack_rows
from mane.measure.reproduce.reproduce import Done, ProgressCallback, Report, task_of
from mane.render.camera import Camera
from mane.scene.simulation import Simulation
from mane.skin.base import Skin
from mane.skin.linear.skin import LinearSkin
from mane.strand.frame import GuideFrame
from mane.strand.material import Material
from mane.strand.model import Float64Array

STRANDS, ALONG = 1_200, 8  # hairs; guides along the long side, half as many along the other
WIDTH, DEPTH, LENGTH, VERTICES = 0.16, 0.08, 0.10, 14  # [m] of the lawn
SPEED, NARROW, TRAVEL = 3.0, 0.03, 0.2  # [m/s] of the wind, [m] of the gust, [m/s] at which it travels
BOARD = Box((0.0, -0.003, 0.0), (0.5 * WIDTH + 0.005, 0.003, 0.5 * DEPTH + 0.005))
MATERIAL = Material(radius=6e-5)  # stiff enough to stand
OPENS_AT, FADE = 0.006, 0.1  # [m], [s]
FRAME_RATE, FRAMES = 48.0, 44
SHOWN = (6, 16, 26, 43)
TARGET = 0.8  # of the distance without inserted guides, at most
SIZE = (360, 240)
COLORS = ((0.22, 0.10, 0.04), (0.80, 0.10, 0.04))  # linear RGB of guides and of inserted ones


@dataclass
class Run:
    """Frames of guides, their hair (F, S, V, 3) [m], and how many guides were inserted in each."""

    frames: list[GuideFrame]
    hair: Float64Array
    inserted: list[int]


def run(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Let the gust pass with and without inserted guides, and measure both against hairs simulated one by one."""
    strands, frames = (120, 24) if quick else (STRANDS, FRAMES)
    groom, guides = make_lawn(strands, ALONG)
    truth = blow(Guides.from_groom(groom), None, None, frames, task_of(tell, "every hair", 0.0, 0.4))
    skin = LinearSkin(groom, guides)
    runs = {
        "guides alone": blow(guides, None, skin, frames, task_of(tell, "guides alone", 0.4, 0.6)),
        "with inserted guides": blow(
            guides,
            AdaptiveGuides(opens_at=OPENS_AT, fade=FADE),
            skin,
            frames,
            task_of(tell, "with inserted guides", 0.6, 0.8),
        ),
    }
    errors = {name: float(np.linalg.norm(one.hair - truth.hair, axis=3).mean()) for name, one in runs.items()}
    alone = errors["guides alone"]
    for name, one in runs.items():
        case = f"{guides.count} guides, {name}"
        promise = {"reference": 1e3 * alone, "source": "guides alone", "target": 1e3 * TARGET * alone}
        metric = "mean distance of hair from hairs simulated one by one"
        report.add(case, metric, 1e3 * errors[name], "mm", **(promise if max(one.inserted) else {}))
        report.add(case, "guides inserted, at most", max(one.inserted), "1")
        report.add(case, "guides inserted, at the end", one.inserted[-1], "1")
    _draw(report, runs, quick, [number for number in SHOWN if number < frames])
    report.note("Figure 4 is a sketch; how much inserted guides gain is our measure.")
    tell("done", 1.0)


def make_lawn(strands: int, along: int, seed: int = 1) -> tuple[Groom, Guides]:
    """Straight hairs that stand on a board, and a few of them, in rows, as guides."""
    x, z = np.meshgrid(np.linspace(-0.5, 0.5, along) * WIDTH, np.linspace(-0.5, 0.5, along // 2) * DEPTH)
    dense = np.random.default_rng(seed).uniform([-0.5, -0.5], [0.5, 0.5], (strands, 2)) * [WIDTH, DEPTH]
    roots = np.insert(np.concatenate([np.stack([x.ravel(), z.ravel()], axis=1), dense]), 1, 0.0, axis=1)
    points = roots[:, None] + np.linspace(0.0, LENGTH, VERTICES)[:, None] * np.array([0.0, 1.0, 0.0])
    groom = Groom.from_uniform(points.astype(np.float32))
    return groom, Guides.chosen(groom, np.arange(x.size))


def gust(points: Float64Array, time: float) -> Float64Array:
    """Wind across the lawn, in a band that travels along it [m/s]."""
    wind = np.zeros_like(points)
    wind[:, 2] = SPEED * np.exp(-(((points[:, 0] - TRAVEL * (time - 0.4)) / NARROW) ** 2))
    return wind


def blow(guides: Guides, adaptive: AdaptiveGuides | None, skin: Skin | None, frames: int, done: Done) -> Run:
    """Simulate the passage of the gust; without a skin the guides are the hair."""
    parts = [] if adaptive is None else [adaptive]
    simulation = Simulation(
        guides, "chain", material=MATERIAL, body=BOARD, wind=gust, drag=1.0, forces=parts, frame_rate=FRAME_RATE
    )
    seen, hair, inserted = [], [], []
    for number in range(frames):
        frame = simulation.step()
        seen.append(frame)
        hair.append(frame.points if skin is None else skin(frame).copy())
        inserted.append(0 if frame.inserted is None else frame.inserted.count)
        done((number + 1) / frames)
    return Run(seen, np.array(hair, np.float64), inserted)


def _draw(report: Report, runs: dict[str, Run], quick: bool, shown: list[int]) -> None:
    size = (90, 60) if quick else SIZE
    board = BOARD.mesh()
    seen = np.concatenate(
        [board.points, *(one.frames[number].points.reshape(-1, 3) for one in runs.values() for number in shown)]
    )
    camera = Camera.framing(seen, (0.0, 0.75, 1.0), aspect=size[0] / size[1], margin=0.03)
    rows = [
        draw_row(
            [_guides_drawn(one.frames[number]) for number in shown],
            [board] * len(shown),
            [f"{number / FRAME_RATE:.2f} s: {one.inserted[number]} inserted" for number in shown],
            camera=camera,
            size=size,
            title=name,
            look=PAINTED,
        )
        for name, one in runs.items()
    ]
    report.picture("adaptive", stack_rows(rows), "Guides inserted where a gust parts their neighbours, after figure 4")


def _guides_drawn(frame: GuideFrame) -> Groom:
    """Guides as locks, inserted ones in a colour of their own."""
    points, colors = frame.points, np.tile(COLORS[0], (len(frame.points), 1))
    if frame.inserted is not None and frame.inserted.count:
        points = np.concatenate([points, frame.inserted.points])
        colors = np.concatenate([colors, np.tile(COLORS[1], (frame.inserted.count, 1))])
    return locks(points, width=1.2e-3, colors=colors)

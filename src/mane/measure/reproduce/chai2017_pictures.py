"""Pictures of chai2017's scenes: full simulation, and hair as the methods of one of its figures carry it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.measure.pictures import stack_rows
from mane.measure.reproduce.reproduce import Report
from mane.measure.study import parting
from mane.measure.study.parting import DEFAULT, METHODS, Carried, Recording
from mane.measure.study.parting_meter import INSIDE, NEAR, PropDistance
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render

PICTURE, QUICK_PICTURE = (420, 420), (200, 200)
DRAWN_WIDTH = 6e-4  # [m] of a hair that stands for many
FULL = "full simulation"
OUR_TWO_WAY, PRINTED_TWO_WAY = next(iter(parting.TWO_WAY)), "two-way as printed (eq. 4)"

Draw = Callable[[Recording], Carried]


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, as we draw it.

    Attributes:
        name: of the file.
        caption: what it follows.
        shown: hair of each panel beside the full simulation, by its caption.
    """

    name: str
    caption: str
    shown: Mapping[str, Draw]


def _by(name: str) -> Draw:
    return lambda recording: parting.carried(recording, METHODS[name](recording))


def _pushed(draw: Draw) -> Draw:
    return lambda recording: parting.pushed_out(recording, draw(recording))


def _two_way(name: str) -> Draw:
    return lambda recording: parting.carried_two_way(recording, **parting.TWO_WAY[name])


def _methods(*names: str) -> dict[str, Draw]:
    return {name: _by(name) for name in names}


PARTED = Figure("parting", "hair that solids part", _methods("linear", "adaptive as printed", "adaptive", DEFAULT))
CORRECTED = Figure(
    "correction",
    "two-way and position correction (fig. 8)",
    {
        "adaptive": _by("adaptive"),
        PRINTED_TWO_WAY: _two_way(PRINTED_TWO_WAY),
        OUR_TWO_WAY: _two_way(OUR_TWO_WAY),
        f"{OUR_TWO_WAY}, pushed out": _pushed(_two_way(OUR_TWO_WAY)),
        "adaptive, pushed out": _pushed(_by("adaptive")),
    },
)
EARLIER = Figure(
    "particle_wise",
    "particle-wise skinning of [33] (fig. 10)",
    _methods("adaptive as printed", "adaptive", DEFAULT, "particle-wise [33]"),
)
NAIVE = Figure(
    "naive", "skinning without training (fig. 11)", _methods("naive, adaptive (eq. 11)", "naive, fixed (eq. 11)")
)
CRITERIA = Figure(
    "criteria",
    "either criterion alone, and both (fig. 6)",
    _methods("motion alone (4.1)", "solids alone (4.2)", "adaptive", "adaptive as printed"),
)


def draw(report: Report, recording: Recording, figures: Sequence[Figure], *, quick: bool) -> None:
    """Draw figures of a scene, a row for each of its `shown` times."""
    numbers = shown_numbers(recording)
    made: dict[str, list[FloatArray]] = {FULL: [recording.truth[number] for number in numbers]}
    for figure in figures:
        for name, carry in figure.shown.items():
            if name not in made:
                made[name] = frames_of(recording, carry, numbers)
    size = QUICK_PICTURE if quick else PICTURE
    for figure in figures:
        rows = []
        for k, number in enumerate(numbers):
            solids = meshes(recording, number)
            camera = close_up(recording, number, solids, size)
            names = [FULL, *figure.shown]
            images = [draw_hair(recording, made[name][k], solids, camera, size) for name in names]
            captions = [f"{name}\n{_told(recording, number, name, made[name][k])}" for name in names]
            title = f"{recording.scene.name}, {number / parting.FRAME_RATE:.2f} s"
            rows.append(side_by_side(images, captions, title=title))
        caption = f"{recording.scene.name}: {figure.caption}; distances from full simulation, of hairs near solids"
        report.picture(figure.name, stack_rows(rows), caption)


def shown_numbers(recording: Recording) -> list[int]:
    """Frames that are drawn, rising."""
    last = len(recording.frames) - 1
    return sorted({min(round(t * parting.FRAME_RATE), last) for t in recording.scene.shown})


def frames_of(recording: Recording, carry: Draw, numbers: Sequence[int]) -> list[FloatArray]:
    """Hairs of some frames, rising, after all frames before them, as they come from the skin."""
    hairs = islice(carry(recording), max(numbers) + 1)
    return [points for number, (_, points) in enumerate(hairs) if number in numbers]


def meshes(recording: Recording, number: int) -> list[Mesh]:
    """The body and what goes through the hair in a frame."""
    frame = recording.frames[number]
    return [solid.at(frame.time).mesh() for solid in recording.simulation.solids]


def close_up(recording: Recording, number: int, solids: Sequence[Mesh], size: tuple[int, int]) -> Camera:
    """What goes through the hair and the hair around it, the same for every method; all hair where none is near."""
    frame, truth = recording.frames[number], recording.truth[number]
    distance = PropDistance(recording.simulation.solids)(frame.time, truth)
    near = truth[distance < NEAR]
    corners = np.concatenate([near, *(mesh.points for mesh in solids[1:])]) if len(near) else truth.reshape(-1, 3)
    return Camera.framing(corners, recording.scene.view, aspect=size[0] / size[1], margin=0.04)


def draw_hair(
    recording: Recording, points: FloatArray, solids: Sequence[Mesh], camera: Camera, size: tuple[int, int]
) -> NDArray[np.uint8]:
    """Hairs (S, V, 3) [m] among solids."""
    groom = recording.groom.with_points(points.reshape(-1, 3))
    return render(groom, list(solids), camera=camera, size=size, hair_width=DRAWN_WIDTH)


def _told(recording: Recording, number: int, name: str, points: FloatArray) -> str:
    """What the panel of a method shows, in numbers: of hairs near solids that are no guides."""
    near = recording.others[recording.is_near[number][recording.others]]
    if not len(near):
        return "no hair near"
    apart = float(np.linalg.norm(points[near] - recording.truth[number][near], axis=2).mean())
    distance = PropDistance(recording.simulation.solids)(recording.frames[number].time, points[near, 1:])
    inside = f"{100 * float((distance < -INSIDE).mean()):.1f} % inside"
    return inside if name == FULL else f"{1e3 * apart:.1f} mm off, {inside}"

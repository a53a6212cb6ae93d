"""The study of skins to look at: the same head and frame by every method, side by side, and a few hairs of it close up.

A kink of one hair is lost among a hundred thousand. So below each head are some of the hairs that were simulated one by
one, each in a colour of its own, as each method carries them, with the simulated ones first.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.measure.captions import describe
from mane.measure.pictures import PAINTED, stack_rows
from mane.measure.study.skin import Carry, Recording
from mane.metrics.kink import kink
from mane.metrics.length import length_error
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.render.sheet import Image
from mane.strand.frame import GuideFrame

PICTURE = (480, 600)  # pixels
DRAWN_STRANDS = 25_000  # at most: more would hide behind each other, and take minutes to draw
FINEST = 0.2  # [pixels] hairs far thinner than a pixel are drawn as fewer, wider ones
SHOWN = 0.8  # share of the recording at which the picture is taken, well into the motion
NECK = -0.13  # [m] what lies below is not framed
GUIDE_WIDTH = 1.2e-3  # [m] as drawn: a guide stands for a lock
FEW = 6  # hairs of the close-up
FEW_WIDTH = 8e-4  # [m] as drawn, wide enough to be followed
NIGHT = (0.09, 0.09, 0.11)  # display RGB behind them, for bright colours to be told apart


def draw_scene(
    recording: Recording,
    carried: Mapping[str, Carry],
    captions: Mapping[str, str] | None = None,
    *,
    size: tuple[int, int] = PICTURE,
) -> Image:
    """One late frame of a recording, guides first and then every method, with a few hairs below; (H, W, 3) uint8.

    Args:
        recording: guides, body and hairs that were simulated one by one.
        carried: a bound skin for each method.
        captions: what to write below their names; by default what is measured in this frame.
        size: of each picture [pixels].
    """
    number = round(SHOWN * (len(recording.frames) - 1))
    frame = recording.frames[number]
    points = {name: carry(frame).copy() for name, carry in carried.items()}
    rest = recording.groom.as_uniform()
    texts = captions or {name: describe(length_error(one, rest), kink(one, rest)) for name, one in points.items()}
    names = [f"{name}\n{texts[name]}" if name in texts else name for name in points]
    hairs = f"{recording.groom.strand_count:,} hairs x {rest.shape[1]}"
    heads = side_by_side(
        _draw_heads(recording, frame, list(points.values()), size),
        [f"{recording.guides.count} guides", *names],
        title=f"{recording.scene.name}: {hairs}",
    )
    few = hairs_in_front(recording.reference[number])
    seen = [recording.reference[number][few], *(one[recording.sampled[few]] for one in points.values())]
    strands = side_by_side(draw_few(seen, size), ["simulated one by one", *points])
    return stack_rows([heads, strands])


def _draw_heads(
    recording: Recording, frame: GuideFrame, points: list[FloatArray], size: tuple[int, int]
) -> list[Image]:
    """The guides, then hair as each method carries it, on the body, all from one camera."""
    resting = recording.scene.make_body()
    body = None if resting is None else resting.transformed(frame.head.matrix)
    framed = frame.points.reshape(-1, 3)
    if body is not None and resting is not None:
        framed = np.concatenate([body.points[resting.points[:, 1] > NECK], framed])
    else:  # hair alone: nothing of it is cut off
        framed = np.concatenate([framed, *(one.reshape(-1, 3) for one in points)])
    camera = Camera.framing(framed, aspect=size[0] / size[1], margin=0.07)
    guides = Groom.from_uniform(frame.points)
    images = [render(guides, body, camera=camera, size=size, hair_width=GUIDE_WIDTH)]
    count = recording.groom.strand_count
    drawn = np.arange(0, count, -(-count // DRAWN_STRANDS))
    groom = recording.groom.take(drawn)
    for one in points:
        images.append(render(groom.with_points(one[drawn]), body, camera=camera, size=size, finest=FINEST))
    return images


def hairs_in_front(points: FloatArray) -> IntArray:
    """Which of some hairs (H, V, 3) [m] to show: neighbours around the one that hangs nearest to the camera."""
    towards = Camera.framing(points.reshape(-1, 3)).axes[2]
    foremost = int((points.mean(axis=1) @ towards).argmax())
    apart = np.linalg.norm(points[:, 0] - points[foremost, 0], axis=1)
    nearest: IntArray = np.argsort(apart, kind="stable")[:FEW]
    return nearest


def draw_few(views: list[FloatArray], size: tuple[int, int]) -> list[Image]:
    """Few hairs (H, V, 3) [m] in each view, all from one camera that sees them all, each hair in its own colour."""
    camera = Camera.framing(np.concatenate([view.reshape(-1, 3) for view in views]), aspect=size[0] / size[1])
    hue = np.arange(len(views[0])) / len(views[0])
    colors = 0.17 + 0.16 * np.cos(2 * np.pi * (hue[:, None] + np.array([0.0, 1 / 3, 2 / 3])))
    images = []
    for view in views:
        vertices = view.shape[0] * view.shape[1]
        groom = Groom.from_uniform(view).with_vertex(
            width=np.full(vertices, FEW_WIDTH, np.float32),
            color=np.repeat(colors.astype(np.float32), view.shape[1], axis=0),
        )
        images.append(render(groom, camera=camera, size=size, look=PAINTED, background=NIGHT))
    return images

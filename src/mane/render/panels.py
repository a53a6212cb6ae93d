"""Comparisons: pictures side by side with captions and a title, and the scale of a picture in false colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import as_floats
from mane.render.sheet import PAPER, Image, checked_image, checked_pictures, write_text

NOTE_SIZE = 0.72  # of the letters of a second and further line, beside the first


def side_by_side(
    images: Sequence[ArrayLike],
    captions: Sequence[str],
    *,
    title: str | None = None,
    height: int | None = None,
    gap: int = 8,
    text_size: int = 18,
) -> Image:
    """Lay pictures out in one row of equal height, with captions below and a title above; (H, W, 3) uint8.

    Args:
        images: display RGB, uint8, shape (H, W, 3) each; sizes may differ.
        captions: one per picture. Lines after the first are smaller: what was measured, under what is seen.
        title: one line over the whole row.
        height: of every picture [pixels]; by default that of the highest one. Smaller pictures are enlarged.
        gap: white between and around the pictures [pixels].
        text_size: height of the letters [pixels].

    Two calls with pictures of the same sizes return the same size, so that panels can follow each other in a movie.
    """
    from PIL import Image as PillowImage
    from PIL import ImageDraw

    pictures = checked_pictures(images, captions)
    if height is not None and height < 1:
        raise ValueError(f"height: must be at least 1 pixel, got {height}")
    shown = [_scaled(picture, height or max(p.shape[0] for p in pictures)) for picture in pictures]
    lines = [caption.split("\n") for caption in captions]
    head = 0 if title is None else 2 * text_size
    foot = round(text_size * (1.6 + 1.4 * NOTE_SIZE * (max(len(one) for one in lines) - 1)))
    row = shown[0].shape[0]
    total = gap + sum(picture.shape[1] + gap for picture in shown)
    panel = PillowImage.new("RGB", (total, head + gap + row + foot + gap // 2), PAPER)
    draw = ImageDraw.Draw(panel)
    if title is not None:
        write_text(draw, (total / 2, gap + text_size), title, 1.2 * text_size, total - 2 * gap)
    left = gap
    for picture, caption in zip(shown, lines, strict=True):
        width = picture.shape[1]
        panel.paste(PillowImage.fromarray(picture), (left, head + gap))
        y = head + gap + row + 0.9 * text_size
        for number, line in enumerate(caption):
            size = text_size * (NOTE_SIZE if number else 1.0)
            write_text(draw, (left + width / 2, y), line, size, width)
            y += 1.4 * NOTE_SIZE * text_size
        left += width + gap
    return np.asarray(panel)


def _scaled(picture: Image, height: int) -> Image:
    from PIL import Image as PillowImage

    if picture.shape[0] == height:
        return picture
    width = max(1, round(picture.shape[1] * height / picture.shape[0]))
    resized = PillowImage.fromarray(picture).resize((width, height), PillowImage.Resampling.LANCZOS)
    return np.asarray(resized)


@dataclass(frozen=True, eq=False)
class Legend:
    """What the colours of a picture mean: a ramp from `low` to `high`.

    Attributes:
        title: the quantity.
        low: what the first colour means, with its unit.
        high: what the last colour means, with its unit.
        ramp: display RGB in [0, 1] from low to high, shape (K, 3).
    """

    title: str
    low: str
    high: str
    ramp: NDArray[np.float32]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ramp", as_floats("legend.ramp", self.ramp, ("K", 3)))
        if len(self.ramp) < 1:
            raise ValueError("legend.ramp: must hold at least one colour, got none")


def with_legend(image: ArrayLike, legend: Legend) -> Image:
    """Return the picture with a scale of its colours in the lower left corner, on a plate of paper white.

    A picture of less than some 100 x 60 pixels has no room for it and comes back as it was.
    """
    from PIL import Image as PillowImage
    from PIL import ImageDraw

    pixels = checked_image("image", image)
    height, width = pixels.shape[:2]
    text = max(9, round(0.025 * height))
    bar = (min(round(0.35 * width), 14 * text), text)
    plate = (bar[0] + 2 * text, round(4.6 * text))
    if plate[0] + text > width or plate[1] + text > height:
        return pixels
    picture = PillowImage.fromarray(pixels)
    left, top = text // 2, height - plate[1] - text // 2
    draw = ImageDraw.Draw(picture)
    draw.rectangle([left, top, left + plate[0], top + plate[1]], fill=PAPER)
    write_text(draw, (left + text, top + text), legend.title, text, bar[0], anchor="lm")
    picture.paste(PillowImage.fromarray(_bar(legend.ramp, bar)), (left + text, round(top + 1.8 * text)))
    below = top + 3.6 * text
    write_text(draw, (left + text, below), legend.low, text, 0.48 * bar[0], anchor="lm")
    write_text(draw, (left + text + bar[0], below), legend.high, text, 0.48 * bar[0], anchor="rm")
    return np.asarray(picture)


def _bar(ramp: NDArray[np.float32], size: tuple[int, int]) -> Image:
    """The ramp as a picture: width, height [pixels]."""
    place = np.linspace(0.0, len(ramp) - 1.0, size[0])
    colors = np.stack([np.interp(place, np.arange(len(ramp)), ramp[:, c]) for c in range(3)], axis=1)
    row = np.rint(255.0 * np.clip(colors, 0.0, 1.0)).astype(np.uint8)
    return np.ascontiguousarray(np.broadcast_to(row, (size[1], size[0], 3)))

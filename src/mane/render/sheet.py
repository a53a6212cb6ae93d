"""Pictures as files, and several pictures on one sheet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.io.atomic import atomic_path

Image = NDArray[np.uint8]

PAPER = (255, 255, 255)
INK = (40, 40, 40)
SMALLEST_TEXT = 8.0  # [pixels]; a caption that is still too long is cut


def write_png(path: str | os.PathLike[str], image: ArrayLike) -> None:
    """Write display RGB (H, W, 3), or RGB with straight alpha (H, W, 4), uint8, as a PNG.

    A reader sees the old file or the new one, never a half.

    Args:
        path: of the file.
        image: (H, W, 3) or (H, W, 4) uint8.
    """
    from PIL import Image as PillowImage

    pixels = checked_image("image", image, channels=(3, 4))
    with atomic_path(path) as partial:
        PillowImage.fromarray(pixels).save(partial, format="PNG")


def read_picture(path: str | os.PathLike[str]) -> Image:
    """Read a picture as display RGB, (H, W, 3) uint8.

    Args:
        path: of a PNG or JPEG file.
    """
    from PIL import Image as PillowImage

    with PillowImage.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def write_jpeg(path: str | os.PathLike[str], image: ArrayLike, *, quality: int = 88) -> None:
    """Write display RGB (H, W, 3), uint8, as a JPEG: a tenth of the size, for pages; atomic like `write_png`.

    Args:
        path: of the file.
        image: display RGB, (H, W, 3) uint8.
        quality: from 1 to 95.
    """
    from PIL import Image as PillowImage

    pixels = checked_image("image", image, channels=(3,))
    with atomic_path(path) as partial:
        PillowImage.fromarray(pixels).save(partial, format="JPEG", quality=quality)


def contact_sheet(
    images: Sequence[ArrayLike], captions: Sequence[str], columns: int = 3, *, gap: int = 8, caption_height: int = 28
) -> Image:
    """Lay pictures out in rows of `columns`, each with its caption below, on white; returns (H, W, 3) uint8.

    A caption that is too long for its picture gets smaller, and is cut in the end.

    Args:
        images: display RGB, (H, W, 3) uint8 each.
        captions: one for each.
        columns: pictures in a row.
        gap: between pictures [pixels].
        caption_height: of the line below a picture [pixels].
    """
    from PIL import Image as PillowImage
    from PIL import ImageDraw

    pictures = checked_pictures(images, captions)
    if columns < 1:
        raise ValueError(f"columns: must be at least 1, got {columns}")
    columns = min(columns, len(pictures))
    cell_height = max(p.shape[0] for p in pictures) + caption_height
    cell_width = max(p.shape[1] for p in pictures)
    rows = -(-len(pictures) // columns)
    shape = (gap + columns * (cell_width + gap), gap + rows * (cell_height + gap))
    sheet = PillowImage.new("RGB", shape, PAPER)
    draw = ImageDraw.Draw(sheet)
    for k, (picture, caption) in enumerate(zip(pictures, captions, strict=True)):
        left = gap + (k % columns) * (cell_width + gap)
        top = gap + (k // columns) * (cell_height + gap)
        sheet.paste(PillowImage.fromarray(picture), (left + (cell_width - picture.shape[1]) // 2, top))
        middle = (left + cell_width // 2, top + picture.shape[0] + caption_height // 2)
        write_text(draw, middle, caption, 0.6 * caption_height, cell_width)
    return np.asarray(sheet)


def write_text(
    draw: Any,
    place: tuple[float, float],
    text: str,
    size: float,
    width: float,
    *,
    anchor: str = "mm",
    fill: tuple[int, int, int] = INK,
) -> None:
    """Write one line of text onto a Pillow drawing, smaller or cut where it would be wider than `width` [pixels].

    Args:
        draw: the `PIL.ImageDraw` to write on.
        place: where the anchor goes [pixels].
        text: one line.
        size: height of the letters [pixels], at most.
        width: of the place there is [pixels].
        anchor: which part of the text goes to `place`, as Pillow names it: "mm" its middle, "la" its upper left.
        fill: display RGB.
    """
    from PIL import ImageFont

    font = ImageFont.load_default(size=size)
    needed = font.getlength(text)
    if needed > width:
        font = ImageFont.load_default(size=max(SMALLEST_TEXT, size * width / needed))
        while len(text) > 1 and font.getlength(text) > width:
            text = text[:-2] + "…"
    draw.text(place, text, fill=fill, font=font, anchor=anchor)


def checked_pictures(images: Sequence[ArrayLike], captions: Sequence[str]) -> list[Image]:
    """Return the pictures as uint8 of shape (H, W, 3), or raise ValueError unless each has its caption."""
    pictures = [checked_image(f"images[{i}]", image) for i, image in enumerate(images)]
    if not pictures:
        raise ValueError("images: must hold at least one picture, got none")
    if len(captions) != len(pictures):
        raise ValueError(f"captions: must be as many as images ({len(pictures)}), got {len(captions)}")
    return pictures


def checked_image(name: str, image: ArrayLike, *, channels: Sequence[int] = (3,)) -> Image:
    """Return a picture as contiguous uint8 of shape (H, W, 3), or what else `channels` allows, or raise ValueError."""
    pixels = np.asarray(image)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in channels:
        shapes = " or ".join(f"(H, W, {count})" for count in channels)
        raise ValueError(f"{name}: must be uint8 of shape {shapes}, got {pixels.dtype} of shape {pixels.shape}")
    if 0 in pixels.shape:
        raise ValueError(f"{name}: must have at least one pixel, got shape {pixels.shape}")
    return np.ascontiguousarray(pixels)

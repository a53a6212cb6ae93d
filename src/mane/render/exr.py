"""OpenEXR: linear light as it is, for compositing. Uncompressed scan lines of half or full floats, nothing else."""

from __future__ import annotations

import os
import struct

import numpy as np
from numpy.typing import ArrayLike

from mane.geometry.checks import require_finite
from mane.io.atomic import atomic_write

MAGIC = 20000630
VERSION = 2  # and no flags: one part, scan lines, short names
NO_COMPRESSION = 0
INCREASING_Y = 0
PIXEL_TYPES = {"<f2": 1, "<f4": 2}  # NumPy's name of a channel's numbers -> EXR's
LARGEST_HALF = 65504.0
CHANNELS = {1: "Y", 3: "RGB", 4: "RGBA"}


def write_exr(path: str | os.PathLike[str], image: ArrayLike, *, half: bool = True) -> None:
    """Write linear light as an OpenEXR file; it appears whole or not at all.

    Args:
        path: where to.
        image: linear light with Rec. 709 primaries (those of sRGB): grey, RGB, or RGB with alpha (colours already
            multiplied by it), shape (H, W, 1), (H, W, 3) or (H, W, 4).
        half: store 16-bit floats (11 bits of precision, values cut at 65504); False stores 32-bit floats.
    """
    pixels = np.asarray(image, np.float32)
    if pixels.ndim != 3 or pixels.shape[2] not in CHANNELS or 0 in pixels.shape:
        raise ValueError(f"image: must have shape (H, W, 1), (H, W, 3) or (H, W, 4), got {pixels.shape}")
    require_finite("image", pixels)
    if half:
        pixels = np.clip(pixels, -LARGEST_HALF, LARGEST_HALF)
    height, width, count = pixels.shape
    kind = "<f2" if half else "<f4"
    # The format wants its channels in the order of the alphabet: A, B, G, R.
    order = sorted(range(count), key=CHANNELS[count].__getitem__)
    lines = np.empty(height, [("y", "<i4"), ("bytes", "<i4"), ("values", kind, (count, width))])
    lines["y"] = np.arange(height)
    lines["bytes"] = lines.dtype["values"].itemsize
    lines["values"] = pixels[:, :, order].transpose(0, 2, 1)
    header = _header(width, height, [CHANNELS[count][channel] for channel in order], PIXEL_TYPES[kind])
    offsets = len(header) + 8 * height + lines.itemsize * np.arange(height)
    with atomic_write(path) as file:
        file.write(header)
        file.write(offsets.astype("<u8").tobytes())
        file.write(lines.tobytes())


def _header(width: int, height: int, channels: list[str], pixel_type: int) -> bytes:
    listed = b"".join(name.encode() + struct.pack("<xiB3xii", pixel_type, 0, 1, 1) for name in channels)
    window = struct.pack("<4i", 0, 0, width - 1, height - 1)
    attributes = [
        ("channels", "chlist", listed + b"\0"),
        ("compression", "compression", struct.pack("<B", NO_COMPRESSION)),
        ("dataWindow", "box2i", window),
        ("displayWindow", "box2i", window),
        ("lineOrder", "lineOrder", struct.pack("<B", INCREASING_Y)),
        ("pixelAspectRatio", "float", struct.pack("<f", 1.0)),
        ("screenWindowCenter", "v2f", struct.pack("<2f", 0.0, 0.0)),
        ("screenWindowWidth", "float", struct.pack("<f", 1.0)),
    ]
    packed = b"".join(
        f"{name}\0{kind}\0".encode() + struct.pack("<i", len(value)) + value for name, kind, value in attributes
    )
    return struct.pack("<2i", MAGIC, VERSION) + packed + b"\0"

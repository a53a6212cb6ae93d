"""CT2Hair's `.bin`: number of strands, then per strand a count and, per point, position, direction and label."""

from __future__ import annotations

import numpy as np

from mane.io.buffers import Buffer, offsets_of
from mane.io.interleaved import parse_interleaved
from mane.io.raw import RawGroom

CHANNELS = 7
LABEL = 6


def parse(buffer: Buffer) -> RawGroom:
    """Read strands from the bytes of a CT2Hair file; ValueError where counts and bytes do not agree.

    Directions follow from the points and are left out; labels are kept where any is set.
    """
    counts, values = parse_interleaved(buffer, CHANNELS)
    label = np.ascontiguousarray(values[:, LABEL])
    with np.errstate(invalid="ignore"):  # a label that is NaN is kept, and reported
        has_labels = bool((label != 0).any())
    return RawGroom(
        np.ascontiguousarray(values[:, :3]),
        offsets_of(counts),
        vertex={"label": label} if has_labels else {},
    )

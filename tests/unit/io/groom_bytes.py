"""What the tests of file formats share: grooms of any kind, and writing them to bytes."""

import io

import numpy as np
from hypothesis import strategies as st

from mane.groom.groom import Groom
from mane.io.raw import RawGroom


@st.composite
def grooms(draw, attributes=()):
    """A few strands of any counts and coordinates, with the attributes asked for."""
    counts = draw(st.lists(st.integers(2, 9), min_size=1, max_size=6))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    total = sum(counts)
    points = (rng.normal(size=(total, 3)) * 10.0 ** draw(st.integers(-6, 6))).astype(np.float32)
    strand, vertex = {}, {}
    for name, channels in attributes:
        scope = draw(st.sampled_from(["strand", "vertex", "none"]))
        if scope != "none":
            count = len(counts) if scope == "strand" else total
            shape = (count, channels) if channels > 1 else (count,)
            (strand if scope == "strand" else vertex)[name] = rng.random(shape).astype(np.float32)
    return Groom(points, np.concatenate([[0], np.cumsum(counts)]), strand, vertex)


def written(module, groom, unit="m", up="y") -> bytes:
    file = io.BytesIO()
    module.write(file, groom, unit=unit, up=up)
    return file.getvalue()


def assert_same_points(raw: RawGroom, groom: Groom) -> None:
    assert raw.points.tobytes() == groom.points.tobytes()
    assert raw.offsets.tolist() == groom.offsets.tolist()

"""Memory of a long run of the largest head: bounded, whatever its length."""

import sys

import pytest

from mane.measure.bench.pipeline import SIZES
from mane.measure.bench.pipeline_memory import TARGET_MEGABYTES, add_memory
from mane.measure.figures import Figures

# [MB] that the peak may rise by after the first frames: less than the points of one of them, so that none is kept.
GROWTH = SIZES[-1].strands * SIZES[-1].vertices * 12e-6


@pytest.mark.stress
def test_three_hundred_frames_with_usd_and_cache(capsys):
    figures = Figures("memory")
    add_memory(figures, SIZES[-1], lambda text: None, frames=300)
    with capsys.disabled():
        sys.stdout.write("\n" + figures.to_table() + "\n")
    values = {row.metric: row.value for row in figures.rows}
    assert values["peak memory"] < TARGET_MEGABYTES
    assert values["growth of the peak from frame 4 to 300"] < GROWTH

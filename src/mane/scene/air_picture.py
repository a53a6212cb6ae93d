"""The look "air": streamlines of the air around the hair, coloured by its speed, drawn with the hair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mane.contact.air.airflow import Airflow
from mane.fluid.streaks import streamlines
from mane.groom.groom import Groom, concatenate
from mane.render.strands import HAIR_WIDTH
from mane.scene.config_output import AIR

if TYPE_CHECKING:
    from mane.strand.source import GuideSource

LOOK = "painted"  # of the strands that `with_streaks` returns
COUNT = 900  # streamlines
LENGTH = 0.1  # [m]
WIDTH = 0.0008  # [m]
HAIR = np.array([0.03, 0.016, 0.008], np.float32)  # linear RGB
# Linear RGB from still air to the fastest: brightness rises evenly, so that it reads in grey as well.
SLOW_TO_FAST = np.array([[0.02, 0.05, 0.30], [0.03, 0.30, 0.65], [0.25, 0.75, 0.75], [0.95, 0.90, 0.35]])


def air_of(source: GuideSource) -> Airflow:
    """Return the air of what moves the guides; raise ValueError where it is no fluid."""
    for stage in source.stages:
        if isinstance(stage, Airflow):
            return stage
    raise ValueError(
        f"look: {AIR!r} shows the air while it is simulated, and this run simulates none; [air] cell = 0.02 in a scene "
        "switches it on, and `mane simulate` draws it (a cache holds no air)"
    )


def with_streaks(groom: Groom, air: Airflow, *, count: int = COUNT, length: float = LENGTH) -> Groom:
    """Return hair and streamlines of the air as it is now as one groom, painted for the look `LOOK`.

    Lines start at the same places in every frame. Those that go nowhere, in still air or within a solid, are left out;
    at the start of a run all air is still.
    """
    lines = streamlines(air.flow, count, length=length)
    travelled = np.linalg.norm(np.diff(lines, axis=1), axis=2).sum(axis=1)
    lines = lines[travelled > 0.25 * length]
    hair = Groom(groom.points, groom.offsets, vertex={
        "width": groom.per_vertex("width", HAIR_WIDTH), "color": np.tile(HAIR, (groom.point_count, 1))
    })  # fmt: skip
    if not len(lines):
        return hair
    speed = np.linalg.norm(air.flow.at(lines.reshape(-1, 3).astype(np.float64)), axis=1)
    place = speed / max(float(np.quantile(speed, 0.98)), 1e-6) * (len(SLOW_TO_FAST) - 1)
    steps = np.arange(len(SLOW_TO_FAST))
    color = np.stack([np.interp(place, steps, SLOW_TO_FAST[:, c]) for c in range(3)], axis=1).astype(np.float32)
    widths = np.full(len(color), WIDTH, np.float32)
    return concatenate([hair, Groom.from_uniform(lines, vertex={"width": widths, "color": color})])

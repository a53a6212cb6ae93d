"""The table of what makes guide frames: `kind` of a scene's [source]."""

from __future__ import annotations

from mane.stage.table import Table
from mane.strand.source import GuideSource

SOURCES: Table[GuideSource] = Table(
    "kind",
    "mane.strand.source:GuideSource",
    {"simulation": "mane.scene.simulation:Simulation", "learned": "mane.reduced.source:LearnedSource"},
)

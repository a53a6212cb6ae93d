"""Scenes in Python: the tables of a scene file as classes, and where frames come from and go.

```python
from mane.scenes import GroomTable, HeadTable

scene = mane.Scene(groom=GroomTable(style="curly", strands=20_000), head=HeadTable(motion="shake"))
summary = mane.run_scene(scene)
```
"""

from mane.scene.config import (
    AirFieldTable,
    AirTable,
    BodyTable,
    BoundsTable,
    CameraTable,
    ContactTable,
    FinishTable,
    FramesTable,
    GroomTable,
    GuidesTable,
    HandsTable,
    HeadTable,
    InteractionTable,
    OutputTable,
    PassTable,
    SkinTable,
    SolidTable,
    SourceTable,
    StrandTable,
    TargetTable,
    WaterSourceTable,
    WaterTable,
    WindTable,
)
from mane.scene.loop import Progress, RunSummary
from mane.scene.scene_file import parse_scene
from mane.scene.sinks import SINKS, Sink
from mane.scene.sources import SOURCES
from mane.strand.source import GuideSource

__all__ = [
    "SINKS",
    "SOURCES",
    "AirFieldTable",
    "AirTable",
    "BodyTable",
    "BoundsTable",
    "CameraTable",
    "ContactTable",
    "FinishTable",
    "FramesTable",
    "GroomTable",
    "GuideSource",
    "GuidesTable",
    "HandsTable",
    "HeadTable",
    "InteractionTable",
    "OutputTable",
    "PassTable",
    "Progress",
    "RunSummary",
    "Sink",
    "SkinTable",
    "SolidTable",
    "SourceTable",
    "StrandTable",
    "TargetTable",
    "WaterSourceTable",
    "WaterTable",
    "WindTable",
    "parse_scene",
]

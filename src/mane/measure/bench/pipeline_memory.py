"""Memory of a whole run by stage: the peak of a process that grows, binds, simulates, carries and writes a head."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from mane.measure.figures import Figures

if TYPE_CHECKING:
    from mane.measure.bench.pipeline import Size

TARGET_MEGABYTES = 1500.0
FRAMES = 12
KEPT_FRAMES = 4
SETTLED = 4  # frames after which a run must not grow any more

# Run in a process of its own, since a peak never falls.
CODE = """
import json, sys
from mane.measure.bench.pipeline import Size
from mane.measure.bench.pipeline_memory import stage_megabytes
for stage in stage_megabytes(Size(**json.loads(sys.argv[1])), sys.argv[2], int(sys.argv[3])):
    print(json.dumps(stage), flush=True)
"""


def add_memory(figures: Figures, size: Size, say: Callable[[str], None], *, frames: int = FRAMES) -> None:
    """Add the peak after every stage, and what the later frames of a run add to it."""
    say(f"pipeline: memory, {size.case}")
    case = f"{size.case}, with USD and cache"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", CODE, json.dumps(asdict(size)), folder, str(frames)]
        done = subprocess.run(command, env=dict(os.environ), check=True, capture_output=True, text=True)
    peaks = [json.loads(line) for line in done.stdout.splitlines()]
    for stage, megabytes in peaks:
        if not stage.startswith("frame "):
            figures.add(case, f"peak memory, {stage}", megabytes, "MB")
    after = {stage: megabytes for stage, megabytes in peaks if stage.startswith("frame ")}
    figures.add(case, "peak memory", peaks[-1][1], "MB", target=TARGET_MEGABYTES)
    grown = after[f"frame {frames}"] - after[f"frame {min(SETTLED, frames)}"]
    figures.add(case, f"growth of the peak from frame {min(SETTLED, frames)} to {frames}", grown, "MB")


def stage_megabytes(size: Size, folder: str, frames: int) -> Iterator[tuple[str, float]]:
    """Run a scene with a cache and USD, and give the peak memory of this process [MB] after every stage.

    Points of a frame are deleted after the next few, since those of a long run would fill a disk.
    """
    from dataclasses import replace

    from mane.measure.bench.pipeline import scene_of
    from mane.scene.build import build
    from mane.scene.config import FramesTable, OutputTable
    from mane.scene.hair import load_hair
    from mane.scene.loop import Progress, run_assembly

    scene = replace(
        scene_of(size),
        frames=FramesTable(end=frames),
        output=OutputTable(cache="a.cache", usd="a.usda"),
        folder=Path(folder),
    )
    yield "import", peak_megabytes()
    hair = load_hair(scene)
    yield "groom", peak_megabytes()
    assembly = build(scene, hair=hair)
    yield "guides and simulation", peak_megabytes()
    assembly.hair_stage  # noqa: B018 - made when it is first looked at
    yield "binding the skin", peak_megabytes()
    told: list[tuple[str, float]] = []

    def tell(progress: Progress) -> None:
        told.append((f"frame {progress.done}", peak_megabytes()))
        written = sorted(Path(folder, "a.frames").glob("frame.*.usdc"))
        for path in written[:-KEPT_FRAMES]:
            path.unlink()

    run_assembly(assembly, progress=tell)
    yield from told


def peak_megabytes() -> float:
    """Most memory that this process ever had [MB]."""
    import resource

    try:
        # Where there is this file: a child's own peak, while `getrusage` begins with that of the parent.
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e6
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6

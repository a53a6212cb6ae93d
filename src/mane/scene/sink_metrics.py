"""`MetricsSink`: the quality of every frame, in one JSON file."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mane.body.packed import PackedSolid
from mane.geometry.checks import FloatArray, IntArray
from mane.io.atomic import atomic_write
from mane.metrics.flicker import WINDOW, flicker
from mane.metrics.summary import METRICS, measure_all
from mane.scene.sinks import OutputRequest, Sink
from mane.skin.lengths import rest_as_long_as_now
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame

if TYPE_CHECKING:
    from mane.scene.build import Assembly

SAMPLED_STRANDS = 5000  # enough for means to a percent, and quick
# Mean squares over all strands [m^2], whose mean over the frames has to be taken before the root.
SQUARED_FLICKER, SQUARED_GUIDE_FLICKER = "squared_flicker", "squared_guide_flicker"


class Reference(Protocol):
    """Where some hairs should be.

    Attributes:
        strands: which of the groom they are, shape (R,).
    """

    strands: IntArray

    def points(self, index: int) -> FloatArray:
        """Those hairs at a frame [m], world, shape (R, V, 3)."""


class MetricsSink(Sink):
    """Measures a sample of the strands of every frame, spread evenly over the groom.

    Lengths are held against those that sliders of learned hair give it, as a run's report has them. Flicker is seen
    from the head, or from the skin at the roots where that deforms, so that its motion does not count.

    Args:
        path: of the file.
        assembly: whose hair is measured.
        reference: hairs that are measured too, and how far they are from where they should be.
    """

    name = "metrics"
    examples = ({"metrics": "metrics.json"},)
    label = "metrics"
    history = WINDOW - 1

    def __init__(self, path: Path, assembly: Assembly, reference: Reference | None = None) -> None:
        self.path = path
        self._solids, self._touched = assembly.source.solids, assembly.source.touched
        groom = assembly.hair.groom
        self._reference = reference
        count = min(SAMPLED_STRANDS, groom.strand_count)
        spread = np.linspace(0, groom.strand_count - 1, count).astype(np.int64)
        self._rows = spread if reference is None else np.concatenate([reference.strands, spread])
        self._rest = np.ascontiguousarray(groom.as_uniform()[self._rows])
        self._stride, self._skin = assembly.hair_stage.stride, assembly.hair_stage.skin
        self._window: deque[FloatArray] = deque(maxlen=WINDOW)
        self._guide_window: deque[FloatArray] = deque(maxlen=WINDOW)
        self._measured: dict[int, dict[str, float]] = {}

    @classmethod
    def for_output(cls, request: OutputRequest) -> MetricsSink | None:
        """Return a sink where metrics are asked for."""
        path = request.path(request.output.metrics)
        return None if path is None else cls(path, request.assembly)

    def memory(self) -> Memory:
        """The last frames, from which the next ones tell flicker."""
        windows = (("hair", self._window), ("guides", self._guide_window))
        return {f"{name}.{index}": points.copy() for name, window in windows for index, points in enumerate(window)}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        for name, window in (("hair", self._window), ("guides", self._guide_window)):
            window.clear()
            window.extend(np.array(memory[f"{name}.{index}"]) for index in range(WINDOW) if f"{name}.{index}" in memory)

    def reset(self) -> None:
        """Forget the last frames, as where the next one does not follow them."""
        self._window.clear()
        self._guide_window.clear()

    def open(self, *, resume: bool) -> None:
        """Read the frames that were measured."""
        if resume and self.path.is_file():
            try:
                frames = json.loads(self.path.read_text(encoding="utf-8"))["frames"]
                self._measured = {int(row.pop("frame")): row for row in frames}
            except (ValueError, KeyError, TypeError, AttributeError):
                raise ValueError(f"{self.path}: is no file of metrics; remove it to go on") from None

    def has(self, index: int) -> bool:
        """Whether the frame was measured."""
        return index in self._measured

    def recall(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Remember where the hair was."""
        assert points is not None
        self._window.append(self._skin.without_body_motion(frame, self._sampled(points), self._rows))
        self._guide_window.append(self._skin.guides_without_body_motion(frame))

    def write(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Measure the frame and write all frames so far."""
        self.add_part(index, self.make_part(index, frame, points))

    def make_part(self, index: int, frame: GuideFrame, points: FloatArray | None) -> dict[str, float]:
        """Measure the frame."""
        assert points is not None
        self.recall(index, frame, points)
        placed = [
            PackedSolid.of(self._solids[number]).sampled_at(frame.solid_poses[number], frame.time)
            for number in self._touched
        ]
        wanted: dict[str, Any] = {}
        if self._reference is not None:
            own = np.arange(len(self._reference.strands))
            wanted = {"reference": self._reference.points(index), "reference_strands": own}
        rest = rest_as_long_as_now(self._rest, self._skin.length_scale, self._rows)
        measured = measure_all(self._sampled(points), rest, solids=placed, **wanted)
        if len(self._window) == WINDOW:
            measured[SQUARED_FLICKER] = _mean_square(flicker(*self._window))
            if len({len(guides) for guides in self._guide_window}) == 1:  # none was inserted or removed meanwhile
                measured[SQUARED_GUIDE_FLICKER] = _mean_square(flicker(*self._guide_window))
        return measured

    def add_part(self, index: int, part: dict[str, float]) -> None:
        """Write all frames so far, and this one."""
        self._measured[index] = part
        with atomic_write(self.path) as file:
            file.write(json.dumps(self._document(), indent=1, allow_nan=False).encode())

    def _sampled(self, points: FloatArray) -> FloatArray:
        return np.ascontiguousarray(points[self._rows, :: self._stride])

    def _document(self) -> dict[str, Any]:
        rows = [{"frame": index, **self._measured[index]} for index in sorted(self._measured)]
        return {"means": self.means, "frames": rows}

    @property
    def frames(self) -> Mapping[int, Mapping[str, float]]:
        """What was measured of every frame, by its number; keys as of `means`."""
        return self._measured

    @property
    def means(self) -> dict[str, float]:
        """Means over all frames, SI units; keys are those of `mane.metrics.summary.METRICS`."""
        rows = list(self._measured.values())
        result = {
            key: float(np.mean([r[key] for r in rows if key in r])) for key in METRICS if any(key in r for r in rows)
        }
        hair, guides = (_root_mean(rows, key) for key in (SQUARED_FLICKER, SQUARED_GUIDE_FLICKER))
        if hair is not None:
            result["flicker"] = hair
            if guides:
                result["relative_flicker"] = hair / guides
        return result

    def close(self) -> list[Path]:
        """Name the file."""
        return [self.path]


def _mean_square(values: FloatArray) -> float:
    return float(np.square(values, dtype=np.float64).mean())


def _root_mean(rows: list[dict[str, float]], key: str) -> float | None:
    squares = [row[key] for row in rows if key in row]
    return math.sqrt(sum(squares) / len(squares)) if squares else None

"""All metrics at once: of one frame with `measure_all`, of a sequence with `SequenceMeter`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mane.metrics.curvature import curvature, distribution_distance, torsion
from mane.metrics.curves import Curves, as_curves
from mane.metrics.distance import distance
from mane.metrics.flicker import FlickerMeter
from mane.metrics.kink import kink
from mane.metrics.length import length_error, segment_error
from mane.metrics.penetration import TOUCH, HasDistance, penetration_depth


@dataclass(frozen=True)
class Metric:
    """How one number is called and shown. For all of them less is better.

    Attributes:
        title: for people.
        unit: that it is shown in.
        scale: from SI to that unit.
    """

    title: str
    unit: str
    scale: float = 1.0


METRICS: Mapping[str, Metric] = {
    "length_error": Metric("mean length error", "%", 100.0),
    "length_error_p95": Metric("95th percentile of length error", "%", 100.0),
    "segment_error": Metric("mean worst segment", "%", 100.0),
    "kink": Metric("mean kink", "rad"),
    "kink_p95": Metric("95th percentile of kink", "rad"),
    "curvature_distance": Metric("curvature off rest", "1/m"),
    "torsion_distance": Metric("torsion off rest", "1/m"),
    "penetration_rate": Metric("penetration rate, roots apart", "%", 100.0),
    "penetration_deepest": Metric("mean maximal penetration, roots apart", "mm", 1e3),
    "root_penetration_rate": Metric("penetration rate of roots", "%", 100.0),
    "root_penetration_deepest": Metric("mean maximal penetration of roots", "mm", 1e3),
    "distance": Metric("mean distance to reference", "mm", 1e3),
    "distance_p95": Metric("95th percentile of distance to reference", "mm", 1e3),
    "flicker": Metric("flicker", "mm", 1e3),
    "relative_flicker": Metric("flicker over the guides'", "1"),
}


def measure_all(
    points: Curves,
    rest: Curves,
    *,
    reference: Curves | None = None,
    reference_strands: Sequence[int] | np.ndarray | None = None,
    solids: Sequence[HasDistance] = (),
) -> dict[str, float]:
    """Measure one frame; keys and units are those of `METRICS`, values SI.

    Args:
        points: strands [m], shape (S, V, 3), at least 4 vertices each.
        rest: the same strands at rest.
        reference: where the strands should be, say from a full simulation, shape (R, V, 3); without it there is no
            distance.
        reference_strands: which strands the reference holds, shape (R,); None for all of them.
        solids: what the strands should stay out of, as in `penetration`; without any there is no penetration.
    """
    ours, theirs = as_curves("points", points, 4), as_curves("rest", rest, 4)
    stretched = np.abs(length_error(ours, theirs))
    kinks = kink(ours, theirs)
    measured = {
        "length_error": float(stretched.mean()),
        "length_error_p95": float(np.quantile(stretched, 0.95)),
        "segment_error": float(segment_error(ours, theirs).mean()),
        "kink": float(kinks.mean()),
        "kink_p95": float(np.quantile(kinks, 0.95)),
        "curvature_distance": distribution_distance(curvature(ours), curvature(theirs)),
        "torsion_distance": distribution_distance(torsion(ours), torsion(theirs)),
    }
    if solids:
        depth = penetration_depth(ours, solids)
        # Roots sit where the groom has them, in the skin or above it: no method can help that.
        for name, part in (("penetration", depth[:, 1:]), ("root_penetration", depth[:, :1])):
            inside = part > TOUCH
            measured[f"{name}_rate"] = float(inside.mean())
            measured[f"{name}_deepest"] = float(part.max()) if inside.any() else 0.0
    if reference is not None:
        apart = distance(ours if reference_strands is None else ours[reference_strands], reference)
        measured |= {"distance": float(apart.mean()), "distance_p95": float(np.quantile(apart, 0.95))}
    return measured


class SequenceMeter:
    """Averages what `measure_all` says over the frames of a sequence, and adds flicker.

    Args:
        rest: the strands at rest [m], shape (S, V, 3).
    """

    def __init__(self, rest: Curves) -> None:
        self._rest = as_curves("rest", rest, 4)
        self._frames: list[dict[str, float]] = []
        self._hair = FlickerMeter()
        self._guides = FlickerMeter()

    def add(
        self,
        points: Curves,
        *,
        guides: Curves | None = None,
        reference: Curves | None = None,
        reference_strands: Sequence[int] | np.ndarray | None = None,
        solids: Sequence[HasDistance] = (),
    ) -> dict[str, float]:
        """Take the next frame and return its own numbers; `guides` are its guides [m], shape (G, V, 3)."""
        measured = measure_all(
            points, self._rest, reference=reference, reference_strands=reference_strands, solids=solids
        )
        self._frames.append(measured)
        self._hair.add(points)
        if guides is not None:
            self._guides.add(guides)
        return measured

    @property
    def value(self) -> dict[str, float]:
        """Means over all frames so far, with flicker from the fourth frame on, relative too where guides moved."""
        if not self._frames:
            raise ValueError("sequence: must hold at least one frame, got none")
        shared = [key for key in METRICS if all(key in frame for frame in self._frames)]
        result = {key: float(np.mean([frame[key] for frame in self._frames])) for key in shared}
        if np.isfinite(self._hair.value):
            result["flicker"] = self._hair.value
        if self._guides.value > 0:
            result["relative_flicker"] = self._hair.value / self._guides.value
        return result

"""Numbers that tell methods apart: length, kinks, curvature, penetration, flicker, distance to a reference.

Each is one call on arrays (S, V, 3) or grooms; `measure_all` takes all of one frame, `SequenceMeter` of a sequence.
"""

from mane.metrics.curvature import curvature, curvature_distance, distribution_distance, torsion, torsion_distance
from mane.metrics.distance import distance
from mane.metrics.flicker import FlickerMeter, flicker
from mane.metrics.kink import kink
from mane.metrics.length import length_error, segment_error
from mane.metrics.penetration import TOUCH, penetration, penetration_depth
from mane.metrics.summary import METRICS, SequenceMeter, measure_all
from mane.metrics.table import MetricTable

__all__ = [
    "METRICS",
    "TOUCH",
    "FlickerMeter",
    "MetricTable",
    "SequenceMeter",
    "curvature",
    "curvature_distance",
    "distance",
    "distribution_distance",
    "flicker",
    "kink",
    "length_error",
    "measure_all",
    "penetration",
    "penetration_depth",
    "segment_error",
    "torsion",
    "torsion_distance",
]

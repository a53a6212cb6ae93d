r"""Kinks and zig-zags: turning that comes and goes from vertex to vertex, beyond what the strand has at rest.

The turning at a vertex is the rotation vector between its two segments. Along a smooth curve it changes slowly, along
a circle not at all; a kink makes it jump up and down again, a zig-zag from one side to the other:

```
  smooth                  kink                      zig-zag
   .--.                       /                      /\    /\
  /    \                  ___/                      /  \  /  \
                                                        \/
  jumps 0 0 0             jumps 0 t t 0             jumps 2t 2t 2t
```

The measure sums |jump| - |jump at rest|, where positive. So it is zero for rest shapes however curly and coarse, for
arcs of circles, for curls that keep curvature and torsion, and vanishes in proportion to the segment length for any
other smooth curve; a kink of angle t counts 2t, however finely it is sampled.
"""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import FloatArray
from mane.metrics import _kernels_shape as kernels
from mane.metrics.curves import Curves, as_pair


def kink(points: Curves, rest: Curves) -> FloatArray:
    """How much each strand kinks beyond its rest shape [rad]: twice the angle of every corner that rest does not have.

    A curl that is pulled straight or wound up smoothly shows a little of it where its sampling is coarse: at most the
    change of (turning angle x torsion angle) per segment.

    Args:
        points: strands [m], shape (S, V, 3), at least 4 vertices each.
        rest: the same strands at rest.

    Returns:
        Shape (S,), float32. Unchanged by rigid motion and by scale.
    """
    ours, theirs = as_pair(points, rest, min_vertices=4)
    total = np.empty(len(ours))
    kernels.sum_kinks(ours, theirs, total)
    return total.astype(np.float32)

"""`record_shot`: the mesh of a whole shot, stepped once, to be played for any hair afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.body.solid import Solid
from mane.geometry.checks import require_positive
from mane.volume.driver import SkinDriver
from mane.volume.kdsm import Kdsm
from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh
from mane.volume.springs import SpringParams

ProgressCallback = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Shot:
    """A mesh over a shot.

    Attributes:
        mesh: at rest.
        times: of the samples [s], shape (F,).
        samples: nodes [m], shape (F, N, 3), float32.
        smallest_ratio: J of the tetrahedra before inverted ones were brought back, at each sample, shape (F,).
        inverted: tetrahedra that were inside out, shape (F,).
        left: tetrahedra that could not be brought back, shape (F,).
    """

    mesh: TetMesh
    times: Float64Array
    samples: NDArray[np.float32]
    smallest_ratio: Float64Array
    inverted: NDArray[np.int64]
    left: NDArray[np.int64]


def record_shot(
    body: Solid,
    mesh: TetMesh,
    params: SpringParams | None = None,
    *,
    rate: float = 24.0,
    steps: float = 96.0,
    duration: float | None = None,
    tell: ProgressCallback | None = None,
) -> Shot:
    """Step a mesh along with the whole animation of a body.

    Args:
        body: an animated mesh whose skin the mesh was made around.
        mesh: at rest.
        params: of its springs.
        rate: samples per second.
        steps: per second, at least `rate`.
        duration: seconds from 0 on; by default until the animation ends.
        tell: called with the number of samples that are made, and of all.
    """
    if body.animation is None:
        raise ValueError("body: must move, got one without animation; a mesh of a still body is the mesh at rest")
    require_positive("rate", rate)
    require_positive("steps", steps)
    animation = body.animation
    end = float(animation.times[-1]) if duration is None else float(duration)
    times = np.arange(math.floor(end * rate + 1e-6) + 1) / rate
    kdsm = Kdsm(mesh, SkinDriver(mesh, animation.skin, params or SpringParams()), params)

    def points(time: float) -> Float64Array:
        placed: Float64Array = animation.precise_points(time)
        return placed if body.motion is None else body.motion.pose(time).apply(placed)

    samples = np.empty((len(times), mesh.node_count, 3), np.float32)
    facts = []
    count = max(1, math.ceil(steps / rate - 1e-9))
    state = kdsm.settled(points(0.0))
    for number, time in enumerate(times.tolist()):
        worst = [kdsm.report]
        if number:
            before = times[number - 1]
            if animation.has_cut(before, time):
                state = kdsm.settled(points(time))
            else:
                for step in range(1, count + 1):
                    state = kdsm.step(state, points(before + (time - before) * step / count), 1 / rate / count)
                    worst.append(kdsm.report)
        samples[number] = state.nodes
        facts.append(
            (min(r.smallest_ratio for r in worst[-count:]), max(r.inverted for r in worst[-count:]), worst[-1].left)
        )
        if tell is not None:
            tell(number + 1, len(times))
    ratio, inverted, left = (np.array(column) for column in zip(*facts, strict=True))
    return Shot(mesh, times, samples, ratio, inverted.astype(np.int64), left.astype(np.int64))

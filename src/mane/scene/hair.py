"""`Hair`: the groom of a scene as its file has it, as a skin needs it, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mane.body.cache import content_key
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.resample import Resampling, resample
from mane.io.notices import tell_one_moment

if TYPE_CHECKING:
    from mane.io.usd.source import UsdSource
    from mane.scene.config import Scene

LEAST_VERTICES = 4  # with which a hair can bend both ways
MOST_VERTICES = 32  # of a groom whose strands differ, where the scene does not say how many


@dataclass(frozen=True, eq=False)
class Hair:
    """Strands of a scene.

    Attributes:
        source: the strands as they were read or made.
        groom: the same with one vertex count for all; what skins carry.
        resampling: from the former to the latter, or None where they are the same.
        usd: the USD file behind them, or None.
    """

    source: Groom
    groom: Groom
    resampling: Resampling | None = None
    usd: UsdSource | None = None

    @classmethod
    def of(cls, source: Groom, vertices: int | None = None, usd: UsdSource | None = None) -> Hair:
        """Cut strands to one vertex count, by default their own or that of the finest."""
        counts = source.vertex_counts
        wanted = vertices or (int(counts[0]) if source.is_uniform else int(min(counts.max(), MOST_VERTICES)))
        wanted = max(wanted, LEAST_VERTICES)
        if source.is_uniform and counts[0] == wanted:
            return cls(source, source, None, usd)
        resampling = resample(source, vertices=wanted)
        return cls(source, resampling.groom, resampling, usd)

    @property
    def key(self) -> str:
        """A key that changes with any point of the hair."""
        return content_key(self.source.points, self.source.offsets, self.groom.points)

    def thinned(self, count: int, seed: int) -> Hair:
        """Return a random choice of the strands, in their order."""
        if not 1 <= count <= self.source.strand_count:
            raise ValueError(f"strands: must be between 1 and {self.source.strand_count}, got {count}")
        rows = np.sort(np.random.default_rng(seed).choice(self.source.strand_count, count, replace=False))
        return Hair.of(self.source.take(rows), int(self.groom.vertex_counts[0]))

    def own_points(self, points: FloatArray, root_rotation: ArrayLike) -> FloatArray:
        """Carry moved hair (S, V, 3) back to the source's own vertices [m], shape (P, 3).

        How the skin at the roots has turned is one quaternion for all, (4,), or one for each, (S, 4).
        """
        if self.resampling is None:
            return points.reshape(-1, 3)
        return self.resampling.restore(points, root_rotation=root_rotation).points


def load_hair(scene: Scene) -> Hair:
    """Read or make the hair of a scene."""
    table = scene.groom
    if table.style is not None:
        from mane.groom import styles

        count = {} if table.strands is None else {"strands": table.strands}
        return Hair.of(
            styles.make(table.style, vertices=table.vertices, seed=scene.seed, **count, **dict(table.settings))
        )
    assert table.file is not None
    path = scene.path(table.file)
    if Path(path).suffix in (".usd", ".usda", ".usdc", ".usdz"):
        from mane.io.usd import read_usd_groom

        read = read_usd_groom(path, unit=table.unit, up=table.up)
        tell_one_moment(path, read.times.tolist(), read.source.time, "guides are simulated, not played from the file")
        return Hair.of(read.groom, table.vertices, read.source)
    from mane.io.grooms import read_groom

    return Hair.of(read_groom(path, unit=table.unit, up=table.up), table.vertices)

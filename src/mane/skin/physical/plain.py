"""The physical skin one strand after another, written the plain way: what its lanes are measured against."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mane.geometry.checks import FloatArray
from mane.skin.physical._kernels_plain import plain_physical_sweep
from mane.skin.physical.forces import place_loads
from mane.skin.physical.skin import PhysicalSkin
from mane.strand.frame import GuideFrame


def plain_sweep(skin: PhysicalSkin, frame: GuideFrame) -> Callable[[], FloatArray]:
    """Return what does the sums of one sweep of `skin` for `frame`, on a rigid head with all guides there.

    Everything is laid out as one would at first, `(strand, vertex, 3)`; shifts of the guides are prepared outside.
    """
    skin._fill_targets(frame, np.empty_like(skin.groom.as_uniform()))  # fills the table of shifts
    unpacked = skin._lanes.unpack(skin._data, np.arange(skin.groom.strand_count))
    length, first, bend, strain = (array.astype(np.float32) for array in unpacked)
    rest = (skin.groom.as_uniform() - skin._pivot).astype(np.float32)
    share = 1 - skin.params.alpha
    force = np.float32(share) * place_loads(skin._loads.of_frame(frame), skin._guide, skin._load_places)
    out = np.empty_like(rest)

    def work() -> FloatArray:
        plain_physical_sweep(
            rest,
            first,
            length,
            bend,
            strain,
            skin.bundles.of_hair,
            skin._weight,
            force,
            skin._table,
            frame.head.matrix[:3, :3].reshape(9).astype(np.float32),
            frame.head.rotation.astype(np.float32),
            np.float32(skin.params.alpha * skin.params.drift),
            np.float32(skin.params.drift_gain_used),
            out,
        )
        result: FloatArray = out
        return result

    return work

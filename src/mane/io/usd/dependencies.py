"""Which other files a USD file is made of."""

from __future__ import annotations

from pathlib import Path

from mane.io.usd.diagnostics import quiet_usd


def dependencies(path: Path) -> list[Path]:
    """Return the layers and assets on disk that a USD file refers to, at any depth, itself apart, in a fixed order.

    None for a file that OpenUSD cannot read; whoever reads it says so.
    """
    from pxr import Tf, UsdUtils

    with quiet_usd():
        try:
            layers, assets, _ = UsdUtils.ComputeAllDependencies(str(path))
        except Tf.ErrorException:
            return []
    found = {Path(layer.realPath) for layer in layers if layer.realPath} | {Path(asset) for asset in assets}
    return sorted(one for one in found if one.resolve() != path.resolve())

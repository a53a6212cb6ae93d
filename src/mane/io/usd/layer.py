"""The result that artists need: a layer over the original file that moves its hair and leaves all else as it was."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from mane.geometry.checks import FloatArray, as_floats
from mane.io.usd.diagnostics import writing
from mane.io.usd.files import asset_path, check_target, export_layer, vectors
from mane.io.usd.prim_writer import PrimFrame, PrimWriter
from mane.io.usd.source import UsdSource
from mane.io.usd.stage import author_units

Frame = tuple[float, ArrayLike] | tuple[float, ArrayLike, ArrayLike]


def write_usd_layer(
    path: str | os.PathLike[str],
    source: UsdSource,
    points: ArrayLike | None = None,
    *,
    velocities: ArrayLike | None = None,
    frames: Iterable[Frame] | None = None,
) -> None:
    """Write a layer that overrides `points`, `extent` and velocities of the curves that a groom was read from.

    Open it in place of the original, which it sublayers by a relative path: same prims, curve and vertex counts,
    basis, order, materials and primvars, other points.

    Args:
        path: .usda, .usdc or .usd to write; not the original itself.
        source: of the groom, from `read_usd_groom`.
        points: where the groom's points are now [m], Y up, world frame, shape (P, 3): one for each vertex that was
            read, in the order of the groom, whatever was resampled in between.
        velocities: their velocities [m/s], shape (P, 3). Without them, velocities in the original are blocked, since
            they belong to other points.
        frames: in place of both, (time code, points) or (time code, points, velocities) for each frame of an
            animation, times rising. All frames are in memory until the file is written; `UsdSequenceWriter` is for
            more than that.

    The file appears whole or not at all. OSError or ValueError in one line where it cannot be written.
    """
    target = check_target(path)
    if (points is None) == (frames is None):
        raise ValueError("points: must be given, or frames, and not both")
    with writing(path):
        layer = over_layer(source, target)
        if points is not None:
            moved, speeds = checked_frame(source, points, velocities)
            for frame in PrimWriter(source).frames(source.time, moved, speeds):
                author_frame(layer, frame, None)
            block_stale(layer, source, has_velocities=speeds is not None)
        else:
            author_frames(layer, source, frames or ())
    export_layer(layer, target)


def author_frames(layer: Any, source: UsdSource, frames: Iterable[Frame]) -> None:
    """Put an animation into a layer as time samples of the prims of a source."""
    times: list[float] = []
    back = PrimWriter(source)
    has_velocities = False
    for time, points, *speeds in frames:
        check_rising(times, time)
        times.append(float(time))
        moved, velocities = checked_frame(source, points, speeds[0] if speeds else None)
        has_velocities |= velocities is not None
        for frame in back.frames(times[-1], moved, velocities):
            author_frame(layer, frame, times[-1])
    if not times:
        raise ValueError("frames: must hold at least one frame, got none")
    set_time_range(layer, source, times[0], times[-1])
    block_stale(layer, source, has_velocities=has_velocities)


def over_layer(source: UsdSource, target: Path) -> Any:
    """Return an unsaved layer for `target` that sublayers the original and is, as a stage, in its units and time."""
    from pxr import Sdf

    if os.path.realpath(target) == os.path.realpath(source.path):
        raise ValueError(
            f"{target}: is the original itself, which a layer over it must not replace; choose another name"
        )
    if not source.path.is_file():
        raise FileNotFoundError(
            f"{source.path}: does not exist any more, so no layer can be put over it; bring it back"
        )
    layer = Sdf.Layer.CreateAnonymous(target.name)
    layer.subLayerPaths.append(asset_path(source.path.resolve(), target.resolve().parent))
    # A stage takes these from its root layer alone, never from sublayers.
    layer.defaultPrim = source.default_prim or source.prims[0].path.split("/")[1]
    author_units(layer, source.units)
    layer.timeCodesPerSecond = source.timing.time_codes_per_second
    layer.framesPerSecond = source.timing.frames_per_second
    if source.timing.start is not None and source.timing.end is not None:
        layer.startTimeCode, layer.endTimeCode = source.timing.start, source.timing.end
    return layer


def set_time_range(layer: Any, source: UsdSource, first: float, last: float) -> None:
    """Let a layer's range of time codes cover its frames and the range of the original."""
    start, end = source.timing.start, source.timing.end
    layer.startTimeCode = first if start is None else min(first, start)
    layer.endTimeCode = last if end is None else max(last, end)


def author_frame(layer: Any, frame: PrimFrame, time: float | None) -> None:
    """Put what a prim is given into a layer, at a time code or (None) for all times."""
    from pxr import Sdf

    names = Sdf.ValueTypeNames
    values = [("points", names.Point3fArray, frame.points), ("extent", names.Float3Array, frame.extent)]
    if frame.velocities is not None:
        values.append(("velocities", names.Vector3fArray, frame.velocities))
    for name, kind, array in values:
        attribute = attribute_spec(layer, frame.path, name, kind)
        if time is None:
            attribute.default = vectors(array)
        else:
            layer.SetTimeSample(attribute.path, time, vectors(array))


def attribute_spec(layer: Any, prim_path: str, name: str, kind: Any) -> Any:
    """Return the attribute of a prim in a layer, made where it is missing, as an override."""
    from pxr import Sdf

    prim = Sdf.CreatePrimInLayer(layer, prim_path)
    return layer.GetAttributeAtPath(prim.path.AppendProperty(name)) or Sdf.AttributeSpec(prim, name, kind)


def block_stale(layer: Any, source: UsdSource, *, has_velocities: bool) -> None:
    """Block what describes another motion in the original than the one in the layer: velocities, skeletons."""
    from pxr import Sdf

    for prim in source.prims:
        if prim.unbound is not None:
            unbind(layer, prim.path)
        for name in prim.stale:
            if name != "velocities" or not has_velocities:
                attribute_spec(layer, prim.path, name, Sdf.ValueTypeNames.Vector3fArray).default = Sdf.ValueBlock()


def unbind(layer: Any, path: str) -> None:
    """Take the binding by UsdSkel away from a prim, its own or that of a prim above: its points are where they are.

    A relation to no skeleton at all takes it out of any binding; the attributes are blocked for tools that look at
    these alone, and since OpenUSD drops such a relation when it flattens a stage.
    """
    from pxr import Sdf

    types = Sdf.ValueTypeNames
    attributes = (
        ("primvars:skel:jointIndices", types.IntArray),
        ("primvars:skel:jointWeights", types.FloatArray),
        ("skel:blendShapes", types.TokenArray),
    )
    for name, kind in attributes:
        attribute_spec(layer, path, name, kind).default = Sdf.ValueBlock()
    prim = Sdf.CreatePrimInLayer(layer, path)
    prim.SetInfo("apiSchemas", Sdf.TokenListOp.Create(prependedItems=["SkelBindingAPI"]))
    for name in ("skel:skeleton", "skel:blendShapeTargets"):
        relation = layer.GetRelationshipAtPath(prim.path.AppendProperty(name))
        relation = relation or Sdf.RelationshipSpec(prim, name, custom=False)
        relation.targetPathList.ClearEditsAndMakeExplicit()


def checked_frame(
    source: UsdSource, points: ArrayLike, velocities: ArrayLike | None
) -> tuple[FloatArray, FloatArray | None]:
    """Return one frame's points and velocities as finite float32 (P, 3) arrays, or raise ValueError."""
    shape = (source.point_count, 3)
    moved = as_floats("points", points, shape)
    return moved, None if velocities is None else as_floats("velocities", velocities, shape)


def check_rising(times: list[float], time: float) -> None:
    """Raise ValueError unless a time code is finite and after all others."""
    if not float("-inf") < time < float("inf"):
        raise ValueError(f"time: must be a finite time code, got {time}")
    if times and time <= times[-1]:
        raise ValueError(f"time: must be after the frame before, {times[-1]:g}, got {time:g}")

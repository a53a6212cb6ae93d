"""Writes a groom as a new USD file that Houdini, Blender, Maya and Unreal can use as it is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import FloatArray, IntArray, as_floats, require_choice, require_positive
from mane.groom.groom import Groom
from mane.io.units import checked_usd_up, metres_per_unit
from mane.io.usd.author import author_attributes, set_primvar, vt_array
from mane.io.usd.curve_basis import CurveLayout, CurveShape
from mane.io.usd.diagnostics import writing
from mane.io.usd.files import check_target, export_layer, extent_of
from mane.io.usd.layer import Frame, author_frame, author_frames
from mane.io.usd.prim_writer import PrimFrame, authored_velocities
from mane.io.usd.source import CurvesPrim, UsdSource, rows_of
from mane.io.usd.stage import StageTiming, StageUnits, apply_matrix

ROOT = "/Groom"
STRANDS = f"{ROOT}/Strands"
GUIDES = f"{ROOT}/Guides"
# Both pass through every vertex: hair on screen is where it is in mane. `pinned` draws cubic curves to their ends.
CURVES = {
    "linear": CurveShape("linear", "bezier", "nonperiodic"),
    "catmullRom": CurveShape("cubic", "catmullRom", "pinned"),
}


@dataclass(frozen=True)
class UsdOptions:
    """How a new USD file is written.

    Attributes:
        unit: unit of length of the file: a name ("cm") or metres per unit.
        up: up axis of the file, "y" or "z".
        curve: "linear", or "catmullRom" for smooth curves through the same points.
        time_codes_per_second: what one second is in time codes.
    """

    unit: str | float = "m"
    up: str = "y"
    curve: str = "linear"
    time_codes_per_second: float = 24.0

    def __post_init__(self) -> None:
        metres_per_unit(self.unit)
        checked_usd_up(self.up)
        require_choice("curve", self.curve, tuple(CURVES))
        require_positive("time_codes_per_second", self.time_codes_per_second)

    @property
    def units(self) -> StageUnits:
        """Unit of length and up axis as a stage has them."""
        return StageUnits(metres_per_unit(self.unit), checked_usd_up(self.up))


def write_usd_groom(
    path: str | os.PathLike[str],
    groom: Groom,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    curve: str = "linear",
    guides: Groom | None = None,
    rest: ArrayLike | None = None,
    velocities: ArrayLike | None = None,
    frames: Iterable[Frame] | None = None,
    time_codes_per_second: float = 24.0,
) -> None:
    """Write a groom as a new USD file with everything that is known of it.

    Strands become `/Groom/Strands`. Guide strands (marked by the attribute `is_guide`, or given as `guides`) become
    `/Groom/Guides`, with purpose "guide" so that renderers skip them. The root has Unreal's GroomAPI, attributes go
    under Unreal's `groom_*` names, painted maps under their own, and `primvars:rest` is always there.

    Args:
        path: .usda, .usdc or .usd to write.
        groom: in metres with Y up. Strand attributes `closest_guides` (S, K) and `guide_weights` (S, K), K at most 3,
            refer to guides by id; strands without an attribute `id` are numbered.
        unit: unit of length of the file, e.g. "cm" or metres per unit; metres by default.
        up: up axis of the file, "y" by default or "z".
        curve: "linear", or "catmullRom" for smooth curves through the same points.
        guides: guide strands that are not among the groom's own. Without ids they are numbered from 0, and strands
            without ids after them. Their points follow those of the groom in the arrays below.
        rest: rest shape [m], shape (P, 3); by default the points as they are.
        velocities: of the points [m/s], shape (P, 3).
        frames: (time code, points) or (time code, points, velocities) for each frame of an animation, times rising.
            All are in memory until the file is written; `UsdSequenceWriter` is for more than that.
        time_codes_per_second: what one second is in time codes.

    The file appears whole or not at all. OSError or ValueError in one line where it cannot be written.
    """
    target = check_target(path)
    options = UsdOptions(unit or "m", up or "y", curve, time_codes_per_second)
    plan = GroomPlan(target, groom, guides, options)
    with writing(path):
        layer = plan.layer(rest, velocities)
        if frames is not None:
            author_frames(layer, plan.source, frames)
    export_layer(layer, target)


@dataclass(frozen=True, eq=False)
class _Piece:
    """Strands that share a prim: their groom, their ids, and where they stand among all strands."""

    groom: Groom
    ids: NDArray[np.int32]
    prim: CurvesPrim


class GroomPlan:
    """Which prims a new file will have, and a `UsdSource` of them as if the file had been read."""

    def __init__(self, target: Path, groom: Groom, guides: Groom | None, options: UsdOptions) -> None:
        self.options = options
        parts = _parts(groom, guides)
        self.offsets: IntArray = groom.offsets
        if guides is not None:
            self.offsets = np.concatenate([groom.offsets, groom.offsets[-1] + guides.offsets[1:]])
        self.pieces = [_Piece(part, ids, _new_prim(name, part, strands, options)) for name, part, ids, strands in parts]
        rate = options.time_codes_per_second
        self.source = UsdSource(
            target,
            tuple(piece.prim for piece in self.pieces),
            self.offsets,
            options.units,
            StageTiming(rate, rate),
            ROOT.strip("/"),
        )

    def layer(self, rest: ArrayLike | None, velocities: ArrayLike | None) -> Any:
        """Return the unsaved layer of the file, without animation."""
        from pxr import Sdf, Usd, UsdGeom

        shape = (int(self.offsets[-1]), 3)
        resting = None if rest is None else as_floats("rest", rest, shape)
        speeds = None if velocities is None else as_floats("velocities", velocities, shape)
        layer = Sdf.Layer.CreateAnonymous("groom.usda")  # a stage's own handle of its layer would not keep it alive
        stage = Usd.Stage.Open(layer)
        UsdGeom.SetStageMetersPerUnit(stage, self.options.units.metres_per_unit)
        UsdGeom.SetStageUpAxis(stage, self.options.units.up.upper())
        stage.SetTimeCodesPerSecond(self.options.time_codes_per_second)
        stage.SetFramesPerSecond(self.options.time_codes_per_second)
        root = UsdGeom.Xform.Define(stage, ROOT).GetPrim()
        stage.SetDefaultPrim(root)
        Usd.ModelAPI(root).SetKind("component")
        root.AddAppliedSchema("GroomAPI")  # Unreal makes one groom of everything below
        for piece in self.pieces:
            self._author(stage, piece, resting, speeds)
        return layer

    def _author(self, stage: Any, piece: _Piece, rest: FloatArray | None, velocities: FloatArray | None) -> None:
        from pxr import Sdf, UsdGeom

        prim = piece.prim
        shape = prim.layout.shape
        curves = UsdGeom.BasisCurves.Define(stage, prim.path)
        curves.CreateTypeAttr(shape.type)
        curves.CreateWrapAttr(shape.wrap)
        if shape.type == "cubic":
            curves.CreateBasisAttr(shape.basis)
        curves.CreateCurveVertexCountsAttr(vt_array(prim.layout.counts.astype(np.int32)))
        if prim.path == GUIDES:
            curves.CreatePurposeAttr("guide")
        rows = rows_of(self.offsets, prim.strands)
        own = None
        if velocities is not None:
            own = authored_velocities(prim, velocities[rows], prim.world_from_local, piece.groom.points, None)
        frame = PrimFrame(prim.path, prim.points, own, extent_of(prim.points, prim.widest))
        author_frame(stage.GetRootLayer(), frame, None)
        resting = prim.points if rest is None else _in_stage(rest[rows], self.options.units)
        set_primvar(curves.GetPrim(), "rest", resting, "vertex", Sdf.ValueTypeNames.Point3fArray)
        author_attributes(curves.GetPrim(), piece.groom, piece.ids, self.options.units.metres_per_unit)


def _parts(groom: Groom, guides: Groom | None) -> list[tuple[str, Groom, NDArray[np.int32], IntArray]]:
    """Divide strands over prims: path, groom, ids, and place among all strands."""
    everyone = np.arange(groom.strand_count)
    marked = groom.strand.get("is_guide", np.zeros(groom.strand_count, np.bool_))
    if guides is not None:
        if marked.any():
            raise ValueError(
                f"guides: must be None, since {int(marked.sum())} strands of the groom are marked as guides already"
            )
        guides = guides.with_strand(is_guide=np.ones(guides.strand_count, np.bool_))
        guide_ids = _ids(guides, 0)
        ids = _ids(groom, int(guide_ids.max()) + 1)
        plain = groom.with_strand(is_guide=marked)
        places = groom.strand_count + np.arange(guides.strand_count)
        return [(STRANDS, plain, ids, everyone), (GUIDES, guides, guide_ids, places)]
    ids = _ids(groom, 0)
    if marked.all() or not marked.any():
        return [(GUIDES if marked.all() else STRANDS, groom, ids, everyone)]
    return [
        (path, groom.take(chosen), ids[chosen], everyone[chosen])
        for path, chosen in ((STRANDS, ~marked), (GUIDES, marked))
    ]


def _ids(groom: Groom, first: int) -> NDArray[np.int32]:
    given = groom.strand.get("id")
    return np.arange(first, first + groom.strand_count, dtype=np.int32) if given is None else given


def _new_prim(path: str, groom: Groom, strands: IntArray, options: UsdOptions) -> CurvesPrim:
    width = groom.strand.get("width", groom.vertex.get("width", np.zeros(1)))
    return CurvesPrim(
        path=path,
        layout=CurveLayout(CURVES[options.curve], groom.vertex_counts),
        points=_in_stage(groom.points, options.units),
        curves=np.arange(groom.strand_count),
        strands=strands,
        world_from_local=options.units.world_from_stage,
        widest=float(width.max()) / options.units.metres_per_unit,
    )


def _in_stage(points: FloatArray, units: StageUnits) -> FloatArray:
    """Points of the world in the units and axes of a stage; themselves where nothing changes."""
    if units.is_world:
        return points
    return apply_matrix(units.stage_from_world, points).astype(np.float32)

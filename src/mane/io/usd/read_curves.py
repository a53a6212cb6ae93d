"""Reads the BasisCurves of a USD file as one groom, in metres with Y up."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.io.notices import FileNotice, RepairNotice
from mane.io.raw import Problem, RawGroom
from mane.io.usd.attributes import PLAIN_NAMES, Attributes, sort_out
from mane.io.usd.curve_basis import CurveLayout, CurveShape
from mane.io.usd.diagnostics import reading
from mane.io.usd.find_prims import find_curves
from mane.io.usd.joining import join_attributes, number_groups
from mane.io.usd.primvars import read_primvars
from mane.io.usd.rig_checks import check_bound, check_rig
from mane.io.usd.skinning import Skinning, find_skinning
from mane.io.usd.source import CurvesPrim, UsdGroom, UsdSource, rows_of
from mane.io.usd.stage import (
    Matrix,
    StageUnits,
    apply_matrix,
    default_time,
    matrix_rate,
    mean_scale,
    open_stage,
    stage_timing,
    stage_units,
    time_code,
    transform_samples,
    world_from_local,
)
from mane.io.usd.values import first_change, integers_of, vectors_of


def read_usd_groom(
    path: str | os.PathLike[str],
    *,
    time: float | None = None,
    prims: Sequence[str] | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    repair: bool = True,
    trusted: bool = False,
) -> UsdGroom:
    """Read every BasisCurves prim of a USD file as one groom, in metres with Y up, root first.

    Args:
        path: .usd, .usda, .usdc or .usdz.
        time: time code to read; by default the start of the file's range, else its first sample.
        prims: paths of prims to read, with everything below them; all by default.
        unit: unit of length to use instead of what the file states, e.g. "cm" or metres per unit.
        up: up axis to use instead of what the file states: x, y, z, -x, -y or -z.
        repair: leave out damaged curves with a `RepairNotice` (a warning) that says how many, and mend their
            attributes; False refuses the file and names the first of them.
        trusted: skip the trial run in a child process that keeps a damaged binary file from crashing this one.

    Curves that are bound by UsdSkel are read in the pose in which they were bound or, at a `time` that is asked for, as
    the skeleton poses them then. Points of cubic B-spline and bezier curves become points on the hair (see
    `curve_basis`), one for each vertex. Colours, painted maps and other vertex data are those of the control vertices.
    Where units or up axis are not authored, OpenUSD's own fallbacks are taken with an `AssumptionNotice`. ValueError or
    OSError, in one line that names file, fault and remedy, where the file cannot be read: also for periodic curves,
    instances and rigs that cannot be posed. A file whose curve counts change over time is read at the one time, with a
    notice unless that was asked for, and `changes_at` says when it has other strands.
    """
    stage = open_stage(path, trusted=trusted)
    with reading(path):
        return _Reader(path, stage, unit, up).read(time, prims, repair)


@dataclass(frozen=True, eq=False)
class _Part:
    """One prim as read: all its curves, those in use included in `prim.curves`."""

    prim: CurvesPrim
    attributes: Attributes
    velocities: FloatArray | None


class _Reader:
    """One reading of one file."""

    def __init__(self, path: str | os.PathLike[str], stage: Any, unit: str | float | None, up: str | None) -> None:
        self.path = path
        self.stage = stage
        self.units: StageUnits = stage_units(path, stage, unit, up)
        self.timing = stage_timing(stage)
        self.skinning = find_skinning(path, stage)
        self.problems = [_problem(text) for text in (*self.units.remarks, *self.units.assumed)]
        self.changes_at: float | None = None

    def fail(self, text: str) -> ValueError:
        """Return the error to raise: one line, whatever words of the file are in it."""
        return ValueError(f"{os.fspath(self.path)}: {' '.join(text.split())}")

    def note(self, text: str) -> None:
        """Keep a problem for the report and warn of it, in one line."""
        text = " ".join(text.split())
        self.problems.append(_problem(text))
        warnings.warn(f"{os.fspath(self.path)}: {text}", FileNotice, stacklevel=5)

    def read(self, time: float | None, chosen: Sequence[str] | None, repair: bool) -> UsdGroom:
        """Return the groom of the chosen prims at a time."""
        for error in self.stage.GetCompositionErrors():
            self.note(str(error))
        found = find_curves(self.path, self.stage, chosen)
        times = self._sample_times(found)
        is_posed = time is not None
        if time is None:
            time = default_time(self.timing, times)
        at = time_code(time)
        parts = [self._read_prim(curves, at, is_posed=is_posed) for curves in self._not_empty(found, at)]
        if self.changes_at is not None and not is_posed:
            self.note(
                f"curveVertexCounts change at time {self.changes_at:g}: the strands are those of "
                f"{'the default time' if time is None else f'time {time:g}'} alone"
            )
        return self._joined(parts, time, times, repair)

    def _sample_times(self, found: Iterable[Any]) -> list[float]:
        samples: set[float] = set()
        for curves in found:
            samples.update(curves.GetPointsAttr().GetTimeSamples())
            samples.update(transform_samples(curves.GetPrim()))
            binding = self.skinning.get(str(curves.GetPath()))
            if binding is not None:
                samples.update(binding.times)
                samples.update(transform_samples(binding.skeleton))
        return sorted(samples)

    def _not_empty(self, found: Sequence[Any], at: Any) -> list[Any]:
        full = []
        for curves in found:
            if len(integers_of(curves.GetCurveVertexCountsAttr(), at)):
                full.append(curves)
            elif len(found) > 1:
                self.note(f"{curves.GetPath()} has no curves; left out")
        if not full:
            raise self.fail("none of its BasisCurves has a curve; export it again with its curves")
        return full

    # -- one prim ----------------------------------------------------------------------------------------------------

    def _read_prim(self, curves: Any, at: Any, *, is_posed: bool) -> _Part:
        prim = curves.GetPrim()
        layout = self._layout(curves, at)
        points = vectors_of(curves.GetPointsAttr(), at)
        if len(points) != layout.vertex_count:
            raise self.fail(
                f"{prim.GetPath()}: points has {len(points)} values, curveVertexCounts add up to "
                f"{layout.vertex_count}; the file is damaged, export it again"
            )
        matrix, unbound = self._matrix(prim, at), None
        primvars = read_primvars(prim, at, PLAIN_NAMES)
        attributes = sort_out(layout, primvars, lambda text: self.note(f"{prim.GetPath()}: {text}"))
        binding = self.skinning.get(str(prim.GetPath()))
        if binding is None:
            check_bound(self.path, prim)
        else:
            check_rig(binding, len(points), np.ones(len(points), np.bool_), at)
            unbound = matrix
            points, matrix = self._bound_points(binding, points, attributes, at, is_posed=is_posed)
        widest = _scale_width(attributes, mean_scale(matrix))
        if str(curves.ComputePurpose()) == "guide":
            attributes.strand["is_guide"] = np.ones(len(layout.counts), np.bool_)
        part = CurvesPrim(
            path=str(prim.GetPath()),
            layout=layout,
            points=points,
            curves=np.flatnonzero(layout.shape.is_usable(layout.counts)),
            strands=np.zeros(0, np.int64),
            world_from_local=matrix,
            is_moving=len(transform_samples(prim)) > 1,
            widest=widest,
            stale=tuple(name for name in ("velocities", "accelerations") if prim.GetAttribute(name).HasAuthoredValue()),
            unbound=unbound,
        )
        velocities = self._prim_velocities(curves, at, layout) if binding is None else None
        return _Part(part, attributes, velocities)

    def _matrix(self, prim: Any, at: Any) -> Matrix:
        """4x4 matrix from a prim to the world, which can be undone."""
        matrix = world_from_local(prim, self.units, at)
        if not abs(np.linalg.det(matrix[:3, :3])) > 0:
            raise self.fail(
                f"{prim.GetPath()} is flattened by its transform, which cannot be undone; give it a scale above zero"
            )
        return matrix

    def _bound_points(
        self, binding: Skinning, points: FloatArray, attributes: Attributes, at: Any, *, is_posed: bool
    ) -> tuple[FloatArray, Matrix]:
        """Points (N, 3) of bound curves and the matrix from them to the world, with their rest shape in place.

        As they were bound, or, with `is_posed`, as the skeleton has them at a `Usd.TimeCode`.
        """
        if not binding.has_joints:  # blend shapes leave points in the space of the prim
            space, bind = binding.target.GetPrim(), np.eye(4)
        else:
            space, bind = binding.skeleton, binding.bind_matrix(at)
        matrix = self._matrix(space, at)
        if not is_posed:
            return points, matrix @ bind
        rest = points if attributes.rest is None else attributes.rest
        attributes.rest = apply_matrix(bind, rest).astype(np.float32)
        return binding.deformed(points, at)[0], matrix

    def _prim_velocities(self, curves: Any, at: Any, layout: CurveLayout) -> FloatArray | None:
        velocities = vectors_of(curves.GetVelocitiesAttr(), at)
        if len(velocities) == layout.vertex_count:
            return velocities
        if len(velocities):
            found = f"velocities has {len(velocities)} values for {layout.vertex_count} vertices"
            self.note(f"{curves.GetPath()}: {found}; left out")
        return None

    def _layout(self, curves: Any, at: Any) -> CurveLayout:
        path = curves.GetPath()
        shape = CurveShape(
            *(str(get().Get(at)) for get in (curves.GetTypeAttr, curves.GetBasisAttr, curves.GetWrapAttr))
        )
        if shape.type not in ("linear", "cubic") or shape.basis not in ("bezier", "bspline", "catmullRom"):
            raise self.fail(f"{path} is {shape.type} {shape.basis}; mane reads linear, bezier, bspline and catmullRom")
        if shape.wrap not in ("nonperiodic", "pinned"):
            raise self.fail(
                f"{path} has {shape.wrap} curves, and hair has ends; export it with wrap nonperiodic or pinned"
            )
        attribute = curves.GetCurveVertexCountsAttr()
        counts = integers_of(attribute, at)
        change = first_change(attribute, counts)
        if change is not None:
            self.changes_at = change if self.changes_at is None else min(change, self.changes_at)
        if (counts < 0).any():
            first = int((counts < 0).argmax())
            raise self.fail(f"{path}: curve {first} has {counts[first]} vertices; the file is damaged, export it again")
        return CurveLayout(shape, counts)

    # -- all prims ---------------------------------------------------------------------------------------------------

    def _joined(self, parts: list[_Part], time: float | None, times: list[float], repair: bool) -> UsdGroom:
        self._tell_unusable(parts, repair)
        parts = [part for part in parts if len(part.prim.curves)]
        if not parts:
            raise self.fail("has no curve with enough vertices for its basis; export the hair again")
        kept = [_only(part.attributes, part.prim) for part in parts]
        counts = [part.prim.counts for part in parts]
        names = number_groups(kept, self.note)
        strand, vertex = join_attributes(kept, counts, self.note)
        raw = RawGroom(
            _stacked([part.prim.in_world(part.prim.points) for part in parts]),
            np.concatenate([[0], np.cumsum(np.concatenate(counts))]),
            strand,
            vertex,
            names,
        )
        rest = self._rest(parts, raw.points)
        velocities = self._velocities(parts, time, raw.points)
        groom, survivors = self._checked(raw, repair)
        if survivors is not None:
            rows = rows_of(raw.offsets, survivors)
            rest, velocities = (None if array is None else array[rows] for array in (rest, velocities))
        prims = _numbered([part.prim for part in parts], survivors)
        default = self.stage.GetDefaultPrim()  # may be named and yet not there
        source = UsdSource(
            Path(os.path.abspath(self.path)),
            prims,
            groom.offsets,
            self.units,
            self.timing,
            str(default.GetName()) if default else None,
            time,
        )
        return UsdGroom(
            groom, source, rest, velocities, np.asarray(times, np.float64), tuple(self.problems), self.changes_at
        )

    def _tell_unusable(self, parts: Iterable[_Part], repair: bool) -> None:
        for part in parts:
            layout = part.prim.layout
            missing = np.flatnonzero(~layout.shape.is_usable(layout.counts))
            if len(missing) == 0:
                continue
            first = int(missing[0])
            text = (
                f"{part.prim.path}: {len(missing)} of {len(layout.counts)} curves have a number of vertices that "
                f"{layout.shape.label} curves cannot have (first: curve {first} with {layout.counts[first]}, "
                f"needed are {layout.shape.needed})"
            )
            if not repair:
                raise self.fail(f"{text}; read it with repair=True to leave them out")
            self.problems.append(Problem("too few points", len(missing), first, text, True))
            warnings.warn(f"{os.fspath(self.path)}: {text}; left out", RepairNotice, stacklevel=5)

    def _checked(self, raw: RawGroom, repair: bool) -> tuple[Groom, IntArray | None]:
        """Return a sound groom and, where strands had to go, those that stayed."""
        if not raw.fatal_problems:
            try:
                return Groom(raw.points, raw.offsets, raw.strand, raw.vertex, raw.group_names), None
            except ValueError as error:
                raise self.fail(str(error)) from None
        self.problems.extend(raw.fatal_problems)
        if not repair:
            raise self.fail(f"{raw.fatal_problems[0].text}; read it with repair=True to leave them out")
        from mane.groom.repair import repair_arrays as mend

        # Strands are kept whole or not at all: what goes back to the file must have all its vertices.
        try:
            groom, report = mend(
                raw.points,
                raw.offsets,
                strand=raw.strand,
                vertex=raw.vertex,
                group_names=raw.group_names,
                min_finite=1.0,
                merge_distance=-1.0,
                merge_share=0.0,
            )
        except ValueError as error:
            raise self.fail(str(error)) from None
        text = "; ".join(report.summary().splitlines())
        warnings.warn(f"{os.fspath(self.path)}: {text}", RepairNotice, stacklevel=6)
        return groom, report.kept

    def _rest(self, parts: list[_Part], points: FloatArray) -> FloatArray | None:
        """Rest shape of all strands; prims without one rest as they are."""
        if all(part.attributes.rest is None for part in parts):
            return None
        result = points.copy()
        for part, rows in zip(parts, _ranges(parts), strict=True):
            if part.attributes.rest is None:
                self.note(f"{part.prim.path} has no rest shape while others do; its points are taken")
            else:
                result[rows] = part.prim.in_world(part.attributes.rest)
        return result

    def _velocities(self, parts: list[_Part], time: float | None, points: FloatArray) -> FloatArray | None:
        """Velocities of all strands, the motion of their prims included; zero where a prim has none of its own."""
        if all(part.velocities is None for part in parts):
            return None
        result = np.zeros_like(points)
        for part, rows in zip(parts, _ranges(parts), strict=True):
            prim = part.prim
            if part.velocities is not None:
                result[rows] = prim.in_world(part.velocities, is_vector=True)
            if prim.is_moving and time is not None:
                rate = matrix_rate(self.stage.GetPrimAtPath(prim.path), self.units, time)
                inverse = np.linalg.inv(prim.world_from_local)
                result[rows] += apply_matrix(rate @ inverse, points[rows]).astype(np.float32)
        return result


def _problem(text: str) -> Problem:
    return Problem("file", 1, None, text, False)


def _scale_width(attributes: Attributes, scale: float) -> float:
    """Turn widths into metres, in place; return the largest as authored."""
    for scope in (attributes.strand, attributes.vertex):
        if "width" in scope:
            width = scope["width"]
            finite = width[np.isfinite(width)]
            widest = float(finite.max()) if finite.size else 0.0
            if scale != 1.0:
                with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is told as such
                    scope["width"] = (width.astype(np.float64) * scale).astype(np.float32)
            return widest
    return 0.0


def _only(attributes: Attributes, prim: CurvesPrim) -> Attributes:
    """Attributes of the curves in use."""
    if len(prim.curves) == len(prim.layout.counts):
        return attributes
    rows = prim.rows(0, len(prim.curves))
    return Attributes(
        {name: values[prim.curves] for name, values in attributes.strand.items()},
        {name: values[rows] for name, values in attributes.vertex.items()},
        None if attributes.group_name is None else attributes.group_name[prim.curves],
    )


def _ranges(parts: Iterable[_Part]) -> list[slice]:
    """Rows of the joined points that each part owns."""
    ends = np.cumsum([int(part.prim.offsets[-1]) for part in parts]).tolist()
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _stacked(arrays: list[FloatArray]) -> FloatArray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _numbered(prims: Sequence[CurvesPrim], survivors: IntArray | None) -> tuple[CurvesPrim, ...]:
    """Tell each prim which strands of the groom its curves became; curves whose strand is gone are no longer in use."""
    result = []
    start = 0
    for prim in prims:
        strands = np.arange(start, start + len(prim.curves))
        start += len(prim.curves)
        curves = prim.curves
        if survivors is not None:
            stayed = np.isin(strands, survivors)
            curves, strands = curves[stayed], np.searchsorted(survivors, strands[stayed])
        if len(curves):
            result.append(replace(prim, curves=curves, strands=strands))
    return tuple(result)

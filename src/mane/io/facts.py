"""What is in a file, as plain numbers and words: what `mane info` prints."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.io import alembic, ply
from mane.io.buffers import read_buffer
from mane.io.formats import MESH_SUFFIXES, READABLE, STRAND_FORMATS, USD_SUFFIXES, Frame, frame_of, suffix_of
from mane.io.grooms import naming, read_raw
from mane.io.notices import FileNotice, RepairNotice
from mane.io.raw import Problem, RawGroom
from mane.io.units import metres_per_unit, to_metres, unit_name

if TYPE_CHECKING:
    from mane.io.usd import UsdBody, UsdGroom

Facts = dict[str, Any]

ALEMBIC_RATE = 24.0  # frames per second at which Blender opens a file that counts seconds

# A head of hair that is longer or shorter than this is more likely in other units than it is a doll or a giant.
BELIEVABLE_LENGTH = (1e-3, 5.0)


def file_facts(
    path: str | os.PathLike[str],
    *,
    unit: str | None = None,
    up: str | None = None,
    points_per_strand: int | None = None,
) -> Facts:
    """Describe a file of strands or a mesh: counts, sizes [m], units, groups, attributes, times, problems.

    Keyword arguments as in `read_groom`. Strands are counted as the file has them, damaged ones included.
    """
    suffix = suffix_of(path, (*READABLE, *(s for s in MESH_SUFFIXES if s not in READABLE)), "read")
    if suffix in USD_SUFFIXES:
        return {"file": os.fspath(path), **_usd_facts(path, unit, up)}
    if suffix not in STRAND_FORMATS or (suffix == ".ply" and _is_mesh_ply(path)):
        return {"file": os.fspath(path), "format": f"{suffix} mesh", **_mesh_file_facts(path, suffix, unit, up)}
    try:
        raw = read_raw(path, points_per_strand=points_per_strand)
    except ValueError as error:
        if suffix != alembic.SUFFIX or not alembic.has_no_curves(error):
            raise
        return {"file": os.fspath(path), **_alembic_mesh_facts(path, unit, up)}
    with naming(path):
        frame = frame_of(path, raw, unit, up)
        facts = raw_facts(raw, frame)
    return {"file": os.fspath(path), "format": STRAND_FORMATS[suffix].title, **facts}


def _is_mesh_ply(path: str | os.PathLike[str]) -> bool:
    with naming(path):
        return ply.parse_header(read_buffer(path)).count("face") > 0


def raw_facts(raw: RawGroom, frame: Frame) -> Facts:
    """Describe strands; lengths and bounds are in metres and leave out what is not finite."""
    size = metres_per_unit(frame.unit)
    lengths = raw.lengths[np.isfinite(raw.lengths)] * size
    points = to_metres(raw.points, frame.unit, frame.up)
    counts = raw.vertex_counts
    facts: Facts = {
        "kind": "groom",
        "strands": raw.strand_count,
        "points": raw.point_count,
        "points_per_strand": [int(counts.min()), int(counts.max())],
        "length_min": _number(lengths.min() if len(lengths) else None),
        "length_mean": _number(lengths.mean() if len(lengths) else None),
        "length_max": _number(lengths.max() if len(lengths) else None),
        "bounds": _bounds(points[np.isfinite(points).all(axis=1)]),
        "unit": frame.unit,
        "up": frame.up,
        "units_source": frame.source,
        "units_assumed": frame.is_assumed,
        "groups": _groups(raw.strand.get("group_id"), raw.group_names),
        "attributes": [
            _attribute(scope, name, values * size if name == "width" else values)
            for scope, attributes in (("strand", raw.strand), ("vertex", raw.vertex))
            for name, values in attributes.items()
        ],
        "time": None,
        "problems": [asdict(problem) for problem in raw.problems],
    }
    facts["hint"] = _hint(facts)
    return facts


def _mesh_file_facts(path: str | os.PathLike[str], suffix: str, unit: str | None, up: str | None) -> Facts:
    from mane.io.meshes import read_mesh

    with warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always", RepairNotice)
        mesh = read_mesh(path, unit=unit, up=up)
        facts = mesh_facts(mesh)
    is_gltf = suffix in (".gltf", ".glb")
    source = "as told" if unit and up else "as glTF always is" if is_gltf else "assumed, the format states neither"
    facts |= {"unit": unit or "m", "up": up or "y", "units_source": source, "units_assumed": source.startswith("ass")}
    facts["problems"] = [asdict(_noticed(notice.message)) for notice in notices] + _unread(path, mesh)
    return facts


def _unread(path: str | os.PathLike[str], mesh: Mesh) -> list[Facts]:
    from mane.io.meshes import unread_uvs

    lost = unread_uvs(path, mesh)
    return [] if lost is None else [asdict(Problem("uv", 1, None, lost, False))]


def _usd_facts(path: str | os.PathLike[str], unit: str | None, up: str | None) -> Facts:
    """Describe the hair of a USD file, or its meshes where there is none."""
    from mane.io.usd import read_usd_body, read_usd_groom
    from mane.io.usd.find_prims import prims_below
    from mane.io.usd.stage import open_stage

    stage = open_stage(path)
    has_curves = any(prim.GetTypeName() == "BasisCurves" for prim in prims_below(path, stage, None))
    has_meshes = any(prim.GetTypeName() == "Mesh" for prim in prims_below(path, stage, None))
    with warnings.catch_warnings(record=True) as notices:  # they are among the problems, or become some
        warnings.simplefilter("always", FileNotice)
        if has_meshes and not has_curves:
            body = read_usd_body(path, unit=unit, up=up, trusted=True)
            units, timing, times = body.units, body.timing, body.times
            mesh = body.mesh()
            facts = {"format": "USD mesh", **mesh_facts(mesh), "meshes": _mesh_list(body)}
            facts["problems"] = [asdict(_noticed(notice.message)) for notice in notices] + _unread(path, mesh)
        else:
            read = read_usd_groom(path, unit=unit, up=up, trusted=True)
            units, timing, times = read.source.units, read.source.timing, read.times
            facts = {"format": "USD curves", **_usd_groom_facts(read), "meshes": []}
            if has_meshes:
                facts |= _meshes_beside(path, unit, up, facts["problems"])
    told = "as told" if unit and up else "as authored"
    facts |= {
        "unit": unit_name(units.metres_per_unit),
        "up": units.up,
        "units_source": "; ".join(units.assumed) or told,
        "units_assumed": bool(units.assumed),
        "time": _time_facts(times, timing.time_codes_per_second),
    }
    return facts


def _alembic_mesh_facts(path: str | os.PathLike[str], unit: str | None, up: str | None) -> Facts:
    """Describe the meshes of an Alembic file, as Blender has them."""
    from mane.io.usd import read_usd_body

    folder, stage = alembic.meshes_as_usd(path, rate=ALEMBIC_RATE)
    body = read_usd_body(stage, trusted=True)
    mesh = body.mesh()
    facts = mesh_facts(mesh.with_points(to_metres(mesh.points, unit or "m", up or "y")))
    source = "as told" if unit and up else "assumed, the format states neither"
    facts |= {"format": "Alembic mesh", "meshes": _mesh_list(body), "unit": unit or "m", "up": up or "y"}
    facts |= {"units_source": source, "units_assumed": not (unit and up), "time": _time_facts(body.times, ALEMBIC_RATE)}
    del folder  # the stage was needed till here
    return facts


def _time_facts(times: NDArray[np.float64], rate: float) -> Facts | None:
    if not len(times):
        return None
    return {"start": float(times[0]), "end": float(times[-1]), "samples": len(times), "fps": rate}


def _meshes_beside(path: str | os.PathLike[str], unit: str | None, up: str | None, problems: list[Facts]) -> Facts:
    """Meshes of a file that is told for its hair; what is wrong with them is one of its problems."""
    from mane.io.usd import read_usd_body

    try:
        return {"meshes": _mesh_list(read_usd_body(path, unit=unit, up=up, trusted=True))}
    except ValueError as error:
        return {"problems": [*problems, asdict(_noticed(str(error)))]}


def _mesh_list(body: UsdBody) -> list[Facts]:
    """The meshes of a USD file: where each is, how large, and what moves it."""
    return [
        {"path": part.path, "faces": int((body.face_part == number).sum()), "moved_by": part.moved_by}
        for number, part in enumerate(body.parts)
    ]


def _usd_groom_facts(read: UsdGroom) -> Facts:
    groom, prims = read.groom, read.source.prims
    raw = RawGroom(groom.points, groom.offsets, groom.strand, groom.vertex, groom.group_names, remarks=read.problems)
    facts = raw_facts(raw, Frame("m", "y", "", bool(read.source.units.assumed)))
    facts["strands"] = sum(len(prim.layout.counts) for prim in prims)
    facts["points"] = sum(prim.layout.vertex_count for prim in prims)
    facts["prims"] = [prim.path for prim in prims]
    facts["has_rest"], facts["has_velocities"] = read.rest is not None, read.velocities is not None
    return facts


def _noticed(message: Warning | str) -> Problem:
    return Problem("file", 1, None, str(message), False)


def mesh_facts(mesh: Mesh) -> Facts:
    """Describe a mesh."""
    return {
        "kind": "mesh",
        "vertices": mesh.vertex_count,
        "faces": mesh.face_count,
        "bounds": [[_number(value) for value in corner] for corner in mesh.bounds],
        "area": _number(mesh.face_areas.sum(dtype=np.float64)),
        "volume": _number(mesh.volume) if mesh.is_closed else None,
        "is_closed": mesh.is_closed,
        "has_uv": mesh.uv is not None,
        "problems": [],
    }


def _hint(facts: Facts) -> str | None:
    """Say that the units look wrong, where nobody stated them and the strands are too long or too short for hair."""
    longest, (low, high) = facts["length_max"], BELIEVABLE_LENGTH
    if not facts["units_assumed"] or longest is None or low <= longest <= high:
        return None
    return f"the longest strand would be {longest:.3g} m; tell the unit of the file by --from-unit"


def _bounds(points: FloatArray) -> list[list[float | None]] | None:
    if len(points) == 0:
        return None
    return [[_number(value) for value in corner] for corner in (points.min(axis=0), points.max(axis=0))]


def _groups(ids: NDArray[Any] | None, names: Mapping[int, str]) -> list[Facts]:
    counted: dict[int, int] = {}
    if ids is not None:
        found, strands = np.unique(ids, return_counts=True)
        counted = dict(zip(found.tolist(), strands.tolist(), strict=True))
    every = sorted({*counted, *names})
    return [{"id": group, "name": names.get(group), "strands": counted.get(group, 0)} for group in every]


def _attribute(scope: str, name: str, values: NDArray[Any]) -> Facts:
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (None, None)
    return {
        "name": name,
        "scope": scope,
        "type": values.dtype.name,
        "channels": int(np.prod(values.shape[1:], dtype=np.int64)),
        "min": _number(low),
        "max": _number(high),
    }


def _number(value: Any) -> float | None:
    """Return a plain number that JSON can hold."""
    return None if value is None or not np.isfinite(value) else float(value)

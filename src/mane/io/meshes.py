"""Reading and writing meshes: OBJ by ourselves, PLY, STL and glTF through trimesh, USD through the USD reader."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh, degenerate_faces
from mane.geometry.checks import FloatArray
from mane.io import obj
from mane.io.atomic import atomic_write, check_writable
from mane.io.buffers import Buffer, offsets_of, read_buffer
from mane.io.formats import MESH_SUFFIXES, USD_SUFFIXES, suffix_of
from mane.io.grooms import naming
from mane.io.notices import RepairNotice, told_by
from mane.io.npy import as_float32
from mane.io.sniff import suffix_of_contents
from mane.io.units import from_metres, to_metres

WRITABLE = (".obj", ".ply")
MESH_READABLE = (*MESH_SUFFIXES, *USD_SUFFIXES)


def read_mesh(
    path: str | os.PathLike[str],
    *,
    unit: str | None = None,
    up: str | None = None,
    weld: bool = True,
    time: float | None = None,
) -> Mesh:
    """Read a triangle mesh in metres with Y up; all parts of the file become one, polygons become triangles.

    Args:
        path: .obj, .ply, .stl, .gltf, .glb or USD.
        unit: unit of length of the file; metres by default, since only USD and glTF (always metres) tell.
        up: up axis of the file: x, y, z, -x, -y or -z; "y" by default.
        weld: make one vertex of those in exactly the same place, so that a surface that exporters split along texture
            seams is closed again. UVs are kept where each vertex then has only one; False keeps them all.
        time: frame of an animated USD file to read; its first by default.

    Triangles without area are left out with a `RepairNotice` (a warning). ValueError or OSError, in one line that names
    file, fault and remedy, where the file cannot be read.
    """
    suffix = suffix_of(path, MESH_READABLE, "read as a mesh")
    if suffix in USD_SUFFIXES:
        from mane.io.usd import read_usd_mesh

        return read_usd_mesh(path, time=time, unit=unit, up=up)
    if time is not None:
        raise ValueError(f"{os.fspath(path)}: holds one moment only; {told_by('time')} is for animated USD files")
    buffer = _read_checked(path, suffix)
    with naming(path):
        points, faces, uv = parse(buffer, suffix, folder=Path(path).parent, weld=weld)
        return _sound_mesh(path, to_metres(points, unit or "m", up or "y"), faces, uv)


def unread_uvs(path: str | os.PathLike[str], mesh: Mesh) -> str | None:
    """Say why a mesh that was read from a file lacks the texture coordinates that the file has; None where it does not.

    A solid needs none; who converts or describes a file should know.
    """
    if mesh.uv is not None:
        return None
    suffix = Path(path).suffix.lower()
    if suffix in USD_SUFFIXES:
        from mane.io.usd.sampled_times import has_primvar_of

        return "its UVs are not read, those of USD meshes never are" if has_primvar_of(path, "texCoord") else None
    marks = {".obj": b"\nvt ", ".gltf": b"TEXCOORD_0", ".glb": b"TEXCOORD_0"}
    found = suffix in marks and marks[suffix] in bytes(read_buffer(path))
    return "its UVs are not read, since they differ along seams that are closed" if found else None


def read_file_vertices(path: str | os.PathLike[str], *, unit: str | None = None, up: str | None = None) -> Mesh:
    """Read a mesh with the vertices that its file (not USD) has, one for one and in its order; see `read_mesh`.

    UVs are kept where each vertex has only one.
    """
    suffix = suffix_of(path, MESH_SUFFIXES, "read as a mesh")
    buffer = _read_checked(path, suffix)
    with naming(path):
        points, faces, uv = _parts_of(buffer, suffix, Path(path).parent, keep_all=False)
        own_uv = None if uv is None else as_float32(uv)
        return _sound_mesh(path, to_metres(as_float32(points), unit or "m", up or "y"), faces, own_uv)


def _read_checked(path: str | os.PathLike[str], suffix: str) -> Buffer:
    """Return the bytes of a file whose contents are what its suffix says."""
    buffer = read_buffer(path)
    with naming(path):
        true = suffix_of_contents(buffer[:256])
        if true in MESH_READABLE and true != suffix:
            raise ValueError(f"is a {true} file by its contents, not {suffix}; rename it")
    return buffer


def parse(
    buffer: Buffer, suffix: str, *, folder: Path, weld: bool = True
) -> tuple[FloatArray, NDArray[np.int64], FloatArray | None]:
    """Return points (N, 3), faces (T, 3) and UVs (N, 2) or None from the bytes of a mesh file (not USD).

    `folder` holds the files that a .gltf may refer to. Indices are sound, points may be NaN, triangles flat.
    """
    points, faces, uv = _parts_of(buffer, suffix, folder, keep_all=not weld)
    if weld:
        points, faces, uv = _welded(points, faces, uv)
    return as_float32(points), faces, None if uv is None else as_float32(uv)


def _parts_of(buffer: Buffer, suffix: str, folder: Path, *, keep_all: bool) -> tuple[Any, Any, Any]:
    """Points, faces and UVs as the file has them; `keep_all` doubles vertices of an .obj that have several UVs."""
    if suffix == ".obj":
        return _obj_corners(*obj.parse(buffer), keep_all=keep_all)
    return _through_trimesh(bytes(buffer), suffix, folder)


def _obj_corners(points: Any, faces: Any, uvs: Any, uv_faces: Any, *, keep_all: bool) -> tuple[Any, Any, Any]:
    """Give every vertex one UV: by doubling vertices along seams (`keep_all`), or where there is no seam."""
    if uvs is None:
        return points, faces, None
    if keep_all:
        pairs, corner = np.unique(
            np.stack([faces.reshape(-1), uv_faces.reshape(-1)], axis=1), axis=0, return_inverse=True
        )
        return points[pairs[:, 0]], corner.reshape(-1, 3), uvs[pairs[:, 1]]
    uv = np.zeros((len(points), 2))
    uv[faces.reshape(-1)] = uvs[uv_faces.reshape(-1)]
    return points, faces, uv if (uv[faces] == uvs[uv_faces]).all() else None


def _welded(points: Any, faces: Any, uv: Any) -> tuple[Any, Any, Any]:
    """Make one of vertices in exactly the same place, in the order in which the places first appear."""
    _, first, place = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(points):
        return points, faces, uv
    rank = np.empty(len(first), np.int64)
    order = np.argsort(first)
    rank[order] = np.arange(len(first))
    joined, kept = rank[place.reshape(-1)], first[order]
    if uv is not None:
        uv = uv[kept] if (uv[kept][joined] == uv).all() else None
    return points[kept], joined[faces], uv


def _sound_mesh(path: str | os.PathLike[str], points: Any, faces: Any, uv: Any) -> Mesh:
    bad = degenerate_faces(points, faces) if np.isfinite(points).all() else np.zeros(len(faces), np.bool_)
    if bad.all():
        raise ValueError("has no triangle with an area; check the export")
    if bad.any():
        text = f"{int(bad.sum()):,} of {len(faces):,} triangles have no area and were left out"
        warnings.warn(f"{os.fspath(path)}: {text} (first: triangle {int(bad.argmax())})", RepairNotice, stacklevel=4)
    return Mesh(points, faces[~bad], uv)


class _Neighbours(Mapping[str, bytes]):
    """The files beside a glTF file, by plain name: what it may refer to. No other folder, no network."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, name: str) -> bytes:
        if Path(name).name != name or name in (".", ".."):
            raise ValueError(f"refers to {name[:80]!r}, which is not a file beside it; pack everything into one .glb")
        return read_buffer(self.folder / name).tobytes()

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


# Formats that hold nothing else. Where trimesh finds a library that guesses encodings, it reads a damaged one as text
# without a face.
OF_FACES_ALONE = (".stl",)


def _through_trimesh(content: bytes, suffix: str, folder: Path) -> tuple[Any, Any, Any]:
    """Read with trimesh and join all parts; whatever goes wrong inside it is an unreadable file."""
    import trimesh

    try:
        with warnings.catch_warnings():
            # NumPy only warns of text that is no number.
            warnings.simplefilter("error")
            scene = trimesh.load_scene(
                io.BytesIO(content),
                file_type=suffix[1:],
                resolver=_Neighbours(folder),
                process=False,
                skip_materials=True,
            )
            placed = [_placed(scene, node) for node in scene.graph.nodes_geometry]
    except Exception as error:  # a parser of foreign bytes may raise anything
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ValueError(f"cannot be read as {suffix} ({reason}); it is damaged or of another format") from None
    parts = [part for part in placed if part is not None]
    if not parts and suffix in OF_FACES_ALONE:
        raise ValueError(f"cannot be read as {suffix} (no triangles); it is damaged or of another format")
    if not parts:
        raise ValueError("the file has no faces; export the mesh, not points or curves")
    starts = offsets_of(np.asarray([len(points) for points, _, _ in parts]))
    faces = np.concatenate([part[1] + start for part, start in zip(parts, starts[:-1], strict=True)])
    uvs = [part[2] for part in parts]
    whole_uv = None if any(uv is None for uv in uvs) else np.concatenate(uvs)
    return np.concatenate([part[0] for part in parts]), faces, whole_uv


def _placed(scene: Any, node: str) -> tuple[NDArray[Any], NDArray[np.int64], Any] | None:
    """Return points, faces and UVs of one part where the scene puts it; None for what is no mesh."""
    import trimesh

    matrix, name = scene.graph[node]
    part = scene.geometry[name]
    if not isinstance(part, trimesh.Trimesh) or len(part.faces) == 0:
        return None
    points, faces = np.asarray(part.vertices), np.asarray(part.faces, np.int64)
    if not np.array_equal(matrix, np.eye(4)):
        points = points @ matrix[:3, :3].T + matrix[:3, 3]
        if np.linalg.det(matrix[:3, :3]) < 0:
            faces = faces[:, ::-1]
    if faces.min() < 0 or faces.max() >= len(points):
        raise ValueError(f"faces must name the {len(points):,} vertices, got numbers {faces.min()} to {faces.max()}")
    uv = getattr(part.visual, "uv", None)
    return points, faces, None if uv is None or len(uv) != len(points) else np.asarray(uv)


def write_mesh(path: str | os.PathLike[str], mesh: Mesh, *, unit: str | None = None, up: str | None = None) -> None:
    """Write a mesh of metres with Y up to .obj or .ply (binary); the file appears whole or not at all.

    `unit` and `up` are those of the file, metres and "y" by default; neither format can state them. OSError, in one
    line that names file, fault and remedy, where the file cannot be written.

    Args:
        path: of the file, by its suffix .obj or .ply.
        mesh: in metres, Y up.
        unit: of the file, metres by default.
        up: axis of the file, "y" by default.
    """
    suffix = suffix_of(path, WRITABLE, "write as a mesh")
    check_writable(path)
    with naming(path):
        converted = mesh.with_points(from_metres(mesh.points, unit or "m", up or "y"))
        with atomic_write(path) as file:
            (obj.write if suffix == ".obj" else _write_ply)(file, converted)


def _write_ply(file: BinaryIO, mesh: Mesh) -> None:
    columns = [(name, "<f4") for name in ("x", "y", "z", *(("s", "t") if mesh.uv is not None else ()))]
    vertices = np.empty(mesh.vertex_count, columns)
    for axis, name in enumerate(("x", "y", "z")):
        vertices[name] = mesh.points[:, axis]
    if mesh.uv is not None:
        vertices["s"], vertices["t"] = mesh.uv.T
    faces = np.empty(mesh.face_count, [("count", "u1"), ("corners", "<i4", 3)])
    faces["count"], faces["corners"] = 3, mesh.faces
    properties = "".join(f"property float {name}\n" for name, _ in columns)
    header = (
        f"ply\nformat binary_little_endian 1.0\ncomment mane\nelement vertex {mesh.vertex_count}\n{properties}"
        f"element face {mesh.face_count}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    file.write(header.encode("ascii"))
    file.write(vertices.tobytes())
    file.write(faces.tobytes())

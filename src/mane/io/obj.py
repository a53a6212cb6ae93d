"""Wavefront OBJ meshes: vertices in the order of the file, polygons cut into fans, materials ignored."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.io.buffers import Buffer

FloatRows = NDArray[np.float64]
Corners = NDArray[np.int64]

MAX_INDEX = 0x7FFFFFFF


def parse(buffer: Buffer) -> tuple[FloatRows, Corners, FloatRows | None, Corners | None]:
    """Return points (N, 3), faces (T, 3) and, where every corner has one, UVs (M, 2) with their corners (T, 3)."""
    text = bytes(buffer).decode("utf-8", "replace").replace("\\\n", " ").replace("\\\r\n", " ")
    rows: dict[str, list[list[str]]] = {"v": [], "vt": []}
    triangles: list[list[list[int]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if words[0] in rows:
            rows[words[0]].append(words[1:])
        elif words[0] == "f":
            corners = [_indices(word, rows, number) for word in words[1:]]
            if len(corners) < 3:
                raise ValueError(f"line {number}: a face must have three corners or more, got {len(corners)}")
            triangles += [[corners[0], corners[i], corners[i + 1]] for i in range(1, len(corners) - 1)]
    if not triangles:
        raise ValueError("the file has no faces; export the mesh, not points or curves")
    places = np.asarray(triangles, np.int64).reshape(-1, 3, 2)
    points, uvs = _numbers("v", rows["v"], 3), _numbers("vt", rows["vt"], 2)
    faces, uv_faces = places[:, :, 0], places[:, :, 1]
    _check_range("vertices", faces, len(points))
    if uvs is None or (uv_faces < 0).any():
        return points, faces, None, None
    _check_range("texture coordinates", uv_faces, len(uvs))
    return points, faces, uvs, uv_faces


def _indices(word: str, rows: dict[str, list[Any]], number: int) -> list[int]:
    """Return vertex and UV of a corner such as `3/7/2`, counted from 0; -1 for a UV that is not there."""
    parts = word.split("/")
    try:
        found = [int(part) if part else 0 for part in (*parts, "")[:2]]
    except ValueError:
        raise ValueError(
            f"line {number}: a corner must be whole numbers such as 3 or 3/7/2, got {word[:40]!r}"
        ) from None
    if found[0] == 0 or max(map(abs, found)) > MAX_INDEX:
        raise ValueError(f"line {number}: a corner must name a vertex, counted from 1, got {word[:40]!r}")
    # Numbers below zero count back from the latest line.
    return [
        index - 1 if index >= 0 else max(index + len(rows[kind]), -1)
        for index, kind in zip(found, ("v", "vt"), strict=True)
    ]


def _numbers(kind: str, rows: list[list[str]], width: int) -> Any:
    if not rows:
        return None if kind == "vt" else np.zeros((0, width))
    if kind == "vt":
        rows = [(row + ["0"])[:width] for row in rows]
    try:
        return np.asarray([[float(word) for word in row[:width]] for row in rows], np.float64).reshape(len(rows), width)
    except ValueError:
        raise ValueError(f"every {kind} line must have {width} numbers; the file is damaged") from None


def _check_range(what: str, corners: Corners, count: int) -> None:
    outside = (corners < 0) | (corners >= count)
    if outside.any():
        raise ValueError(
            f"faces must name the {count:,} {what} of the file, got number {int(corners[outside][0]) + 1} "
            f"in triangle {int(outside.any(axis=1).argmax())}"
        )


def write(file: BinaryIO, mesh: Mesh) -> None:
    """Write points, texture coordinates and triangles; nine digits bring every float32 back to the last bit."""
    file.write(b"# mane\n")
    _write_lines(file, "v %.9g %.9g %.9g\n", mesh.points)
    corners = mesh.faces.astype(np.int64) + 1
    if mesh.uv is None:
        _write_lines(file, "f %d %d %d\n", corners)
    else:
        _write_lines(file, "vt %.9g %.9g\n", mesh.uv)
        _write_lines(file, "f %d/%d %d/%d %d/%d\n", np.repeat(corners, 2, axis=1))


def _write_lines(file: BinaryIO, line: str, rows: NDArray[Any]) -> None:
    file.write(((line * len(rows)) % tuple(rows.reshape(-1).tolist())).encode("ascii"))

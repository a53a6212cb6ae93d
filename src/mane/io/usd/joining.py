"""Attributes of several prims as attributes of one groom: the same names, one scope each, one numbering of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import IntArray
from mane.io.usd.attributes import Arrays, Attributes, Note


def join_attributes(parts: Sequence[Attributes], counts: Sequence[IntArray], note: Note) -> tuple[Arrays, Arrays]:
    """Return the strand and vertex attributes of all parts, in order; `counts` has the vertices per strand of each.

    A name that is per vertex in one part is per vertex in all. Where a part lacks one, it gets zeros (the median of the
    others for widths, which must not be zero). Names whose elements differ in shape are left out; `note` is told.
    """
    strand: Arrays = {}
    vertex: Arrays = {}
    for name in dict.fromkeys(name for part in parts for name in (*part.strand, *part.vertex)):
        given = [
            array for part in parts for array in (part.strand.get(name, part.vertex.get(name)),) if array is not None
        ]
        if len({array.shape[1:] for array in given}) > 1:
            note(f"{name} has elements of different shape on different prims; left out")
            continue
        is_vertex = any(name in part.vertex for part in parts)
        pieces = [_piece(part, name, count, is_vertex, given) for part, count in zip(parts, counts, strict=True)]
        if name == "width" and len(given) < len(parts):
            note("width is missing on some prims, which take the median width of the others")
        (vertex if is_vertex else strand)[name] = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    return strand, vertex


def _piece(
    part: Attributes, name: str, counts: IntArray, is_vertex: bool, given: Sequence[NDArray[Any]]
) -> NDArray[Any]:
    if name in part.vertex:
        return part.vertex[name]
    if name in part.strand:
        values = part.strand[name]
    else:
        dtype = np.result_type(*given)
        fill = np.median(np.concatenate(given)) if name == "width" else 0
        values = np.full((len(counts), *given[0].shape[1:]), fill, dtype)
    return np.repeat(values, counts, axis=0) if is_vertex else values


def number_groups(parts: Sequence[Attributes], note: Note) -> dict[int, str]:
    """Give every named group an id of its own, in place, and return the name of each id.

    Ids of the file are kept, unless two groups of different name share one; `note` is told of those.
    """
    names: dict[int, str] = {}
    taken = {int(group) for part in parts for group in np.unique(part.strand.get("group_id", np.zeros(0, np.int32)))}
    for part in parts:
        if part.group_name is None:
            continue
        labels, label_of_strand = np.unique(part.group_name, return_inverse=True)
        given = part.strand.get("group_id")
        wanted = np.full(len(label_of_strand), -1) if given is None else given
        pairs, pair_of_strand = np.unique(np.stack([wanted, label_of_strand], axis=1), axis=0, return_inverse=True)
        ids = []
        for group, label in pairs.tolist():
            ids.append(_group_id(None if given is None else group, str(labels[label]), names, taken))
            if given is not None and ids[-1] != group:
                note(f"group {group} has two names; {str(labels[label])!r} becomes group {ids[-1]}")
        part.strand["group_id"] = np.asarray(ids, np.int32)[pair_of_strand.reshape(-1)]
    return names


def _group_id(wanted: int | None, name: str, names: dict[int, str], taken: set[int]) -> int:
    if wanted is not None and names.setdefault(wanted, name) == name:
        return wanted
    for group, known in names.items():
        if known == name:
            return group
    group = max(taken, default=-1) + 1
    taken.add(group)
    names[group] = name
    return group

"""The guides of a scene: chosen from the groom, marked in it, or from a file of their own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from mane.geometry.checks import IntArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.register import register_guides
from mane.groom.select import select_guides
from mane.io.formats import USD_SUFFIXES
from mane.io.grooms import naming, read_groom
from mane.io.notices import FileNotice
from mane.scene.config import ALL, MARKED, Scene
from mane.scene.config_body import Paths
from mane.scene.hair import Hair
from mane.scene.learned import kind_of

DEFAULT_GUIDES = 128


def make_guides(scene: Scene, hair: Hair) -> Guides:
    """Return the strands that [guides] describes: by the first key of `BY_KEY` that it has, or selected by a method."""
    given = (make for key, make in BY_KEY.items() if getattr(scene.guides, key) is not None)
    return next(given, _selected)(scene, hair)


def _selected(scene: Scene, hair: Hair) -> Guides:
    """Guides that a method selects from the groom."""
    table, groom = scene.guides, hair.groom
    count = None
    if table.method != MARKED:
        count = min(DEFAULT_GUIDES, groom.strand_count) if table.count is None else int(table.count)
        if count > groom.strand_count:
            raise ValueError(f"count: must be at most {groom.strand_count} (= number of strands), got {count}")
    return select_guides(groom, count, method=table.method, vertices=table.vertices, seed=scene.seed)


def _counted(scene: Scene, hair: Hair) -> Guides:
    """As many as asked for, or every strand of the groom."""
    table, groom = scene.guides, hair.groom
    if table.count != ALL:
        return _selected(scene, hair)
    return Guides.chosen(groom, np.arange(groom.strand_count), table.vertices)


def _at_prims(scene: Scene, hair: Hair) -> Guides:
    """Strands of the groom's own USD file at or below prims."""
    assert scene.guides.prim is not None
    return Guides.chosen(hair.groom, _strands_of(hair, _paths(scene.guides.prim)), scene.guides.vertices)


def _with_attribute(scene: Scene, hair: Hair) -> Guides:
    """Strands of the groom that an attribute marks."""
    assert scene.guides.attribute is not None
    return Guides.chosen(hair.groom, _marked(hair.groom, scene.guides.attribute), scene.guides.vertices)


def _of_model(scene: Scene, hair: Hair) -> Guides:
    """Guides that a model of this groom was learned with."""
    assert scene.guides.model is not None
    path = scene.path(scene.guides.model)
    return kind_of(path).guides(path, hair.groom, scene.guides)


def _from_file(scene: Scene, hair: Hair) -> Guides:
    """Guides of a file, laid onto the groom where its frame is another one."""
    table = scene.guides
    assert table.file is not None
    path = scene.path(table.file)
    if path.suffix.lower() in USD_SUFFIXES:
        from mane.io.usd import read_usd_groom

        prims = None if table.prim is None else _paths(table.prim)
        strands = read_usd_groom(path, prims=prims, unit=table.unit, up=table.up).groom
    elif table.prim is not None:
        raise ValueError(f"prim: is for paths in USD, and {path} has none")
    else:
        strands = read_groom(path, unit=table.unit, up=table.up)
    if table.register:
        with naming(path):
            found = register_guides(strands, hair.source)
        if not found.is_identity:
            text = f"{path}: guides were {found} to lie on the groom; unit and up in [guides] tell their frame, and"
            warnings.warn(f"{text} register = false takes them as they are", FileNotice, stacklevel=2)
        strands = found.guides
    return Guides.from_groom(strands, table.vertices)


def _strands_of(hair: Hair, paths: Sequence[str]) -> IntArray:
    """Strands of the groom's own USD file at or below prims."""
    if hair.usd is None:
        raise ValueError("prim: is for paths in USD; give file as well, or a groom from a USD file")
    known = {prim.path: prim.strands for prim in hair.usd.prims}
    chosen = []
    for path in paths:
        below = [strands for name, strands in known.items() if name == path or name.startswith(f"{path.rstrip('/')}/")]
        if not below:
            raise ValueError(f"prim: {hair.usd.path} has no curves at or below {path!r}; it has {', '.join(known)}")
        chosen += below
    return np.unique(np.concatenate(chosen))


def _marked(groom: Groom, attribute: str) -> IntArray:
    """Strands whose attribute is not zero."""
    if attribute not in groom.strand:
        known = ", ".join(groom.strand) or "none"
        raise ValueError(f"attribute: the groom has no attribute {attribute!r} per strand; it has {known}")
    values = groom.strand[attribute]
    chosen = np.flatnonzero(values.reshape(len(values), -1).any(axis=1))
    if len(chosen) == 0:
        raise ValueError(f"attribute: must mark strands, {attribute!r} is zero for all of them")
    return chosen


def _paths(paths: Paths) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else paths


# Keys of [guides] that tell which strands are guides, and who makes them of it; the first that is given counts.
BY_KEY: dict[str, Callable[[Scene, Hair], Guides]] = {
    "model": _of_model,
    "file": _from_file,
    "prim": _at_prims,
    "attribute": _with_attribute,
    "count": _counted,
}

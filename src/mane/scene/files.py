"""Which keys of a scene name files, and which files a scene reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mane.scene.config import Scene
from mane.scene.config_body import is_mesh_file
from mane.scene.parts import is_motion_file


def _always(value: str) -> bool:
    return bool(value)


# Keys that may name a file, with a number as `*`, and whether a value does.
FILE_KEYS: dict[str, Callable[[str], bool]] = {
    "groom.file": _always,
    "guides.file": _always,
    "guides.model": _always,
    "guides.slider_file": _always,
    "body.mesh": is_mesh_file,
    "body.animation": _always,
    "hands.file": _always,
    "head.motion": is_motion_file,
    "solids.*.mesh": _always,
    "solids.*.animation": _always,
    "solids.*.motion": is_motion_file,
}
# Tables whose settings are a method's own: any of them may be a file, and counts as one where it is there.
METHOD_TABLES = ("source", "strand", "skin", "interactions", "passes")
NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


def names_file(key: str, value: Any) -> bool:
    """Whether a value of a dotted key of a scene, such as "body.mesh" or "solids.0.mesh", is the name of a file."""
    is_file = FILE_KEYS.get(NUMBER.sub("*", key))
    return is_file is not None and isinstance(value, str) and is_file(value)


def scene_files(scene: Scene) -> dict[str, Path]:
    """Return the files that a scene reads, there or not, by the key that names each; paths from the working folder."""
    found: dict[str, Path] = {}
    for key, value in _leaves(scene.to_dict()):
        if not isinstance(value, str):
            continue
        is_known = names_file(key, value)
        if is_known or (key.partition(".")[0] in METHOD_TABLES and "." in value and scene.path(value).is_file()):
            found[key] = scene.path(value)
    return found


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Values of nested tables and lists by dotted key."""
    items: Any = ()
    if isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    else:
        yield key, value
    for name, item in items:
        yield from _leaves(item, f"{key}.{name}" if key else str(name))

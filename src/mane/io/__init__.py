"""File formats at the edge: USD, strand files and meshes, read without trust and written whole or not at all."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# public name -> the module that owns it, loaded when the name is first used
PUBLIC = {
    "read_groom": "mane.io.grooms",
    "read_raw": "mane.io.grooms",
    "write_groom": "mane.io.grooms",
    "RawGroom": "mane.io.raw",
    "Problem": "mane.io.raw",
    "read_mesh": "mane.io.meshes",
    "write_mesh": "mane.io.meshes",
    "read_body": "mane.io.bodies",
    "atomic_write": "mane.io.atomic",
    "atomic_path": "mane.io.atomic",
    "FileNotice": "mane.io.notices",
    "RepairNotice": "mane.io.notices",
    "AssumptionNotice": "mane.io.notices",
    "LossNotice": "mane.io.notices",
}

__all__ = ["PUBLIC", *PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'mane.io' has no attribute {name!r}")
    value = getattr(import_module(PUBLIC[name]), name)
    globals()[name] = value
    return value

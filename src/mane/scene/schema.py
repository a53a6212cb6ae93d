"""The keys of a scene file as a JSON schema: editors complete, explain and check with it (`mane new --schema`)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mane.scene.keys import EMPTY, Key, SceneTable, Variant, material_keys, scene_tables
from mane.scene.values import VARYING, VaryingValue

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_FILE = "mane.schema.json"
Schema = dict[str, Any]


def scene_schema() -> Schema:
    """Return the schema of scene files, as plain values."""
    tables = scene_tables()
    properties = _properties(tables[0].keys)
    for table in tables[1:]:
        one = _table_schema(table)
        inside = properties
        *outer, name = table.name.split(".")
        for part in outer:
            inside = inside[part]["properties"]
        inside[name] = {"type": "array", "items": one} if table.is_list else one
    return {
        "$schema": DIALECT,
        "title": "A scene of mane",
        "type": "object",
        "properties": properties,
        "required": ["groom"],
        "additionalProperties": False,
    }


def schema_text() -> str:
    """Return the schema as JSON."""
    return json.dumps(scene_schema(), indent=1, allow_nan=False) + "\n"


def _table_schema(table: SceneTable) -> Schema:
    properties = _properties(table.keys)
    for selector in {variant.selector for variant in table.variants}:
        names = [variant.name for variant in table.variants if variant.selector == selector]
        # A method from outside the package is no mistake, so that names are offered and not enforced.
        properties[selector]["examples"] = names
    if table.name == "strand":
        properties["properties"] = {**properties["properties"], "properties": _properties(material_keys())}
    found: Schema = {"type": "object", "description": table.summary, "properties": properties}
    required = [key.name for key in table.keys if key.default is EMPTY]
    if required:
        found["required"] = required
    if not table.variants:
        return {**found, "additionalProperties": False}
    defaults = {key.name: key.default for key in table.keys}
    inside = "settings" if table.name == "strand" else ""
    conditions = [_where_named(variant, defaults, inside) for variant in table.variants if variant.keys]
    return {**found, "allOf": conditions} if conditions else found


def _where_named(variant: Variant, defaults: Mapping[str, Any], inside: str) -> Schema:
    """Settings of what a table names, where it names it: by its key, or by leaving out a key that has it as default."""
    condition: Schema = {"properties": {variant.selector: {"const": variant.name}}}
    if defaults[variant.selector] != variant.name:
        condition["required"] = [variant.selector]
    properties = _properties(variant.keys)
    needed = [key.name for key in variant.keys if key.default is EMPTY]
    settings: Schema = {"properties": properties, **({"required": needed} if needed else {})}
    return {"if": condition, "then": {"properties": {inside: {"type": "object", **settings}}} if inside else settings}


def _properties(keys: Iterable[Key]) -> dict[str, Schema]:
    return {key.name: _key_schema(key) for key in keys}


def _key_schema(key: Key) -> Schema:
    found = msgspec.json.schema(VaryingValue if key.hint is VARYING else key.hint)
    found["description"] = key.meaning
    if key.unit:
        found["x-unit"] = key.unit
    if key.limit is not None:
        found |= key.limit.schema()
    is_number = isinstance(key.default, float)
    if key.default not in (None, EMPTY) and not (is_number and not math.isfinite(key.default)):
        found["default"] = list(key.default) if isinstance(key.default, tuple) else key.default
    return found

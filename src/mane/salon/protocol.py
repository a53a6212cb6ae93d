"""The messages between server and page: what there is, how it is written as bytes, and what is refused.

This table is the protocol. The page's types and codecs are generated from it (`typescript.py`), and so is its page in
the documentation, so that the three cannot differ.

A message is `m`, the version, its number and a zero, each a byte, then its fields in order, all little-endian and
aligned to four bytes: numbers as they are, arrays as their length (u32) and their items, text as UTF-8 bytes likewise.
Arrays and text are padded with zeros to four bytes, so that a page can look at them in place.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MAGIC, VERSION = ord("m"), 1
HEADER = struct.Struct("<BBBB")
LENGTH = struct.Struct("<I")
SCALARS = {"u32": struct.Struct("<I"), "f32": struct.Struct("<f"), "f64": struct.Struct("<d")}
ARRAYS: dict[str, np.dtype[Any]] = {
    "u8[]": np.dtype("u1"),
    "u16[]": np.dtype("<u2"),
    "u32[]": np.dtype("<u4"),
    "f32[]": np.dtype("<f4"),
}
TEXT = "text"
ALIGNMENT = 4
UNITS = 65535  # that 16 bits count
LARGEST_FROM_PAGE = 4096  # bytes: everything that a page has to say is small
LONGEST_TEXT = 256  # bytes of a text from a page
FARTHEST = 100.0  # [m], [m/s]: no salon is larger, and nothing in it is faster


class ProtocolError(ValueError):
    """Bytes that are no message of this protocol."""


@dataclass(frozen=True)
class Field:
    """One value of a message.

    Attributes:
        name: of the value.
        kind: a key of `SCALARS` or `ARRAYS`, or "text".
        meaning: with unit and shape.
        size: number of items that an array must have; None for any.
    """

    name: str
    kind: str
    meaning: str
    size: int | None = None


@dataclass(frozen=True)
class Message:
    """A kind of message: its number, its name, what it is for, and its fields in order."""

    number: int
    name: str
    meaning: str
    fields: tuple[Field, ...]


POSITION = Field("position", "f32[]", "where its origin is [m], world", 3)
ROTATION = Field("rotation", "f32[]", "quaternion (x, y, z, w)", 4)
SEQUENCE = Field("sequence", "u32", "number of this event; the first frame that has seen it says so")
SIDE = Field("side", "u32", "0, or 1 for the right half of a split view")

FROM_PAGE = (
    Message(1, "hello", "first of all, within five seconds", (Field("token", TEXT, "from the address, or empty"),)),
    Message(
        2,
        "slide",
        "move a slider",
        (Field("name", TEXT, "of the slider"), Field("value", "f32", "within its range"), SEQUENCE),
    ),
    Message(
        3,
        "choose",
        "take another entry of a choice",
        (Field("name", TEXT, "of the choice"), Field("value", TEXT, "one of its entries"), SEQUENCE),
    ),
    Message(4, "command", "press a button", (Field("action", TEXT, "play, pause, step, reset, record or stop"),)),
    Message(
        5,
        "move",
        "hold a prop at a place",
        (Field("number", "u32", "of the solid"), POSITION, ROTATION, SEQUENCE),
    ),
    Message(6, "turn", "hold the head at a pose about the neck", (POSITION, ROTATION, SEQUENCE)),
    Message(
        7,
        "grab",
        "pull the lock at a point, until it is let go",
        (
            Field("is_held", "u32", "1 to pull, 0 to let go"),
            Field("point", "f32[]", "where the lock was taken [m], world", 3),
            Field("target", "f32[]", "where it is pulled to [m], world", 3),
            SEQUENCE,
        ),
    ),
    Message(
        8,
        "blow",
        "blow air from a point",
        (
            Field("origin", "f32[]", "where from [m], world", 3),
            Field("velocity", "f32[]", "at that point [m/s]; zeros to stop", 3),
            SEQUENCE,
        ),
    ),
    Message(
        10,
        "pour",
        "pour water from a point",
        (
            Field("origin", "f32[]", "where from [m], world", 3),
            Field("velocity", "f32[]", "at that point [m/s]; zeros to stop", 3),
            SEQUENCE,
        ),
    ),
    Message(
        9,
        "save",
        "write a file into the folder of the salon",
        (
            Field("kind", TEXT, "scene, usd, picture or movie"),
            Field("name", TEXT, "letters, digits, - and _"),
            Field("eye", "f32[]", "of the camera [m]", 3),
            Field("target", "f32[]", "that it looks at [m]", 3),
            Field("fov", "f32", "its vertical angle [degrees]"),
        ),
    ),
)
TO_PAGE = (
    Message(65, "state", "settings, props and what is going on", (Field("json", TEXT, "see `mane.salon.studio`"),)),
    Message(
        66,
        "hair",
        "all hairs at rest, in an order of which every beginning is an even sample",
        (
            Field("strands", "u32", "S"),
            Field("vertices", "u32", "V, of a hair"),
            Field("guides", "u32", "G"),
            Field("guide_vertices", "u32", "U, of a guide"),
            Field("width", "f32", "of a hair [m]"),
            Field("pivot", "f32[]", "that rest is seen from [m]", 3),
            Field("rest", "f32[]", "hairs at rest [m], (S, V, 3)"),
            Field("guide_rest", "f32[]", "guides at rest from the pivot [m], (G, U, 3)"),
        ),
    ),
    Message(
        67,
        "look",
        "colours of the hair and the tables of its fibre",
        (
            Field("colors", "u8[]", "square root of the light left after a fibre's diameter, 255 for all, (S, V, 3)"),
            Field("header", "f32[]", "settings of the lobes, `render/_kernels_shading.py`", 31),
            Field("lobes", "f32[]", "N_p over azimuth, cosine and pigment, (97, 24, 20, 4)"),
            Field("spread", "f32[]", "answer to light from the front and the rear half, (13, 24, 20, 2)"),
            Field("shares", "f32[]", "what a fibre sends on and back, (24, 20, 4)"),
            Field("balance", "f32[]", "of light and eye, over tan(theta / 2), (2, 65)"),
        ),
    ),
    Message(
        68,
        "solid",
        "a solid in its own frame",
        (
            Field("number", "u32", "of the solid"),
            Field("name", TEXT, "what it is"),
            Field("is_prop", "u32", "1 where it can be moved by hand"),
            Field("points", "f32[]", "[m], (P, 3)"),
            Field("faces", "u32[]", "triangles, (F, 3)"),
        ),
    ),
    Message(
        69,
        "linear",
        "how guides carry hairs by linear skinning (hsu2024 eq. 9)",
        (
            SIDE,
            Field("places", "u32", "K, guides of a hair"),
            Field("weights", "f32[]", "of a hair's guides, (S, K)"),
            Field("of_hair", "u32[]", "bundle of a hair, (S,)"),
            Field("guide", "u32[]", "guides of a bundle, (M, K)"),
            Field("parameter", "f32[]", "place on a guide that goes with a vertex, (M, K, V)"),
        ),
    ),
    Message(
        70,
        "adaptive",
        "guides that hairs may hang on (chai2017 eq. 5, 11)",
        (
            SIDE,
            Field("places", "u32", "M, eligible guides of a hair"),
            Field("fade", "f32", "time in which a jump fades [s]"),
            Field("rows", "u32[]", "row of each eligible guide, (S, M)"),
            Field("guide", "u32[]", "guide of a row, (R,)"),
            Field("parameter", "f32[]", "place on it that goes with a vertex, (R, V)"),
            Field("leans", "u32", "1 where hairs behind a solid lean to their guides, as far as a page can do that"),
            Field("between", "u32", "places of every segment that are asked for solids"),
            Field("recovery", "f32[]", "part that a leaning hair wins back per vertex, to its tip and its root", 2),
        ),
    ),
    Message(
        71,
        "sets",
        "the guides that each hair hangs on now",
        (SIDE, Field("masks", "u16[]", "bits over its eligible guides, (S,)")),
    ),
    Message(
        72,
        "frame",
        "guides and solids at one moment",
        (
            Field("number", "u32", "of the frame"),
            Field("sequence", "u32", "newest event that it has seen"),
            Field("answered", "f32", "from where the simulation took that event up to here [ms]"),
            Field("time", "f64", "[s]"),
            Field("head", "f32[]", "position [m] and quaternion of the head", 7),
            Field("points", "f32[]", "guides [m], world, (G, U, 3)"),
            Field("solids", "f32[]", "position [m] and quaternion of each solid, (N, 7)"),
        ),
    ),
    Message(
        73,
        "points",
        "hairs that a page cannot carry by itself",
        (
            SIDE,
            Field("number", "u32", "of the frame"),
            Field("strands", "u32", "how many, from the first on"),
            Field("low", "f32[]", "lowest corner of all points [m]", 3),
            Field("step", "f32", "what one unit is [m]"),
            Field("packed", "u16[]", "points above the corner, (strands, V, 3)"),
        ),
    ),
    Message(
        76,
        "field",
        "distances to a solid on a grid in its own frame, by which hair is kept out of it",
        (
            Field("number", "u32", "of the solid"),
            Field("low", "f32[]", "first node [m]", 3),
            Field("cell", "f32", "between nodes [m]"),
            Field("nodes", "u32[]", "along x, y and z", 3),
            Field("distance", "f32[]", "signed [m], negative inside, x fastest"),
        ),
    ),
    Message(
        77,
        "water",
        "the surface of water, as triangles, and its drops",
        (
            Field("low", "f32[]", "lowest corner of all points [m]", 3),
            Field("step", "f32", "what one unit is [m]"),
            Field("packed", "u16[]", "points above the corner, (P, 3)"),
            Field("faces", "u32[]", "triangles, (F, 3)"),
            Field("drops", "f32[]", "middle and radius of each drop [m], (D, 4)"),
        ),
    ),
    Message(
        78,
        "wetting",
        "whose wetness each hair takes, and what it clings to where it is wet",
        (
            Field("places", "u32", "K, guides of a hair"),
            Field("guide", "u32[]", "guides of a hair, (S, K)"),
            Field("shares", "f32[]", "of these, (S, K)"),
            Field("leader", "u32[]", "hair that it is drawn to, (S,)"),
            Field("strength", "f32", "how close soaked tips come to it, 0 to 1"),
            Field("start", "f32", "part of the length from which on they do, 0 to 1"),
        ),
    ),
    Message(
        79,
        "wet",
        "how wet guides are",
        (
            Field("held", "u8[]", "water, 255 for all that a guide can hold, (G, U)"),
            Field("level", "u8[]", "how far its hair clings, likewise"),
        ),
    ),
    Message(
        80,
        "shape",
        "a solid that is a union of shapes, exactly (`body/_kernels_shapes.py`)",
        (
            Field("number", "u32", "of the solid"),
            Field("kinds", "u32[]", "of each shape, (K,)"),
            Field("params", "f32[]", "of each shape, in the solid's own frame, (K, 16)"),
        ),
    ),
    Message(74, "metrics", "how the simulation is doing", (Field("json", TEXT, "numbers by name"),)),
    Message(
        75,
        "notice",
        "something that a person should read",
        (Field("number", "u32", "of the notice"), Field("is_error", "u32", "1 for an error"), Field("text", TEXT, "")),
    ),
)
_FROM_PAGE_BY_NUMBER = {message.number: message for message in FROM_PAGE}
_BY_NAME = {message.name: message for message in (*FROM_PAGE, *TO_PAGE)}


def encode(name: str, /, **values: Any) -> bytes:
    """Return a message as bytes; every field of it must be given."""
    message = _BY_NAME[name]
    missing = {field.name for field in message.fields} ^ values.keys()
    if missing:
        raise ProtocolError(f"{name}: must have exactly its fields, and {sorted(missing)[0]!r} is not given or not one")
    parts = [HEADER.pack(MAGIC, VERSION, message.number, 0)]
    for field in message.fields:
        parts.append(_encoded(field, values[field.name]))
    return b"".join(parts)


def _encoded(field: Field, value: Any) -> bytes:
    if field.kind in SCALARS:
        return SCALARS[field.kind].pack(value)
    if field.kind == TEXT:
        data = str(value).encode()
        count = len(data)
    else:
        array = np.ascontiguousarray(value, ARRAYS[field.kind])
        data, count = array.tobytes(), array.size
        if field.size is not None and count != field.size:
            raise ProtocolError(f"{field.name}: must have {field.size} items, got {count}")
    return LENGTH.pack(count) + data + bytes(-len(data) % ALIGNMENT)


def decode(data: bytes, known: Sequence[Message] = FROM_PAGE) -> tuple[str, dict[str, Any]]:
    """Return name and values of a message; ProtocolError says what is wrong with it.

    Arrays are read-only views of the bytes. Floats must be finite.
    """
    if len(data) < HEADER.size:
        raise ProtocolError(f"message: must have at least {HEADER.size} bytes, got {len(data)}")
    magic, version, number, zero = HEADER.unpack_from(data)
    if magic != MAGIC or zero != 0:
        raise ProtocolError("message: does not begin like one of this protocol")
    if version != VERSION:
        raise ProtocolError(f"message: must be of version {VERSION}, got {version}; load the page again")
    table = _FROM_PAGE_BY_NUMBER if known is FROM_PAGE else {message.number: message for message in known}
    if number not in table:
        raise ProtocolError(f"message: {number} is no known kind")
    message, values, offset = table[number], {}, HEADER.size
    for field in message.fields:
        values[field.name], offset = _decoded(field, data, offset)
    if offset != len(data):
        raise ProtocolError(f"{message.name}: must have {offset} bytes, got {len(data)}")
    return message.name, values


def _decoded(field: Field, data: bytes, offset: int) -> tuple[Any, int]:
    if field.kind in SCALARS:
        form = SCALARS[field.kind]
        _require_room(field, data, offset, form.size)
        (value,) = form.unpack_from(data, offset)
        if field.kind != "u32" and not np.isfinite(value):
            raise ProtocolError(f"{field.name}: must be finite, got {value}")
        return value, offset + form.size
    _require_room(field, data, offset, LENGTH.size)
    (count,) = LENGTH.unpack_from(data, offset)
    offset += LENGTH.size
    kind = ARRAYS.get(field.kind)
    size = count * (1 if kind is None else kind.itemsize)
    _require_room(field, data, offset, size + -size % ALIGNMENT)
    if field.size is not None and count != field.size:
        raise ProtocolError(f"{field.name}: must have {field.size} items, got {count}")
    after = offset + size + -size % ALIGNMENT
    if any(data[offset + size : after]):
        raise ProtocolError(f"{field.name}: must be padded with zeros")
    if kind is None:
        return _text(field, data[offset : offset + size]), after
    array = np.frombuffer(data, kind, count, offset)
    if kind.kind == "f" and not np.isfinite(array).all():
        raise ProtocolError(f"{field.name}: must be finite")
    return array, after


def _text(field: Field, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtocolError(f"{field.name}: must be UTF-8") from None


def _require_room(field: Field, data: bytes, offset: int, size: int) -> None:
    if offset + size > len(data):
        raise ProtocolError(f"{field.name}: is cut off, {offset + size:,} bytes are needed and {len(data):,} are there")


def read_from_page(data: bytes) -> tuple[str, dict[str, Any]]:
    """Decode a message of a page and check that its values can be meant; ProtocolError says what cannot."""
    if len(data) > LARGEST_FROM_PAGE:
        raise ProtocolError(f"message: must have at most {LARGEST_FROM_PAGE:,} bytes, got {len(data):,}")
    name, values = decode(data)
    for key, value in values.items():
        if isinstance(value, str) and len(value.encode()) > LONGEST_TEXT:
            raise ProtocolError(f"{name}.{key}: must have at most {LONGEST_TEXT} bytes")
        if isinstance(value, np.ndarray) and (np.abs(value) > FARTHEST).any():
            raise ProtocolError(f"{name}.{key}: must lie within {FARTHEST:g}")
    if "rotation" in values and not 0.5 < float(np.linalg.norm(values["rotation"])) < 2.0:
        raise ProtocolError(f"{name}.rotation: must be a unit quaternion")
    return name, values


def described() -> str:
    """Return the messages as tables in Markdown, for the documentation."""
    lines: list[str] = []
    for title, messages in (("From page to server", FROM_PAGE), ("From server to page", TO_PAGE)):
        lines += [f"### {title}", ""]
        for message in messages:
            lines += [f"**{message.number} `{message.name}`**: {message.meaning}", "", "| field | kind | meaning |"]
            lines += ["|---|---|---|"]
            lines += [f"| `{field.name}` | {_kind(field)} | {field.meaning} |" for field in message.fields]
            lines += [""]
    return "\n".join(lines)


def _kind(field: Field) -> str:
    return f"`{field.kind}`" if field.size is None else f"`{field.kind}`, {field.size} items"


Values = Mapping[str, Any]

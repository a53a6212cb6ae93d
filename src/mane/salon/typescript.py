"""The protocol in TypeScript: types and codecs of the page, made from the table of messages.

`python -m mane.salon.typescript page/src/generated/protocol.ts` writes them; building the page does so first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from mane.salon.protocol import FROM_PAGE, MAGIC, TO_PAGE, VERSION, Field, Message

TYPES = {
    "u32": "number",
    "f32": "number",
    "f64": "number",
    "text": "string",
    "u8[]": "Uint8Array",
    "u16[]": "Uint16Array",
    "u32[]": "Uint32Array",
    "f32[]": "Float32Array",
}
WRITTEN_TYPES = {**TYPES, "f32[]": "ArrayLike<number>", "u32[]": "ArrayLike<number>"}  # what a page may give
METHODS = {kind: kind.replace("[]", "s") for kind in TYPES}
PRELUDE = """\
// Made by `python -m mane.salon.typescript` from the table in src/mane/salon/protocol.py; changes belong there.
import { Reader, Writer } from "../wire";
"""


def typescript() -> str:
    """Return the module as text."""
    parts = [PRELUDE, f"export const MAGIC = {MAGIC};\nexport const VERSION = {VERSION};\n"]
    parts += [_interface(message, TYPES) for message in TO_PAGE]
    parts += [_interface(message, WRITTEN_TYPES) for message in FROM_PAGE]
    union = " | ".join(_title(message) for message in TO_PAGE)
    parts.append(f"export type FromServer = {union};\n")
    parts.append(_reader(TO_PAGE))
    parts += [_writer(message) for message in FROM_PAGE]
    return "\n".join(parts)


def _title(message: Message) -> str:
    return message.name.capitalize()


def _interface(message: Message, types: dict[str, str]) -> str:
    lines = [f"/** {message.meaning[0].upper()}{message.meaning[1:]}. */", f"export interface {_title(message)} {{"]
    if types is TYPES:
        lines.append(f'  kind: "{message.name}";')
    lines += [f"  /** {field.meaning} */\n  {field.name}: {types[field.kind]};" for field in message.fields]
    return "\n".join([*lines, "}\n"])


def _reader(messages: Sequence[Message]) -> str:
    lines = ["/** Read a message of the server; throws where it is none of this version. */"]
    lines += ["export function read(data: ArrayBuffer): FromServer {", "  const reader = new Reader(data);"]
    lines += ["  switch (reader.begin(MAGIC, VERSION)) {"]
    for message in messages:
        fields = ", ".join(f"{field.name}: reader.{METHODS[field.kind]}()" for field in message.fields)
        lines += [f"    case {message.number}:", f'      return {{ kind: "{message.name}", {fields} }};']
    return "\n".join([*lines, "    default:", '      throw new Error("unknown message");', "  }", "}\n"])


def _writer(message: Message) -> str:
    def call(field: Field) -> str:
        return f"  writer.{METHODS[field.kind]}(message.{field.name});"

    lines = [f"export function write{_title(message)}(message: {_title(message)}): ArrayBuffer {{"]
    lines += ["  const writer = new Writer();", f"  writer.begin(MAGIC, VERSION, {message.number});"]
    return "\n".join([*lines, *map(call, message.fields), "  return writer.end();", "}\n"])


def main(path: str) -> None:
    """Write the module, unless it is there already as it should be."""
    target, text = Path(path), typescript()
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.is_file() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])

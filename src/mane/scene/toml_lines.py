"""Where the keys of a TOML text stand: `tomllib` gives the values, this gives their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*""")
PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
LONG_QUOTES = ('"""', "'''")


def key_lines(text: str) -> dict[str, int]:
    """Line, from 1, of every table and key of a valid TOML text, by dotted name; `[[solids]]` are `solids.0`, ...

    A key within an inline table or a list has the line of the whole value, under the name of the outer key.
    """
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in _logical_lines(text):
        stripped = line.strip()
        if stripped.startswith("[["):
            name = _name(_names(counts, _parts(stripped[2:])))
            index = counts.get(name, 0)
            counts[name] = index + 1
            table = f"{name}.{index}"
            lines.setdefault(name, number)
            lines[table] = number
        elif stripped.startswith("["):
            table = _name(_names(counts, _parts(stripped[1:])))
            lines[table] = number
        else:
            parts = _parts(line)
            for end in range(1, len(parts) + 1):
                lines.setdefault(_name(([table] if table else []) + parts[:end]), number)
    return lines


def _parts(text: str) -> list[str]:
    found = KEY.match(text)
    return [part.strip("\"'") for part in PART.findall(found.group(1))] if found else []


def _name(parts: list[str]) -> str:
    return ".".join(parts)


def _names(counts: dict[str, int], parts: list[str]) -> list[str]:
    """Insert the number of the latest table of a list, where a later header goes on below it."""
    done: list[str] = []
    for position, part in enumerate(parts):
        done.append(part)
        if position + 1 < len(parts) and _name(done) in counts:
            done.append(str(counts[_name(done)] - 1))
    return done


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that begin a table or a key, with their numbers: those inside a long string or a list do not."""
    depth, quote = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        starts = depth == 0 and not quote and line.strip() and not line.strip().startswith("#")
        if starts:
            yield number, line
        depth, quote = _after(line, depth, quote)


def _after(line: str, depth: int, quote: str) -> tuple[int, str]:
    """Depth of brackets and the open long quote at the end of a line."""
    at = 0
    while at < len(line):
        if quote:
            if line[at] == "\\" and quote[0] == '"':
                at += 2
                continue
            if line.startswith(quote, at):
                at += len(quote)
                quote = ""
                continue
        elif line[at] == "#":
            break
        elif line[at : at + 3] in LONG_QUOTES:
            quote = line[at : at + 3]
            at += 3
            continue
        elif line[at] in "\"'":
            quote = line[at]
        elif line[at] in "[{":
            depth += 1
        elif line[at] in "]}":
            depth -= 1
        at += 1
    return depth, quote if len(quote) == 3 else ""

"""`Table`: the methods of one kind by name, imported when they are first used."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cached_property
from importlib import import_module
from typing import Any, Generic, TypeVar

from mane.stage.protocol import Stage

S = TypeVar("S", bound=Stage)


class Table(MutableMapping[str, Any], Generic[S]):
    """Name -> class. The same table feeds Python calls, scene files, the command line, benchmarks and contract tests.

    An entry is a class, or "module:Class" for one that is imported when it is first asked for. A method from outside
    the package is one entry: `SKINS["mine"] = MySkin`.

    Args:
        what: how messages call an entry, e.g. "skin".
        kind: the class that all entries derive from, as "module:Class".
        entries: the methods there are.
    """

    def __init__(self, what: str, kind: str, entries: Mapping[str, str]) -> None:
        self.what = what
        self._kind_path = kind
        self._entries: dict[str, str | type[S]] = dict(entries)

    def find(self, name: str, what: str | None = None) -> type[S]:
        """Return the class of that name; ValueError lists those there are, under the name `what` of an argument."""
        if name not in self._entries:
            near = difflib.get_close_matches(str(name), self._entries, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{what or self.what}: {name!r} is unknown; choose from {', '.join(self)}{hint}")
        entry = self._entries[name]
        if isinstance(entry, str):
            entry = self._checked(name, _imported(entry))
            self._entries[name] = entry
        return entry

    def __getitem__(self, name: str) -> type[S]:
        if name not in self._entries:
            raise KeyError(name)
        return self.find(name)

    def __setitem__(self, name: str, entry: str | type[S]) -> None:
        self._entries[name] = entry if isinstance(entry, str) else self._checked(name, entry)

    def _checked(self, name: str, entry: type[S]) -> type[S]:
        if not issubclass(entry, self._kind):
            raise TypeError(f"{self.what}: {name!r} must be a {self._kind.__name__}, got {entry.__name__}")
        if getattr(entry, "name", None) != name:
            found = getattr(entry, "name", None)
            raise TypeError(f"{self.what}: {entry.__name__}.name must be {name!r}, got {found!r}")
        return entry

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @cached_property
    def _kind(self) -> type[S]:
        kind: type[S] = _imported(self._kind_path)
        return kind


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)

"""`Grips`: what pages do as long as a button is down, so that it ends with a page that goes away before it lets go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Values = Mapping[str, Any]
Send = Callable[[str, Values], None]
NOTHING = np.zeros(3, np.float32)
# By name of the message: how it is told from one that lets go, and what lets go in place of it.
GOES_ON: Mapping[str, Callable[[Values], bool]] = {
    "grab": lambda values: bool(values["is_held"]),
    "blow": lambda values: bool(np.any(values["velocity"])),
    "pour": lambda values: bool(np.any(values["velocity"])),
}
LET_GO: Mapping[str, Values] = {
    "grab": {"is_held": 0, "point": NOTHING, "target": NOTHING},
    "blow": {"origin": NOTHING, "velocity": NOTHING},
    "pour": {"origin": NOTHING, "velocity": NOTHING},
}


class Grips:
    """Remembers which page did last what goes on until it lets go; there is one hand for all pages.

    Args:
        send: takes the name and values of a message that lets go.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._held: dict[str, tuple[object, int]] = {}

    def watch(self, page: object, name: str, values: Values) -> None:
        """Take note of a message of a page."""
        if name not in GOES_ON:
            return
        if GOES_ON[name](values):
            self._held[name] = page, values["sequence"]
        else:
            self._held.pop(name, None)

    def leave(self, page: object) -> None:
        """Let go of whatever a page that is gone still held."""
        for name, (own, sequence) in list(self._held.items()):
            if own is page:
                del self._held[name]
                self._send(name, {**LET_GO[name], "sequence": sequence})

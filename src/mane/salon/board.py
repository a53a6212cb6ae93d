"""`Board`: the newest message of every topic. Whoever is slow misses those in between, and nobody waits."""

from __future__ import annotations

import threading


class Board:
    """Topics with their newest message, written by one thread and read by others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._messages: dict[str, tuple[int, bytes]] = {}
        self._count = 0

    def put(self, topic: str, message: bytes) -> None:
        """Take a message in place of the one before it on its topic; an empty one ends the topic."""
        with self._lock:
            self._count += 1
            self._messages.pop(topic, None)  # to the end, behind what it may rest on
            if message:
                self._messages[topic] = (self._count, message)

    def newer(self, seen: int) -> tuple[int, list[tuple[str, bytes]]]:
        """Messages after number `seen`, oldest first with their topics, and the number of the newest."""
        with self._lock:
            found = [(topic, data) for topic, (number, data) in self._messages.items() if number > seen]
            return self._count, found

"""Seeded mutations of valid files, and the law for readers: a sound result or a ValueError, soon, in little memory."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

HEADER_BYTES = 192
EXTREME_WORDS = (0, 1, 2, 0x7F, 0x80, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 0x7FC00000, 0x7F800000)
EXTREME_NUMBERS = (b"0", b"1", b"-1", b"2147483647", b"2147483648", b"4294967295", b"9" * 18, b"nan", b"1e999")

# No input of some kilobytes may take longer; a thousand times the usual, so that a busy machine does not matter.
MAX_SECONDS = 5.0
# Peak memory of one parse: a fixed share for tables and messages, and this many times the size of the input.
MAX_FIXED_BYTES = 4 << 20
MAX_TIMES_INPUT = 150


@dataclass(frozen=True)
class Target:
    """One format under attack: valid files to start from, and what is done with the mutated bytes."""

    name: str
    seeds: list[bytes]
    run: Callable[[bytes], Any]
    mutate: Callable[[np.random.Generator, list[bytes]], bytes] | None = None


def attack(target: Target, *, count: int, seed: int) -> dict[str, int]:
    """Run `count` mutated inputs; AssertionError names the number of the first that breaks the law."""
    for content in target.seeds:  # compiles kernels, whose time says nothing of an input
        target.run(content)
    outcomes = {"read": 0, "refused": 0}
    mutate = target.mutate or mutated
    tracemalloc.start()
    try:
        for number in range(count):
            content = mutate(np.random.default_rng([seed, number]), target.seeds)
            tracemalloc.reset_peak()
            before, started = tracemalloc.get_traced_memory()[0], time.process_time()
            refusal = None
            try:
                target.run(content)
            except ValueError as error:
                refusal = str(error)
            except Exception as error:
                raise AssertionError(f"{target.name} input {number} of seed {seed} raised {error!r}") from error
            outcomes["read" if refusal is None else "refused"] += 1
            assert "\n" not in (refusal or ""), f"{target.name} input {number}: more than one line: {refusal}"
            seconds = time.process_time() - started
            peak = tracemalloc.get_traced_memory()[1] - before
            assert seconds < MAX_SECONDS, f"{target.name} input {number} of seed {seed} took {seconds:.1f} s"
            limit = MAX_FIXED_BYTES + MAX_TIMES_INPUT * len(content)
            assert peak < limit, f"{target.name} input {number} of seed {seed} took {peak:,} bytes of memory"
    finally:
        tracemalloc.stop()
    return outcomes


def mutated(rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Return one of the seeds after one to four random mutations."""
    content = bytearray(seeds[rng.integers(len(seeds))])
    for _ in range(rng.integers(1, 5)):
        MUTATIONS[rng.integers(len(MUTATIONS))](rng, content, seeds)
    return bytes(content)


def _flip_bits(rng: np.random.Generator, content: bytearray, seeds: list[bytes]) -> None:
    for _ in range(rng.integers(1, 9)):
        if content:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)


def _flip_header_bits(rng: np.random.Generator, content: bytearray, seeds: list[bytes]) -> None:
    if content:
        content[rng.integers(min(len(content), HEADER_BYTES))] ^= 1 << rng.integers(8)


def _truncate(rng: np.random.Generator, content: bytearray, seeds: list[bytes]) -> None:
    del content[rng.integers(len(content) + 1) :]


def _extend(rng: np.random.Generator, content: bytearray, seeds: list[bytes]) -> None:
    content += rng.bytes(int(rng.integers(1, 64)))


def _splice(rng: np.random.Generator, content: bytearray, seeds: list[bytes]) -> None:
    other = seeds[rng.integers(len(seeds))]
    start = int(rng.integers(len(other)))
    place = int(rng.integers(len(content) + 1))
    content[place:place] = other[start : start + int(rng.integers(1, 256))]


def _delete(rng: np.random.Generator, content: bytearray, seeds: list[bytes]) -> None:
    place = int(rng.integers(len(content) + 1))
    del content[place : place + int(rng.integers(1, 64))]


def _extreme_word(rng: np.random.Generator, content: bytearray, seeds: list[bytes]) -> None:
    """Put an extreme number where a header field or a count may be."""
    span = HEADER_BYTES if rng.random() < 0.7 else len(content)
    words = min(len(content), span) // 4
    if words:
        struct.pack_into("<I", content, 4 * int(rng.integers(words)), EXTREME_WORDS[rng.integers(len(EXTREME_WORDS))])


def _small_word(rng: np.random.Generator, content: bytearray, seeds: list[bytes]) -> None:
    """Put a believable wrong number where a header field or a count may be."""
    words = min(len(content), HEADER_BYTES) // 4
    if words:
        struct.pack_into("<I", content, 4 * int(rng.integers(words)), int(rng.integers(64)))


def _extreme_text(rng: np.random.Generator, content: bytearray, seeds: list[bytes]) -> None:
    """Put an extreme number in place of a run of digits in a text header."""
    digits = [i for i, byte in enumerate(content[:1024]) if 48 <= byte <= 57]
    if digits:
        place = digits[rng.integers(len(digits))]
        end = place
        while end < len(content) and 48 <= content[end] <= 57:
            end += 1
        content[place:end] = EXTREME_NUMBERS[rng.integers(len(EXTREME_NUMBERS))]


MUTATIONS = (
    _flip_bits,
    _flip_header_bits,
    _truncate,
    _extend,
    _splice,
    _delete,
    _extreme_word,
    _small_word,
    _extreme_text,
)

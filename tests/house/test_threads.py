"""The same bytes on any number of threads: what checks it can fail, and no test goes around it."""

import ast
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
import pytest

from same_bytes import same_bytes

TESTS = Path(__file__).parents[1]


def called_in(path):
    """Names of all that a file calls, with their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
            yield name, node.lineno


def test_only_the_fixture_sets_the_number_of_threads():
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        if path not in (TESTS / "conftest.py", Path(__file__))
        for name, line in called_in(path)
        if name in ("set_num_threads", "get_num_threads")
    ]
    assert not found, f"use the fixture on_threads instead: {', '.join(found)}"


@numba.njit(parallel=True)
def number_of_thread(out):
    for i in numba.prange(len(out)):
        out[i] = numba.get_thread_id()


def test_a_race_is_found(on_threads):
    def race():
        out = np.empty(8, np.int64)
        number_of_thread(out)
        return {"of thread": out}

    with pytest.raises(AssertionError, match=r"result\['of thread'\]: 4 of 8 differ, first at \(4,\): 0 and 1"):
        on_threads(race)


def test_the_function_runs_on_one_thread_and_on_two_whatever_happens(on_threads):
    counts = []
    on_threads(lambda: counts.append(numba.get_num_threads()))
    assert counts == [1, 2]
    numba.set_num_threads(2)
    with pytest.raises(ZeroDivisionError):
        on_threads(lambda: 1 / 0)
    assert numba.get_num_threads() == 2
    with pytest.raises(AssertionError, match="has set the number of threads itself"):
        on_threads(lambda: numba.set_num_threads(3 - numba.get_num_threads()))


@dataclass
class Pair:
    points: np.ndarray
    extra: dict


def pair(value):
    return Pair(np.zeros((2, 3)), {"name": ("text", None, [1, 2.0, b"bytes"]), "array": np.array([1.0, value])})


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        (pair(1.0), pair(2.0), r"result\.extra\['array'\]: 1 of 2 differ, first at \(1,\): 1\.0 and 2\.0"),
        ((1, 0.0), (1, -0.0), r"result\[1\]: 1 of 1 differ, first at \(\): 0\.0 and -0\.0"),
        (np.zeros(3), np.zeros(3, np.float32), r"result: float64 \(3,\) and float32 \(3,\)"),
        ({"a": 1}, {"a": 1, "b": 2}, r"result\['b'\]: only in the second"),
        ([b"one"], [b"two"], r"result\[0\]: b'one' and b'two'"),
        (1, 1.0, "result: int and float"),
    ],
)
def test_what_differs_is_named(one, two, message):
    same_bytes(one, one)
    with pytest.raises(AssertionError, match=message):
        same_bytes(one, two)


def test_not_a_number_is_itself():
    same_bytes(pair(np.nan), pair(np.nan))
    same_bytes(float("nan"), float("nan"))


def test_what_has_no_bytes_is_refused():
    with pytest.raises(TypeError, match=r"result\[0\]: must be made of arrays, numbers, text or bytes, got object"):
        same_bytes([object()], [object()])

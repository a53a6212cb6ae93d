import os
import struct

import numpy as np
import pytest
from salon_messages import messages_of_a_page, mutated, sample_of

from mane.salon.protocol import (
    ARRAYS,
    FROM_PAGE,
    LARGEST_FROM_PAGE,
    TO_PAGE,
    ProtocolError,
    decode,
    described,
    encode,
    read_from_page,
)
from mane.salon.typescript import typescript

MUTATIONS = int(os.environ.get("MANE_STRESS_EXAMPLES", 100_000))


@pytest.mark.parametrize("message", [*FROM_PAGE, *TO_PAGE], ids=lambda message: message.name)
def test_what_is_written_is_read_again(message):
    values = sample_of(message)
    data = encode(message.name, **values)
    assert len(data) % 4 == 0
    name, read = decode(data, [*FROM_PAGE, *TO_PAGE])
    assert name == message.name
    for key, value in values.items():
        kind = next(field.kind for field in message.fields if field.name == key)
        expected = np.asarray(value).astype(ARRAYS[kind]) if kind in ARRAYS else value
        assert np.array_equal(read[key], expected)


def test_numbers_of_messages_are_their_own():
    numbers = [message.number for message in (*FROM_PAGE, *TO_PAGE)]
    assert len(set(numbers)) == len(numbers)


def move(**changes):
    values = {"number": 1, "position": [0, 0, 0], "rotation": [0, 0, 0, 1], "sequence": 3}
    return encode("move", **{**values, **changes})


def test_a_message_of_a_page_is_read():
    name, values = read_from_page(move(position=[0.1, 0.2, 0.3]))
    assert name == "move"
    assert values["position"] == pytest.approx([0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "at least 4 bytes"),
        (b"x\1\5\0" + move()[4:], "does not begin"),
        (b"m\2\5\0" + move()[4:], "version 1"),
        (b"m\1\xc8\0", "no known kind"),
        (move()[:-2], "cut off"),
        (move() + b"\0\0\0\0", "must have"),
        (move(position=[np.nan, 0, 0]), "finite"),
        (move(position=[1e9, 0, 0]), "within 100"),
        (move(rotation=[0, 0, 0, 0]), "unit quaternion"),
        (encode("command", action="x" * 300), "at most 256 bytes"),
        (encode("command", action="a" * 2 * LARGEST_FROM_PAGE), "at most 4,096 bytes"),
        (b"m\1\4\0" + struct.pack("<I", 4) + b"\xff\xfe\xff\xff", "UTF-8"),
        (b"m\1\4\0" + struct.pack("<I", 0xFFFFFFFF) + b"play", "cut off"),
        (b"m\1\4\0" + struct.pack("<I", 3) + b"abcd", "padded with zeros"),
        (encode("notice", number=1, is_error=0, text="hi"), "no known kind"),
    ],
)
def test_what_is_no_message_is_refused(data, reason):
    with pytest.raises(ProtocolError, match=reason):
        read_from_page(data)


def check_mutations(count):
    """Returns how many mutations were messages still, by kind."""
    rng, originals = np.random.default_rng(0), messages_of_a_page()
    read = dict.fromkeys((message.name for message in FROM_PAGE), 0)
    for i in range(count):
        try:
            name, values = read_from_page(mutated(rng, originals[i % len(originals)]))
        except ProtocolError:
            continue
        read[name] += 1
        assert all(np.isfinite(value).all() for value in values.values() if isinstance(value, np.ndarray | float))
    assert all(read.values())  # some changes of every kind leave a message that can be meant
    assert sum(read.values()) < count


def test_mutated_messages_are_read_or_refused():
    check_mutations(3_000)


@pytest.mark.stress
def test_very_many_mutated_messages_are_read_or_refused():
    check_mutations(MUTATIONS)


def test_the_pages_types_and_the_documentation_have_every_message():
    text, table = typescript(), described()
    for message in (*FROM_PAGE, *TO_PAGE):
        assert f"interface {message.name.capitalize()} {{" in text
        assert f"`{message.name}`" in table
        assert all(f"`{field.name}`" in table for field in message.fields)

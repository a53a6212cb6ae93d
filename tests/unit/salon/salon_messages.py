"""One message of every kind that the protocol's table has, and messages that went wrong on their way."""

import numpy as np

from mane.salon.protocol import ARRAYS, FROM_PAGE, encode

SAMPLE = {"u32": 7, "f32": 0.25, "f64": -1.5, "text": "höck", **{kind: np.arange(5) for kind in ARRAYS}}


def sample_of(message):
    """Values that a message of that kind may have; four numbers are a quaternion that is near enough to a unit one."""
    return {
        field.name: SAMPLE[field.kind] if field.size is None else np.linspace(0.1, 0.9, field.size)
        for field in message.fields
    }


def messages_of_a_page():
    """One message of every kind that a page can send: a kind that is new in the table is among them."""
    return [encode(message.name, **sample_of(message)) for message in FROM_PAGE]


def mutated(rng, data):
    """A message with one to three bytes changed, cut off, put in or left out."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        kind, at = rng.integers(0, 4), int(rng.integers(0, max(len(data), 1)))
        if kind == 0 and data:
            data[at % len(data)] = rng.integers(0, 256)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            data[at:at] = rng.bytes(int(rng.integers(1, 9)))
        else:
            del data[at : at + int(rng.integers(1, 9))]
    return bytes(data)

"""Messages that went wrong on their way."""


def mutated(rng, data):
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

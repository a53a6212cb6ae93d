"""Every strand format: bytes made by hand come out as they should, and what is written comes back to the last bit."""

import struct

import numpy as np
import pytest
from groom_bytes import assert_same_points, grooms, written
from hypothesis import given
from hypothesis import strategies as st

from mane.groom.groom import Groom
from mane.io import ct2hair, data, hair, npy, npz, ply, tfx

# -- .hair -----------------------------------------------------------------------------------------------------------


def hair_header(strands=2, points=5, bits=3, segments=0, thickness=0.0, transparency=0.0, color=(0, 0, 0), info=b""):
    return struct.pack(
        "<4sIIIIff3f88s", b"HAIR", strands, points, bits, segments, thickness, transparency, *color, info
    )


@given(grooms([("width", 1), ("color", 3), ("transparency", 1)]))
def test_hair_round_trip_keeps_points_and_what_it_has_room_for(groom):
    raw = hair.parse(written(hair, groom))
    assert_same_points(raw, groom)
    back = Groom(raw.points, raw.offsets, raw.strand, raw.vertex)
    for name in (*groom.strand, *groom.vertex):
        # Whatever was given per strand comes back per vertex, or as one value for all; it says the same.
        assert back.per_vertex(name).tobytes() == groom.per_vertex(name).tobytes()
    assert (raw.unit, raw.up) == ("m", "y")


def test_hair_by_hand():
    points = np.arange(15, dtype="<f4")
    raw = hair.parse(hair_header() + struct.pack("<2H", 1, 2) + points.tobytes())
    assert raw.offsets.tolist() == [0, 2, 5]
    assert raw.points.reshape(-1).tolist() == points.tolist()
    assert (raw.unit, raw.up, raw.strand, raw.vertex, raw.problems) == (None, None, {}, {}, ())


def test_hair_defaults_of_the_header_count_for_every_strand():
    content = hair_header(2, 4, 2, 1, 0.25, 0.5, (1.0, 0.5, 0.25)) + bytes(48)
    raw = hair.parse(content)
    assert raw.strand["width"].tolist() == [0.25, 0.25]
    assert raw.strand["transparency"].tolist() == [0.5, 0.5]
    assert raw.strand["color"].tolist() == [[1.0, 0.5, 0.25]] * 2


@pytest.mark.parametrize(("thickness", "color"), [(0.0, (0, 0, 0)), (1.0, (1, 1, 1))])
def test_hair_defaults_that_nobody_chose_are_no_attributes(thickness, color):
    assert hair.parse(hair_header(2, 4, 2, 1, thickness, 0.0, color) + bytes(48)).strand == {}


def test_hair_values_that_look_unset_are_written_out():
    groom = Groom.from_uniform(np.random.default_rng(0).random((3, 4, 3)))
    groom = groom.with_strand(width=np.ones(3), color=np.ones((3, 3)))
    raw = hair.parse(written(hair, groom))
    assert raw.vertex["width"].tolist() == [1.0] * 12
    assert raw.vertex["color"].tolist() == [[1.0] * 3] * 12


def test_hair_bytes_after_the_end_are_reported():
    raw = hair.parse(hair_header(1, 2, 2, 1) + bytes(24) + b"xyz")
    assert [problem.text for problem in raw.remarks] == ["3 bytes after the last array were ignored"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"HAIR", "must be 128 bytes that begin with HAIR"),
        (b"HAIX" + bytes(200), "must be 128 bytes that begin with HAIR"),
        (hair_header(0, 0), "must promise strands and points, got 0 strands"),
        (hair_header(2, 4, 1), "must promise strands and points"),
        (hair_header(2, 4, 2 | 32, 1) + bytes(48), "array bits must be within 0x1f, got 0x22"),
        (hair_header(2**31, 4, 2, 1) + bytes(48), "promises 4 points, but its strands need 4,294,967,296"),
        (hair_header(2**31, 2**32 - 1, 3) + bytes(48), "promises 2,147,483,648 elements up to byte 4,294,967,424"),
        (hair_header(2, 5, 3) + struct.pack("<2H", 1, 9) + bytes(60), "promises 5 points, but its strands need 12"),
        (hair_header(2, 4, 2, 1) + bytes(47), "the file ends at byte 175; it is cut short"),
    ],
)
def test_hair_that_does_not_fit_its_bytes_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        hair.parse(content)


def test_hair_has_no_room_for_very_long_strands():
    groom = Groom(np.random.default_rng(0).random((65_538, 3)), [0, 2, 65_538])
    assert hair.parse(written(hair, groom)).vertex_counts.tolist() == [2, 65_536]
    longer = Groom(np.random.default_rng(0).random((65_539, 3)), [0, 2, 65_539])
    with pytest.raises(ValueError, match=r"at most 65,535 segments per strand, got 65,536 at strand 1; resample"):
        written(hair, longer)


# -- .data and .bin --------------------------------------------------------------------------------------------------


@given(grooms())
def test_data_round_trip(groom):
    assert_same_points(data.parse(written(data, groom)), groom)


def test_data_by_hand():
    first, second = np.arange(6, dtype="<f4"), np.arange(9, dtype="<f4")
    content = struct.pack("<ii", 2, 2) + first.tobytes() + struct.pack("<i", 3) + second.tobytes()
    raw = data.parse(content)
    assert raw.offsets.tolist() == [0, 2, 5]
    assert raw.points.reshape(-1).tolist() == [*first, *second]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.sampled_from([3, 7]))
def test_interleaved_counts_of_any_size_even_none(counts, channels):
    rng = np.random.default_rng(1)
    blocks = [rng.random((n, channels)).astype("<f4") for n in counts]
    content = struct.pack("<i", len(counts)) + b"".join(struct.pack("<i", len(b)) + b.tobytes() for b in blocks)
    raw = (data if channels == 3 else ct2hair).parse(content)
    assert raw.vertex_counts.tolist() == counts
    assert raw.points.tobytes() == np.concatenate(blocks)[:, :3].tobytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\1\0", "promises 1 elements up to byte 4, the file ends at byte 2"),
        (struct.pack("<i", 0), "must be above zero, got 0"),
        (struct.pack("<i", -1), "must be above zero, got -1"),
        (struct.pack("<ii", 2**31 - 1, 0), "promises 2,147,483,647 strands, the file has 8 bytes"),
        (struct.pack("<ii", 1, -1) + bytes(48), "strand 0: promises 4,294,967,295 points"),
        (struct.pack("<ii", 1, 2) + bytes(12), "strand 0: promises 2 points, which go beyond the end"),
        (struct.pack("<ii", 2, 1) + bytes(12), "strand 1: the file ends before it"),
        (struct.pack("<ii", 1, 1) + bytes(24), "12 bytes follow the last of 1 strands"),
        (struct.pack("<ii", 1, 1) + bytes(13), "must be whole words of 4 bytes, got 21 bytes"),
    ],
)
def test_data_that_does_not_fit_its_bytes_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        data.parse(content)


def test_ct2hair_takes_positions_and_labels():
    values = np.arange(28, dtype="<f4").reshape(4, 7)
    raw = ct2hair.parse(struct.pack("<ii", 1, 4) + values.tobytes())
    assert raw.points.tolist() == values[:, :3].tolist()
    assert raw.vertex["label"].tolist() == [6, 13, 20, 27]
    values[:, 6] = 0
    assert ct2hair.parse(struct.pack("<ii", 1, 4) + values.tobytes()).vertex == {}


# -- .tfx ------------------------------------------------------------------------------------------------------------


def tfx_bytes(strands, points, *, places=(160, 0, 0, 0, 0), version=4.0, body=b""):
    return struct.pack("<f7I", version, strands, points, *places).ljust(160, b"\0") + body


@given(st.integers(1, 6), st.sampled_from([4, 8, 16]), st.booleans(), st.integers(0, 2**32 - 1))
def test_tfx_arrays_stand_where_the_header_says(strands, points, in_reverse, seed):
    rng = np.random.default_rng(seed)
    total = strands * points
    arrays = [
        rng.random(shape).astype("<f4") for shape in ((total, 4), (strands, 2), (total, 2), (strands,), (total, 4))
    ]
    order = [4, 3, 2, 1, 0] if in_reverse else [0, 1, 2, 3, 4]
    places, body = [0] * 5, b""
    for index in order:
        places[index] = 160 + len(body)
        body += arrays[index].tobytes()
    raw = tfx.parse(tfx_bytes(strands, points, places=places, body=body))
    assert raw.vertex_counts.tolist() == [points] * strands
    assert raw.points.tolist() == arrays[0][:, :3].tolist()
    assert raw.vertex["movable"].tolist() == arrays[0][:, 3].tolist()
    assert raw.strand["root_uv"].tolist() == arrays[1].tolist()
    assert raw.vertex["uv"].tolist() == arrays[2].tolist()
    assert raw.strand["width"].tolist() == arrays[3].tolist()
    assert raw.vertex["color"].tolist() == arrays[4][:, :3].tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bytes(100), "must be 160 bytes of TressFX version 4"),
        (tfx_bytes(1, 4, version=3.0, body=bytes(64)), "must be 160 bytes of TressFX version 4"),
        (tfx_bytes(1, 4, version=np.nan, body=bytes(64)), "must be 160 bytes of TressFX version 4"),
        (tfx_bytes(1, 4, places=(20, 0, 0, 0, 0), body=bytes(64)), "must be 160 bytes of TressFX version 4"),
        (tfx_bytes(0, 4, body=bytes(64)), "got 0 strands of 4 points"),
        (tfx_bytes(2**31, 2**31, body=bytes(64)), "positions: the header promises"),
        (
            tfx_bytes(1, 4, places=(160, 2**32 - 1, 0, 0, 0), body=bytes(64)),
            "strand UVs: the header promises 2 elements",
        ),
    ],
)
def test_tfx_that_does_not_fit_its_bytes_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        tfx.parse(content)


# -- all of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [hair, data, ct2hair, tfx, npy, npz, ply], ids=lambda module: module.__name__)
@given(content=st.binary(max_size=400), with_magic=st.booleans())
def test_garbage_is_read_or_refused_but_never_raises_anything_else(module, content, with_magic):
    if with_magic:
        content = getattr(module, "MAGIC", b"") + content
    try:
        raw = module.parse(content)
    except ValueError:
        return
    assert raw.offsets[-1] == raw.point_count

"""Strands in the containers of others: NumPy's arrays and archives, and PLY."""

import io
import json
import struct
import zipfile

import numpy as np
import pytest
from groom_bytes import assert_same_points, grooms, written
from hypothesis import given
from hypothesis import strategies as st

from mane.groom.groom import Groom
from mane.io import npy, npz, ply

# -- .npy ------------------------------------------------------------------------------------------------------------


def npy_bytes(array, **options) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


@given(
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.sampled_from(["<f4", "<f8", ">f4", "<f2"]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_npy_in_any_precision_and_order(shape, dtype, fortran, seed):
    array = np.random.default_rng(seed).normal(size=(*shape, 3)).astype(dtype)
    raw = npy.parse(npy_bytes(np.asfortranarray(array) if fortran else array))
    assert raw.points.tobytes() == array.astype(np.float32).tobytes()
    assert raw.vertex_counts.tolist() == [shape[1]] * shape[0]


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_header_versions(version):
    array = np.random.default_rng(0).random((2, 3, 3)).astype(np.float32)
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    assert npy.parse(file.getvalue()).points.tobytes() == array.tobytes()


def npy_claiming(description: str, body: bytes = b"") -> bytes:
    text = description.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + body


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy_bytes(np.zeros((4, 3))), r"got float64 of shape \(4, 3\)"),
        (npy_bytes(np.zeros((4, 3, 3), int)), "must be floating-point"),
        (npy_bytes(np.zeros((0, 3, 3))), "must hold strands and points"),
        (npy_bytes(np.asarray([{}], object), allow_pickle=True), "objects and records are not read"),
        (npy_bytes(np.zeros(3, [("x", "f4")])), "objects and records are not read"),
        (npy_bytes(np.zeros((4, 3, 3)))[:-1], "it is cut short"),
        (b"\x93NUMPY\1\0\xff\xff{}", "promises to be 65,535 bytes long"),
        (
            npy_claiming("{'descr': '<f4', 'fortran_order': False, 'shape': (2147483648, 100, 3), }"),
            "promises 644,245,094,400 elements",
        ),
        (
            npy_claiming("{'descr': '<f4', 'fortran_order': False, 'shape': __import__('os').abort(), }"),
            "plain numbers",
        ),
    ],
)
def test_npy_that_is_no_strands_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        npy.parse(content)


# -- .npz ------------------------------------------------------------------------------------------------------------

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
DTYPES = (np.float32, np.float64, np.int32, np.uint8, np.bool_)


@given(
    grooms(), st.dictionaries(names, st.tuples(st.booleans(), st.sampled_from(DTYPES), st.integers(1, 3)), max_size=4)
)
def test_npz_keeps_every_attribute_its_type_and_its_scope(groom, extra):
    rng = np.random.default_rng(0)
    for name, (per_strand, dtype, channels) in extra.items():
        if name not in ("width", "color", "group_id", "root_uv", "is_guide", "id"):
            count = groom.strand_count if per_strand else groom.point_count
            values = (rng.random((count, channels)) * 100).astype(dtype)
            groom = groom.with_strand(**{name: values}) if per_strand else groom.with_vertex(**{name: values})
    raw = npz.parse(written(npz, groom, "0.1in", "z"))
    assert_same_points(raw, groom)
    assert (raw.unit, raw.up) == ("0.1in", "z")
    for before, after in ((groom.strand, raw.strand), (groom.vertex, raw.vertex)):
        assert list(after) == list(before)
        for name, values in before.items():
            assert after[name].dtype == values.dtype
            assert after[name].shape == values.shape
            assert after[name].tobytes() == values.tobytes()


def sample():
    return Groom.from_uniform(
        np.random.default_rng(0).random((3, 4, 3)),
        strand={"group_id": [0, 1, 1]},
        group_names={0: "brow", 1: "schläfe"},
    )


def test_npz_keeps_group_names():
    raw = npz.parse(written(npz, sample()))
    assert raw.group_names == {0: "brow", 1: "schläfe"}


def test_npz_is_plain_for_numpy_and_the_same_bytes_every_time():
    content = written(npz, sample())
    assert content == written(npz, sample())
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        assert sorted(arrays) == ["about", "format_version", "offsets", "points", "strand.group_id"]
        assert arrays["points"].tobytes() == sample().points.tobytes()
        assert int(arrays["format_version"]) == 1


def test_npz_made_by_numpy_is_read_compressed_too():
    groom = sample()
    file = io.BytesIO()
    np.savez_compressed(file, format_version=1, points=groom.points, offsets=groom.offsets, note=np.zeros(3))
    raw = npz.parse(file.getvalue())
    assert_same_points(raw, groom)
    assert (raw.unit, raw.up) == (None, None)


def npz_bytes(**members) -> bytes:
    file = io.BytesIO()
    arrays = {"format_version": 1, "points": np.zeros((4, 3), np.float32), "offsets": np.asarray([0, 2, 4])}
    np.savez(file, allow_pickle=True, **{k: v for k, v in {**arrays, **members}.items() if v is not None})
    return file.getvalue()


def about(value) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npz_bytes(points=None), "must be format_version, points and offsets as mane writes them, got offsets"),
        (npz_bytes(format_version=2), "this mane reads version 1, got 2; upgrade mane"),
        (npz_bytes(points=np.zeros((4, 2))), r"points: must be floating-point of shape \(P, 3\)"),
        (npz_bytes(offsets=np.asarray([0, 2, 5])), "must go from 0 to 4 .*got 0 to 5"),
        (npz_bytes(offsets=np.asarray([0, 3, 2, 4])), "a step back at strand 1"),
        (npz_bytes(offsets=np.asarray([0.0, 4.0])), "offsets: must be whole numbers"),
        (npz_bytes(**{"strand.width": np.zeros(3)}), r"strand.width: must have one element per strand \(2\)"),
        (
            npz_bytes(**{"vertex.map": np.asarray([{}] * 4, object)}),
            "vertex.map.npy: .*objects and records",
        ),
        (npz_bytes(about=about({"unit": 3})), "about: must be JSON"),
        (npz_bytes(about=about([])), "about: must be JSON"),
        (npz_bytes(about=np.frombuffer(b"[" * 9999, np.uint8)), "about: must be JSON"),
        (npz_bytes()[:-30], "zip: cannot be read"),
        (b"PK\3\4" + bytes(50), "zip: cannot be read"),
    ],
)
def test_npz_that_is_damaged_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        npz.parse(content)


def test_npz_checks_its_sums():
    content = bytearray(npz_bytes())
    place = content.find(b"\x93NUMPY", content.find(b"points.npy")) + 128
    content[place] ^= 1
    with pytest.raises(ValueError, match=r"points.npy: its bytes do not match their checksum"):
        npz.parse(bytes(content))


def test_npz_bomb_is_refused_before_it_goes_off():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("points.npy", bytes(20 << 20))
    assert len(file.getvalue()) < 100_000
    with pytest.raises(ValueError, match=r"promises 20,971,520 bytes from .*damaged or a trap"):
        npz.parse(file.getvalue())


# -- .ply ------------------------------------------------------------------------------------------------------------

ORDERS = tuple(ply.BYTE_ORDERS)


def ply_bytes(order, elements) -> bytes:
    """Make a file from name -> list of (property, type, values)."""
    header = f"ply\nformat {order} 1.0\ncomment made by a test\n"
    body = b""
    for name, columns in elements.items():
        header += f"element {name} {len(columns[0][2])}\n"
        header += "".join(f"property {kind} {column}\n" for column, kind, _ in columns)
        if order == "ascii":
            rows = zip(*(values for _, _, values in columns), strict=True)
            body += "".join(
                " ".join(
                    repr(float(v)) if "f" in k or "d" in k else str(int(v))
                    for v, (_, k, _) in zip(row, columns, strict=True)
                )
                + "\n"
                for row in rows
            ).encode()
        else:
            sign = ply.BYTE_ORDERS[order]
            table = np.zeros(len(columns[0][2]), [(column, sign + ply.TYPES[kind]) for column, kind, _ in columns])
            for column, _, values in columns:
                table[column] = values
            body += table.tobytes()
    return (header + "end_header\n").encode() + body


def vertex_columns(points, kind="float"):
    return [(axis, kind, points[:, i]) for i, axis in enumerate("xyz")]


@given(grooms(), st.sampled_from(ORDERS), st.sampled_from(["float", "double"]))
def test_ply_with_a_strand_element(groom, order, kind):
    colors = np.random.default_rng(0).integers(0, 256, (groom.point_count, 3))
    columns = vertex_columns(groom.points, kind)
    columns += [(name, "uchar", colors[:, i]) for i, name in enumerate(("red", "green", "blue"))]
    columns += [("thickness", "float", np.full(groom.point_count, 0.5))]
    segments = groom.vertex_counts - 1
    edges = [("vertex1", "int", np.arange(3)), ("vertex2", "int", np.arange(3))]
    raw = ply.parse(ply_bytes(order, {"vertex": columns, "strand": [("nsegs", "ushort", segments)], "edge": edges}))
    assert_same_points(raw, groom)
    np.testing.assert_allclose(raw.vertex["color"], colors / 255, atol=1e-7)
    assert raw.vertex["width"].tolist() == [0.5] * groom.point_count


@pytest.mark.parametrize("order", ORDERS)
def test_ply_of_bare_points_is_cut_into_equal_strands(order):
    points = np.random.default_rng(0).random((300, 3)).astype(np.float32)
    content = ply_bytes(order, {"vertex": vertex_columns(points)})
    assert ply.parse(content).vertex_counts.tolist() == [100, 100, 100]
    assert ply.parse(content, points_per_strand=150).vertex_counts.tolist() == [150, 150]
    with pytest.raises(ValueError, match="300 bare points cannot be cut into strands of 7"):
        ply.parse(content, points_per_strand=7)


POINTS = np.zeros((4, 3))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"plx\n", "must begin with ply and end with end_header"),
        (b"ply\nformat ascii 1.0\nelement vertex 1\nend_header\n", "must hold points with x, y and z"),
        (b"ply\nelement vertex 1\nend_header\n", "must name a format"),
        (b"ply\nformat ascii 1.0\nproperty float x\nend_header\n", "does not understand 'property float x'"),
        (ply_bytes("ascii", {"vertex": vertex_columns(POINTS) * 2}), "the property 'x' twice"),
        (ply_bytes("binary_little_endian", {"vertex": vertex_columns(POINTS)})[:-1], "it is cut short"),
        (ply_bytes("ascii", {"vertex": vertex_columns(POINTS)})[:-5], "promises 4 rows, the file ends after 3"),
        (
            ply_bytes("ascii", {"vertex": vertex_columns(POINTS)}).replace(b"vertex 4", b"vertex 2147483648"),
            "promises 2,147,483,648 rows",
        ),
        (ply_bytes("ascii", {"vertex": vertex_columns(POINTS)}).replace(b"0.0", b"zero", 1), "must be numbers"),
        (
            ply_bytes("ascii", {"vertex": vertex_columns(POINTS), "strand": [("nsegs", "int", [1, 5])]}),
            "from 0 to 4",
        ),
        (
            ply_bytes("ascii", {"vertex": vertex_columns(POINTS), "strand": [("nsegs", "int", [1, 2])]}),
            "must add up to the 4 points of the file, got 5",
        ),
        (
            ply_bytes("ascii", {"vertex": vertex_columns(POINTS), "face": [("a", "int", [1])]}),
            "the file is a mesh of 1 faces, not strands",
        ),
    ],
)
def test_ply_that_does_not_fit_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        ply.parse(content)

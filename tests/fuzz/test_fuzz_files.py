"""Whatever bytes come in, a reader answers with a sound result or a ValueError of one line."""

import io
import json
import struct
import warnings
import zipfile

import numpy as np
import pytest
from fuzzing import Target, attack, mutated

from mane.body.mesh import Mesh
from mane.groom.groom import Groom
from mane.io import ct2hair, data, hair, meshes, npy, npz, ply, tfx
from mane.io.formats import Frame
from mane.io.grooms import groom_from_raw
from mane.io.raw import RawGroom
from mane.io.sniff import suffix_of_contents

SHORT_RUN = 300
LONG_RUN = 25_000  # of each format: half a minute of processor time


# -- valid files to start from ---------------------------------------------------------------------------------------


def sample_groom(*, ragged: bool) -> Groom:
    rng = np.random.default_rng(7)
    counts = np.asarray([5, 2, 9, 3]) if ragged else np.full(4, 8)
    points = rng.normal(size=(counts.sum(), 3)).astype(np.float32)
    strand = {"group_id": np.arange(4), "root_uv": rng.random((4, 2))}
    vertex = {"width": rng.random(len(points)), "color": rng.random((len(points), 3)), "mask": rng.random(len(points))}
    return Groom(points, np.concatenate([[0], np.cumsum(counts)]), strand, vertex, {0: "scalp", 1: "brow"})


def written(module) -> list[bytes]:
    files = []
    for ragged in (False, True):
        file = io.BytesIO()
        module.write(file, sample_groom(ragged=ragged), unit="cm", up="z")
        files.append(file.getvalue())
    return files


def bin_files() -> list[bytes]:
    rng = np.random.default_rng(3)
    return [
        struct.pack("<i", len(counts))
        + b"".join(struct.pack("<i", n) + rng.normal(size=(n, 7)).astype("<f4").tobytes() for n in counts)
        for counts in ([6, 6, 6], [4, 9, 1, 5])
    ]


def tfx_files() -> list[bytes]:
    rng = np.random.default_rng(4)
    strands, points = 6, 8
    position = rng.normal(size=(strands, points, 4)).astype("<f4")
    places = np.cumsum([160, position.nbytes, 8 * strands, 8 * strands * points, 4 * strands]).tolist()
    bare = struct.pack("<f7I", 4.0, strands, points, 160, 0, 0, 0, 0).ljust(160, b"\0") + position.tobytes()
    full = struct.pack("<f7I", 4.0, strands, points, *places).ljust(160, b"\0") + position.tobytes()
    rest = 2 * strands + 2 * strands * points + strands + 4 * strands * points
    return [bare, full + rng.random(rest).astype("<f4").tobytes()]


def npy_files() -> list[bytes]:
    rng = np.random.default_rng(5)
    files = []
    for array in (
        rng.normal(size=(4, 6, 3)).astype("<f4"),
        rng.normal(size=(2, 5, 3)),
        np.asfortranarray(rng.random((3, 4, 3)).astype("<f2")),
    ):
        file = io.BytesIO()
        np.save(file, array)
        files.append(file.getvalue())
    return files


def strand_ply(format_name: str) -> bytes:
    rng = np.random.default_rng(6)
    segments = [4, 1, 6]
    count = sum(segments) + len(segments)
    header = (
        f"ply\nformat {format_name} 1.0\ncomment made by a test\nelement vertex {count}\nproperty float x\n"
        "property float y\nproperty float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n"
        f"property float thickness\nelement strand {len(segments)}\nproperty ushort nsegs\nend_header\n"
    ).encode()
    points, colors, width = rng.normal(size=(count, 3)), rng.integers(0, 256, (count, 3)), rng.random(count)
    if format_name == "ascii":
        rows = [[*p, *c, w] for p, c, w in zip(points.tolist(), colors.tolist(), width.tolist(), strict=True)]
        lines = [" ".join(map(str, row)) for row in rows] + [str(n) for n in segments]
        return header + "\n".join(lines).encode() + b"\n"
    order = "<" if "little" in format_name else ">"
    table = np.zeros(count, [("p", order + "f4", 3), ("c", "u1", 3), ("w", order + "f4")])
    table["p"], table["c"], table["w"] = points, colors, width
    return header + table.tobytes() + np.asarray(segments, order + "u2").tobytes()


def bare_ply() -> bytes:
    columns = "".join(f"property float {axis}\n" for axis in "xyz")
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex 200\n{columns}end_header\n"
    return header.encode() + np.random.default_rng(8).random((200, 3)).astype("<f4").tobytes()


def tetrahedron() -> Mesh:
    points = np.asarray([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    return Mesh(points, np.asarray([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]), points[:, :2])


def mesh_files(suffix: str) -> list[bytes]:
    import trimesh

    mesh = tetrahedron()
    return [trimesh.Trimesh(mesh.points, mesh.faces, process=False).export(file_type=suffix)]


def obj_files() -> list[bytes]:
    return [
        b"# a test\nmtllib x.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nf 1/1 2/2 3/3\nf 1 3 4\n",
        b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 2 0\nf -5 -4 -3 -2 -1\nf 1//1 2//1 3//1\n",
    ]


# -- what is done with them ------------------------------------------------------------------------------------------


def read_strands(parse):
    def run(content: bytes) -> None:
        suffix_of_contents(content)
        raw = parse(content)
        check_raw(raw)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            groom = groom_from_raw("file.hair", raw, Frame("cm", "z", "", False))
        assert np.isfinite(groom.points).all()

    return run


def check_raw(raw: RawGroom) -> None:
    assert raw.points.shape == (raw.point_count, 3)
    assert raw.points.dtype == np.float32
    assert raw.offsets[0] == 0
    assert raw.offsets[-1] == raw.point_count
    assert (np.diff(raw.offsets) >= 0).all()
    assert raw.strand_count > 0
    assert all(len(values) == raw.strand_count for values in raw.strand.values())
    assert all(len(values) == raw.point_count for values in raw.vertex.values())
    assert all(problem.text for problem in raw.problems)
    assert len(raw.lengths) == raw.strand_count


def read_mesh_of(suffix, folder):
    def run(content: bytes) -> None:
        points, faces, uv = meshes.parse(content, suffix, folder=folder)
        assert faces.min() >= 0
        assert faces.max() < len(points)
        assert uv is None or len(uv) == len(points)

    return run


def mutated_zip(rng: np.random.Generator, seeds: list[bytes]) -> bytes:
    """Mutate the container, or a member inside a container that stays sound, so that its checksum does not save us."""
    if rng.random() < 0.4:
        return mutated(rng, seeds)
    with zipfile.ZipFile(io.BytesIO(seeds[rng.integers(len(seeds))])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    victim = sorted(members)[rng.integers(len(members))]
    members[victim] = mutated(rng, [members[victim]])
    if rng.random() < 0.1:
        del members[victim]
    if rng.random() < 0.2:
        about = {"unit": [], "up": "q", "group_names": {"x": 1}} if rng.random() < 0.5 else [[[1]]]
        members["about.npy"] = npy_bytes(np.frombuffer(json.dumps(about).encode(), np.uint8))
    out = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if rng.random() < 0.3 else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def npy_bytes(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def target_named(name: str, folder) -> Target:
    if name == "npz":
        return Target(name, written(npz), read_strands(npz.parse), mutated_zip)
    strands = {
        "hair": (lambda: written(hair), hair.parse),
        "data": (lambda: written(data), data.parse),
        "bin": (bin_files, ct2hair.parse),
        "tfx": (tfx_files, tfx.parse),
        "npy": (npy_files, npy.parse),
        "ply": (lambda: [strand_ply(f) for f in ply.BYTE_ORDERS] + [bare_ply()], ply.parse),
    }
    if name in strands:
        seeds, parse = strands[name]
        return Target(name, seeds(), read_strands(parse))
    suffix = name.removeprefix("mesh ")
    seeds = obj_files() if suffix == "obj" else mesh_files(suffix)
    return Target(name, seeds, read_mesh_of(f".{suffix}", folder))


STRAND_TARGETS = ("hair", "data", "bin", "tfx", "npy", "npz", "ply")
MESH_TARGETS = ("mesh obj", "mesh ply", "mesh stl", "mesh glb")


@pytest.mark.parametrize("name", STRAND_TARGETS + MESH_TARGETS)
def test_seeds_are_read(name, tmp_path):
    """Without this, a reader that refuses everything would pass."""
    target = target_named(name, tmp_path)
    for content in target.seeds:
        target.run(content)


@pytest.mark.parametrize("name", STRAND_TARGETS + MESH_TARGETS)
def test_short_attack(name, tmp_path):
    outcomes = attack(target_named(name, tmp_path), count=SHORT_RUN, seed=1)
    assert outcomes["refused"] > 0


@pytest.mark.stress
@pytest.mark.parametrize("name", STRAND_TARGETS + MESH_TARGETS)
def test_long_attack(name, tmp_path):
    outcomes = attack(target_named(name, tmp_path), count=LONG_RUN, seed=2)
    assert sum(outcomes.values()) == LONG_RUN
    assert min(outcomes.values()) > 0, "mutations should leave some files readable and some not"

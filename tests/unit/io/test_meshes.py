"""Meshes in and out: OBJ, PLY, STL and glTF."""

import json
import os
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mane.body.mesh import Mesh
from mane.io import RepairNotice, read_mesh, write_mesh

CUBE = np.asarray([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
QUADS = np.asarray([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
TRIANGLES = np.concatenate([QUADS[:, [0, 1, 2]], QUADS[:, [0, 2, 3]]])


def cube() -> Mesh:
    return Mesh(CUBE, TRIANGLES)


def trimesh_file(path, mesh=None):
    import trimesh

    mesh = mesh or cube()
    trimesh.Trimesh(mesh.points, mesh.faces, process=False).export(path)
    return path


@st.composite
def meshes(draw):
    """A random fan of triangles, with UVs or without."""
    count = draw(st.integers(3, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = (rng.normal(size=(count, 3)) * 10.0 ** draw(st.integers(-4, 4))).astype(np.float32)
    faces = np.stack([np.zeros(count - 2, int), np.arange(1, count - 1), np.arange(2, count)], axis=1)
    return Mesh(points, faces, rng.random((count, 2)) if draw(st.booleans()) else None)


@pytest.mark.parametrize("suffix", [".obj", ".ply"])
@given(mesh=meshes())
def test_round_trip_to_the_last_bit(suffix, mesh, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"round_trip{suffix}"
    write_mesh(path, mesh)
    back = read_mesh(path)
    assert back.points.tobytes() == mesh.points.tobytes()
    assert back.faces.tolist() == mesh.faces.tolist()
    assert (back.uv is None) == (mesh.uv is None)
    if mesh.uv is not None:
        assert back.uv.tobytes() == mesh.uv.tobytes()


@pytest.mark.parametrize("suffix", [".obj", ".ply"])
def test_units_and_axes(suffix, tmp_path):
    path = tmp_path / f"a{suffix}"
    write_mesh(path, cube(), unit="cm", up="z")
    np.testing.assert_allclose(read_mesh(path).points, CUBE[:, [0, 2, 1]] * [100, -100, 100], rtol=1e-6)
    back = read_mesh(path, unit="cm", up="z")
    np.testing.assert_allclose(back.points, CUBE, atol=1e-7)
    assert back.volume == pytest.approx(1.0, rel=1e-5)  # a turn, not a mirror: still facing out


@pytest.mark.parametrize("suffix", [".obj", ".ply", ".stl", ".glb"])
def test_a_closed_surface_stays_closed_whatever_the_exporter_split(suffix, tmp_path):
    import trimesh

    corners = CUBE[TRIANGLES].reshape(-1, 3)  # every triangle with vertices of its own
    soup = trimesh.Trimesh(corners, np.arange(len(corners)).reshape(-1, 3), process=False)
    soup.export(tmp_path / f"a{suffix}")
    mesh = read_mesh(tmp_path / f"a{suffix}")
    assert mesh.is_closed
    assert mesh.vertex_count == 8
    assert mesh.volume == pytest.approx(1.0, rel=1e-6)
    assert read_mesh(tmp_path / f"a{suffix}", weld=False).vertex_count == 36


def test_obj_polygons_comments_and_numbers_from_behind(tmp_path):
    path = tmp_path / "a.obj"
    path.write_text(
        "# a pentagon and a triangle\nmtllib none.mtl\no thing\n"
        "v 0 0 0\nv 2 0 0\nv 3 1 0 # with a comment\nv 1 2 0\nv -1 1 0 1.0\nvn 0 0 1\n"
        "usemtl red\nf 1//1 2//1 \\\n3//1 4//1 5//1\nv 0 0 5\nf -1 -6 -5\n"
    )
    mesh = read_mesh(path)
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4], [5, 0, 1]]
    assert mesh.points[:, 2].tolist() == [0, 0, 0, 0, 0, 5]


SEAM = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvt 0.5 0.5\nf 1/1 2/2 3/3\nf 1/1 3/{} 4/4\n"


def test_obj_texture_coordinates_are_kept_where_each_vertex_has_one(tmp_path):
    (tmp_path / "a.obj").write_text(SEAM.format(3))
    assert read_mesh(tmp_path / "a.obj").uv.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]


def test_obj_seams_are_joined_without_uvs_or_split_with_them(tmp_path):
    (tmp_path / "a.obj").write_text(SEAM.format(5))
    joined = read_mesh(tmp_path / "a.obj")
    assert (joined.vertex_count, joined.uv) == (4, None)
    split = read_mesh(tmp_path / "a.obj", weld=False)
    assert split.vertex_count == 5
    corners = split.uv[split.faces[1]].tolist()
    assert corners == [[0, 0], [0.5, 0.5], [0, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v 0 0 0\n", "the file has no faces"),
        ("v 0 0 0\nv 1 0 0\nf 1 2\n", "line 3: a face must have three corners or more, got 2"),
        ("v 0 0 0\nf 1 2 3\n", "faces must name the 1 vertices of the file, got number 2 in triangle 0"),
        ("v 0 0 0\nf 1 1 0\n", "line 2: a corner must name a vertex, counted from 1, got '0'"),
        ("v 0 0 0\nf 1 1 -9\n", "faces must name the 1 vertices of the file, got number 0"),
        ("v 0 0 0\nf 1 1 99999999999999999999\n", "must name a vertex"),
        ("v 0 0 0\nf a b c\n", "line 2: a corner must be whole numbers"),
        ("v 0 zero 0\nf 1 1 1\n", "every v line must have 3 numbers"),
        ("v 0 0\nf 1 1 1\n", "every v line must have 3 numbers"),
        ("v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n", "must be finite, got nan at index 1"),
        ("v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "has no triangle with an area"),
    ],
)
def test_obj_that_is_damaged_is_refused(text, message, tmp_path):
    (tmp_path / "a.obj").write_text(text)
    with pytest.raises(ValueError, match=rf"a\.obj: .*{message}"):
        read_mesh(tmp_path / "a.obj")


def test_triangles_without_area_are_left_out_and_counted(tmp_path):
    path = tmp_path / "a.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 2 0 0\nf 1 2 3\nf 1 2 4\nf 1 1 2\n")
    with pytest.warns(RepairNotice, match=r"2 of 3 triangles have no area and were left out \(first: triangle 1\)"):
        mesh = read_mesh(path)
    assert mesh.faces.tolist() == [[0, 1, 2]]


def test_parts_of_a_gltf_scene_are_put_where_they_belong(tmp_path):
    import trimesh

    mesh = cube()
    part = trimesh.Trimesh(mesh.points, mesh.faces, process=False)
    scene = trimesh.Scene()
    scene.add_geometry(part, transform=trimesh.transformations.translation_matrix([5, 0, 0]))
    scene.add_geometry(part, transform=np.diag([-2.0, 2.0, 2.0, 1.0]))  # a mirror
    scene.export(tmp_path / "a.glb")
    both = read_mesh(tmp_path / "a.glb")
    assert both.vertex_count == 16
    assert both.volume == pytest.approx(1 + 8, rel=1e-5)  # negative for the mirrored part if it faced inwards
    np.testing.assert_allclose(both.bounds, [[-2, 0, 0], [6, 2, 2]], atol=1e-6)


def gltf_with_buffer(uri):
    return json.dumps(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
            "accessors": [
                {
                    "bufferView": 0,
                    "componentType": 5126,
                    "count": 3,
                    "type": "VEC3",
                    "min": [0, 0, 0],
                    "max": [1, 1, 0],
                },
                {"bufferView": 1, "componentType": 5125, "count": 3, "type": "SCALAR"},
            ],
            "bufferViews": [
                {"buffer": 0, "byteOffset": 0, "byteLength": 36},
                {"buffer": 0, "byteOffset": 36, "byteLength": 12},
            ],
            "buffers": [{"uri": uri, "byteLength": 48}],
        }
    )


@pytest.mark.parametrize("uri", ["../secret.bin", "/etc/passwd", "http://localhost/x.bin", "file:///etc/passwd"])
def test_a_gltf_reads_only_the_files_beside_it(uri, tmp_path):
    buffer = np.asarray([0, 0, 0, 1, 0, 0, 0, 1, 0], "<f4").tobytes() + struct.pack("<3I", 0, 1, 2)
    (tmp_path / "scene").mkdir()
    (tmp_path / "secret.bin").write_bytes(buffer)
    (tmp_path / "scene" / "beside.bin").write_bytes(buffer)
    path = tmp_path / "scene" / "a.gltf"
    path.write_text(gltf_with_buffer("beside.bin"))
    assert read_mesh(path).face_count == 1
    path.write_text(gltf_with_buffer(uri))
    with pytest.raises(ValueError, match=r"a\.gltf: cannot be read as \.gltf"):
        read_mesh(path)


@pytest.mark.parametrize("suffix", [".obj", ".ply", ".stl", ".glb", ".gltf"])
def test_no_mesh_at_all(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_mesh(path)
    path.write_bytes(b"garbage, certainly no mesh; " * 20)
    with pytest.raises(ValueError, match=rf"x\{suffix}: ") as caught:
        read_mesh(path)
    assert "\n" not in str(caught.value)
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_mesh(path)


@pytest.mark.parametrize("suffix", [".ply", ".stl", ".glb"])
def test_a_mesh_that_is_cut_short_is_refused(suffix, tmp_path):
    path = trimesh_file(tmp_path / f"x{suffix}")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(ValueError, match=rf"x\{suffix}: cannot be read as \{suffix}"):
        read_mesh(path)


def test_a_mesh_is_named_as_what_it_is(tmp_path):
    path = trimesh_file(tmp_path / "x.glb").rename(tmp_path / "x.ply")
    with pytest.raises(ValueError, match=r"x\.ply: is a \.glb file by its contents, not \.ply; rename it"):
        read_mesh(path)


def test_writing_refused_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"mane can write as a mesh; choose from \.obj, \.ply"):
        write_mesh(tmp_path / "a.stl", cube())
    with pytest.raises(ValueError, match="up: 'w' is unknown"):
        write_mesh(tmp_path / "a.obj", cube(), up="w")
    assert os.listdir(tmp_path) == []

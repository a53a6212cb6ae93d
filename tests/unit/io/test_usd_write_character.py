"""A skinned mesh written as UsdSkel: read back, and by OpenUSD's own baking, its points are where mane has them."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rig_files import baked, leg, upright, weights_of
from usd_files import faults

from mane.body.mesh import Mesh
from mane.geometry import quaternion
from mane.io.notices import LossNotice
from mane.io.usd import read_usd_body, write_usd_character
from mane.io.usd.triangulate import triangulate

TIMES = np.array([0.0, 0.25, 0.5, 1.0])
TOLERANCE = 1e-5  # [m]


def transform(rotation, translation, scale):
    matrix = np.eye(4)
    matrix[:3, :3] = quaternion.to_matrix(rotation) * scale
    matrix[:3, 3] = translation
    return matrix


def chain(local):
    """World transforms (3, 4, 4) of joints that hang one below the other."""
    world = [local[0]]
    for matrix in local[1:]:
        world.append(world[-1] @ matrix)
    return np.array(world)


def character(seed=0, shapes=("bulge", "lean to the left")):
    """A leg on three joints whose own axes are turned, with blend shapes."""
    rng = np.random.default_rng(seed)
    points, quads = leg()
    indices = np.array([corner for quad in quads for corner in quad])
    faces, _ = triangulate(points, np.full(len(quads), 4), indices)
    rest = np.array([transform(quaternion.random(1, rng)[0], (0.1, 0.2 + 0.6 * (i > 0), 0.05), 1.0) for i in range(3)])
    skeleton = SimpleNamespace(
        names=("hip", "left knee", "ankle"),
        parents=np.array([-1, 0, 1]),
        rest_transforms=rest,
        bind_transforms=chain(rest),
    )
    joints, weights = weights_of(points)
    offsets = [np.where(points[:, 1:2] > 0.7 + i, rng.normal(size=points.shape) * 0.1, 0) for i in range(len(shapes))]
    return SimpleNamespace(
        mesh=Mesh(points, faces, rng.random((len(points), 2))),
        skeleton=skeleton,
        joint_indices=joints,
        joint_weights=weights,
        blend_shapes=[SimpleNamespace(name=name, offsets=o) for name, o in zip(shapes, offsets, strict=True)],
    )


def motion(skinned, seed=1, scales=None):
    rng = np.random.default_rng(seed)
    shape = (len(TIMES), 3)
    return SimpleNamespace(
        times=TIMES,
        rotations=quaternion.random(len(TIMES) * 3, rng).reshape(*shape, 4),
        translations=(rng.normal(size=(*shape, 3)) * 0.2).astype(np.float32),
        scales=None if scales is None else np.broadcast_to(np.asarray(scales, np.float32), (*shape, 3)),
        blend_weights=rng.random((len(TIMES), len(skinned.blend_shapes))).astype(np.float32),
    )


def skinned_points(skinned, animation, sample):
    """Linear blend skinning as in a textbook."""
    scales = np.ones((3, 3)) if animation.scales is None else animation.scales[sample]
    local = [
        transform(*parts)
        for parts in zip(animation.rotations[sample], animation.translations[sample], scales, strict=True)
    ]
    moves = chain(local) @ np.linalg.inv(skinned.skeleton.bind_transforms)
    points = skinned.mesh.points.astype(np.float64)
    for weight, shape in zip(animation.blend_weights[sample], skinned.blend_shapes, strict=True):
        points = points + weight * shape.offsets
    blended = np.einsum("nk,nkij->nij", skinned.joint_weights, moves[skinned.joint_indices])
    return np.einsum("nij,nj->ni", blended[:, :3, :3], points) + blended[:, :3, 3]


@pytest.mark.parametrize(
    "units", [{}, {"unit": "cm", "up": "z"}, {"unit": 0.5, "up": "z"}], ids=["m", "cm z", "half z"]
)
@pytest.mark.parametrize("scales", [None, (1.0, 1.5, 0.75)], ids=["unscaled", "scaled"])
def test_what_is_written_is_read_back(tmp_path, units, scales):
    skinned = character()
    animation = motion(skinned, scales=scales)
    path = tmp_path / "a.usdc"
    write_usd_character(path, skinned, animation, **units, time_codes_per_second=30, start=101)
    body = read_usd_body(path)
    assert body.times.tolist() == [101, 108.5, 116, 131]
    assert (body.start, body.timing.time_codes_per_second) == (101, 30)
    assert_array_equal(body.faces, skinned.mesh.faces)
    assert_array_equal(body.mesh().uv, skinned.mesh.uv)
    assert_allclose(body.rest_points(), skinned.mesh.points, atol=TOLERANCE)
    for sample, code in enumerate(body.times.tolist()):
        assert_allclose(body.points(code), skinned_points(skinned, animation, sample), atol=TOLERANCE)
    assert faults(path) == []


def test_openusd_agrees(tmp_path):
    skinned = character()
    animation = motion(skinned)
    write_usd_character(tmp_path / "a.usda", skinned, animation, unit="cm", up="z", start=0)
    theirs = baked(tmp_path / "a.usda", ["/Character/Body"], (24 * TIMES).tolist())
    for sample, time in enumerate(TIMES):
        expected = skinned_points(skinned, animation, sample)
        assert_allclose(upright(theirs["/Character/Body", 24 * time], 0.01, "Z"), expected, atol=TOLERANCE)


def test_without_an_animation_it_stands_as_it_rests(tmp_path):
    skinned = character(shapes=())
    write_usd_character(tmp_path / "a.usda", skinned)
    body = read_usd_body(tmp_path / "a.usda")
    assert len(body.times) == 0
    assert_allclose(body.points(), skinned.mesh.points, atol=TOLERANCE)


def test_scales_that_half_precision_loses_are_told(tmp_path):
    skinned = character()
    with pytest.warns(LossNotice, match=r"scales of joints are off by up to 0.00"):
        write_usd_character(tmp_path / "a.usda", skinned, motion(skinned, scales=(1.0, 1.1, 1.0)))


def test_joints_of_one_name_are_refused(tmp_path):
    skinned = character()
    skinned.skeleton.names, skinned.skeleton.parents = ("hip", "a b", "a-b"), np.array([-1, 0, 0])
    with pytest.raises(ValueError, match=r"skeleton\.names: must differ below one parent, got two joints 'hip/a_b'"):
        write_usd_character(tmp_path / "a.usda", skinned)
    assert not (tmp_path / "a.usda").exists()

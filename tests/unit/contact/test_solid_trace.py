"""The first place where a path meets a solid: against the path sampled densely, and against Solid's own distance."""

import numpy as np
import pytest

from mane.body.packed import PackedSolid
from mane.body.sdf import build_sdf
from mane.body.shapes import Box, Capsule, Plane, Sphere, Torus, Union
from mane.body.solid import Solid
from mane.contact.solids import _kernels_trace as kernels
from mane.contact.solids.clearance import MAX_INNER, inner_places

SHAPES = Union(
    [
        Sphere((0.2, 0.1, 0.0), 0.15),
        Capsule((-0.4, -0.2, 0.1), (-0.1, 0.3, -0.2), 0.05),
        Box((0.3, -0.3, 0.2), (0.1, 0.15, 0.05), rounding=0.02),
        Torus((-0.2, -0.4, -0.3), (0.3, 1.0, 0.2), 0.2, 0.06),
    ]
)


def test_a_path_is_met_where_dense_samples_first_go_inside():
    rng = np.random.default_rng(2)
    starts, ends = rng.uniform(-0.6, 0.6, (2, 400, 3))
    path = starts[:, None] + np.linspace(0, 1, 1001)[:, None] * (ends - starts)[:, None]
    sampled = SHAPES.distance(path.reshape(-1, 3)).reshape(400, -1)
    solid = PackedSolid.of(Solid(SHAPES)).arrays
    met = 0
    for start, end, along in zip(starts, ends, sampled, strict=True):
        near, meets, x, y, z, distance, *_ = kernels.trace_solid(solid, -1, 0.0, *start, *end)
        assert near == pytest.approx(float(along[0]), abs=1e-6)
        if not meets:
            assert along.min() > -1e-3 * np.linalg.norm(end - start)
        elif near > 0:
            met += 1
            share = np.linalg.norm(np.array([x, y, z]) - start) / np.linalg.norm(end - start)
            # A search goes into the tube of the torus by up to a quarter of its radius, into other shapes not at all.
            overshoot = 0.25 * 0.06
            assert along[: int(share * 1000)].min(initial=np.inf) > -overshoot
            assert -overshoot < distance < 1.1e-3 * np.linalg.norm(end - start)
    assert met > 40


@pytest.mark.parametrize(
    ("shape", "feature"),
    [
        (Sphere((0, 0, 0), 0.1), 0.1),
        (Union([Sphere((0, 0, 0), 0.1), Capsule((0, 0, 0), (1, 0, 0), 0.002)]), 0.002),
        (Box((0, 0, 0), (0.3, 0.02, 0.5), rounding=0.01), 0.02),
        (Torus((0, 0, 0), (0, 1, 0), 0.2, 0.03), 0.03),
        (Plane((0, 0, 0), (0, 1, 0)), np.inf),
    ],
)
def test_the_thinnest_part_of_a_shape_is_known(shape, feature):
    assert PackedSolid.of(Solid(shape)).feature == pytest.approx(feature, rel=1e-6)


def feature_of(shape):
    mesh = shape.mesh(32)
    field = build_sdf(mesh, 48, cache=False)
    return PackedSolid.of(Solid(mesh, field=field)).feature, field.cell_size


def test_the_thickness_of_a_mesh_is_measured():
    ball, cell = feature_of(Sphere((0, 0, 0), 0.1))
    assert ball == pytest.approx(0.1, abs=2.5 * cell)
    # A plate counts as thinner than it is, for its rim, but not as thin as a cell.
    plate, cell = feature_of(Box((0, 0, 0), (0.1, 0.02, 0.1)))
    assert 1.5 * cell < plate < 0.02 + cell


def test_thin_solids_are_tested_between_vertices():
    tooth = PackedSolid.of(Solid(Capsule((0, 0, 0), (0, 1, 0), 5e-4))).feature
    assert inner_places(tooth, 0.008, 0.0) == 15
    assert inner_places(tooth, 0.008, 5e-4) == 7  # a layer around it makes it thicker
    assert inner_places(tooth, 4e-4, 0.0) == 0
    assert inner_places(tooth, 1.0, 0.0) == MAX_INNER
    assert inner_places(PackedSolid.of(Solid(Plane((0, 0, 0), (0, 1, 0)))).feature, 1.0, 0.0) == 0

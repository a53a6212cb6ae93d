"""Shapes: exact distances against plain formulas, gradients that lead to the surface, meshes that close."""

import numpy as np
import pytest

from mane.body import _reference as reference
from mane.body._kernels_shapes import shape_distance
from mane.body.mesh import Mesh
from mane.body.shapes import Box, Capsule, Plane, Shape, Sphere, Torus, Union

TURN = (0.1, -0.5, 0.3, 0.8)
EXACT = {
    "sphere": Sphere((0.1, -0.2, 0.3), 0.7),
    "capsule": Capsule((-0.5, 0.1, 0.0), (0.6, 0.4, -0.2), 0.25),
    "box": Box((0.2, 0.0, -0.1), (0.3, 0.6, 0.4), TURN),
    "rounded box": Box((0.2, 0.0, -0.1), (0.3, 0.6, 0.4), TURN, rounding=0.1),
    "box that is a ball": Box((0.0, 0.1, 0.0), (0.5, 0.5, 0.5), TURN, rounding=0.5),
    "plane": Plane((0.0, -0.3, 0.0), (0.2, 1.0, -0.1)),
    "torus": Torus((0.0, 0.2, 0.1), (1.0, 2.0, -0.5), 0.6, 0.2),
}
OVERLAPPING = Union([EXACT["sphere"], EXACT["capsule"], EXACT["torus"]])
CLOSED = {name: shape for name, shape in EXACT.items() if name != "plane"}

# Coordinates reach 3 and each formula rounds a dozen times: 12 x 3 x 6e-8.
ROUNDING = 2e-6


def some_points(count=2000, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, (count, 3)).astype(np.float32)


@pytest.mark.parametrize("shape", [*EXACT.values(), OVERLAPPING], ids=[*EXACT, "union"])
def test_distance_is_that_of_the_formula(shape):
    points = some_points()
    distance = shape.distance(points)
    assert distance.dtype == np.float32
    assert distance.min() < -0.05
    np.testing.assert_allclose(distance, reference.shape_distance(shape, points.astype(float)), atol=ROUNDING)


@pytest.mark.parametrize("shape", EXACT.values(), ids=EXACT)
def test_gradient_leads_to_the_surface(shape):
    """An exact distance d with gradient g has its closest surface point at p - d g, inside and outside."""
    points = some_points()
    distance, gradient = shape.distance_and_gradient(points)
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(shape.distance(points - distance[:, None] * gradient), 0, atol=2 * ROUNDING)


@pytest.mark.parametrize(
    ("shape", "point"),
    [
        (EXACT["sphere"], EXACT["sphere"].center),
        (EXACT["capsule"], EXACT["capsule"].start),
        (Capsule((0, 0, 0), (0, 1, 0), 0.2), (0, 0.5, 0)),
        (Box((0, 0, 0), (0.1, 0.2, 0.3)), (0, 0, 0)),
        (EXACT["box that is a ball"], EXACT["box that is a ball"].center),
        (Torus((0, 0, 0), (0, 1, 0), 1.0, 0.3), (1, 0, 0)),
        (Torus((0, 0, 0), (0, 1, 0), 1.0, 0.3), (0, 0, 0)),
    ],
    ids=["sphere", "capsule end", "capsule axis", "box", "ball box", "torus circle", "torus middle"],
)
def test_where_there_is_no_gradient_one_leads_out_all_the_same(shape, point):
    points = np.array([point], np.float32)
    distance, gradient = shape.distance_and_gradient(points)
    np.testing.assert_allclose(np.linalg.norm(gradient), 1, atol=1e-6)
    np.testing.assert_allclose(shape.distance(points - distance[:, None] * gradient), 0, atol=ROUNDING)


def test_union_is_exact_outside_and_never_too_deep_inside():
    """Two boxes that overlap make one longer box, whose distance is known."""
    union = Union([Box((-0.4, 0, 0), (0.6, 0.5, 0.5)), Box((0.4, 0, 0), (0.6, 0.5, 0.5))])
    whole = Box((0, 0, 0), (1.0, 0.5, 0.5))
    points = 0.6 * some_points()
    parts, exact = union.distance(points), whole.distance(points)
    outside = exact > 0
    np.testing.assert_allclose(parts[outside], exact[outside], atol=ROUNDING)
    assert (parts[~outside] <= ROUNDING).all()
    assert (parts[~outside] >= exact[~outside] - ROUNDING).all()
    assert (parts[~outside] > exact[~outside] + 0.05).any(), "a bound only, as documented"


def test_union_takes_unions_apart_and_packs_in_order():
    nested = Union([Union([EXACT["sphere"], EXACT["box"]]), EXACT["torus"]])
    assert nested.shapes == (EXACT["sphere"], EXACT["box"], EXACT["torus"])
    kinds, params = nested.pack()
    assert kinds.dtype == np.int32
    assert kinds.shape == (3,)
    assert params.dtype == np.float32
    assert params.shape == (3, 16)
    np.testing.assert_array_equal(params[1], EXACT["box"].pack()[1][0])


def test_scalar_function_gives_what_the_shapes_give():
    points = some_points(20)
    table = OVERLAPPING.pack()
    expected, gradient = OVERLAPPING.distance_and_gradient(points)
    for point, distance, direction in zip(points, expected, gradient, strict=True):
        d, *g = shape_distance(*table, *point)
        assert d == pytest.approx(distance, abs=ROUNDING)
        assert g == pytest.approx(direction.tolist(), abs=1e-5)


@pytest.mark.parametrize("shape", CLOSED.values(), ids=CLOSED)
@pytest.mark.parametrize("resolution", [4, 7, 48])
def test_mesh_is_closed_faces_out_and_has_its_corners_on_the_surface(shape, resolution):
    mesh = shape.mesh(resolution)
    assert mesh.is_closed
    assert mesh.volume > 0
    np.testing.assert_allclose(shape.distance(mesh.points), 0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        (Sphere((0, 1, 0), 0.5), 4 / 3 * np.pi * 0.5**3),
        (Capsule((0, 0, 0), (1, 0, 0), 0.5), 4 / 3 * np.pi * 0.5**3 + np.pi * 0.5**2),
        (Torus((0, 0, 0), (0, 1, 0), 1.0, 0.25), 2 * np.pi**2 * 0.25**2),
        (Box((0, 0, 0), (0.5, 0.4, 0.3), TURN), 8 * 0.5 * 0.4 * 0.3),
        (Box((0, 0, 0), (0.5, 0.5, 0.5), rounding=0.5), 4 / 3 * np.pi * 0.5**3),
    ],
    ids=["sphere", "capsule", "torus", "box", "ball box"],
)
def test_mesh_volume_tends_to_the_formula(shape, volume):
    """A regular n-gon lacks 2/3 (pi/n)^2 of its circle's area; with n/2 around a tube, five times that in all."""
    resolution = 64
    lack = 5 * 2 / 3 * (np.pi / resolution) ** 2
    assert volume * (1 - lack) <= shape.mesh(resolution).volume <= volume * (1 + 1e-6)


@pytest.mark.parametrize("shape", CLOSED.values(), ids=CLOSED)
def test_bounds_hold_the_mesh_tightly(shape):
    bounds, mesh = shape.bounds, shape.mesh(96).bounds
    assert (mesh[0] >= bounds[0] - ROUNDING).all()
    assert (mesh[1] <= bounds[1] + ROUNDING).all()
    # A facet of the coarsest curve (48 in a turn, radius below 1) stays within its sagitta of the true extreme.
    np.testing.assert_allclose(mesh, bounds, atol=2 * (1 - np.cos(np.pi / 48)))


def test_plane_has_a_square_and_no_bounds():
    plane = Plane((0, 1, 0), (0, 2, 0))
    mesh = plane.mesh(size=3.0)
    np.testing.assert_allclose(mesh.face_normals, [[0, 1, 0]] * 2, atol=1e-6)
    assert mesh.face_areas.sum() == pytest.approx(9)
    assert np.isinf(plane.bounds).all()
    assert np.isinf(Union([plane, EXACT["sphere"]]).bounds).all()


def test_union_mesh_holds_all_parts():
    mesh = OVERLAPPING.mesh(16)
    assert isinstance(mesh, Mesh)
    assert mesh.face_count == sum(shape.mesh(16).face_count for shape in OVERLAPPING.shapes)


def test_shapes_are_values():
    assert Sphere(np.array([0, 1, 2]), 1) == Sphere((0.0, 1.0, 2.0), 1.0)
    assert hash(EXACT["box"]) == hash(Box((0.2, 0.0, -0.1), (0.3, 0.6, 0.4), TURN))
    assert isinstance(EXACT["box"], Shape)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sphere((0, 0, 0), 0), r"sphere\.radius: must be above 0, got 0"),
        (lambda: Sphere((0, np.nan, 0), 1), r"sphere\.center: must be finite, got nan at index 1"),
        (lambda: Sphere((0, 0), 1), r"sphere\.center: must have shape \(3,\), got \(2,\)"),
        (lambda: Capsule((0, 0, 0), (0, 0, 0), 1), r"capsule\.end: must differ from start"),
        (lambda: Box((0, 0, 0), (1, -1, 1)), r"box\.half_size\.y: must be a finite number above zero"),
        (lambda: Box((0, 0, 0), (1, 1, 1), (0, 0, 0, 0)), r"box\.rotation: must be a quaternion with a length"),
        (lambda: Box((0, 0, 0), (1, 2, 3), rounding=1.5), r"box\.rounding: must be between 0 and .* 1\.0, got 1\.5"),
        (lambda: Plane((0, 0, 0), (0, 0, 0)), r"plane\.normal: must be a direction with a length"),
        (lambda: Torus((0, 0, 0), (0, 1, 0), 1, 1), r"torus\.minor_radius: must be below the major radius"),
        (lambda: Union([]), r"union\.shapes: must hold at least one shape"),
        (lambda: Union([1]), r"union\.shapes: must be shapes, got int at index 0"),
        (lambda: EXACT["sphere"].mesh(3), r"resolution: must be at least 4"),
        (lambda: EXACT["sphere"].distance([[0, 0, np.inf]]), r"points: must be finite, got inf at index 0"),
    ],
)
def test_bad_input_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_threads_change_no_byte(on_threads):
    points = some_points()
    on_threads(lambda: (OVERLAPPING.distance(points), OVERLAPPING.distance_and_gradient(points)))

"""`render` as a whole: what hides, shades and lights what; what must not matter; and requests that cannot be met."""

import numpy as np
import pytest

from mane.body.mesh import Mesh
from mane.body.shapes import Sphere
from mane.groom.groom import Groom
from mane.render.camera import Camera
from mane.render.lights import AmbientLight, DirectionalLight, PointLight, SpotLight
from mane.render.looks import Look
from mane.render.renderer import render

SIZE = (96, 64)
FRONT = Camera((0.0, 0.0, 2.0), (0.0, 0.0, 0.0))  # the picture is 0.92 m high
BLACK = (0.0, 0.0, 0.0)
HEAD_ON = (DirectionalLight((0.0, 0.0, 1.0)),)
PLAIN = Look(model="kajiya", variation=0.0)
MIDDLE = (slice(24, 40), slice(36, 60))


def square(half, z):
    corners = [[-half, -half, z], [half, -half, z], [half, half, z], [-half, half, z]]
    return Mesh(corners, [[0, 1, 2], [0, 2, 3]])


def strand(*points):
    return Groom.from_strands([np.array(points, np.float32)])


def fleece(count, seed=5, thickness=0.2, extent=0.4):
    """Short hairs scattered in a slab facing the camera."""
    rng = np.random.default_rng(seed)
    middle = rng.uniform([-extent, -extent, 0.0], [extent, extent, thickness], (count, 3))
    half = rng.normal(0.0, [0.03, 0.03, 0.01], (count, 3))
    bend = rng.normal(0.0, 0.004, (count, 3))
    return Groom.from_uniform(np.stack([middle - half, middle + bend, middle + half], axis=1).astype(np.float32))


def linear(*arguments, **options):
    settings = {"camera": FRONT, "size": SIZE, "background": None, "tone": "linear", "lights": HEAD_ON} | options
    return render(*arguments, **settings)


def test_white_square_in_white_light_is_white():
    """An intensity of 1 makes a white matte surface facing the light white; its sheen adds the 4 % of its fresnel
    at its height of (18 + 8) / 8 times the gloss of 0.7, over pi times pi."""
    light = linear(body=square(0.3, 0.0), body_color=(1.0, 1.0, 1.0))
    wrap = np.array([0.24, 0.12, 0.08])
    expected = (1.0 + wrap) / (1.0 + wrap) ** 2 + 0.7 * 0.04 * 26 / 8
    np.testing.assert_allclose(light[32, 48, :3], expected, rtol=0.01)
    assert light[32, 48, 3] == 1.0
    assert not light[0, 0].any()


def test_open_sky_lights_a_level_square_by_its_two_colours():
    """Of the sky's colour (1 + y) / 2, weighted by the cosine y: 1/2 + 1/3 in all, and 1/6 of the ground's."""
    ground = Mesh([[-1, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1]], [[0, 1, 2], [0, 2, 3]])
    above = Camera((0.0, 2.0, 0.0), (0.0, 0.0, 0.0))
    light = linear(body=ground, body_color=(1, 1, 1), camera=above, lights=[AmbientLight((1, 0, 0), (0, 1, 0))])
    # 48 directions on a spiral integrate a smooth function to some percent.
    np.testing.assert_allclose(light[32, 48, :3], [5 / 6, 1 / 6, 0.0], atol=0.03)


def test_a_fourth_column_of_the_colour_is_gloss():
    """A black ball shows its highlight alone: none where it is matte, the usual one with gloss 1."""
    ball = Sphere((0, 0, 0), 0.1).mesh(24)
    black = np.zeros((ball.vertex_count, 4), np.float32)
    matte = linear(body=ball, body_color=black)
    black[:, 3] = 1.0
    glossy, usual = linear(body=ball, body_color=black), linear(body=ball, body_color=(0.0, 0.0, 0.0))
    assert matte[..., :3].max() == 0
    assert glossy[..., :3].max() > 0.01
    np.testing.assert_allclose(glossy, usual, atol=1e-6)


def test_triangles_that_share_an_edge_leave_no_gap():
    """A fan around a point of the picture, every sample of it seen once: no seam, whatever the edges' directions."""
    angle = np.linspace(0.0, 2 * np.pi, 38)[:-1]
    rim = np.column_stack([2 * np.cos(angle), 2 * np.sin(angle), np.zeros(37)])
    rng = np.random.default_rng(0)
    numbers = rng.permutation(38)  # so that edges run both ways through the numbers of their ends
    points = np.empty((38, 3), np.float32)
    points[numbers] = np.concatenate([[[1 / 128, -1 / 128, 0.0]], rim])
    faces = numbers[[[0, k + 1, (k + 1) % 37 + 1] for k in range(37)]]
    assert (linear(body=Mesh(points, faces), supersample=4)[:, :, 3] == 1.0).all()


def test_lights_add_up():
    groom, mesh = fleece(800), square(0.45, -0.05)
    lights = [
        DirectionalLight((0.3, 0.5, 1.0), (1.0, 0.5, 0.2), 0.8),
        PointLight((0.3, 0.6, 1.0), (0.2, 1.0, 0.3), 0.7),
        SpotLight((-0.5, 0.3, 1.2), (0.3, 0.3, 1.0), 1.5, look_at=(0, 0, 0), angle=0.25),
        AmbientLight((0.2, 0.3, 0.4), (0.1, 0.1, 0.1)),
    ]
    alone = sum(linear(groom, mesh, lights=[light], look=PLAIN)[:, :, :3].astype(np.float64) for light in lights)
    together = linear(groom, mesh, lights=lights, look=PLAIN)[:, :, :3]
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-6)
    assert alone.max() > 0.3


def test_point_light_falls_with_the_square_of_the_distance():
    near, far = (
        linear(body=square(0.05, 0.0), lights=[PointLight((0.0, 0.0, d), has_shadow=False)])[32, 48, 0] for d in (1, 2)
    )
    assert near / far == pytest.approx(4.0, rel=0.01)


def test_spot_lights_its_cone_only():
    spot = SpotLight((0.0, 0.0, 1.0), look_at=(0.0, 0.0, 0.0), angle=0.15, edge=0.2)
    light = linear(body=square(0.45, 0.0), lights=[spot])[:, :, 0]
    radius = np.tan(0.15) * 64 / (2 * 2 * np.tan(0.225))  # of the cone on the square [pixels]
    row, column = np.mgrid[:64, :96]
    distance = np.hypot(row - 31.5, column - 47.5)
    covered = (np.abs(row - 31.5) < 30) & (np.abs(column - 47.5) < 30)
    assert not light[covered & (distance > radius + 1.0)].any()
    assert (light[distance < 0.75 * radius] > 0.3).all()


def test_hair_dims_the_skin_below_it_by_its_coverage():
    mesh, light = square(0.5, -0.1), HEAD_ON
    bare = linear(body=mesh, lights=light)[MIDDLE][:, :, 0].mean()
    shaded = []
    for count in (2000, 6000):
        groom = fleece(count)
        picture = linear(groom, mesh, lights=light, hair_width=2e-3, look=Look(color=(0.001, 0.001, 0.001)))
        shaded.append(picture[MIDDLE][:, :, 0].mean() / bare)
    # Seen along the light, skin shows where hair does not cover it, and there it is lit through exp(-depth): at most
    # what the coverage leaves, squared where the blur of the map makes shadow and hair independent.
    assert 0.05 < shaded[1] < 0.5 * shaded[0] < 0.5


def test_solid_throws_its_shadow_on_hair():
    groom, roof = fleece(1500), square(0.1, 0.5)
    side_view = Camera((0.0, -1.5, 1.3), (0.0, 0.0, 0.1))
    open_light, shaded = (
        linear(groom, body, camera=side_view, look=PLAIN, lights=HEAD_ON) for body in (square(0.1, -0.5), roof)
    )
    # Somewhere under the roof nearly nothing is left, and elsewhere everything is.
    ratio = shaded[:, :, 0] / np.maximum(open_light[:, :, 0], 1e-3)
    seen = open_light[:, :, 0] > 0.01
    # A sixteenth of the slab lies under it.
    assert 0.01 < (ratio[seen] < 0.1).mean() < 0.2
    assert np.median(ratio[seen]) > 0.9


def test_mesh_hides_hair_behind_it_and_not_before_it():
    mesh = square(0.3, 0.0)
    bare = linear(body=mesh)
    behind = strand((-0.2, 0.0, -0.05), (0.2, 0.0, -0.05))
    before = strand((-0.2, 0.0, 0.05), (0.2, 0.0, 0.05))
    np.testing.assert_array_equal(linear(behind, mesh), bare)
    shown = linear(before, mesh, look=Look(color=(0.01, 0.01, 0.01)), hair_width=0.02)
    assert (shown[32, 40:56, 0] < 0.7 * bare[32, 40:56, 0]).all()


@pytest.mark.parametrize("look", ["blond", PLAIN])
def test_shuffled_strands_and_threads_give_the_same_bytes(look, on_threads):
    groom, mesh = fleece(1500), square(0.3, -0.02)
    lights = [
        DirectionalLight((0.3, 0.5, 1.0)),
        PointLight((0.3, 0.6, 1.0)),
        AmbientLight((0.2, 0.3, 0.4), (0.1, 0.1, 0.1)),
    ]
    mixed = groom.take(np.random.default_rng(0).permutation(groom.strand_count))
    picture, shuffled = (
        on_threads(lambda one=one: linear(one, mesh, lights=lights, look=look)) for one in (groom, mixed)
    )
    assert picture[:, :, 3].mean() > 0.3
    np.testing.assert_array_equal(picture, shuffled)
    np.testing.assert_array_equal(picture, linear(groom, mesh, lights=lights, look=look, threads=2))


def test_supersampling_converges():
    groom = fleece(400)
    coarse, fine, finest = (linear(groom, supersample=n, look=PLAIN)[:, :, :3] for n in (1, 2, 4))
    assert np.abs(fine - finest).mean() < 0.8 * np.abs(coarse - finest).mean()
    np.testing.assert_allclose(coarse.mean(), finest.mean(), rtol=0.05)


def test_points_may_come_as_an_array():
    points = fleece(50).as_uniform()
    np.testing.assert_array_equal(
        render(points, camera=FRONT, size=SIZE), render(Groom.from_uniform(points), camera=FRONT, size=SIZE)
    )


def test_background_is_shown_exactly():
    line = strand((0, 0, 0), (0.01, 0, 0))
    picture = render(line, camera=FRONT, size=SIZE, background=(0.2, 0.4, 0.6))
    np.testing.assert_array_equal(picture[0, 0], [51, 102, 153])
    graded = render(line, camera=FRONT, size=SIZE, background=[(1.0, 1.0, 1.0), (0.0, 0.0, 0.0)], tone="srgb")
    np.testing.assert_array_equal(graded[0, 0], [255, 255, 255])
    np.testing.assert_array_equal(graded[-1, 0], [0, 0, 0])
    assert render(line, camera=FRONT, size=SIZE, background=None).shape == (64, 96, 4)


def test_default_camera_shows_everything():
    picture = linear(body=square(3.0, 7.0), camera=None)[:, :, 3] > 0
    assert picture.any()
    assert not picture[[0, -1]].any()
    assert not picture[:, [0, -1]].any()


def test_camera_inside_a_box_sees_its_walls():
    """Triangles that reach behind the eye are cut, not dropped: no hole anywhere."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32)
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    faces = [[q[0], q[a], q[a + 1]] for q in quads for a in (1, 2)]
    inside = Camera((0.1, 0.05, 0.0), (0.3, 0.2, 1.0), fov=1.4)
    light = linear(body=Mesh(corners, faces), camera=inside, lights=[PointLight((0, 0, 0), has_shadow=False)])
    np.testing.assert_array_equal(light[:, :, 3], 1.0)
    assert np.isfinite(light).all()


def test_camera_amid_the_hair_is_no_crash():
    groom = fleece(500)
    for eye in (groom.points[10] + 1e-4, groom.points[30], (0.0, 0.0, 0.1)):
        picture = linear(groom, square(0.3, 0.0), camera=Camera(tuple(eye), (0.0, 0.1, -1.0)))
        assert np.isfinite(picture).all()


def test_nothing_in_sight_is_an_empty_picture():
    away = Camera((0.0, 0.0, 2.0), (0.0, 0.0, 4.0))
    assert not linear(fleece(50), square(0.3, 0.0), camera=away).any()
    assert not linear(strand((0, 0, 0), (0, 0, 0)), camera=FRONT).any()


def test_one_pixel_is_a_picture():
    assert linear(fleece(50), size=(1, 1)).shape == (1, 1, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "render: needs a groom or a body, got neither"),
        ({"body": square(1, 0), "size": (0, 10)}, "size: must be at least 1 x 1 pixels, got 0 x 10"),
        ({"body": square(1, 0), "size": (10**6, 10**6)}, "size: must stay below .* samples"),
        ({"body": square(1, 0), "supersample": 0}, "supersample: must lie between 1 and 8, got 0"),
        ({"body": square(1, 0), "body_color": np.ones((3, 3))}, r"body_color: must have shape \(4, 3\)"),
        ({"body": "head.obj"}, r"body\[0\]: must be a mesh or have one, got str"),
        ({"body": square(1, 0), "background": (1, 2)}, r"background: must have shape \(2, 3\)"),
        ({"body": square(1, 0), "tone": "acid"}, "tone: 'acid' is unknown; choose from filmic, linear, srgb"),
        ({"body": square(1, 0), "renderer": "ray"}, "renderer: 'ray' is unknown"),
        ({"body": square(1, 0), "look": "mauve"}, "look: 'mauve' is unknown; choose from"),
        ({"body": square(1, 0), "lights": ["sun"]}, r"lights\[0\]: must be a light of mane.render.lights, got str"),
        ({"body": square(1, 0), "threads": 0}, "threads: must lie between 1 and"),
        ({"groom": np.zeros((0, 4, 3))}, "must describe at least one strand"),
        ({"groom": np.full((1, 4, 3), np.nan)}, "groom.points: must be finite, got nan at point 0"),
        ({"groom": np.zeros((4, 3))}, r"points: must have shape \(S, V, 3\)"),
        ({"groom": strand((0, 0, 0), (1, 0, 0)), "hair_width": 0.0}, "hair_width: must be a finite number above zero"),
    ],
)
def test_bad_requests_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        render(**({"size": (8, 8)} | arguments))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DirectionalLight((0, 0, 0)), "light.direction: must not be zero"),
        (lambda: DirectionalLight((0, np.nan, 0)), "light.direction: must be finite"),
        (lambda: PointLight((0, 0, 0), intensity=-1.0), "light.intensity: must be a finite number, zero or above"),
        (lambda: PointLight((0, 0, 0), (1, -1, 0)), "light.color: must be zero or above"),
        (lambda: PointLight((0, 0, 0), size=0.0), "light.size: must be a finite number above zero"),
        (lambda: SpotLight((0, 0, 0)), "light.look_at: must differ from the position"),
        (lambda: SpotLight((0, 0, 1), angle=2.0), "light.angle: must lie between 0 and pi/2"),
        (lambda: SpotLight((0, 0, 1), edge=2.0), r"light.edge: must lie in \[0, 1\]"),
        (lambda: AmbientLight((1, 2)), r"ambient.sky: must have shape \(3,\)"),
    ],
)
def test_bad_lights_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()

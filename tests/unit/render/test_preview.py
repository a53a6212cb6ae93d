"""The preview against pictures that can be worked out by hand."""

import numba
import numpy as np
import pytest

from mane.body.mesh import Mesh
from mane.groom.groom import Groom
from mane.render.preview import Camera, preview

SIZE = (96, 64)
BLACK = (0.0, 0.0, 0.0)
FRONT = Camera((0.0, 0.0, 2.0), (0.0, 0.0, 0.0), fov=2 * np.arctan(0.25))  # at z = 0 the picture is 1 m high


def square(side, z, axis=2):
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32) * 0.5 * side
    return Mesh(corners + np.float32([0, 0, z]), np.array([[0, 1, 2], [0, 2, 3]]))


def strand(*points):
    return Groom.from_strands([np.array(points, np.float32)])


def covered(image, background=0):
    return (image != background).any(axis=2)


def test_square_covers_its_pixels():
    picture = preview(mesh=square(0.5, 0.0), camera=FRONT, size=SIZE, background=BLACK)
    expected = np.zeros((64, 96), bool)
    expected[16:48, 32:64] = True  # half of a metre of 64 pixels
    np.testing.assert_array_equal(covered(picture), expected)


def test_half_covered_pixels_get_half_of_the_light():
    side = 0.5 + 1 / 64  # half a pixel more on each side
    full, soft = (preview(mesh=square(s, 0.0), camera=FRONT, size=SIZE, background=BLACK) for s in (0.5, side))
    inner, edge = full[32, 40].astype(float) / 255, soft[32, 31].astype(float) / 255

    def light(value):
        return ((value + 0.055) / 1.055) ** 2.4

    # Two of the four samples of an edge pixel hit; eight bits in the display curve leave 1 %.
    np.testing.assert_allclose(light(edge), 0.5 * light(inner), rtol=0.03)


def test_nearer_surface_hides_the_farther_one():
    near, far = square(0.3, 0.2), square(0.6, -0.2)
    red_far = np.repeat([[0.1, 0.8, 0.1], [0.8, 0.1, 0.1]], 4, axis=0)
    for meshes, colors in (([near, far], red_far), ([far, near], red_far[::-1])):
        picture = preview(mesh=meshes, mesh_color=colors, camera=FRONT, size=SIZE).astype(int)
        assert picture[32, 48, 1] > picture[32, 48, 0] + 50  # green in the middle
        assert picture[32, 32, 0] > picture[32, 32, 1] + 50  # red around it


def test_perspective_shading_does_not_depend_on_how_a_plane_is_cut():
    """A slanted square of two triangles or of 800: colours are interpolated in space, not on the screen."""

    def slanted(cuts):
        u, v = np.meshgrid(np.linspace(0, 1, cuts + 1), np.linspace(0, 1, cuts + 1), indexing="ij")
        points = np.stack([u - 0.5, 0.6 * v - 0.3, 1.2 * v - 0.6], axis=-1).reshape(-1, 3)
        corner = (np.arange(cuts)[:, None] * (cuts + 1) + np.arange(cuts)).reshape(-1)
        quads = np.stack([corner, corner + cuts + 1, corner + cuts + 2, corner + 1], axis=1)
        colors = np.stack([v, 0.5 * np.ones_like(v), 1 - v], axis=-1).reshape(-1, 3)
        return Mesh(points, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])), colors

    pictures = [
        preview(mesh=mesh, mesh_color=colors, camera=FRONT, size=SIZE).astype(int)
        for mesh, colors in (slanted(1), slanted(20))
    ]
    inside = (slice(28, 36), slice(40, 56))
    assert np.abs(pictures[0][inside] - pictures[1][inside]).max() <= 2


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0, 2.5])
def test_thin_line_keeps_its_area(slope):
    """A white hair thinner than a pixel covers, over all pixels, its width times its length."""
    end = 0.4 * np.array([1.0, slope, 0.0]) / np.hypot(1.0, slope)
    groom = strand(-end, 0.13 * end, end)
    width = 0.4 / 64  # 0.4 pixels
    cover = coverage(groom, width)
    # Each end is cut at a sample's centre along the longer axis: half a sample, a quarter of a pixel, may be missing
    # or too much, over a length of up to sqrt(2) times that. Eight bits add a thousandth.
    expected = 0.8 * 64 * 0.4
    assert cover.sum() == pytest.approx(expected, abs=2 * 0.25 * np.sqrt(2) * 0.4 + 0.001 * expected)


def coverage(groom, width):
    """How much of each pixel hair covers: what two backgrounds, black and white, show through it."""

    def light(background):
        value = preview(groom, camera=FRONT, size=SIZE, background=background, hair_width=width) / 255.0
        return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)

    return 1.0 - (light((1.0, 1.0, 1.0)) - light(BLACK))[:, :, 0]


def test_wide_line_covers_its_width():
    cover = coverage(strand((-0.3, 0.0, 0.0), (0.3, 0.0, 0.0)), 2.5 / 64)
    np.testing.assert_allclose(cover[:, 48].sum(), 2.5, atol=0.03)
    assert cover[32, 48] == pytest.approx(1.0, abs=0.01)


def test_neighbouring_segments_never_cover_a_pixel_twice():
    whole = strand((-0.3, -0.1, 0.0), (0.3, 0.1, 0.0))
    share = np.linspace(0, 1, 60)[:, None]
    cut = strand(*(whole.points[0] * (1 - share) + whole.points[1] * share))
    # The light differs, since the shade does; the coverage must not, beyond two roundings to eight bits.
    np.testing.assert_allclose(coverage(whole, 0.003), coverage(cut, 0.003), atol=2 * 0.01)


def test_mesh_hides_hair_behind_it_and_not_before_it():
    mesh = square(0.5, 0.0)
    bare = preview(mesh=mesh, camera=FRONT, size=SIZE)
    behind = strand((-0.2, 0.0, -0.05), (0.2, 0.0, -0.05))
    before = strand((-0.2, 0.0, 0.05), (0.2, 0.0, 0.05))
    shown = preview(before, mesh, camera=FRONT, size=SIZE, hair_width=0.01)
    hidden = preview(behind, mesh, camera=FRONT, size=SIZE, hair_width=0.01)
    np.testing.assert_array_equal(hidden, bare)
    assert (shown[31:33, 40:56].sum(axis=(0, 2)) < bare[31:33, 40:56].sum(axis=(0, 2)) - 30).all()


def test_nearer_hair_hides_farther_hair_in_any_order():
    near, far = [[-0.3, 0.0, 0.1], [0.3, 0.0, 0.1]], [[-0.3, 0.0, -0.1], [0.3, 0.0, -0.1]]
    colors = {"near": (0.9, 0.0, 0.0), "far": (0.0, 0.9, 0.0)}
    for order in (("near", "far"), ("far", "near")):
        groom = Groom.from_uniform([{"near": near, "far": far}[name] for name in order])
        picture = preview(groom, camera=FRONT, size=SIZE, hair_width=0.08, hair_color=[colors[name] for name in order])
        red, green, _ = picture[32, 48].astype(int)
        assert red > green + 60


def test_hair_shades_the_hair_and_the_skin_below():
    rng = np.random.default_rng(5)
    place = rng.uniform(-0.3, 0.3, (4000, 2))
    height = rng.uniform(0.0, 0.2, 4000)
    ends = np.stack([np.column_stack([place[:, 0] + dx, place[:, 1], height]) for dx in (-0.03, 0.03)], axis=1)
    slab = Groom.from_uniform(ends.astype(np.float32))
    behind = Camera((0.0, 0.0, -2.0), (0.0, 0.0, 0.0))
    lit = preview(slab, camera=FRONT, size=SIZE, background=BLACK, hair_width=0.01)
    # Of the layer against the mesh, only a little light gets there.
    skin = square(0.6, -0.01)
    bare, shaded = (preview(g, skin, camera=FRONT, size=SIZE, hair_width=0.002) for g in (None, slab))
    thin = preview(slab.take(np.arange(0, 4000, 40)), skin, camera=FRONT, size=SIZE, hair_width=0.002)
    middle = (slice(24, 40), slice(36, 60))
    assert shaded[middle].mean() < thin[middle].mean() - 10
    assert thin[middle].mean() < bare[middle].mean()
    assert lit[middle].mean() > 20
    assert preview(slab, camera=behind, size=SIZE, background=BLACK)[middle].mean() > 0


def test_picture_does_not_depend_on_the_thread_count():
    rng = np.random.default_rng(1)
    points = np.cumsum(rng.normal(0, 0.02, (500, 12, 3)), axis=1).astype(np.float32)
    groom, mesh = Groom.from_uniform(points), square(0.3, 0.0)
    threads = numba.get_num_threads()
    pictures = []
    try:
        for count in (1, threads):
            numba.set_num_threads(count)
            pictures.append(preview(groom, mesh, size=SIZE, supersample=3))
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(pictures[0], pictures[1])


def test_colors_come_from_the_groom_or_the_caller():
    line = np.array([[[-0.3, 0.0, 0.0], [0.3, 0.0, 0.0]]], np.float32)
    groom = Groom.from_uniform(line, strand={"color": np.array([[0.0, 0.0, 0.9]])})
    own = preview(groom, camera=FRONT, size=SIZE, hair_width=0.08)[32, 48].astype(int)
    asked = preview(groom, camera=FRONT, size=SIZE, hair_width=0.08, hair_color=(0.9, 0.0, 0.0))[32, 48].astype(int)
    assert own[2] > own[0] + 60
    assert asked[0] > asked[2] + 60


def test_background_is_shown_exactly():
    picture = preview(strand((0, 0, 0), (0.01, 0, 0)), camera=FRONT, size=SIZE, background=(0.2, 0.4, 0.6))
    np.testing.assert_array_equal(picture[0, 0], [51, 102, 153])
    graded = preview(
        strand((0, 0, 0), (0.01, 0, 0)), camera=FRONT, size=SIZE, background=[(1.0, 1.0, 1.0), (0.0, 0.0, 0.0)]
    )
    np.testing.assert_array_equal(graded[0, 0], [255, 255, 255])
    np.testing.assert_array_equal(graded[-1, 0], [0, 0, 0])


def test_things_behind_the_eye_are_left_out():
    groom = strand((0.0, 0.0, 1.0), (0.0, 0.1, 3.0))
    mesh = Mesh([[-1, 0, 1], [1, 0, 1], [0, 0, 5]], [[0, 1, 2]])
    picture = preview(groom, mesh, camera=FRONT, size=SIZE, background=BLACK)
    assert not covered(picture).any()


def test_default_camera_shows_everything():
    picture = preview(mesh=square(3.0, 7.0), size=SIZE, background=BLACK)
    shown = covered(picture)
    assert shown.any()
    assert not shown[[0, -1]].any()
    assert not shown[:, [0, -1]].any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "preview: needs a groom or a mesh, got neither"),
        ({"mesh": square(1, 0), "size": (0, 10)}, "size: must be at least 1 x 1 pixels, got 0 x 10"),
        ({"mesh": square(1, 0), "supersample": 0}, "supersample: must lie between 1 and 8, got 0"),
        ({"mesh": square(1, 0), "mesh_color": np.ones((3, 3))}, r"mesh_color: must have shape \(4, 3\)"),
        ({"mesh": square(1, 0), "background": (1, 2)}, r"background: must have shape \(2, 3\)"),
        ({"groom": strand((0, 0, 0), (1, 0, 0)), "hair_width": 0.0}, "hair_width: must be a finite number above zero"),
    ],
)
def test_bad_requests_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        preview(**arguments)

"""Water in a picture: Fresnel and Snell, and a slab before a wall."""

import numpy as np
import pytest

from mane.body.shapes import Box
from mane.render import _kernels_water as kernels
from mane.render.camera import Camera
from mane.render.lights import DirectionalLight, three_point
from mane.render.looks import LOOKS
from mane.render.mitsuba_scene import MitsubaScene
from mane.render.renderer import render
from mane.render.solids import Surfaces
from mane.render.view import View
from mane.render.water import INDEX, calmed_normals
from mane.render.water_shadow import ABSORPTION, CROSSING


def bent_and_share(rays):
    """Of rays (M, 3) that meet a level surface from above: their directions within the water, and Fresnel's share."""
    points = np.asarray(rays, np.float32)
    normals = np.tile(np.array([0.0, -2.0, 0.0], np.float32), (len(points), 1))  # of any length, on either side
    bent, mirrored, share = np.empty_like(points), np.empty_like(points), np.empty(len(points), np.float32)
    kernels.bend_rays(points, normals, np.zeros(3, np.float32), np.float32(INDEX), bent, mirrored, share)
    assert np.allclose(mirrored, points * (1, -1, 1), atol=1e-6)
    return bent, share


def test_fresnel_reflects_two_hundredths_straight_on_and_all_along_the_surface():
    brewster = np.arctan(INDEX)  # where only light polarised across the plane is left
    _, share = bent_and_share([[0.0, -1.0, 0.0], [1.0, -1e-7, 0.0], [np.sin(brewster), -np.cos(brewster), 0.0]])
    assert share[0] == pytest.approx(((INDEX - 1) / (INDEX + 1)) ** 2, rel=1e-5)
    assert share[1] == pytest.approx(1.0, rel=1e-5)
    assert share[2] == pytest.approx((1 - INDEX**2) ** 2 / (1 + INDEX**2) ** 2 / 2, rel=1e-5)


def test_refraction_keeps_to_snell():
    angle = np.linspace(0.0, 1.5, 7)
    bent, _ = bent_and_share(np.stack([np.sin(angle), -np.cos(angle), 0 * angle], axis=1))
    assert np.allclose(np.linalg.norm(bent, axis=1), 1.0, atol=1e-6)
    assert np.allclose(INDEX * bent[:, 0], np.sin(angle), atol=1e-6)


CAMERA = Camera((0.0, 0.0, 2.0), (0.0, 0.0, 0.0), fov=0.4)


def drawn(water, **settings):
    wall = Box((0.0, 0.0, -0.3), (0.4, 0.4, 0.05)).mesh()
    half = np.where(wall.points[:, :1] < 0, 0.05, 0.6)
    return render(
        None, wall, camera=CAMERA, size=(80, 60), supersample=1, tone="linear", background=None, water=water,
        body_color=np.repeat(half, 3, axis=1).astype(np.float32), **settings,
    )  # fmt: skip


def test_water_tints_what_is_behind_it_and_shows_what_is_beside_it_when_it_is_slanted():
    dry = drawn(None)
    slab = drawn(Box((0.0, 0.0, 0.0), (0.15, 0.15, 0.05)).mesh())
    middle = (slice(28, 32), slice(44, 48))
    assert (slab[..., :3][middle] < dry[..., :3][middle]).all()
    red, blue = (float((slab[middle][..., c] / dry[middle][..., c]).mean()) for c in (0, 2))
    assert red < blue  # water is blue
    assert np.array_equal(slab[:4], dry[:4])  # beside it nothing changes
    half = np.sin(0.25), np.cos(0.25)
    tilted = Box((0.0, 0.0, 0.0), (0.15, 0.15, 0.05), rotation=(0.0, half[0], 0.0, half[1])).mesh()
    moved = drawn(tilted)
    assert abs(float(moved[30, 36:44, 0].mean() - slab[30, 36:44, 0].mean())) > 1e-3


def test_what_is_before_the_water_hides_it():
    behind = Box((0.0, 0.0, -0.6), (0.3, 0.3, 0.05)).mesh()
    assert np.array_equal(drawn(behind)[25:35, 35:45], drawn(None)[25:35, 35:45])


def test_mitsuba_has_it_as_a_dielectric(tmp_path):
    water, wall = Box((0.0, 0.0, 0.0), (0.1, 0.1, 0.1)).mesh(), Box((0.0, 0.0, -0.3), (0.4, 0.4, 0.05)).mesh()
    scene = MitsubaScene(
        None, Surfaces.of_bodies(wall), CAMERA, three_point(CAMERA), LOOKS["brown"], (8, 8), water=water
    )
    text = scene.write(tmp_path).read_text()
    assert '<bsdf type="dielectric">' in text
    assert '"water.ply"' in text
    assert (tmp_path / "water.ply").stat().st_size > 100


def test_water_mirrors_what_stands_behind_it():
    """Seen at a flat angle, a pool before a red wall is redder than before the sky, where the wall's image is."""
    pool = Box((0.0, -0.05, 0.0), (0.6, 0.05, 0.5)).mesh()
    camera = Camera((0.0, 0.12, 2.0), (0.0, 0.05, 0.0), fov=0.5)
    found = {}
    for name, place in (("wall", (0.0, 0.2, -0.45)), ("elsewhere", (5.0, 0.2, -0.45))):
        wall = Box(place, (0.5, 0.2, 0.03)).mesh()
        picture = render(
            None, wall, camera=camera, size=(80, 60), supersample=1, tone="linear", background=(0.0, 0.0, 0.0),
            body_color=(0.8, 0.02, 0.02), water=pool,
        )  # fmt: skip
        surface = View.of_camera(camera, 80, 60).project(np.array([[0.0, 0.0, -0.1]], np.float32))[0]
        found[name] = picture[int(surface[1]), int(surface[0])]
    redness = {name: float(color[0] / color[2]) for name, color in found.items()}
    assert redness["wall"] > 1.5 * redness["elsewhere"]


def test_a_post_in_a_tank_is_seen_once():
    """Through a slanted side rays pass behind it; what they see there is not the post again, nor a shade of it."""
    tank, rows = Box((0.0, 0.0, 0.0), (1.0, 0.5, 0.5)).mesh(), []
    for height in (0.0, 9.0):
        picture = render(
            None, Box((0.0, height, 0.3), (0.1, 0.4, 0.1)).mesh(), water=tank, size=(160, 40), supersample=1,
            camera=Camera((3.0, 0.0, 2.0), (0.0, 0.0, 0.3), fov=0.6), tone="linear", background=(0.0, 0.0, 0.0),
            body_color=(0.8, 0.02, 0.02),
        )  # fmt: skip
        rows.append(picture[20, :, 0])
    more = rows[0] - rows[1]
    columns = np.flatnonzero(np.abs(more) > 1e-3)
    assert 0 < len(columns) == columns[-1] - columns[0] + 1
    assert more[columns].min() > 0.2 * more.max()  # six columns are the post; a shade of it has a twentieth


def grid_normals(heights):
    """Faces of a square grid of points, and their normals where `heights` (N, N) stand over it."""
    count = len(heights)
    number = np.arange(count * count).reshape(count, count)
    a, b, c, d = (part.reshape(-1) for part in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]))
    faces = np.concatenate([np.stack([a, c, b], 1), np.stack([a, d, c], 1)]).astype(np.int32)
    slopes = np.gradient(heights)
    normals = np.stack([-slopes[0], np.ones_like(heights), -slopes[1]], axis=-1).reshape(-1, 3)
    return faces, (normals / np.linalg.norm(normals, axis=1, keepdims=True)).astype(np.float32)


def test_drawn_water_is_rid_of_what_jogs_it_from_cell_to_cell_and_keeps_its_waves():
    """Noise loses four fifths; a wave of 24 cells less than three rounds of means over two cells: 3 (k a)^2 / 4."""
    rng, count = np.random.default_rng(3), 49
    noise = rng.normal(0, 0.02, (count, count))
    faces, jogged = grid_normals(noise)
    inner = np.zeros((count, count), bool)
    inner[6:-6, 6:-6] = True
    slope = [float(np.abs(n[inner.reshape(-1)][:, [0, 2]]).mean()) for n in (jogged, calmed_normals(jogged, faces))]
    assert slope[1] < 0.2 * slope[0]
    k = 2 * np.pi / 24
    faces, waves = grid_normals(np.tile(np.sin(k * np.arange(count)), (count, 1)))
    kept = calmed_normals(waves, faces)[inner.reshape(-1), 2] / waves[inner.reshape(-1), 2]
    steep = np.abs(waves[inner.reshape(-1), 2]) > 0.1
    assert np.abs(kept[steep] - 1).max() < 3 * k * k / 4


def test_water_takes_light_from_what_lies_behind_it():
    """A slab of water out of the picture, between the light and the floor."""
    floor = Box((0.0, -0.3, 0.0), (0.5, 0.02, 0.5)).mesh()
    light = DirectionalLight((0.0, 1.0, 0.0), (3.0, 3.0, 3.0))
    camera = Camera((0.0, 0.1, 1.2), (0.0, -0.3, 0.0), fov=0.3)
    settings = {"camera": camera, "size": (40, 30), "supersample": 1, "tone": "linear", "lights": [light]}
    slab = Box((0.0, 1.0, 0.0), (0.4, 0.05, 0.4)).mesh()
    dry, wet = (render(None, floor, water=water, **settings)[15, 20] for water in (None, slab))
    left = wet[:3] / dry[:3]
    assert left == pytest.approx(CROSSING * np.exp(-0.1 * np.array(ABSORPTION)), rel=0.02)
    beside = Box((2.0, 1.0, 0.0), (0.4, 0.05, 0.4)).mesh()
    assert np.array_equal(render(None, floor, water=beside, **settings)[15, 20], dry)


def image_of_a_light(below, count):
    """How bright the image of a light in water is, with `count` hairs side by side below its surface [m]."""
    slab = Box((0.0, 0.0, 0.0), (0.2, 0.2, 0.1)).mesh()
    ends = np.linspace(-0.1, 0.1, count)
    along = np.linspace(-0.1, 0.1, 40)
    strands = np.stack([[[x, y, 0.1 - below] for y in along] for x in ends]).astype(np.float32)
    picture = render(
        strands, None, camera=Camera((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), fov=0.3), size=(40, 40), supersample=1,
        tone="linear", lights=[DirectionalLight((0.0, 0.0, 1.0), size=0.02, has_shadow=False)], water=slab,
        background=(0.0, 0.0, 0.0), look="black",
    )  # fmt: skip
    return float(picture[18:22, 18:22, :3].mean())


def test_hair_just_below_the_surface_breaks_the_image_of_a_light():
    """A film of water over a coat is no mirror; the same hair deep below leaves the image as it is."""
    assert image_of_a_light(0.15, 400) > 5.0 * image_of_a_light(0.002, 400)


def test_a_film_over_a_coat_mirrors_the_less_the_thinner_it_is():
    """White streaks lay on fur under water wherever its film was thicker than 2 cm, with an edge as if cut."""
    images = [image_of_a_light(below, 400) for below in (0.005, 0.015, 0.018, 0.022, 0.025, 0.05)]
    assert images == sorted(images)
    assert images[3] < 1.5 * images[2]  # 2.1 times with the edge
    assert images[3] < 0.4 * images[-1]  # as bright as that with it


def test_hair_far_before_the_surface_leaves_the_image_of_a_light():
    """Eight hairs, a few pixels from each other, hide little of it."""
    assert image_of_a_light(-0.15, 8) > 0.7 * image_of_a_light(0.15, 8)

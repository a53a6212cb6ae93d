"""The scene files for Mitsuba 3, and its pictures beside ours. What needs Mitsuba is skipped where it is missing."""

import io
import os
from dataclasses import replace
from importlib.util import find_spec
from xml.etree import ElementTree

import numpy as np
import pytest

from mane.body.mesh import Mesh
from mane.groom.groom import Groom
from mane.render import extras, mitsuba, mitsuba_scene
from mane.render.camera import Camera
from mane.render.lights import AmbientLight, DirectionalLight, PointLight, SpotLight
from mane.render.looks import LOOKS
from mane.render.mitsuba import trace
from mane.render.mitsuba_scene import END_PIECES, MitsubaScene, segment_means, without_repeats, write_curves
from mane.render.renderer import render
from mane.render.solids import Surfaces

needs_mitsuba = pytest.mark.skipif(find_spec("mitsuba") is None, reason="Mitsuba 3 is not installed")

CAMERA = Camera((0.3, 0.2, 2.0), (0.05, 0.02, 0.0), (0.1, 1.0, 0.0), fov=0.5)
SKY = AmbientLight((1.0, 1.0, 1.0), (1.0, 1.0, 1.0))


def square(side=0.5, color=(0.5, 0.5, 0.5)):
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32) * 0.5 * side
    return Surfaces.of_bodies(Mesh(corners, [[0, 1, 2], [0, 2, 3]]), color)


def scene(groom=None, surfaces=None, lights=(SKY,), **settings):
    settings = {"size": (40, 30), "samples": 16, "max_depth": 2} | settings
    return MitsubaScene(groom, surfaces, CAMERA, lights, LOOKS["brown"], **settings)


def wavy(strands=5, vertices=9):
    share = np.linspace(0, 1, vertices)
    base = np.stack([0.05 * np.sin(9 * share), 0.25 - 0.5 * share, 0.05 * np.cos(9 * share)], axis=1)
    shift = np.zeros((strands, 1, 3))
    shift[:, 0, 0] = np.linspace(-0.2, 0.2, strands)
    return Groom.from_uniform(base[None] + shift, strand={"width": np.full(strands, 0.01)})


def curves_of(text):
    """The control points (with radius) of each curve of a file."""
    blocks = [block for block in text.decode().split("\n\n") if block.strip()]
    return [np.array([line.split() for line in block.splitlines()], float) for block in blocks]


def on_spline(control):
    """Points of a uniform cubic B-spline at its knots."""
    return (control[:-2] + 4 * control[1:-1] + control[2:]) / 6


# -- files -------------------------------------------------------------------------------------------------------------


def test_curves_pass_through_every_point_of_ragged_strands(monkeypatch):
    monkeypatch.setattr(mitsuba_scene, "STRANDS_AT_ONCE", 2)
    rng = np.random.default_rng(0)
    counts = [2, 7, 3, 12, 2]
    points = rng.normal(size=(sum(counts), 3)).astype(np.float32)
    radius = rng.uniform(1e-5, 1e-4, sum(counts)).astype(np.float32)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    file = io.BytesIO()
    write_curves(file, points, offsets, radius)
    curves = curves_of(file.getvalue())
    assert [len(curve) for curve in curves] == [count + 2 for count in counts]
    for s, curve in enumerate(curves):
        rows = slice(offsets[s], offsets[s + 1])
        # Nine digits of control points of some metres.
        np.testing.assert_allclose(on_spline(curve[:, :3]), points[rows], atol=1e-7)
        assert (curve[:, 3] > 0).all()
        np.testing.assert_allclose(curve[1:-1, 3], radius[rows], rtol=1e-5)


def test_points_that_repeat_are_left_out_and_so_are_strands_without_length():
    points = np.array([0, 1, 1, 2, 5, 5, 7, 8], np.float32)[:, None] * np.float32([1, 0, 0])
    kept, offsets = without_repeats(points, np.array([0, 4, 6, 8]))
    assert kept.tolist() == [0, 1, 3, 6, 7]
    assert offsets.tolist() == [0, 3, 5]


def test_pieces_get_the_mean_of_their_ends():
    values = np.array([[1.0], [3.0], [5.0], [10.0], [20.0]])
    np.testing.assert_array_equal(segment_means(values, np.array([0, 3, 5])), [[2.0], [4.0], [15.0]])


def test_files_fit_together(tmp_path, monkeypatch):
    """As many texels of pigment as pieces of hair, one more strand than asked for, and every file that is named."""
    monkeypatch.setattr(mitsuba_scene, "PIECES_PER_SHAPE", 20)
    groom = wavy(5, 9)
    path = scene(groom, square()).write(tmp_path)
    tree = ElementTree.parse(path).getroot()
    names = [element.get("value") for element in tree.iter("string") if element.get("name") == "filename"]
    assert sorted([*names, "scene.xml"]) == sorted(os.listdir(tmp_path))
    curves = sorted(tmp_path.glob("hair.*.txt"))
    strands = [curves_of(file.read_bytes()) for file in curves]
    assert [len(one) for one in strands] == [3, 3, 2]  # two strands of nine points, and the one that ends a shape
    for file, one in zip(curves, strands, strict=True):
        pieces = sum(len(curve) - 3 for curve in one)
        data = (tmp_path / file.name.replace("hair", "pigment").replace(".txt", ".exr")).read_bytes()
        width = int.from_bytes(data[data.index(b"dataWindow\0box2i\0") + 29 :][:4], "little") + 1
        assert width == pieces
        assert len(one[-1]) == END_PIECES + 3


def test_no_sky_no_hair_no_solid_no_file(tmp_path):
    scene(None, square(), [DirectionalLight((0, 0, 1))]).write(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["body.ply", "scene.xml"]


@pytest.mark.parametrize(
    ("light", "kinds"),
    [
        (DirectionalLight((0, 0, 1), size=0.009), ["directional"]),
        (DirectionalLight((0, 0, 1), size=0.2), ["disk", "area"]),
        (PointLight((0, 0, 1)), ["sphere", "area"]),
        (SpotLight((0, 0, 1)), ["spot"]),
    ],
    ids=["sun", "softbox", "bulb", "spot"],
)
def test_every_kind_of_light_has_a_counterpart(light, kinds, tmp_path):
    tree = ElementTree.parse(scene(None, square(), [light]).write(tmp_path)).getroot()
    found = [element.get("type") for element in tree.iter() if element.tag in ("emitter", "shape")]
    assert [kind for kind in found if kind != "ply"] == kinds


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: scene(), ValueError, "mitsuba: needs a groom or a body, got neither"),
        (lambda: scene(wavy(), samples=0), ValueError, "samples: must be at least 1, got 0"),
        (lambda: scene(wavy(), max_depth=0), ValueError, "max_depth: must be at least 1, got 0"),
        (lambda: scene(wavy()).write("/no/such/folder"), OSError, "/no/such/folder: must be a folder that exists"),
    ],
)
def test_bad_scenes_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


# -- what becomes of Mitsuba -------------------------------------------------------------------------------------------


def test_without_mitsuba_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"mitsuba: is not installed; get it with: pip install 'mane\[mitsuba\]'"):
        trace(scene(wavy()))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", r"mitsuba: it crashed \(SIGSEGV\)"),
        ("raise RuntimeError('no such plugin')", "mitsuba: RuntimeError: no such plugin"),
        ("import sys; sys.exit(3)", "mitsuba: it ended with code 3"),
    ],
)
def test_a_crash_is_an_error_of_one_line(script, message, monkeypatch):
    monkeypatch.setattr(mitsuba, "_SCRIPT", script)
    monkeypatch.setattr(extras, "find_spec", lambda name: name)
    with pytest.raises(ValueError, match=message) as failure:
        trace(scene(wavy()))
    assert "\n" not in str(failure.value)


# -- the same picture --------------------------------------------------------------------------------------------------


@needs_mitsuba
def test_hair_and_solids_cover_the_same_pixels():
    """Same camera, same widths: only the noise of 64 random samples per pixel is between the two."""
    groom, body = wavy(), square(0.3)
    ours = render(
        groom, Mesh(body.points, body.faces), camera=CAMERA, size=(64, 40), background=None, tone="linear",
        supersample=4,
    )[:, :, 3]  # fmt: skip
    theirs = trace(scene(groom, body, size=(64, 40), samples=64))[:, :, 3]
    # Half-covered pixels scatter by sqrt(0.25 / 64) = 0.06; our own samples are 16 per pixel along edges of solids.
    assert np.abs(ours - theirs).max() < 5 * 0.0625 + 0.1
    assert ours.mean() == pytest.approx(theirs.mean(), rel=0.02)
    assert 0.05 < ours.mean() < 0.5


@needs_mitsuba
@pytest.mark.parametrize(
    "light",
    [
        DirectionalLight((0.3, 0.2, 1.0), (1.0, 0.5, 0.25), size=0.009),
        DirectionalLight((0.3, 0.2, 1.0), (1.0, 0.5, 0.25), 2.0, size=0.3),
        PointLight((0.2, 0.1, 0.8), (0.25, 1.0, 0.5), 0.7),
        SpotLight((0.2, 0.1, 0.8), (0.25, 0.5, 1.0), look_at=(0, 0, 0), angle=0.6, edge=0.1),
        AmbientLight((0.2, 0.4, 0.8), (0.8, 0.4, 0.2)),
    ],
    ids=["sun", "softbox", "bulb", "spot", "sky"],
)
def test_lights_are_as_bright_in_both(light):
    """A matte square facing us. Ours bleeds past the edge of night and has no interreflection; the middle agrees."""
    surfaces = square(0.3)
    body = Mesh(surfaces.points, surfaces.faces)
    picture = {"camera": CAMERA, "size": (32, 24), "background": None, "tone": "linear"}
    ours = render(None, body, lights=[light], body_color=(0.5, 0.5, 0.5), **picture)
    theirs = trace(scene(None, surfaces, [light], size=(32, 24), samples=64))
    inside = (ours[:, :, 3] > 0.999) & (theirs[:, :, 3] > 0.999)
    assert inside.sum() > 20
    a, b = ours[inside, :3].mean(axis=0), theirs[inside, :3].mean(axis=0)
    # The matte part is the same but for our wrapped light (at most 24 %, in red) and the shape of the sheen.
    np.testing.assert_allclose(a, b, rtol=0.2)
    np.testing.assert_allclose(a / a.sum(), b / b.sum(), atol=0.03)


@needs_mitsuba
def test_every_strand_keeps_its_own_colour():
    colors = np.array([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]])
    groom = wavy(3).with_strand(color=colors)
    shot = replace(scene(groom, size=(60, 45), samples=32, max_depth=8), look=LOOKS["painted"])
    light = trace(shot)
    # Each strand is somewhere the brightest in its own colour, by far, and the strands are side by side in order.
    columns = [np.argmax((light[:, :, c] - light[:, :, :3].mean(axis=2)).sum(axis=0)) for c in range(3)]
    assert columns == sorted(columns)
    assert len(set(columns)) == 3


@needs_mitsuba
def test_same_seed_same_picture():
    shot = scene(wavy(2), size=(16, 12), samples=2)
    first, again, other = (trace(shot, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()

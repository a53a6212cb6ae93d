"""Guides of your own: from a file, from a prim or an attribute of the groom, simulated as given."""

import numpy as np
import pytest

import mane
from mane.io.notices import FileNotice
from mane.io.usd import write_usd_groom
from mane.scene.guides import make_guides
from mane.scene.hair import load_hair
from mane.scene.loop import run_scene
from mane.scene.scene_file import SceneError, naming_location, parse_scene


def hair(count, seed):
    """Strands that hang from the upper half of a ball, those at the back longer."""
    rng = np.random.default_rng(seed)
    away = rng.normal(size=(count, 3))
    away[:, 1] = np.abs(away[:, 1])
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    s = np.linspace(0, 1, 6)[None, :, None]
    hang = away[:, None] * 0.3 * s * (1 - s) + np.array([0, -1.0, 0]) * s**2
    strands = 0.1 * away[:, None] + (0.1 - 0.05 * away[:, 2])[:, None, None] * hang
    return mane.Groom.from_uniform(strands.astype(np.float32))


@pytest.fixture
def folder(tmp_path):
    dense, own = hair(300, 0), hair(12, 1)
    mane.write_groom(tmp_path / "hair.npz", dense.with_strand(chosen=np.arange(300) % 30 == 0))
    mane.write_groom(tmp_path / "guides.npz", own)
    write_usd_groom(tmp_path / "guides_cm.usda", own, unit="cm", up="z")
    moved = own.with_points(own.points * np.float32(100) + np.float32((0, 160, 0)))
    mane.write_groom(tmp_path / "elsewhere.data", moved)
    marked = mane.concatenate([dense, own]).with_strand(is_guide=np.arange(312) >= 300)
    write_usd_groom(tmp_path / "marked.usda", marked)
    return tmp_path


def guides_of(folder, table, groom="hair.npz"):
    scene = parse_scene(f'[groom]\nfile = "{groom}"\n[guides]\n{table}\n', name="scene.toml", folder=folder)
    with naming_location(scene.locations, "guides"):
        return make_guides(scene, load_hair(scene))


@pytest.mark.parametrize("file", ["guides.npz", "guides_cm.usda"])
def test_guides_of_a_file_are_simulated_as_they_are(folder, file):
    guides = guides_of(folder, f'file = "{file}"')
    assert (guides.count, guides.vertex_count) == (12, 6)
    assert (guides.source == -1).all()
    assert np.abs(guides.rest - hair(12, 1).as_uniform()).max() < 1e-6
    assert guides_of(folder, f'file = "{file}"\nvertices = 9').vertex_count == 9


def test_guides_in_another_frame_are_laid_onto_the_groom_and_it_is_said(folder):
    with pytest.warns(FileNotice, match=r"guides were scaled by 0.01, moved by .* register = false takes them as they"):
        guides = guides_of(folder, 'file = "elsewhere.data"')
    assert np.abs(guides.rest - hair(12, 1).as_uniform()).max() < 0.01
    raw = guides_of(folder, 'file = "elsewhere.data"\nregister = false')
    assert raw.rest[..., 1].min() > 100
    told = guides_of(folder, 'file = "elsewhere.data"\nregister = false\nunit = "cm"')
    assert np.abs(told.rest - hair(12, 1).as_uniform() - np.float32((0, 1.6, 0))).max() < 1e-5


@pytest.mark.parametrize(
    ("table", "groom", "count"),
    [
        ('attribute = "chosen"', "hair.npz", 10),
        ('method = "marked"', "marked.usda", 12),
        ('prim = "/Groom/Guides"', "marked.usda", 12),
        ('file = "marked.usda"\nprim = "/Groom/Guides"', "hair.npz", 12),
    ],
)
def test_the_grooms_own_guides(folder, table, groom, count):
    assert guides_of(folder, table, groom).count == count


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('file = "guides.npz"\ncount = 3', r"scene.toml:5: \[guides\] count: must be left out with file"),
        ('file = "guides.npz"\nmethod = "random"', "method: must be left out with file"),
        ('file = "guides.npz"\nprim = "/A"', "prim: is for paths in USD"),
        ('prim = "/A"', "prim: is for paths in USD; give file as well"),
        ('attribute = "painted"', r"attribute: the groom has no attribute 'painted' per strand; it has chosen"),
        ('unit = "cm"', "unit: is for a file of guides"),
        ('file = "none.usda"', "none.usda: does not exist"),
    ],
)
def test_what_cannot_be_is_one_line(folder, table, message):
    with pytest.raises((SceneError, OSError), match=message):
        guides_of(folder, table)


def test_guides_of_something_else_are_refused(folder):
    line = np.zeros((8, 4, 3))
    line[:, :, 0] = np.linspace(0, 2, 4) + np.arange(8)[:, None]
    mane.write_groom(folder / "line.npz", mane.Groom.from_uniform(line))
    with pytest.raises(SceneError, match=r"line.npz: guides must lie on the groom, got half of their roots more than"):
        guides_of(folder, 'file = "line.npz"')


def test_a_run_writes_the_groom_without_them(folder):
    text = (
        '[groom]\nfile = "hair.npz"\n[guides]\nfile = "guides.npz"\n[frames]\nend = 2\n[head]\nmotion = "shake"\n'
        '[strand]\nsubsteps = 2\n[skin]\nmethod = "linear"\n[output]\nusd = "out.usda"\n'
    )
    summary = run_scene(parse_scene(text, folder=folder))
    assert (summary.guides, summary.strands) == (12, 300)
    assert mane.read_groom(folder / "out.usda").strand_count == 300

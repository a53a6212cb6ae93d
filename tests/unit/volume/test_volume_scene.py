"""Keys of scene files for hair in a mesh: a second mesh, styles from files, looks blended by the map of the styles."""

from importlib import import_module

import numpy as np
import pytest

from mane.groom import styles
from mane.groom.groom import Groom
from mane.io.grooms import write_groom
from mane.render.renderer import render
from mane.scene.build import build
from mane.scene.loop import run_scene
from mane.scene.scene_file import read_scene
from mane.volume.dynamic import DynamicMesh

SCENE = """
[groom]
style = "ball"
strands = 60
vertices = 8
[body]
mesh = "none"
[guides]
count = 4
[frames]
end = 3
[skin]
method = "volume"
{keys}
[camera]
size = [48, 48]
{camera}
[output]
pictures = "pictures"
"""


def written(folder, keys, camera=""):
    folder.mkdir()
    path = folder / "scene.toml"
    path.write_text(SCENE.format(keys=keys, camera=camera))
    return path


def test_the_second_mesh_has_keys(tmp_path):
    skin = build(read_scene(written(tmp_path / "a", "dynamic = 0.05\nfollow_velocity = 0.5"))).hair_stage.skin
    assert isinstance(skin.motion, DynamicMesh)
    assert skin.motion.params.attachment == 0.05
    assert skin.motion.params.follow_velocity == 0.5
    with pytest.raises(ValueError, match=r"scene\.toml:\d+.*follow_shape: must be from 0 to 1"):
        build(read_scene(written(tmp_path / "b", "follow_shape = 2.0"))).hair_stage  # noqa: B018 - built when asked for


def test_the_second_mesh_may_be_finer_and_give_in_by_height(tmp_path):
    keys = "spacing = 0.08\ndynamic = 0.05\ndynamic_spacing = 0.05\nfollow_shape_height = [[-0.2, 0.0], [0.2, 1.0]]"
    motion = build(read_scene(written(tmp_path / "a", keys))).hair_stage.skin.motion
    assert motion.mesh.lattice.spacing == 0.05
    assert motion.carrier.mesh.lattice.spacing == 0.08
    shares = motion.params.follow_shape
    np.testing.assert_allclose(shares, np.clip((motion.mesh.nodes[:, 1] + 0.2) / 0.4, 0, 1), atol=1e-12)
    np.testing.assert_allclose(motion.targets(motion.carrier.mesh.nodes), motion.mesh.nodes, atol=1e-9)
    with pytest.raises(ValueError, match=r"scene\.toml:\d+.*follow_shape_height: must have factors from 0 to 1"):
        build(read_scene(written(tmp_path / "b", "follow_shape_height = [[0.0, 2.0]]"))).hair_stage  # noqa: B018


def test_hairs_that_may_be_simulated_are_chosen_by_share_and_region(tmp_path):
    keys = "hair_share = 0.5\nhair_region = [[-1.0, 1.0], [0.0, 1.0], [-1.0, 1.0]]"
    path = written(tmp_path / "a", keys)
    path.write_text(path.read_text().replace('"volume"', '"individual"'))
    skin = build(read_scene(path)).hair_stage.skin
    above = np.flatnonzero(skin.groom.roots[:, 1] >= 0)
    chosen = skin._hairs
    assert 0 < len(chosen) < 30
    assert np.isin(chosen, above).all()
    assert len(chosen) == (above % 2 == 1).sum()
    path.write_text(path.read_text().replace("[0.0, 1.0]", "[1.0, 0.0]"))
    with pytest.raises(ValueError, match=r"scene\.toml:\d+.*hair_region: must be three rows of lowest and highest"):
        build(read_scene(path)).hair_stage  # noqa: B018


def test_files_of_styles_are_looked_for_from_the_folder_of_the_scene_and_looks_follow_their_levels(
    tmp_path, monkeypatch
):
    """The same hair as a style; pictures are asked for with the level of every point and a look for each style."""
    drawn = []

    def noted(groom, body, *, look, size, **rest):
        drawn.append((groom.vertex["style_level"], look))
        return np.zeros((size[1], size[0], 3), np.uint8)

    monkeypatch.setattr(import_module("mane.render.renderer"), "render", noted)
    keys = 'styles = ["same.npz"]\nwetness = [[0.0, 0.0], [0.125, 1.0]]'
    for name, camera in {"wet": "", "blond": 'style_looks = ["blond"]'}.items():
        path = written(tmp_path / name, keys, camera)
        write_groom(path.parent / "same.npz", styles.make("ball", strands=60, vertices=8, seed=0))
        run_scene(read_scene(path))
    levels = [float(level.mean()) for level, _ in drawn[:3]]
    np.testing.assert_allclose(levels, [0, 1 / 3, 2 / 3], atol=1e-5)
    assert drawn[0][0].shape == (480,)
    assert [look.wetness for look in drawn[0][1]] == [0.0, 1.0]
    assert drawn[-1][1] == ["brown", "blond"]


def test_levels_blend_looks_point_by_point():
    groom = styles.make("ball", strands=40, vertices=6, seed=1)
    size = {"size": (40, 40), "tone": "linear", "background": None}
    one, two = (render(groom, look=look, **size) for look in ("brown", "blond"))
    for level, expected in ((0.0, one), (1.0, two)):
        painted = groom.with_vertex(style_level=np.full(groom.point_count, level, np.float32))
        np.testing.assert_allclose(render(painted, look=["brown", "blond"], **size), expected, atol=1e-5)
    half = groom.with_vertex(style_level=np.full(groom.point_count, 0.5, np.float32))
    np.testing.assert_allclose(render(half, look=["brown", "blond"], **size), 0.5 * (one + two), atol=1e-4)
    with pytest.raises(ValueError, match="look: must be one or several"):
        render(Groom.from_uniform(groom.as_uniform()), look=[], **size)

"""What acts between guides, asked for in a scene file: every kind with every strand model."""

import numpy as np
import pytest

from mane.body.motion_files import write_motion
from mane.body.motion_keys import KeyframedMotion
from mane.geometry import quaternion
from mane.scene.cache import Cache
from mane.scene.loop import run_scene
from mane.scene.scene_file import SceneError, read_scene
from mane.strand.solver import SOLVERS

SCENE = """
seed = 3
[groom]
style = "ball"
strands = 40
vertices = 8
[guides]
count = 24
[frames]
end = 5
[head]
motion = "shake"
amplitude = 1.2
rate = 4
ease_in = 0.05
[strand]
model = "{model}"
substeps = {substeps}
[output]
cache = "run.cache"
"""
PARTS = {
    "links": 'kind = "links"\nrate = 60\nbreaks_at = 0.05',
    "strips": 'kind = "strips"\nthickness = 0.008\nneighbours = "all"',
    "ties": 'kind = "ties"\npoint = [0.0, 0.2, 0.0]\nradius = 0.004\nreach = 0.3\nstrength = 0.5',
    "grid": 'kind = "grid"\nfriction = 8\npressure_speed = 2.0',
}


def final_points(folder, model, *parts):
    # Iterations converge at short steps only.
    substeps = 4 if SOLVERS.find(model).is_converged else 40
    text = SCENE.format(model=model, substeps=substeps) + "".join(f"[[interactions]]\n{part}\n" for part in parts)
    folder.mkdir()
    (folder / "scene.toml").write_text(text)
    summary = run_scene(read_scene(folder / "scene.toml"))
    assert summary.stretch < (0.05 if substeps == 4 else 0.2)
    return Cache.open(folder / "run.cache").read_frame(5).points


@pytest.mark.parametrize("model", list(SOLVERS))
def test_every_kind_acts_with_every_model_and_all_act_together(model, tmp_path):
    alone = final_points(tmp_path / "alone", model)
    for kind, part in PARTS.items():
        assert not np.array_equal(final_points(tmp_path / kind, model, part), alone), kind
    assert np.isfinite(final_points(tmp_path / "all", model, *PARTS.values())).all()


def test_links_break_and_form_again_in_a_scene(tmp_path):
    """Shaken to pieces for half a second; then the head stands still, and what has come to rest is tied anew."""
    keys = 'kind = "links"\nrate = 60\nweakens_at = 0.002\nbreaks_at = 0.008\n'
    times = np.arange(0, 3.0, 0.04)
    turned = [quaternion.exp([0.0, 0.6 * np.sin(26 * t) * (t < 0.48), 0.0]) for t in times]
    write_motion(tmp_path / "head.csv", KeyframedMotion(times, np.zeros((len(times), 3)), turned), times)
    broken = {}
    for name, more in (("left", ""), ("reforms", "reforms_after = 0.2\ncalm_speed = 0.15\n")):
        text = SCENE.format(model="chain", substeps=4).replace("end = 5", "end = 60").replace('"shake"', '"head.csv"')
        text = text.replace("amplitude = 1.2\nrate = 4\nease_in = 0.05\n", "").replace("run.cache", f"{name}.cache")
        (tmp_path / "scene.toml").write_text(f"{text}[[interactions]]\n{keys}{more}")
        run_scene(read_scene(tmp_path / "scene.toml"))
        _, checkpoint = Cache.open(tmp_path / f"{name}.cache").read_checkpoint()
        tied, health = checkpoint["part.links/other"] >= 0, checkpoint["part.links/health"]
        broken[name] = (health[tied] == 0).mean()
    assert broken["left"] > 0.3
    assert broken["reforms"] < 0.05 * broken["left"]


def test_a_style_brings_its_own_ties(tmp_path):
    text = (
        SCENE.replace('"ball"', '"ponytail"')
        .replace("strands = 40", "strands = 60")
        .format(model="cosserat", substeps=4)
    )
    (tmp_path / "scene.toml").write_text(text + '[[interactions]]\nkind = "ties"\nstyle = "ponytail"\n')
    assert run_scene(read_scene(tmp_path / "scene.toml")).frames == 5


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ('kind = "ties"\nradius = 0.004', "must have point and radius, or style, got radius"),
        ('kind = "ties"\npoint = [9.0, 0.0, 0.0]\nradius = 0.004', "no guide passes within"),
        ('kind = "grid"\nfriction = -1', "friction: must be at least 0, got -1"),
        ('kind = "strips"\nthickness = 0', "thickness: must be above 0, got 0"),
        ('kind = "links"\ncuont = 3', r"has no key 'cuont'; .* did you mean 'count'\?"),
    ],
)
def test_what_cannot_act_is_refused(part, message, tmp_path):
    (tmp_path / "scene.toml").write_text(SCENE.format(model="chain", substeps=4) + f"[[interactions]]\n{part}\n")
    with pytest.raises((SceneError, ValueError), match=message) as error:
        run_scene(read_scene(tmp_path / "scene.toml"))
    assert "\n" not in str(error.value)


def test_cohesion_is_on_and_off_by_a_key(tmp_path):
    def points(name, text):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scene.toml").write_text(text)
        run_scene(read_scene(tmp_path / name / "scene.toml"))
        return Cache.open(tmp_path / name / "run.cache").read_frame(5).points

    plain = SCENE.format(model="cosserat", substeps=4)
    off = plain.replace("substeps = 4", "substeps = 4\ncohesion = 0")
    usual, none = points("usual", plain), points("none", off)
    assert not np.array_equal(usual, none)
    # An attraction of the scene's own takes its place.
    own = '[[interactions]]\nkind = "attraction"\nrate = {}\n'
    assert np.array_equal(points("own", plain + own.format("1.0")), usual)
    assert np.array_equal(points("zero", plain + own.format("0.0")), none)


def test_a_cohesion_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "scene.toml").write_text(
        SCENE.format(model="chain", substeps=4).replace("substeps = 4", "cohesion = -1")
    )
    with pytest.raises(SceneError, match=r"scene.toml:18: .*cohesion: must be at least 0 and below 10000, got"):
        read_scene(tmp_path / "scene.toml")

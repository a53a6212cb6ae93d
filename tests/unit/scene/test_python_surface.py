"""What a user of Python meets: one-line reprs, signatures and help, arguments that are nearly right, buffers, pages."""

import inspect
import pydoc
import re
from pathlib import Path

import numpy as np
import pytest

import mane
from mane.body.motion import Pose
from mane.cli import main
from mane.contact.table import INTERACTIONS
from mane.measure.compare.compare import _caption, _Case
from mane.scene.options import model_options, option_defaults
from mane.scene.scene_file import SceneError, parse_scene
from mane.scene.starter import settings_lines, starter_text
from mane.strand.solver import SOLVERS

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def groom():
    return mane.styles.make("ball", strands=60, vertices=6, seed=1)


@pytest.fixture(scope="module")
def guides(groom):
    return mane.select_guides(groom, 8, seed=1)


def test_reprs_are_one_line(groom, guides):
    assert repr(groom) == "Groom(60 strands, 360 points, 6 each; group_id, width)"
    assert repr(mane.Groom.from_strands([np.eye(3), np.eye(3)[:2]])) == (
        "Groom(2 strands, 5 points, 2 to 3 each; no attributes)"
    )
    assert repr(guides) == "Guides(8 guides of 6 vertices)"
    assert repr(guides.with_capacity(10)) == "Guides(8 guides of 6 vertices in 10 slots)"
    assert repr(mane.Mesh(np.eye(3), [[0, 1, 2]])) == "Mesh(1 triangles, 3 vertices)"


ERRORS = {"SceneError", "SolverDiverged"}  # which take their message as Python's own do


@pytest.mark.parametrize("name", sorted(set(mane.PUBLIC) - set(mane.MODULES) - {"LOOKS"} - ERRORS))
def test_signatures_and_help_show_the_arguments(name):
    public = getattr(mane, name)
    parameters = [
        one
        for one in inspect.signature(public).parameters.values()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    assert parameters
    text = pydoc.render_doc(public, renderer=pydoc.plaintext)
    assert all(parameter.name in text for parameter in parameters)


def test_a_groom_or_a_file_in_place_of_guides_is_answered_with_what_to_pass(groom, guides):
    with pytest.raises(ValueError, match=r"guides: must be Guides, got Groom; mane.select_guides\(groom, 128\)"):
        mane.Simulation(groom)
    with pytest.raises(ValueError, match=r"body: must be a Solid, a Mesh or a Shape, got str; mane.make_bust"):
        mane.Simulation(guides, body="bust")
    with pytest.raises(ValueError, match="head: must be a motion, its name or its file, got Pose"):
        mane.Simulation(guides, head=Pose.identity())
    with pytest.raises(ValueError, match="motion: 'shiver' is unknown; choose from dance, jump, look, nod"):
        mane.Simulation(guides, head="shiver")


def test_a_head_may_be_named(guides):
    far = mane.Guides.from_groom(guides.strands.with_points(guides.strands.points + np.float32((5, 0, 0))))
    sim = mane.Simulation(far, head="shake", substeps=1)
    x, _, z = sim.head.pose(0.6).apply(np.array([5.0, 0.0, 0.0])) - (5.0, 0.0, 0.0)
    assert np.hypot(x, z) < 0.05
    assert np.abs(sim.head.pose(0.6).rotation[1]) > 0.1


def test_skins_say_that_they_return_their_buffer_and_copy_where_asked(groom, guides):
    sim = mane.Simulation(guides, substeps=1)
    skin = mane.skin("linear", groom, guides)
    first = skin(sim.frame)
    assert skin(sim.frame) is first
    own = skin(sim.frame, copy=True)
    assert not np.shares_memory(own, first)
    assert np.array_equal(own, first)
    sentence = inspect.getdoc(type(skin).__call__).partition(".\n")[0]
    assert "the next call fills again" in sentence
    assert "`copy=True`" in sentence


def test_interactions_and_their_settings_are_listed_in_new_scenes_and_in_the_docs():
    text, page = starter_text("curls"), (DOCS / "forces.md").read_text(encoding="utf-8")
    for line in settings_lines(INTERACTIONS):
        assert f"#   {line}\n" in text
        assert f"\n{line}\n" in page
    for kind in INTERACTIONS:
        assert f"| `{kind}` |" in page
        for name in option_defaults(INTERACTIONS.find(kind)):
            assert f"{name} = " in page


def test_settings_of_every_strand_model_are_listed_in_new_scenes():
    text = starter_text("curls")
    for model in SOLVERS:
        (line,) = re.findall(rf"^#   {model}: (.*)$", text, re.M)
        listed = set(re.findall(r"(\w+) = ", line))
        assert listed == set(model_options(model))  # what [strand.settings] takes


def test_the_force_of_the_docs_lifts_hair():
    code = re.search(r"```python\n(.*?)```", (DOCS / "forces.md").read_text(encoding="utf-8"), re.S)[1]
    place = {}
    exec(compile(code, "forces.md", "exec"), place)
    sim, frame = place["sim"], place["frame"]
    lift = (frame.points - sim.rest.points)[:, -1, 1].mean()
    assert lift > 0.002


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('kind = "root_damping"', "s.toml:3: [[interactions]] rate: is missing"),
        ('kind = "grid"\nfriction = -1', "s.toml:5: [[interactions]] friction: must be at least 0"),
        ('kind = "grid"\ncell = -1.0', "s.toml:5: [[interactions]] cell: must be above 0"),
        ('kind = "links"\nbreaks_at = 0.001', "s.toml:5: [[interactions]] breaks_at: must be above weakens_at"),
        ('kind = "links"\nrat = 1.0', "s.toml:5: [[interactions]] has no key 'rat'; known keys are kind, rate"),
    ],
)
def test_errors_of_a_parts_settings_are_the_scenes_own(table, message):
    with pytest.raises(SceneError) as caught:
        parse_scene(f'[groom]\nstyle = "ball"\n[[interactions]]\n{table}', name="s.toml")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_interrupted_names_resume(monkeypatch, capsys, tmp_path):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mane.scene.loop.run_scene", stop)
    (tmp_path / "s.toml").write_text('[groom]\nstyle = "ball"\n[output]\ncache = "s.cache"\n')
    assert main(["simulate", str(tmp_path / "s.toml")]) == 130
    err = capsys.readouterr().err
    assert err.startswith("mane: interrupted; --resume goes on after the last finished frame")
    assert err.count("\n") == 1


def test_captions_belong_to_the_frame_shown():
    frames = {1: {"length_error": 0.0, "kink": 0.1}, 9: {"length_error": 0.05, "kink": 0.3}}
    case = _Case("cosserat", "linear", {"length_error": 0.02, "kink": 0.2}, {}, frames)
    assert _caption(case, 1) == "cosserat, linear\nlength off by less than 0.01 %\nkink 0.1 rad"
    assert _caption(case, 9) == "cosserat, linear\nlength off by 5 %\nkink 0.3 rad"

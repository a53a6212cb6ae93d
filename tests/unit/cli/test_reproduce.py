"""`mane reproduce`: what a scene reports is printed, written and judged; every scene of every paper can be loaded."""

import json
from importlib import import_module

import numpy as np
import pytest

from mane.cli import main
from mane.cli import reproduce as command
from mane.fluid.flow import FlowDiverged
from mane.measure.reproduce import reproduce


@pytest.fixture
def tiny_paper(monkeypatch):
    """A paper of two scenes that keep and miss their promises."""

    def kept(report, *, quick, tell):
        tell("counting", 0.5)
        report.add("one", "count", 1.0, "1", reference=2.0, source="the paper", target=1.0)
        report.picture("dot", np.zeros((2, 3, 3), np.uint8), "a dot")
        report.note("quick" if quick else "in full")

    def missed(report, *, quick, tell):
        report.add("two", "count", 2.0, "1", target=1.0)

    def diverged(report, *, quick, tell):
        raise FlowDiverged("water: 264 m/s near (0, 0, 0) m")

    modules = {"scene_kept": kept, "scene_missed": missed, "scene_diverged": diverged}
    monkeypatch.setattr(
        reproduce,
        "PAPERS",
        {
            "tiny": reproduce.Paper("Tiny", {"a": "scene_kept", "b": "scene_missed"}),
            "away": reproduce.Paper("Away", {"a": "scene_diverged"}),
        },
    )
    monkeypatch.setattr(command, "PAPERS", reproduce.PAPERS)
    monkeypatch.setattr(
        reproduce, "import_module", lambda name: type("Scene", (), {"run": staticmethod(modules[name.split(".")[-1]])})
    )


@pytest.mark.usefixtures("tiny_paper")
def test_a_scene_leaves_a_report_figures_and_pictures(tmp_path, capsys):
    assert main(["reproduce", "tiny", "--scene", "a", "--quick", "-o", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "2 (the paper)" in out
    assert "note: quick" in out
    assert "tiny a: counting (50 %" in err
    report = (tmp_path / "report.md").read_text()
    assert "![a dot](a/dot.png)" in report
    assert "| one | count | 1 | 1 | 2 (the paper) | 1 kept |" in report
    rows = json.loads((tmp_path / "figures.json").read_text())["rows"]
    assert [(row["case"], row["value"], row["reference"]) for row in rows] == [("a: one", 1.0, 2.0)]
    assert (tmp_path / "a" / "dot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("tiny_paper")
def test_a_missed_promise_is_exit_code_1_and_json_is_one_object(tmp_path, capsys):
    assert main(["reproduce", "tiny", "--json", "-o", str(tmp_path)]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert [row["case"] for row in printed["rows"]] == ["a: one", "b: two"]


@pytest.mark.usefixtures("tiny_paper")
def test_an_unknown_scene_is_refused_before_anything_is_written(tmp_path, capsys):
    assert main(["reproduce", "tiny", "--scene", "c", "-o", str(tmp_path / "out")]) == 2
    assert "scene: 'c' is unknown; choose from a, b" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("tiny_paper")
@pytest.mark.parametrize(("share", "line"), [("0.5", "scenes of tiny are run whole"), ("1.5", "at most 1, got 1.5")])
def test_a_share_that_a_paper_has_not_is_refused(tmp_path, capsys, share, line):
    assert main(["reproduce", "tiny", "--share", share, "-o", str(tmp_path / "out")]) == 2
    assert f"share: {line}" in capsys.readouterr().err.replace("must be above 0 and ", "")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("paper", reproduce.PAPERS)
def test_every_scene_can_be_loaded(paper):
    for scene in reproduce.PAPERS[paper].scenes.values():
        module, _, function = scene.partition(":")
        assert callable(getattr(import_module(f"mane.measure.{module}"), function or "run"))


@pytest.mark.usefixtures("tiny_paper")
def test_a_scene_that_runs_away_costs_one_line(tmp_path, capsys):
    assert main(["reproduce", "away", "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "mane: error: water: 264 m/s near (0, 0, 0) m"

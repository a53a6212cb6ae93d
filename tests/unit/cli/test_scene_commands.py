"""`mane new`, `mane simulate` and `mane bake`: what a user types, and what comes back."""

import json

import pytest

from mane.cli import main
from mane.cli._run_bar import that_fits

SMALL = ["groom.style=ball", "groom.strands=40", "groom.vertices=8", "guides.count=5", "frames.end=3"]
QUICK = [f"--set={setting}" for setting in [*SMALL, "guides.vertices=8", "strand.substeps=2"]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, *argv):
    """Exit code, standard output and standard error of a command."""
    code = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    return code, out, err


def refused(capsys, *argv):
    code, out, err = told(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith("mane: error: ")
    assert err.count("\n") == 1
    return err


def test_from_nothing_to_hair_on_disk(folder, capsys):
    assert told(capsys, "new", "curls")[1] == "curls.toml\nnow: mane simulate curls.toml\n"
    code, out, _ = told(capsys, "simulate", "curls.toml", *QUICK)
    assert code == 0
    assert out.startswith("3 frames of 40 strands from 5 guides in ")
    assert "guides: stretched by up to " in out
    assert "hair:   stretched by up to " in out
    assert "roots:  inside by up to " in out
    assert "ms per frame" in out
    assert out.splitlines()[-3:] == ["curls.usda", "curls.cache", "curls.cache/log.csv"]
    assert len(list((folder / "curls.frames").glob("frame.*.usdc"))) == 3

    code, out, _ = told(capsys, "simulate", "curls.toml", *QUICK, "--set", "frames.end=5", "--resume", "--json")
    facts = json.loads(out)
    assert (facts["frames"], facts["resumed_after"], facts["strands"]) == (2, 3, 40)
    assert facts["stage_seconds"]["guides"] > 0

    code, out, _ = told(
        capsys, "bake", "curls.cache", "-o", "few.usda", "--skin", "rigid", "--strands", 10, "--every", 2
    )
    assert code == 0
    assert out.startswith("3 frames of 10 strands from 5 guides")
    assert len(list((folder / "few.frames").glob("frame.*.usdc"))) == 3

    assert "holds frames of an earlier run" in refused(capsys, "simulate", "curls.toml", *QUICK)
    assert "seed was 1 and is 2" in refused(capsys, "simulate", "curls.toml", *QUICK, "--set", "seed=2", "--resume")
    assert "must be a key of skin, finish, passes, camera" in refused(
        capsys, "bake", "curls.cache", "-o", "x.usda", "--set", "seed=2"
    )
    assert "--set skin.alfa: [skin] has no key 'alfa'" in refused(
        capsys, "bake", "curls.cache", "-o", "x.usda", "--set", "skin.alfa=2"
    )
    assert "name something to write" in refused(capsys, "bake", "curls.cache")
    assert "--layer: must be left out with --strands" in refused(
        capsys, "bake", "curls.cache", "-o", "x.usda", "--layer", "--strands", 3
    )
    assert "strands: must be between 1 and 40, got 99" in refused(
        capsys, "bake", "curls.cache", "-o", "x.usda", "--strands", 99
    )


def test_quiet_is_quiet(folder, capsys):
    main(["new", "curls"])
    capsys.readouterr()
    assert told(capsys, "simulate", "curls.toml", *QUICK, "--set", "frames.end=1", "--quiet") == (0, "", "")


def test_refusals_are_one_line(folder, capsys):
    main(["new", "curls.toml"])
    capsys.readouterr()
    assert "curls.toml: is there already" in refused(capsys, "new", "curls")
    assert "'bouffant' is unknown; choose from" in refused(capsys, "new", "other", "--style", "bouffant")
    assert "none.toml" in refused(capsys, "simulate", "none.toml")
    assert "no such cache" in refused(capsys, "bake", "none.cache", "-o", "x.usda")
    text = (folder / "curls.toml").read_text().replace("count = 128", "cuont = 128")
    (folder / "curls.toml").write_text(text)
    line = 1 + text[: text.index("cuont")].count("\n")
    assert f"curls.toml:{line}: [guides] has no key 'cuont'" in refused(capsys, "simulate", "curls.toml")


def test_a_groom_file_in_a_new_scene(folder, capsys):
    main(["new", "mine", "--groom", "hair.usd"])
    assert 'file = "hair.usd"' in (folder / "mine.toml").read_text()
    assert "hair.usd" in refused_after(capsys, "simulate", "mine.toml")


def refused_after(capsys, *argv):
    capsys.readouterr()
    return refused(capsys, *argv)


@pytest.mark.parametrize(
    ("room", "line"),
    [(80, "frame 2 (2 of 8), 0:19 left, 3.0 fps"), (30, "frame 2 (2 of 8), 0:19 left"), (5, "frame 2 (2 of 8)")],
)
def test_a_narrow_terminal_is_told_the_most_important(room, line):
    assert that_fits(["frame 2 (2 of 8)", "0:19 left", "3.0 fps"], room) == line

"""Every command on every awkward groom ends in a right result, or in one line that says what to do."""

import json
import warnings

import numpy as np
import pytest
from awkward import BODIES, GROOMS, Stranger, hairs, write_body

from mane.cli import main
from mane.io.grooms import read_groom

SAMPLE = ("stubs", "doubled_points", "short_segments", "folded", "single_points", "nan_islands", "scale_0.01", "up_-z")
# The physical skin keeps lengths; hair that is pushed out of the body may lose some more on the way.
LENGTH_BOUND = 0.01


class Visit:
    """A stranger's files in a folder, and what mane says about them."""

    def __init__(self, folder, capsys, stranger: Stranger, body: str = "ball"):
        self.folder, self._capsys, self.stranger = folder, capsys, stranger
        self.groom = stranger.write(folder / "hair.npz")
        self.body = write_body(folder / "body.obj", body, stranger)

    def __call__(self, *argv):
        """Standard output where a command is done, or None where it refuses in one line."""
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            try:
                code = main([str(word) for word in argv])
            except SystemExit as error:  # argparse
                code = error.code
        out, err = self._capsys.readouterr()
        lines = [line for line in err.splitlines() if not line.startswith(("mane: simulating: ", "mane: baking: "))]
        assert "Traceback" not in err
        assert code in (0, 1, 2), err
        faults = [line for line in lines if not line.startswith(("mane: warning: ", "mane: note: "))]
        if code == 2:
            assert faults, "refused without a word"
            assert faults[-1].startswith("mane"), err
            assert "error: " in faults[-1], err
            assert len(faults) == 1 or faults[0].startswith("usage: "), err
            return None
        assert len(faults) <= code, err
        return out

    def scene(self, **tables) -> str:
        """A scene file of this hair on this body."""
        path = self.folder / "scene.toml"
        told = {"groom": self.stranger.told, "body": self.stranger.told}
        given = {
            "groom": {"file": self.groom.name, **told["groom"]},
            "body": {"mesh": self.body.name, **told["body"]},
            "guides": {"count": 8},
            "frames": {"end": 4},
            "head": {"motion": "shake"},
            "strand": {"substeps": 2},
            "output": {"usd": "out.usda", "cache": "cache"},
        }
        for name, table in tables.items():
            given[name] = {**given.get(name, {}), **table}
        lines = []
        for name, table in given.items():
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
        path.write_text("\n".join(lines) + "\n")
        return str(path)


def lengths(groom):
    return groom.lengths.astype(np.float64)


def require_right_hair(folder, bound):
    """Hair of the last frame has the lengths of the first, and no point is lost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rest, last = (read_groom(folder / "out.usda", time=time) for time in (1, 4))
    assert np.isfinite(last.points).all()
    error = np.abs(lengths(last) - lengths(rest)) / np.maximum(lengths(rest), 1e-4)
    assert error.max() < bound, f"strand {int(error.argmax())} is {100 * error.max():.3g} % off its length"
    travel = np.linalg.norm(last.points - rest.points, axis=1)
    size = np.linalg.norm(np.ptp(rest.points, axis=0))
    assert travel.max() < 2 * size, f"hair flew {travel.max():.3g} m"


def require_all_commands(visit):
    facts = visit("info", visit.groom, "--json")
    if facts is not None:
        assert json.loads(facts)["strands"] == len(visit.stranger.strands)
    for suffix in (".usda", ".hair", ".npz"):
        converted = visit.folder / f"converted{suffix}"
        if visit("convert", visit.groom, converted) is not None:
            assert converted.is_file()
            assert visit("info", converted) is not None
    visit("convert", visit.groom, visit.folder / "guides.npz", "--guides", 3, "--resample", 6)
    mended = visit.folder / "mended.npz"
    if visit("repair", visit.groom, mended, "--body", visit.body) is not None:
        facts = json.loads(visit("info", mended, "--json"))
        assert facts["problems"] == [] or {p["kind"] for p in facts["problems"]} <= {"stub", "folded"}
    visit("render", visit.groom, "-o", visit.folder / "hair.png", "--size", "64x64", "--body", visit.body)


def require_simulation(visit, bound=LENGTH_BOUND, **tables):
    done = visit("simulate", visit.scene(**tables), "--json")
    if done is None:
        return None
    facts = json.loads(done)
    assert facts["frames"] == 4
    require_right_hair(visit.folder, bound)
    return facts


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_strangers(tmp_path, capsys, name):
    visit = Visit(tmp_path, capsys, GROOMS[name]())
    assert visit("info", visit.groom) is not None
    require_simulation(visit)


@pytest.mark.stress
@pytest.mark.parametrize("name", list(GROOMS))
def test_every_command_on_every_groom(tmp_path, capsys, name):
    visit = Visit(tmp_path, capsys, GROOMS[name]())
    require_all_commands(visit)
    if require_simulation(visit) is not None:
        visit("bake", tmp_path / "cache", "-o", tmp_path / "baked.usda", "--skin", "linear")
        visit("render", tmp_path / "out.usda", "-o", tmp_path / "out.png", "--size", "64x64")


@pytest.mark.stress
@pytest.mark.parametrize("body", list(BODIES))
@pytest.mark.parametrize("name", ["stubs", "off_the_body", "inside_the_body", "mixed_lengths"])
def test_every_body(tmp_path, capsys, name, body):
    visit = Visit(tmp_path, capsys, GROOMS[name](), body)
    require_all_commands(visit)
    require_simulation(visit)


@pytest.mark.stress
def test_a_million_strands(tmp_path, capsys):
    visit = Visit(tmp_path, capsys, Stranger(list(hairs(1_000_000, 6))))
    require_all_commands(visit)
    facts = require_simulation(visit, guides={"count": 64})
    assert facts is not None
    assert facts["strands"] == 1_000_000

"""What a dataset is made from: contents of files, versions of methods, where files are looked for."""

import json
import os

import numpy as np
import pytest

from mane.cli import main
from mane.dataset import run, simulate
from mane.dataset.dataset import open_dataset
from mane.dataset.inputs import InputsChanged, spec_digests
from mane.dataset.run import run_dataset
from mane.dataset.sequences import plan_sequences
from mane.dataset.spec import read_spec
from mane.groom import styles
from mane.io.grooms import write_groom
from mane.scene.files import names_file, scene_files
from mane.scene.scene_file import parse_scene

SPEC = """\
frames = 2
scene = "scenes/ball.toml"

[[motions]]
motion = "walks/dance.csv"

[[motions]]
motion = "shake"
"""
SCENE = """\
[groom]
file = "ball.npz"
any_scale = true

[body]
mesh = "none"

[guides]
count = 3
"""
STEPS = "time,x,y,z,qx,qy,qz,qw\n0,0,0,0,0,0,0,1\n1,0.1,0,0,0,0,0,1\n"


@pytest.fixture
def from_files(tmp_path):
    """A spec with a scene in another folder, a groom file and a motion file."""
    for name in ("scenes", "walks"):
        (tmp_path / name).mkdir()
    write_groom(tmp_path / "scenes" / "ball.npz", styles.make("ball", strands=6, vertices=5))
    (tmp_path / "scenes" / "ball.toml").write_text(SCENE)
    (tmp_path / "walks" / "dance.csv").write_text(STEPS)
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


def test_files_of_a_spec_are_seen_from_its_own_folder(from_files, monkeypatch):
    spec = read_spec(from_files / "spec.toml")
    scene = plan_sequences(spec)[0].scene(spec)
    assert scene.path(scene.head.motion).resolve() == from_files / "walks" / "dance.csv"
    assert plan_sequences(spec)[0].motion == "0000-dance"
    assert set(spec_digests(spec)) == {"ball.npz", os.path.join("..", "walks", "dance.csv")}
    monkeypatch.chdir(from_files)
    assert read_spec("spec.toml") == spec


def test_a_file_with_other_contents_is_not_mixed_in(from_files):
    spec, store = read_spec(from_files / "spec.toml"), from_files / "hair.zarr"
    assert run_dataset(spec, store, workers=0).made == 2
    open_dataset(store).store.forget(1)
    write_groom(from_files / "scenes" / "ball.npz", styles.make("ball", strands=7, vertices=5))
    with pytest.raises(InputsChanged, match=r"was begun with other contents of ball.npz.*bring the file back"):
        run_dataset(spec, store, workers=0)
    write_groom(from_files / "scenes" / "ball.npz", styles.make("ball", strands=6, vertices=5))
    assert run_dataset(spec, store, workers=0).made == 1


def test_a_file_that_changes_while_a_run_is_at_work_stops_it(from_files, monkeypatch):
    spec, store, real = read_spec(from_files / "spec.toml"), from_files / "hair.zarr", simulate.store_sequence

    def changing(*arguments):
        made = real(*arguments)
        (from_files / "walks" / "dance.csv").write_text(STEPS.replace("0.1", "0.2"))
        open_dataset(store).store.forget(0)
        return made

    monkeypatch.setattr(simulate, "store_sequence", changing)
    run_dataset(spec, store, workers=0)
    with pytest.raises(InputsChanged, match=r"other contents of \.\..walks.dance\.csv"):
        simulate.simulate_sequence(str(store), plan_sequences(spec)[0])
    assert open_dataset(store).failures == {}


def test_a_file_that_comes_later_is_noted(from_files):
    groom = from_files / "scenes" / "ball.npz"
    other = from_files / "scenes" / "other.npz"
    (from_files / "spec.toml").write_text(
        SPEC + '\n[[axes]]\nkey = "groom.file"\nvalues = ["scenes/other.npz", "scenes/ball.npz"]\n'
    )
    spec, store = read_spec(from_files / "spec.toml"), from_files / "hair.zarr"
    summary = run_dataset(spec, store, workers=0)
    assert (summary.made, sorted(summary.failures)) == (2, [0, 2])  # the first sequence of all is one that fails
    assert "other.npz" in summary.failures[0]
    other.write_bytes(groom.read_bytes())
    assert run_dataset(spec, store, workers=0, retry_failed=True).made == 2
    assert "other.npz" in open_dataset(store).store.header["files"]
    other.write_bytes(b"something else")
    with pytest.raises(InputsChanged, match=r"other contents of other\.npz"):
        run_dataset(spec, store, workers=0)


def test_layers_below_a_usd_file_count(tmp_path):
    (tmp_path / "below.usda").write_text("#usda 1.0\n")
    (tmp_path / "top.usda").write_text("#usda 1.0\n(\n    subLayers = [@./below.usda@]\n)\n")
    (tmp_path / "scene.toml").write_text('[groom]\nfile = "top.usda"\n')
    (tmp_path / "spec.toml").write_text('scene = "scene.toml"\n[[motions]]\nmotion = "still"\n')
    spec = read_spec(tmp_path / "spec.toml")
    before = spec_digests(spec)
    assert set(before) == {"top.usda", "below.usda"}
    (tmp_path / "below.usda").write_text('#usda 1.0\ndef "Hair"\n{\n}\n')
    after = spec_digests(spec)
    assert after["top.usda"] == before["top.usda"]
    assert after["below.usda"] != before["below.usda"]


def test_a_method_of_another_version_is_not_mixed_in(dataset_copy):
    store = open_dataset(dataset_copy).store
    store.forget(4)
    stages = store.attributes(0)["stages"]
    assert "strand.cosserat" in stages
    assert any(key.startswith("skin.") for key in stages)  # every hair is stored, so skins count
    file = store.sequence_folder(0) / "zarr.json"
    header = json.loads(file.read_text())
    header["attributes"]["stages"]["strand.cosserat"] = 0
    for index in (1, 2, 3, 5, 6, 7):
        store.forget(index)
    file.write_text(json.dumps(header))
    with pytest.raises(ValueError, match=r"was begun with version 0 of strand.cosserat and .* has version"):
        run_dataset(read_spec(dataset_copy.parent / "spec.toml"), dataset_copy, workers=0)


def test_what_names_a_file():
    assert names_file("head.motion", "walk.csv")
    assert not names_file("head.motion", "walk")
    assert names_file("solids.3.mesh", "chair.obj")
    assert not names_file("body.mesh", "bust")
    assert not names_file("groom.style", "curly.usd")
    text = '[groom]\nstyle = "ball"\n[[solids]]\nmesh = "chair.obj"\nmotion = "roll.json"\n[skin]\nmethod = "linear"\n'
    scene = parse_scene(text)
    assert {key: path.name for key, path in scene_files(scene).items()} == {
        "solids.0.mesh": "chair.obj",
        "solids.0.motion": "roll.json",
    }


# -- one sequence's trouble is its own -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (np._core._exceptions._ArrayMemoryError((9,), np.dtype("f8")), "not enough memory: Unable to allocate"),
        (MemoryError(), "not enough memory; fewer workers leave more for each"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
    ],
)
def test_a_sequence_without_memory_is_recorded_and_stops_nobody(write_spec, tmp_path, monkeypatch, error, reason):
    spec, real = read_spec(write_spec(("count = 3", "count = 1"), ('"head", "hairs"', '"head"'))), simulate.run_into

    def run_into(assembly, sinks, progress):
        if assembly.scene.strand.properties["stiffness"] == 2.0:
            raise error
        return real(assembly, sinks, progress)

    monkeypatch.setattr(simulate, "run_into", run_into)
    summary = run_dataset(spec, tmp_path / "hair.zarr", workers=0)
    assert (summary.made, sorted(summary.failures)) == (2, [1, 3])
    assert summary.failures[1].startswith(reason)
    assert list((tmp_path / "hair.zarr" / "unfinished").iterdir()) == []


def test_a_full_disk_is_no_fault_of_a_sequence(write_spec, tmp_path, monkeypatch, capsys):
    def run_into(*arguments):
        raise OSError(28, "No space left on device", "hair.zarr")

    monkeypatch.setattr(simulate, "run_into", run_into)
    assert main(["dataset", str(write_spec()), "-o", str(tmp_path / "hair.zarr"), "--workers", "0"]) == 2
    error = capsys.readouterr().err
    assert "hair.zarr" in error
    assert "no space left" in error.lower()
    assert error.count("\n") == 1
    assert open_dataset(tmp_path / "hair.zarr").failures == {}


def test_a_spec_of_which_nothing_builds_is_refused_with_the_first_reason(write_spec, tmp_path, monkeypatch):
    tried = []

    def assemble(scene):
        tried.append(scene.head.seed)
        raise ValueError(f"fault {len(tried)}")

    monkeypatch.setattr(run, "assemble", assemble)
    with pytest.raises(ValueError, match="fault 1"):
        run_dataset(read_spec(write_spec()), tmp_path / "hair.zarr", workers=0)
    assert not (tmp_path / "hair.zarr").exists()
    assert 1 < len(tried) <= run.PROBES

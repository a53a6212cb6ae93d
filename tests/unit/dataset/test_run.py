"""Running a spec: what is stored, what is kept, what is recorded, what is refused."""

import json

import numpy as np
import pytest

from mane.dataset import simulate
from mane.dataset.check import check_dataset
from mane.dataset.dataset import open_dataset
from mane.dataset.run import run_dataset
from mane.dataset.sequences import plan_sequences
from mane.dataset.spec import read_spec
from mane.scene.build import build
from mane.strand.stepping import SolverDiverged


def frames_of(scene):
    """The frames that a loop of one's own makes."""
    assembly = build(scene)
    frame = assembly.source.reset()
    made = [(frame, assembly.hair_stage(frame).copy())]
    for _ in range(scene.frames.count - 1):
        frame = assembly.source.step()
        made.append((frame, assembly.hair_stage(frame).copy()))
    return made


def test_a_sequence_is_what_its_scene_simulates(simulated):
    dataset = open_dataset(simulated)
    assert len(dataset) == 8
    reader = dataset[3]
    made = frames_of(plan_sequences(dataset.spec)[3].scene(dataset.spec))
    for name in ("points", "velocity"):
        np.testing.assert_array_equal(reader[name], np.stack([getattr(frame, name) for frame, _ in made]))
    np.testing.assert_array_equal(reader["hairs"], np.stack([hair for _, hair in made]))
    np.testing.assert_array_equal(reader["head"][:, :3], np.stack([frame.head.position for frame, _ in made]))
    np.testing.assert_allclose(reader.times, np.arange(6) / 24)
    assert np.ptp(reader["points"], axis=0).max() > 1e-3  # it moves


def test_all_is_well_with_it(simulated):
    assert check_dataset(open_dataset(simulated)) == []


def test_finished_sequences_are_not_run_again(dataset_copy, monkeypatch):
    spec = read_spec(dataset_copy.parent / "spec.toml")

    def fail(*arguments):
        raise AssertionError("a sequence was run again")

    monkeypatch.setattr("mane.dataset.run.simulate_sequence", fail)
    summary = run_dataset(spec, dataset_copy, workers=0)
    assert (summary.made, summary.kept) == (0, 8)


def test_what_a_killed_run_left_is_no_data_and_the_rest_is_made_again(dataset_copy):
    spec = read_spec(dataset_copy.parent / "spec.toml")
    before = open_dataset(dataset_copy)[5].attributes["sha256"]
    half = dataset_copy / "unfinished" / "000005-abc"
    (dataset_copy / "unfinished").mkdir(exist_ok=True)
    (dataset_copy / "sequences" / "000005").rename(half)
    (half / "points" / "zarr.json").unlink()
    assert open_dataset(dataset_copy).missing == [5]
    assert run_dataset(spec, dataset_copy, workers=0).made == 1
    assert not half.exists()
    assert open_dataset(dataset_copy)[5].attributes["sha256"] == before


def test_order_does_not_matter(dataset_copy, tmp_path):
    spec = read_spec(dataset_copy.parent / "spec.toml")
    store = open_dataset(dataset_copy).store
    for index in (1, 6):
        store.forget(index)
    for sequence in reversed([s for s in plan_sequences(spec) if s.index in (1, 6)]):
        simulate.simulate_sequence(str(dataset_copy), sequence)
    one, other = ({r.index: r.attributes["sha256"] for r in open_dataset(path)} for path in (dataset_copy, store.path))
    assert one == other
    files = sorted(path.relative_to(dataset_copy) for path in (dataset_copy / "sequences").rglob("*") if path.is_file())
    assert len(files) > 8 * 5


def test_a_sequence_that_diverges_is_recorded_and_stops_nobody(write_spec, tmp_path, monkeypatch):
    spec = read_spec(write_spec(("count = 3", "count = 1")))
    simulated = simulate.store_sequence

    def diverging(store, spec, sequence, stages):
        if sequence.index == 1:
            raise SolverDiverged("frame 3: strand 2 has left the finite numbers")
        return simulated(store, spec, sequence, stages)

    monkeypatch.setattr(simulate, "store_sequence", diverging)
    summary = run_dataset(spec, tmp_path / "hair.zarr", workers=0)
    assert summary.made == 3
    assert summary.failures == {1: "frame 3: strand 2 has left the finite numbers"}
    dataset = open_dataset(tmp_path / "hair.zarr")
    assert dataset.failures == summary.failures
    assert check_dataset(dataset) == []
    monkeypatch.setattr(simulate, "store_sequence", simulated)
    assert run_dataset(spec, tmp_path / "hair.zarr", workers=0).made == 0
    assert run_dataset(spec, tmp_path / "hair.zarr", workers=0, retry_failed=True).made == 1
    assert len(open_dataset(tmp_path / "hair.zarr")) == 4


def test_half_precision_states_its_error_and_keeps_it(write_spec, tmp_path, simulated):
    spec = read_spec(write_spec(("[store]", '[store]\nprecision = "float16"'), ("count = 3", "count = 1")))
    run_dataset(spec, tmp_path / "half.zarr", workers=0)
    half, whole = open_dataset(tmp_path / "half.zarr")[0], open_dataset(simulated)[0]
    assert half.attributes["values"] == whole.attributes["values"]
    for name in ("points", "velocity", "hairs"):
        assert half[name].dtype == np.float32
        error = np.abs(half[name] - whole[name]).max()
        assert 0 < error <= half.attributes["largest_error"][name] * (1 + 1e-6)
    # float16 has 11 bits: half a step of 2^-12 m at distances up to half a metre from the middle of the roots
    assert half.attributes["largest_error"]["points"] <= 2.0**-13
    np.testing.assert_array_equal(half["head"], whole["head"])


def test_every_other_frame(write_spec, tmp_path, simulated):
    spec = read_spec(write_spec(("[store]", "[store]\nevery = 2"), ("count = 3", "count = 1")))
    run_dataset(spec, tmp_path / "thin.zarr", workers=0)
    thin, whole = open_dataset(tmp_path / "thin.zarr")[0], open_dataset(simulated)[0]
    np.testing.assert_array_equal(thin["points"], whole["points"][::2])


@pytest.mark.parametrize(("change", "message"), [("amplitude", "motions.0.amplitude"), ("seed", "seed was 3")])
def test_another_spec_in_the_way(dataset_copy, write_spec, change, message):
    changes = {"amplitude": ("[0.2, 0.6]", "[0.2, 0.7]"), "seed": ("seed = 3", "seed = 4")}
    spec = read_spec(write_spec(changes[change]))
    with pytest.raises(ValueError, match=f"holds a dataset of another spec: .*{message}"):
        run_dataset(spec, dataset_copy, workers=0)


def test_a_dataset_begun_before_a_key_was_there_goes_on(dataset_copy):
    file = dataset_copy / "zarr.json"
    header = json.loads(file.read_text())
    del header["attributes"]["mane"]["spec"]["scene"]["water"]
    del header["attributes"]["mane"]["spec"]["scene"]["strand"]["cohesion"]
    file.write_text(json.dumps(header))
    assert run_dataset(read_spec(dataset_copy.parent / "spec.toml"), dataset_copy, workers=0).made == 0


def test_something_else_in_the_way(write_spec, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("dear diary")
    with pytest.raises(ValueError, match="notes: is no dataset of mane; choose another name"):
        run_dataset(read_spec(write_spec()), tmp_path / "notes", workers=0)
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["diary.txt"]


def test_a_dataset_of_another_program_is_not_continued(dataset_copy):
    file = dataset_copy / "zarr.json"
    header = json.loads(file.read_text())
    header["attributes"]["mane"]["versions"]["numba"] = "0.1"
    file.write_text(json.dumps(header))
    with pytest.raises(ValueError, match=r"was begun with numba 0.1 and this is .*pip install numba==0.1"):
        run_dataset(read_spec(dataset_copy.parent / "spec.toml"), dataset_copy, workers=0)


def test_two_runs_at_once_are_refused(dataset_copy):
    import fcntl

    spec = read_spec(dataset_copy.parent / "spec.toml")
    with open(dataset_copy / "run.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ValueError, match="another run is at work"):
            run_dataset(spec, dataset_copy, workers=0)


def test_damage_is_named(dataset_copy):
    chunk = next(
        path
        for path in (dataset_copy / "sequences" / "000002" / "points").rglob("*")
        if path.is_file() and path.name == "0"
    )
    data = bytearray(chunk.read_bytes())
    data[len(data) // 2] ^= 0xFF
    chunk.write_bytes(bytes(data))
    faults = check_dataset(open_dataset(dataset_copy))
    assert len(faults) == 1
    assert faults[0].startswith("sequence 2: points: cannot be read")


def test_data_of_another_motion_is_named(dataset_copy):
    file = dataset_copy / "sequences" / "000002" / "zarr.json"
    header = json.loads(file.read_text())
    header["attributes"]["split"] = "test"
    file.write_text(json.dumps(header))
    assert check_dataset(open_dataset(dataset_copy)) == ["sequence 2: split: is 'test', the spec says 'train'"]


def test_damage_of_the_hair_at_rest_is_named(dataset_copy):
    chunk = next(path for path in (dataset_copy / "rests").rglob("guides/c/**/*") if path.is_file())
    chunk.unlink()  # which Zarr reads as zeros
    faults = check_dataset(open_dataset(dataset_copy))
    assert faults == [f"sequence {i}: rest: has another checksum than its name says" for i in range(8)]


def test_a_scene_that_cannot_be_built_leaves_nothing_in_the_way(write_spec, tmp_path):
    spec = read_spec(write_spec(('style = "ball"\nstrands = 40', 'file = "nowhere.abc"')))
    with pytest.raises(OSError, match="nowhere"):
        run_dataset(spec, tmp_path / "hair.zarr", workers=0)
    assert not (tmp_path / "hair.zarr").exists()


def test_a_sequence_whose_file_is_missing_is_recorded_and_stops_nobody(write_spec, tmp_path, monkeypatch):
    spec, real = read_spec(write_spec()), simulate.assemble

    def assemble(scene):
        if scene.strand.properties["stiffness"] == 2.0:
            raise FileNotFoundError("curls.abc: no such file")
        return real(scene)

    monkeypatch.setattr(simulate, "assemble", assemble)
    summary = run_dataset(spec, tmp_path / "hair.zarr", workers=0)
    assert (summary.made, set(summary.failures.values())) == (4, {"curls.abc: no such file"})


def test_a_share_for_now_and_the_rest_later(dataset_copy):
    spec, store = read_spec(dataset_copy.parent / "spec.toml"), open_dataset(dataset_copy).store
    for index in range(8):
        store.forget(index)
    assert run_dataset(spec, dataset_copy, workers=0, share=0.25).made == 2
    assert open_dataset(dataset_copy).missing == [0, 1, 3, 4, 5, 7]
    assert run_dataset(spec, dataset_copy, workers=0).made == 6
    with pytest.raises(ValueError, match="share: must be above 0 and at most 1, got 0"):
        run_dataset(spec, dataset_copy, workers=0, share=0)

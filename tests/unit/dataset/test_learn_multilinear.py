"""`mane learn multilinear`: from a dataset to a model, to a scene that plays it; what is refused, in one line each."""

import hashlib
import itertools
import json
import re
import shutil
from dataclasses import replace
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np
import pytest

import mane
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.cli import main
from mane.cli._model_info import _stability
from mane.dataset.dataset import SequenceReader, open_dataset
from mane.dataset.learn import multilinear
from mane.dataset.learn.styles import DatasetStyles
from mane.groom.styles.standing import BALL_RADIUS
from mane.reduced.evaluate import StyleError
from mane.reduced.training import MultilinearTraining, fit_model
from mane.scene.build import build
from mane.scene.cached import CachedSource
from mane.scene.head_meter import HeadMeter
from mane.scene.sink_metrics import MetricsSink
from mane.stage.model_file import ModelFile

SPEC = """\
seed = 3
frames = 16

[scene.frames]
rate = 30
preroll = 0.1

[scene.groom]
style = "ball"
strands = 12
vertices = 5

[scene.guides]
count = "all"

[[motions]]
motion = "random"
count = 3
split = "train"
amplitude = [0.4, 0.8]
ease_in = 0.1

[[motions]]
motion = "shake"
split = "test"
ease_in = 0.1

[[axes]]
key = "groom.length"
values = [0.06, 0.1]

[store]
fields = ["points", "head"]
"""

SCENE = """\
[groom]
style = "ball"
strands = 12
vertices = 5
length = 0.1

[frames]
end = 5
rate = 30

[guides]
model = "hair.model"
sliders = { length = [[0.0, 1.0], [0.1, 0.5]] }

[head]
motion = "shake"
ease_in = 0.05

[skin]
method = "rigid"

[output]
cache = "run.cache"
"""


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A dataset and a model of it."""
    folder = tmp_path_factory.mktemp("learned")
    (folder / "spec.toml").write_text(SPEC)
    mane.run_dataset(mane.read_spec(folder / "spec.toml"), folder / "hair.zarr", workers=0)
    words = ["learn", "multilinear", str(folder / "hair.zarr"), "-o", str(folder / "hair.model"), "--quiet"]
    assert main([*words, "--set", "dimensions=8"]) == 0
    return folder


def test_the_command_learns_and_tells(learned, capsys):
    facts = json.loads((learned / "hair.json").read_text())
    assert facts["dimensions"] == 8
    assert facts["spectral_radius"] < 1
    for row in facts["errors"]:
        assert row["training_model"] < row["training_rigid"]
        assert row["test_floor"] <= row["test_rigid"]
        assert row["test_stretch"] < 1e-4
    assert main(["info", str(learned / "hair.model")]) == 0
    told = capsys.readouterr().out
    assert "model of kind multilinear" in told
    for line in (
        "slider length        levels 0.06, 0.1 at 0, 1; from -0.35 to 1.35",
        "frame rate           30 per second",
        f"learned              directions seen from the head, {facts_of(learned)['controls']} controls, a window of 2",
        "ridge                ",
        "learned from         hair.zarr: 3 motions, 48 frames",
        f"programs             mane {version('mane')}, numpy {version('numpy')}, numba {version('numba')}",
    ):
        assert f"  {line}" in told
    assert "strongest wind" not in told
    for once in (f"{facts['spectral_radius']:.4f}", "8 dimensions", "hair.zarr", "12 guides"):
        assert told.count(once) == 1
    assert not any(name in told for name in ("spectral_radius", "stability_margin", "energy  ", "megabytes"))
    assert main(["info", str(learned / "hair.model"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["facts"]["model"]["frame_rate"] == 30


def facts_of(folder):
    return mane.HairModel.load(folder / "hair.model").to_file().facts["model"]


def test_a_plot_has_the_worst_of_all_settings_and_the_errors(learned, monkeypatch):
    drawn = []
    monkeypatch.setattr("mane.measure.plot.write_panels", lambda path, panels: drawn.append((path, panels)))
    assert main(["info", str(learned / "hair.model"), "--plot", "plot.png"]) == 0
    ((path, (stability, errors)),) = drawn
    assert path == "plot.png"
    model = mane.HairModel.load(learned / "hair.model")
    np.testing.assert_array_equal(stability.curves[0].x, model.grid[:, 0])
    np.testing.assert_array_equal(stability.curves[0].y, model.radii)
    rows = json.loads((learned / "hair.json").read_text())["errors"]
    found = {curve.label: list(curve.y) for curve in errors.curves}
    assert found["other motions"] == [100 * row["test_model"] for row in rows]
    # Three sliders: the one setting that is bad is drawn, wherever it is.
    file = model.to_file()
    grid = np.array(list(itertools.product(np.linspace(-0.35, 1.35, 6), repeat=3)))
    radii = np.random.default_rng(0).uniform(0.5, 0.9, len(grid))
    radii[-1] = 0.99
    factors = [{"name": name} for name in ("length", "softness", "curl")]
    facts = {**file.facts, "model": {**file.facts["model"], "factors": factors}}
    three = ModelFile(file.kind, file.version, facts, {**file.arrays, "grid": grid, "radii": radii})
    (panel,) = _stability("x", three)
    worst, best = panel.curves
    np.testing.assert_array_equal(worst.y, radii.reshape(6, 36).max(axis=1))
    np.testing.assert_array_equal(best.y, radii.reshape(6, 36).min(axis=1))
    assert worst.y[-1] == 0.99
    assert worst.label == "worst over softness, curl"


def test_where_a_model_comes_from_is_in_it(learned):
    facts = mane.HairModel.load(learned / "hair.model").facts
    spec = open_dataset(learned / "hair.zarr").spec.to_dict()
    assert facts["spec"] == json.loads(json.dumps(spec))
    text = json.dumps(facts["spec"], sort_keys=True).encode()
    assert facts["spec_sha256"] == hashlib.sha256(text).hexdigest()
    assert facts["programs"]["mane"] == version("mane")


def test_a_scene_plays_it_with_sliders_that_move(learned, tmp_path):
    shutil.copy(learned / "hair.model", tmp_path)
    (tmp_path / "scene.toml").write_text(SCENE)
    assert main(["simulate", str(tmp_path / "scene.toml"), "--quiet"]) == 0
    from mane.scene.cache import Cache

    cache = Cache.open(tmp_path / "run.cache")
    lengths = [np.linalg.norm(np.diff(cache.read_frame(i).points, axis=1), axis=2).sum(axis=1) for i in cache.frames]
    model = mane.HairModel.load(learned / "hair.model")
    short, long = (np.linalg.norm(np.diff(rest, axis=1), axis=2).sum(axis=1) for rest in model.groomed)
    np.testing.assert_allclose(lengths[0], long, rtol=1e-5)
    np.testing.assert_allclose(lengths[4], 0.5 * (short + long), rtol=1e-5)
    # A cache tells skins how long guides are, so that hair that is baked again has their lengths; at first the groom's.
    first, last = (cache.read_frame(cache.frames[k]) for k in (0, 4))
    assert first.length_scale is None
    np.testing.assert_allclose(last.length_scale, 0.5 * (short + long) / long, rtol=1e-4)
    made = build(mane.read_scene(tmp_path / "scene.toml")).source
    assert made.may_change_lengths
    assert CachedSource(cache, cache.frames, made).may_change_lengths
    groom, guides = mane.Groom.from_uniform(model.groomed[1].copy()), model.guides(1)
    for skin in ("rigid", "linear", "physical"):
        hair = mane.skin(skin, groom, guides)(last)
        found = np.linalg.norm(np.diff(hair, axis=1), axis=2).sum(axis=1)
        np.testing.assert_allclose(found, 0.5 * (short + long), rtol=1e-3)


def test_hair_that_a_slider_has_made_shorter_is_not_reported_as_too_short(learned, tmp_path):
    """What a run says of lengths is measured against hair as long as the sliders have it."""
    shutil.copy(learned / "hair.model", tmp_path)
    (tmp_path / "scene.toml").write_text(SCENE.replace("rigid", "linear"))
    assembly = build(mane.read_scene(tmp_path / "scene.toml"))
    assembly.source.reset()
    for _ in range(4):
        frame = assembly.source.step()
    assert frame.length_scale.max() < 0.9
    points = assembly.hair_stage(frame)
    report = HeadMeter(assembly, last=4).measure(4, frame, points)
    assert max(report.stretch, report.shortening) < 1e-3
    measured = MetricsSink(tmp_path / "metrics.json", assembly).make_part(4, frame, points)
    assert measured["length_error_p95"] < 1e-3
    assert measured["segment_error"] < 1e-2


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("strands = 12", "strands = 13\n", None),
        ("length = 0.1\n", "length = 0.08\n", "model: was learned of another groom"),
        (
            "rate = 30",
            "rate = 24",
            "scene.toml:11: [guides] frame_rate: must be 30, which the model was learned at, got 24",
        ),
        ("sliders = { length = [[0.0, 1.0], [0.1, 0.5]] }", "sliders = { length = 3.0 }", "length: must be a number"),
        ("sliders = { length = [[0.0, 1.0], [0.1, 0.5]] }", "sliders = { colour = 1.0 }", "colour: is no slider"),
        ('model = "hair.model"\n', "", "sliders: is for a model that is played"),
        ("[skin]", '[[interactions]]\nkind = "links"\n\n[skin]', "[[interactions]] must be left out: source 'learned'"),
        ("sliders = { length = [[0.0, 1.0], [0.1, 0.5]] }", 'slider_file = "s.csv"', "s.csv:3: must be numbers"),
    ],
)
def test_scenes_that_do_not_fit_are_refused_in_one_line(learned, tmp_path, capsys, old, new, text):
    shutil.copy(learned / "hair.model", tmp_path)
    (tmp_path / "s.csv").write_text("time,length\n0,0.5\n1,x\n")
    assert old in SCENE
    (tmp_path / "scene.toml").write_text(SCENE.replace(old, new, 1))
    code = main(["simulate", str(tmp_path / "scene.toml"), "--quiet"])
    told = capsys.readouterr().err.strip()
    assert code == 2
    assert "scene.toml" in told
    assert "\n" not in told
    assert text is None or text in told


@pytest.mark.parametrize(
    ("sliders", "text"),
    [
        ("sliders = { length = 3.0 }", ":13: [guides.sliders] length: must be a number from -0.35 to 1.35, got 3.0"),
        ("sliders = { length = true }", ":13: [guides.sliders] length: must be a number from -0.35 to 1.35, got True"),
        ("sliders = { colour = 1.0 }", ":13: [guides.sliders] colour: is no slider of this model; it has length"),
        ("\n[guides.sliders]\nlength = 'grey'", ":15: [guides.sliders] length: the guides have no painted map 'grey'"),
        (
            'sliders = { length = [["a", 0.2]] }',
            ":13: [guides.sliders] length: must be a number, rows of time [s] and value, or a number for each guide, "
            "got [['a', 0.2]]",
        ),
        (
            "sliders = { length = [[0, 0.2], [1]] }",
            ":13: [guides.sliders] length: must be a number, rows of time [s] and value, or a number for each guide, "
            "got [[0, 0.2], [1]]",
        ),
        ('slider_file = "s.csv"', ":13: [guides] slider_file: length: must be a number from -0.35 to 1.35, got 2.5"),
    ],
)
def test_a_slider_that_is_wrong_is_found_in_its_table_and_line(learned, tmp_path, capsys, sliders, text):
    shutil.copy(learned / "hair.model", tmp_path)
    (tmp_path / "s.csv").write_text("time,length\n0,0.5\n1,2.5\n")
    old = "sliders = { length = [[0.0, 1.0], [0.1, 0.5]] }"
    assert SCENE.splitlines()[12] == old
    (tmp_path / "scene.toml").write_text(SCENE.replace(old, sliders))
    assert main(["simulate", str(tmp_path / "scene.toml"), "--quiet"]) == 2
    told = capsys.readouterr().err.strip()
    assert "\n" not in told
    assert "scene.toml" + text in told


def test_the_same_dataset_gives_the_same_model(learned):
    styles = DatasetStyles(open_dataset(learned / "hair.zarr"))
    one, two = (fit_model(styles, MultilinearTraining(dimensions=8)).model for _ in range(2))
    for name, array in one.to_file().arrays.items():
        assert array.tobytes() == two.to_file().arrays[name].tobytes(), name


@pytest.mark.filterwarnings("default::mane.dataset.learn.multilinear.LearningNotice")
def test_as_printed_is_another_column_and_a_warning(learned, tmp_path, capsys):
    words = ["learn", "multilinear", str(learned / "hair.zarr"), "-o", str(tmp_path / "p.model"), "--quiet", "--paper"]
    assert main([*words, "--set", "dimensions=8"]) == 0
    told = capsys.readouterr().err.strip()  # least squares of 48 frames, without a ridge
    worse, unstable = told.split("\n")
    assert "p.model: on motions that were not learned from, 2 of 2 styles are farther from the simulation than" in worse
    assert "most of all length 0.1: " in worse
    assert re.search(r"p.model: is not stable, its largest eigenvalue is [1-9][.0-9]*: hair may leave", unstable)
    facts = json.loads((tmp_path / "p.json").read_text())
    assert facts["errors"][0]["test_stretch"] > 1e-4  # positions stretch strands
    model = mane.HairModel.load(tmp_path / "p.model")
    assert model.space.name == "bust"
    shutil.copy(tmp_path / "p.model", tmp_path / "hair.model")
    (tmp_path / "scene.toml").write_text(SCENE)
    assert main(["simulate", str(tmp_path / "scene.toml"), "--quiet"]) == 0


@pytest.mark.filterwarnings("default::mane.dataset.learn.multilinear.LearningNotice")
def test_errors_that_have_left_the_finite_numbers_are_told_as_such(learned, tmp_path, capsys, monkeypatch):
    """A printed model whose test diverges is still written, with a report that any reader of JSON can read."""
    gone = StyleError(np.inf, 0.02, 0.001, np.nan, np.nan)
    monkeypatch.setattr(multilinear, "style_errors", lambda model, *given, **settings: [gone] * len(model.rest))
    output = tmp_path / "d.model"
    assert main(["learn", "multilinear", str(learned / "hair.zarr"), "-o", str(output), "--set", "dimensions=8"]) == 0
    told = capsys.readouterr()
    assert "diverged" in told.out
    text = (tmp_path / "d.json").read_text()
    assert json.loads(text, parse_constant=pytest.fail)["errors"][0]["test_model"] is None
    assert main(["info", str(output), "--plot", str(tmp_path / "d.png")]) == 0
    assert "diverged" in capsys.readouterr().out


def copy_of(learned, tmp_path):
    shutil.copytree(learned / "hair.zarr", tmp_path / "copy.zarr")
    return tmp_path / "copy.zarr"


def refused(store, tmp_path, capsys):
    assert main(["learn", "multilinear", str(store), "-o", str(tmp_path / "x.model"), "--quiet"]) == 2
    told = capsys.readouterr().err.strip()
    assert "\n" not in told
    assert not (tmp_path / "x.model").exists()
    return told


def test_a_style_that_lacks_a_motion_is_named(learned, tmp_path, capsys):
    store = copy_of(learned, tmp_path)
    data = open_dataset(store)
    lost = next(one for one in data.split("train") if one.factors["length"] == 0.1)
    shutil.rmtree(next(path for path in store.rglob(f"{lost.index:0>6}*") if path.is_dir()))
    told = refused(store, tmp_path, capsys)
    assert f"lacks motion '{lost.motion}' at length=0.1; every style needs every motion" in told


@pytest.mark.parametrize(("field", "value", "found"), [("points", np.nan, "nan"), ("head", np.inf, "infinity")])
@pytest.mark.parametrize("corner", [0, 1])
def test_numbers_that_are_not_finite_are_refused(learned, tmp_path, capsys, field, value, found, corner):
    import zarr

    store = copy_of(learned, tmp_path)
    sequence = open_dataset(store).split("train")[corner]
    folder = next(path for path in store.rglob(f"{sequence.index:0>6}*") if path.is_dir())
    array = zarr.open_array(folder / field, mode="r+")
    array[(3,) + (0,) * (array.ndim - 1)] = value
    told = refused(store, tmp_path, capsys)
    assert f"copy.zarr: sequence {sequence.index}: {field} must be finite, got {found} in frame 3" in told


def sequence_of(data, length):
    return next(one for one in data.split("train") if one.factors["length"] == length)


def as_zip(data, monkeypatch):
    data.spec = replace(data.spec, combine="zip")


def five_axes(data, monkeypatch):
    data.spec = replace(data.spec, axes=tuple(replace(data.spec.axes[0], name=name) for name in "abcde"))


def without(field):
    def change(data, monkeypatch):
        for one in data:
            one.attributes = {**one.attributes, "sha256": {name: "" for name in one.fields if name != field}}

    return change


def other_guides(data, monkeypatch):
    own = sequence_of(data, 0.1)
    rest = {**own.rest, "source": own.rest["source"][::-1]}
    stored = SequenceReader.rest.fget
    monkeypatch.setattr(SequenceReader, "rest", property(lambda one: rest if one is own else stored(one)))


def other_heads(data, monkeypatch):
    own, read = sequence_of(data, 0.1), SequenceReader.read

    def moved(reader, field, *frames):
        return read(reader, field, *frames) + 1e-6 * (reader is own and field == "head")

    monkeypatch.setattr(SequenceReader, "read", moved)


def body_of(solids):
    def change(data, monkeypatch):
        source = SimpleNamespace(has_body=bool(solids), solids=solids)
        monkeypatch.setattr("mane.dataset.learn.styles.assemble", lambda scene: SimpleNamespace(source=source))

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (as_zip, 'must be made with combine = "grid", got "zip"'),
        (five_axes, "must have at most 4 factors, got 5 axes"),
        (without("points"), r"must store 'points' of every frame; \[store\] fields of its spec says"),
        (without("head"), r"must store 'head' of every frame; \[store\] fields of its spec says"),
        (other_guides, "style 1 has other guides than style 0; styles need the same strands with the same roots"),
        (other_heads, r"sequence \d moves its head otherwise than sequence \d; styles need the same motions"),
        (body_of([]), "needs a body that is a mesh for this kind of model"),
        (body_of([Solid(Sphere((0.0, 0.0, 0.0), 0.1))]), "needs a body that is a mesh for this kind of model"),
    ],
)
def test_datasets_that_do_not_fit_are_refused_in_one_line(learned, monkeypatch, change, text):
    data = open_dataset(learned / "hair.zarr")
    change(data, monkeypatch)
    with pytest.raises(ValueError, match=rf"^\S*hair\.zarr: {text}") as error:
        fit_model(DatasetStyles(data), MultilinearTraining(dimensions=2, space="bust"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_motion_that_no_style_has_is_missed_all_the_same(learned, tmp_path, capsys, split):
    store = copy_of(learned, tmp_path)
    sequences = open_dataset(store).split(split)
    for sequence in sequences:
        if sequence.motion == sequences[0].motion:
            shutil.rmtree(store / "sequences" / f"{sequence.index:06d}")
    told = refused(store, tmp_path, capsys)
    assert f"copy.zarr: lacks motion '{sequences[0].motion}' at length=0.06; every style needs every motion" in told


def test_a_sequence_that_could_not_be_simulated_is_named_with_its_reason(learned, tmp_path, capsys):
    data = open_dataset(learned / "hair.zarr")
    lost = data.split("train")[1]
    data._readers.remove(lost)
    data.failures[lost.index] = "it diverged\nin frame 3"
    with pytest.raises(ValueError, match=r"at length=0\.1, which could not be simulated \(it diverged in frame 3\); e"):
        DatasetStyles(data)


def made(folder, text):
    """A dataset of a spec."""
    (folder / "spec.toml").write_text(text)
    mane.run_dataset(mane.read_spec(folder / "spec.toml"), folder / "hair.zarr", workers=0)
    return folder / "hair.zarr"


def test_one_motion_is_refused(tmp_path, capsys):
    store = made(tmp_path, CALM.replace("count = 2", "count = 1"))
    assert "hair.zarr: must have at least 2 motions of split 'train', got 1" in refused(store, tmp_path, capsys)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("frames = 2", "frames = 2", "motions: must have more than 2 frames, the window, to learn from, got 2 in mot"),
        ("random", "still", "motions: must move the head, or be in wind, to learn from, and all of them stand still"),
    ],
)
def test_data_with_nothing_to_learn_is_refused(tmp_path, capsys, old, new, text):
    spec = CALM.replace(old, new) if old == new else CALM.replace("frames = 2", "frames = 8").replace(old, new)
    assert text in refused(made(tmp_path, spec), tmp_path, capsys)


WINDY = """\
seed = 3
frames = 2
[scene.frames]
rate = 30
[scene.groom]
style = "ball"
strands = 3
vertices = 4
[scene.guides]
count = "all"
[scene.wind]
velocity = [0.0, 0.0, 2.0]
[[motions]]
motion = "random"
count = 2
split = "train"
[store]
fields = ["points", "head"]
"""
CALM = WINDY.replace("[scene.wind]\nvelocity = [0.0, 0.0, 2.0]\n", "")
WIND_AXIS = '[[axes]]\nkey = "wind.velocity"\nname = "wind"\nvalues = [[0, 0, 0], [0, 0, 3]]\n'


@pytest.mark.parametrize(
    ("axis", "old", "new", "text"),
    [
        (
            "",
            "",
            "",
            "[wind] velocity must be 0, or an axis, to learn from, got [0.0, 0.0, 2.0] in sequence 0; an axis",
        ),
        (WIND_AXIS, "[0, 0, 0]", "[3, 0, 0]", "axis 'wind' must have a wind of [0, 0, 0] among its values"),
        (
            WIND_AXIS,
            "2.0]\n",
            "2.0]\ngusts = 0.2\n",
            "[wind] gusts must be 0 to learn from, since no frame stores them",
        ),
    ],
)
def test_wind_that_nothing_tells_of_is_refused(tmp_path, capsys, axis, old, new, text):
    (tmp_path / "spec.toml").write_text((WINDY + axis).replace(old, new) if old else WINDY + axis)
    mane.run_dataset(mane.read_spec(tmp_path / "spec.toml"), tmp_path / "hair.zarr", workers=0)
    assert text in refused(tmp_path / "hair.zarr", tmp_path, capsys)


@pytest.mark.parametrize(("lost", "wind"), [("all that are calm", [0, 0, 0]), ("one that blows", [0, 0, 3])])
def test_winds_that_are_missing_are_named(tmp_path, capsys, lost, wind):
    store = made(tmp_path, (WINDY + WIND_AXIS))
    sequences = [one for one in open_dataset(store) if one.factors["wind"] == wind]
    for sequence in sequences if lost.startswith("all") else sequences[:1]:
        shutil.rmtree(store / "sequences" / f"{sequence.index:06d}")
    told = refused(store, tmp_path, capsys)
    assert f"hair.zarr: lacks motion '{sequences[0].motion}' at wind={wind}; every style needs every motion" in told


def test_winds_of_an_axis_are_learned_and_their_strongest_is_kept(tmp_path, capsys):
    (tmp_path / "spec.toml").write_text((WINDY + WIND_AXIS).replace("frames = 2", "frames = 12"))
    mane.run_dataset(mane.read_spec(tmp_path / "spec.toml"), tmp_path / "hair.zarr", workers=0)
    words = ["learn", "multilinear", str(tmp_path / "hair.zarr"), "-o", str(tmp_path / "x.model"), "--quiet"]
    assert main([*words, "--set", "dimensions=2"]) == 0
    model = mane.HairModel.load(tmp_path / "x.model")
    assert (model.space.has_wind, model.wind_speed) == (True, 3.0)
    capsys.readouterr()
    assert main(["info", str(tmp_path / "x.model")]) == 0
    assert "strongest wind       3 m/s, up to 4.05" in capsys.readouterr().out


def ball_that_swells(folder):
    """A mesh and an animation of it, which `body` names."""
    mesh = Sphere((0.0, 0.0, 0.0), BALL_RADIUS).mesh(48)
    lines = [f"v {x} {y} {z}" for x, y, z in mesh.points] + [f"f {a} {b} {c}" for a, b, c in mesh.faces + 1]
    (folder / "ball.obj").write_text("\n".join(lines) + "\n")
    np.save(folder / "swells.npy", np.stack([mesh.points * scale for scale in (1.0, 1.01, 1.02)]))
    return 'mesh = "ball.obj"\nanimation = "swells.npy"\nrate = 30'


@pytest.mark.parametrize("of", ["bust", "file"])
def test_a_body_that_deforms_and_is_not_stored_is_refused(tmp_path, capsys, of):
    style, body = ("bob", 'mesh = "bust"\nmotion = "nod"') if of == "bust" else ("ball", ball_that_swells(tmp_path))
    text = WINDY.replace('"ball"', f'"{style}"').replace("[0.0, 0.0, 2.0]", "[0.0, 0.0, 0.0]")
    (tmp_path / "spec.toml").write_text(text.replace("[scene.wind]", f"[scene.body]\n{body}\n[scene.wind]"))
    mane.run_dataset(mane.read_spec(tmp_path / "spec.toml"), tmp_path / "hair.zarr", workers=0)
    told = refused(tmp_path / "hair.zarr", tmp_path, capsys)
    assert "hair.zarr: must store 'body' of every frame, since that of sequence 0 deforms; add it to [store]" in told


BETWEEN = SPEC.replace("count = 3", "count = 1").replace("[0.06, 0.1]", "[0.06, 0.07, 0.1]")


def test_the_command_calibrates_sliders_with_a_second_dataset(learned, tmp_path, capsys):
    """Hair half way up rests as it was simulated there, and the model is the same at its own levels."""
    (tmp_path / "between.toml").write_text(BETWEEN)
    mane.run_dataset(mane.read_spec(tmp_path / "between.toml"), tmp_path / "between.zarr", workers=0)
    words = ["learn", "multilinear", str(learned / "hair.zarr"), "-o", str(tmp_path / "x.model"), "--quiet"]
    assert main([*words, "--set", "dimensions=8", "--data", str(tmp_path / "between.zarr")]) == 0
    plain, made = mane.HairModel.load(learned / "hair.model"), mane.HairModel.load(tmp_path / "x.model")
    assert [len(own) for own in made.shape_places] == [3]
    assert main(["info", str(tmp_path / "x.model")]) == 0
    assert "calibrated by        between.zarr" in capsys.readouterr().out
    between = DatasetStyles(open_dataset(tmp_path / "between.zarr"), least=1)

    def hair_at(model, value):
        unit, length = model.rest_at({"length": value})
        edges = unit * length[..., None]
        roots = model.groomed[0][:, :1]
        return np.concatenate([roots, roots + np.cumsum(edges, axis=1)], axis=1)

    np.testing.assert_allclose(hair_at(made, 0.25), between.rest[1], atol=1e-6)
    for level in (0.0, 1.0):
        np.testing.assert_allclose(hair_at(made, level), hair_at(plain, level), atol=1e-6)


def test_data_of_other_levels_does_not_calibrate(learned, tmp_path, capsys):
    words = ["learn", "multilinear", str(learned / "hair.zarr"), "-o", str(tmp_path / "x.model"), "--quiet"]
    assert main([*words, "--set", "dimensions=8", "--data", str(learned / "hair.zarr")]) == 2
    told = capsys.readouterr().err.strip()
    assert "must have a level between those of the model, got none of length" in told
    assert "\n" not in told


def test_no_dataset_and_other_data_are_refused(learned, tmp_path, capsys):
    assert "nothing.zarr" in refused(tmp_path / "nothing.zarr", tmp_path, capsys)
    words = ["learn", "multilinear", str(learned / "hair.zarr"), "-o", str(tmp_path / "x.model"), "--quiet"]
    assert main([*words, "--data", "elsewhere.zarr"]) == 2
    assert "elsewhere.zarr" in capsys.readouterr().err
    assert main([*words, "--set", "dimensions=0"]) == 2
    assert "dimensions: must be from 1 to 1000, got 0" in capsys.readouterr().err

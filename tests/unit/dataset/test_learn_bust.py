"""The articulated bust, simulated and learned: head on neck, shoulders that move, tested on motions of other seeds."""

import numpy as np
import pytest

import mane
from mane.dataset.dataset import open_dataset
from mane.dataset.learn.styles import DatasetStyles
from mane.measure.reproduce.guan2012_collisions import _run, bust_under, looked_at, mean_of
from mane.reduced.evaluate import style_errors
from mane.reduced.training import MultilinearTraining, fit_model
from mane.scene.build import build

SPEC = """\
seed = 3
frames = 40

[scene.frames]
rate = 30
preroll = 0.5

[scene.groom]
style = "straight"
strands = 24
vertices = 8

[scene.guides]
count = "all"

[scene.body]
mesh = "bust"

[store]
fields = ["points", "head", "body"]
"""
MOTION = """
[[motions]]
motion = "{motion}"
moves = "body"
count = {count}
split = "{split}"
ease_in = 0.2
"""
MOTIONS = (("random", 2, "train"), ("look", 2, "train"), ("dance", 1, "train"), ("look", 1, "test"))

SCENE = """\
[groom]
style = "straight"
strands = 24
vertices = 8

[guides]
model = "bust.model"

[frames]
end = 10
rate = 30

[body]
mesh = "bust"
motion = "walk"
seed = 7

[skin]
method = "rigid"
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bust")
    motions = "".join(MOTION.format(motion=motion, count=count, split=split) for motion, count, split in MOTIONS)
    (folder / "bust.toml").write_text(SPEC + motions)
    mane.run_dataset(mane.read_spec(folder / "bust.toml"), folder / "bust.zarr", workers=0)
    return open_dataset(folder / "bust.zarr")


@pytest.mark.parametrize("column", ["default", pytest.param("printed", marks=pytest.mark.stress)])
def test_hair_on_the_articulated_bust_is_learned_and_played(dataset, tmp_path, column):
    train, test = DatasetStyles(dataset), DatasetStyles(dataset, "test", least=1)
    made = MultilinearTraining if column == "default" else MultilinearTraining.printed
    model = fit_model(train, made(dimensions=12)).model
    assert 1 <= model.space.body_count <= 10
    (known,), (unseen,) = (style_errors(model, styles) for styles in (train, test))
    assert known.model < known.rigid
    if column == "default":  # least squares as printed need not be stable on motions that were not learned from
        assert unseen.model < 1.0 * unseen.rigid
    with open(tmp_path / "bust.model", "wb") as file:
        model.to_file().write(file)
    (tmp_path / "scene.toml").write_text(SCENE)
    source = build(mane.read_scene(tmp_path / "scene.toml")).source
    source.reset()
    for _ in range(10):
        frame = source.step()
    assert np.isfinite(frame.points).all()
    np.testing.assert_allclose(frame.points[:, 0], frame.roots, atol=1e-6)


@pytest.mark.stress
def test_penetration_on_the_articulated_bust_is_measured_where_its_joints_have_it(dataset):
    """A source without collisions and one with them, beside the simulation, of the bust as it is in every frame."""
    train, test = DatasetStyles(dataset), DatasetStyles(dataset, "test", least=1)
    model = fit_model(train, MultilinearTraining(dimensions=12)).model
    bust = bust_under(test, 0)
    chosen, points = list(looked_at(test.track(0).heads.shape[0], test.rest.shape[1])), test.points(0, 0)
    # Roots are on the scalp in every frame, which a bust at another time, or at rest, is away from.
    roots = [np.repeat(points[n][:, :1], 2, axis=1) for n in chosen]
    away = [
        np.abs(bust.at(test.start(0) + n / 30).field_depths(own)).max() for n, own in zip(chosen, roots, strict=True)
    ]
    assert max(away) < 0.05  # [cm]
    assert max(np.abs(bust.at(0.0).field_depths(own)).max() for own in roots) > 0.3
    free, pushed = (_run(test, 0, model, 0, bust, collisions) for collisions in ("off", "push"))
    for run in (free, pushed):
        assert run.error < 0.05
        assert len(run.inside.by_field) == len(run.inside.eq_14) == len(chosen)
    left, before = (mean_of(run.inside.by_field, "beyond") for run in (pushed, free))
    print(f"deeper than 0.5 mm: {100 * before:.2f} % without pushes, {100 * left:.2f} % with")  # noqa: T201 (shown by -s)
    # Two pushes of segments of 7 cm, of hair that is learned of five short motions: what deep hair is left lies across
    # a shoulder. That all of `--scene bust` has 0.12 % (0.5 % promised) is for the command to say.
    assert left < 0.2 * before


@pytest.mark.stress
def test_a_body_with_numbers_that_are_not_finite_is_refused(dataset, monkeypatch):
    sequence = dataset.split("train")[1]
    read = type(sequence).read

    def damaged(self, field, start=0, stop=None, step=1):
        values = np.array(read(self, field, start, stop, step))
        if self.index == sequence.index and field == "body":
            values[5, 100, 1] = np.nan
        return values

    monkeypatch.setattr(type(sequence), "read", damaged)
    with pytest.raises(
        ValueError, match=rf"bust.zarr: sequence {sequence.index}: body must be finite, got nan in frame 5"
    ):
        DatasetStyles(dataset).track(1)

"""Learned hair at work: kernels against plain NumPy, exact lengths and roots, stillness, sliders, and bad input."""

from dataclasses import replace

import numpy as np
import pytest

import mane
from learned_hair import KnownHair, strands
from mane.body.motion import Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.motion_presets import make_motion
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.cli import main
from mane.geometry import quaternion
from mane.geometry.frames import segment_frames
from mane.reduced import _reference as reference
from mane.reduced.canonical import body_points, to_canonical, to_world
from mane.reduced.evaluate import style_errors
from mane.reduced.lifting import laid
from mane.reduced.model import HairModel
from mane.reduced.player import HairPlayer
from mane.reduced.representation import Directions, directions
from mane.reduced.sliders import read_sliders, regions_of
from mane.reduced.source import LearnedSource
from mane.reduced.training import MultilinearTraining, fit_model
from mane.scene.handled import go_on
from mane.stage.model_file import ModelFile

FACTORS = (("length", [0.2, 0.25]), ("softness", [1, 2]))


@pytest.fixture(scope="module")
def fitted():
    return fit_model(KnownHair(FACTORS), MultilinearTraining(dimensions=6))


@pytest.fixture(scope="module")
def model(fitted):
    return fitted.model


def segment_lengths(points):
    return np.linalg.norm(np.diff(points, axis=-2), axis=-1)


def test_hair_of_a_known_system_is_followed_on_motion_that_was_not_seen():
    """Directions turn by a hundredth, so normalising them bends the linear system by a hundredth of that at most."""
    seen, unseen = (KnownHair(FACTORS, amplitude=0.001, motions=6) for _ in range(2))
    unseen._heads, unseen.motion_count = KnownHair(FACTORS, frames=90, motions=8)._heads[6:], 2
    fitted = fit_model(seen, MultilinearTraining(dimensions=3, ridge=1e-9, control_ridge=1e-9))
    for error in style_errors(fitted.model, unseen):
        assert error.model < 0.01 * error.rigid
        assert error.stretch < 1e-5
    assert fitted.energy > 0.999


def test_kernels_are_the_reference(model):
    """A strand among two solids, one of them the body, in the third frame of a motion."""
    body, other = Solid(Sphere((0.0, 0.0, 0.0), 0.11)), Solid(Sphere((0.1, -0.05, 0.0), 0.12))
    head = mane.make_motion("random", amplitude=0.8, ease_in=0.05)
    settings = {"length": 0.4, "softness": 0.8}
    source = LearnedSource(
        model.guides(), model, sliders=settings, head=head, body=body, surroundings=[other], thickness=0.002
    )
    frames = [source.reset(), *(source.step() for _ in range(6))]
    player = source._player
    unit, length = directions(player.rest), model.rest_at(settings)[1]
    vectors = model.basis.reconstruct(player.past[0, -1:])[0].reshape(unit.shape)
    pose = frames[-1].head

    def sphere(solid, at):
        def distance(points):
            way = points - at.apply(np.array(solid.shape.center, float))
            size = np.linalg.norm(way, axis=1)
            return size - solid.shape.radius, way / size[:, None]

        return distance

    levels = np.minimum(0.002, body.rest_distance(player.rest.reshape(-1, 3)).reshape(player.rest.shape[:2]))
    turned = quaternion.rotate(pose.rotation, (unit + vectors).astype(np.float64))
    arguments = (frames[-1].roots.astype(float), turned, length, levels)
    solids = [sphere(body, pose), sphere(other, Pose.identity())]
    expected = reference.lay_strands(*arguments, solids, 0.002)
    np.testing.assert_allclose(frames[-1].points, expected, atol=3e-6)
    moved = np.abs(expected - reference.lay_strands(*arguments, [], 0.002)).max(axis=(1, 2)) > 1e-3
    assert moved.sum() >= 2
    forces = reference.cut_forces(
        frames[-1].points.astype(float), frames[-2].points, frames[-2].velocity, source._masses,
        (0, -9.81, 0), source.frame_dt,
    )  # fmt: skip
    off = np.abs(frames[-1].cut_force - forces).max(axis=(1, 2))
    assert (off < 2e-3 * np.abs(forces).max(axis=(1, 2))).all()
    turns = reference.strand_frames(
        frames[-1].points.astype(float), frames[-1].root_rotations.astype(float), segment_frames(player.rest)
    )
    same = np.abs((turns * frames[-1].orientations).sum(axis=-1))  # q and -q are one rotation
    np.testing.assert_allclose(same, 1, atol=1e-5)
    np.testing.assert_allclose(segment_lengths(frames[-1].points), length, rtol=3e-6)
    axis = quaternion.rotate(frames[-1].orientations, np.array([0, 0, 1], np.float32))
    tangent = np.diff(frames[-1].points, axis=1) / segment_lengths(frames[-1].points)[..., None]
    np.testing.assert_allclose(axis, tangent, atol=1e-5)


@pytest.mark.parametrize("length", [0.4, np.repeat([0.0, 0.3, 1.2], [7, 7, 6])])
def test_coefficients_are_those_of_eq_10(model, length):
    """Sums of some fifty products in another order: the same to 1e-12 of their size."""
    sliders = {"length": length, "softness": 0.8}
    source = LearnedSource(model.guides(), model, sliders=sliders, head=mane.make_motion("random", ease_in=0.05))
    player = source._player
    assert len(player.operators) == np.unique(length).size
    for _ in range(6):
        past = player.past.copy()
        source.step()
        for own, before, after in zip(player.operators, past, player.past, strict=True):
            expected = reference.synthesize(own.control, own.history, source._controls(), before)
            np.testing.assert_allclose(after[-1], expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
            np.testing.assert_array_equal(after[:-1], before[1:])
    assert all(np.abs(own).max() > 0 for own in player.past[:, -1])
    if len(player.past) > 1:
        assert np.abs(np.diff(player.past[:, -1], axis=0)).max(axis=1).min() > 0  # each region its own


def test_a_still_head_stays_still_for_ten_thousand_frames(model):
    source = LearnedSource(model.guides(), model, head=None)
    first = source.reset().points
    for _ in range(10_000):
        frame = source.step()
    np.testing.assert_array_equal(frame.points, first)
    assert not frame.velocity.any()


def test_after_a_shake_hair_comes_back_to_rest(model):
    source = LearnedSource(model.guides(), model, head=mane.make_motion("shake", stop=1.5))
    farthest = max(np.abs(source.step().points - source.rest.points).max() for _ in range(45))
    for _ in range(600):
        frame = source.step()
    assert np.abs(frame.points - source.rest.points).max() < 1e-3 * farthest


def test_sliders_move_length_and_maps_mix_styles(model):
    long, short = (segment_lengths(model.groomed[c]).sum(axis=1) for c in (2, 0))
    frames = list(model.play("shake", frames=4, length=[[0.0, 0.0], [0.1, 1.0]]))
    np.testing.assert_allclose(segment_lengths(frames[0].points).sum(axis=1), short, rtol=1e-5)
    np.testing.assert_allclose(segment_lengths(frames[3].points).sum(axis=1), long, rtol=1e-5)
    halves = np.where(np.arange(model.guide_count) < 10, 0.0, 1.0)
    mixed = list(model.play("shake", frames=8, length=halves))[-1]
    short_only, long_only = (list(model.play("shake", frames=8, length=v))[-1] for v in (0.0, 1.0))
    np.testing.assert_allclose(mixed.points[:10], short_only.points[:10], atol=1e-6)
    np.testing.assert_allclose(mixed.points[10:], long_only.points[10:], atol=1e-6)
    strand = {"group_id": np.where(np.arange(model.guide_count) < 10, 3, 7).astype(np.int32)}
    grouped = mane.Guides.from_groom(mane.Groom.from_uniform(model.groomed[0].copy(), strand=strand))
    by_group = list(model.play("shake", frames=8, guides=grouped, length={"7": 1.0}))[-1]
    np.testing.assert_array_equal(by_group.points, mixed.points)
    painted = np.linspace(0, 1, model.guide_count)  # more values than regions: lengths are exact all the same
    found = segment_lengths(list(model.play("shake", frames=2, length=painted))[-1].points).sum(axis=1)
    np.testing.assert_allclose(found, short + painted * (long - short), rtol=1e-5)


def test_regions_of_a_map_stay_within_its_slider_and_leave_the_others_as_they_are(model):
    painted = np.linspace(-0.35, 1.35, model.guide_count)
    for softness in (0.43, 0.44):  # on both sides of a step
        found, which = regions_of(model, {"length": painted, "softness": softness})
        assert found[:, 0].min() == -0.35
        assert found[:, 0].max() == 1.35
        assert np.abs(found[which, 0] - painted).max() <= 0.0625
        np.testing.assert_array_equal(found[:, 1], softness)
    few = np.where(painted > 0.5, 0.91, 0.13)  # few values are taken as they are
    found, which = regions_of(model, {"length": few, "softness": 0.3})
    np.testing.assert_array_equal(found[which], np.column_stack([few, np.full(len(few), 0.3)]))


def test_a_slider_that_moves_beside_a_map_moves_hair_smoothly(model):
    """The dynamics of every region are those of the slider's own value: no steps, whatever the map is."""
    player = HairPlayer(model)
    painted = np.linspace(-0.35, 1.35, model.guide_count)
    for softness in (0.43, 0.44, 0.45):
        player.set_sliders({"length": painted, "softness": softness})
        own = np.unique(np.clip(np.rint(painted * 8) / 8, -0.35, 1.35))
        for operator, length in zip(player.operators, own, strict=True):
            expected = model.dynamics.operator(model.weights({"length": length, "softness": softness}))
            np.testing.assert_array_equal(operator.history, expected.history)
            np.testing.assert_array_equal(operator.control, expected.control)


def test_regions_keep_their_past_when_a_map_is_painted_anew(model):
    player, half = HairPlayer(model), np.arange(model.guide_count) < 10
    player.set_sliders({"length": np.where(half, 0.0, 1.0), "softness": 0.0})
    player.past[:] = np.random.default_rng(0).normal(size=player.past.shape)
    past = player.past.copy()
    quarter = np.arange(model.guide_count) < 5
    player.set_sliders({"length": np.where(quarter, 1.0, np.where(half, 0.5, 0.0)), "softness": 0.0})
    # In the order of their values: the last ten, the second five, the first five.
    np.testing.assert_array_equal(player.past, past[[1, 0, 0]])
    player.set_sliders({"length": 0.3, "softness": 0.0})
    np.testing.assert_allclose(player.past[0], past.mean(axis=0), atol=1e-14)


def test_between_and_beyond_styles_hair_rests_no_deeper_than_in_them(model):
    """Blends of hair on two sides of a ball lie within it; what rests outside stays as it is blended."""
    styles = model.rest.copy()
    roots = styles[0, :, :1]
    out = roots / np.linalg.norm(roots, axis=-1, keepdims=True)
    side = np.cross(out, np.array([0.0, 1.0, 0.0]))
    along = np.linspace(0, 0.1, model.vertex_count)[:, None]
    for corner, sign in enumerate((1, 1, -1, -1)):
        styles[corner] = roots + along * (0.3 * out + sign * side)
    bent = replace(model, rest=styles.astype(np.float32))
    ball = Solid(Sphere((0.0, 0.0, 0.0), 0.1))
    deepest = np.minimum(ball.distance(styles.reshape(-1, 3)).reshape(styles.shape[:-1]).min(axis=0), 0.0)
    for length in (-0.35, 0.0, 0.5, 1.0, 1.35):
        blended = laid(bent.groomed[0][:, 0], *bent.rest_at({"length": length, "softness": 0.0}))
        frame = LearnedSource(bent.guides(), bent, sliders={"length": length, "softness": 0.0}, body=ball).reset()
        depth = ball.distance(frame.points.reshape(-1, 3)).reshape(deepest.shape) - deepest
        assert depth.min() > -1e-3, length
        is_out = ball.distance(blended.reshape(-1, 3)).reshape(deepest.shape).min(axis=1) > 1e-6
        np.testing.assert_allclose(frame.points[is_out], blended[is_out], atol=1e-6)


def test_a_curve_a_file_and_a_function_are_the_same_slider(model, tmp_path):
    (tmp_path / "sliders.csv").write_text("time,length\n0,0.2\n0.2,1.0\n")
    rows = [[0.0, 0.2], [0.2, 1.0]]
    ways = (rows, read_sliders(tmp_path / "sliders.csv")["length"], lambda time: np.interp(time, *np.transpose(rows)))
    first, *others = (list(model.play("shake", frames=8, length=way)) for way in ways)
    for other in others:
        for one, two in zip(first, other, strict=True):
            assert one.points.tobytes() == two.points.tobytes()


def test_a_painted_map_is_found_by_its_name(model):
    values = np.linspace(0, 1, model.guide_count)
    groom = mane.Groom.from_uniform(model.groomed[0].copy(), strand={"trim": values.astype(np.float32)})
    painted = list(model.play("shake", frames=4, guides=mane.Guides.from_groom(groom), length="trim"))[-1]
    by_hand = list(model.play("shake", frames=4, length=values.astype(np.float32)))[-1]
    np.testing.assert_array_equal(painted.points, by_hand.points)


def test_roots_are_on_the_scalp_whatever_the_sliders_say(model):
    for frame in model.play("random", frames=20, length=[[0.0, -0.35], [0.6, 1.35]], softness=0.4):
        carried = frame.head.apply(model.groomed[0][:, 0].astype(np.float64))
        np.testing.assert_array_equal(frame.points[:, 0], carried.astype(np.float32))


def test_four_factors_are_learned():
    names = ("length", "softness", "curl", "weight")
    hair = KnownHair([(name, [1, 2]) for name in names], motions=2, frames=30)
    model = fit_model(hair, MultilinearTraining(dimensions=4)).model
    assert model.radii.max() < 1
    corner = list(model.play("nod", frames=4, **dict.fromkeys(names, 1.0)))[-1]
    lengths = segment_lengths(corner.points).sum(axis=1)
    np.testing.assert_allclose(lengths, segment_lengths(model.groomed[-1]).sum(axis=1), rtol=1e-5)


def test_poses_of_frames_are_a_motion(model):
    motion = mane.make_motion("shake")
    poses = [motion.pose(k / model.frame_rate) for k in range(6)]
    listed, moving = list(model.play(poses)), list(model.play(motion, frames=6))
    assert len(listed) == 6
    np.testing.assert_allclose(listed[-1].points, moving[-1].points, atol=1e-6)


def test_a_model_on_disk_is_the_same_model(model, tmp_path):
    path = tmp_path / "hair.model"
    with open(path, "wb") as file:
        model.to_file().write(file)
    again = mane.HairModel.load(path)
    first, second = (list(one.play("nod", frames=5, length=0.3)) for one in (model, again))
    for a, b in zip(first, second, strict=True):
        assert a.points.tobytes() == b.points.tobytes()
    assert again.factors == model.factors
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"hair\.model: is no model of mane, or was cut or damaged .*; learn it again"):
        HairModel.load(path)
    file = model.to_file()
    for name in ("grams", "basis", "rest", "body_mean"):
        broken = {**file.arrays, name: file.arrays[name][:-1] if file.arrays[name].size else np.zeros(3)}
        with pytest.raises(ValueError, match=rf"x: its arrays do not fit each other \({name.split('_')[0]}.*learn it"):
            HairModel.from_file(ModelFile(file.kind, file.version, file.facts, broken), "x")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"length": 2.0}, r"length: must be a number from -0\.35 to 1\.35, got 2\.0"),
        ({"length": float("nan")}, r"length: must be a number"),
        ({"lenght": 0.2}, r"lenght: is no slider of this model; it has length, softness"),
        ({"length": [0.1, 0.2]}, r"length: a map must have 20 values, one for each guide, got 2"),
        ({"length": [[0, 0.1], [0, 0.2]]}, r"length: keyframes must be rows of time \[s\] and value, times rising"),
        ({"length": "painted"}, r"length: the guides have no painted map 'painted'; they have none"),
        ({"length": True}, r"length: must be a number from -0\.35 to 1\.35, got True"),
        ({"length": None}, r"length: must be a number from -0\.35 to 1\.35, got None"),
        ({"length": 10**400}, r"length: must be a number from -0\.35 to 1\.35, got 1000"),
        ({"length": [["a", 0.2]]}, r"length: must be a number, rows of time .*, got \[\['a', 0\.2\]\]"),
        ({"length": [[0, 0.2], [1]]}, r"length: must be a number, rows of time .*, got \[\[0, 0\.2\], \[1\]\]"),
        ({"length": [[0, True]]}, r"length: must be a number, rows of time .*, got \[\[0, True\]\]"),
        ({"length": np.zeros((20, 20, 20))}, r"length: must be a number, rows of time .*, got array\(.*\.\.\."),
        ({"length": lambda time: "x"}, r"length: must be a number from -0\.35 to 1\.35, got 'x'"),
        ({"length": {"1": 0.5}}, r"length: a value for each group needs guides with a 'group_id'"),
        ({"wind": (0, 0, 1)}, r"wind: the model was learned without wind"),
        ({"frame_rate": 24.0}, r"frame_rate: must be 30, which the model was learned at, got 24"),
        ({"collisions": "soft"}, r"collisions: 'soft' is unknown; choose from A, B, off, push"),
    ],
)
def test_bad_settings_are_refused_in_one_line(model, settings, text):
    with pytest.raises(ValueError, match=text) as error:
        next(model.play("shake", **settings))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("one", [1, np.int64(1), np.float32(1), np.array(1), np.array(1.0)])
def test_a_slider_takes_any_number(model, one):
    given, plain = (next(model.play("shake", frames=1, length=value)).points for value in (one, 1.0))
    np.testing.assert_array_equal(given, plain)


def test_values_of_groups_are_numbers(model):
    strand = {"group_id": np.ones(model.guide_count, np.int32)}
    guides = mane.Guides.from_groom(mane.Groom.from_uniform(model.groomed[0].copy(), strand=strand))
    for value in ("a", [0.1, 0.2], True):
        with pytest.raises(ValueError, match=r"^length: must be a number from -0\.35 to 1\.35, got ") as error:
            next(model.play("shake", guides=guides, length={"1": value}))
        assert "\n" not in str(error.value)


def test_a_slider_ends_where_hair_would_have_no_length(tmp_path, capsys):
    """Between 6 and 46 cm, -0.35 is a negative length; a fifth of 6 cm is at -0.12."""
    levels, own = (("length", [0.06, 0.46]), ("softness", [1, 2])), strands(length=0.1)
    unit = own[:, :1] + (own - own[:, :1]) / segment_lengths(own).sum(axis=1)[:, None, None]
    rest = np.stack([unit[:, :1] + size * (unit - unit[:, :1]) for size in (0.06, 0.06, 0.46, 0.46)])
    learned = fit_model(KnownHair(levels, rest=rest.astype(np.float32)), MultilinearTraining(dimensions=3)).model
    assert [factor.range for factor in learned.factors] == [(-0.12, 1.35), (-0.35, 1.35)]
    assert learned.grid.min(axis=0).tolist() == [-0.12, -0.35]  # stable where it plays
    shortest = next(learned.play("shake", frames=1, length=-0.12, softness=-0.35)).points
    np.testing.assert_allclose(segment_lengths(shortest).sum(axis=1), 0.2 * 0.06, rtol=1e-4)
    older = learned.to_file()
    for factor in older.facts["model"]["factors"]:
        del factor["least"], factor["most"]
    for model in (learned, HairModel.from_file(older, "x")):
        with pytest.raises(ValueError, match=r"^length: must be a number from -0\.12 to 1\.35, got -0\.121$"):
            next(model.play("shake", length=-0.121))
    # The same levels, the longest first: there the upper end is the near one.
    turned = fit_model(KnownHair(levels, rest=rest[::-1].astype(np.float32)), MultilinearTraining(dimensions=3)).model
    assert [factor.range for factor in turned.factors] == [(-0.35, 1.12), (-0.35, 1.35)]
    with open(tmp_path / "hair.model", "wb") as file:
        learned.to_file().write(file)
    assert main(["info", str(tmp_path / "hair.model")]) == 0
    assert "levels 0.06, 0.46 at 0, 1; from -0.12 to 1.35" in capsys.readouterr().out


def test_two_sliders_that_shorten_hair_together_leave_some_of_it():
    rest = np.stack([strands(length=1.0) * size for size in (0.06, 0.3, 0.3, 1.5)]).astype(np.float32)
    learned = fit_model(KnownHair(FACTORS, rest=rest), MultilinearTraining(dimensions=3)).model
    low = {factor.name: factor.range[0] for factor in learned.factors}
    shortest = segment_lengths(rest[0]).sum(axis=1)
    (frame,) = learned.play("shake", frames=1, **low)
    assert (segment_lengths(frame.points).sum(axis=1) >= 0.2 * shortest * (1 - 1e-5)).all()


def test_a_checkpoint_of_other_sliders_is_refused_in_one_line(model):
    halves = np.where(np.arange(model.guide_count) < 10, 0.0, 1.0)
    one, two = (LearnedSource(model.guides(), model, sliders={"length": length}) for length in (0.0, halves))
    text = r"^checkpoint: past must have shape \({}, 2, 6\), got \({}, 2, 6\); sliders, guides and body must be those"
    for source, other, shapes in ((one, two, (1, 2)), (two, one, (2, 1))):
        other.step()
        before = source.memory()
        with pytest.raises(ValueError, match=text.format(*shapes)) as error:
            source.restore(other.memory())
        assert "\n" not in str(error.value)
        for name, array in source.memory().items():
            np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_sliders_that_change_go_on_as_a_source_made_with_them_does(model):
    """As a recording of the salon plays it again: to the byte."""
    one = LearnedSource(model.guides(), model, head=make_motion("shake"), sliders={"length": 0.0})
    for _ in range(5):
        one.step()
    other = LearnedSource(model.guides(), model, head=make_motion("shake"), sliders={"length": 0.8})
    assert go_on(one, other)
    assert one.change_sliders({"length": 0.8})
    for _ in range(3):
        np.testing.assert_array_equal(one.step().points, other.step().points)
    with pytest.raises(ValueError, match="length: must be a number from"):
        one.change_sliders({"length": 9.0})
    halves = np.where(np.arange(model.guide_count) < 10, 0.0, 1.0)
    assert not one.change_sliders({"length": halves})
    np.testing.assert_array_equal(one.step().points, other.step().points)


def test_what_would_teach_wrong_hair_is_refused():
    with pytest.raises(ValueError, match=r'representation: "positions" are learned about their mean.*space = "bust"'):
        MultilinearTraining(representation="positions")
    with pytest.raises(ValueError, match=r'wind: the data has winds, and space "bust" none among its controls'):
        fit_model(KnownHair(wind=True), MultilinearTraining(space="bust", dimensions=3))


def test_another_groom_is_refused(model):
    other = mane.styles.make("ball", strands=30, vertices=6)
    with pytest.raises(ValueError, match="model: was learned of another groom; its 20 guides of 6 vertices"):
        model.guides_of(other)
    with pytest.raises(ValueError, match="model: was learned of 20 guides of 6 vertices, got 30 of 6"):
        LearnedSource(mane.Guides.from_groom(other), model)


def test_frames_tell_how_much_longer_than_groomed_their_guides_are(model):
    """Skins and passes go by it, so that a slider of length changes every hair, and not only the guides."""
    long, short = (segment_lengths(model.groomed[c]).sum(axis=1) for c in (2, 0))
    assert next(model.play("shake", frames=1)).length_scale is None
    slightly = 1e-3  # of the way to hair that is half as long again: less than simulations of one length differ by
    assert next(model.play("shake", frames=1, length=slightly)).length_scale is None
    (frame,) = model.play("shake", frames=1, length=1.0)
    assert frame.length_scale.dtype == np.float32
    np.testing.assert_allclose(frame.length_scale, long / short, rtol=1e-5)
    halves = np.where(np.arange(model.guide_count) < 10, 0.0, 1.0)
    (frame,) = model.play("shake", frames=1, length=halves)
    np.testing.assert_allclose(frame.length_scale, np.where(halves > 0, long / short, 1.0), rtol=1e-5)


def test_sliders_are_given_together_or_one_by_one_and_not_twice(model):
    one, two = (
        list(model.play("shake", frames=4, **given))[-1].points
        for given in ({"length": 0.4, "softness": 0.7}, {"sliders": {"length": 0.4}, "softness": 0.7})
    )
    np.testing.assert_array_equal(one, two)
    with pytest.raises(ValueError, match=r"^length: is given twice, by itself and in sliders; leave one out$"):
        next(model.play("shake", sliders={"length": 0.4}, length=0.4))
    with pytest.raises(ValueError, match=r"^sliders: must be a table of sliders and their values, got 0\.4$"):
        next(model.play("shake", sliders=0.4))


def test_on_a_skin_that_deforms_hair_is_that_of_the_head_it_rides_on(model):
    """A ball whose vertices are animated as a rigid head would move them: the roots tell where the head is."""
    motion = mane.make_motion("random", amplitude=0.8, ease_in=0.05, seed=2)
    mesh, times = Sphere((0.0, 0.0, 0.0), 0.1).mesh(24), np.arange(13) / 30
    samples = np.stack([motion.pose(t).apply(mesh.points.astype(np.float64)) for t in times]).astype(np.float32)
    riding = LearnedSource(model.guides(), model, body=Solid.animated(mesh, times, samples), collisions="off")
    rigid = LearnedSource(model.guides(), model, head=motion, collisions="off")
    moved = 0.0
    for _ in range(10):
        one, two = riding.step(), rigid.step()
        # Vertices of the mesh are rounded to single precision, and steps of 1 cm are seen through them.
        np.testing.assert_allclose(one.points, two.points, atol=1e-4)
        moved = max(moved, float(np.abs(two.points - two.head.apply(model.groomed[0])).max()))
    assert moved > 5e-3
    pushed = LearnedSource(model.guides(), model, body=Solid.animated(mesh, times, samples))
    for _ in range(3):
        assert np.isfinite(pushed.step().points).all()


def test_wind_of_a_model_that_knows_it_moves_hair_and_turns_with_the_head():
    class Windy(KnownHair):
        """Hair that leans with the wind along x, as felt from the head, on top of what it does anyway."""

        def track(self, motion):
            heads = self._heads[motion]
            strength = 2.0 * np.sin(np.arange(len(heads)) / 7 + motion)
            return replace(super().track(motion), wind=strength[:, None] * np.array([1.0, 0.0, 0.5]))

        def points(self, corner, motion, rows=slice(None)):
            track = self.track(motion)
            felt = to_canonical(np.concatenate([0 * track.heads[:, :3], track.heads[:, 3:]], axis=1), track.wind)
            lean = (
                0.05 * np.concatenate([np.zeros((1, 1)), felt[:-1, :1]])[:, :, None, None] * np.array([1.0, 0.0, 0.0])
            )
            rest = self.rest[corner]
            vectors = np.broadcast_to(lean, (len(felt), len(rest), rest.shape[1] - 1, 3)).reshape(len(felt), -1)
            return to_world(track.heads, Directions().decode(vectors.astype(np.float32), rest))[rows]

    model = fit_model(Windy(wind=True, motions=6), MultilinearTraining(dimensions=2)).model
    still = LearnedSource(model.guides(), model).step().points
    np.testing.assert_allclose(still, model.groomed[0], atol=1e-6)

    def lean(head, wind):
        """How far tips go along x as the head sees it, after a second [m]."""
        source = LearnedSource(model.guides(), model, head=head, wind=wind)
        calm = LearnedSource(model.guides(), model, head=head)
        for _ in range(30):
            frame, other = source.step(), calm.step()
        apart = frame.head.inverse_apply(frame.points) - other.head.inverse_apply(other.points)
        return float(apart[:, -1, 0].mean())

    upright = lean(None, (2.0, 0.0, 0.0))
    assert upright > 5e-3
    for angle in (
        0.5 * np.pi,
        np.pi,
    ):  # the head is turned to its left, or around: wind along x is along z, or -x to it
        turned = KeyframedMotion([0.0], [np.zeros(3)], [quaternion.exp(np.array([0.0, angle, 0.0]))])
        assert lean(turned, (2.0, 0.0, 0.0)) == pytest.approx(np.cos(angle) * upright, abs=0.03 * upright)
        felt = quaternion.rotate(turned.pose(0.0).rotation, np.array([2.0, 0.0, 0.0]))
        assert lean(turned, felt) == pytest.approx(upright, rel=1e-3)  # what turns with the head is the same to it


def test_hair_that_two_winds_blow_the_same_way_is_learned():
    """The head is in the way of one of two opposite winds: what is even in the wind is in its products alone."""

    class Blown(KnownHair):
        def track(self, motion):
            heads = self._heads[motion]
            return replace(super().track(motion), wind=np.tile([3.0 * (motion % 3 - 1), 0.0, 0.0], (len(heads), 1)))

        def points(self, corner, motion, rows=slice(None)):
            track, rest = self.track(motion), self.rest[corner]
            felt = to_canonical(np.concatenate([0 * track.heads[:, :3], track.heads[:, 3:]], axis=1), track.wind)
            lean = 0.02 * felt[:, :1, None, None] ** 2 * np.array([0.0, 0.0, 1.0])
            vectors = np.broadcast_to(lean, (len(felt), len(rest), rest.shape[1] - 1, 3)).reshape(len(felt), -1)
            return to_world(track.heads, Directions().decode(vectors.astype(np.float32), rest))[rows]

    data = Blown(wind=True, motions=6)
    model = fit_model(data, MultilinearTraining(dimensions=2)).model
    (error,) = style_errors(model, data)
    assert error.model < 0.1 * error.rigid
    # A scene begins with hair that the wind has blown already.
    first, later = (list(model.play("still", frames=60, wind=(3.0, 0.0, 0.0)))[k].points for k in (0, -1))
    np.testing.assert_allclose(first, later, atol=1e-5)
    assert np.abs(first - model.groomed[0]).max() > 0.01


def test_a_wind_beyond_those_that_were_learned_is_refused():
    class Blown(KnownHair):
        def track(self, motion):
            heads = self._heads[motion]
            return replace(super().track(motion), wind=np.tile([0.0, 0.0, 3.0 * (motion > 1)], (len(heads), 1)))

    learned = fit_model(Blown(wind=True), MultilinearTraining(dimensions=3)).model
    model = HairModel.from_file(learned.to_file(), "x")
    assert model.wind_speed == 3.0
    next(model.play("shake", wind=(4.05, 0.0, 0.0)))
    text = r"^wind: must be at most 4\.05 m/s, 1\.35 times the strongest .* learned with, got 4\.2 m/s$"
    with pytest.raises(ValueError, match=text):
        next(model.play("shake", wind=(0.0, 4.2, 0.0)))
    gust, strongest = (
        list(
            model.play(
                "shake", frames=10, wind=lambda points, time, speed=speed: np.tile([speed, 0, 0], (1, 1)) * (time > 0.1)
            )
        )
        for speed in (50.0, 4.05)
    )
    np.testing.assert_array_equal(gust[-1].points, strongest[-1].points)  # a gust later on counts as the strongest
    older = learned.to_file()
    del older.facts["model"]["wind_speed"]  # nothing is known of its winds, so that none is refused
    assert len(list(HairModel.from_file(older, "x").play("shake", frames=2, wind=(0.0, 9.0, 0.0)))) == 2


def test_shoulders_that_move_against_the_head_move_hair_that_learned_it():
    """A ball on another one, the lower of which is lifted: hair leans with it, a frame late."""
    head, shoulders = Sphere((0.0, 0.0, 0.0), 0.1).mesh(24), Sphere((0.0, -0.3, 0.0), 0.1).mesh(12)
    points = np.concatenate([head.points, shoulders.points]).astype(np.float64)
    mesh = mane.Mesh(points.astype(np.float32), np.concatenate([head.faces, shoulders.faces + len(head.points)]))
    is_shoulder = np.arange(len(points)) >= len(head.points)
    lifted = is_shoulder[:, None] * np.array([0.0, 1.0, 0.0])

    class Shrugging(KnownHair):
        @property
        def body(self):
            return body_points(points)

        def lift(self, motion):
            return 0.03 * np.sin(np.arange(len(self._heads[motion])) / (4 + motion))

        def track(self, motion):
            index, lift = self.body.index, self.lift(motion)
            local = points[index] + lift[:, None, None] * lifted[index]
            return replace(super().track(motion), points=to_world(self._heads[motion], local))

        def points(self, corner, motion, rows=slice(None)):
            rest, lift = self.rest[corner], np.concatenate([[0.0], self.lift(motion)[:-1]])
            lean = 4.0 * lift[:, None, None, None] * np.array([1.0, 0.0, 0.0])
            vectors = np.broadcast_to(lean, (len(lift), len(rest), rest.shape[1] - 1, 3)).reshape(len(lift), -1)
            return to_world(self._heads[motion], Directions().decode(vectors.astype(np.float32), rest))[rows]

    model = fit_model(Shrugging(motions=6), MultilinearTraining(dimensions=2)).model
    assert model.space.body_count == 1
    times = np.arange(31) / 30
    # A body that says nothing of its shoulders, and others whose vertices are not those of the training.
    moved = np.tile(points.astype(np.float32), (31, 1, 1))
    shifted = mane.Mesh(mesh.points + np.float32(0.01), mesh.faces)
    for body, text in (
        (None, "moves against the head, got nothing; the bust with joints is"),
        (Solid(mesh), "moves against the head, got one that is rigid with the head"),
        (Solid.animated(head, times, moved[:, : len(head.points)]), "whose mesh has at least .* vertices, got "),
        (Solid.animated(shifted, times, moved), ", and has vertices 10 mm from there at rest"),
    ):
        with pytest.raises(ValueError, match=f"^body: must be that of the training.*{text}") as error:
            LearnedSource(model.guides(), model, body=body)
        assert "\n" not in str(error.value)
    still, shrug = (
        np.stack([points + min(1.0, 4 * t) * height * lifted for t in times]).astype(np.float32) for height in (0, 0.03)
    )
    tips = []
    for samples in (still, shrug):
        source = LearnedSource(model.guides(), model, body=Solid.animated(mesh, times, samples), collisions="off")
        frames = [source.step() for _ in range(28)]
        np.testing.assert_allclose(frames[-1].points[:, 0], frames[-1].roots, atol=1e-7)
        tips.append(frames[-1].points[:, -1, 0].mean())
    expected = Directions().decode(np.tile([0.12, 0, 0], (1, 20 * 5)).astype(np.float32), model.rest[0])
    assert tips[1] - tips[0] == pytest.approx(expected[0, :, -1, 0].mean() - model.rest[0][:, -1, 0].mean(), rel=0.1)

"""Learning: weights of all subsets against an independent solver, guide choice, the file of a model, and the whole."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

import mane
from mane.body.motion import Pose
from mane.cli import main
from mane.dataset.learn import _kernels_weights as kernels
from mane.dataset.learn import choice
from mane.dataset.learn.choice import METHODS, motion_features, sparse_codes
from mane.dataset.learn.report import guide_frame
from mane.dataset.learn.weights import fit_matrix, learn_sets
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.io.usd import read_usd_groom
from mane.salon.protocol import TO_PAGE, decode
from mane.salon.scenes import salon_program
from mane.salon.studio import Studio
from mane.scene.cache import Cache
from mane.scene.hair import load_hair
from mane.scene.scene_file import read_scene
from mane.skin.adaptive.model import AdaptiveModel, groom_key
from mane.skin.adaptive.rows import GuideRows
from mane.skin.adaptive.skin import AdaptiveSkin
from mane.skin.finish.passes import LengthKeeping
from mane.stage.model_file import ModelFile


def strands(count, vertices=5, seed=0):
    rng = np.random.default_rng(seed)
    points = np.zeros((count, vertices, 3), np.float32)
    points[:, :, :] = rng.uniform(0, 0.03, (count, 1, 3))
    points[:, :, 1] -= np.linspace(0, 0.2, vertices)
    return Groom.from_uniform(points)


def moving(groom, frames=20, seed=1, noise=1e-4):
    """Displacements (S, F, V, 3) that are smooth over the scalp, with a little of every hair's own."""
    rng = np.random.default_rng(seed)
    along = np.linspace(0, 1, int(groom.vertex_counts[0]))[:, None]
    field = rng.normal(0, 1.0, (frames, 3, 3))
    shift = rng.normal(0, 0.02, (frames, 1, 3))
    moved = np.einsum("fij,sj->sfi", field, groom.roots)[:, :, None] * along + shift * along**2
    return (moved + noise * rng.normal(0, 1, moved.shape) * along).astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_all_subsets_are_those_of_a_quadratic_programme(seed):
    """SciPy's non-negative least squares solves eq. 7 for each subset on its own, the sum of 1 as a heavy row."""
    rng = np.random.default_rng(seed)
    count, heavy = 5, 1e4
    x = rng.normal(size=(30, count))
    y = x @ rng.dirichlet(np.full(count, 0.3)) + 1.5 * rng.normal(size=30)
    gram, right, square = x.T @ x, x.T @ y, float(y @ y)
    weights, error = np.zeros((1 << count, count)), np.zeros(1 << count)
    kernels.solve_subsets(gram, right, square, count, count, weights, error)
    on_a_face = 0
    for mask in range(1, 1 << count):
        members = [a for a in range(count) if mask >> a & 1]
        found, _ = nnls(np.vstack([x[:, members], np.full(len(members), heavy)]), np.append(y, heavy))
        assert weights[mask].sum() == pytest.approx(1)
        assert (weights[mask] >= 0).all()
        assert not np.delete(weights[mask], members).any()
        assert error[mask] == pytest.approx(((x[:, members] @ found - y) ** 2).sum(), rel=1e-5)
        np.testing.assert_allclose(weights[mask][members], found, atol=1e-5)
        on_a_face += (weights[mask][members] == 0).any()
    assert on_a_face > 2


def learned(degree, groom=None, **settings):
    groom = strands(30) if groom is None else groom
    motion = moving(groom)
    guides = np.array([0, 4, 9, 14, 22])
    slots = np.tile(np.arange(5, dtype=np.int32), (groom.strand_count, 1))
    counts = np.full(groom.strand_count, 5, np.int32)
    rows, row_of = GuideRows.of(groom, Guides.chosen(groom, guides), slots)
    sets = learn_sets(guides, groom.as_uniform(), motion, slots, counts, rows, row_of, degree=degree, **settings)
    return guides, motion, slots, sets


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_sets_are_sorted_and_rebuild_the_training_motion(degree):
    guides, motion, slots, sets = learned(degree, epsilon=0.02)
    vertices = motion.shape[2]
    along = np.linspace(0, 1, vertices)[:, None] ** np.arange(degree + 1)
    start = 0
    for s in range(len(motion)):
        own = slice(sets.first[s], sets.first[s + 1])
        masks = sets.masks[own]
        assert len(set(masks.tolist())) == len(masks)
        assert {1 << a for a in range(5)} <= set(masks.tolist())
        assert (np.diff(sets.log_error[own].astype(int)) >= 0).all()
        assert (np.bitwise_count(masks) <= 4).all()
        members = [a for a in range(5) if int(masks[0]) >> a & 1]
        weights = np.maximum(sets.scale * sets.coefficients[start : start + len(members)] @ along.T, 0)
        weights /= weights.sum(axis=0)
        made = np.einsum("mv,mfvc->fvc", weights, motion[guides[slots[s, members]]])
        error = ((made - motion[s])[:, 1:] ** 2).sum()
        assert error == pytest.approx(sets.best_error[s], rel=0.02, abs=1e-7)
        # A field that is linear over the scalp needs four guides around a hair; few of these have them.
        assert np.sqrt(error / motion[s][:, 1:].size) < 0.02
        start += int(np.bitwise_count(masks).sum())
    assert start == len(sets.coefficients)


def test_a_hair_that_is_a_guide_follows_itself():
    guides, _, slots, sets = learned(0)
    for slot, strand in enumerate(guides):
        assert sets.masks[sets.first[strand]] == 1 << slot
        assert slots[strand, slot] == slot


def test_polynomials_are_fitted_without_the_root():
    vertices = 7
    along = np.linspace(0, 1, vertices)
    weights = 0.2 + 0.5 * along - 0.3 * along**2
    weights[0] = 17.0
    np.testing.assert_allclose(fit_matrix(vertices, 2) @ weights, [0.2, 0.5, -0.3], atol=1e-12)


def test_features_keep_distances_between_hairs():
    motion = moving(strands(40), noise=1e-3)
    features = motion_features(motion)
    flat = motion.reshape(len(motion), -1).astype(np.float64)
    expected = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    np.testing.assert_allclose(
        np.linalg.norm(features[:, None] - features[None], axis=2), expected, rtol=1e-3, atol=1e-5
    )


def test_sparse_codes_fulfil_the_conditions_of_the_lasso():
    """At the optimum the gradient of the squares is -beta sign(a) where a is not 0, and at most beta elsewhere."""
    rng = np.random.default_rng(0)
    data, atoms = rng.normal(size=(6, 12)), rng.normal(size=(5, 12))
    beta = 3.0
    codes = sparse_codes(data, atoms, beta, is_positive=False)
    gradient = 2 * (codes @ atoms - data) @ atoms.T
    zero = codes == 0
    assert 0.1 < zero.mean() < 0.9
    assert (np.abs(gradient[zero]) <= beta + 1e-2).all()
    np.testing.assert_allclose(gradient[~zero], -beta * np.sign(codes[~zero]), atol=2e-2)


def test_a_graph_of_hairs_that_move_alike_is_cut_between_those_that_do_not():
    rng = np.random.default_rng(4)
    sizes = rng.integers(20, 36, 9)
    crowd = np.repeat(np.arange(9), sizes)
    features = rng.normal(size=(9, 5))[crowd] + 0.05 * rng.normal(size=(len(crowd), 5))
    shuffled = rng.permutation(len(crowd))
    guides = METHODS["graph"](features[shuffled], 9, 0).guides
    assert sorted(crowd[shuffled][guides]) == list(range(9))  # one of each crowd
    # ... and from its middle: closer to it than most of its crowd.
    middle = np.stack([features[crowd == k].mean(axis=0) for k in range(9)])
    away = np.linalg.norm(features - middle[crowd], axis=1)[shuffled]
    assert away[guides].mean() < 0.9 * away.mean()


def test_hairs_that_are_read_in_parts_have_the_same_features(monkeypatch):
    motion = moving(strands(80))
    at_once = motion_features(motion)
    monkeypatch.setattr(choice, "HAIRS_AT_ONCE", 33)
    in_parts = motion_features(motion)
    between = [np.linalg.norm(one[:, None] - one, axis=2) for one in (at_once, in_parts)]
    np.testing.assert_allclose(between[1], between[0], atol=2e-5 * between[0].max())


@pytest.mark.parametrize("method", METHODS)
def test_guides_are_strands_chosen_alike_every_time(method):
    features = motion_features(moving(strands(80)))
    chosen = METHODS[method](features, 12, 3).guides
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(chosen, METHODS[method](features, 12, 3).guides)
    if method != "sparse_coding_printed":
        assert len(chosen) == 12


def test_hairs_that_a_method_found_are_counted_before_others_fill_up():
    """Three kinds of hair, of which there can be no twelve: only what is counted after filling up is twelve."""
    features = np.repeat(np.eye(3), 20, axis=0)
    for method in ("k_medoids", "sparse_coding"):
        chosen = METHODS[method](features, 12, 3)
        assert len(chosen.guides) == 12
        assert chosen.found <= 3
    printed = METHODS["sparse_coding_printed"](features, 12, 3)
    assert printed.found == len(printed.guides) <= 3
    assert METHODS["random"](features, 12, 3).found == 12


def small_model(degree=0):
    groom = strands(30)
    guides, _, slots, sets = learned(degree, groom)
    pairs = np.argwhere(np.triu(np.ones((5, 5), bool), 1))
    ones = np.ones(len(pairs))
    counts = np.full(30, 5, np.int32)
    learned_sets = (sets.first, sets.masks, sets.log_error, sets.coefficients, sets.scale)
    return groom, AdaptiveModel(guides, slots, counts, *learned_sets, pairs, ones, ones, ones)


def test_a_model_survives_its_file_and_carries_hair(tmp_path, capsys):
    groom, model = small_model(degree=1)
    path = tmp_path / "hair.model"
    with open(path, "wb") as file:
        model.to_file().write(file)
    again = AdaptiveModel.load(path)
    for name in ("guides", "slots", "masks", "coefficients", "usual"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    guides = Guides.chosen(groom, model.guides)
    skin = AdaptiveSkin(groom, guides, model=str(path))
    np.testing.assert_allclose(
        skin(guide_frame(guides, guides.rest, Pose.identity(), 0.0)), groom.as_uniform(), atol=1e-6
    )
    # A motion that was learned from comes back as well as the best sets can make it.
    truth = groom.as_uniform() + moving(groom)[:, 7]
    made = skin(guide_frame(guides, np.ascontiguousarray(truth[model.guides]), Pose.identity(), 0.1))
    np.testing.assert_allclose(made[model.guides], truth[model.guides], atol=2e-4)
    assert np.linalg.norm(made - truth, axis=2).mean() < 0.5 * np.linalg.norm(moving(groom)[:, 7], axis=2).mean()
    assert ModelFile.read_any(path).kind == "adaptive"
    assert main(["info", str(path)]) == 0
    assert "model of kind adaptive, version 2" in capsys.readouterr().out


def test_broken_models_are_told_in_one_line(tmp_path):
    groom, model = small_model()
    path = tmp_path / "hair.model"
    with open(path, "wb") as file:
        model.to_file().write(file)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"hair\.model: is no model of mane, or was cut or damaged") as error:
            AdaptiveModel.load(path)
        assert "\n" not in str(error.value)
    locked = bytearray(whole)
    locked[whole.index(b"PK\x01\x02") + 8] |= 1  # says that the first member is encrypted
    path.write_bytes(bytes(locked))
    with pytest.raises(ValueError, match=r"hair\.model: is no model of mane, or was cut or damaged"):
        AdaptiveModel.load(path)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 255
    path.write_bytes(bytes(damaged))
    with pytest.raises(ValueError, match=r"hair\.model: "):
        AdaptiveModel.load(path)
    with open(path, "wb") as file:
        replace(model, masks=model.masks[:-1]).to_file().write(file)
    with pytest.raises(ValueError, match="its arrays do not fit each other"):
        AdaptiveModel.load(path)
    guides = Guides.chosen(groom, model.guides)
    with pytest.raises(ValueError, match="another groom, of 30 strands; this one has 31; `mane learn adaptive` learns"):
        AdaptiveSkin(strands(31), guides, model=model)
    known = replace(model, facts={"groom": groom_key(groom)})
    with pytest.raises(ValueError, match="another groom, of 30 strands, whose points or vertices differ; `mane learn"):
        AdaptiveSkin(strands(30, seed=1), guides, model=known)
    with pytest.raises(ValueError, match="model: must carry the groom by its own 5 guides"):
        AdaptiveSkin(groom, Guides.chosen(groom, [1, 2, 3, 4, 5]), model=model)


SCENE = """
[groom]
style = "straight"
strands = 60
vertices = 8

[frames]
end = 24
rate = 24.0
"""


def check_salon(path):
    """A page has hairs in an order of its own, in which the model does not know them; each gets its own points."""
    topics = {}
    studio = Studio(salon_program(path), lambda topic, message: topics.__setitem__(topic, message))
    for _ in range(3):
        studio.step()
    sent = decode(topics["carrier 0"], TO_PAGE)[1]
    hairs = sent["low"] + sent["step"] * sent["packed"].reshape(sent["strands"], -1, 3)
    roots = studio.frame.head.apply(studio.groom.roots.astype(np.float64))
    assert len(hairs) == len(roots) == 60
    assert np.abs(hairs[:, 0] - roots).max() < 1e-4


def check_written_hair(folder):
    """Hair that the scene has written is that of the skin with this model in a script, on the guides of its cache."""
    groom = load_hair(read_scene(folder / "used.toml")).groom
    model = str(folder / "hair.model")
    skin = mane.skin("adaptive", groom, Guides.chosen(groom, AdaptiveModel.load(model).guides), model=model)
    linear, keep_lengths = mane.skin("linear", groom, skin.guides), LengthKeeping(groom)
    cache = Cache.open(folder / "hair.cache")
    for number in cache.frames:
        frame = cache.read_frame(number)
        written = read_usd_groom(folder / "hair.usda", time=number).groom.as_uniform()
        made = keep_lengths(skin(frame).copy(), frame)
        np.testing.assert_allclose(written, made, atol=1e-6)
    assert number == 3
    assert np.abs(made - linear(frame)).max() > 1e-4
    assert np.abs(made - groom.as_uniform()).max() > 1e-3


def test_more_guides_than_hairs_are_refused_before_any_is_simulated(tmp_path, capsys):
    (tmp_path / "head.toml").write_text(SCENE)
    words = ["learn", "adaptive", str(tmp_path / "head.toml"), "-o", str(tmp_path / "hair.model"), "--workers", "0"]
    assert main([*words, "--set", "guides=600"]) == 2
    error = capsys.readouterr().err
    assert "guides: must be at most 60 (= number of strands of the scene), got 600" in error
    assert [path.name for path in tmp_path.iterdir()] == ["head.toml"]


def test_the_command_learns_and_a_scene_uses_it(tmp_path, capsys):
    (tmp_path / "head.toml").write_text(SCENE)
    model = tmp_path / "hair.model"
    words = ["learn", "adaptive", str(tmp_path / "head.toml"), "-o", str(model), "--workers", "0", "--json"]
    words += ["--set", "guides=12", "--set", "seconds=0.5", "--set", "train=2", "--set", "test=1"]
    assert main(words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["guide_count"] == 12
    assert facts["test_error_learned"] < facts["test_error_linear"]
    assert {path.suffix for path in tmp_path.iterdir()} >= {".model", ".json", ".png", ".zarr"}
    first = model.read_bytes()
    assert main(words) == 0  # goes on from what was simulated
    again = json.loads(capsys.readouterr().out)
    assert again["seconds"]["simulation"] < facts["seconds"]["simulation"]
    assert AdaptiveModel.load(model).masks.tobytes() == ModelFile.read_any(model).arrays["masks"].tobytes()
    assert len(first) > 1000
    used = SCENE.replace("end = 24", "end = 3") + (
        '\n[head]\nmotion = "shake"\n[guides]\nmodel = "hair.model"\n'
        '[skin]\nmethod = "adaptive"\nmodel = "hair.model"\n'
        '[output]\ncache = "hair.cache"\nusd = "hair.usda"\n'
    )
    (tmp_path / "used.toml").write_text(used)
    assert main(["simulate", str(tmp_path / "used.toml"), "--quiet"]) == 0
    check_written_hair(tmp_path)
    check_salon(tmp_path / "used.toml")
    assert main(["learn", "adaptve", str(tmp_path / "head.toml"), "-o", str(model)]) == 2
    assert "kind: 'adaptve' is unknown" in capsys.readouterr().err

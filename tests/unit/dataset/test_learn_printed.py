"""Learning as chai2017 prints it: each line of section 6 against plain NumPy and SciPy's solver."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

from mane.body.motion import Pose
from mane.dataset.learn.adaptive import AdaptiveTraining, eligible_guides, learn_from_motion
from mane.dataset.learn.choice import GuideChoice
from mane.dataset.learn.motion import HairStates, TrainingMotion, mean_and_percentile
from mane.dataset.learn.report import guide_frame
from mane.dataset.learn.weights import fit_matrix, learn_sets
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.measure.study.parting import unseen_error
from mane.skin.adaptive import _reference as reference
from mane.skin.adaptive.rows import GuideRows
from mane.skin.adaptive.skin import AdaptiveSkin

VERTICES, FRAMES, GUIDES = 6, 9, 4


def bent_hair(count=12, seed=0):
    """A lock of hairs (S, V, 3), and displacements (S, F, V, 3): together, and by themselves."""
    rng = np.random.default_rng(seed)
    along = np.linspace(0, 1, VERTICES)
    roots = rng.uniform(-0.02, 0.02, (count, 1, 3))
    phase = rng.uniform(0, 6, (count, 1))
    shape = np.stack([0.01 * np.cos(3 * along + phase), -0.15 * along + 0 * phase, 0.01 * np.sin(3 * along + phase)], 2)
    rest = (roots + shape - shape[:, :1]).astype(np.float32)
    angle = rng.normal(0, 0.7, (FRAMES, 3))[None, :, None] + rng.normal(0, 0.4, (count, FRAMES, VERTICES, 3))
    moved = np.empty((count, FRAMES, VERTICES, 3))
    for s in range(count):
        for f in range(FRAMES):
            points = [rest[s, 0].astype(np.float64)]
            for i in range(VERTICES - 1):
                turn = np.cross(np.eye(3), along[i + 1] * angle[s, f, i + 1])
                segment = (rest[s, i + 1] - rest[s, i]) @ (np.eye(3) + turn)
                points.append(points[-1] + segment)
            moved[s, f] = np.stack(points) - rest[s]
    return rest, moved.astype(np.float32)


def learned(degree=2, epsilon=0.05, seed=0, **settings):
    rest, moved = bent_hair(seed=seed)
    guides = np.arange(GUIDES)
    groom = Groom.from_uniform(rest)
    slots = np.tile(np.arange(GUIDES, dtype=np.int32), (len(rest), 1))
    counts = np.full(len(rest), GUIDES, np.int32)
    # Lengths differ by little here, but GuideRows count them in steps: all guides at their own vertices.
    _, row_of = GuideRows.of(groom, Guides.chosen(groom, guides), slots)
    places = np.tile(np.arange(VERTICES, dtype=np.float32), (GUIDES, 1, 1))
    rows = GuideRows(np.arange(GUIDES, dtype=np.int32)[:, None], places)
    assert row_of.shape == slots.shape
    options = {"degree": degree, "largest": GUIDES, "epsilon": epsilon, "most_sets": 1023, **settings}
    return rest, moved, learn_sets(guides, rest, moved, slots, counts, rows, slots, **options)


def expected_sets(rest, moved, s, *, degree, epsilon, use_frames, tangents, negative_weights, fit_root):
    """Set -> (coefficients, error as played) of a hair, by SciPy for every vertex of every subset."""
    rest, moved = rest.astype(np.float64), moved.astype(np.float64)
    position, tangent = np.empty((2, GUIDES, FRAMES, VERTICES, 3))
    for g in range(GUIDES):
        for f in range(FRAMES):
            position[g, f], tangent[g, f] = reference.carried(
                rest[s], rest[g], rest[g] + moved[g, f], use_frames=use_frames
            )
    truth = rest[s] + moved[s]
    truth_tangent = np.stack([reference.tangents(points) for points in truth])
    columns = np.concatenate([position, tangents * tangent], axis=1)
    goal = np.concatenate([truth, tangents * truth_tangent])
    found, heavy = {}, 1e4
    for members in (one for k in range(1, GUIDES + 1) for one in combinations(range(GUIDES), k)):
        own = list(members)
        weights = np.full((len(own), VERTICES), 1 / len(own))  # of least norm where nothing moves
        for i in range(VERTICES):
            matrix = columns[own, :, i].reshape(len(own), -1).T
            if np.ptp(matrix, axis=1).max() > 1e-6:  # from the frame of the head: all of sum 1, so no rest state needed
                weights[:, i], _ = nnls(
                    np.vstack([matrix, np.full(len(own), heavy)]), np.append(goal[:, i].ravel(), heavy), maxiter=1000
                )
        coefficients = reference.polynomial_weights(weights, degree, fit_root=fit_root)
        played = reference.played_weights(coefficients, VERTICES, negative_weights=negative_weights)
        start = 0 if fit_root else 1
        if (played[:, start:].max(axis=1) < epsilon).any():
            continue
        made = np.einsum("mv,mfvc->fvc", played, position[own])
        found[sum(1 << a for a in own)] = coefficients, ((made - truth)[:, 1:] ** 2).sum()
    return found


OFF = {"use_frames": False, "tangents": 0.0, "negative_weights": False, "fit_root": False}


@pytest.mark.parametrize(
    "lines",
    [
        {},
        {"use_frames": True},
        {"tangents": 1.0},
        {"use_frames": True, "tangents": 0.03},
        {"negative_weights": True},
        {"fit_root": True},
        {"use_frames": True, "tangents": 1.0, "negative_weights": True, "fit_root": True},
    ],
    ids=lambda lines: "+".join(lines) or "none",
)
def test_each_printed_line_of_section_6(lines):
    """Tangents and frames in eq. 7, weights below zero, and the root in eq. 8, alone and together."""
    lines, epsilon = {**OFF, **lines}, 0.05
    rest, moved, sets = learned(epsilon=epsilon, **lines)
    negative, start = 0, 0
    for s in range(len(rest)):
        expected = expected_sets(rest, moved, s, degree=2, epsilon=epsilon, **lines)
        own = slice(sets.first[s], sets.first[s + 1])
        masks = sets.masks[own].tolist()
        if s >= GUIDES:  # of a guide itself the others have weights that are 0, and rounding decides
            assert set(masks) == set(expected)
        errors = []
        for mask in masks:
            size = mask.bit_count()
            coefficients = sets.scale * sets.coefficients[start : start + size].astype(np.float64)
            start += size
            if s < GUIDES:
                continue
            np.testing.assert_allclose(coefficients, expected[mask][0], atol=2e-3)
            errors.append(expected[mask][1])
            along = np.linspace(0, 1, VERTICES)[1:, None] ** np.arange(3)
            negative += (coefficients @ along.T < -0.01).sum()
        if s >= GUIDES:
            assert (np.diff(errors) > -1e-6 - 1e-3 * np.array(errors[:-1])).all()  # by rising error, as played
            assert sets.best_error[s] == pytest.approx(errors[0], rel=1e-3, abs=1e-7)
    assert start == len(sets.coefficients)
    assert negative > 0


def test_the_root_counts_in_the_fit_where_it_is_printed():
    along = np.linspace(0, 1, 7)
    weights = 0.2 + 0.5 * along - 0.3 * along**2
    np.testing.assert_allclose(fit_matrix(7, 2, fits_root=True) @ weights, [0.2, 0.5, -0.3], atol=1e-12)
    weights[0] = 17.0
    fitted = fit_matrix(7, 2, fits_root=True) @ weights
    np.testing.assert_allclose(fitted, reference.polynomial_weights(weights[None], 2, fit_root=True)[0], atol=1e-10)
    assert abs(fitted[0] - 0.2) > 1


def test_codes_are_discarded_by_their_signed_value():
    codes = np.array([[0.5, -0.9, 0.02, 0.005], [-0.3, -0.2, -0.1, 0.009]])
    features = np.array([[0.0], [1.0], [2.0], [3.0], [2.2]])
    choice = GuideChoice(np.array([0, 1, 2, 3]), np.vstack([codes, codes[:1], codes[:1], codes[1:]]))
    slots, counts = eligible_guides(features, choice, 3)
    assert counts.tolist() == [2, 1, 2, 2, 1]
    assert slots[0, :2].tolist() == [0, 2]
    assert (slots[1, 0], slots[4, 0]) == (1, 2)  # none counts: the one that moves most alike


@pytest.mark.parametrize("tangents", [0.0, 0.5])
def test_states_are_positions_and_tangents(tangents):
    rest, moved = bent_hair()
    motion = TrainingMotion(rest, moved, np.arange(FRAMES) == 0, 0.04)
    whole, change = (HairStates(motion, tangents, are_whole=one) for one in (True, False))
    points = rest[:, None].astype(np.float64) + moved
    along = np.stack([[reference.tangents(frame) for frame in hair] for hair in points])
    still = np.stack([reference.tangents(hair) for hair in rest.astype(np.float64)])[:, None]
    expected = np.concatenate([points, tangents * along], axis=1)[:, :, 1:]
    changed = np.concatenate([moved, tangents * (along - still)], axis=1)[:, :, 1:]
    size = whole.shape[1]
    assert size == (2 * FRAMES if tangents else FRAMES)
    assert whole[2:9].shape == (7, *whole.shape[1:])
    np.testing.assert_allclose(whole[2:9], expected[2:9, :size], atol=1e-6)
    np.testing.assert_allclose(change[2:9], changed[2:9, :size], atol=1e-6)


@pytest.mark.parametrize("sigma", [5.0, 0.3])
def test_how_far_guides_move_apart_in_training(sigma):
    """A and B are means (7.1); what d reaches is a percentile of the sum of both terms, in frames that have both."""
    rng = np.random.default_rng(3)
    position = rng.normal(0, 0.1, (5, 80, 4, 3)).astype(np.float32)
    begins = np.isin(np.arange(80), [0, 31])
    velocity = rng.standard_t(2, (5, 78, 4, 3)).astype(np.float32)
    pairs = np.array([[0, 1], [2, 4]])
    a, b, usual = mean_and_percentile(position, velocity, ~begins, pairs, sigma, 99.0)
    for k, (i, j) in enumerate(pairs):
        way = ((position[i].astype(np.float64) - position[j]) ** 2).sum(axis=(1, 2))
        rush = ((velocity[i].astype(np.float64) - velocity[j]) ** 2).sum(axis=(1, 2))
        assert a[k] == pytest.approx(way.mean(), rel=1e-5)
        assert b[k] == pytest.approx(rush.mean(), rel=1e-5)
        d = way[~begins] / way.mean() + sigma * rush / rush.mean()
        assert usual[k] == pytest.approx(np.percentile(d, 99), rel=1e-5)
        apart = np.percentile(way / way.mean(), 99) + sigma * np.percentile(rush / rush.mean(), 99)
        assert usual[k] < 0.99 * apart


def test_a_model_says_which_sigma_it_was_learned_with():
    rest, moved = bent_hair()
    motion = TrainingMotion(rest, moved, np.arange(FRAMES) == 0, 0.04)
    model = learn_from_motion(motion, AdaptiveTraining(guides=4, sigma=2.0))
    groom = Groom.from_uniform(rest)
    guides = Guides.chosen(groom, model.guides)
    for fine in ({}, {"use_motion": True, "sigma": 2.0}, {"paper": True}):
        AdaptiveSkin(groom, guides, model=model, **fine)
    with pytest.raises(ValueError, match=r"sigma: must be 2, which the model learned .* with, got 5") as error:
        AdaptiveSkin(groom, guides, model=model, use_motion=True)
    assert "\n" not in str(error.value)


def patches(frames, seed, hairs=160):
    """Motion of hairs whose roots crowd in a corner of a patch: waves over it, no two hairs alike far apart."""
    place = np.random.default_rng(0)
    roots = np.zeros((hairs, 1, 3))
    roots[:, 0, :2] = 0.1 * place.random((hairs, 2)) ** 2
    along = np.linspace(0, 1, VERTICES)
    rest = (roots + np.stack([0 * along, -0.15 * along, 0 * along], 1)).astype(np.float32)
    waves, phase = place.normal(0, 60, (8, 2)), place.uniform(0, 6, 8)
    over = np.cos(roots[:, 0, :2] @ waves.T + phase)
    moved = 0.02 * np.einsum("sk,fkc->sfc", over, np.random.default_rng(seed).normal(size=(frames, 8, 3)))
    moved = moved[:, :, None] * along[:, None]
    return TrainingMotion(rest, moved.astype(np.float32), np.arange(frames) == 0, 0.04)


def test_guides_in_the_middle_of_clusters_follow_unseen_motion_better_than_random_ones():
    learned_of, unseen = patches(20, 1), patches(10, 2)
    groom = Groom.from_uniform(learned_of.rest)
    errors = {
        method: np.mean([
            unseen_error(
                groom,
                unseen,
                learn_from_motion(learned_of, AdaptiveTraining(guides=16, method=method, eligible=6, seed=seed)),
            )
            for seed in range(3)
        ])
        for method in ("k_medoids", "random")
    }  # fmt: skip
    assert errors["k_medoids"] < 0.9 * errors["random"]


def test_printed_training_has_every_printed_line_and_follows_what_it_learned():
    training = AdaptiveTraining.printed(guides=4)
    assert (training.use_frames, training.tangents, training.negative_weights, training.fit_root) == (
        True,
        1,
        True,
        True,
    )
    assert (training.method, training.degree, training.epsilon, training.most_sets) == (
        "sparse_coding_printed", 2, 0.01, 511,
    )  # fmt: skip
    usual = AdaptiveTraining()
    assert (usual.use_frames, usual.tangents, usual.negative_weights, usual.fit_root) == (False, 0, False, False)
    rest, moved = bent_hair(40)
    motion = TrainingMotion(rest, moved, np.arange(FRAMES) == 0, 0.04)
    model = learn_from_motion(motion, training)
    assert model.use_frames
    assert model.has_negative_weights
    groom = Groom.from_uniform(rest)
    guides = Guides.chosen(groom, model.guides)
    skin = AdaptiveSkin(groom, guides, model=model, paper=True, use_motion=False)
    assert skin.params.use_frames
    others = np.setdiff1d(np.arange(40), model.guides)
    errors, ways = [], []
    for f in range(FRAMES):
        truth = rest + moved[:, f]
        made = skin(guide_frame(guides, np.ascontiguousarray(truth[model.guides]), Pose.identity(), 0.04 * f))
        errors.append(np.linalg.norm(made - truth, axis=2)[others].mean())
        ways.append(np.linalg.norm(moved[others, f], axis=2).mean())
    assert np.mean(errors) < 0.5 * np.mean(ways)

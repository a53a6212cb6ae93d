"""Many frames at once, against the same in plain NumPy; errors of a model, whole and in blocks."""

import numpy as np
import pytest

from learned_hair import KnownHair
from mane.reduced import evaluate
from mane.reduced.dynamics import Operator, roll_out, roll_outs
from mane.reduced.evaluate import mean_distances, mean_stretch, style_errors
from mane.reduced.principal import Basis
from mane.reduced.representation import Directions, Positions, directions
from mane.reduced.training import MultilinearTraining, fit_model


@pytest.fixture
def rng():
    return np.random.default_rng(4)


@pytest.fixture
def hair(rng):
    return rng.normal(size=(5, 4, 6, 3)).astype(np.float32)


def norm(values):
    return np.linalg.norm(values.astype(np.float64), axis=-1)


def test_directions_there_and_back(hair, rng):
    rest = hair[0]
    edges = np.diff(hair.astype(np.float64), axis=-2)
    unit = edges / norm(edges)[..., None]
    np.testing.assert_allclose(directions(hair), unit, atol=1e-6)
    vectors = Directions().encode(hair, rest)
    np.testing.assert_allclose(vectors, (unit - unit[0]).reshape(5, -1), atol=1e-6)
    roots = rng.normal(size=(5, 4, 3)).astype(np.float32)
    laid = np.cumsum(unit * norm(edges[0])[None, ..., None], axis=2)
    for given, start in ((None, rest[None, :, :1]), (roots, roots[:, :, None])):
        points = Directions().decode(vectors, rest, given)
        np.testing.assert_allclose(points[:, :, 1:], start + laid, atol=1e-5)
        np.testing.assert_array_equal(points[:, :, :1], np.broadcast_to(start, points[:, :, :1].shape))


def test_a_segment_without_a_length_has_no_direction():
    assert not directions(np.ones((2, 3, 3), np.float32)).any()


def test_mean_distances_and_stretch(hair):
    other = hair[::-1]
    np.testing.assert_allclose(mean_distances(hair, other), norm(hair - other).mean(axis=(1, 2)), rtol=1e-6)
    np.testing.assert_allclose(mean_distances(hair, hair[:1]), norm(hair - hair[:1]).mean(axis=(1, 2)), rtol=1e-6)
    length = norm(np.diff(hair, axis=-2))
    expected = np.abs(length / length[2] - 1).mean(axis=(1, 2))
    np.testing.assert_allclose(mean_stretch(hair, hair[2]), expected, rtol=1e-5, atol=1e-7)


def test_projecting_undoes_reconstructing_and_is_closest(rng):
    basis = Basis.of(rng.normal(size=(50, 4)))
    known = rng.normal(size=(7, 4))
    np.testing.assert_allclose(basis.project(basis.reconstruct(known)), known, atol=1e-5)
    vectors = rng.normal(size=(7, 50)).astype(np.float32)
    columns = basis.numbers * basis.scale
    np.testing.assert_allclose(basis.project(vectors), np.linalg.lstsq(columns, vectors.T)[0].T, atol=1e-5)


def test_motions_side_by_side_roll_out_as_each_by_itself(rng):
    operator = Operator(rng.normal(size=(3, 2)), 0.3 * rng.normal(size=(2, 3, 3)))
    controls = [rng.normal(size=(count, 2)) for count in (9, 1, 14)]
    starts = [rng.normal(size=(2, 3)) for _ in controls]
    for own, start, made in zip(controls, starts, roll_outs(operator, controls, starts), strict=True):
        np.testing.assert_allclose(made, roll_out(operator, own, start), atol=1e-12)
        expected = [*start]  # guan2012 eq. 10, a frame at a time
        for t in range(2, len(own)):
            past = operator.history[0] @ expected[t - 2] + operator.history[1] @ expected[t - 1]
            expected.append(operator.control @ own[t] + past)
        np.testing.assert_allclose(made, expected[: len(own)], atol=1e-12)


@pytest.mark.parametrize("training", [MultilinearTraining(dimensions=3), MultilinearTraining.printed(dimensions=3)])
def test_errors_in_blocks_are_those_of_whole_motions(training, monkeypatch):
    data = KnownHair(motions=5)
    model = fit_model(data, training).model
    whole = style_errors(model, data)
    assert all(error.model > 0 and error.floor > 0 for error in whole)
    monkeypatch.setattr(evaluate, "BLOCK_BYTES", 7 * data.rest[0].nbytes)
    for one, other in zip(whole, style_errors(model, data), strict=True):
        assert vars(one) == pytest.approx(vars(other), rel=1e-5, abs=1e-9)


def test_positions_are_centimetres(hair):
    vectors = Positions().encode(hair, hair[0])
    np.testing.assert_allclose(vectors, 100 * hair.reshape(5, -1), rtol=1e-6)
    np.testing.assert_allclose(Positions().decode(vectors, hair[0]), hair, rtol=1e-6)

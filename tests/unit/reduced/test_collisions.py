"""Collisions as printed (guan2012 section 6): a gradient that is one, method B as the least squares that it says."""

import numpy as np
import pytest

from learned_hair import KnownHair
from mane.body.shapes import Sphere
from mane.reduced.collisions import PrintedWeights, ReducedCollisions, canonical_bust, measure_penetration
from mane.reduced.training import MultilinearTraining, fit_model


@pytest.fixture(scope="module")
def printed():
    return fit_model(KnownHair(motions=4, amplitude=0.03), MultilinearTraining.printed(dimensions=6))


@pytest.fixture(scope="module")
def case(printed):
    """A prediction, roots on the scalp and a ball that is so large that much of the hair is inside."""
    mesh = Sphere((0.02, -0.05, 0.0), 0.12).mesh(24)
    bust = canonical_bust(mesh.points.astype(float), mesh.faces)
    start = printed.coefficients[0][0][30]
    collisions = ReducedCollisions(printed.model)
    roots = collisions._root_basis @ start + collisions._root_mean
    return printed.model, bust, start, roots


def test_the_gradient_of_method_a_is_that_of_its_energy(case):
    model, bust, start, roots = case
    collisions = ReducedCollisions(model, every=2)
    nearest = collisions.correspondences(start, bust)
    y = start + np.random.default_rng(0).normal(size=len(start))
    _, gradient = collisions.energy(y, start, roots, bust, nearest)
    for k in range(len(y)):
        step = 1e-5 * np.eye(len(y))[k]
        up, down = (collisions.energy(y + sign * step, start, roots, bust, nearest)[0] for sign in (1, -1))
        assert (up - down) / 2e-5 == pytest.approx(gradient[k], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("every", [1, 3])
def test_both_methods_bring_hair_out_and_stay_near_the_prediction(case, every):
    model, bust, start, roots = case
    whole = ReducedCollisions(model)
    strong = ReducedCollisions(model, PrintedWeights(penetration=50.0, deviation=0.01, roots=0.1), every=every)
    nearest = whole.correspondences(start, bust)
    before = measure_penetration(whole.depths(start, bust, nearest))
    assert before.rate > 0.05
    for method in (strong.method_a, strong.method_b):
        y = method(start, roots, bust)
        after = measure_penetration(whole.depths(y, bust, nearest))
        assert after.deepest < before.deepest
        np.testing.assert_array_equal(method(start, roots, bust), y)
    one = ReducedCollisions(model, PrintedWeights(iterations=1))
    y = one.method_b(start, roots, bust)
    inside = whole.depths(start, bust, nearest) < 0

    # One pass is the minimum of a quadratic: eq. 15 with eq. 18 in place of eq. 14.
    def energy(z):
        depth = whole.depths(z, bust, nearest)[inside]
        off = whole._root_basis @ z + whole._root_mean - roots
        return 0.08 * (depth**2).sum() + 0.13 * ((z - start) ** 2).sum() + 1.5 * (off**2).sum()

    for step in 1e-3 * np.random.default_rng(1).normal(size=(20, len(y))):
        assert energy(y) < energy(y + step)


def test_a_prediction_that_is_outside_stays_as_it_is_but_for_its_roots(case):
    model, _, start, roots = case
    mesh = Sphere((5.0, 0.0, 0.0), 0.1).mesh(12)
    bust = canonical_bust(mesh.points.astype(float), mesh.faces)
    collisions = ReducedCollisions(model)
    np.testing.assert_allclose(collisions.method_b(start, roots, bust), start, atol=1e-9)
    # Eq. 17 counts in every frame: a term that came and went with the first point inside would make roots jump.
    moved = roots + 0.1
    y = collisions.method_b(start, moved, bust)
    off = [np.linalg.norm(collisions._root_basis @ one + collisions._root_mean - moved) for one in (start, y)]
    assert off[1] < off[0]
    np.testing.assert_allclose(y, collisions.method_a(start, moved, bust), atol=1e-3 * np.abs(y).max())


def test_a_model_of_directions_is_refused():
    model = fit_model(KnownHair(motions=3), MultilinearTraining(dimensions=3)).model
    with pytest.raises(ValueError, match="model: must be learned of positions for collisions as printed"):
        ReducedCollisions(model)

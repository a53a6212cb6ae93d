"""The exact answers themselves, each against another way to find them."""

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.optimize import minimize

from mane.geometry import quaternion
from mane.measure.strands import references as exact

CURVATURE, TORSION = 12.0, 7.0


def test_a_stiff_rod_sags_as_a_beam_does():
    """For small loads the tip of a beam under its own weight drops by G / 8; the next term is of order G^3."""
    height, width = exact.elastica(1e-3)
    assert height == pytest.approx(1e-3 / 8, rel=1e-6)
    assert width == pytest.approx(1.0, abs=1e-7)


def test_a_long_rod_hangs_straight_down():
    """Of a heavy rod only the bend at the clamp is left, of size G^(-1/2)."""
    height, width = exact.elastica(4000.0)
    assert 1 - 2 * 4000**-0.5 < height < 1
    assert 0 < width < 2 * 4000**-0.5


@pytest.mark.parametrize("number", [0.5, 30.0])
def test_shooting_agrees_with_collocation(number):
    def slope(s, y):
        return np.stack([y[1], -number * (1 - s) * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])])

    arc = np.linspace(0, 1, 400)
    guess = np.stack([np.minimum(8 * arc, 1.2), np.zeros_like(arc), arc, arc])
    solved = solve_bvp(slope, lambda a, b: np.array([a[0], b[1], a[2], a[3]]), arc, guess, tol=1e-9, max_nodes=20_000)
    assert solved.status == 0
    np.testing.assert_allclose(exact.elastica(number), (solved.y[3, -1], solved.y[2, -1]), atol=1e-8)


def test_without_weight_the_helix_keeps_its_shape():
    shape = exact.kirchhoff_helix(CURVATURE, TORSION, 1e-9, 0.7)
    np.testing.assert_allclose(shape.points, exact.helix_points(CURVATURE, TORSION, shape.arc), atol=1e-8)


def test_the_clamp_is_the_frame_of_the_helix():
    arc = np.linspace(0, 1, 20_001)
    points = exact.helix_points(CURVATURE, TORSION, arc)
    clamp = exact.helix_clamp(CURVATURE, TORSION)
    frames = quaternion.multiply(clamp, quaternion.exp(np.outer(arc, [CURVATURE, 0.0, TORSION])))
    tangents = np.gradient(points, arc, axis=0)
    # Central differences of step h are off by |x'''| h^2 / 6.
    np.testing.assert_allclose(
        quaternion.rotate(frames, [0.0, 0.0, 1.0])[1:-1], tangents[1:-1], atol=200 * (1 / 20_000) ** 2
    )


def test_the_hanging_helix_has_the_least_energy():
    """A coarse rod, minimised: its distance to the exact shape falls with the square of its cells."""
    number, twist_ratio = 20.0, 0.7
    reference = exact.kirchhoff_helix(4.0, 3.0, number, twist_ratio)
    off = []
    for cells in (6, 12):
        tip = least_energy_helix(4.0, 3.0, cells, number, twist_ratio)
        off.append(np.linalg.norm(tip - reference.points[-1]))
    assert off[1] < 0.01
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.2)


def least_energy_helix(curvature, torsion, cells, number, twist_ratio):
    """Tip of a rod of `cells` pieces of constant strain, found by minimising elastic energy and height."""
    rest = np.array([curvature, 0.0, torsion])
    stiffness = np.array([1.0, 1.0, twist_ratio])
    clamp, h = exact.helix_clamp(curvature, torsion), 1 / cells

    def points(strain):
        frame, middle = clamp, np.zeros((cells + 1, 3))
        for i, u in enumerate(strain):
            half = quaternion.exp(0.5 * h * u)
            frame = quaternion.multiply(frame, half)
            middle[i + 1] = middle[i] + h * quaternion.rotate(frame, np.array([0.0, 0.0, 1.0]))
            frame = quaternion.multiply(frame, half)
        return middle

    def energy(flat):
        strain = flat.reshape(cells, 3)
        heights = points(strain)[:, 1]
        elastic = 0.5 * h * (stiffness * (strain - rest) ** 2).sum()
        return elastic + 0.5 * number * h * (heights[1:] + heights[:-1]).sum()

    found = minimize(energy, np.tile(rest, cells), method="L-BFGS-B", options={"maxiter": 200, "maxfun": 10**6})
    return points(found.x.reshape(cells, 3))[-1]


def test_the_mode_of_a_beam_solves_its_equation():
    """w'''' = beta^4 w, clamped at 0 and free at 1."""
    x = np.linspace(0, 1, 2001)
    w = exact.beam_mode(x)
    assert w[0] == pytest.approx(0, abs=1e-12)
    assert w[1] / x[1] == pytest.approx(0, abs=2e-3)
    assert w[-1] == pytest.approx(1)
    fourth = np.gradient(np.gradient(np.gradient(np.gradient(w[::20], x[20]), x[20]), x[20]), x[20])[8:-8]
    np.testing.assert_allclose(fourth, (exact.FIRST_ROOT**4 * w[::20])[8:-8], rtol=0.02)
    assert np.cos(exact.FIRST_ROOT) * np.cosh(exact.FIRST_ROOT) == pytest.approx(-1)


def test_a_quarter_circle_without_twist_bends_as_its_moments_say():
    """Castigliano by quadrature of the moments of a force P: bending P R cos(a), twisting P R (1 - sin(a))."""
    angle = np.linspace(0, np.pi / 2, 20_001)
    bending = np.trapezoid(np.cos(angle) ** 2, angle) / 3.0
    twisting = np.trapezoid((1 - np.sin(angle)) ** 2, angle) / 0.5
    assert exact.quarter_circle_deflection(2.0, 0.1, 3.0, 0.5) == pytest.approx(2.0 * 0.1**3 * (bending + twisting))

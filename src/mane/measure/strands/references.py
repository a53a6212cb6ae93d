"""Exact answers that strand models are measured against; nothing here knows a solver.

A rod hanging from a clamp carries, at arc length s, exactly the weight of what lies beyond it. The internal force is
therefore known beforehand, and the equilibrium is a boundary-value problem for directions and moments alone:

    tangent angle   theta'' = -G (1 - s) cos(theta),   theta(0) = 0, theta'(1) = 0        (planar, straight at rest)
    frame, moment   q' = q (u, 0) / 2,   m' = G (1 - s) t x e_y,   m(1) = 0                (any rest shape)

in units of the rod's length L and its bending stiffness E I, with the gravito-bending number G = rho A g L^3 / (E I).
Both are solved by shooting from the free end, where the moment is zero: seen from there the rod's approach to the
vertical is a growth, which an integrator follows without loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import cos, exp, hypot, log, pi, sin

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, root

from mane.geometry import quaternion
from mane.strand.model import Float64Array

INTEGRATION = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-13}  # leaves the shapes good to better than 1e-8
FIRST_ROOT = 1.8751040687119611  # of cos(x) cosh(x) = -1: the first mode of a clamped-free beam
SAMPLES = 2001  # of a shape that is returned


@dataclass(frozen=True, eq=False)
class RodShape:
    """Equilibrium of a rod of length 1, clamped at the origin.

    Attributes:
        arc: arc length of the samples, 0 to 1, shape (P,).
        points: positions, shape (P, 3).
    """

    arc: Float64Array
    points: Float64Array

    def at(self, arc: Float64Array) -> Float64Array:
        """Positions at other arc lengths, shape (len(arc), 3); the samples are dense enough for straight lines."""
        return np.stack([np.interp(arc, self.arc, self.points[:, axis]) for axis in range(3)], axis=1)


@lru_cache(maxsize=64)
def elastica(gravity_number: float) -> tuple[float, float]:
    """Height and width, over the length, of a straight rod clamped horizontally that sags under its own weight."""

    # psi = pi/2 - theta is the angle off the vertical, r = 1 - s the distance from the tip: psi'' = G r sin(psi).
    def slope(r: float, y: Float64Array) -> tuple[float, ...]:
        return y[1], gravity_number * r * sin(y[0]), cos(y[0]), sin(y[0])

    def shoot(log_tip: float) -> Float64Array:
        return np.asarray(solve_ivp(slope, (0.0, 1.0), (exp(log_tip), 0.0, 0.0, 0.0), **INTEGRATION).y[:, -1])

    def miss(log_tip: float) -> float:
        return float(shoot(log_tip)[0] - pi / 2)

    # The tip is off the vertical by some exp(-2/3 sqrt(G)), 1e-9 at G = 1000; exp(-60) is enough up to 8000.
    _, _, height, width = shoot(brentq(miss, -60.0, log(pi / 2), xtol=1e-13, rtol=1e-14))
    return float(height), float(width)


@lru_cache(maxsize=16)
def kirchhoff_helix(curvature: float, torsion: float, gravity_number: float, twist_ratio: float) -> RodShape:
    """Equilibrium of a rod that is a helix with its axis pointing down without load, under its own weight.

    Args:
        curvature: of the rest shape, times the length.
        torsion: of the rest shape, times the length.
        gravity_number: G.
        twist_ratio: twisting over bending stiffness; infinity forbids twist, as the joints of a chain do.
    """
    clamp = helix_clamp(curvature, torsion)
    tip = quaternion.multiply(clamp, quaternion.exp(np.array([curvature, 0.0, torsion])))
    turn = np.zeros(3)  # of the tip against where it is without load
    for load in gravity_number * np.linspace(0.25, 1.0, 4):
        slope = _helix_slope(curvature, torsion, load, twist_ratio)

        def shoot(turn: Float64Array, slope=slope) -> Float64Array:  # type: ignore[no-untyped-def]
            start = np.concatenate([quaternion.multiply(quaternion.exp(turn), tip), np.zeros(6)])
            return np.asarray(solve_ivp(slope, (0.0, 1.0), start, **INTEGRATION).y[:, -1])

        def miss(turn: Float64Array) -> Float64Array:
            reached = quaternion.multiply(shoot(turn)[:4], quaternion.conjugate(clamp))
            missed: Float64Array = quaternion.log(reached)
            return missed

        found = root(miss, turn, tol=1e-10)
        turn = found.x
    if np.linalg.norm(miss(turn)) > 1e-8:
        raise ArithmeticError(f"the reference helix did not converge: {found.message}")
    start = np.concatenate([quaternion.multiply(quaternion.exp(turn), tip), np.zeros(6)])
    from_tip = np.linspace(0.0, 1.0, SAMPLES)
    path = solve_ivp(slope, (0.0, 1.0), start, t_eval=from_tip, **INTEGRATION).y[7:10, ::-1].T
    return RodShape(1.0 - from_tip[::-1], np.ascontiguousarray(path[0] - path))


def _helix_slope(curvature: float, torsion: float, load: float, twist_ratio: float):  # type: ignore[no-untyped-def]
    """Rates of frame (4), moment (3) and way back from the tip (3) per distance r from the tip."""
    twist_softness = 1.0 / twist_ratio

    def slope(r: float, y: Float64Array) -> list[float]:
        qx, qy, qz, qw, mx, my, mz = y[:7].tolist()
        xx, xy, xz = 1 - 2 * (qy * qy + qz * qz), 2 * (qx * qy + qz * qw), 2 * (qx * qz - qy * qw)
        yx, yy, yz = 2 * (qx * qy - qz * qw), 1 - 2 * (qx * qx + qz * qz), 2 * (qy * qz + qx * qw)
        tx, ty, tz = 2 * (qx * qz + qy * qw), 2 * (qy * qz - qx * qw), 1 - 2 * (qx * qx + qy * qy)
        # strain = rest + softness * moment, both along the axes of the frame, halved for the quaternion
        a = 0.5 * (curvature + xx * mx + xy * my + xz * mz)
        b = 0.5 * (yx * mx + yy * my + yz * mz)
        c = 0.5 * (torsion + twist_softness * (tx * mx + ty * my + tz * mz))
        weight = load * r
        return [
            -(qw * a + qy * c - qz * b),
            -(qw * b + qz * a - qx * c),
            -(qw * c + qx * b - qy * a),
            qx * a + qy * b + qz * c,
            weight * tz,
            0.0,
            -weight * tx,
            tx,
            ty,
            tz,
        ]

    return slope


def helix_points(curvature: float, torsion: float, arc: Float64Array) -> Float64Array:
    """Points, at `arc`, of a right-handed helix of length 1 down from the origin, shape (len(arc), 3)."""
    turn = hypot(curvature, torsion)
    radius, rise = curvature / turn**2, torsion / turn
    angle = turn * arc
    return np.stack([radius * (np.cos(angle) - 1.0), -rise * arc, radius * np.sin(angle)], axis=1)


def helix_clamp(curvature: float, torsion: float) -> Float64Array:
    """Frame at the start of `helix_points`, a quaternion: z the tangent, x the binormal about which the helix bends."""
    turn = hypot(curvature, torsion)
    tangent, normal = np.array([0.0, -torsion / turn, curvature / turn]), np.array([-1.0, 0.0, 0.0])
    # A turn about x carries z towards -y, so the normal of the curve is -y and x is the binormal.
    clamp: Float64Array = quaternion.from_matrix(np.stack([np.cross(tangent, normal), -normal, tangent], axis=1))
    return clamp


def clamped_beam_frequency(bend_stiffness: float, mass_per_length: float, length: float) -> float:
    """First bending frequency of a clamped-free beam [Hz] by Euler-Bernoulli theory."""
    return float(FIRST_ROOT**2 * np.sqrt(bend_stiffness / (mass_per_length * length**4)) / (2 * pi))


def beam_mode(fraction: Float64Array) -> Float64Array:
    """Shape of that oscillation at fractions of the length from the clamp; 1 at the tip."""
    b = FIRST_ROOT
    ratio = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    x = b * fraction
    shape = np.cosh(x) - np.cos(x) - ratio * (np.sinh(x) - np.sin(x))
    return np.asarray(shape / (np.cosh(b) - np.cos(b) - ratio * (np.sinh(b) - np.sin(b))))


def quarter_circle_deflection(force: float, radius: float, bend_stiffness: float, twist_stiffness: float) -> float:
    """How far [m] a small force across its plane moves the free end of a clamped quarter circle (Castigliano)."""
    bending = pi / 4 / bend_stiffness
    twisting = (3 * pi / 4 - 2) / twist_stiffness
    return float(force * radius**3 * (bending + twisting))

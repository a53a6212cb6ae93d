"""The hairline of the bust: a closed curve around the head, and how far any point is inside it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator
from scipy.spatial import cKDTree

from mane.body.bust_form import ear_frame
from mane.geometry.checks import FloatArray, as_floats

SKULL_CENTRE = np.array([0.0, 0.067, 0.0])  # the middle of the braincase [m]

# Places that the hairline passes on the left side (+x) [m], from the middle of the forehead to that of the nape. Only
# their directions from the skull's centre count; seen from above they go around it one way.
LANDMARKS = np.array([
    (0.000, 0.110, 0.084),  # a slight widow's peak
    (0.014, 0.114, 0.082),
    (0.030, 0.116, 0.074),
    (0.043, 0.113, 0.063),  # the corner of the forehead, where it recedes
    (0.051, 0.100, 0.057),
    (0.057, 0.082, 0.054),  # the temple comes forward again
    (0.062, 0.064, 0.052),
    (0.066, 0.046, 0.046),
    (0.067, 0.026, 0.040),
    (0.067, 0.008, 0.035),  # the sideburn
    (0.068, 0.004, 0.028),
    (0.069, 0.010, 0.022),
    (0.070, 0.032, 0.018),
    (0.072, 0.050, 0.012),  # over the ear
    (0.074, 0.058, 0.001),
    (0.074, 0.052, -0.012),
    (0.072, 0.034, -0.019),
    (0.069, 0.010, -0.022),  # down behind it
    (0.064, -0.012, -0.026),
    (0.052, -0.034, -0.042),  # the nape
    (0.030, -0.048, -0.058),
    (0.000, -0.052, -0.064),
])  # fmt: skip

CURVE_SAMPLES = 1440  # a quarter of a degree: half a millimetre on the head
EAR_CENTRE, EAR_RADII = (0.011, 0.005, 0.001), (0.007, 0.034, 0.019)  # (u, v, n) and radii along n, v, u [m]
EAR_BLEND = 0.006  # width over which the ear's edge of the scalp is rounded [m]


class Hairline:
    """Measures how far inside the hair-bearing skin a point of the head lies."""

    def distance(self, points: ArrayLike) -> FloatArray:
        """Distance along the skin to the nearest hairline [m], shape (P,): positive on the scalp, negative off it.

        Points (P, 3) [m] are judged by their direction from the skull's centre, so it does not matter whether they lie
        on the skin or above it; near the ears their place counts too, since the ears bear no hair.
        """
        positions = as_floats("points", points, ("P", 3)).astype(np.float64)
        offsets = positions - SKULL_CENTRE
        radius = np.maximum(np.linalg.norm(offsets, axis=1), 1e-9)
        directions = offsets / radius[:, None]
        angle = self._angle_to_curve(directions)
        inside = _polar(directions) < self._curve_polar(_azimuth(directions))
        from_curve = np.where(inside, angle, -angle) * radius
        return -_smooth_max(-from_curve, -_from_ears(positions)).astype(np.float32)

    @cached_property
    def _curve_polar(self) -> PchipInterpolator:
        """The angle of the hairline from straight up, by the angle around from the face [rad], even about zero."""
        directions = LANDMARKS - SKULL_CENTRE
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        around, down = _azimuth(directions), _polar(directions)
        return PchipInterpolator(
            np.concatenate([-around[:0:-1], around]), np.concatenate([down[:0:-1], down])
        )  # fmt: skip

    @cached_property
    def curve(self) -> NDArray[np.float64]:
        """Directions of the hairline from the skull's centre, in order around the head, shape (CURVE_SAMPLES, 3)."""
        around = np.linspace(-np.pi, np.pi, CURVE_SAMPLES, endpoint=False)
        down = self._curve_polar(around)
        return np.stack([np.sin(down) * np.sin(around), np.cos(down), np.sin(down) * np.cos(around)], axis=1)

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.curve)

    def _angle_to_curve(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Angle between directions and the nearest point of the hairline [rad], shape (P,)."""
        _, nearest = self._tree.query(directions)
        chord = np.full(len(directions), np.inf)
        for neighbour in (-1, 1):
            start, end = self.curve[nearest], self.curve[(nearest + neighbour) % CURVE_SAMPLES]
            along = end - start
            t = np.einsum("ij,ij->i", directions - start, along) / np.einsum("ij,ij->i", along, along)
            foot = start + np.clip(t, 0.0, 1.0)[:, None] * along
            chord = np.minimum(chord, np.linalg.norm(directions - foot, axis=1))
        return 2.0 * np.arcsin(np.minimum(0.5 * chord, 1.0))


def _azimuth(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angle around the vertical, 0 at the face, positive towards +x [rad]; the middle of the nape is +pi."""
    return np.arctan2(directions[:, 0], directions[:, 2])


def _polar(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angle from straight up [rad]."""
    return np.arccos(np.clip(directions[:, 1], -1.0, 1.0))


def _from_ears(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance to the flat ellipsoid around the nearer ear [m], shape (P,)."""
    frame = ear_frame()
    folded = positions.copy()
    folded[:, 0] = np.abs(folded[:, 0])
    local = (folded - np.array(frame.at(*EAR_CENTRE))) @ frame.axes.T / EAR_RADII
    reach = np.linalg.norm(local, axis=1)
    slope = np.linalg.norm(local / EAR_RADII, axis=1)
    result: NDArray[np.float64] = reach * (reach - 1.0) / np.maximum(slope, 1e-9)
    return result


def _smooth_max(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    h = np.maximum(EAR_BLEND - np.abs(a - b), 0.0) / EAR_BLEND
    return np.maximum(a, b) + h**3 * EAR_BLEND / 6.0

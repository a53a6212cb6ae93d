"""The form of the bust: a head with ears and a face with closed eyes, neck, shoulders and upper chest, in metres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from mane.body.implicit import Sculpture, Vector


def bust_form() -> Sculpture:
    """Model the bust about the pivot of the head: Y up, face towards +Z."""
    form = Sculpture()
    _skull(form)
    _jaw(form)
    _cheeks_and_brow(form)
    _neck(form)
    _torso(form)
    _mouth(form)
    _nose(form)
    _eyes(form)
    _ears(form)
    return form


def _on_face(form: Sculpture, places: Sequence[Vector]) -> list[Vector]:
    """The points of the face that are seen at each (x, y, lift) from the front, moved forward by `lift`."""
    x, y, lift = np.array(places).T
    hits = form.first_hits(np.stack([x, y, np.full_like(x, 0.16)], axis=1), (0.0, 0.0, -1.0))
    return [(float(hx), float(hy), float(hz + up)) for (hx, hy, hz), up in zip(hits, lift, strict=True)]


def _curve(points: Sequence[Vector], radii: Sequence[float], count: int) -> tuple[list[Vector], list[float]]:
    """`count` points and radii along a smooth curve through the given ones."""
    places = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    spline = CubicSpline(places, np.column_stack([points, radii]))
    rows = spline(np.linspace(0.0, places[-1], count))
    return [(float(x), float(y), float(z)) for x, y, z, _ in rows], [float(r) for r in rows[:, 3]]


def _skull(form: Sculpture) -> None:
    form.ellipsoid((0, 0.066, -0.020), (0.0755, 0.082, 0.073))
    form.ellipsoid((0, 0.068, 0.020), (0.0655, 0.076, 0.077), blend=0.04)
    form.ellipsoid((0, 0.030, -0.038), (0.055, 0.048, 0.046), blend=0.03)
    # The middle of the face, under the forehead.
    form.ellipsoid((0, 0.004, 0.030), (0.058, 0.078, 0.063), blend=0.025)


def _jaw(form: Sculpture) -> None:
    form.ellipsoid((0, -0.033, 0.045), (0.043, 0.040, 0.046), blend=0.025)
    points, radii = _curve(
        [(0.052, 0.010, 0.010), (0.0475, -0.022, 0.010), (0.040, -0.044, 0.028), (0.013, -0.066, 0.080)],
        [0.010, 0.010, 0.010, 0.010], 8,
    )  # fmt: skip
    form.tube(points, radii, blend=0.028, mirrored=True)
    form.ellipsoid((0, -0.063, 0.083), (0.018, 0.0145, 0.0155), blend=0.022)


def _cheeks_and_brow(form: Sculpture) -> None:
    form.tube(
        [(0.036, 0.010, 0.072), (0.051, 0.015, 0.052), (0.058, 0.019, 0.022)],
        [0.011, 0.010, 0.005], blend=0.028, mirrored=True,
    )  # fmt: skip
    form.ellipsoid((0.031, -0.008, 0.066), (0.022, 0.028, 0.022), blend=0.02, mirrored=True)
    form.tube(
        [(0.008, 0.055, 0.0885), (0.026, 0.0585, 0.0865), (0.044, 0.054, 0.0715), (0.054, 0.042, 0.052)],
        [0.007, 0.0065, 0.006, 0.004], blend=0.026, mirrored=True,
    )  # fmt: skip
    form.ellipsoid((0, 0.056, 0.085), (0.016, 0.016, 0.0125), blend=0.016)


def _neck(form: Sculpture) -> None:
    points, radii = _curve([(0, -0.005, -0.016), (0, -0.09, -0.024), (0, -0.17, -0.040)], [0.046, 0.045, 0.052], 7)
    form.tube(points, radii, blend=0.03)
    points, radii = _curve(
        [(0.044, -0.014, -0.014), (0.035, -0.08, 0.000), (0.012, -0.170, 0.010)], [0.008, 0.010, 0.006], 6
    )
    form.tube(points, radii, blend=0.022, mirrored=True)
    form.tube([(0, -0.075, 0.018), (0, -0.13, 0.004)], [0.018, 0.014], blend=0.02)


def _torso(form: Sculpture) -> None:
    form.ellipsoid((0, -0.230, -0.046), (0.165, 0.084, 0.064), blend=0.025)
    form.ellipsoid((0, -0.32, -0.040), (0.145, 0.170, 0.092), blend=0.025)
    form.tube(
        [(0.020, -0.11, -0.050), (0.065, -0.158, -0.054), (0.150, -0.190, -0.048)],
        [0.022, 0.025, 0.022], blend=0.035, mirrored=True,
    )  # fmt: skip
    form.ellipsoid((0.070, -0.265, 0.003), (0.065, 0.055, 0.036), blend=0.05, mirrored=True)
    form.tube([(0.160, -0.205, -0.044), (0.172, -0.32, -0.040)], [0.041, 0.038], blend=0.045, mirrored=True)
    points, radii = _curve(
        [(0.014, -0.176, 0.006), (0.070, -0.174, -0.002), (0.145, -0.172, -0.036)], [0.010, 0.008, 0.009], 7
    )
    form.tube(points, radii, blend=0.022, mirrored=True)
    form.plane((0, -0.285, 0), (0, -1, 0), blend=0.020)


def _eyes(form: Sculpture) -> None:
    form.ellipsoid((0.031, 0.036, 0.105), (0.018, 0.011, 0.016), "cut", blend=0.022, mirrored=True)
    form.ellipsoid((0.0315, 0.0315, 0.0738), (0.0162, 0.0136, 0.0134), blend=0.006, mirrored=True)
    line = [(0.0165, 0.0290), (0.0235, 0.0262), (0.0315, 0.0250), (0.0390, 0.0262), (0.0450, 0.0288)]
    fold = [(0.0190, 0.0370), (0.0260, 0.0405), (0.0340, 0.0405), (0.0415, 0.0375), (0.0455, 0.0345)]
    seam = _on_face(form, [(x, y, 0.0006) for x, y in line])
    crease = _on_face(form, [(x, y, 0.0012) for x, y in fold])
    points, radii = _curve(seam, [0.0010, 0.0016, 0.0016, 0.0016, 0.0010], 9)
    form.tube(points, radii, "cut", blend=0.005, mirrored=True)
    points, radii = _curve(crease, [0.0012, 0.0016, 0.0016, 0.0016, 0.0012], 9)
    form.tube(points, radii, "cut", blend=0.008, mirrored=True)


def _nose(form: Sculpture) -> None:
    form.ellipsoid((0, 0.012, 0.094), (0.0135, 0.026, 0.016), axes=_pitched(-18), blend=0.014)
    form.tube([(0, 0.046, 0.0895), (0, 0.024, 0.1035), (0, 0.0082, 0.1160)], [0.0068, 0.0062, 0.0074], blend=0.012)
    form.ellipsoid((0.0105, 0.0015, 0.1030), (0.0060, 0.0062, 0.0090), blend=0.009, mirrored=True)
    form.tube([(0, 0.005, 0.1120), (0, 0.0015, 0.0960)], [0.0035, 0.0045], blend=0.010)
    form.bump((0.0068, -0.0045, 0.1070), (0.0036, 0.0040, 0.0060), -0.0034, mirrored=True)


def _pitched(degrees: float) -> NDArray[np.float64]:
    """The axes of a shape turned about x; positive angles tip its top forward."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[1, 0, 0], [0, c, s], [0, -s, c]])


def _mouth(form: Sculpture) -> None:
    form.ellipsoid((0, -0.026, 0.078), (0.030, 0.027, 0.024), blend=0.02)
    upper = [
        (0.0250, -0.0310, -0.0030),
        (0.0155, -0.0288, -0.0018),
        (0.0055, -0.0260, -0.0019),
        (0.0, -0.0270, -0.0021),
    ]
    lower = [
        (0.0240, -0.0320, -0.0034),
        (0.0145, -0.0352, -0.0024),
        (0.0060, -0.0370, -0.0024),
        (0.0, -0.0372, -0.0024),
    ]
    line = [(0.0265, -0.0312, 0.0000), (0.0155, -0.0314, 0.0006), (0.0060, -0.0321, 0.0008), (0.0, -0.0314, 0.0008)]
    over, over_radii = _curve(_on_face(form, upper), [0.0022, 0.0032, 0.0038, 0.0035], 9)
    under, under_radii = _curve(_on_face(form, lower), [0.0022, 0.0038, 0.0048, 0.0050], 9)
    form.tube(over, over_radii, blend=0.007, mirrored=True)
    form.tube(under, under_radii, blend=0.007, mirrored=True)
    seam, seam_radii = _curve(_on_face(form, line), [0.0012, 0.0014, 0.0015, 0.0015], 9)
    form.tube(seam, seam_radii, "cut", blend=0.005, mirrored=True)
    form.bump((0.0280, -0.0318, 0.088), (0.006, 0.007, 0.012), -0.0020, mirrored=True)
    form.bump((0, -0.0155, 0.104), (0.0035, 0.008, 0.010), -0.0012)


@dataclass(frozen=True, eq=False)
class EarFrame:
    """The plane in which the left ear (+x) lies flat: `u` runs backwards and `v` up along it, `n` points out of it."""

    origin: NDArray[np.float64]
    back: NDArray[np.float64]
    up: NDArray[np.float64]
    out: NDArray[np.float64]

    @property
    def axes(self) -> NDArray[np.float64]:
        """The directions of n, v and u, as rows."""
        return np.stack([self.out, self.up, self.back])

    def at(self, u: float, v: float, n: float = 0.0) -> Vector:
        """The point with these coordinates [m]."""
        x, y, z = self.origin + u * self.back + v * self.up + n * self.out
        return (float(x), float(y), float(z))


def ear_frame() -> EarFrame:
    """The frame at the ear canal: leaned back, its rear edge flared off the head, its top spread outwards."""
    lean, flare, spread = np.radians([14.0, 24.0, 8.0])
    up = np.array([np.sin(spread), np.cos(lean), -np.sin(lean)])
    up /= np.linalg.norm(up)
    out = np.cross([np.sin(flare), 0.0, -np.cos(flare)], up)
    out /= np.linalg.norm(out)
    return EarFrame(np.array([0.0695, 0.018, 0.010]), np.cross(up, out), up, out)


def _ears(form: Sculpture) -> None:
    frame = ear_frame()

    def lump(place: Vector, radii: Vector, operation: str = "add", blend: float = 0.0) -> None:
        """An ellipsoid at (u, v, n) with radii along u, v and n."""
        along_axes = (radii[2], radii[1], radii[0])
        form.ellipsoid(
            frame.at(*place), along_axes, operation, blend=blend, axes=frame.axes, mirrored=True, part=True
        )  # fmt: skip

    def ridge(rows: Sequence[tuple[float, float, float, float]], count: int) -> None:
        """A tube through rows of u, v, n and radius."""
        points, radii = _curve([frame.at(u, v, n) for u, v, n, _ in rows], [r for *_, r in rows], count)
        form.tube(points, radii, blend=0.003, mirrored=True, part=True)

    # The plate, the lobe, and the wall that carries them.
    lump((0.011, 0.007, 0.001), (0.016, 0.028, 0.0032))
    lump((0.0055, -0.0155, 0.000), (0.0095, 0.0105, 0.0036), blend=0.006)
    lump((0.008, 0.002, -0.006), (0.011, 0.018, 0.009), blend=0.004)
    # The helix, from its root over the top and down to the lobe, and the antihelix inside it.
    ridge([
        (0.004, 0.003, 0.002, 0.0018), (-0.0025, 0.009, 0.0035, 0.0024), (-0.002, 0.024, 0.0035, 0.0028),
        (0.006, 0.0335, 0.0035, 0.0030), (0.016, 0.0335, 0.0035, 0.0031), (0.0240, 0.025, 0.0035, 0.0031),
        (0.0255, 0.010, 0.0035, 0.0028), (0.0205, -0.006, 0.003, 0.0027), (0.0130, -0.018, 0.001, 0.0027),
    ], 22)  # fmt: skip
    ridge([
        (0.010, 0.024, 0.002, 0.0020), (0.0155, 0.014, 0.003, 0.0030), (0.0165, 0.004, 0.003, 0.0031),
        (0.0125, -0.0075, 0.003, 0.0030), (0.0045, -0.0115, 0.0025, 0.0026),
    ], 10)  # fmt: skip
    # The concha in two hollows, and the tragus before it.
    lump((0.0065, 0.001, 0.0050), (0.0080, 0.0100, 0.0060), "cut", blend=0.003)
    lump((0.0030, 0.014, 0.0045), (0.0055, 0.0055, 0.0045), "cut", blend=0.003)
    lump((-0.0025, -0.002, 0.0030), (0.0030, 0.0050, 0.0035), blend=0.003)
    form.merge(blend=0.008)

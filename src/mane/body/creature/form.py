"""The form of the creature: a fox on four legs, as blended shapes around the bones of `anatomy.py`, in metres."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.creature.anatomy import EYE, EYE_RADIUS, LEFT_JOINTS, MIDDLE_JOINTS, NOSE, Vector
from mane.body.implicit import Sculpture


def creature_form() -> Sculpture:
    """Model the animal as it stands: Y up, facing +Z, paws on y = 0."""
    form = Sculpture(fold=0.004)
    _trunk(form)
    _neck(form)
    _head(form)
    _ears(form)
    _tail(form)
    _forelegs(form)
    _hindlegs(form)
    form.plane((0, 0, 0), (0, -1, 0), blend=0.006)
    return form


def _joint(name: str) -> Vector:
    """Where a joint is; those of a side on the left."""
    return LEFT_JOINTS[name][1] if name in LEFT_JOINTS else MIDDLE_JOINTS[name][1]


def _pitched(degrees: float) -> NDArray[np.float64]:
    """The axes of a shape turned about x; positive angles tip its top forward."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[1, 0, 0], [0, c, s], [0, -s, c]])


def _trunk(form: Sculpture) -> None:
    # The barrel of the ribs, deeper than wide, the loin that is tucked up behind it, and the rump.
    form.ellipsoid((0, 0.318, 0.062), (0.070, 0.086, 0.138), axes=_pitched(6))
    form.ellipsoid((0, 0.334, -0.075), (0.061, 0.067, 0.130), blend=0.07)
    form.ellipsoid((0, 0.340, -0.190), (0.063, 0.068, 0.085), blend=0.05)
    # The withers over the shoulder blades, and the breast with its keel between the forelegs.
    form.ellipsoid((0, 0.372, 0.105), (0.040, 0.040, 0.085), blend=0.04)
    form.ellipsoid((0, 0.318, 0.145), (0.046, 0.060, 0.052), blend=0.05)
    form.ellipsoid((0, 0.262, 0.105), (0.032, 0.044, 0.070), blend=0.05)


def _neck(form: Sculpture) -> None:
    form.tube(
        [(0, 0.338, 0.125), (0, 0.376, 0.182), (0, 0.424, 0.232), (0, 0.464, 0.280)],
        [0.066, 0.060, 0.051, 0.044], blend=0.045,
    )  # fmt: skip


def _head(form: Sculpture) -> None:
    form.ellipsoid((0, 0.481, 0.302), (0.051, 0.046, 0.058), blend=0.025)
    # Broad cheeks and a brow that falls steeply to a narrow muzzle are what makes it a fox.
    form.ellipsoid((0.033, 0.464, 0.312), (0.029, 0.029, 0.040), blend=0.022, mirrored=True)
    form.ellipsoid((0, 0.496, 0.328), (0.034, 0.025, 0.034), blend=0.02)
    form.tube([(0, 0.471, 0.340), (0, 0.462, 0.388), (0, 0.457, 0.428)], [0.031, 0.0205, 0.0150], blend=0.022)
    form.tube([(0, 0.446, 0.335), (0, 0.442, 0.385), (0, 0.4415, 0.418)], [0.020, 0.0130, 0.0090], blend=0.012)
    form.ellipsoid(NOSE, (0.0115, 0.0085, 0.0070), blend=0.006)
    form.ellipsoid((0.032, 0.492, 0.360), (0.012, 0.009, 0.016), "cut", blend=0.016, mirrored=True)
    form.ellipsoid(EYE, (EYE_RADIUS, EYE_RADIUS, EYE_RADIUS), blend=0.004, mirrored=True)


def _ears(form: Sculpture) -> None:
    """Upright triangles, hollow in front: two edges that meet in the tip, and the plate between them."""
    tip: Vector = (0.055, 0.585, 0.286)
    inner: Vector = (0.014, 0.520, 0.300)
    outer: Vector = (0.054, 0.496, 0.288)
    form.tube([inner, tip], [0.0105, 0.0045], blend=0.010, mirrored=True, part=True)
    form.tube([outer, tip], [0.0120, 0.0045], blend=0.010, mirrored=True, part=True)
    form.tube([(0.035, 0.506, 0.289), (0.049, 0.564, 0.285)], [0.0175, 0.0080], blend=0.010, mirrored=True, part=True)
    form.ellipsoid(
        (0.042, 0.540, 0.307), (0.0140, 0.032, 0.0140), "cut", blend=0.008, axes=_leaned(12), mirrored=True, part=True
    )  # fmt: skip
    form.merge(blend=0.014)


def _leaned(degrees: float) -> NDArray[np.float64]:
    """The axes of a shape turned about z; positive angles lean its top out to the left."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def _tail(form: Sculpture) -> None:
    points = [(0.0, 0.362, -0.215), *(_joint(f"tail_{k}") for k in range(1, 6)), (0.0, 0.230, -0.628)]
    form.tube(points, [0.036, 0.027, 0.024, 0.025, 0.027, 0.024, 0.011], blend=0.03)


def _forelegs(form: Sculpture) -> None:
    shoulder, elbow, wrist, paw = (_joint(name) for name in ("shoulder", "elbow", "wrist", "forepaw"))
    form.tube([_joint("scapula"), shoulder], [0.024, 0.031], blend=0.05, mirrored=True)
    form.tube([shoulder, elbow], [0.031, 0.0255], blend=0.045, mirrored=True)
    below = [(0.058, 0.165, 0.099), wrist, (0.057, 0.040, 0.116)]
    form.tube([elbow, *below], [0.0245, 0.0200, 0.0162, 0.0165], blend=0.02, mirrored=True)
    _paw(form, paw)


def _hindlegs(form: Sculpture) -> None:
    hip, knee, hock, paw = (_joint(name) for name in ("hip", "knee", "hock", "hindpaw"))
    form.tube([(hip[0], hip[1] - 0.015, hip[2]), knee], [0.054, 0.035], blend=0.045, mirrored=True)
    form.tube([knee, (0.059, 0.172, -0.190), hock], [0.034, 0.0240, 0.0150], blend=0.025, mirrored=True)
    form.tube([hock, (0.0565, 0.040, -0.226)], [0.0160, 0.0165], blend=0.014, mirrored=True)
    _paw(form, paw)


def _paw(form: Sculpture, joint: Vector) -> None:
    """A paw on the ground with four toes, its knuckles under the joint."""
    x, _, z = joint
    form.ellipsoid((x, 0.016, z + 0.012), (0.0205, 0.0190, 0.0310), blend=0.014, mirrored=True)
    for across, ahead in ((-0.0135, 0.028), (-0.0048, 0.037), (0.0048, 0.037), (0.0135, 0.028)):
        form.ellipsoid((x + across, 0.0115, z + ahead), (0.0062, 0.0105, 0.0120), blend=0.006, mirrored=True)

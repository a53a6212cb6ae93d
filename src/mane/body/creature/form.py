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
    form.ellipsoid((0, 0.318, 0.070), (0.073, 0.088, 0.140), axes=_pitched(6))
    form.ellipsoid((0, 0.338, -0.070), (0.061, 0.064, 0.130), blend=0.07)
    form.ellipsoid((0, 0.338, -0.190), (0.067, 0.072, 0.088), blend=0.05)
    # The withers over the shoulder blades and the breast between the shoulders.
    form.ellipsoid((0, 0.372, 0.105), (0.040, 0.040, 0.085), blend=0.04)
    form.ellipsoid((0, 0.305, 0.150), (0.052, 0.062, 0.055), blend=0.04)


def _neck(form: Sculpture) -> None:
    form.tube(
        [(0, 0.338, 0.130), (0, 0.378, 0.188), (0, 0.430, 0.240), (0, 0.476, 0.290)],
        [0.066, 0.060, 0.051, 0.044], blend=0.045,
    )  # fmt: skip


def _head(form: Sculpture) -> None:
    form.ellipsoid((0, 0.492, 0.312), (0.051, 0.046, 0.058), blend=0.025)
    # Broad cheeks and a brow that falls steeply to a narrow muzzle are what makes it a fox.
    form.ellipsoid((0.033, 0.476, 0.322), (0.029, 0.028, 0.040), blend=0.022, mirrored=True)
    form.ellipsoid((0, 0.506, 0.338), (0.034, 0.026, 0.036), blend=0.02)
    form.tube(
        [(0, 0.482, 0.355), (0, 0.473, 0.405), (0, 0.466, 0.452)], [0.030, 0.0195, 0.0140], blend=0.022,
    )  # fmt: skip
    form.tube([(0, 0.458, 0.345), (0, 0.453, 0.400), (0, 0.4515, 0.440)], [0.020, 0.0125, 0.0085], blend=0.012)
    form.ellipsoid(NOSE, (0.0105, 0.0085, 0.0100), blend=0.004)
    form.ellipsoid((0.033, 0.505, 0.372), (0.013, 0.011, 0.016), "cut", blend=0.014, mirrored=True)
    form.ellipsoid(EYE, (EYE_RADIUS, EYE_RADIUS, EYE_RADIUS), blend=0.003, mirrored=True)


def _ears(form: Sculpture) -> None:
    """Upright triangles, hollow in front: two edges that meet in the tip, and the plate between them."""
    tip: Vector = (0.053, 0.603, 0.296)
    inner: Vector = (0.016, 0.530, 0.312)
    outer: Vector = (0.052, 0.508, 0.300)
    form.tube([inner, tip], [0.0105, 0.0042], blend=0.010, mirrored=True, part=True)
    form.tube([outer, tip], [0.0120, 0.0042], blend=0.010, mirrored=True, part=True)
    form.tube([(0.035, 0.518, 0.300), (0.047, 0.580, 0.295)], [0.0165, 0.0075], blend=0.010, mirrored=True, part=True)
    form.ellipsoid(
        (0.042, 0.554, 0.317), (0.0125, 0.034, 0.0140), "cut", blend=0.008, axes=_leaned(12), mirrored=True, part=True
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
    form.tube([_joint("scapula"), shoulder], [0.026, 0.036], blend=0.045, mirrored=True)
    form.tube([shoulder, elbow], [0.036, 0.027], blend=0.040, mirrored=True)
    middle = (0.060, 0.165, 0.103)
    form.tube(
        [elbow, middle, wrist, (0.058, 0.040, 0.120)], [0.0255, 0.0205, 0.0165, 0.0165], blend=0.02, mirrored=True
    )
    _paw(form, paw)


def _hindlegs(form: Sculpture) -> None:
    hip, knee, hock, paw = (_joint(name) for name in ("hip", "knee", "hock", "hindpaw"))
    form.tube([(hip[0], hip[1] - 0.015, hip[2]), knee], [0.057, 0.036], blend=0.045, mirrored=True)
    form.tube([knee, (0.061, 0.170, -0.178), hock], [0.035, 0.0245, 0.0150], blend=0.025, mirrored=True)
    form.tube([hock, (0.0565, 0.040, -0.215)], [0.0160, 0.0165], blend=0.014, mirrored=True)
    _paw(form, paw)


def _paw(form: Sculpture, joint: Vector) -> None:
    """A paw on the ground with four toes, its knuckles under the joint."""
    x, _, z = joint
    form.ellipsoid((x, 0.016, z + 0.012), (0.0205, 0.0190, 0.0310), blend=0.014, mirrored=True)
    for across, ahead in ((-0.0135, 0.028), (-0.0048, 0.037), (0.0048, 0.037), (0.0135, 0.028)):
        form.ellipsoid((x + across, 0.0115, z + ahead), (0.0062, 0.0105, 0.0120), blend=0.006, mirrored=True)

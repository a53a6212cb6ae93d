"""What each part of the physical skin is there for: the same recordings with that part changed or left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.groom import styles
from mane.measure.study_skin import SCENES, Carry, Recording, SkinScene, physical
from mane.strand.frame import GuideFrame

CURLY = SCENES[0]
# Where there is no weight, hair follows its root unless the drift correction pulls it to its guides (fig. 12).
WEIGHTLESS = replace(CURLY, name="weightless (fig. 12)", gravity=(0.0, 0.0, 0.0))

Make = Callable[[Recording], Carry]


def _projected(recording: Recording) -> Carry:
    """Push every vertex that is inside the body straight out of it, the plain way."""
    skin, body = physical(recording), Solid(styles.body(recording.scene.style))

    def carry(frame: GuideFrame) -> FloatArray:
        points = skin(frame)
        local = frame.head.inverse_apply(points.reshape(-1, 3))
        depth, outwards = body.distance_and_gradient(local)
        inside = depth < 0
        local[inside] -= depth[inside, None] * outwards[inside]
        projected: FloatArray = frame.head.apply(local).astype(points.dtype).reshape(points.shape)
        return projected

    return carry


def _alphas() -> dict[str, Make]:
    return {f"alpha {alpha}": partial(physical, alpha=alpha) for alpha in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)}


# scene -> variants by name
ABLATIONS: dict[SkinScene, dict[str, Make]] = {
    WEIGHTLESS: _alphas(),
    CURLY: {
        **_alphas(),
        "length as printed in eq. 12 and 23": partial(physical, stretch="paper"),
        "not sag-free": partial(physical, sag_free=False),
        "penetration projected (fig. 13)": _projected,
    },
}

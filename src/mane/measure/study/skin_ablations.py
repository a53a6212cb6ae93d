"""What each part of the physical skin is there for: the same recordings with that part changed or left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.measure.study.skin import SCENES, Carry, Recording, SkinScene, physical
from mane.skin.finish.passes import SolidAdjustment
from mane.strand.frame import GuideFrame

CURLY = SCENES[0]
# Where there is no weight, hair follows its root unless something ties it to its guides (fig. 12).
WEIGHTLESS = replace(CURLY, name="weightless (fig. 12)", gravity=(0.0, 0.0, 0.0))
# Hair over shoulders and ears that the head is turned against.
OVER_SHOULDERS = replace(SCENES[3], name="over shoulders (fig. 13)", motion="turn")

Make = Callable[[Recording], Carry]


def with_body(frame: GuideFrame) -> GuideFrame:
    """Return the frame with the pose of the body alone, whatever solids the simulation had."""
    return replace(frame, solid_poses=(frame.head,))


def _body(recording: Recording) -> Solid:
    body = recording.scene.make_body()
    assert body is not None
    return Solid(body)


def _projected(recording: Recording) -> Carry:
    """Push every vertex that is inside the body straight out of it, the plain way."""
    skin, body = physical(recording), _body(recording)

    def carry(frame: GuideFrame) -> FloatArray:
        points = skin(frame)
        local = frame.head.inverse_apply(points.reshape(-1, 3))
        depth, outwards = body.distance_and_gradient(local)
        inside = depth < 0
        local[inside] -= depth[inside, None] * outwards[inside]
        projected: FloatArray = frame.head.apply(local).astype(points.dtype).reshape(points.shape)
        return projected

    return carry


def _turned_out(recording: Recording, **settings: Any) -> Carry:
    """Turn segments out of the body by the penetration energy (hsu2024 4.2)."""
    skin = physical(recording, solids=[_body(recording)], **settings)
    return lambda frame: skin(with_body(frame))


def _adjusted(recording: Recording) -> Carry:
    """Push hairs out of the body from root to tip, lengths kept (chang2002 5.1)."""
    skin, adjust = physical(recording), SolidAdjustment([_body(recording)])
    return lambda frame: adjust(skin(frame), with_body(frame))


def _alphas(**settings: Any) -> dict[str, Make]:
    name = "".join(f", {value} alone" for value in settings.values())
    return {
        f"alpha {alpha}{name}": partial(physical, alpha=alpha, **settings) for alpha in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
    }


# scene -> variants by name. Further sweeps, and the frame before as a start, find the moments by themselves; they are
# to be compared with one sweep of the same forces.
ABLATIONS: Mapping[SkinScene, Mapping[str, Make]] = {
    WEIGHTLESS: {**_alphas(), **_alphas(load="force")},
    CURLY: {
        **_alphas(),
        "as it is": physical,
        "force alone": partial(physical, load="force"),
        "force alone, blows too": partial(physical, load="force", largest_force=1e6),
        "force alone, 2 sweeps": partial(physical, sweeps=2),
        "force alone, 8 sweeps": partial(physical, sweeps=8),
        "force alone, converged": partial(physical, sweeps="converged"),
        "force alone, from the frame before": partial(physical, warm_start="previous"),
        "eq. 12 as printed": partial(physical, stretch="paper"),
        "eq. 22 as printed": partial(physical, drift_from="unloaded"),
        "not sag-free": partial(physical, sag_free=False),
    },
    OVER_SHOULDERS: {
        "left alone": physical,
        "projected": _projected,
        "penetration energy x 0.5": partial(_turned_out, penetration=0.5),
        "penetration energy": _turned_out,
        "penetration energy x 3": partial(_turned_out, penetration=3.0),
        "penetration energy, forces alone": partial(_turned_out, load="force"),
        "penetration energy, 4 sweeps": partial(_turned_out, sweeps=4),
        "penetration energy, converged": partial(_turned_out, sweeps="converged"),
        "adjusted from root to tip": _adjusted,
    },
}

"""Scenes of hair that solids part, after the figures of chai2017."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Motion, Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.props import make_comb, make_gears, make_hand, make_horse, make_moving_hand, make_rod, make_urchin
from mane.body.solid import Solid
from mane.geometry import quaternion

KEYS_OF_GEARS = 57  # 40 per second
# [s, m]: gears come up into the hair, stay, and go down again; their middle is below the ball.
LIFT = ((0.0, -0.30), (0.4, -0.155), (1.0, -0.155), (1.4, -0.30))
FASTEST_GEAR = 4.0  # [rad/s]
# [s, m]: the wrist of a hand that goes through the hair beside the face.
HAND_ROWS = ((0.0, 0.42, -0.04, 0.12), (0.3, 0.278, -0.04, 0.09), (1.1, 0.274, -0.06, -0.08), (1.4, 0.42, -0.06, -0.2))
CURLS = ((0.0, 0.1), (0.3, 0.1), (0.7, 0.5), (1.0, 0.2), (1.4, 0.1))  # [s], and how far fingers are closed
SPREAD = 0.15  # [rad]
DIGESTED_TIMES = 15
TURNED = 0.15  # [rad] by which a head turns about among the teeth of a comb that goes its own way
HORSE_TOP = -0.22  # [m] its hooves where its back is highest


def _upright(angle: float) -> NDArray[np.float64]:
    return quaternion.from_axis_angle(np.array([0.0, 0.0, 1.0]), angle)


def _keyed(rows: Sequence[Sequence[float]], rotation: NDArray[np.float64]) -> KeyframedMotion:
    keys = np.array(rows)
    return KeyframedMotion(keys[:, 0], keys[:, 1:], np.tile(rotation, (len(keys), 1)))


def comb_through() -> list[Solid]:
    """A comb whose teeth point at the head goes through the hair beside the face, to the back."""
    rows = [[0.0, 0.3, -0.02, 0.14], [0.3, 0.15, -0.02, 0.10], [1.1, 0.145, -0.04, -0.10], [1.4, 0.25, -0.05, -0.24]]
    return [make_comb().solid(_keyed(rows, _upright(-0.5 * np.pi)))]


def rod_through() -> list[Solid]:
    """A thin rod that points at the head lifts hair beside the face and lets it fall (chai2017 fig. 6)."""
    rows = [[0.0, 0.30, -0.14, 0.02], [0.3, 0.18, -0.14, 0.02], [0.8, 0.18, 0.0, -0.02], [1.1, 0.40, 0.02, -0.02]]
    return [make_rod(length=0.2, radius=0.003).solid(_keyed(rows, np.array([0.0, 0.0, 0.0, 1.0])))]


def hand_through() -> list[Solid]:
    """A hand with spread fingers goes through the hair beside the face, to the back."""
    return [make_hand(curl=0.1, spread=SPREAD).solid(_keyed(HAND_ROWS, _upright(-0.5 * np.pi)))]


def fingers_through() -> list[Solid]:
    """The same hand, whose fingers close in the hair and open again: palm and fifteen bones."""
    motion = _keyed(HAND_ROWS, _upright(-0.5 * np.pi))
    times, curls = np.array(CURLS).T
    return make_moving_hand(times, curls, motion, spread=SPREAD)


def urchin_below() -> list[Solid]:
    """A spiky ball comes up into a ball of hair and goes away again (chai2017 fig. 12)."""
    rows = [[0.0, 0.0, -0.26, 0.0], [0.4, 0.01, -0.155, 0.0], [0.9, -0.02, -0.155, 0.01], [1.3, 0.0, -0.30, 0.0]]
    return [make_urchin().solid(_keyed(rows, np.array([0.0, 0.0, 0.0, 1.0])))]


def horse_below() -> list[Solid]:
    """A smooth little horse comes up under a ball of hair, which comes to lie on its back (chai2017 fig. 12)."""
    rows = [[0.0, 0.0, -0.36, 0.0], [0.4, 0.0, HORSE_TOP, 0.0], [0.9, -0.01, HORSE_TOP, 0.02], [1.3, 0.0, -0.38, 0.0]]
    return [make_horse().solid(_keyed(rows, np.array([0.0, 0.0, 0.0, 1.0])))]


def gears_below() -> list[Solid]:
    """A train of gears that lies flat comes up into a ball of hair, turning now faster, now slower (chai2017 7.3)."""
    flat = Pose(np.zeros(3), quaternion.from_axis_angle(np.array([1.0, 0.0, 0.0]), -0.5 * np.pi))
    train = make_gears(teeth=(20, 17, 24), speed=FASTEST_GEAR, pose=flat)
    return [gear.solid(_lifted(gear.motion)) for gear in train if gear.motion is not None]


def _lifted(spin: Motion) -> KeyframedMotion:
    """A gear of a train, lifted; all of a train turn by the same clock, so that their teeth stay in step."""
    times = np.linspace(0.0, LIFT[-1][0], KEYS_OF_GEARS)
    height = np.interp(times, *np.array(LIFT).T)
    poses = [spin.pose(float(t + 0.12 * np.sin(6.0 * t))) for t in times]
    middle = np.array([-0.08, 0.0, 0.0])
    places = np.array([pose.position + middle + [0.0, y, 0.0] for pose, y in zip(poses, height, strict=True)])
    return KeyframedMotion(times, places, np.array([pose.rotation for pose in poses]))


@dataclass(frozen=True, eq=False)
class PartingScene:
    """A head of hair and what goes through it.

    Attributes:
        name: for people, with the paper's figure that it follows.
        style: of `mane.groom.styles`.
        solids: makes what goes through it, with its motion.
        seconds: how long it takes [s].
        options: of the style.
        model: strand model of guides and truth.
        strand: its settings.
        head: motion of the head by name, with its settings; none of it is learned from.
        shown: times of the pictures [s].
        view: direction that they are seen from.
    """

    name: str
    style: str
    solids: Callable[[], list[Solid]]
    seconds: float
    options: Mapping[str, Any] = field(default_factory=dict)
    model: str = "cosserat"
    strand: Mapping[str, Any] = field(default_factory=dict)
    head: tuple[str, Mapping[str, Any]] = ("still", {})
    shown: tuple[float, ...] = (0.6, 0.9)
    view: tuple[float, float, float] = (1.0, 0.1, 0.35)

    def digest(self) -> str:
        """Text that is another one where the hair, its strands, or the shape or way of a solid are."""
        hair = (self.style, self.seconds, self.options, self.model, self.strand, self.head)
        key = hashlib.sha256(repr(hair).encode())
        for solid in self.solids():
            for time in np.linspace(0.0, self.seconds, DIGESTED_TIMES):
                key.update(np.ascontiguousarray(solid.at(float(time)).mesh().points, np.float32).tobytes())
        return key.hexdigest()[:16]


COMB = PartingScene("comb through straight hair (fig. 13)", "straight", comb_through, 1.5)
TURNING = replace(
    COMB,
    name="comb through straight hair of a head that turns",
    head=("random", {"seed": 31, "amplitude": TURNED, "ease_in": 0.3}),
)
CURLY_COMB = PartingScene("comb through curly hair (fig. 13)", "curly", comb_through, 1.5)
ROD = PartingScene("a rod lifts hair and lets it fall (fig. 6)", "straight", rod_through, 1.6, shown=(0.7, 1.4))
HAND = PartingScene("hand through straight hair (fig. 13)", "straight", hand_through, 1.5)
FINGERS = PartingScene("hand whose fingers move, through straight hair (fig. 13)", "straight", fingers_through, 1.5)
URCHIN = PartingScene(
    "hairy ball on a spiky toy (fig. 12)",
    "ball",
    urchin_below,
    1.4,
    options={"length": 0.12},
    shown=(0.6, 1.2),
    view=(0.3, 0.0, 1.0),
)
HORSE = replace(URCHIN, name="hairy ball on a smooth toy (fig. 12)", solids=horse_below)
GEARS = PartingScene(
    "hair on gears that turn (section 7.3)",
    "ball",
    gears_below,
    1.4,
    options={"length": 0.14},
    shown=(0.6, 1.0),
    view=(0.3, 0.35, 1.0),
)
CURLY_HAND = PartingScene("hand through curly hair (fig. 13)", "curly", hand_through, 1.5)
# chai2017 table 1: straight and wavy hair, curls with the numbers of the wavy ones. No joint is stiffened to hold the
# groom, so hair sags.
STRAIGHT_SPRINGS, WAVY_SPRINGS = ({"preset": f"chai2017_{name}", "sag_free": False} for name in ("straight", "wavy"))
TABLE_1 = (
    replace(COMB, name="comb, straight hair of table 1", model="spring", strand=STRAIGHT_SPRINGS),
    replace(CURLY_COMB, name="comb, curls with table 1's wavy hair", model="spring", strand=WAVY_SPRINGS),
    replace(HAND, name="hand, straight hair of table 1", model="spring", strand=STRAIGHT_SPRINGS),
    replace(CURLY_HAND, name="hand, curls with table 1's wavy hair", model="spring", strand=WAVY_SPRINGS),
)

"""chang2002 7.3, figure 10: short hair in a wind whose strength and direction change.

Twice: in air that is a fluid, with the head as a wall and the hair as a porous medium, and in a given wind that head
and hair keep away (shelters), which does not feel them. Guides hold together by links and collide by strips.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from mane.contact.air.airflow import Airflow
from mane.contact.air.shelter import HairShelter, SolidShelter
from mane.contact.links.links import StaticLinks
from mane.contact.strips.strips import TriangleStrips
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.select import select_guides
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.render.camera import Camera
from mane.render.looks import LOOKS
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.scene.simulation import LOCK_DRAG, Simulation
from mane.skin.finish.passes import HermiteSubdivision, SolidAdjustment
from mane.skin.linear.skin import LinearSkin
from mane.strand.model import Float64Array

GUIDES, SEGMENTS, STRANDS = 200, 15, 12_000
STYLE = "bob"
CELL = 0.025  # [m] of the air
AIRS = {"fluid": "air that feels the hair", "shelters": "wind that is given"}
STRENGTH = 7.0  # [m/s] at most
GUST_PERIOD, TURN_PERIOD = 1.6, 3.2  # [s] of the strength and of the direction
LARGEST_ANGLE = math.radians(70)  # of the direction to either side of the front
FRAME_RATE = 24.0
SECONDS = 3.2
SHOWN = (0.1, 0.8, 1.2, 2.4, 3.0)  # [s]
SIZE = (300, 340)
ARTISTIC = replace(LOOKS["dark_brown"], translucency=0.9)  # 7.5: more translucent, more specular


def run(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Let the wind blow, as a fluid and as a given wind with shelters, and measure how far hair follows it."""
    strands, seconds = (400, 0.25) if quick else (STRANDS, SECONDS)
    groom = styles.make(STYLE, strands=strands, vertices=SEGMENTS + 1, seed=1)
    guides = select_guides(groom, 20 if quick else GUIDES, seed=1)
    body = styles.body(STYLE)
    size = (90, 100) if quick else SIZE
    everything = np.concatenate([body.points, groom.points])
    camera = Camera.framing(everything, (0.6, 0.15, 1.0), aspect=size[0] / size[1], margin=0.02)
    cases: dict[str, dict[str, Any]] = {
        "fluid": {"air": Airflow(_wind, cell=0.05 if quick else CELL, scale=LOCK_DRAG, guides=guides)},
        "shelters": {"wind": _wind, "shelters": [SolidShelter(), HairShelter()]},
    }
    for number, (case, settings) in enumerate(cases.items()):
        simulation = Simulation(
            guides,
            "chain",
            body=body,
            forces=[StaticLinks(), TriangleStrips(neighbours="horizontal")],
            frame_rate=FRAME_RATE,
            **settings,
        )

        def told(text: str, done: float, case: str = case, number: int = number) -> None:
            tell(f"{text}, {case}", (number + done) / len(cases))

        _blow(report, case, simulation, LinearSkin(groom, guides), camera, size, seconds, told)
    report.note(
        "In the first rows the air is a fluid that flows around the head and through the hair, feels it and slows "
        "down; in the others the wind is given, and head and hair keep it away without its feeling them."
    )
    tell("done", 1.0)


def _blow(
    report: Report,
    case: str,
    simulation: Simulation,
    skin: LinearSkin,
    camera: Camera,
    size: tuple[int, int],
    seconds: float,
    tell: ProgressCallback,
) -> None:
    """Simulate one kind of air, draw it and add its figures."""
    rest = simulation.frame.points.astype(np.float64)
    tips, speeds, pictures, artistic, captions = [], [], [], [], []
    adjust, smooth = SolidAdjustment(simulation.solids), HermiteSubdivision(levels=1)
    body = simulation.solids[0].mesh
    frames = round(seconds * FRAME_RATE)
    shown_at = {min(round(time * FRAME_RATE), frames) for time in SHOWN}
    for number in range(1, frames + 1):
        tell("simulating", 0.95 * number / frames)
        frame = simulation.step()
        tips.append(frame.points[:, -1].astype(np.float64) - rest[:, -1])
        speeds.append(float(np.linalg.norm(air(frame.time))))
        if number in shown_at:
            hair = Groom.from_uniform(smooth(adjust(skin(frame), frame), frame).copy())
            pictures.append(render(hair, body, camera=camera, size=size, look=LOOKS["dark_brown"]))
            artistic.append(render(hair, body, camera=camera, size=size, look=ARTISTIC))
            captions.append(f"{frame.time:.2g} s: {_wind_text(frame.time)}")
    _add_figures(report, case, np.array(tips), np.array(speeds), rest)
    title = f"Short hair in a changing wind, {AIRS[case]}, after figure 10"
    report.picture(f"wind_{case}", side_by_side(pictures, captions, title=title), title)
    title = f"The same with more translucency and gloss (7.5), {AIRS[case]}, after figure 10, bottom"
    report.picture(f"artistic_{case}", side_by_side(artistic, captions, title=title), title)


def _wind(points: Float64Array, time: float) -> Float64Array:
    return np.broadcast_to(air(time), points.shape)


def air(time: float) -> Float64Array:
    """Velocity of the air at `time` [m/s], shape (3,): it swells and turns, from the front at first."""
    strength = STRENGTH * 0.5 * (1.0 - math.cos(2 * math.pi * time / GUST_PERIOD))
    angle = LARGEST_ANGLE * math.sin(2 * math.pi * time / TURN_PERIOD)
    return strength * np.array([math.sin(angle), 0.0, -math.cos(angle)])


def _wind_text(time: float) -> str:
    velocity = air(time)
    speed = float(np.linalg.norm(velocity))
    side = "left" if velocity[0] < 0 else "right"
    return f"{speed:.2g} m/s" + (f" from the front, {side}" if speed > 0.5 else "")


def _add_figures(report: Report, case: str, tips: Float64Array, speeds: Float64Array, rest: Float64Array) -> None:
    """How far tips are blown, when the wind is strong and when it is not, in front and behind."""
    moved = np.linalg.norm(tips, axis=2)
    strong, weak = speeds > 0.75 * STRENGTH, speeds < 0.25 * STRENGTH
    front = rest[:, 0, 2] > np.median(rest[:, 0, 2])
    report.add(
        f"{case}: wind above three quarters", "mean displacement of the tips", 1e3 * float(_mean(moved[strong])), "mm"
    )
    report.add(f"{case}: wind below a quarter", "mean displacement of the tips", 1e3 * float(_mean(moved[weak])), "mm")
    report.add(f"{case}: rooted in front", "mean displacement of the tips", 1e3 * float(moved[:, front].mean()), "mm")
    report.add(
        f"{case}: rooted behind, in the lee",
        "mean displacement of the tips",
        1e3 * float(moved[:, ~front].mean()),
        "mm",
    )


def _mean(values: Float64Array) -> float:
    return float(values.mean()) if values.size else 0.0

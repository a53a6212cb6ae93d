"""chang2002 7.4, figure 7: a sphere ploughs through a brush, and the bristles settle behind it.

The same brush three times: bristles that know nothing of each other, bristles that collide (the wisp model), and with
strips between neighbours. Settled is a brush whose kinetic energy stays below a thousandth of the most it had, calmer
one that stays below a tenth. The paper says that bristles which collide settle much faster; here that is a number: in
half the time. There is no air, which would calm bristles whether they meet or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mane.body.motion_keys import KeyframedMotion
from mane.body.shapes import Box, Sphere
from mane.body.solid import Solid
from mane.contact.strips.strips import TriangleStrips, WispCollisions
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.measure.pictures import draw_row, locks, stack_rows
from mane.measure.reproduce.reproduce import Done, ProgressCallback, Report, task_of
from mane.render.camera import Camera
from mane.scene.simulation import Simulation
from mane.strand.material import Material
from mane.strand.model import Float64Array
from mane.strand.ports import Part

SIDE = 12  # bristles along each edge
SPACING = 0.008  # [m]
LENGTH, SEGMENTS = 0.1, 12
BRISTLE = Material(radius=1e-4)  # nylon or boar: stiff enough to stand
THICKNESS = 0.003  # [m]
RADIUS, HEIGHT = 0.03, 0.095  # [m] of the sphere, and of its centre over the board
START, END, PASSAGE = -0.12, 0.14, 0.65  # [m], [m], [s]: where it comes from, where it goes to, how long it takes
FRAME_RATE = 48.0
SECONDS = 6.0
# What is measured -> part of the largest kinetic energy that is left then.
SETTLED = 1e-3
CALM = {
    "time to a tenth of the energy after the sphere has passed": 0.1,
    "time to settle after the sphere has passed": SETTLED,
}
MUCH_FASTER = 0.5  # of the time that bristles take that know nothing of each other, at most
SHOWN = (0.25, 0.5, 0.8, 1.5)  # [s]
SIZE = (400, 280)


@dataclass
class Run:
    """Frames to be shown and the kinetic energy [J] after every frame."""

    shown: list[Float64Array]
    energy: Float64Array

    def calm_after(self, part: float) -> float:
        """Time from the passage until energy stays below `part` of its most [s]; infinite where it never does."""
        restless = np.flatnonzero(self.energy > part * self.energy.max())
        last = int(restless[-1]) + 1
        return (last + 1) / FRAME_RATE - PASSAGE if last < len(self.energy) else np.inf


def run(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Plough through the brush with three kinds of bristles, and measure how soon they settle."""
    side, seconds = (6, 2.0) if quick else (SIDE, SECONDS)
    kinds: dict[str, list[Part]] = {
        "no interactions": [],
        "wisps": [WispCollisions(thickness=THICKNESS)],
        "strips": [TriangleStrips(thickness=THICKNESS, neighbours="all")],
    }
    runs = {}
    for number, (name, parts) in enumerate(kinds.items()):
        runs[name] = plough(make_brush(side), parts, seconds, task_of(tell, name, 0.3 * number, 0.3 * (number + 1)))
    for metric, part in CALM.items():
        alone = runs["no interactions"].calm_after(part)
        promise = {"reference": alone, "source": "no interactions", "target": MUCH_FASTER * alone}
        for name, one in runs.items():
            case = f"{side} x {side} bristles, {name}"
            report.add(case, metric, one.calm_after(part), "s", **(promise if kinds[name] else {}))
    _draw(report, runs, quick)
    report.note(
        "Bristles that cross each other behind the sphere lose most of their energy at once; those that are left swing "
        "side by side, where eq. 3 lets hair pass, and take their own time."
    )
    report.note("The paper shows figure 7 and says that bristles that interact settle much faster; it gives no times.")
    tell("done", 1.0)


def make_brush(side: int) -> Guides:
    """Straight bristles that stand on a board."""
    place = SPACING * (np.arange(side) - 0.5 * (side - 1))
    points = np.zeros((side * side, SEGMENTS + 1, 3), np.float32)
    points[:, :, 0], points[:, :, 2] = np.repeat(place, side)[:, None], np.tile(place, side)[:, None]
    points[:, :, 1] = np.linspace(0.0, LENGTH, SEGMENTS + 1)
    return Guides.from_groom(Groom.from_uniform(points))


def plough(guides: Guides, parts: list[Part], seconds: float, done: Done) -> Run:
    """Simulate the passage and what follows."""
    sphere, board = _sphere(), _board()
    simulation = Simulation(
        guides, material=BRISTLE, body=board.shape, solids=[sphere], forces=parts, frame_rate=FRAME_RATE, drag=0.0
    )
    mass = simulation.strands.mass[..., None]
    frames = round(seconds * FRAME_RATE)
    shown_at = {round(time * FRAME_RATE) for time in SHOWN}
    energy, shown = np.zeros(frames), []
    for number in range(1, frames + 1):
        frame = simulation.step()
        energy[number - 1] = 0.5 * float((mass * frame.velocity.astype(np.float64) ** 2).sum())
        if number in shown_at:
            shown.append(frame.points.astype(np.float64))
        done(number / frames)
    return Run(shown, energy)


def _sphere() -> Solid:
    still = np.tile([0.0, 0.0, 0.0, 1.0], (2, 1))
    way = KeyframedMotion([0.0, PASSAGE], [[START, HEIGHT, 0.0], [END, HEIGHT, 0.0]], still)
    return Solid(Sphere((0.0, 0.0, 0.0), RADIUS), way)


def _board() -> Solid:
    half = 0.5 * SIDE * SPACING + 0.005
    return Solid(Box((0.0, -0.005, 0.0), (half, 0.005, half)))


def _draw(report: Report, runs: dict[str, Run], quick: bool) -> None:
    size = (120, 90) if quick else SIZE
    board, sphere = _board().at(0.0).mesh(), _sphere()
    spheres = [sphere.at(time).mesh() for time in SHOWN]
    corners = np.array([[-0.07, -0.01, -0.05], [END + RADIUS, LENGTH + RADIUS, 0.05]])
    camera = Camera.framing(corners, (0.25, 0.35, 1.0), aspect=size[0] / size[1], margin=0.02)
    rows = [
        draw_row(
            [locks(points, width=1.5e-3) for points in one.shown],
            [[board, ball] for ball, _ in zip(spheres, one.shown, strict=False)],
            [f"{time:.2g} s" for time, _ in zip(SHOWN, one.shown, strict=False)],
            camera=camera,
            size=size,
            title=f"{name}: settles {one.calm_after(SETTLED):.2g} s after the passage",
            look="blond",
        )
        for name, one in runs.items()
    ]
    report.picture("brush", stack_rows(rows), "A sphere ploughs through a brush, after figure 7")

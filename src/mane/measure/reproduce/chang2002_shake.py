"""chang2002 7.1 and 4.1, figure 9: a head shakes, strong links make the hairs move together, and the style comes back.

Long straight hair is shaken for two seconds, gently and violently, with strong links and with none; then the head
stands still for two more. How far the hair is then from the groom is the recovery error; how differently
neighbours move while they are shaken says whether hairs move together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.contact.links.find import LinkTable, find_links
from mane.contact.links.links import StaticLinks
from mane.contact.strips.strips import TriangleStrips
from mane.groom import styles
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.measure.pictures import draw_row, locks, stack_rows
from mane.measure.reproduce.reproduce import Done, Report, Tell, task_of
from mane.render.camera import Camera
from mane.scene.simulation import Simulation
from mane.strand.frame import GuideFrame
from mane.strand.model import Float64Array

GUIDES, SEGMENTS = 200, 15
LINK_RATE = 100.0  # [1/s]: relatively strong, as 7.1 asks for
FRAME_RATE = 24.0
SHAKEN, STILL = 2.0, 2.0  # [s]
# Half the swing [rad] and swings per second.
MOTIONS = {"gentle": (math.radians(15), 1.0), "violent": (math.radians(60), 3.0)}
SHOWN = (0.0, 1.2, 1.6, 4.0)  # [s]
SIZE = (260, 320)


@dataclass
class Run:
    """What one shake came to."""

    shown: list[GuideFrame]
    recovery: float
    together: float
    broken: float


def run(report: Report, *, quick: bool, tell: Tell) -> None:
    """Shake gently and violently, with and without links, and measure what comes back."""
    groom = styles.make("straight", strands=4 * GUIDES, vertices=SEGMENTS + 1, seed=1)
    guides = select_guides(groom, 20 if quick else GUIDES, seed=1)
    body = styles.body("straight")
    runs: dict[tuple[str, bool], Run] = {}
    cases = [(motion, linked) for motion in MOTIONS for linked in (True, False)]
    for number, (motion, linked) in enumerate(cases):
        name = f"{motion}, {'links' if linked else 'no links'}"
        runs[motion, linked] = shake(
            guides,
            body,
            motion,
            linked,
            0.1 if quick else 1.0,
            task_of(tell, name, 0.22 * number, 0.22 * (number + 1)),
        )
    for (motion, linked), one in runs.items():
        case = f"{motion} shake, {'strong links' if linked else 'no links'}"
        report.add(case, "recovery error: mean distance from the groom after 2 s of rest", 1e3 * one.recovery, "mm")
        report.add(case, "how differently neighbours move on the head (0 together, 1.4 by chance)", one.together, "1")
        if linked:
            report.add(case, "links broken", 100 * one.broken, "%")
    _draw(report, runs, guides, body, quick)
    report.note("The paper compares with a film of a real head, which is not public: there is no reference to measure.")
    report.note("It recovers by links alone; here each hair also has the groom as its own shape of rest (sag-free).")
    tell("done", 1.0)


def head_pose(motion: str, time: float) -> Pose:
    """Where the head is: it swings about the neck, begins and ends softly, then stands still."""
    swing, rate = MOTIONS[motion]
    ease = math.sin(math.pi * min(time / SHAKEN, 1.0)) ** 0.5
    angle = swing * ease * math.sin(2 * math.pi * rate * time) if time < SHAKEN else 0.0
    return Pose(np.zeros(3), np.array([0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2)]))


def shake(guides: Guides, body: Mesh, motion: str, linked: bool, length: float, done: Done) -> Run:
    """Simulate one shake; `length` below 1 cuts it short."""
    links = StaticLinks(rate=LINK_RATE)
    strips = TriangleStrips(neighbours="horizontal")
    simulation = Simulation(
        guides, "chain", body=body, forces=[links, strips] if linked else [strips], frame_rate=FRAME_RATE
    )
    rest = simulation.frame.points.astype(np.float64)
    everyone = np.ones(len(rest), np.bool_)
    beside = find_links(rest, everyone, np.zeros(len(rest), np.int64), 1, math.inf)
    frames = max(2, round(length * (SHAKEN + STILL) * FRAME_RATE))
    shown_at = {min(round(time * FRAME_RATE), frames) for time in SHOWN}
    shown, spread = [simulation.frame], []
    for number in range(1, frames + 1):
        time = number / FRAME_RATE
        frame = simulation.step(head_pose(motion, time))
        if time < SHAKEN:
            spread.append(neighbour_spread(frame.velocity - _carried(motion, time, rest), beside))
        if number in shown_at:
            shown.append(frame)
        done(number / frames)
    off = float(np.linalg.norm(simulation.frame.points - rest, axis=2).mean())
    broken = float((links.health == 0).mean()) if linked else 0.0
    return Run(shown, off, float(np.mean(spread)), broken)


def _carried(motion: str, time: float, rest: Float64Array) -> Float64Array:
    """Velocity that hair would have if it were one piece with the head [m/s]."""
    step = 1e-4
    before, after = (head_pose(motion, time + shift) for shift in (-step, step))
    velocity: Float64Array = (after.apply(rest) - before.apply(rest)) / (2 * step)
    return velocity


def neighbour_spread(velocity: Float64Array, beside: LinkTable) -> float:
    """How far velocities (G, V, 3) differ from those of the hair beside, over how large they are.

    0 together, 1.4 by chance. `beside` holds the point of another strand that is closest to each segment as groomed.
    """
    own = 0.5 * (velocity[:, :-1] + velocity[:, 1:])
    segments = own.shape[1]
    strand, segment, share = beside.other[..., 0] // segments, beside.other[..., 0] % segments, beside.fraction
    other = (1 - share) * velocity[strand, segment] + share * velocity[strand, segment + 1]
    return float(np.sqrt(((own - other) ** 2).sum() / max((own**2).sum(), 1e-30)))


def _draw(report: Report, runs: dict[tuple[str, bool], Run], guides: Guides, body: Mesh, quick: bool) -> None:
    size = (80, 100) if quick else SIZE
    everything = np.concatenate([body.points, guides.rest.reshape(-1, 3)])
    camera = Camera.framing(everything, (0.35, 0.1, 1.0), aspect=size[0] / size[1], margin=0.1)
    rows = []
    for (motion, linked), one in runs.items():
        rows.append(
            draw_row(
                [locks(frame.points, width=1.2e-3) for frame in one.shown],
                [body.transformed(frame.head.matrix) for frame in one.shown],
                [f"{frame.time:.2g} s" for frame in one.shown],
                camera=camera,
                size=size,
                title=f"{motion}, {'strong links' if linked else 'no links'}: off by {1e3 * one.recovery:.2g} mm",
            )
        )
    report.picture("shake", stack_rows(rows), "A shaken head and what it looks like two seconds later, after figure 9")

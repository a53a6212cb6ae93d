"""chang2002 7.1 and 4.1, figure 9: a head shakes, strong links make the hairs move together, and the style comes back.

Long straight hair is shaken for two seconds, gently and violently, with strong links and with none; then the head
stands still for four more. How far the hair is from the groom is drawn over time: most of it is swing, which links that
make hair one piece neither add to nor damp much. Where the hair hangs is the mean over the last second, about one
swing; its distance from the groom is the recovery error. How differently neighbours move while they are shaken says
whether hairs move together. The last of the violent runs ties broken links anew where hair has come to rest, to what is
beside it then (the end of 4.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.contact.links.find import LinkTable, find_links
from mane.contact.links.frames import SegmentFrames
from mane.contact.links.links import StaticLinks
from mane.contact.strips.strips import TriangleStrips
from mane.groom import styles
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.measure.pictures import draw_row, locks, stack_rows
from mane.measure.plot import Axis, Curve, write_plot
from mane.measure.reproduce.reproduce import Done, ProgressCallback, Report, task_of
from mane.render.camera import Camera
from mane.scene.simulation import Simulation
from mane.strand.frame import GuideFrame
from mane.strand.model import Float64Array
from mane.strand.ports import Part

GUIDES, SEGMENTS = 200, 15
LINK_RATE = 100.0  # [1/s]: relatively strong, as 7.1 asks for
FRAME_RATE = 24.0
SHAKEN, STILL = 2.0, 4.0  # [s]
SWING = 1.0  # [s] over which places are averaged, about one swing of such hair
REFORMS_AFTER = 0.5  # [s]
# Half the swing [rad] and swings per second.
MOTIONS = {"gentle": (math.radians(15), 1.0), "violent": (math.radians(60), 3.0)}
SHOWN = (0.0, 1.2, 1.6, 6.0)  # [s]
# Motion, and settings of the links or None for none.
CASES: dict[str, tuple[str, dict[str, Any] | None]] = {
    "gentle shake, strong links": ("gentle", {}),
    "gentle shake, no links": ("gentle", None),
    "violent shake, strong links": ("violent", {}),
    "violent shake, no links": ("violent", None),
    "violent shake, strong links that form again": ("violent", {"reforms_after": REFORMS_AFTER}),
}
SIZE = (260, 320)


@dataclass
class Run:
    """What one shake came to.

    Attributes:
        shown: frames to be drawn.
        distance: mean distance from the groom, seen from the head, after every frame [m].
        recovery: the same for where the hair hangs in the mean over the last second [m].
        together: how differently neighbours move.
        broken: share of the links.
    """

    shown: list[GuideFrame]
    distance: list[float]
    recovery: float
    together: float
    broken: float


def run(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Shake gently and violently, with and without links, and measure what comes back."""
    groom = styles.make("straight", strands=4 * GUIDES, vertices=SEGMENTS + 1, seed=1)
    guides = select_guides(groom, 20 if quick else GUIDES, seed=1)
    body = styles.body("straight")
    runs: dict[str, Run] = {}
    for number, (case, (motion, settings)) in enumerate(CASES.items()):
        done = task_of(tell, case, 0.18 * number, 0.18 * (number + 1))
        runs[case] = shake(guides, body, motion, settings, 0.1 if quick else 1.0, done)
    alone = runs["gentle shake, no links"]
    for case, one in runs.items():
        kept = case == "gentle shake, strong links"
        for metric, value, without in (
            ("recovery error: distance from the groom of where the hair hangs", one.recovery, alone.recovery),
            ("distance from the groom at the end, swing included", one.distance[-1], alone.distance[-1]),
        ):
            promise = {"reference": 1e3 * without, "source": "no links", "target": 1e3 * without} if kept else {}
            report.add(case, metric, 1e3 * value, "mm", **promise)
        report.add(case, "how differently neighbours move on the head (0 together, 1.4 by chance)", one.together, "1")
        if CASES[case][1] is not None:
            report.add(case, "links broken", 100 * one.broken, "%")
    _draw(report, runs, guides, body, quick)
    _plot(report, runs)
    report.note("The paper compares with a film of a real head, which is not public: there is no reference to measure.")
    report.note("It recovers by links alone; here each hair also has the groom as its own shape of rest (sag-free).")
    tell("done", 1.0)


def head_pose(motion: str, time: float) -> Pose:
    """Where the head is: it swings about the neck, begins and ends softly, then stands still."""
    swing, rate = MOTIONS[motion]
    ease = math.sin(math.pi * min(time / SHAKEN, 1.0)) ** 0.5
    angle = swing * ease * math.sin(2 * math.pi * rate * time) if time < SHAKEN else 0.0
    return Pose(np.zeros(3), np.array([0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2)]))


def shake(guides: Guides, body: Mesh, motion: str, settings: dict[str, Any] | None, length: float, done: Done) -> Run:
    """Simulate one shake, with links of these `settings` or with none; `length` below 1 cuts it short."""
    parts: list[Part] = [TriangleStrips(neighbours="horizontal")]
    links = None if settings is None else StaticLinks(rate=LINK_RATE, **settings)
    if links is not None:
        parts.insert(0, links)
    simulation = Simulation(guides, "chain", body=body, forces=parts, frame_rate=FRAME_RATE)
    rest = simulation.frame.points.astype(np.float64)
    everyone = np.ones(len(rest), np.bool_)
    beside = find_links(
        rest, SegmentFrames(simulation.strands).at_rest(rest), everyone, np.zeros(len(rest), np.int64), 1, math.inf
    )
    frames = max(2, round(length * (SHAKEN + STILL) * FRAME_RATE))
    shown_at = {min(round(time * FRAME_RATE), frames) for time in SHOWN}
    shown, spread, seen = [simulation.frame], [], []
    for number in range(1, frames + 1):
        time = number / FRAME_RATE
        frame = simulation.step(head_pose(motion, time))
        if time < SHAKEN:
            spread.append(neighbour_spread(frame.velocity - _carried(motion, time, rest), beside))
        seen.append(frame.head.inverse().apply(frame.points.astype(np.float64)))
        if number in shown_at:
            shown.append(frame)
        done(number / frames)
    distance = [_distance(points, rest) for points in seen]
    recovery = _distance(np.mean(seen[-round(SWING * FRAME_RATE) :], axis=0), rest)
    broken = float((links.health == 0).mean()) if links is not None else 0.0
    return Run(shown, distance, recovery, float(np.mean(spread)), broken)


def _distance(points: Float64Array, rest: Float64Array) -> float:
    return float(np.linalg.norm(points - rest, axis=2).mean())


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


def _draw(report: Report, runs: dict[str, Run], guides: Guides, body: Mesh, quick: bool) -> None:
    size = (80, 100) if quick else SIZE
    everything = np.concatenate([body.points, guides.rest.reshape(-1, 3)])
    camera = Camera.framing(everything, (0.35, 0.1, 1.0), aspect=size[0] / size[1], margin=0.1)
    rows = [
        draw_row(
            [locks(frame.points, width=1.2e-3) for frame in one.shown],
            [body.transformed(frame.head.matrix) for frame in one.shown],
            [f"{frame.time:.2g} s" for frame in one.shown],
            camera=camera,
            size=size,
            title=f"{case}: off by {1e3 * one.recovery:.2g} mm",
        )
        for case, one in runs.items()
    ]
    report.picture("shake", stack_rows(rows), "A shaken head and what it looks like four seconds later, after figure 9")


def _plot(report: Report, runs: dict[str, Run]) -> None:
    """How far the hair is from the groom, over time: a swing that dies away, about where the hair hangs."""
    curves = [
        Curve(case, np.arange(1, len(one.distance) + 1) / FRAME_RATE, 1e3 * np.array(one.distance), markers=False)
        for case, one in runs.items()
    ]
    write_plot(
        report.folder / "recovery.png",
        "How far hair is from its groom while it is shaken for 2 s, and then",
        Axis("time [s]"),
        Axis("mean distance, seen from the head [mm]", log=True),
        curves,
    )
    report.pictures.append(("recovery.png", "How far hair is from its groom: a swing that dies away, where it hangs"))

"""chang2002 section 7: a dense head from 200 guides of 15 segments, and what a frame of it costs (figures 5 and 8).

Guides shake with links and strips, Hermite splines smooth them (5.2), each hair is carried by the guides around it
(5.1, eq. 4) and kept out of the head, and the picture is lit through opacity shadow maps (6).
"""

from __future__ import annotations

import time

import numpy as np

from mane.body.solid import Solid
from mane.contact.links.links import StaticLinks
from mane.contact.strips.strips import TriangleStrips
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.select import select_guides
from mane.measure.reproduce.reproduce import Report, Tell
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.scene.simulation import Simulation
from mane.skin.finish.passes import HermiteSubdivision, SolidAdjustment
from mane.skin.linear.skin import LinearSkin
from mane.strand.frame import GuideFrame

GUIDES, SEGMENTS, STRANDS = 200, 15, 50_000
PAPER_GUIDE_SECONDS = 1.0
PAPER_DENSE_SECONDS = 20.0
PAPER_GUIDES = "chang2002 section 7, Pentium III 800 MHz"
PAPER_DENSE = "chang2002 section 7, Pentium 4 2 GHz"
FRAMES = 30
SHOWN = 21  # the frame of the picture: the head is at the end of a swing, the hair still on its way
SIZE = (720, 900)
GUIDE_WIDTH = 1.2e-3  # [m] as drawn: a guide stands for a lock


def run(report: Report, *, quick: bool, tell: Tell) -> None:
    """Simulate a shaking head, carry all hairs and draw guides and dense hair side by side."""
    from mane.body.motion_presets import make_motion

    strands = STRANDS // 25 if quick else STRANDS
    frames = 6 if quick else FRAMES
    size = (240, 300) if quick else SIZE
    tell("growing the hair", 0.0)
    groom = styles.make("straight", strands=strands, vertices=SEGMENTS + 1, seed=1)
    guides = select_guides(groom, min(GUIDES, strands), seed=1)
    body = styles.body("straight")
    head = make_motion("shake")
    parts = [StaticLinks(), TriangleStrips(neighbours="horizontal")]
    simulation = Simulation(guides, "chain", body=body, head=head, forces=parts)
    seconds, frame = _simulate(simulation, frames, min(SHOWN, frames - 1), tell)
    report.add(
        f"{guides.count} guides x {SEGMENTS} segments, links and strips",
        "guides, time per frame",
        seconds,
        "s",
        reference=PAPER_GUIDE_SECONDS,
        source=PAPER_GUIDES,
        target=PAPER_GUIDE_SECONDS,
    )
    tell("carrying and drawing the dense hair", 0.6)
    skin = LinearSkin(groom, guides)
    dense = _Dense(skin, simulation.solids)
    dense(frame)  # what compiles and allocates is not the frame's
    started = time.perf_counter()
    hair = dense(frame)
    skin_seconds = time.perf_counter() - started
    mesh = body.transformed(frame.head.matrix)
    camera = Camera.framing(np.concatenate([mesh.points, hair.reshape(-1, 3)[::7]]), aspect=size[0] / size[1])
    groom_now = Groom.from_uniform(hair)
    render(groom_now, mesh, camera=camera, size=(64, 80))
    started = time.perf_counter()
    picture = render(groom_now, mesh, camera=camera, size=size, look="brown")
    render_seconds = time.perf_counter() - started
    case = f"{strands:,} strands x {hair.shape[1] - 1} segments"
    report.add(case, "interpolation, smoothing, hairs out of the head", skin_seconds, "s")
    report.add(case, f"picture of {size[0]} x {size[1]}", render_seconds, "s")
    report.add(
        case,
        "all after the guides, time per frame",
        skin_seconds + render_seconds,
        "s",
        reference=PAPER_DENSE_SECONDS,
        source=PAPER_DENSE,
        target=PAPER_DENSE_SECONDS,
    )
    tell("drawing the guides", 0.9)
    sparse = HermiteSubdivision(levels=2)(frame.points)
    locks = render(Groom.from_uniform(sparse), mesh, camera=camera, size=size, look="brown", hair_width=GUIDE_WIDTH)
    captions = [f"{guides.count} guides, smoothed", f"{strands:,} hairs carried by them"]
    sheet = side_by_side([locks, picture], captions, title="chang2002 section 7, after figures 5 and 8")
    report.picture("dense", sheet, f"{guides.count} guides and the {strands:,} hairs that they carry, mid-shake")
    report.note(
        "The paper smooths its guides into some 50 segments and interpolates those; here hairs are carried at the "
        f"guides' {SEGMENTS} segments and smoothed last, which gives each {hair.shape[1] - 1} at less cost."
    )
    report.note(
        "Times of machines twenty years apart are no comparison of methods; the paper's picture size is not given, "
        f"ours is {size[0]} x {size[1]} with 4 samples per pixel."
    )
    tell("done", 1.0)


def _simulate(simulation: Simulation, frames: int, shown: int, tell: Tell) -> tuple[float, GuideFrame]:
    """Median seconds per frame after the first, which compiles and ties links, and the frame to be shown."""
    times, kept = [], simulation.frame
    for number in range(frames):
        started = time.perf_counter()
        frame = simulation.step()
        times.append(time.perf_counter() - started)
        kept = frame if number == shown else kept
        tell("simulating the guides", 0.05 + 0.5 * (number + 1) / frames)
    return float(np.median(times[1:])), kept


class _Dense:
    """From a frame of guides to all hairs, smoothed and outside of the solids."""

    def __init__(self, skin: LinearSkin, solids: tuple[Solid, ...]) -> None:
        self._skin = skin
        self._adjust = SolidAdjustment(solids)
        self._smooth = HermiteSubdivision(levels=2)

    def __call__(self, frame: GuideFrame) -> np.ndarray:
        return self._smooth(self._adjust(self._skin(frame), frame), frame)

"""chang2002 section 7: a dense head from 200 guides of 15 segments, and what a frame of it costs (figures 5 and 8).

Guides shake with links and strips, Hermite splines smooth them (5.2), each hair is carried by the guides around it,
copied from root frame to root frame (5.1, eq. 4: `rigid`) or blended (`linear`), kept out of the head, and the picture
is lit through opacity shadow maps (6).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from mane.body.solid import Solid
from mane.contact.links.links import StaticLinks
from mane.contact.strips.strips import TriangleStrips
from mane.geometry.checks import FloatArray
from mane.groom import styles
from mane.groom.groom import Groom, concatenate
from mane.groom.select import select_guides
from mane.measure.pictures import PAINTED, locks
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.measure.timing import best_seconds
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.scene.simulation import Simulation
from mane.skin.base import Skin
from mane.skin.finish.passes import HermiteSubdivision, SolidAdjustment
from mane.skin.linear.skin import LinearSkin
from mane.skin.rigid.skin import RigidSkin
from mane.strand.frame import GuideFrame

GUIDES, SEGMENTS, STRANDS = 200, 15, 50_000
PAPER_GUIDE_SECONDS = 1.0
PAPER_DENSE_SECONDS = 20.0
PAPER_GUIDES = "chang2002 section 7, Pentium III 800 MHz"
PAPER_DENSE = "chang2002 section 7, Pentium 4 2 GHz"
PEER = "SciPy, sparse product with the same weights"
TARGET_SPEEDUP = 5.0  # of linear interpolation beside the peer
SAME = 2e-6  # [m]: float32 at the size of a head, sums in another order
FRAMES = 30
SHOWN = 21  # the frame of the picture: the head is at the end of a swing, the hair still on its way
REPEATS = 7
SIZE = (600, 750)
GUIDE_WIDTH, LINK_WIDTH = 1.2e-3, 4e-4  # [m] as drawn: a guide stands for a lock
GUIDE_COLOR, LINK_COLOR = (0.10, 0.05, 0.03), (0.75, 0.12, 0.05)  # linear RGB
LINK_VERTICES = 4


def run(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Simulate a shaking head, carry all hairs and draw guides with their links and dense hair side by side."""
    from mane.body.motion_presets import make_motion

    strands = STRANDS // 25 if quick else STRANDS
    frames = 6 if quick else FRAMES
    size = (160, 200) if quick else SIZE
    tell("growing the hair", 0.0)
    groom = styles.make("straight", strands=strands, vertices=SEGMENTS + 1, seed=1)
    guides = select_guides(groom, min(GUIDES, strands), seed=1)
    body = styles.body("straight")
    links = StaticLinks()
    parts = [links, TriangleStrips(neighbours="horizontal")]
    simulation = Simulation(guides, "chain", body=body, head=make_motion("shake"), forces=parts)
    seconds, frame = _simulate(simulation, frames, min(SHOWN, frames - 1), tell)
    case = f"{guides.count} guides x {SEGMENTS} segments, links and strips"
    paper = {"reference": PAPER_GUIDE_SECONDS, "source": PAPER_GUIDES}
    report.add(case, "guides, time per frame", seconds, "s", **paper)
    skins: dict[str, Skin] = {"rigid": RigidSkin(groom, guides), "linear": LinearSkin(groom, guides)}
    mesh = body.transformed(frame.head.matrix)
    camera = Camera.framing(np.concatenate([mesh.points, groom.points[::7]]), aspect=size[0] / size[1], margin=0.08)
    tell("drawing the guides", 0.55)
    pictures = [_draw_sparse(frame, links, mesh, camera, size)]
    for number, (name, skin) in enumerate(skins.items()):
        tell(f"carrying and drawing the dense hair, {name}", 0.6 + 0.2 * number)
        pictures.append(_dense(report, name, skin, simulation.solids, frame, mesh, camera, size))
    _beside_peer(report, skins["linear"], frame)
    captions = [
        f"{guides.count} guides and their links",
        f"{strands:,} hairs, eq. 4 (rigid)",
        f"{strands:,} hairs, linear",
    ]
    sheet = side_by_side(pictures, captions, title="chang2002 section 7, after figures 5 and 8")
    report.picture("dense", sheet, f"{guides.count} guides and the {strands:,} hairs that they carry, mid-shake")
    report.note(
        "The paper smooths its guides into some 50 segments and interpolates those; here hairs are carried at the "
        f"guides' {SEGMENTS} segments and smoothed last, which gives each {4 * SEGMENTS} at less cost."
    )
    report.note(
        "Times of machines twenty years apart are no comparison of methods and promise nothing here; interpolation is "
        f"measured against SciPy in the same run. The paper's picture size is not given, ours is {size[0]} x {size[1]}."
    )
    tell("done", 1.0)


def _simulate(simulation: Simulation, frames: int, shown: int, tell: ProgressCallback) -> tuple[float, GuideFrame]:
    """Median seconds per frame after the first, which compiles and ties links, and the frame to be shown."""
    times, kept = [], simulation.frame
    for number in range(frames):
        started = time.perf_counter()
        frame = simulation.step()
        times.append(time.perf_counter() - started)
        kept = frame if number == shown else kept
        tell("simulating the guides", 0.05 + 0.5 * (number + 1) / frames)
    return float(np.median(times[1:])), kept


def _dense(
    report: Report,
    name: str,
    skin: Skin,
    solids: tuple[Solid, ...],
    frame: GuideFrame,
    mesh: Any,
    camera: Camera,
    size: tuple[int, int],
) -> Any:
    """Carry and draw every hair, and say what it took; returns the picture."""
    adjust, smooth = SolidAdjustment(solids), HermiteSubdivision(levels=2)

    def carried() -> FloatArray:
        return smooth(adjust(skin(frame), frame), frame)

    skin_seconds = best_seconds(carried, REPEATS, warm_up=True)
    hair = Groom.from_uniform(carried())
    render(hair, mesh, camera=camera, size=(64, 80))  # what compiles and allocates is not the frame's
    started = time.perf_counter()
    picture = render(hair, mesh, camera=camera, size=size, look="brown")
    render_seconds = time.perf_counter() - started
    case = f"{hair.strand_count:,} strands, {name}"
    report.add(case, "interpolation, smoothing, hairs out of the head", skin_seconds, "s")
    report.add(case, f"picture of {size[0]} x {size[1]}", render_seconds, "s")
    paper = {"reference": PAPER_DENSE_SECONDS, "source": PAPER_DENSE}
    report.add(case, "all after the guides, time per frame", skin_seconds + render_seconds, "s", **paper)
    return picture


def _beside_peer(report: Report, skin: Skin, frame: GuideFrame) -> None:
    """Time linear interpolation alone beside the product of a sparse matrix and the guides' displacements."""
    assert isinstance(skin, LinearSkin)
    peer = sparse_blend(skin, frame)
    np.testing.assert_allclose(peer(), skin(frame).reshape(-1, 3), atol=SAME)
    theirs, ours = (best_seconds(work, REPEATS, warm_up=True) for work in (peer, lambda: skin(frame)))
    case = f"{skin.groom.strand_count:,} strands, linear, interpolation alone"
    report.add(case, "time", 1e3 * ours, "ms", reference=1e3 * theirs, source=PEER)
    report.add(case, "times as fast as SciPy", theirs / ours, "1", target=TARGET_SPEEDUP, better="higher")


def sparse_blend(skin: LinearSkin, frame: GuideFrame) -> Callable[[], FloatArray]:
    """The sums of a linear skin on a rigid head as SciPy does them: (S V, 3) [m] at each call."""
    rest, turn = skin.groom.as_uniform(), frame.head.matrix[:3, :3].astype(np.float32)
    bundles, (hairs, vertices) = skin.bundles, skin.groom.as_uniform().shape[:2]
    guide, parameter = bundles.guide[bundles.of_hair], bundles.parameter[bundles.of_hair]  # (S, K), (S, K, V)
    places = skin.guides.rest.shape[1]
    first = np.minimum(parameter.astype(np.int64), places - 2)
    along = parameter - first
    rows = np.broadcast_to(np.arange(hairs * vertices).reshape(hairs, 1, vertices), first.shape)
    weight = skin.binding.weights[:, :, None]
    columns = guide[:, :, None].astype(np.int64) * places + first
    entries = np.concatenate([(weight * (1 - along)).ravel(), (weight * along).ravel()]).astype(np.float32)
    where = (np.tile(rows.ravel(), 2), np.concatenate([columns.ravel(), columns.ravel() + 1]))
    matrix = csr_matrix((entries, where), shape=(hairs * vertices, len(skin.guides.rest) * places))

    def product() -> FloatArray:
        shift = (frame.points - skin.guides.rest @ turn.T).astype(np.float32).reshape(-1, 3)
        blended: FloatArray = rest.reshape(-1, 3) @ turn.T + matrix @ shift
        return blended

    return product


def _draw_sparse(frame: GuideFrame, links: StaticLinks, mesh: Any, camera: Camera, size: tuple[int, int]) -> Any:
    """Guides as locks, and a thin line for every link (figure 5, left)."""
    points = frame.points.astype(np.float64)
    guides = locks(points, width=GUIDE_WIDTH, colors=np.tile(GUIDE_COLOR, (len(points), 1)))
    ends = links.lines(points)
    along = np.linspace(0.0, 1.0, LINK_VERTICES)[:, None]
    lines = ends[:, None, 0] + along * (ends[:, None, 1] - ends[:, None, 0])
    drawn = Groom.from_uniform(np.ascontiguousarray(lines, np.float32))
    count = len(drawn.points)
    drawn = drawn.with_vertex(
        width=np.full(count, LINK_WIDTH, np.float32), color=np.tile(np.asarray(LINK_COLOR, np.float32), (count, 1))
    )
    return render(concatenate([guides, drawn]), mesh, camera=camera, size=size, look=PAINTED)

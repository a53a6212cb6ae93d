"""lee2018: a coat of fur in a tetrahedral mesh: walking, getting wet, swinging, and against every hair simulated."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.character import Character
from mane.body.characters import make_character
from mane.body.motion import Pose
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.measure.pictures import stack_rows
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.metrics.kink import kink
from mane.metrics.length import length_error
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.scene.simulation import Simulation
from mane.skin.finish.keep_out import KeepOut
from mane.skin.table import make_skin
from mane.strand.frame import GuideFrame
from mane.volume.skin import VolumeSkin

FRAME_RATE = 24.0
PAPER = "lee2018 table 1"
VIEW = (1.0, 0.25, 0.35)
WETNESS = ((0.0, 0.0), (0.5, 1.0), (1.0, 2.0))  # levels over the shares of a shot
PAWS = ((0.0, 2.0), (0.25, 1.0))  # paws get wet first


@dataclass(frozen=True)
class Sizes:
    """How much is made of a scene."""

    strands: int
    seconds: float
    spacing: float
    picture: tuple[int, int]


QUICK = Sizes(1_500, 0.25, 0.06, (240, 160))
USUAL = Sizes(60_000, 2.0, 0.04, (640, 420))


@dataclass(frozen=True, eq=False)
class Coat:
    """Fur on the creature, at rest, and the body that moves."""

    character: Character
    groom: Groom
    body: Solid
    simulation: Simulation

    def frame(self, time: float) -> GuideFrame:
        """A frame at a time whose guides nobody looks at."""
        return replace(self.simulation.rest, time=time, is_rest_pose=False, solid_poses=(Pose.identity(),))

    def depths(self, points: FloatArray, time: float) -> FloatArray:
        """How much deeper in the body vertices are than they were groomed [m], roots left out."""
        groomed = self.body.rest_distance(self.groom.points).reshape(points.shape[:2])[:, 1:]
        now = self.body.distance(points.reshape(-1, 3), time).reshape(points.shape[:2])[:, 1:]
        deeper: FloatArray = np.maximum(np.minimum(groomed, 0) - now, 0)
        return deeper

    def covered(self, points: FloatArray, time: float) -> NDArray[np.bool_]:
        """Hairs whose root is more than 0.5 mm deeper in the body than it was groomed: other skin lies over it."""
        groomed = np.minimum(self.body.rest_distance(self.groom.roots), 0)
        is_deeper: NDArray[np.bool_] = self.body.distance(points[:, 0], time) < groomed - 5e-4
        return is_deeper


def make_coat(sizes: Sizes, motion: str, strands: int | None = None, **options: Any) -> Coat:
    """Make fur on the creature with a motion and its options."""
    character = make_character("creature")
    groom = styles.make("fox", strands=strands or sizes.strands, seed=1, vertices=12)
    body = character.solid(motion, **options)
    guides = select_guides(groom, min(64, groom.strand_count // 4), seed=1)
    return Coat(character, groom, body, Simulation(guides, body=body, frame_rate=FRAME_RATE))


def volume_skin(coat: Coat, **settings: Any) -> VolumeSkin:
    """The coat in a mesh."""
    skin = make_skin("volume", coat.groom, coat.simulation, **settings)
    assert isinstance(skin, VolumeSkin)
    return skin


def creature(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """The furred creature walks: kinematic (figs. 2, 3)."""
    sizes = QUICK if quick else USUAL
    coat = make_coat(sizes, "walk")
    tell("binding", 0.1)
    skin = volume_skin(coat, spacing=sizes.spacing)
    _play(report, coat, {"kinematic": skin}, sizes, tell, "walk")
    mesh = skin.motion.mesh
    report.add("mesh", "nodes", mesh.node_count, "1", reference=3727, source=PAPER)
    report.add("mesh", "tetrahedra", mesh.tet_count, "1", reference=16170, source=PAPER)
    report.note(f"{sizes.strands:,} hairs stand for 540,078; `mane bench volume` has the time at the paper's size.")


def wetting(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Dry, sagged, matted while it walks, paws first (figs. 6, 10)."""
    sizes = QUICK if quick else USUAL
    coat = make_coat(sizes, "walk")
    tell("making styles", 0.05)
    rows = tuple((share * sizes.seconds, level) for share, level in WETNESS)
    wet = {"styles": ("sagged", "matted"), "wetness": rows, "wetting_height": PAWS}
    skin = volume_skin(coat, spacing=sizes.spacing, **wet)
    _play(report, coat, {"wetting": skin}, sizes, tell, "wetting")


def dynamic(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A shake with the mesh alone, and with a second one on weak and on strong springs (figs. 4, 5)."""
    sizes = QUICK if quick else USUAL
    coat = make_coat(sizes, "shake")
    skins: dict[str, VolumeSkin] = {}
    for name, strength in (("kinematic", None), ("weak springs", 0.05), ("strong springs", 1.0)):
        second = {} if strength is None else {"dynamic": strength, "dynamic_frequency": 5.0}
        skins[name] = volume_skin(coat, spacing=sizes.spacing, **second)
    _play(report, coat, skins, sizes, tell, "shake")


def truth(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Every hair of a sparse coat simulated, beside what skins make of a tenth of them, and the volume of none."""
    sizes = QUICK if quick else USUAL
    coat = make_coat(sizes, "walk", strands=60 if quick else 500)
    groom = coat.groom
    every = Simulation(Guides.chosen(groom, np.arange(groom.strand_count)), body=coat.body, frame_rate=FRAME_RATE)
    guides = select_guides(groom, groom.strand_count // 10, seed=1)
    few = Simulation(guides, body=coat.body, frame_rate=FRAME_RATE)
    skins = {name: make_skin(name, groom, few) for name in ("linear", "physical")}
    for frequency in (5.0, 10.0, 20.0):
        skins[f"volume, {frequency:g} Hz"] = make_skin("volume", groom, few, spacing=sizes.spacing, frequency=frequency)
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in ("full simulation", *skins)}
    steps = round(sizes.seconds * FRAME_RATE)
    for number in range(steps):
        tell("simulating every hair, and carrying them", number / steps)
        real, frame = every.step().points, few.step()
        found["full simulation"].append(_compared(coat, real, real, frame.time))
        for name, skin in skins.items():
            found[name].append(_compared(coat, skin(frame), real, frame.time))
    case = f"{groom.strand_count} hairs, {guides.capacity} guides"
    for name, rows in found.items():
        error, stretch, bend, inside, deepest = np.mean(rows, axis=0)
        report.add(f"{case}, {name}", "distance from full simulation", 1e3 * error, "mm")
        report.add(f"{case}, {name}", "mean length error", 100 * stretch, "%")
        report.add(f"{case}, {name}", "mean kink", bend, "rad")
        report.add(f"{case}, {name}", "vertices more than 0.5 mm deeper than groomed", 100 * inside, "%")
        report.add(f"{case}, {name}", "deepest beyond the groom, mean over frames", 1e3 * deepest, "mm")
    tell("done", 1.0)


def _compared(coat: Coat, points: FloatArray, real: FloatArray, time: float) -> tuple[float, ...]:
    rest, depth = coat.groom.as_uniform(), coat.depths(points, time)
    return (
        float(np.linalg.norm(points - real, axis=2).mean()),
        float(np.abs(length_error(points, rest)).mean()),
        float(kink(points, rest).mean()),
        float((depth > 5e-4).mean()),
        float(depth.max()),
    )


def _play(
    report: Report, coat: Coat, skins: Mapping[str, VolumeSkin], sizes: Sizes, tell: ProgressCallback, picture: str
) -> None:
    """Carry all frames of a shot, draw three of them, and add figures."""
    steps = max(round(sizes.seconds * FRAME_RATE), 3)
    shown = [steps // 6, steps // 2, steps]
    kept: dict[str, list[FloatArray]] = {name: [] for name in skins}
    keep_out = KeepOut(coat.simulation.solids, groom=coat.groom, body=coat.body)
    for name, skin in skins.items():
        seconds, rows, last, covered = [], [], [], []
        for number, frame in enumerate(_frames(coat, steps)):
            tell(f"carrying every hair, {name}", number / steps)
            start = clock.perf_counter()
            points = skin(frame)
            seconds.append(clock.perf_counter() - start)
            if number in shown:
                rows.append(_faults(coat, points, frame.time))
                covered.append(float(coat.covered(points, frame.time).mean()))
                kept[name].append(keep_out(points.copy(), frame))
                last.append(_faults(coat, kept[name][-1], frame.time))
        case = f"{coat.groom.strand_count:,} hairs, {name}"
        report.add(case, "frame, mesh stepped along", float(np.median(seconds)), "s")
        report.add(case, "hairs whose root other skin covers, left out below", 100 * max(covered), "%")
        for what, found, target in (("", rows, None), (", then keep_out", last, 0.5)):
            worst = np.max(found, axis=0)
            report.add(case + what, "largest length error of a hair", 100 * worst[0], "%", target=target and 0.01)
            report.add(case + what, "largest length error of a segment", 100 * worst[1], "%")
            report.add(case + what, "vertices more than 0.5 mm deeper than groomed", 100 * worst[2], "%")
            report.add(case + what, "deepest beyond the groom", 1e3 * worst[3], "mm", target=target)
    images = []
    for name, hairs in kept.items():
        row = []
        for number, points in zip(shown, hairs, strict=True):
            mesh = coat.body.at(number / FRAME_RATE).mesh()
            camera = Camera.framing(points.reshape(-1, 3), VIEW, aspect=sizes.picture[0] / sizes.picture[1])
            drawn = coat.groom.with_points(points.reshape(-1, 3))
            row.append(render(drawn, mesh, camera=camera, size=sizes.picture, look="painted"))
        images.append(side_by_side(row, [f"{number / FRAME_RATE:.2f} s" for number in shown], title=name))
    report.picture(picture, stack_rows(images), f"the coat at three times: {', '.join(kept)}")


def _faults(coat: Coat, points: FloatArray, time: float) -> tuple[float, float, float, float]:
    """Largest relative errors of a hair's and of a segment's length, share of vertices too deep, and the deepest [m].

    Single precision alone rounds a segment of half a millimetre, half a metre off the origin, by up to 2e-4. Hairs
    whose root lies below other skin, in a fold, are left out of depths: no hair of their length is outside.
    """
    ways = (np.diff(one.astype(np.float64), axis=1) for one in (points, coat.groom.as_uniform()))
    now, rest = (np.linalg.norm(way, axis=2) for way in ways)
    depth = coat.depths(points, time)[~coat.covered(points, time)]
    hair, segment = (float(np.abs(a / b - 1).max()) for a, b in ((now.sum(axis=1), rest.sum(axis=1)), (now, rest)))
    return hair, segment, float((depth > 5e-4).mean()), float(depth.max())


def _frames(coat: Coat, steps: int) -> Iterator[GuideFrame]:
    for number in range(steps + 1):
        yield coat.frame(number / FRAME_RATE)

"""lee2018: hairs that are simulated one by one, supported by a mesh: mohawk, long hair, carpet, and a coat without."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion_keys import KeyframedMotion
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.measure.pictures import stack_rows
from mane.measure.reproduce.lee2018 import FRAME_RATE, PAPER, QUICK, USUAL, make_coat
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.metrics.length import length_error
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.scene.simulation import Simulation
from mane.skin.table import make_skin
from mane.strand.frame import GuideFrame
from mane.volume.individual_skin import IndividualSkin
from mane.volume.skin import VolumeSkin

WHOLE_COAT = 540_078  # strands of the paper's bear
TIPS = slice(-1, None)
HOURS = 108.0  # per frame of mass-spring hair of the whole coat (lee2018 4)
YELLOW, GREEN = (0.55, 0.42, 0.08), (0.05, 0.45, 0.08)  # kinematic and simulated hairs, as in fig. 7


@dataclass(frozen=True, eq=False)
class Setting:
    """Hair on a head or a mat, what moves around it, and frames whose guides nobody looks at."""

    groom: Groom
    simulation: Simulation
    look: str
    view: tuple[float, float, float]

    @classmethod
    def of(cls, groom: Groom, look: str, view: tuple[float, float, float], **given: Any) -> Setting:
        """Make one; `given` are arguments of `Simulation`."""
        guides = select_guides(groom, min(8, groom.strand_count // 4), seed=1)
        return cls(groom, Simulation(guides, frame_rate=FRAME_RATE, **given), look, view)

    def frames(self, count: int) -> Iterator[GuideFrame]:
        """Frames from 0 s on."""
        sim = self.simulation
        for number in range(count + 1):
            time = number / FRAME_RATE
            head = sim.rest.head if sim.head is None else sim.head.pose(time)
            poses = sim.surroundings.poses(head, time)
            yield replace(sim.rest, time=time, head=head, solid_poses=poses, is_rest_pose=False)


@dataclass(frozen=True, eq=False)
class Played:
    """Hair over a shot: points at the frames that are drawn, the tips' deviation, seconds and simulated hairs."""

    points: list[FloatArray]
    seconds: NDArray[np.float64]
    active: NDArray[np.int64]
    status: list[NDArray[np.int8]]


def _play(
    setting: Setting, skin: VolumeSkin, steps: int, shown: Sequence[int], tell: ProgressCallback, name: str
) -> Played:
    points, seconds, active, status = [], [], [], []
    for number, frame in enumerate(setting.frames(steps)):
        tell(name, number / (steps + 1))
        start = clock.perf_counter()
        hair = skin(frame)
        seconds.append(clock.perf_counter() - start)
        hairs = getattr(skin, "individual", None)
        active.append(0 if hairs is None else hairs.active_count)
        if number in shown:
            points.append(hair.copy())
            status.append(np.zeros(len(hair), np.int8) if hairs is None else hairs.activation.status.copy())
    return Played(points, np.array(seconds[1:]), np.array(active), status)


def _draw(report: Report, setting: Setting, runs: Mapping[str, Played], shown: Sequence[int], name: str) -> None:
    size = (320, 320)
    everything = np.concatenate([one.reshape(-1, 3) for run in runs.values() for one in run.points])
    camera = Camera.framing(everything, setting.view, aspect=1.0)
    frames = list(setting.frames(max(shown)))
    rows = []
    for case, run in runs.items():
        row = []
        for number, points, status in zip(shown, run.points, run.status, strict=True):
            groom = setting.groom.with_points(points.reshape(-1, 3))
            look = setting.look
            if look == "painted":
                color = np.where((status > 0)[:, None], GREEN, YELLOW).astype(np.float32)
                groom = groom.with_vertex(color=None).with_strand(color=color)
            poses = frames[number].solid_poses
            placed = zip(setting.simulation.solids, poses, strict=True)
            bodies = [solid.placed(pose, number / FRAME_RATE).mesh() for solid, pose in placed]
            row.append(render(groom, bodies, camera=camera, size=size, look=look))
        rows.append(side_by_side(row, [f"{number / FRAME_RATE:.2f} s" for number in shown], title=case))
    report.picture(name, stack_rows(rows), f"{name}: {', '.join(runs)}")


def _add(report: Report, setting: Setting, case: str, run: Played, seconds: float | None) -> None:
    """Figures of one case, beside the paper's seconds per frame."""
    rest = setting.groom.as_uniform()
    stretch = max(np.abs(length_error(one, rest)).max() for one in run.points)
    source = {} if seconds is None else {"reference": seconds, "source": PAPER}
    report.add(case, "frame", float(np.median(run.seconds)), "s", **source)
    report.add(case, "largest length error", 100 * float(stretch), "%")


def _apart(run: Played, other: Played, part: slice = slice(None)) -> float:
    """Mean distance of vertices of two runs [mm], of those that a slice chooses."""
    pairs = zip(run.points, other.points, strict=True)
    return 1e3 * float(np.mean([np.linalg.norm((a - b)[:, part], axis=2).mean() for a, b in pairs]))


def _on_head(
    report: Report,
    groom: Groom,
    name: str,
    quick: bool,
    tell: ProgressCallback,
    paper: Mapping[str, float],
    **mesh_settings: float,
) -> None:
    """Hair on a head that shakes: kinematic, and simulated on weak and on strong springs to the mesh (fig. 5).

    A column of n nodes swings about n times as slowly as one of its nodes: `frequency` goes by the length of the hair.
    """
    setting = Setting.of(groom, "dyed_blue", (1.0, 0.3, 0.6), body=styles.body("mohawk"), head="shake")
    steps = 24 if quick else 48
    shown = (steps // 3, 2 * steps // 3, steps)
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "kinematic": ("volume", {}),
        "hairs, weak springs": ("individual", {"touching_only": False, "support_frequency": 1.5}),
        "hairs, strong springs": ("individual", {"touching_only": False, "support_frequency": 6.0}),
    }
    runs = {}
    for case, (method, settings) in kinds.items():
        skin = make_skin(method, groom, setting.simulation, **mesh_settings, **settings)
        assert isinstance(skin, VolumeSkin)
        runs[case] = _play(setting, skin, steps, shown, tell, case)
        _add(report, setting, case, runs[case], paper.get(case))
        report.add(case, "tips from the kinematic hair, mean", _apart(runs[case], runs["kinematic"], TIPS), "mm")
        mesh = skin.motion.mesh
    report.add("mesh", "nodes", mesh.node_count, "1", reference=paper["nodes"], source=PAPER)
    report.add("mesh", "tetrahedra", mesh.tet_count, "1", reference=paper["tetrahedra"], source=PAPER)
    _draw(report, setting, runs, shown, name)


def mohawk(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A mohawk that shakes (fig. 5): 1,263 strands, 15,784 particles in the paper."""
    groom = styles.make("mohawk", strands=80 if quick else 1_263, vertices=8 if quick else 13, seed=1)
    paper = {"kinematic": 17.0, "hairs, weak springs": 165.0, "hairs, strong springs": 165.0}
    paper |= {"nodes": 262, "tetrahedra": 895}
    _on_head(report, groom, "mohawk", quick, tell, paper, spacing=0.075, frequency=10.0)


def long_hair(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Long hair that shakes (fig. 8): 9,703 strands, 69,439 particles in the paper."""
    groom = styles.make("straight", strands=80 if quick else 9_703, vertices=8, seed=1)
    paper = {"hairs, weak springs": 669.0, "hairs, strong springs": 669.0, "nodes": 412, "tetrahedra": 1_557}
    _on_head(report, groom, "long_hair", quick, tell, paper, spacing=0.09, frequency=20.0)


def carpet(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A ball rolls over a carpet (fig. 7), 2,145 strands: all of them simulated, and only those that it touches."""
    groom = styles.make("carpet", strands=200 if quick else 2_145, vertices=8 if quick else 53, seed=1)
    mat = styles.body("carpet")
    low, high = mat.bounds
    radius, steps = 0.12 * float(high[0] - low[0]), 8 if quick else 48
    setting = Setting.of(groom, "painted", (0.6, 0.8, 1.0), body=mat, solids=[_rolling(mat.bounds, radius, steps)])
    shown = (steps // 3, 2 * steps // 3, steps)
    settings = {"linger": 0.1, "return_time": 0.4, "spacing": 0.5 * float(high[0] - low[0])}
    runs = {}
    for case, touching in (("all simulated", False), ("adaptive", True)):
        skin = make_skin("individual", groom, setting.simulation, touching_only=touching, **settings)
        assert isinstance(skin, IndividualSkin)
        runs[case] = _play(setting, skin, steps, shown, tell, case)
        report.add(case, "hairs simulated at once, at most", int(runs[case].active.max()), "1")
        report.add(case, "hairs simulated at once, mean", float(runs[case].active[1:].mean()), "1")
        _add(report, setting, case, runs[case], 10.0 if touching else 50.0)
        depth = [_depth(setting, one, number) for one, number in zip(runs[case].points, shown, strict=True)]
        report.add(case, "deepest in the ball", 1e3 * max(depth), "mm")
    some, every = (float(np.median(runs[case].seconds)) for case in ("adaptive", "all simulated"))
    report.add("adaptive", "time of simulating all, over its own", every / some, "1", reference=5.0, source=PAPER)
    off = _apart(runs["adaptive"], runs["all simulated"])
    report.add("adaptive", "distance from simulating all, mean", off, "mm")
    report.note("The paper has at most 150 of 2,145 hairs active at a time. Green hairs are simulated or return.")
    _draw(report, setting, runs, shown, "carpet")


def _rolling(bounds: FloatArray, radius: float, steps: int) -> Solid:
    """A ball that comes down to the pile at one end of a mat and rolls to the other."""
    low, high = bounds.astype(np.float64)
    middle = 0.5 * (low + high)
    share = np.linspace(0.0, 1.0, 9)
    along = low[0] + (high[0] - low[0]) * (0.2 + 0.6 * share)
    height = high[1] + radius + 0.004 + 0.03 * np.maximum(1 - 6 * share, 0) ** 2
    places = np.stack([along, height, np.full_like(along, middle[2])], axis=1)
    angle = -(along - along[0]) / radius
    turn = np.stack([0 * angle, 0 * angle, np.sin(angle / 2), np.cos(angle / 2)], axis=1)
    return Solid(Sphere((0.0, 0.0, 0.0), radius), KeyframedMotion(share * steps / FRAME_RATE, places, turn))


def _depth(setting: Setting, points: FloatArray, number: int) -> float:
    """How deep a vertex is in the ball [m]."""
    return float(max(-setting.simulation.solids[1].distance(points.reshape(-1, 3), number / FRAME_RATE).min(), 0.0))


def mass_spring(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Mass-spring hair of the whole coat (paper: 108 h per frame): a part is simulated, and its time scaled."""
    sizes, count = (QUICK, 40) if quick else (USUAL, 2_000)
    coat = make_coat(sizes, "walk", strands=count)
    every = Guides.chosen(coat.groom, np.arange(count))
    simulation = Simulation(every, "spring", body=coat.body, frame_rate=FRAME_RATE)
    steps, seconds = 3 if quick else 24, []
    for number in range(steps):
        tell("simulating every hair", number / steps)
        start = clock.perf_counter()
        simulation.step()
        seconds.append(clock.perf_counter() - start)
    frame = float(np.median(seconds[1:]))
    report.add(f"{count:,} hairs simulated one by one", "frame", frame, "s")
    scaled = frame * WHOLE_COAT / count
    report.add(
        f"{WHOLE_COAT:,} hairs, scaled from these", "frame", scaled / 3600, "h", reference=HOURS, source="lee2018 4"
    )
    report.note(
        f"Scaled by the number of hairs from {count:,}. Ours have {coat.groom.vertex_counts[0]} vertices and touch the "
        "body; those of the paper have 39 on average and touch nothing."
    )

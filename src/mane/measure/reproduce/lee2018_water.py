"""lee2018, water: the furred creature sloshed around, poured over and walking in a pool; a bare one that breaches."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mane.body.motion import Pose
from mane.body.solid import Solid
from mane.fluid.flow import Exchange
from mane.fluid.grid import Grid, Side
from mane.fluid.sources import Jet
from mane.fluid.surface_mesh import surface_mesh
from mane.fluid.water import Water
from mane.geometry.checks import FloatArray
from mane.io.usd.write_surface import write_surface
from mane.measure.reproduce.lee2018 import FRAME_RATE, PAPER, QUICK, USUAL, VIEW, Sizes, make_coat
from mane.measure.reproduce.reproduce import Report, Tell
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.skin.table import make_skin
from mane.volume.immersed import RADIUS, MeshDrag, occupancy, point_volumes
from mane.volume.mesh import mesh_around_body
from mane.volume.wet_hair import WetHair

HAIRS = 2_000_000  # of the whole coat
CELLS = {True: 32, False: 96}  # along the longest edge of the box
WATER_COLOR = (0.25, 0.45, 0.6)
CLEAR = 0.45  # how much of what is behind water is seen
STEPS = 2  # of water in a frame
JET_CELLS = 2.2  # radius of a jet [cells] below which a stream that falls gets thinner than the grid knows


@dataclass
class Moving:
    """A body during a step."""

    solid: Solid
    times: tuple[float, float]
    before: Pose = field(default_factory=Pose.identity)
    after: Pose = field(default_factory=Pose.identity)


@dataclass(frozen=True)
class Tank:
    """A box of water around a creature.

    Attributes:
        height: of the pool over the ground [m]; None for none.
        tilt: of its surface at the start, a height [m] over half of the box.
        jets: above the creature's back, given its bounds and the edge of a cell [m].
    """

    height: float | None = None
    tilt: float = 0.0
    jets: Callable[[FloatArray, float], Sequence[Jet]] = lambda bounds, cell: ()


def slosh(report: Report, *, quick: bool, tell: Tell) -> None:
    """A pool that sloshes around the creature while it shakes itself (fig. 4)."""
    _wet(report, Tank(height=0.35, tilt=0.12), "shake", "Bear Slosh", 181.0, quick=quick, tell=tell)


def pour(report: Report, *, quick: bool, tell: Tell) -> None:
    """Water poured over the creature's back (fig. 13)."""

    def jets(bounds: FloatArray, cell: float) -> list[Jet]:
        low, high = bounds.astype(np.float64)
        middle = 0.5 * (low + high)
        radius = max(0.07, JET_CELLS * cell)
        return [Jet((middle[0], float(high[1]) + 0.12, middle[2]), (0.0, -1.5, 0.0), radius)]

    _wet(report, Tank(jets=jets), "walk", "Bear Pour", 2183.0, quick=quick, tell=tell)


def water(report: Report, *, quick: bool, tell: Tell) -> None:
    """The creature walks in a pool that reaches to its belly (fig. 12)."""
    _wet(report, Tank(height=0.22), "walk", "Bear Water", 2957.0, quick=quick, tell=tell)


def breach(report: Report, *, quick: bool, tell: Tell) -> None:
    """A bare body that rises out of the water, with and without a layer that clings to it (fig. 14)."""
    sizes, cells = QUICK if quick else USUAL, CELLS[quick]
    coat = make_coat(sizes, "walk", strands=64)
    skin = coat.body.at(0.0).mesh()
    body = Solid.animated(skin, [0.0], skin.points[None])
    mesh = mesh_around_body(body, spacing=sizes.spacing, reach=0.08)
    steps, images = max(round(sizes.seconds * FRAME_RATE), 6), []
    speed = 1.2  # [m/s] upwards
    for adhesion in (0.0, 30.0):
        layer = MeshDrag.around(mesh, body, layer=0.06, adhesion=((0.0, adhesion),))
        tank = _tank(skin.points, Tank(height=float(skin.points[:, 1].max()) + 0.03), cells, room=0.6)
        raised, seconds = 0.0, []
        for step in range(steps):
            tell(f"breaching, adhesion {adhesion:g}/s", step / steps)
            before, after = (Pose(np.array([0.0, speed * t / FRAME_RATE, 0.0]), Pose.identity().rotation)
                             for t in (step, step + 1))  # fmt: skip
            nodes = mesh.nodes + after.position
            up = np.tile([0.0, speed, 0.0], (mesh.node_count, 1))
            exchange = layer.exchange(tank.grid, nodes, up, tank.time) if adhesion else None
            moving = Moving(body, (0.0, 1.0 / FRAME_RATE), before, after)
            start = clock.perf_counter()
            tank.step(1.0 / FRAME_RATE, [moving], exchange=exchange)
            seconds.append(clock.perf_counter() - start)
        level = tank.grid.cells(tank.surface.level.phi)
        wet = np.flatnonzero((level < 0).any(axis=(0, 2)))
        raised = float(tank.grid.origin[1] + tank.grid.cell * (wet.max() + 1))
        case = f"breach, {'no layer' if not adhesion else f'layer of {adhesion:g}/s'}, {cells} cells"
        report.add(case, "highest water", raised, "m")
        report.add(
            case, "water, a frame", float(np.median(seconds)), "s", reference=201.0, source=f"{PAPER}, Whale Breach"
        )
        report.add(case, "volume lost", 100 * abs(tank.lost), "%")
        lifted = [replace_points(skin, skin.points + np.float32(after.position))]
        images.append(_drawn(None, lifted, tank, sizes, np.concatenate([lifted[0].points, tank.grid.bounds])))
    report.picture(
        "breach", side_by_side(images, ["no layer", "layer that clings"]), "a bare body that leaves the water"
    )


def replace_points(mesh: Any, points: FloatArray) -> Any:
    """A mesh with other points."""
    return replace(mesh, points=np.ascontiguousarray(points, np.float32))


def _tank(points: FloatArray, tank: Tank, cells: int, room: float = 0.25, solids: Sequence[Moving] = ()) -> Water:
    """Water in a box around points, which stands on the ground below them and is open above."""
    low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    low, high = low - (0.2, 0.0, 0.2), high + (0.2, room, 0.2)
    cell = float((high - low).max()) / cells
    counts = 8 * np.ceil((high - low) / (8 * cell)).astype(np.int64)
    sides = [Side()] * 3 + [Side("open")] + [Side()] * 2
    grid = Grid(counts.tolist(), cell, 0.5 * (low + high - counts * cell) * (1, 0, 1) + (0.0, low[1], 0.0), sides)
    made = Water(grid, jets=tank.jets(np.stack([points.min(axis=0), points.max(axis=0)]), cell), tension=0.072)
    if tank.height is not None:
        ends = grid.bounds[:, 2]
        across = (ends[1] - ends[0]) / 2

        def pool(places: np.ndarray) -> np.ndarray:
            tilted = tank.tilt * (places[..., 2] - ends.mean()) / across
            distance: np.ndarray = places[..., 1] - low[1] - tank.height - tilted
            return distance

        made.fill(pool, solids)
    return made


def _wet(report: Report, tank: Tank, motion: str, row: str, paper: float, *, quick: bool, tell: Tell) -> None:
    """Water first, with what the mesh does to it; hair after, by what it has taken up (lee2018 3.3)."""
    sizes, cells = QUICK if quick else USUAL, CELLS[quick]
    coat = make_coat(sizes, motion)
    tell("making styles", 0.02)
    groom = coat.groom
    state: dict[str, WetHair] = {}
    skin: Any = make_skin(
        "volume", groom, coat.simulation, spacing=sizes.spacing, styles=("sagged", "matted"),
        wetness=((0.0, 0.0), (1.0, 2.0)), level=lambda time, rest: state["hair"].level(time, rest),
    )  # fmt: skip
    mesh, hairs = skin.motion.mesh, HAIRS / groom.strand_count
    part = occupancy(mesh, skin.embedding, groom, hairs=hairs)
    hair = state["hair"] = WetHair(hairs * point_volumes(groom, RADIUS), groom.offsets, skin.embedding.tets)
    drag = MeshDrag(mesh, part)
    points = skin(coat.frame(0.0))
    body = [Moving(coat.body, (0.0, 0.0))]
    made = _tank(coat.body.at(0.0).mesh().points, tank, cells, solids=body)
    total = made.surface.account["owned"]
    steps = max(round(sizes.seconds * FRAME_RATE), 6)
    shown, kept = [steps // 3, 2 * steps // 3, steps - 1], []
    spent: dict[str, list[float]] = {"water": [], "hair": []}
    nodes = skin.motion.nodes(coat.frame(0.0)).copy()
    worst, surfaces = 0.0, []
    for number in range(steps):
        tell("water first, hair after", number / steps)
        time = (number + 1) / FRAME_RATE
        after = skin.motion.nodes(coat.frame(time)).copy()
        velocity = (after - nodes) * FRAME_RATE
        start = clock.perf_counter()
        for step in range(STEPS):
            now = (number + (step + 1) / STEPS) / FRAME_RATE
            between = nodes + (step + 1) / STEPS * (after - nodes)
            exchange: Exchange = drag.exchange(made.grid, between, velocity, now)
            moving = [Moving(coat.body, (now - 1.0 / (STEPS * FRAME_RATE), now))]
            made.step(1.0 / (STEPS * FRAME_RATE), moving, exchange=exchange)
        middle = clock.perf_counter()
        before = made.surface.account["owned"] + hair.absorbed + hair.dripped
        hair.step(points, made.surface, 1.0 / FRAME_RATE)
        points = skin(coat.frame(time))
        spent["hair"].append(clock.perf_counter() - middle)
        spent["water"].append(middle - start)
        known = made.surface.account["owned"] + hair.absorbed + hair.dripped
        worst = max(worst, abs(known - before) / max(before, 1e-12))
        nodes = after
        surfaces.append(surface_mesh(made.surface.level))
        if number in shown:
            solid = coat.body.at(time).mesh()
            drawn = groom.with_points(points.reshape(-1, 3).copy())
            kept.append(_drawn(drawn, [solid], made, sizes, np.concatenate([solid.points, points.reshape(-1, 3)])))
    case = f"{report.name}, {groom.strand_count:,} hairs, {'x'.join(map(str, made.grid.shape))} cells"
    report.add(case, "frame, water and hair", float(np.median(spent["water"]) + np.median(spent["hair"])), "s",
               reference=paper, source=f"{PAPER}, {row}")  # fmt: skip
    for name, seconds in spent.items():
        report.add(case, f"frame, {name}", float(np.median(seconds)), "s")
    report.add(case, "water in the coat", 1e3 * hair.absorbed, "litres")
    report.add(case, "mean saturation", float(hair.saturation.mean()), "1")
    report.add(
        case, "free, absorbed and dripped: change while hair drinks and drips, over all", worst, "1", target=1e-6
    )
    report.add(case, "volume that the surface lacks", 100 * abs(made.lost), "%", target=2.0)
    report.add(case, "water at the start", 1e3 * total, "litres")
    write_surface(report.folder / "water.usdc", surfaces, FRAME_RATE)
    captions = [f"{(number + 1) / FRAME_RATE:.2f} s" for number in shown]
    report.picture(report.name, side_by_side(kept, captions), f"{report.name}: water first, hair after")
    report.note(
        "Water is drawn as a clear film over what is behind it, without refraction; hair and water are layered."
    )


def _drawn(groom: Any, solids: list[Any], made: Water, sizes: Sizes, framed: np.ndarray) -> np.ndarray:
    """A picture with the water blended over what is seen without it."""
    camera = Camera.framing(framed, VIEW, aspect=sizes.picture[0] / sizes.picture[1])
    size = sizes.picture
    dry = render(groom, solids, camera=camera, size=size, look="painted")
    mesh = surface_mesh(made.surface.level)
    if mesh is None:
        return dry
    clay = np.full((sum(len(solid.points) for solid in solids), 3), 0.35, np.float32)
    colors = np.concatenate([clay, np.tile(np.array(WATER_COLOR, np.float32), (len(mesh.points), 1))])
    wet = render(groom, [*solids, mesh], camera=camera, size=size, look="painted", body_color=colors)
    mixed: np.ndarray = np.round(CLEAR * dry.astype(np.float64) + (1.0 - CLEAR) * wet).astype(np.uint8)
    return mixed

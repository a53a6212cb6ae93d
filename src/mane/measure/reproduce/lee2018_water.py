"""lee2018, water: the furred creature sloshed around, poured over and walking in a pool; a bare one that breaches.

Every frame is kept (`kept_frames`): a run that was stopped goes on after the last one when it is started again.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.body.solid import Solid
from mane.fluid.drop_mesh import water_mesh
from mane.fluid.grid import Grid, Side
from mane.fluid.sources import Jet
from mane.fluid.water import GRAVITY, Water
from mane.fluid.wet_hair import WetHair
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.io.usd.write_surface import write_surface
from mane.measure.reproduce.kept_frames import KeptFrames, Remembering, Rows
from mane.measure.reproduce.lee2018 import FRAME_RATE, PAPER, QUICK, VIEW, Coat, Sizes, make_coat
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.render.camera import Camera
from mane.render.looks import LOOKS, STYLE_LEVEL
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.render.sheet import read_picture, write_png
from mane.skin.table import make_skin
from mane.volume.immersed import RADIUS, MeshDrag, occupancy, point_volumes
from mane.volume.mesh import mesh_around_body

HAIRS = 2_000_000  # of the whole coat
FULL = Sizes(100_000, 3.0, 0.04, (1280, 720))
CELLS = {True: 32, False: 96}  # along the longest edge of the box
STEPS = 2  # of water in a frame
JET_CELLS = 2.2  # radius of a jet [cells] below which a stream that falls gets thinner than the grid knows
LEAP = 3.5  # [m/s] upwards, of the body that breaches
TOP = LEAP / -GRAVITY[1]  # [s] when it is highest
# Times [s] and rates [1/s] of the layer that clings to it: turned down to nothing once it falls, so that water parts.
CLINGING = ((0.0, 30.0), (TOP, 30.0), (TOP + 0.1, 0.0))
ELSEWHERE = "volume that was lost where it was and made up for elsewhere, all frames together"
SHOWN = 3  # frames beside each other in the picture of a scene


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


def slosh(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A pool that sloshes around the creature while it shakes itself (fig. 4)."""
    shake = {"motion": "shake"}
    _wet(report, Tank(height=0.35, tilt=0.12), shake, "Bear Slosh", 181.0, quick=quick, tell=tell)


def pour(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Water poured over the creature's back, which walks on the spot so that it stays below the jet (fig. 13)."""

    def jets(bounds: FloatArray, cell: float) -> list[Jet]:
        low, high = bounds.astype(np.float64)
        middle = 0.5 * (low + high)
        radius = max(0.07, JET_CELLS * cell)
        return [Jet((middle[0], float(high[1]) + 0.12, middle[2]), (0.0, -1.5, 0.0), radius)]

    walk = {"motion": "walk", "in_place": True}
    _wet(report, Tank(jets=jets), walk, "Bear Pour", 2183.0, quick=quick, tell=tell)


def water(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """The creature walks slowly through a pool that reaches to its belly (fig. 12)."""
    walk = {"motion": "walk", "speed": 0.25}
    _wet(report, Tank(height=0.22), walk, "Bear Water", 2957.0, quick=quick, tell=tell)


def breach(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A bare body that leaps out of the water and falls back, without and with a layer that clings to it (fig. 14).

    The drag of the layer is keyframed: it raises water with the body, and lets go of it at the top.
    """
    sizes, cells = QUICK if quick else FULL, CELLS[quick]
    skin = make_coat(sizes, "walk", strands=64).body.at(0.0).mesh()
    body = Solid.animated(skin, [0.0], skin.points[None])
    mesh = mesh_around_body(body, spacing=sizes.spacing, reach=0.08)
    rows = []
    clinging = MeshDrag.around(mesh, body, layer=0.06, adhesion=CLINGING)
    for name, layer in (("no layer", None), (f"layer of {CLINGING[0][1]:g}/s until {TOP:.2f} s", clinging)):
        rows.append(_leap(report, body, skin, layer, name, sizes, cells, tell))
    raised = [row["raised"] for row in rows]
    report.add(f"breach, {cells} cells", "water that the layer raises more, at most", raised[1] - raised[0], "litres")
    kept = [read_picture(file) for row in rows for file in row["pictures"]]
    captions = [f"{name}, {caption}" for name in ("no layer", "layer") for caption in rows[0]["captions"]]
    report.picture("breach", side_by_side(kept, captions), "a bare body that leaves the water and falls back")


def _leap(
    report: Report,
    body: Solid,
    skin: Mesh,
    layer: MeshDrag | None,
    name: str,
    sizes: Sizes,
    cells: int,
    tell: ProgressCallback,
) -> dict[str, Any]:
    """One leap; returns what it raised at most [litres], and pictures."""
    height = float(skin.points[:, 1].max()) + 0.03
    tank = _tank(skin.points, Tank(height=height), cells, room=0.75, solids=[Moving(body, (0.0, 0.0))])
    steps, rows = _frame_count(sizes), Rows("raised", "water")
    frames = Pictures(report.folder / name.split(" of ")[0].replace(" ", "_"), steps)
    moving = _Placed(Pose.identity())
    parts: dict[str, Remembering] = {"water": tank, "rows": rows, "pose": moving}
    key = {"sizes": asdict(sizes), "cells": cells, "layer": name}
    corners = np.stack(np.meshgrid(*tank.grid.bounds.T), axis=-1).reshape(-1, 3).astype(np.float32)
    camera = _camera(np.concatenate([skin.points, corners]), sizes)
    for number in KeptFrames(frames.folder, key, steps, parts, tell, f"breaching, {name}"):
        time, before = (number + 1) / FRAME_RATE, moving.pose
        rise = max(LEAP * time + 0.5 * GRAVITY[1] * time * time, 0.0)
        after = Pose(np.array([0.0, rise, 0.0]), before.rotation)
        velocity = (after.position - before.position) * FRAME_RATE
        start = clock.perf_counter()
        exchange = None if layer is None else layer.exchange(
            tank.grid, layer.mesh.nodes + after.position, np.tile(velocity, (layer.mesh.node_count, 1)), tank.time
        )  # fmt: skip
        tank.step(1.0 / FRAME_RATE, [Moving(body, (0.0, 1.0 / FRAME_RATE), before, after)], exchange=exchange)
        moving.pose = after
        rows.of["water"].append(clock.perf_counter() - start)
        rows.of["raised"].append(1e3 * _volume_above(tank, height + float(tank.grid.origin[1]), body, after))
        lifted = replace(skin, points=np.ascontiguousarray(skin.points + np.float32(after.position)))
        frames.draw(number, None, [lifted], water_mesh(tank.surface), camera, sizes)
    case = f"breach, {name}, {'x'.join(map(str, tank.grid.shape))} cells"
    report.add(case, "water above the pool, at most", max(rows.of["raised"]), "litres")
    report.add(
        case, "frame, water", float(np.median(rows.of["water"])), "s", reference=201.0, source=f"{PAPER}, Whale Breach"
    )
    report.add(case, "volume that the surface lacks", 100 * abs(tank.lost), "%", target=2.0)
    report.add(case, ELSEWHERE, _made_up_for(tank), "%")
    frames.write_water()
    shown = [steps // 4, steps // 2, steps - 1]
    captions = [f"{(number + 1) / FRAME_RATE:.2f} s" for number in shown]
    return {"raised": max(rows.of["raised"]), "pictures": [frames.picture(n) for n in shown], "captions": captions}


@dataclass
class _Placed:
    """Where a body is, kept with the rest."""

    pose: Pose

    def memory(self) -> dict[str, Any]:
        """Position and rotation."""
        return {"position": self.pose.position.copy(), "rotation": self.pose.rotation.copy()}

    def restore(self, memory: Any) -> None:
        """Go back to what `memory` returned."""
        self.pose = Pose(memory["position"], memory["rotation"])


def _volume_above(tank: Water, height: float, body: Solid, pose: Pose) -> float:
    """Volume of water outside of a body above a height [m], drops included [m^3]."""
    grid = tank.grid
    axes = [o + grid.cell * (np.arange(n) + 0.5) for o, n in zip(grid.origin, grid.shape, strict=True)]
    part = np.clip(0.5 - grid.cells(tank.surface.level.phi), 0.0, 1.0).astype(np.float64)
    part[:, axes[1] < height] = 0.0
    at = np.argwhere(part > 0.0)
    places = np.stack([axes[k][at[:, k]] for k in range(3)], axis=1)
    outside = body.rest_distance(pose.inverse_apply(places).astype(np.float32)) > 0.0
    drops = tank.surface.spray
    flying = float(drops.volumes[drops.points[:, 1] > height].sum())
    return (float(part[tuple(at.T)][outside].sum()) + flying) * grid.cell**3


def _made_up_for(tank: Water) -> float:
    """Volume that the flow was told to make up for so far, over what there should be [%]."""
    account = tank.surface.account
    return 100.0 * account["regained"] / max(account["owned"], 1e-12)


def _frame_count(sizes: Sizes) -> int:
    return max(round(sizes.seconds * FRAME_RATE), 6)


def _camera(points: np.ndarray, sizes: Sizes) -> Camera:
    return Camera.framing(points, VIEW, aspect=sizes.picture[0] / sizes.picture[1])


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


class WetCoat:
    """A coat in water: water first, with what the mesh does to it; hair after, by what it has taken up (lee2018 3.3).

    Args:
        coat: fur and body.
        tank: of the water.
        sizes: how much is made.
        cells: along the longest edge of the box.
        path: points that the body comes to during the shot [m], shape (P, 3), which the box holds.
    """

    def __init__(self, coat: Coat, tank: Tank, sizes: Sizes, cells: int, path: FloatArray) -> None:
        self.coat, self.sizes = coat, sizes
        self.hair: WetHair
        groom, hairs = coat.groom, HAIRS / coat.groom.strand_count
        made: Any = make_skin(
            "volume", groom, coat.simulation, spacing=sizes.spacing, styles=("sagged", "matted"),
            wetness=((0.0, 0.0), (1.0, 2.0)), level=lambda time, rest: self.hair.level(time, rest),
        )  # fmt: skip
        self.skin = made
        mesh = made.motion.mesh
        self.hair = WetHair(hairs * point_volumes(groom, RADIUS), groom.offsets, made.embedding.tets)
        self._drag = MeshDrag(mesh, occupancy(mesh, made.embedding, groom, hairs=hairs))
        self.points = made(coat.frame(0.0)).copy()
        self._nodes = made.motion.nodes(coat.frame(0.0)).copy()
        body = [Moving(coat.body, (0.0, 0.0))]
        self.water = _tank(path, tank, cells, solids=body)

    @property
    def known(self) -> float:
        """All water that there is: free, in the coat, dripped [m^3]."""
        return self.water.surface.account["owned"] + self.hair.absorbed + self.hair.dripped

    def step(self, number: int) -> tuple[float, float, float]:
        """Make the frame after `number`: seconds of water and of hair, and by which part the hair changed the sum."""
        time = (number + 1) / FRAME_RATE
        start = clock.perf_counter()
        after = self.skin.motion.nodes(self.coat.frame(time)).copy()
        velocity = (after - self._nodes) * FRAME_RATE
        carried = clock.perf_counter()
        for step in range(STEPS):
            now = (number + (step + 1) / STEPS) / FRAME_RATE
            between = self._nodes + (step + 1) / STEPS * (after - self._nodes)
            exchange = self._drag.exchange(self.water.grid, between, velocity, now)
            moving = [Moving(self.coat.body, (now - 1.0 / (STEPS * FRAME_RATE), now))]
            self.water.step(1.0 / (STEPS * FRAME_RATE), moving, exchange=exchange)
        middle, before = clock.perf_counter(), self.known
        last = self.points.reshape(-1, 3).copy()
        self.points[...] = self.skin(self.coat.frame(time))
        speeds = (self.points.reshape(-1, 3).astype(np.float64) - last) * FRAME_RATE
        self.hair.step(self.points, self.water.surface, 1.0 / FRAME_RATE, velocity=speeds)
        self._nodes = after
        seconds = middle - carried, clock.perf_counter() - middle + carried - start
        return *seconds, abs(self.known - before) / max(before, 1e-12)

    def drawn(self) -> Groom:
        """The coat as it is, with its wetness as a level of looks, 0 to 1."""
        held = self.hair.saturation.astype(np.float32)
        return self.coat.groom.with_points(self.points.reshape(-1, 3).copy()).with_vertex(**{STYLE_LEVEL: held})

    def all_water(self) -> Mesh | None:
        """Surface, spray, and what drips from the coat."""
        return water_mesh(self.water.surface, self.hair.drops[:, [0, 1, 2, 6]])

    def memory(self) -> dict[str, Any]:
        """Arrays that continue exactly."""
        parts = {"water": self.water.memory(), "hair": self.hair.memory(), "skin": self.skin.memory()}
        flat = {f"{name}.{key}": array for name, arrays in parts.items() for key, array in arrays.items()}
        return {**flat, "points": self.points.copy(), "nodes": self._nodes.copy()}

    def restore(self, memory: Any) -> None:
        """Go back to what `memory` returned."""
        for name, part in (("water", self.water), ("hair", self.hair), ("skin", self.skin)):
            mine = {key[len(name) + 1 :]: array for key, array in memory.items() if key.startswith(f"{name}.")}
            part.restore(mine)
        self.points[...], self._nodes = memory["points"], memory["nodes"].copy()


class Pictures:
    """Pictures and surfaces of all frames in a folder."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self._count = folder, count
        folder.mkdir(parents=True, exist_ok=True)

    def picture(self, number: int) -> Path:
        """File of the picture of a frame."""
        return self.folder / f"frame.{number + 1:04d}.png"

    def draw(
        self, number: int, groom: Groom | None, solids: list[Mesh], water: Mesh | None, camera: Camera, sizes: Sizes
    ) -> None:
        """Draw a frame and keep the surface of its water."""
        looks = [LOOKS["painted"], replace(LOOKS["painted"], wetness=1.0)]
        write_png(
            self.picture(number), render(groom, solids, camera=camera, size=sizes.picture, look=looks, water=water)
        )
        arrays = {} if water is None else {"points": water.points, "faces": water.faces}
        np.savez(self._surface(number), allow_pickle=False, **arrays)

    def write_water(self) -> Path:
        """Write the surfaces of all frames as one file of USD."""
        return write_surface(self.folder / "water.usdc", [self._read(n) for n in range(self._count)], FRAME_RATE)

    def _surface(self, number: int) -> Path:
        return self.folder / f"water.{number + 1:04d}.npz"

    def _read(self, number: int) -> Mesh | None:
        with np.load(self._surface(number), allow_pickle=False) as arrays:
            return Mesh(arrays["points"], arrays["faces"]) if "points" in arrays else None


def _wet(
    report: Report, tank: Tank, motion: dict[str, Any], row: str, paper: float, *, quick: bool, tell: ProgressCallback
) -> None:
    """Play a shot of the coat in water, draw all frames, and add figures."""
    sizes, cells = QUICK if quick else FULL, CELLS[quick]
    tell("making styles", 0.0)
    coat = make_coat(sizes, **motion)
    steps, rows = _frame_count(sizes), Rows("water", "hair", "change", "lost", "owned")
    path = [coat.body.at(share * steps / FRAME_RATE).mesh().points for share in np.linspace(0.0, 1.0, 9)]
    wet = WetCoat(coat, tank, sizes, cells, np.concatenate(path))
    total, frames = wet.known, Pictures(report.folder, steps)
    camera = _camera(np.concatenate([*path, wet.points.reshape(-1, 3)]), sizes)
    key = {"scene": report.name, "motion": motion, "sizes": asdict(sizes), "cells": cells}
    for number in KeptFrames(report.folder, key, steps, {"coat": wet, "rows": rows}, tell, "water first, hair after"):
        for name, value in zip(("water", "hair", "change"), wet.step(number), strict=True):
            rows.of[name].append(value)
        rows.of["lost"].append(abs(wet.water.surface.missing))
        rows.of["owned"].append(wet.water.surface.account["owned"])
        solid = coat.body.at((number + 1) / FRAME_RATE).mesh()
        frames.draw(number, wet.drawn(), [solid], wet.all_water(), camera, sizes)
    hair = wet.hair
    add = partial(report.add, f"{report.name}, {coat.groom.strand_count:,} hairs, "
                  f"{'x'.join(map(str, wet.water.grid.shape))} cells, {steps} frames")  # fmt: skip
    spent = {name: float(np.median(rows.of[name])) for name in ("water", "hair")}
    add("frame, water and hair", sum(spent.values()), "s", reference=paper, source=f"{PAPER}, {row}")
    for name, seconds in spent.items():
        add(f"frame, {name}", seconds, "s")
    add("water in the coat", 1e3 * hair.absorbed, "litres")
    add("mean saturation", float(hair.saturation.mean()), "1")
    add("free, absorbed and dripped: largest change while hair drinks and drips, over all", max(rows.of["change"]), "1",
        target=1e-6)  # fmt: skip
    owned = max(*rows.of["owned"], 1e-12)
    add("volume that the surface lacks in the end", 100 * rows.of["lost"][-1] / owned, "%", target=2.0)
    # the stream of a quick run is four cells wide, which is too thin for a promise of every frame
    add("volume that the surface lacks at most", 100 * max(rows.of["lost"]) / owned, "%", target=None if quick else 2.0)
    add(ELSEWHERE, _made_up_for(wet.water), "%")
    add("water at the start", 1e3 * total, "litres")
    frames.write_water()
    shown = [steps // SHOWN, 2 * steps // SHOWN, steps - 1]
    captions = [f"{(number + 1) / FRAME_RATE:.2f} s" for number in shown]
    kept = [read_picture(frames.picture(number)) for number in shown]
    report.picture(report.name, side_by_side(kept, captions), f"{report.name}: water first, hair after")
    report.note("Hair and water are layered: the coat moves by its mesh and by what it holds, not by the water's push.")

"""Water in the salon: the coarse box that a hand pours into, and what a page sees of water and wet hair."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.contact.air.waterflow import Waterflow
from mane.fluid.drop_mesh import NO_DROPS, is_flying, raised_mesh
from mane.fluid.puddle_mesh import puddle_mesh
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.locks import lock_centres
from mane.salon.carriers import packing
from mane.salon.protocol import UNITS, encode
from mane.scene.config import Scene
from mane.skin.finish.wet_locks import WetLocks
from mane.skin.guide_values import GuideValues
from mane.strand.frame import GuideFrame, GuideWetness
from mane.strand.model import Float64Array

CELLS = 26  # along the longest side of the box: the coarsest that still looks like water
INTERVAL = 0.03  # [s] that a step of it takes: three of the hair's
ROOM = ((0.18, 0.05, 0.18), (0.18, 0.26, 0.18))  # around the hair, over its size
LEVELS = 255  # of how wet a guide is
SIDES = ("left", "right", "bottom", "top", "back", "front")


def box_values(groom: Groom) -> dict[str, Any]:
    """Keys of the scene that lay an empty box for water around hair at rest, open at all sides."""
    low, high = groom.points.min(axis=0).astype(np.float64), groom.points.max(axis=0).astype(np.float64)
    size = high - low
    low, high = low - ROOM[0] * size, high + ROOM[1] * size
    cell = float((high - low).max()) / CELLS
    values = {"cell": cell, "low": low.tolist(), "high": high.tolist(), "outflow": list(SIDES), "interval": INTERVAL}
    return {f"water.{name}": value for name, value in values.items()}


class WaterView:
    """Puts water and how wet hair is on topics, as soon as there is any; without water it does nothing.

    Args:
        emit: takes a topic and the newest message of it.
    """

    def __init__(self, emit: Any) -> None:
        self._emit = emit
        self._shows, self._is_wet, self._is_bound, self._time = False, False, False, -1.0

    def reset(self) -> None:
        """Begin anew with other hair."""
        if self._shows:
            self._emit("water", water_message(None, NO_DROPS))
        self._shows, self._is_wet, self._is_bound, self._time = False, False, False, -1.0
        for topic in ("wetting", "wet"):  # a page with other hair forgets them
            self._emit(topic, b"")

    def frame(self, frame: GuideFrame, flow: Waterflow | None, scene: Scene, groom: Groom, guides: Guides) -> None:
        """Show the water of a frame, or of the simulation that made it, and how wet hair is."""
        is_wet = frame.wet is not None and bool(frame.wet.held.any())
        if is_wet or self._is_wet:
            if not self._is_bound:
                self._emit("wetting", wetting_message(groom, guides, scene.water.lock))
                self._is_bound = True
            self._emit("wet", wet_message(frame, guides))
        self._is_wet = is_wet
        time = frame.time if flow is None else flow.water.time
        if time == self._time:  # the water waits for its next step
            return
        self._time = time
        mesh, drops = (frame.water, NO_DROPS) if flow is None else _pieces(flow)
        has_any = mesh is not None or len(drops) > 0
        if has_any or self._shows:
            self._emit("water", water_message(mesh, drops))
        self._shows = has_any


def _pieces(flow: Waterflow) -> tuple[Mesh | None, Float64Array]:
    """Surface of the water with puddles as triangles, and drops, places and volumes [m, m^3], (N, 4)."""
    surface = flow.water.surface
    spray, found = surface.spray, [raised_mesh(surface), puddle_mesh(surface.spray)]
    flying = is_flying(surface)
    volumes = spray.volumes[flying] * surface.grid.cell**3
    drops = np.concatenate([np.column_stack([spray.points[flying], volumes]), flow.dripped()])
    meshes = [mesh for mesh in found if mesh is not None]
    if len(meshes) < 2:
        return (meshes[0] if meshes else None), drops
    first, second = meshes
    faces = np.concatenate([first.faces, second.faces + np.int32(len(first.points))])
    return Mesh(np.concatenate([first.points, second.points]), faces), drops


def water_message(mesh: Mesh | None, drops: NDArray[np.floating[Any]]) -> bytes:
    """The surface as triangles with 16 bits for each coordinate, and drops as balls."""
    points = np.zeros((0, 3), np.float32) if mesh is None else mesh.points
    faces = np.zeros((0, 3), np.int32) if mesh is None else mesh.faces
    radii = np.cbrt(3.0 * drops[:, 3:] / (4.0 * np.pi))
    balls = np.concatenate([drops[:, :3], radii], axis=1)
    places = np.concatenate([points, drops[:, :3]])
    low, step = packing(places) if len(places) else (np.zeros(3), 1.0)
    packed = np.rint((points - low) / np.float32(step)).clip(0, UNITS).astype(np.uint16)
    return encode("water", low=low, step=step, packed=packed, faces=faces, drops=balls)


def wetting_message(groom: Groom, guides: Guides, hairs: int) -> bytes:
    """Whose wetness each hair takes, and the hair of its lock that it clings to: the first one that a page has."""
    values = GuideValues(groom, guides)
    own = np.arange(groom.strand_count)
    leaders = own
    if hairs:
        centres = lock_centres(groom.roots, hairs)
        first = np.full(groom.strand_count, groom.strand_count)
        np.minimum.at(first, centres, own)
        leaders = first[centres]
    return encode(
        "wetting",
        places=values.guides.shape[1],
        guide=values.guides,
        shares=values.shares,
        leader=leaders,
        strength=WetLocks.STRENGTH,
        start=WetLocks.START,
    )


def wet_message(frame: GuideFrame, guides: Guides) -> bytes:
    """What guides hold and how far their hair clings."""
    shape = guides.rest.shape[:2]
    wet = frame.wet or GuideWetness(*(np.zeros(shape, np.float32) for _ in range(2)))
    held, level = (np.rint(LEVELS * one).astype(np.uint8) for one in (wet.held, wet.level))
    return encode("wet", held=held, level=level)

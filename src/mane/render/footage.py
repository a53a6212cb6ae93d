"""`Footage`: what a file shows at each time: its hair and the bodies with it, one moment in memory at a time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mane.body.mesh import Mesh
from mane.groom.groom import Groom
from mane.io.formats import READABLE, USD_SUFFIXES, suffix_of
from mane.io.grooms import read_groom
from mane.io.meshes import MESH_READABLE, read_mesh
from mane.io.notices import FileNotice, about

if TYPE_CHECKING:
    from mane.io.usd import UsdBody

NO_BODY, BUST = "none", "bust"
STILL_RATE = 24.0  # frames per second where the file says nothing


@dataclass(frozen=True, eq=False)
class FootageFrame:
    """What is there at one time.

    Attributes:
        time: time code, or None for a file that holds one moment only.
        groom: the strands, or None where there are none.
        bodies: the meshes.
        water: its surface, or None where there is none.
    """

    time: float | None
    groom: Groom | None
    bodies: tuple[Mesh, ...]
    water: Mesh | None = None


class Footage:
    """A file with hair, meshes or both, still or moving.

    Args:
        path: a groom of any format that mane reads, or a USD file with curves, meshes or both.
        body: a mesh to show beside it: its file (USD may move), "bust" for the bust that procedural styles grow on,
            "none" to leave out even the meshes of a USD file; None shows those.
        unit: unit of the file, and
        up: its up axis, as `read_groom` takes them.
        points_per_strand: how to cut a .ply of bare points.
        body_unit: unit of the body's file, and
        body_up: its up axis, as `read_mesh` takes them.

    Attributes:
        times: time codes from the first to the last that is sampled, one frame apart; empty for a still file.
        rate: frames per second.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        body: str | os.PathLike[str] | None = None,
        *,
        unit: str | None = None,
        up: str | None = None,
        points_per_strand: int | None = None,
        body_unit: str | None = None,
        body_up: str | None = None,
    ) -> None:
        self.path = Path(path)
        self._options: dict[str, Any] = {"unit": unit, "up": up}
        self.rate = STILL_RATE
        samples: set[float] = set()
        is_usd = suffix_of(path, READABLE, "read") in USD_SUFFIXES
        self._has_curves, has_meshes = _usd_contents(path) if is_usd else (True, False)
        if not self._has_curves and not has_meshes:
            raise ValueError(f"{self.path}: has neither BasisCurves nor a Mesh to show; export the hair as curves")
        self._still: Groom | None = None
        if is_usd and self._has_curves:
            samples |= self._look_into_curves()
        elif not is_usd:
            self._still = read_groom(path, points_per_strand=points_per_strand, **self._options)
        self._bodies: list[Callable[[float | None], Mesh]] = []
        with nullcontext() if body is None else about("body"):
            for moving in self._open_bodies(body, body_unit, body_up, has_meshes):
                samples |= moving
        self.times = _whole_frames(samples)

    def _look_into_curves(self) -> set[float]:
        """Read the first moment, which says what is wrong with the file, and return the sampled times."""
        from mane.io.usd import read_usd_groom

        read = read_usd_groom(self.path, **self._options)
        self.rate = read.source.timing.time_codes_per_second
        return {float(time) for time in read.times}

    def _open_bodies(
        self, body: str | os.PathLike[str] | None, unit: str | None, up: str | None, has_meshes: bool
    ) -> Iterable[set[float]]:
        """Open what is to be seen beside the hair, and give the times at which it is sampled."""
        if body is None and has_meshes:
            yield self._open_usd_body(self.path, self._options["unit"], self._options["up"])
        elif body == BUST:
            from mane.body.bust import make_bust

            bust = make_bust().mesh
            self._bodies.append(lambda time: bust)
        elif body is not None and body != NO_BODY:
            if suffix_of(body, MESH_READABLE, "read as a mesh") in USD_SUFFIXES:
                yield self._open_usd_body(Path(body), unit, up)
            else:
                mesh = read_mesh(body, unit=unit, up=up)
                self._bodies.append(lambda time: mesh)

    def _open_usd_body(self, path: Path, unit: str | None, up: str | None) -> set[float]:
        from mane.io.usd import read_usd_body

        opened: UsdBody = read_usd_body(path, unit=unit, up=up)
        rest = opened.mesh()
        is_moving = len(opened.times) > 0
        self._bodies.append(lambda time: rest.with_points(opened.points(time)) if is_moving else rest)
        if is_moving and not self._has_curves:
            self.rate = opened.timing.time_codes_per_second
        return {float(time) for time in opened.times}

    @property
    def is_moving(self) -> bool:
        """Whether there is more than one moment."""
        return len(self.times) > 1

    def at(self, time: float | None = None) -> FootageFrame:
        """Return what is there at a time code, by default the first one."""
        if time is None and self.times:
            time = self.times[0]
        return FootageFrame(time, self._groom(time), tuple(body(time) for body in self._bodies))

    def _groom(self, time: float | None) -> Groom | None:
        if not self._has_curves:
            return None
        if self._still is not None:
            return self._still
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileNotice)  # told when the file was opened
            groom = read_groom(self.path, time=time, **self._options)
        # Looks give every strand a colour of its own; a moving root must not change it.
        return groom if "id" in groom.strand else groom.with_strand(id=np.arange(groom.strand_count, dtype=np.int32))


def _usd_contents(path: str | os.PathLike[str]) -> tuple[bool, bool]:
    """Whether a USD file has curves and whether it has meshes."""
    from mane.io.usd.find_prims import prims_below
    from mane.io.usd.stage import open_stage

    kinds = {str(prim.GetTypeName()) for prim in prims_below(path, open_stage(path), None)}
    return "BasisCurves" in kinds, "Mesh" in kinds


def _whole_frames(samples: Iterable[float]) -> list[float]:
    """Time codes one apart from the first sample up to the last."""
    sampled = sorted(samples)
    if not sampled:
        return []
    count = int(np.floor(sampled[-1] - sampled[0] + 1e-6)) + 1
    return [sampled[0] + k for k in range(count)]

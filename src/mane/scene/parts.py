"""The things that the tables of a scene name: motions, solids, wind, interactions, material."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mane.body.motion import Motion, Pose, Twist
from mane.scene.options import prop_maker, shape_class, stage_options
from mane.scene.values import VARYING
from mane.stage.protocol import Provide, Stage, needed


@dataclass(frozen=True, eq=False)
class PlacedMotion:
    """Carries what stands at `start` by `motion`.

    Attributes:
        motion: as if the thing stood at the origin.
        start: where it stands.
    """

    motion: Motion
    start: Pose

    @property
    def teleports(self) -> tuple[float, ...]:
        """Times [s] at which the pose jumps."""
        return self.motion.teleports

    def teleported(self, start: float, end: float) -> bool:
        """Whether the pose jumps after `start` and not after `end` [s]."""
        return self.motion.teleported(start, end)

    def pose(self, time: float) -> Pose:
        """Where it is at `time` [s]."""
        return self.motion.pose(time).compose(self.start)

    def velocity(self, time: float) -> Twist:
        """How it moves at `time` [s]; a rigid motion moves all points of space alike, wherever the thing stands."""
        return self.motion.velocity(time)


if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mane.body.motion import Motion
    from mane.body.props.base import Prop
    from mane.body.shapes import Shape
    from mane.body.solid import Solid
    from mane.contact.air.airflow import Airflow
    from mane.contact.air.fields import AnyField
    from mane.contact.air.shelter import Shelter
    from mane.contact.air.waterflow import Waterflow
    from mane.contact.air.wet_guides import WetGuides
    from mane.contact.air.wind import Wind
    from mane.fluid.sources import Drain, Jet
    from mane.groom.guides import Guides
    from mane.scene.config import (
        AirFieldTable,
        AirTable,
        HeadTable,
        SolidTable,
        StrandTable,
        WaterSourceTable,
        WaterTable,
        WindTable,
    )
    from mane.strand.material import Material
    from mane.strand.ports import MovingSolid


def is_motion_file(motion: str) -> bool:
    """Whether a motion is the name of a file, not that of a motion made in code."""
    from mane.io.motions import MOTION_FILES

    return Path(motion).suffix.lower() in MOTION_FILES


def make_head_motion(table: HeadTable, folder: Path, seed: int, find_pivot: Callable[[], ArrayLike]) -> Motion:
    """Return the motion of the head; `find_pivot` gives the point that it turns about where the table does not."""
    from mane.body.motion_presets import turns_about_pivot

    names = ("amplitude", "rate", "ease_in", "stop", "pivot")
    chosen = {name: getattr(table, name) for name in names if getattr(table, name) is not None}
    if is_motion_file(table.motion):
        for name in chosen:
            raise ValueError(f"{name}: is for named motions; {table.motion} has its own")
        return _motion(table.motion, folder, seed)
    if table.pivot is None and turns_about_pivot(table.motion):
        chosen["pivot"] = find_pivot()
    return _motion(table.motion, folder, seed if table.seed is None else table.seed, **chosen)


def check_motion(table: HeadTable | SolidTable, seed: int) -> None:
    """Raise ValueError for a motion by name that there is not, or with values out of range; files are read later."""
    if table.motion is None or is_motion_file(table.motion):
        return
    from mane.scene.config import HeadTable

    if isinstance(table, HeadTable):
        make_head_motion(table, Path(), seed, lambda: (0.0, 0.0, 0.0))
    else:
        _motion(table.motion, Path(), seed)


def _motion(name: str, folder: Path, seed: int, **settings: Any) -> Motion:
    if is_motion_file(name):
        from mane.io.motions import read_motion

        return read_motion(folder / name)
    from mane.body.motion_presets import make_motion

    return make_motion(name, seed=seed, **settings)


def make_solid(table: SolidTable, folder: Path, seed: int) -> Solid:
    """Return a solid with its motion."""
    from mane.body.solid import Solid

    motion = _solid_motion(table, folder, seed)
    if table.mesh is not None:
        from mane.scene.bodies import read_solid

        return read_solid(table, folder, motion)
    thing = make_shape_or_prop(table)
    return Solid(thing, motion) if table.shape is not None else thing.solid(motion)


def make_shape_or_prop(table: SolidTable) -> Any:
    """Return the `Shape` or the `Prop` that a table describes."""
    if table.shape is not None:
        shape: Shape = shape_class(table.shape)(**table.settings)
        return shape
    assert table.prop is not None
    prop: Prop = prop_maker(table.prop)(**table.settings)
    return prop


def _solid_motion(table: SolidTable, folder: Path, seed: int) -> Motion:
    import numpy as np

    from mane.body.motion import Pose
    from mane.body.motion_keys import KeyframedMotion
    from mane.geometry import quaternion
    from mane.scene.parts import PlacedMotion

    start = Pose(np.array(table.position), quaternion.exp(np.array(table.rotation_vector, np.float64)))
    if table.motion is not None:
        return PlacedMotion(_motion(table.motion, folder, seed), start)
    rows = np.array(table.keyframes or ((0.0, 0.0, 0.0, 0.0),))
    still = np.broadcast_to(start.rotation, (len(rows), 4))
    return KeyframedMotion(rows[:, 0], rows[:, 1:] + start.position, still)


def make_wind(table: WindTable, seed: int) -> Wind | None:
    """Return the wind, or None for still air."""
    import numpy as np

    from mane.contact.air.wind import GustingWind, UniformWind

    mean = np.array(table.velocity)
    if not mean.any():
        return None
    return GustingWind(mean, table.gusts, table.scale, seed) if table.gusts else UniformWind(mean)


def make_air_field(table: AirFieldTable, folder: Path) -> AnyField:
    """Return what a table of [[air_fields]] describes; files are relative to `folder`."""
    from mane.contact.air.fields import FIELDS
    from mane.geometry.checks import require_choice

    require_choice("kind", table.kind, list(FIELDS))
    settings = dict(table.settings)
    if "file" in settings:
        settings["file"] = str(folder / settings["file"])
    made: AnyField = FIELDS[table.kind](**settings)
    return made


def make_air(
    table: AirTable, wind: Wind | None, fields: Sequence[AnyField], drag: Any, guides: Guides
) -> Airflow | None:
    """Return the air as a fluid, or None where the scene has none."""
    from mane.contact.air.airflow import Airflow

    if table.cell is None:
        return None
    names = ("cell", "margin", "hairs", "triangles", "fibres", "wall", "confinement")
    return Airflow(wind, fields=fields, scale=drag, guides=guides, **{name: getattr(table, name) for name in names})


def make_water_source(table: WaterSourceTable) -> Jet | Drain:
    """Return what a table of [[water_sources]] describes."""
    from mane.fluid.sources import WATER_SOURCES
    from mane.geometry.checks import require_choice

    require_choice("kind", table.kind, list(WATER_SOURCES))
    return WATER_SOURCES[table.kind](**table.settings)


def make_water(
    table: WaterTable, sources: Sequence[Jet | Drain], guides: Guides, solids: Sequence[MovingSolid], **given: Any
) -> Waterflow | None:
    """Return water that guides are in, its pool around solids as they stand at the start; None for no water.

    `given` are gravity [m/s^2], the seed of its markers and the `scale` of drag.
    """
    import numpy as np

    from mane.contact.air.waterflow import Waterflow
    from mane.fluid.grid import Grid, Side
    from mane.fluid.sources import Drain, Jet
    from mane.fluid.water import Water
    from mane.scene.config import WATER_SIDES

    if table.cell is None:
        return None
    counts = np.ceil((np.array(table.high) - table.low) / table.cell - 1e-6).astype(np.int64)
    sides = [Side("open" if side in table.outflow else "slip") for side in WATER_SIDES]
    water = Water(
        Grid(counts.tolist(), table.cell, table.low, sides),
        jets=[source for source in sources if isinstance(source, Jet)],
        drains=[source for source in sources if isinstance(source, Drain)],
        gravity=given["gravity"], tension=table.tension, wall=table.wall, markers=table.markers, seed=given["seed"],
    )  # fmt: skip
    height = table.pool
    if height is not None:
        water.fill(lambda points: points[..., 1] - height, solids)
    own = {name: getattr(table, name) for name in ("hairs", "feels_hair", "interval")}
    return Waterflow(water, scale=given["scale"], guides=guides, **own)


def make_wetting(table: WaterTable, flow: Waterflow) -> WetGuides | None:
    """Return what makes guides wet, or None where hair stays dry."""
    from mane.contact.air.wet_guides import WetGuides
    from mane.fluid.wet_hair import WettingParams

    if not table.wets:
        return None
    names = ("uptake", "soaking", "held", "dripping")
    params = WettingParams(reach=flow.water.grid.cell, **{name: getattr(table, name) for name in names})
    return WetGuides(flow, params)


def make_shelters(table: WindTable) -> list[Shelter]:
    """Return what keeps the wind away."""
    from mane.contact.air.shelter import HairShelter, SolidShelter

    if not any(table.velocity):
        return []
    return [*([SolidShelter()] if table.solids_shelter else []), *([HairShelter()] if table.hair_shelters else [])]


def make_stage(
    stage: type[Stage], settings: Mapping[str, Any], *providers: Provide, given: Mapping[str, Any] | None = None
) -> Any:
    """Return a stage with the settings of a scene file, what it is `given`, and what else it needs of the scene."""
    own = dict(given or {})
    return stage.for_scene(**needed(stage, *providers, given=own), **own, **as_written(stage, settings))


def as_written(stage: type[Stage], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a scene file as a stage takes them: rows of fraction and value are curves from root to tip."""
    options = stage_options(stage)
    return {name: varying(value) if options.get(name) is VARYING else value for name, value in settings.items()}


def make_material(table: StrandTable) -> Material:
    """Return the material, with the properties that the scene gives in place of its own."""
    from mane.strand.material import MATERIALS

    return dataclasses.replace(MATERIALS[table.material], **_varying_values(table.properties))


def _varying_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: varying(value) for name, value in settings.items()}


def varying(value: Any) -> Any:
    """Make rows of fraction and value a curve from root to tip; anything else stays as it is."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        from mane.strand.variation import Curve

        return Curve([row[0] for row in value], [row[1] for row in value])
    return value

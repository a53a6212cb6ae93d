"""Settings of the volume skin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mane.geometry.limits import Choice, Fraction, NotNegative, Positive, Range, check_limits
from mane.volume import _kernels_embed as kernels
from mane.volume.dynamic import DynamicParams
from mane.volume.lattice import Float64Array
from mane.volume.springs import SpringParams

LENGTHS = {
    "direction": kernels.KEEP_DIRECTION,
    "point": kernels.TOWARDS_POINT,
    "printed": kernels.SHORTEN,
}


@dataclass(frozen=True)
class VolumeParams:
    """Settings of `VolumeSkin`.

    Attributes:
        spacing: edge of the lattice's cubes [m]; a thirtieth of the groom's diagonal by default.
        frequency: at which a node of the mesh would swing on its own edges [Hz]; a coat swings more slowly.
        damping: of the mesh's springs; 1 is critical for each of them, as lee2018 4 has it.
        skin_stiffness: of the springs between skin and mesh, over that of a node on its edges.
        steps: of the mesh in a second; a frame takes at least one.
        lengths: how segments get their lengths: "direction" keeps their directions, "point" goes from each vertex
            towards where the mesh has the next one, "printed" only shortens, and what it changes stays for all frames
            to come (lee2018 3.1), which loses length in the long run.
        tau: height over the skin below which hair that sinks is slowed down [m], so that it never goes through
            (lee2018 3.1).
        falloff: length along a hair over which the difference between its follicle and the mesh fades [m]; twice the
            spacing by default.
        dynamic: stiffness of the zero-length springs between the mesh and a second one that carries the hair (lee2018
            3.2.1), over that of a node on its edges; 0.05 is weak, 1 strong, 0 for no second mesh.
        dynamic_spacing: edge of the cubes of the second mesh [m], which may be finer; that of the first by default.
        follow_shape: how far the second mesh gives in to deformations of the first, 0 to 1.
        follow_shape_height: rows of height above the ground at rest [m] and factor on that, 0 to 1: a mane may swing
            more freely than legs.
        follow_position: share of the first mesh's displacement that the second is given, 0 to 1.
        follow_velocity: share of the change of its velocity, 0 to 1.
        dynamic_frequency: at which a node of the second mesh would swing on its own edges [Hz].
        dynamic_gravity: factor on the weight of the second mesh.
        dynamic_drag: rate at which still air slows the second mesh down [1/s].
        styles: shapes that the hair blends to as it gets wetter: names of style makers, or files of grooms with the
            same strands and vertices.
        wetness: rows of time [s] and level: 0 is the groom itself, 1 the first of the styles, 2 the second.
        from_water: the level is how wet the water of a scene's [water] has made the hair, in place of `wetness`.
        wetting_height: rows of height above the ground at rest [m] and factor on the speed of that: paws get wet
            first.
    """

    spacing: Positive | None = None
    frequency: Positive = 10.0
    damping: NotNegative = 1.0
    skin_stiffness: NotNegative = 100.0
    steps: Positive = 96.0
    lengths: Annotated[str, Choice(*LENGTHS)] = "direction"
    tau: NotNegative = 0.002
    falloff: Positive | None = None
    dynamic: NotNegative = 0.0
    dynamic_spacing: Positive | None = None
    follow_shape: Fraction = 1.0
    follow_shape_height: tuple[tuple[float, float], ...] = ()
    follow_position: Fraction = 0.0
    follow_velocity: Fraction = 0.0
    dynamic_frequency: Positive = 5.0
    dynamic_gravity: Annotated[float, Range()] = 0.0
    dynamic_drag: NotNegative = 0.0
    styles: tuple[str, ...] = ()
    wetness: tuple[tuple[float, float], ...] = ()
    from_water: bool = False
    wetting_height: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        check_limits(self)
        _ = self.springs, self.second_mesh
        for name in ("wetness", "wetting_height", "follow_shape_height"):
            rows = np.array(getattr(self, name), np.float64).reshape(-1, 2)
            if not np.isfinite(rows).all() or (np.diff(rows[:, 0]) <= 0).any():
                raise ValueError(f"{name}: must be rows of two numbers, the first of which rises, got {rows.tolist()}")
        if not all(0 <= factor <= 1 for _, factor in self.follow_shape_height):
            raise ValueError("follow_shape_height: must have factors from 0 to 1")
        if self.styles and self.lengths == "printed":
            raise ValueError("lengths: 'printed' drifts, and styles do not; choose 'direction', or no styles")
        if self.from_water and self.wetness:
            raise ValueError("from_water: must be false with wetness, rows of time and level; choose one of them")
        if bool(self.styles) != bool(self.wetness or self.from_water):
            raise ValueError("styles: must come with wetness, rows of time and level, or from_water, and these with it")

    def follow_shape_at(self, nodes: Float64Array) -> float | Float64Array:
        """How far the second mesh gives in at each of its nodes at rest (N, 3) [m], or everywhere."""
        if not self.follow_shape_height:
            return self.follow_shape
        height, factor = np.array(self.follow_shape_height, np.float64).T
        result: Float64Array = self.follow_shape * np.interp(nodes[:, 1], height, factor)
        return result

    @property
    def second_mesh(self) -> DynamicParams:
        """Settings of the second mesh."""
        return DynamicParams(
            SpringParams(frequency=self.dynamic_frequency, damping=self.damping),
            attachment=self.dynamic,
            follow_shape=self.follow_shape,
            follow_position=self.follow_position,
            follow_velocity=self.follow_velocity,
            gravity=self.dynamic_gravity,
            drag=self.dynamic_drag,
        )

    @property
    def springs(self) -> SpringParams:
        """What the mesh's springs are like."""
        return SpringParams(frequency=self.frequency, damping=self.damping, skin_stiffness=self.skin_stiffness)

"""`Material`: what hair is made of, in physical units, and the strand model that follows from it.

Sources of the numbers in `MATERIALS`, all of C. R. Robbins, Chemical and Physical Behavior of Human Hair:

- Young's modulus of air-dry hair in extension, 3 to 4 GPa (3.89 in its appendix), and density, 1320 kg/m^3.
- Radii from 25 um (fine) to 60 um (coarse), the spread over people. Which of them stands for straight, wavy or curly
  hair is our choice; curly hair tends to be the thinner one.
- Hair is not isotropic: measured in torsion its shear modulus is 0.89 GPa, where E / (2 (1 + nu)) with nu = 0.37, a
  usual value of polymers, gives 1.4 GPa. Twisting is the softest thing that a hair does either way.

Damping is our assumption: a loss factor of 0.1, as of many polymers, which is a damping ratio of 0.05. Kelvin and
Voigt's damping grows with frequency, so the ratio is met at one of them: 10 Hz, a lock that shakes. Air does the rest.

Sections are round. Elliptical ones, which make real curls bend in one plane, are not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import as_array, require_choice, require_positive
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.strand.model import STANDARD_FRICTION, STANDARD_GRAVITY, Float64Array, RootKind, StrandModel, joint_lengths
from mane.strand.variation import Layout, Varying, part_of, resolve, rest_points

DENSITY = 1320.0  # [kg/m^3]


def damping_time(ratio: float, frequency: float) -> float:
    """Time constant [s] that damps an oscillation of `frequency` [Hz] with the damping `ratio` (1 is critical).

    A moment K (x + tau x') makes m x'' + tau K x' + K x = 0, whose ratio is tau omega / 2 with omega^2 = K / m. So
    tau = 2 ratio / omega = ratio / (pi frequency); slower motion is damped less, faster motion more, in proportion.
    """
    if not (math.isfinite(ratio) and ratio >= 0):
        raise ValueError(f"ratio: must be a finite number, at least zero, got {ratio}")
    require_positive("frequency", frequency)
    return ratio / (math.pi * frequency)


DAMPING = damping_time(0.05, 10.0)  # [s]


@dataclass(frozen=True, eq=False)
class Material:
    """What strands are made of.

    Every field but `friction` is a `Varying`: a number, a curve, an array, a painted map, a product.

    Attributes:
        young: Young's modulus E [Pa].
        radius: of the hair [m]; `Painted("width", high=0.5)` takes the groom's own.
        density: [kg/m^3].
        poisson: Poisson's ratio, which gives the shear modulus E / (2 (1 + poisson)).
        damping: time constant of the material's own damping [s]; see `damping_time` and `damped`.
        stiffness: the artist's knob, a factor on bending and twisting alone: 1 is the physical hair, 0.1 a soft one.
            The weight and the resistance to stretching stay as they are.
        friction: Coulomb's coefficient, a number, for contact with solids and among hair that gives none of its own.
    """

    young: Varying = 3.9e9
    radius: Varying = 40e-6
    density: Varying = DENSITY
    poisson: Varying = 0.37
    damping: Varying = DAMPING
    stiffness: Varying = 1.0
    friction: float = STANDARD_FRICTION

    def __post_init__(self) -> None:
        if not (isinstance(self.friction, int | float) and math.isfinite(self.friction) and self.friction >= 0):
            raise ValueError(f"friction: must be a finite number of at least zero, got {self.friction}")

    def damped(self, ratio: float, frequency: float) -> Material:
        """Return the same material, damped with `ratio` (1 is critical) where it swings at `frequency` [Hz]."""
        return replace(self, damping=damping_time(ratio, frequency))

    @property
    def is_uniform(self) -> bool:
        """Whether every property is a number: the same for all strands, from root to tip."""
        return all(isinstance(getattr(self, one.name), int | float) for one in fields(self))

    def of_part(self, rows: slice, shape: tuple[int, int]) -> Material:
        """Return the material of some strands out of many of `shape` (G, V), where it varies from strand to strand."""
        parts: dict[str, Any] = {
            one.name: part_of(f"material.{one.name}", getattr(self, one.name), rows, shape)
            for one in fields(self)
            if one.name != "friction"
        }
        return replace(self, **parts)

    def model(
        self,
        guides: Guides | Groom | ArrayLike,
        *,
        root: str | RootKind | Sequence[str] | ArrayLike = "clamped",
        gravity: ArrayLike = STANDARD_GRAVITY,
    ) -> StrandModel:
        """Return the mechanics of strands of this material.

        A radius between vertices is that of the cone between them. A segment or joint takes the mean of each property
        over the piece of strand that it stands for.

        Args:
            guides: the strands as groomed; or rest points alone [m], shape (G, V, 3).
            root: "clamped", "hinged" or "free" for all strands, or one of them (or of `RootKind`) per strand.
            gravity: [m/s^2], shape (3,).
        """
        points = rest_points(guides)
        layout = Layout.of(guides)
        length = np.linalg.norm(np.diff(points, axis=1), axis=2)
        radius = resolve("material.radius", self.radius, layout, above=0)
        young = resolve("material.young", self.young, layout, above=0)
        poisson = resolve("material.poisson", self.poisson, layout, above=-1, at_most=0.5)
        density = resolve("material.density", self.density, layout, above=0)
        stiffness = resolve("material.stiffness", self.stiffness, layout, above=0)
        damping = resolve("material.damping", self.damping, layout, at_least=0)
        joint_young = joint_means(young * stiffness, length)
        # pi r^4 / 4; the polar moment of a disc is twice that.
        second_moment = 0.25 * math.pi * joint_means(radius, length) ** 4
        return StrandModel(
            rest_points=points,
            mass=_vertex_masses(density, radius, length),
            stretch_stiffness=segment_means(young) * math.pi * segment_means(radius) ** 2,
            bend_stiffness=joint_young * second_moment,
            twist_stiffness=joint_young * second_moment / (1 + joint_means(poisson, length)),
            damping=joint_means(damping, length),
            radius=radius,
            root_kind=root_kinds(root, len(points)),
            gravity=as_array("gravity", gravity, (3,), np.float64),
            friction=self.friction,
        )


MATERIALS = {
    "straight": Material(young=3.9e9, radius=40e-6),
    "wavy": Material(young=3.9e9, radius=36e-6),
    "curly": Material(young=3.5e9, radius=33e-6),
    "fine": Material(young=3.9e9, radius=25e-6),
    "coarse": Material(young=3.9e9, radius=55e-6),
}


def make_material(name: str) -> Material:
    """Return the preset of that name; see `MATERIALS`.

    Args:
        name: of a material; see `MATERIALS`.
    """
    require_choice("material", name, list(MATERIALS))
    return MATERIALS[name]


def segment_means(values: Float64Array) -> Float64Array:
    """Mean over each segment (G, N) of what is given at the vertices (G, V) and straight in between."""
    return 0.5 * (values[:, 1:] + values[:, :-1])


def joint_means(values: Float64Array, length: Float64Array) -> Float64Array:
    """Mean over the rod that each joint stands for (G, N) of what is given at the vertices (G, V).

    Args:
        values: at the vertices, straight in between.
        length: of each segment [m], shape (G, N).
    """
    own, beyond, before = values[:, :-1], values[:, 1:], values[:, :-2]
    # A half segment next to the vertex of value a, towards b, has the mean (3 a + b) / 4.
    total = 0.5 * length * (3 * own + beyond) / 4
    total[:, 1:] += 0.5 * length[:, :-1] * (3 * own[:, 1:] + before) / 4
    joint = joint_lengths(length)
    return np.divide(total, joint, out=own.copy(), where=joint > 0)


def root_kinds(root: str | RootKind | Sequence[str] | ArrayLike, strand_count: int) -> NDArray[np.int8]:
    """Return a `RootKind` per strand, shape (strand_count,), int8, from one name or kind for all, or one for each."""
    known = [kind.name.lower() for kind in RootKind]
    if isinstance(root, str):
        require_choice("root", root, known)
        return np.full(strand_count, RootKind[root.upper()], np.int8)
    array = np.asarray(root)
    if array.dtype.kind == "U":
        for name in np.unique(array):
            require_choice("root", str(name), known)
        array = np.array([RootKind[str(name).upper()] for name in array.reshape(-1)], np.int8)
    if array.ndim == 0:
        array = np.full(strand_count, array)
    kinds: NDArray[np.int8] = as_array("root", array, (strand_count,), np.int8)
    return kinds


def _vertex_masses(density: Float64Array, radius: Float64Array, length: Float64Array) -> Float64Array:
    """Mass of the half segments beside each vertex [kg], shape (G, V); a segment is a truncated cone."""
    middle_radius, middle_density = segment_means(radius), segment_means(density)
    mass = np.zeros_like(radius)
    for end in (slice(None, -1), slice(1, None)):
        end_radius = radius[:, end]
        section = math.pi / 3 * (end_radius**2 + end_radius * middle_radius + middle_radius**2)
        mass[:, end] += 0.5 * length * section * 0.5 * (density[:, end] + middle_density)
    return mass

"""What the measurements of strand models share: hairs of simple shape, letting them come to rest, stepping them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mane.strand.material import Material
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import Load
from mane.strand.roots import RootPose
from mane.strand.solver import SOLVERS, StrandSolver
from mane.strand.state import StrandState

GRAVITY = 9.81  # [m/s^2]
FADES = (0.0, 0.4, 0.65)  # for the members of a model's family of curves, from coarse to fine
HAIR = Material(young=3.9e9, radius=40e-6, density=1320.0, damping=0.0)
SECTION = np.pi * 40e-6**2  # [m^2]
LINE_DENSITY = 1320.0 * SECTION  # [kg/m]
BENDING = 3.9e9 * np.pi * 40e-6**4 / 4  # E I [N m^2]
TWISTING = BENDING / 1.37  # G J [N m^2]

# A strand has come to rest when no vertex would go further than this share of its length in a second.
REST_SPEED = 1e-8
LONGEST_REST = 16_000  # steps


def length_of(gravity_number: float) -> float:
    """Length [m] of a hair whose gravito-bending number rho A g L^3 / (E I) is the given one."""
    return float((gravity_number * BENDING / (LINE_DENSITY * GRAVITY)) ** (1 / 3))


def straight_points(lengths: ArrayLike, segments: int, direction: ArrayLike = (1.0, 0.0, 0.0)) -> Float64Array:
    """Straight strands [m] from roots side by side, 1 cm apart along z, shape (G, segments + 1, 3)."""
    size = np.asarray(lengths, np.float64)
    roots = np.zeros((len(size), 1, 3))
    roots[:, 0, 2] = 0.01 * np.arange(len(size))
    along = np.linspace(0.0, 1.0, segments + 1)[None, :, None] * size[:, None, None]
    return roots + along * np.asarray(direction, np.float64)


def still_roots(model: StrandModel) -> RootPose:
    """Return the roots where the groom has them."""
    identity = np.tile([0.0, 0.0, 0.0, 1.0], (model.strand_count, 1))
    return RootPose(model.rest_points[:, 0].copy(), identity)


def settle(solver: StrandSolver, *, dt: float = 0.01, force: Float64Array | None = None) -> tuple[StrandState, float]:
    """Let strands come to rest in thick air, by stepping until nothing moves or patience ends.

    The air resists every vertex in proportion to its mass, so that the slowest swing is damped just critically; where a
    strand comes to rest does not depend on that.

    Args:
        solver: of strands that a root holds.
        dt: step [s].
        force: on the vertices besides gravity [N], shape (G, V, 3).

    Returns:
        The state, and the speed that is left in it: lengths of the shortest strand per second.
    """
    model = solver.model
    roots, load = still_roots(model), Load.empty(model.strand_count, model.vertex_count)
    load.resistance[..., :3] = (2 * slowest_swing(model)[:, None] * model.mass)[..., None]
    if force is not None:
        load.force[...] = force
    state = solver.rest_state(roots)
    out = state.copy()
    speed = np.inf
    for _ in range(LONGEST_REST):
        solver.step(state, out, roots, load, dt=dt)
        speed = float(np.abs(out.points - state.points).max() / (dt * model.strand_length.min()))
        state, out = out, state
        if speed < REST_SPEED:
            break
    return state, speed


def slowest_swing(model: StrandModel) -> Float64Array:
    """Angular frequency [1/s] of the first bending mode of strands that hang by their own weight, roughly, (G,)."""
    length = model.strand_length
    mass = model.mass.sum(axis=1) / length
    bending = 12.4 * model.bend_stiffness.mean(axis=1) / (mass * length**4)
    hanging = 1.4 * np.linalg.norm(model.gravity) / length
    rate: Float64Array = np.sqrt(bending + hanging)
    return rate


@dataclass(frozen=True, eq=False)
class Run:
    """What a run of free motion left behind.

    Attributes:
        times: [s], shape (T,).
        tips: last vertices [m], shape (T, G, 3).
        energy: of each strand [J], shape (T, G).
        stretch: largest |stretch| of all.
    """

    times: Float64Array
    tips: Float64Array
    energy: Float64Array
    stretch: float


def swing(solver: StrandSolver, state: StrandState, *, dt: float, steps: int) -> Run:
    """Let strands move under gravity alone and record them; `state` is left alone."""
    tips, energies, stretch = [state.points[:, -1].copy()], [solver.energy(state)], 0.0
    for now in stepped(solver, state, dt=dt, steps=steps):
        tips.append(now.points[:, -1].copy())
        energies.append(solver.energy(now))
        stretch = max(stretch, float(np.abs(solver.stretch(now)).max()))
    times: Float64Array = dt * np.arange(steps + 1, dtype=np.float64)
    return Run(times, np.array(tips), np.array(energies), stretch)


def stepped(
    solver: StrandSolver,
    state: StrandState,
    *,
    dt: float,
    steps: int,
    load: Callable[[Load, StrandState], None] | None = None,
) -> Iterator[StrandState]:
    """Step strands on still roots, giving each state in turn (one object that changes)."""
    model = solver.model
    roots, acting = still_roots(model), Load.empty(model.strand_count, model.vertex_count)
    now = state.copy()
    for _ in range(steps):
        if load is not None:
            acting.clear()
            load(acting, now)
        solver.step(now, now, roots, acting, dt=dt)
        yield now


def free_model(points: Float64Array, gravity: ArrayLike = (0.0, -GRAVITY, 0.0)) -> StrandModel:
    """Return undamped hair that nothing holds."""
    return HAIR.model(points, root=RootKind.FREE, gravity=gravity)


def model_colour(model: str) -> int:
    """Colour of a strand model in plots, for `plot.Curve`; 0 is that of references."""
    return 1 + list(SOLVERS).index(model)

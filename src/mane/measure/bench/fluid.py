"""`mane bench fluid`: a step of air around a head, stage by stage, and its pressure beside MIC(0) and pyamg."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.fluid.flow import Exchange, Flow
from mane.fluid.grid import FloatArray, Grid, Side
from mane.fluid.multigrid import PressureSolver
from mane.geometry.threads import most_threads, using_threads
from mane.measure.bench import _kernels_advect_plain as plain_advection
from mane.measure.bench import _kernels_fluid_plain as plain
from mane.measure.figures import Figures
from mane.measure.timing import best_seconds

TOLERANCE = 1e-5
MOST_PLAIN = 1000  # iterations of the plain solver
TARGETS = {"pressure, 128^3": 0.2, "air, 64^3": 0.08}  # [s] on two threads
WIND = (4.0, 0.0, 0.0)
STEP = 0.005  # [s]
FLOATS_PER_ITERATION = 28  # numbers that one iteration reads or writes per cell, where all of it is fluid


def run(*, quick: bool = False, progress: Callable[[str], None] | None = None) -> Figures:
    """Time everything at two sizes, on one thread and on all."""
    figures, tell = Figures("fluid"), progress or (lambda text: None)
    sizes = (16, 32) if quick else (64, 128)
    copy = _copy_speed()
    figures.add("copy of 100 MB", "memory bandwidth", copy / 1e9, "GB/s", better="higher")
    spent: dict[int, float] = {}
    for size in sizes:
        for threads in sorted({1, most_threads()}):
            with using_threads(threads):
                tell(f"fluid: {size}^3 on {threads} threads")
                spent[size] = _add_step(figures, size, threads)
                _add_pressure(figures, size, threads, copy)
    growth = spent[sizes[1]] / spent[sizes[0]]
    figures.add(f"air, {sizes[0]}^3 to {sizes[1]}^3", "growth of a step, for 8 times the cells", growth, "1")
    tell("fluid: plain kernels and pyamg")
    _add_plain_advection(figures, sizes[0])
    _add_peers(figures, sizes[-1] if quick else 128, tell)
    return figures


def _copy_speed() -> float:
    """Bytes per second that a plain copy reads and writes."""
    source = np.zeros(25_000_000, np.float32)
    target = np.empty_like(source)
    return 2 * source.nbytes / best_seconds(lambda: np.copyto(target, source), 3)


def _head() -> Any:
    solid = Solid(Sphere((0.45, 0.5, 0.5), 0.15))
    return SimpleNamespace(solid=solid, before=Pose.identity(), after=Pose.identity(), times=(0.0, STEP))


class _Timed(Flow):
    """A flow that says how long its stages take."""

    seconds: dict[str, float]

    def _timed(self, name: str, work: Callable[..., Any], *args: Any) -> Any:
        start = time.perf_counter()
        result = work(*args)
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        return result

    def _carry(self, *args: Any) -> float:
        return float(self._timed("advection", super()._carry, *args))

    def _act(self, *args: Any) -> None:
        self._timed("viscosity and fields", super()._act, *args)

    def _exchange(self, *args: Any) -> None:
        self._timed("drag of hair", super()._exchange, *args)

    def _project(self, *args: Any) -> tuple[int, float]:
        result: tuple[int, float] = self._timed("pressure", super()._project, *args)
        return result


def _add_step(figures: Figures, size: int, threads: int) -> float:
    """Time steps of air around a head with hair on it, which moves, so that walls and matrix are made anew."""
    grid = Grid((size, size, size), 1.0 / size, sides=Side("open", WIND))
    flow, head = _Timed(grid), _head()
    flow.seconds = {}
    flow.fill(WIND)
    drag = np.zeros_like(flow.velocity)
    for axis in range(3):
        away = np.linalg.norm(grid.face_centers(axis) - (0.45, 0.5, 0.5), axis=-1)
        grid.faces(drag[axis], axis)[(away > 0.15) & (away < 0.2)] = 20.0 * flow.face_mass / STEP
    exchange = Exchange(drag, np.zeros_like(drag))

    def step(number: int) -> None:
        head.before, head.after = (_shifted(1e-4 * (number + end)) for end in (0, 1))
        flow.step(STEP, [head], exchange=exchange)

    for number in range(3):
        step(number)
    best, stages, repeats = np.inf, {}, 3
    for number in range(3, 3 + repeats):
        flow.seconds = {}
        start = time.perf_counter()
        step(number)
        spent = time.perf_counter() - start
        if spent < best:
            best, stages = spent, dict(flow.seconds)
    case, key = f"air, {size}^3, {threads} threads", f"air, {size}^3"
    goal: dict[str, Any] = {"target": TARGETS[key]} if key in TARGETS and threads > 1 else {}
    figures.add(case, "step, all in", best, "s", **goal)
    figures.add(case, "step per million cells", 1e3 * best / (grid.cell_count / 1e6), "ms")
    for name, seconds in {**stages, "walls and the rest": best - sum(stages.values())}.items():
        figures.add(case, name, 1e3 * seconds, "ms")
    return best


def _shifted(x: float) -> Pose:
    return Pose(np.array([x, 0.0, 0.0]), Pose.identity().rotation)


def _case(size: int) -> tuple[PressureSolver, list[FloatArray], FloatArray]:
    """The pressure of a uniform wind that meets a ball, from nothing."""
    grid = Grid((size, size, size), 1.0 / size, sides=Side("open"))
    flow = Flow(grid)
    flow.walls.update([_head()], STEP)
    faces = [flow.walls.open_part[axis] for axis in range(3)]
    solver = PressureSolver(grid, tolerance=TOLERANCE)
    solver.open_faces(*faces)
    b, c = grid.zeros(), grid.faces(faces[0], 0)
    grid.cells(b)[...] = c[:-1] - c[1:]
    grid.cells(b)[~solver.is_fluid] = 0.0
    return solver, faces, b


def _add_pressure(figures: Figures, size: int, threads: int, copy: float) -> None:
    solver, _, b = _case(size)
    seconds, report = np.inf, None
    for _ in range(3):
        solver.pressure[...] = 0.0
        start = time.perf_counter()
        report = solver.solve(b.copy())
        seconds = min(seconds, time.perf_counter() - start)
    assert report is not None
    key, cells = f"pressure, {size}^3", int(solver.is_fluid.sum())
    case = f"{key}, {threads} threads"
    goal: dict[str, Any] = {"target": TARGETS[key]} if key in TARGETS and threads > 1 else {}
    figures.add(case, f"solve to {TOLERANCE:g}", seconds, "s", **goal)
    figures.add(case, "iterations", report.iterations, "1", target=12)
    figures.add(case, "solve per million cells", 1e3 * seconds / (cells / 1e6), "ms")
    moved = 4.0 * FLOATS_PER_ITERATION * cells * report.iterations / seconds
    figures.add(case, "share of memory bandwidth", moved / copy, "1", better="higher")


def _add_plain_advection(figures: Figures, size: int) -> None:
    """Advection of the flow around a head beside the same scheme written face by face, on all threads."""
    grid = Grid((size, size, size), 1.0 / size, sides=Side("open", WIND))
    flow, head = Flow(grid), _head()
    flow.fill(WIND)
    for _ in range(3):
        flow.step(STEP, [head])
    shape, scale = np.array(grid.shape), np.float32(STEP / grid.cell)
    velocity = flow.velocity.copy()
    way, once, twice = (np.zeros_like(velocity) for _ in range(3))

    def carry_plainly() -> None:
        for axis in range(3):
            field = velocity[axis]
            plain_advection.trace_back(
                velocity, field, axis, shape, grid.kinds, grid.side_velocity, scale, way, once[axis]
            )
            plain_advection.correct(velocity, field, axis, shape, scale, way, once[axis], twice[axis])

    def carry() -> None:
        flow.velocity[...] = velocity
        flow._carry(STEP)

    carry_plainly()
    own, seconds = best_seconds(carry, 3), best_seconds(carry_plainly, 3)
    case = f"advection, {size}^3, {most_threads()} threads"
    figures.add(case, "advection, and a copy", 1e3 * own, "ms")
    figures.add(case, "plain advection", 1e3 * seconds, "ms")
    goal: dict[str, Any] = {"target": 4.0} if size >= 64 else {}
    figures.add(case, "times as fast as plain", seconds / own, "1", better="higher", **goal)


def _add_peers(figures: Figures, size: int, tell: Callable[[str], None]) -> None:
    solver, faces, b = _case(size)
    start = time.perf_counter()
    solver.pressure[...] = 0.0
    solver.solve(b.copy())
    own = time.perf_counter() - start
    seconds, iterations = _plain_seconds(solver.grid, faces, b)
    case = f"pressure, {size}^3, {most_threads()} threads"
    figures.add(case, "plain conjugate gradients with MIC(0)", seconds, "s")
    figures.add(case, "iterations of it", iterations, "1")
    figures.add(
        case, "times as fast as plain", seconds / own, "1", target=4.0 if size >= 128 else None, better="higher"
    )
    try:
        import pyamg  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
    except ImportError:
        tell("fluid: pyamg is not installed, so that its rows are left out; `pip install mane[peers]` brings it")
        return
    seconds, iterations = _pyamg_seconds(solver, faces, b)
    figures.add(case, "pyamg, smoothed aggregation with its set-up", seconds, "s")
    figures.add(case, "iterations of pyamg", iterations, "1")
    figures.add(case, "times as fast as pyamg", seconds / own, "1", better="higher")


def _plain_seconds(grid: Grid, faces: list[FloatArray], b: FloatArray) -> tuple[float, int]:
    """Seconds and iterations of the plain solver."""
    nz = grid.shape[2]
    cx, cy, cz = (np.ascontiguousarray(np.pad(c[:, :, : nz + 1], ((0, 1), (0, 1), (1, 0)))) for c in faces)
    right = np.pad(grid.cells(b), 1)
    plain.factorise(
        cx[:4, :4, :4].copy(), cy[:4, :4, :4].copy(), cz[:4, :4, :4].copy(), np.zeros((3, 3, 3), np.float32)
    )
    for warm in (True, False):
        start = time.perf_counter()
        factor = np.zeros(right.shape, np.float32)
        plain.factorise(cx, cy, cz, factor)
        x, r, z, y = np.zeros_like(right), right.copy(), np.zeros_like(right), np.zeros_like(right)
        size = float(np.sqrt((r * r).sum(dtype=np.float64)))
        p, product, count = None, 0.0, 0
        while count < (1 if warm else MOST_PLAIN):
            plain.precondition(cx, cy, cz, factor, r, z)
            before, product = product, float((r * z).sum(dtype=np.float64))
            p = z.copy() if p is None else z + np.float32(product / before) * p
            plain.apply_plain(cx, cy, cz, p, y)
            alpha = np.float32(product / float((p * y).sum(dtype=np.float64)))
            x += alpha * p
            r -= alpha * y
            count += 1
            if float(np.sqrt((r * r).sum(dtype=np.float64))) < TOLERANCE * size:
                break
    return time.perf_counter() - start, count


def _pyamg_seconds(solver: PressureSolver, faces: list[FloatArray], b: FloatArray) -> tuple[float, int]:
    """Seconds, set-up included, and iterations of pyamg."""
    import pyamg
    from scipy.sparse import coo_matrix

    grid = solver.grid
    fluid = solver.is_fluid
    number = np.full(grid.shape, -1)
    number[fluid] = np.arange(int(fluid.sum()))
    diagonal, rows, columns, values = np.zeros(grid.shape), [], [], []
    for axis in range(3):
        c = np.moveaxis(grid.faces(faces[axis], axis), axis, 0).astype(np.float64)
        own = np.moveaxis(number, axis, 0)
        total = np.moveaxis(diagonal, axis, 0)
        total += c[1:] + c[:-1]
        inner = c[1:-1] > 0
        low, high, face = own[:-1][inner], own[1:][inner], c[1:-1][inner]
        rows += [low, high]
        columns += [high, low]
        values += [-face, -face]
    every = np.arange(int(fluid.sum()))
    data = np.concatenate([*values, diagonal[fluid]])
    index = np.concatenate([*rows, every]), np.concatenate([*columns, every])
    matrix = coo_matrix((data, index), shape=(len(every), len(every))).tocsr()
    pyamg.smoothed_aggregation_solver(matrix[:1000, :1000])  # what it loads at first is not counted
    left: list[float] = []
    start = time.perf_counter()
    made = pyamg.smoothed_aggregation_solver(matrix, max_coarse=500)
    made.solve(grid.cells(b)[fluid].astype(np.float64), tol=TOLERANCE, accel="cg", residuals=left)
    return time.perf_counter() - start, len(left) - 1

"""`mane bench learned`: frames per second of hair that was learned, at the sizes of guan2012 table 2.

Models of full size with random numbers in them: what a frame takes does not depend on what was learned, but for the
vertices that must be pushed out of the body. Beside them: simulating the same guides, and the same sums in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mane.body.motion_presets import make_motion
from mane.body.solid import Solid
from mane.geometry.threads import using_threads
from mane.groom import styles
from mane.measure.bench.sdf import best_seconds
from mane.measure.figures import Figures
from mane.reduced._kernels_controls import HEAD_CONTROLS
from mane.reduced.canonical import HeadSpace, body_points
from mane.reduced.dynamics import CrossGrams
from mane.reduced.evaluate import hair_of
from mane.reduced.factors import Factor, corner_count
from mane.reduced.model import HairModel
from mane.reduced.player import HairPlayer
from mane.reduced.principal import Basis
from mane.reduced.representation import Directions
from mane.reduced.source import LearnedSource
from mane.scene.simulation import Simulation

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Size:
    """A row of guan2012 table 2.

    Attributes:
        guides: how many.
        total: the paper's frames per second, all stages.
        stages: of synthesis, collisions and reconstruction.
        simulated: of the paper's simulator.
        target: what we promise on two cores.
    """

    guides: int
    total: float
    stages: tuple[float, float, float]
    simulated: float
    target: float


SIZES = (
    Size(198, 70, (1429, 74.6, 5000), 7.7, 1500),
    Size(962, 50, (1429, 52.9, 2500), 5.5, 600),
    Size(3980, 45, (1429, 49, 909), 1.8, 200),
)
QUICK = (Size(48, 70, (1429, 74.6, 5000), 7.7, 1500),)
VERTICES, DIMENSIONS, RATE = 15, 100, 30.0
LENGTHS = (0.21, 0.46)  # [m] short and long
SYNTHESIS_TARGET, MEGABYTES_TARGET = 10_000, 100.0
SOURCE = "guan2012 table 2"


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Time every stage at every size on one and two threads; compiling is not counted."""
    figures = Figures("learned")
    say = progress or (lambda text: None)
    repeats = 20 if quick else 200
    seconds = []
    for size in QUICK if quick else SIZES:
        seconds.append(_measure(figures, size, repeats, say))
    if len(seconds) > 1:
        power = np.log(seconds[-1] / seconds[0]) / np.log(SIZES[-1].guides / SIZES[0].guides)
        figures.add("2 threads", "growth of a frame in guides, power", float(power), "1")
    _factors(figures, (QUICK if quick else SIZES)[0].guides, say)
    return figures


def _measure(figures: Figures, size: Size, repeats: int, say: Progress) -> float:
    say(f"learned: {size.guides:,} guides, a model of random numbers")
    model = random_model(size.guides)
    case = f"{size.guides:,} guides x {VERTICES}"
    limit = MEGABYTES_TARGET if size.guides == SIZES[-1].guides else None
    figures.add(case, "model", model.nbytes / 1e6, "MB", target=limit)
    body = Solid(styles.body("straight"))
    total = 0.0
    for threads in (1, 2):
        with using_threads(threads):
            say(f"learned: {size.guides:,} guides, {threads} threads")
            total = _stages(figures, f"{case}, {threads} thread{'s'[: threads - 1]}", size, model, body, repeats)
    _beside(figures, case, size, model, body, total, say)
    return total


def _source(model: HairModel, body: Solid | None, **settings: object) -> LearnedSource:
    sliders = {factor.name: 1.0 for factor in model.factors}
    head = make_motion("random", seed=3)
    return LearnedSource(model.guides(), model, sliders=sliders, head=head, body=body, **settings)  # type: ignore[arg-type]


def _stages(figures: Figures, case: str, size: Size, model: HairModel, body: Solid, repeats: int) -> float:
    """Seconds of a frame; stages as the paper divides them, everything else counted with reconstruction."""
    whole, free = _source(model, body), _source(model, body, collisions="off")
    for source in (whole, free):
        for _ in range(10):
            source.step()
    player, controls = whole._player, whole._controls()
    synthesis = best_seconds(lambda: player.synthesize(controls), repeats)
    synthesis += best_seconds(whole._controls, repeats)
    frame, bare = (float(np.median([best_seconds(one.step, 1) for _ in range(repeats)])) for one in (whole, free))
    collisions, reconstruction = max(frame - bare, 1e-9), max(bare - synthesis, 1e-9)
    is_promised = "2 threads" in case
    for name, seconds, paper, target in (
        ("synthesis", synthesis, size.stages[0], SYNTHESIS_TARGET),
        ("collisions", collisions, size.stages[1], None),
        ("reconstruction, roots and frames", reconstruction, size.stages[2], None),
        ("all", frame, size.total, size.target),
    ):
        figures.add(
            case, name, 1 / seconds, "frames/s", reference=paper, source=f"{SOURCE}, a GPU",
            target=target if is_promised else None, better="higher",
        )  # fmt: skip
    return frame


def _beside(
    figures: Figures, case: str, size: Size, model: HairModel, body: Solid, total: float, say: Progress
) -> None:
    say(f"learned: {size.guides:,} guides, beside")
    player = _source(model, body)._player
    figures.add(case, "change of a slider", 1e3 * _change_seconds(player, model), "ms")
    y = np.random.default_rng(0).normal(size=(1, model.coefficient_count))
    figures.add(
        case, "the same reconstruction in NumPy", 1 / best_seconds(lambda: hair_of(model, y, model.rest[-1]), 5),
        "frames/s", better="higher",
    )  # fmt: skip
    simulation = Simulation(
        model.guides(len(model.rest) - 1), body=body, head=make_motion("random", seed=3), frame_rate=RATE
    )
    simulation.step()
    seconds = float(np.median([best_seconds(simulation.step, 1) for _ in range(5)]))
    figures.add(
        case, "simulated", 1 / seconds, "frames/s", reference=size.simulated, source=f"{SOURCE}, Shave", better="higher"
    )
    figures.add(
        case, "learned over simulated", seconds / total, "1", reference=size.total / size.simulated, source=SOURCE
    )


def _factors(figures: Figures, guides: int, say: Progress) -> None:
    """How size and a change of a slider grow with the number of factors."""
    for count in range(4):
        say(f"learned: {count} factors")
        model = random_model(guides, factors=count)
        player = _source(model, None)._player
        case = f"{guides:,} guides, {count} factors"
        figures.add(case, "model", model.nbytes / 1e6, "MB")
        if count:
            figures.add(case, "change of a slider", 1e3 * _change_seconds(player, model), "ms")


def _change_seconds(player: HairPlayer, model: HairModel) -> float:
    """Seconds of a change of all sliders."""
    values = iter(np.linspace(0, 1, 100))
    names = [factor.name for factor in model.factors]
    return best_seconds(lambda: player.set_sliders(dict.fromkeys(names, float(next(values)))), 8)


def random_model(guides: int, factors: int = 2, seed: int = 0) -> HairModel:
    """A model of full size: long and short hair, a random basis, and the dynamics of random oscillations."""
    rng = np.random.default_rng(seed)
    names = ("length", "softness", "factor_3", "factor_4")[:factors]
    own = tuple(Factor.of_levels(name, (0, 1)) for name in names)
    corners = corner_count(own)
    short, long = (
        styles.make("straight", strands=guides, vertices=VERTICES, seed=1, length=length).as_uniform()
        for length in LENGTHS
    )
    # The first factor is the length: it runs slowest over the corners.
    rest = np.stack([short if corner < corners // 2 else long for corner in range(corners)])
    controls = [rng.normal(size=(500, HEAD_CONTROLS))]
    coefficients = [[_oscillations(rng, 500)] for _ in range(corners)]
    size = guides * (VERTICES - 1) * 3
    numbers = rng.integers(-32767, 32767, (size, DIMENSIONS), dtype=np.int16)
    scale = np.full(DIMENSIONS, 0.15 / (19_000 * np.sqrt(DIMENSIONS)))
    return HairModel(
        factors=own,
        rest=rest,
        groomed=rest,
        strands=np.arange(guides),
        basis=Basis(numbers, scale),
        mean=np.zeros(0, np.float32),
        representation=Directions(),
        space=HeadSpace(body_points(np.zeros((0, 3)))),
        dynamics=CrossGrams.of(controls, coefficients),
        frame_rate=RATE,
        grid=np.zeros((1, factors)),
        radii=np.zeros(1),
    )


def _oscillations(rng: np.random.Generator, frames: int) -> np.ndarray:
    out = np.zeros((frames, DIMENSIONS))
    for t in range(2, frames):
        out[t] = 1.6 * out[t - 1] - 0.7 * out[t - 2] + 0.2 * rng.normal(size=DIMENSIONS)
    return out

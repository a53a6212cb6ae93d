"""`mane bench learned`: frames per second of hair that was learned, at the sizes of guan2012 table 2.

Models of full size with random numbers in them: what a frame takes does not depend on what was learned, but for the
vertices that must be pushed out of the body. Beside them: simulating the same guides, and the same sums in NumPy.
"""

from __future__ import annotations

import numpy as np

from mane.body.solid import Solid
from mane.geometry.threads import using_threads
from mane.groom import styles
from mane.measure.figures import Figures
from mane.measure.study.learned import QUICK, SIZES, Progress, Size, beside, change_seconds, learned_source, stages
from mane.reduced._kernels_controls import HEAD_CONTROLS
from mane.reduced.canonical import HeadSpace, body_points
from mane.reduced.dynamics import CrossGrams
from mane.reduced.factors import Factor, corner_count
from mane.reduced.model import HairModel
from mane.reduced.principal import Basis
from mane.reduced.representation import Directions

VERTICES, DIMENSIONS, RATE = 15, 100, 30.0
LENGTHS = (0.21, 0.46)  # [m] short and long
MEGABYTES_TARGET = 100.0


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
            total = stages(figures, f"{case}, {threads} thread{'s'[: threads - 1]}", size, model, body, repeats)
    beside(figures, case, size, model, body, total, say)
    return total


def _factors(figures: Figures, guides: int, say: Progress) -> None:
    """How size and a change of a slider grow with the number of factors."""
    for count in range(4):
        say(f"learned: {count} factors")
        model = random_model(guides, factors=count)
        player = learned_source(model, None)._player
        case = f"{guides:,} guides, {count} factors"
        figures.add(case, "model", model.nbytes / 1e6, "MB")
        if count:
            figures.add(case, "change of a slider", 1e3 * change_seconds(player, model), "ms")


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

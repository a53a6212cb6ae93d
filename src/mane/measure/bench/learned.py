"""`mane bench learned`: frames per second of hair that was learned, at the sizes of guan2012 table 2.

A model that is learned from a small set of simulations, and models of full size with random numbers in them: what a
frame takes does not depend on what was learned, but for the vertices that must be pushed out of the body. Beside them:
simulating the same guides, and the same frame in plain NumPy.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from mane.body.solid import Solid
from mane.dataset.dataset import open_dataset
from mane.dataset.learn.multilinear import style_names
from mane.dataset.learn.styles import DatasetStyles
from mane.dataset.run import run_dataset
from mane.dataset.spec import AxisTable, MotionTable, Spec, StoreTable
from mane.geometry.threads import using_threads
from mane.groom import styles
from mane.measure.figures import Figures
from mane.measure.study.learned import QUICK, SIZES, Progress, Size, beside, change_seconds, learned_source, stages
from mane.measure.timing import best_seconds
from mane.reduced._kernels_controls import HEAD_CONTROLS
from mane.reduced.canonical import HeadSpace, body_points
from mane.reduced.dynamics import CrossGrams
from mane.reduced.evaluate import style_errors
from mane.reduced.factors import Factor, corner_count
from mane.reduced.model import MAX_FACTORS, HairModel
from mane.reduced.principal import Basis
from mane.reduced.representation import Directions
from mane.reduced.training import MultilinearTraining, fit_model
from mane.scene.config import FramesTable, GroomTable, GuidesTable, Scene, StrandTable

VERTICES, DIMENSIONS, RATE = 15, 100, 30.0
LENGTHS = (0.21, 0.46)  # [m] short and long
PRINTED_MEGABYTES = 15.0  # of a model of two factors
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
    if not quick:
        _largest(figures, say)
    _trained(figures, quick, say)
    return figures


def _measure(figures: Figures, size: Size, repeats: int, say: Progress) -> float:
    say(f"learned: {size.guides:,} guides, a model of random numbers")
    model = random_model(size.guides)
    case = f"{size.guides:,} guides x {VERTICES}"
    figures.add(case, "model", model.nbytes / 1e6, "MB", target=_limit(size.guides))
    body = Solid(styles.body("straight"))
    total = 0.0
    for threads in (1, 2):
        with using_threads(threads):
            say(f"learned: {size.guides:,} guides, {threads} threads")
            total = stages(figures, f"{case}, {threads} thread{'s'[: threads - 1]}", size, model, body, repeats)
    beside(figures, case, size, model, body, total, say)
    return total


def _limit(guides: int) -> float | None:
    return MEGABYTES_TARGET if guides == SIZES[-1].guides else None


def _factors(figures: Figures, guides: int, say: Progress) -> None:
    """How size and a change of a slider grow with the number of factors."""
    for count in range(MAX_FACTORS + 1):
        say(f"learned: {count} factors")
        model = random_model(guides, factors=count)
        player = learned_source(model, None)._player
        case = f"{guides:,} guides, {count} factors"
        # Of two factors 15 MB, and each more "will double the size".
        figures.add(
            case, "model", model.nbytes / 1e6, "MB",
            reference=PRINTED_MEGABYTES * 2.0 ** (count - 2), source="guan2012 section 7, of 100 coefficients",
        )  # fmt: skip
        if count:
            figures.add(case, "change of a slider", 1e3 * change_seconds(player, model), "ms")


def _largest(figures: Figures, say: Progress) -> None:
    """Size of a model of all guides and as many factors as there may be."""
    guides = SIZES[-1].guides
    say(f"learned: {guides:,} guides, {MAX_FACTORS} factors")
    size = random_model(guides, factors=MAX_FACTORS).nbytes
    figures.add(f"{guides:,} guides, {MAX_FACTORS} factors", "model", size / 1e6, "MB", target=_limit(guides))


def _trained(figures: Figures, quick: bool, say: Progress) -> None:
    """A model of a few motions: seconds of simulating and learning, what it is worth, and its frames per second."""
    guides, motions, frames = (24, 2, 14) if quick else (96, 5, 90)
    case = f"{guides} guides x {VERTICES}, learned from {motions} motions of {frames} frames"
    scene = Scene(
        groom=GroomTable(style="straight", strands=guides, vertices=VERTICES),
        frames=FramesTable(rate=RATE, preroll=0.5),
        guides=GuidesTable(count="all"),
        strand=StrandTable(sag_free=False),
    )
    spec = Spec(
        scene=scene,
        motions=tuple(
            MotionTable(motion="random", count=count, split=split, amplitude=(0.2, 0.7), rate=(0.5, 1.5))
            for split, count in (("train", motions), ("test", 1))
        ),
        seed=5,
        frames=frames,
        axes=(AxisTable(key="groom.length", name="length", values=LENGTHS),),
        store=StoreTable(fields=("points", "head")),
    )
    with tempfile.TemporaryDirectory() as folder:
        say(f"learned: simulating {2 * (motions + 1)} sequences to learn from")
        began = time.perf_counter()
        run_dataset(spec, Path(folder) / "hair.zarr", workers=0)
        figures.add(case, "simulating what is learned from", time.perf_counter() - began, "s")
        data = open_dataset(Path(folder) / "hair.zarr")
        train, test = DatasetStyles(data), DatasetStyles(data, "test", least=1)
        say("learned: learning")
        began = time.perf_counter()
        model = fit_model(train, MultilinearTraining(dimensions=8 if quick else DIMENSIONS)).model
        figures.add(case, "learning", time.perf_counter() - began, "s")
        errors = style_errors(model, test, with_floor=False)
    for name, error in zip(style_names(model), errors, strict=True):
        figures.add(f"{case}, {name}", "vertex error, test", 100 * error.model, "cm")
        figures.add(f"{case}, {name}", "the same of hair carried rigidly", 100 * error.rigid, "cm")
    figures.add(case, "largest eigenvalue", float(model.radii.max()), "1", target=1.0)
    figures.add(case, "model", model.nbytes / 1e6, "MB")
    source = learned_source(model, Solid(styles.body("straight")))
    with using_threads(2):
        for _ in range(5):
            source.step()
        seconds = float(np.median([best_seconds(source.step, 1) for _ in range(20 if quick else 200)]))
    figures.add(f"{case}, 2 threads", "all", 1 / seconds, "frames/s", better="higher")


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
        dynamics=CrossGrams.of(controls, coefficients, [len(factor.levels) for factor in own]),
        frame_rate=RATE,
        grid=np.zeros((1, factors)),
        radii=np.zeros(1),
    )


def _oscillations(rng: np.random.Generator, frames: int) -> np.ndarray:
    out = np.zeros((frames, DIMENSIONS))
    for t in range(2, frames):
        out[t] = 1.6 * out[t - 1] - 0.7 * out[t - 2] + 0.2 * rng.normal(size=DIMENSIONS)
    return out

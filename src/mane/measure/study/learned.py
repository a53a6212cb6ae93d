"""Frames per second of learned hair by stage, as guan2012 table 2 has them, beside simulating the same guides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mane.body.motion_presets import make_motion
from mane.body.solid import Solid
from mane.measure.figures import Figures
from mane.measure.study.learned_plain import PlainFrame
from mane.measure.timing import best_seconds
from mane.reduced.model import HairModel
from mane.reduced.player import HairPlayer
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
SYNTHESIS_TARGET = 10_000  # frames per second
SOURCE = "guan2012 table 2"


def learned_source(model: HairModel, body: Solid | None, **settings: Any) -> LearnedSource:
    """All sliders at their last level, under a random motion."""
    sliders = {factor.name: 1.0 for factor in model.factors}
    head = make_motion("random", seed=3)
    return LearnedSource(model.guides(), model, sliders=sliders, head=head, body=body, **settings)


def stages(figures: Figures, case: str, size: Size, model: HairModel, body: Solid, repeats: int) -> float:
    """Seconds of a frame; stages as the paper divides them, everything else counted with reconstruction."""
    whole, free = learned_source(model, body), learned_source(model, body, collisions="off")
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


def beside(figures: Figures, case: str, size: Size, model: HairModel, body: Solid, total: float, say: Progress) -> None:
    """What else a slider, plain NumPy and simulating the same guides take; `total` are the seconds of a frame."""
    say(f"learned: {size.guides:,} guides, beside")
    source = learned_source(model, body)
    if model.factors:
        player = learned_source(model, body)._player
        figures.add(case, "change of a slider", 1e3 * change_seconds(player, model), "ms")
    figures.add(case, "memory of a source at work, besides the model", work_bytes(source._player) / 1e6, "MB")
    plain = PlainFrame(source)
    frame = source.step()
    arguments = (source._controls(), frame.head, frame.roots, frame.root_rotations)
    figures.add(
        case, "in plain NumPy, all stages", 1 / best_seconds(lambda: plain.made(*arguments), 5),
        "frames/s", better="higher",
    )  # fmt: skip
    simulation = Simulation(
        model.guides(len(model.rest) - 1), body=body, head=make_motion("random", seed=3), frame_rate=model.frame_rate
    )
    simulation.step()
    seconds = float(np.median([best_seconds(simulation.step, 1) for _ in range(5)]))
    figures.add(
        case, "simulated", 1 / seconds, "frames/s", reference=size.simulated, source=f"{SOURCE}, Shave", better="higher"
    )
    figures.add(
        case, "learned over simulated", seconds / total, "1", reference=size.total / size.simulated, source=SOURCE
    )


def work_bytes(player: HairPlayer) -> int:
    """Bytes of what a player holds besides its model: the basis laid out in blocks, operators, rest and levels."""
    held = [*vars(player).values(), *vars(player._basis).values()]
    operators = [array for one in player.operators for array in (one.control, one.history)]
    return sum(one.nbytes for one in (*held, *operators) if isinstance(one, np.ndarray))


def change_seconds(player: HairPlayer, model: HairModel) -> float:
    """Seconds of a change of all sliders."""
    values = iter(np.linspace(0, 1, 100))
    names = [factor.name for factor in model.factors]
    return best_seconds(lambda: player.set_sliders(dict.fromkeys(names, float(next(values)))), 8)

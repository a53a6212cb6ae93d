"""Milliseconds per step of 10 ms of the adaptive skin, at the sizes of chai2017 table 2: for its bench and its scenes.

No training: sets are those of the naive variant, or drawn at random, as many as a model has. Hair is on its body all
the time. `calm` frames have nothing else in reach; in `combed` ones a comb goes through the hair, and its guides are
simulated beside it. In `torn` ones guides around a comb change places at random in every frame, so that most hairs
change their sets each time: the worst that can happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mane.body.motion import Motion, Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.motion_presets import make_motion
from mane.body.props import make_comb
from mane.dataset.learn.adaptive import AdaptiveTraining
from mane.geometry import quaternion
from mane.geometry.threads import using_threads
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.measure.figures import Figures
from mane.measure.heads import bench_frame
from mane.measure.study._kernels_adaptive_plain import plain_blend
from mane.measure.timing import best_seconds
from mane.scene.config import ROUNDS_BEHIND_SIDES
from mane.scene.simulation import Simulation
from mane.skin.adaptive.graph import MotionScale, every_pair, shared_pairs
from mane.skin.adaptive.model import AdaptiveModel
from mane.skin.adaptive.near import nearest_strands
from mane.skin.adaptive.params import AdaptiveParams
from mane.skin.adaptive.skin import AdaptiveSkin
from mane.skin.finish.passes import FinishingPass, LengthKeeping, SolidAdjustment
from mane.skin.finish.sides import SideKeeping
from mane.skin.finish.volume import VolumeKeeping
from mane.strand.frame import GuideFrame

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Size:
    """A row of chai2017 table 2.

    Attributes:
        name: of the scene.
        hairs: all of them.
        guides: how many.
        vertices: of every hair.
        paper: milliseconds per step, on four cores and a GPU.
        paper_full: seconds per step of the full simulation.
        paper_megabytes: of the whole model.
        style: that stands for it here.
    """

    name: str
    hairs: int
    guides: int
    vertices: int
    paper: float | None = None
    paper_full: float | None = None
    paper_megabytes: float | None = None
    style: str = "straight"


SIZES = (
    Size("gears", 80_000, 300, 30, 46.0, 20.0, 120.0),
    Size("hairy ball", 60_000, 200, 30, 32.0, 15.0, 80.0, "ball"),
    Size("hair salon", 150_000, 400, 25, 50.0, 60.0, 400.0),
)
QUICK = (Size("quick", 2_000, 40, 12),)
STEP = 0.01  # [s]
SETS, LARGEST = AdaptiveTraining().most_sets, AdaptiveTraining().largest
TARGETS = {"calm": 33.0, "combed": 50.0}  # [ms] of the salon, guides and push-out included
TARGET_MEGABYTES, TARGET_QUADRATIC = 150.0, 400.0  # of a model with constant weights, and with quadratic ones
TARGET_FULL = 3.0  # [s] of a calm step of 150,000 hairs
FULL_SHARE = 15  # of the hairs, one in so many is simulated, and the time scaled
# [s] that the frames of one row may take, of which there are at least two: rows of seconds are as steady after a few.
BUDGET = 2.0
NAIVE, STAYING, CHOSEN, LEANING = (
    "naive",
    "sets of a model that stay",
    "sets of a model",
    "leaning sets of a model",
)
SKINS = (NAIVE, STAYING, CHOSEN, LEANING)
PROMISED = (STAYING, CHOSEN)  # the default, and what the paper times
AGAINST_HAIR = "hair against hair by keep_volume, in place of [33]'s correction"
TABLE_2 = ("calm", "combed")  # frames that stand for those of the paper
COMB_REACH, COMB_SPEED, COMBED_FRAMES = 0.08, 0.25, 12  # [m], [m/s]: it is in the middle of the frames that are timed
COMBED_STEPS = round(COMB_REACH / COMB_SPEED / STEP) + COMBED_FRAMES // 2
AWAY = KeyframedMotion(np.array([0.0]), np.array([[5.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 0.0, 1.0]]))
PUSH_ROUNDS = 3  # of push_out as it is by default
COMB_AT = {"straight": (0.135, -0.06, 0.0), "ball": (0.12, 0.0, 0.0)}  # [m] where the comb stands in the hair


def table_2(figures: Figures, *, quick: bool, progress: Progress) -> None:
    """Add the rows of chai2017 table 2: memory, steps calm and combed by stage on two threads, a step of all hairs."""
    for size in QUICK if quick else SIZES:
        progress(f"adaptive: {size.name}, growing {size.hairs:,} x {size.vertices}")
        measure_steps(figures, BoundHead(size, PROMISED), 3 if quick else 11, progress, threads=(2,), kinds=TABLE_2)


class BoundHead:
    """Hair of a size, grown and bound once for all rows.

    Args:
        size: which.
        names: of the skins; all by default.

    Attributes:
        size: which.
        groom: its hair.
        guides: some of it.
        model: sets at random.
        solids: the body, and a comb.
        skins: what is timed, by name.
    """

    def __init__(self, size: Size, names: Sequence[str] = SKINS) -> None:
        self.size = size
        self._frames: dict[str, list[GuideFrame]] = {}
        self.groom, self.guides = grown(size)
        self.solids = simulated(self.guides, size, "still", AWAY).solids
        self.model = random_model(self.groom, self.guides)
        chosen: dict[str, Any] = {"model": self.model, "use_motion": True, "use_solids": True}
        settings: dict[str, dict[str, Any]] = {
            NAIVE: {},
            STAYING: {"model": self.model},
            CHOSEN: chosen,
            LEANING: {**chosen, "lean": True},
        }
        around: dict[str, Any] = {"solids": self.solids, "body": self.solids[0]}
        self.skins = {name: AdaptiveSkin(self.groom, self.guides, **around, **settings[name]) for name in names}

    def frames(self, kind: str) -> list[GuideFrame]:
        """Frames behind each other, "calm", "combed" or "torn"; made once."""
        if kind not in self._frames:
            self._frames[kind] = FRAMES[kind](self.guides, self.size)
        return self._frames[kind]

    def push_out(self, rounds: int) -> SolidAdjustment:
        """The pass of that name, as scenes have it."""
        return SolidAdjustment(self.solids, groom=self.groom, body=self.solids[0], rounds=rounds)


def measure_steps(
    figures: Figures, head: BoundHead, repeats: int, say: Progress, *, threads: Sequence[int], kinds: Sequence[str]
) -> None:
    """Add the rows of one head: memory, and steps by stage in frames of each kind on so many threads."""
    size = head.size
    case = f"{size.name}, {size.hairs:,} x {size.vertices}, {size.guides} guides"
    _measure_memory(figures, case, head)
    for count in threads:
        with using_threads(count):
            say(f"adaptive: {size.name}, {count} threads")
            _measure_threads(figures, f"{case}, {count} thread{'s'[: count - 1]}", head, repeats, kinds)
    _measure_full(figures, size, head.groom, say)


def _measure_memory(figures: Figures, case: str, head: BoundHead) -> None:
    """Bytes of models with as many sets as a hair may have, and of the skins that hold them."""
    source = "chai2017 table 2, the whole reduced model"
    quadratic = random_model(head.groom, head.guides, degree=2)
    for name, model, target in (
        ("constant", head.model, TARGET_MEGABYTES),
        ("quadratic", quadratic, TARGET_QUADRATIC),
    ):
        skin = AdaptiveSkin(head.groom, head.guides, solids=head.solids, body=head.solids[0], model=model)
        figures.add(case, f"model, {name} weights", model.nbytes / 1e6, "MB", target=target)
        figures.add(
            case, f"skin that holds it, {name} weights", skin.nbytes / 1e6, "MB",
            reference=head.size.paper_megabytes, source=source,
        )  # fmt: skip


def _measure_threads(figures: Figures, case: str, head: BoundHead, repeats: int, kinds: Sequence[str]) -> None:
    size = head.size
    _plain(figures, case, head.groom, head.guides, repeats)
    # Passes that are timed behind each other: as the paper has them, as scenes have them, and hair against hair.
    printed: dict[str, FinishingPass] = {"push-out": head.push_out(PUSH_ROUNDS)}
    scenes: dict[str, FinishingPass] = {
        "lengths kept": LengthKeeping(head.groom),
        "sides kept": SideKeeping(head.solids, body=head.solids[0], groom=head.groom),
        "push-out behind them": head.push_out(ROUNDS_BEHIND_SIDES),
    }
    volume: dict[str, FinishingPass] = {AGAINST_HAIR: VolumeKeeping(head.groom)}
    for kind in kinds:
        frames = head.frames(kind)
        total = GUIDE_SECONDS[kind](head.guides, size, repeats)
        figures.add(f"{case}, {kind}", "guides", 1e3 * total, "ms")
        for name, skin in head.skins.items():
            skin.reset()
            stages = stage_seconds(skin, frames, repeats)
            alone, behind = (pass_seconds(skin, passes, frames, repeats) for passes in (printed, scenes))
            against = pass_seconds(skin, volume, frames, repeats)
            for stage, seconds in {**stages, **against, **alone, **behind}.items():
                figures.add(f"{case}, {kind}, {name}", stage, 1e3 * seconds, "ms")
            is_promised = size.name == "hair salon" and "2 threads" in case and name in PROMISED
            target = TARGETS.get(kind) if is_promised else None
            for what, seconds in {
                "guides, skin and push-out": sum(alone.values()),
                "guides, skin, lengths and sides kept and push-out": sum(behind.values()),  # as scenes have it
            }.items():
                figures.add(
                    f"{case}, {kind}, {name}", what, 1e3 * (total + stages["skin"] + seconds), "ms",
                    reference=size.paper, source="chai2017 table 2, four cores and a GPU", target=target,
                )  # fmt: skip


def _plain(figures: Figures, case: str, groom: Groom, guides: Guides, repeats: int) -> None:
    rest = groom.as_uniform()
    slots, _, _ = nearest_strands(groom.take(np.arange(1)), guides, LARGEST)
    own = np.tile(slots, (groom.strand_count, 1))
    weights = np.full(own.shape, 1 / own.shape[1], np.float32)
    displacement = np.zeros((guides.capacity, rest.shape[1], 3), np.float32)
    out = np.empty_like(rest)

    def blend() -> None:
        plain_blend(rest, own, weights, displacement, out)

    blend()
    figures.add(case, "a plain kernel of the same sums, guides fixed", 1e3 * best_seconds(blend, repeats), "ms")


def _measure_full(figures: Figures, size: Size, groom: Groom, say: Progress) -> None:
    part = Guides.chosen(groom, np.arange(0, groom.strand_count, FULL_SHARE))
    say(f"adaptive: {size.name}, full simulation of {part.count:,} hairs")
    seconds = calm_guide_seconds(part, size, 3) * groom.strand_count / part.count
    figures.add(
        f"{size.name}, every hair simulated", f"calm step, scaled from {part.count:,} hairs", seconds, "s",
        reference=size.paper_full, source="chai2017 table 2", target=TARGET_FULL if size.name == "hair salon" else None,
    )  # fmt: skip


# -- what is timed -------------------------------------------------------------------------------------------------


def grown(size: Size) -> tuple[Groom, Guides]:
    """Hair of a size, and guides of it."""
    groom = styles.make(size.style, strands=size.hairs, vertices=size.vertices, seed=1)
    return groom, select_guides(groom, size.guides, method="random", seed=1)


def simulated(guides: Guides, size: Size, head: str, motion: Motion) -> Simulation:
    """Guides on their body, and a comb that moves."""
    comb = make_comb().solid(motion)
    return Simulation(guides, body=styles.body(size.style), head=make_motion(head), solids=[comb], frame_rate=1 / STEP)


def comb_pose(size: Size) -> Pose:
    """Where a comb stands in the hair: teeth towards the head."""
    turn = quaternion.from_axis_angle(np.array([0.0, 0.0, 1.0]), -0.5 * np.pi)
    return Pose(np.array(COMB_AT[size.style]), turn)


def combed(guides: Guides, size: Size) -> Simulation:
    """Guides whose comb goes through them, from the front to the back."""
    middle = comb_pose(size)
    ends = middle.position + np.array([[0.0, 0.0, COMB_REACH], [0.0, 0.0, -COMB_REACH]])
    motion = KeyframedMotion(np.array([0.0, 2 * COMB_REACH / COMB_SPEED]), ends, np.tile(middle.rotation, (2, 1)))
    return simulated(guides, size, "still", motion)


def calm_frames(guides: Guides, size: Size) -> list[GuideFrame]:
    """Two frames of guides that sway together, the comb far away."""
    along = np.linspace(0, 1, guides.vertex_count)[:, None] ** 2
    still = bench_frame(guides)
    return [
        replace(
            still,
            points=(still.head.apply(guides.rest) + sway * along * np.array([1.0, 0, 0])).astype(np.float32),
            solid_poses=(still.head, AWAY.pose(0.0)),
        )
        for sway in (0.0, 0.001)
    ]


def combed_frames(guides: Guides, size: Size) -> list[GuideFrame]:
    """Frames of guides that are simulated while a comb goes through them."""
    simulation = combed(guides, size)
    return [simulation.step().copy() for _ in range(COMBED_STEPS)][-COMBED_FRAMES:]


def torn_frames(guides: Guides, size: Size) -> list[GuideFrame]:
    """Two frames of guides on a head that stands still, swung apart in two ways, the comb among them."""
    rng = np.random.default_rng(3)
    along = np.linspace(0, 1, guides.vertex_count)[:, None] ** 2
    still = replace(bench_frame(guides), head=Pose.identity(), solid_poses=(Pose.identity(), comb_pose(size)))
    return [
        replace(
            still,
            points=(guides.rest + 0.006 * rng.normal(size=(guides.capacity, 1, 3)) * along).astype(np.float32),
            root_rotations=np.tile(np.array([0, 0, 0, 1.0], np.float32), (guides.capacity, 1)),
        )
        for _ in range(2)
    ]


FRAMES = {"calm": calm_frames, "combed": combed_frames, "torn": torn_frames}


def stage_seconds(skin: AdaptiveSkin, frames: Iterable[GuideFrame], repeats: int) -> dict[str, float]:
    """Seconds of the whole skin, and of graph, choice, blend and leaning, the median of frames, there and back."""
    there = list(frames)
    both = there + there[-2:0:-1]
    found: list[dict[str, float]] = []
    for number in range(2 * repeats + 2):
        if len(found) >= 4 and sum(one["skin"] for one in found) > BUDGET:
            break
        frame = replace(both[number % len(both)], time=STEP * (number + 1))
        whole = best_seconds(partial(skin, frame), 1)
        found.append({"skin": whole, **skin.seconds})
    return {key: float(np.median([one[key] for one in found[2:]])) for key in found[0]}


def pass_seconds(
    skin: AdaptiveSkin, passes: Mapping[str, FinishingPass], frames: list[GuideFrame], repeats: int
) -> dict[str, float]:
    """Seconds of passes behind each other on what the skin makes of frames, the median, there and back."""
    found: list[dict[str, float]] = []
    both = frames + frames[-2:0:-1]
    for number in range(2 * repeats + 2):
        if len(found) >= 4 and sum(sum(one.values()) for one in found) > BUDGET:
            break
        frame = replace(both[number % len(both)], time=STEP * (number + 1))
        points = skin(frame).copy()
        found.append({stage: best_seconds(partial(one, points, frame), 1) for stage, one in passes.items()})
    return {stage: float(np.median([one[stage] for one in found[2:]])) for stage in passes}


def calm_guide_seconds(guides: Guides, size: Size, repeats: int) -> float:
    """Seconds of a step of 10 ms of guides on a head that shakes."""
    simulation = simulated(guides, size, "shake", AWAY)
    simulation.step()
    return best_seconds(simulation.step, max(repeats, 3))


def combed_guide_seconds(guides: Guides, size: Size, repeats: int) -> float:
    """The same while a comb goes through them, the median of the frames that the skin is timed on."""
    simulation = combed(guides, size)
    found = [best_seconds(simulation.step, 1) for _ in range(COMBED_STEPS)]
    return float(np.median(found[-COMBED_FRAMES:]))


# Guides of `torn` frames are not simulated: their comb is that of combed ones.
GUIDE_SECONDS = {"calm": calm_guide_seconds, "combed": combed_guide_seconds, "torn": combed_guide_seconds}


def random_model(groom: Groom, guides: Guides, degree: int = 0, *, all_pairs: bool = False) -> AdaptiveModel:
    """As many sets as a model has, of the nearest guides, with weights of a degree drawn at random.

    With `all_pairs` it can be played as printed, too.
    """
    rng = np.random.default_rng(0)
    slots, counts, _ = nearest_strands(groom, guides, AdaptiveParams().eligible)
    hairs, width = slots.shape
    every = np.arange(1, 1 << width)
    usable = every[np.bitwise_count(every) <= LARGEST]
    singles = 1 << np.arange(width)
    several = np.setdiff1d(usable, singles)
    few = min(SETS - width, len(several))
    # Larger sets first, as those of less error are; the choice walks as far as it does in earnest.
    masks = np.concatenate(
        [rng.permuted(np.tile(several, (64, 1)), axis=1)[:, :few], np.tile(singles, (64, 1))], axis=1
    )
    masks = masks[np.arange(hairs) % 64].astype(np.uint16)
    logs = np.tile(np.linspace(0, 100, masks.shape[1]).astype(np.uint8), hairs)
    size = int(np.bitwise_count(masks).sum())
    pairs = every_pair(guides.capacity) if all_pairs else shared_pairs(slots, counts, guides.capacity)
    scale = MotionScale.at_rest(guides.rest, pairs)
    return AdaptiveModel(
        guides=guides.source,
        slots=slots,
        counts=counts,
        first=np.arange(hairs + 1, dtype=np.int64) * masks.shape[1],
        masks=masks.reshape(-1),
        log_error=logs,
        coefficients=np.repeat(rng.integers(1000, 30_000, (size, 1)).astype(np.int16), degree + 1, axis=1),
        scale=1 / 32767,
        pairs=pairs,
        position=scale.position,
        velocity=scale.velocity,
        usual=scale.usual,
    )

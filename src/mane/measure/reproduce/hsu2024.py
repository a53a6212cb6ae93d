"""hsu2024 section 5: their heads by type and size, carried linearly and physically (figures 1 and 5 to 10).

Each head has the hairs, vertices and guides of its row of table 1, in a procedural style of the same kind, since their
grooms are not ours to give away. Hairs sampled from it are simulated one by one as well, which the paper does not do:
what they do is no artefact. Beside our own stands what the paper prints: its position-based guides on their grid, with
the groom as the shape without load, and algorithm 1 line by line, next to linear skinning of the same guides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numba
import numpy as np

from mane.measure.captions import describe
from mane.measure.heads import HEADS, Head
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.measure.study.skin import (
    METHODS,
    OUR_GUIDES,
    PRINTED_GUIDES,
    PRINTED_METHODS,
    Carry,
    GuideMethod,
    Recording,
    SkinScene,
    measure,
    measure_reference,
    record,
)
from mane.metrics.summary import METRICS

PAPER_TIMES = "hsu2024 table 1, RTX 4090"
# What the paper calls artefacts: zigzags, and hairs that are squashed or drawn out.
ARTEFACTS = ("length_error", "segment_error", "kink", "kink_p95", "curvature_distance")
PROMISED = ("length_error", "kink")  # physical is to be better than linear at these
TIMED_FRAMES = 20
QUICK_PICTURE = (180, 225)  # pixels


@dataclass(frozen=True)
class Sizes:
    """How much is simulated and measured."""

    sampled: int = 300
    measured: int = 20_000
    seconds: float = 2.0
    every: int = 6


QUICK = Sizes(sampled=12, measured=400, seconds=0.25, every=5)
QUICK_STRANDS, QUICK_GUIDES = 1_500, 24
NEURAL = Head("fig. 14", 2_048, 59_220, 256, {})
QUICK_NEURAL_VERTICES = 32
SHEN2023_SECONDS, LYU2022_MILLISECONDS = 358.0, 151.0

_TABLE = {head.name: head for head in HEADS}
JOSH, ALICE, HADLEY, DANIELLE = (_TABLE[name] for name in ("Josh", "Alice", "Hadley", "Danielle"))
SHORT_CURLS = SkinScene(
    "short curls, no two alike (fig. 1)", "curly", "shake", style_options={"length": 0.16, "vertices": JOSH.vertices}
)


def short_curls(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Short curls, of which no two are alike (fig. 1)."""
    study_head(report, SHORT_CURLS, JOSH, quick=quick, tell=tell)


def many_guides(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """The same head with 16 times as many guides (fig. 5)."""
    scene = replace(SHORT_CURLS, name="short curls, 2,048 guides (fig. 5)", guides=2_048)
    study_head(report, scene, JOSH, quick=quick, tell=tell, is_row=False)
    report.note("The paper: more guides do little against artefacts, for they come from each hair's own shape.")


def neural(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Curls from 2,048 guides, 256 vertices a hair (fig. 14): our half drawn, the neural half quoted."""
    vertices = QUICK_NEURAL_VERTICES if quick else NEURAL.vertices
    options = {"length": 0.16, "vertices": vertices}
    scene = SkinScene("curls, 2,048 guides (fig. 14)", "curly", "shake", guides=NEURAL.guides, style_options=options)
    sizes = QUICK if quick else Sizes(sampled=50, measured=2_000, seconds=0.25)
    scene = replace(scene, guides=QUICK_GUIDES) if quick else scene
    strands = QUICK_STRANDS if quick else NEURAL.hairs
    tell(f"simulating {scene.guides} guides of {vertices} vertices", 0.0)
    recording = record(scene, strands=strands, sampled=sizes.sampled, seconds=sizes.seconds)
    methods = {name: METHODS[name] for name in ("linear", "physical")}
    _, carried = carry_by_all(report, recording, methods, sizes, tell, 0.5)
    for name, carry in carried.items():
        milliseconds = frame_milliseconds(recording, carry)
        shen = {} if quick else {"reference": SHEN2023_SECONDS, "source": "hsu2024 5.2, neural interpolation, RTX 3080"}
        report.add(name, _time_title(), 1e-3 * milliseconds, "s", **shen)
        per_million = 1e6 * milliseconds / (recording.groom.strand_count * vertices)
        lyu = {"reference": LYU2022_MILLISECONDS, "source": "hsu2024 5.2, neural interpolation, GTX 1080"}
        report.add(name, f"time per million points, {_threads()}", per_million, "ms", **lyu)
    tell("drawing", 0.85)
    draw(report, "neural", recording, carried, quick=quick)
    report.note(
        "The neural half of fig. 14 (Shen et al. 2023) needs their network and is not drawn; the paper's own times of "
        "it and of Lyu et al. 2022 stand beside ours. The paper's skin takes 1.6 ms per million points on a GTX 1080."
    )
    tell("done", 1.0)


def long_curls(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Long curls that unwind (fig. 6)."""
    options = {"length": 0.5, "vertices": ALICE.vertices}
    scene = SkinScene("long curls that unwind (fig. 6)", "curly", "turn", style_options=options)
    study_head(report, scene, ALICE, quick=quick, tell=tell)


def straight(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Straight hair (fig. 7)."""
    scene = SkinScene("straight (fig. 7)", "straight", "shake", style_options={"vertices": HADLEY.vertices})
    study_head(report, scene, HADLEY, quick=quick, tell=tell)


def separation(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Guides that part far from each other (fig. 8)."""
    scene = SkinScene(
        "large separation (fig. 8)",
        "wavy",
        "random",
        style_options={"vertices": DANIELLE.vertices},
        motion_options={"amplitude": 1.0, "rate": 2.5},
    )
    study_head(report, scene, DANIELLE, quick=quick, tell=tell)


def slow(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A slow turn of the head (fig. 9)."""
    scene = replace(SHORT_CURLS, name="slow motion (fig. 9)", motion="turn", motion_options={"rate": 0.25})
    study_head(report, scene, JOSH, quick=quick, tell=tell, is_row=False)


def capture(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Motion like that of a captured actor (fig. 10)."""
    scene = replace(SHORT_CURLS, name="capture-like motion (fig. 10)", motion="random")
    study_head(report, scene, JOSH, quick=quick, tell=tell, is_row=False)
    report.note("The paper plays captured motion; here it is a smooth random one of the same speeds.")


def study_head(
    report: Report, scene: SkinScene, head: Head, *, quick: bool, tell: ProgressCallback, is_row: bool = True
) -> None:
    """Carry a head by every method, measure artefacts and time, and draw the methods side by side.

    Args:
        report: takes figures, pictures and notes.
        scene: style, guides and motion.
        head: row of the paper's table 1 that says how many hairs there are, and how many guides where `is_row`.
        quick: a small head and a short motion.
        tell: is told what is being done.
        is_row: whether the scene is that row itself, so that the paper's times stand beside ours.
    """
    scene = replace(scene, guides=head.guides) if is_row else scene
    recording, sizes = recorded(scene, head, quick=quick, tell=tell)
    found, carried = carry_by_all(report, recording, METHODS, sizes, tell, 0.2)
    spent = {name: frame_milliseconds(recording, carry) for name, carry in carried.items()}
    _add_times(report, recording, spent, head.paper if is_row and not quick else {})
    tell("drawing", 0.4)
    captions = {name: describe(one["length_error"], one["kink"]) for name, one in found.items()}
    draw(report, "methods", recording, carried, captions, quick=quick)
    _note_shortfalls(report, found["linear"], found["physical"])
    study_printed(report, scene, head, quick=quick, tell=tell)
    tell("done", 1.0)


def study_printed(report: Report, scene: SkinScene, head: Head, *, quick: bool, tell: ProgressCallback) -> None:
    """The same head as the paper prints it: guides, grid and algorithm 1, beside linear skinning of the same guides."""
    recording, sizes = recorded(scene, head, quick=quick, tell=tell, guide_method=PRINTED_GUIDES, start=0.5)
    found, carried = carry_by_all(report, recording, PRINTED_METHODS, sizes, tell, 0.7, guides=", xpbd")
    for name, carry in carried.items():
        report.add(name, _time_title(), frame_milliseconds(recording, carry), "ms")
    tell("drawing", 0.9)
    captions = {name: describe(one["length_error"], one["kink"]) for name, one in found.items()}
    draw(report, "as_printed", recording, carried, captions, quick=quick)
    linear, printed = found["linear, xpbd guides"], found["hsu2024 as printed"]
    for key in (*PROMISED, "distance", "flicker"):
        metric = METRICS[key]
        worse = "Falls short: " if printed[key] > linear[key] else ""
        ours, theirs = (f"{one[key] * metric.scale:.3g} {metric.unit}" for one in (printed, linear))
        report.note(
            f"{worse}As printed, {metric.title} is {ours}, and {theirs} with linear skinning of the same guides."
        )


def carry_by_all(
    report: Report,
    recording: Recording,
    methods: Mapping[str, Callable[[Recording], Carry]],
    sizes: Sizes,
    tell: ProgressCallback,
    start: float,
    guides: str = "",
) -> tuple[dict[str, dict[str, float]], dict[str, Carry]]:
    """Carry a recording by every method; adds and returns what is measured, and returns the bound skins.

    Hairs that were simulated one by one with the same solver come first, as "hairs simulated one by one" and `guides`.
    """
    true = measure_reference(recording, every=sizes.every)
    _add_metrics(report, f"hairs simulated one by one{guides}", true, {}, {})
    found: dict[str, dict[str, float]] = {}
    carried: dict[str, Carry] = {}
    for number, (name, make) in enumerate(methods.items()):
        tell(f"carrying every hair, {name}", start + 0.15 * number / len(methods))
        carried[name] = make(recording)
        found[name] = measure(recording, carried[name], measured=sizes.measured, every=sizes.every)
        promised = {key: found["linear"][key] for key in PROMISED} if name == "physical" else {}
        _add_metrics(report, name, found[name], true, promised)
    return found, carried


def draw(
    report: Report,
    name: str,
    recording: Recording,
    carried: Mapping[str, Carry],
    captions: Mapping[str, str] | None = None,
    *,
    quick: bool = False,
) -> None:
    """Draw one frame well into the motion: the guides, then the hair as every method carries it, side by side.

    Args:
        report: takes the picture.
        name: of the picture.
        recording: guides and body.
        carried: a bound skin for each method.
        captions: what to write below the names; by default what is measured in that frame.
        quick: small pictures.
    """
    from mane.measure.study.skin_pictures import PICTURE, draw_scene

    sheet = draw_scene(recording, carried, captions, size=QUICK_PICTURE if quick else PICTURE)
    guides, scene = recording.guides.count, recording.scene
    hairs = f"{recording.groom.strand_count:,} hairs x {scene_vertices(recording)}"
    report.picture(name, sheet, f"{scene.name}: {hairs} from {guides} guides, mid-motion; below, the same few hairs")


def recorded(
    scene: SkinScene,
    head: Head,
    *,
    quick: bool,
    tell: ProgressCallback,
    guide_method: GuideMethod = OUR_GUIDES,
    start: float = 0.0,
) -> tuple[Recording, Sizes]:
    """Simulate the guides of a scene and sampled hairs of a head of that size; `quick` makes all of it small."""
    sizes = QUICK if quick else Sizes()
    scene = replace(scene, guides=QUICK_GUIDES) if quick else scene
    strands = QUICK_STRANDS if quick else head.hairs
    tell(f"simulating {scene.guides} guides and {sizes.sampled} of {strands:,} hairs, {guide_method.model}", start)
    recording = record(scene, strands=strands, sampled=sizes.sampled, seconds=sizes.seconds, guide_method=guide_method)
    return recording, sizes


def scene_vertices(recording: Recording) -> int:
    """Vertices of each hair of a recording."""
    return int(recording.groom.vertex_counts[0])


def frame_milliseconds(recording: Recording, carry: Carry) -> float:
    """Median time to carry all hairs of one frame [ms], on as many threads as there are; compiling is not counted."""
    frames = recording.frames[-TIMED_FRAMES:]
    carry(frames[0])
    times = []
    for frame in frames:
        started = time.perf_counter()
        carry(frame)
        times.append(time.perf_counter() - started)
    return 1e3 * float(np.median(times))


def _add_times(report: Report, recording: Recording, spent: Mapping[str, float], paper: Mapping[str, float]) -> None:
    source = PAPER_TIMES if paper else None
    for name, milliseconds in spent.items():
        theirs = paper.get(name)
        reference = {} if theirs is None else {"reference": 1e-3 * theirs, "source": source}
        report.add(name, _time_title(), milliseconds, "ms", **reference)
    overhead = 100 * (spent["physical"] / spent["linear"] - 1)
    theirs = 100 * (paper["physical"] / paper["linear"] - 1) if paper else None
    report.add("physical over linear", "overhead", overhead, "%", reference=theirs, source=source)
    if paper:
        ours, theirs = spent["physical"], 1e-3 * paper["physical"]
        points = recording.groom.strand_count * scene_vertices(recording)
        report.note(
            f"Time: {points / 1e6:.2f} million points take {ours:.1f} ms on {_threads()} of a CPU, and the paper's "
            f"{theirs:.3f} ms on a GPU: {ours / theirs:.0f} times less."
        )


def _threads() -> str:
    return f"{numba.get_num_threads()} thread{'s' if numba.get_num_threads() > 1 else ''}"


def _time_title() -> str:
    return f"time per frame, {_threads()}"


def _add_metrics(
    report: Report, case: str, found: Mapping[str, float], true: Mapping[str, float], promised: Mapping[str, float]
) -> None:
    for key, value in found.items():
        metric = METRICS[key]
        reference = {}
        if key in true:
            reference = {"reference": true[key] * metric.scale, "source": "simulated one by one"}
        target = promised[key] * metric.scale if key in promised else None
        report.add(case, metric.title, value * metric.scale, metric.unit, target=target, **reference)


def _note_shortfalls(report: Report, linear: Mapping[str, float], physical: Mapping[str, float]) -> None:
    """Say at which numbers the physical skin is worse than the linear one, and that the paper has no such numbers."""
    for key in (*ARTEFACTS, "distance", "flicker", "penetration_rate"):
        if key in linear and physical[key] > linear[key]:
            metric = METRICS[key]
            ours, theirs = (f"{one[key] * metric.scale:.3g} {metric.unit}" for one in (physical, linear))
            report.note(
                f"Falls short: {metric.title} is {ours} with the physical skin and {theirs} with the linear one."
            )
    report.note("The paper shows artefacts in pictures and gives no numbers for them, so none stand beside ours.")

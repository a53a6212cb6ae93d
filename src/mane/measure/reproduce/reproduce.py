"""`mane reproduce`: the scenes of a paper again, with pictures, figures beside the paper's, and where ours falls short.

A scene is a function `run(report, *, quick, tell)` of a module of this room: it simulates, adds figures, pictures and
notes to the `Report`, and calls `tell` with what it does and the share that is done. A new scene is one function and
one line in `PAPERS`, a new paper one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from mane.geometry.checks import require_choice
from mane.measure.figures import Figures, Row
from mane.measure.reproduce.page import Section, report_page

ProgressCallback = Callable[[str, float], None]  # what is being done, and which share of the scene is
Done = Callable[[float], None]  # which share of a task is done


@dataclass(frozen=True)
class Paper:
    """A paper and its scenes.

    Attributes:
        title: authors and title.
        scenes: name of each scene -> module of this room, with the name of the function where it is not `run`.
        has_share: whether its scenes can be run with a share of their frames.
    """

    title: str
    scenes: dict[str, str]
    has_share: bool = False


PAPERS: dict[str, Paper] = {
    "chai2017": Paper(
        "Chai, Zheng, Zhou: Adaptive Skinning for Interactive Hair-Solid Simulation",
        {
            **{
                name: f"reproduce.chai2017:{name}"
                for name in ("comb", "curly", "criteria", "hand", "fingers", "gears", "toys", "horse", "turning")
            },
            "choice": "reproduce.chai2017:choice",
            "mean": "reproduce.chai2017_mean:mean",
            "figures": "reproduce.chai2017_figures",
            "hairs": "reproduce.chai2017_hairs",
            "times": "reproduce.chai2017_times",
            "full_training": "reproduce.chai2017_training",
            "materials": "reproduce.chai2017_full:materials",
            **{
                f"full_{name}": f"reproduce.chai2017_full:full_{name}"
                for name in ("gears", "ball", "horse", "comb", "hand", "curly", "curly_hand")
            },
            "full_mean": "reproduce.chai2017_mean:full_mean",
        },
    ),
    "chang2002": Paper(
        "Chang, Jin, Yu: A Practical Model for Hair Mutual Interactions",
        {name: f"reproduce.chang2002_{name}" for name in ("shake", "braid", "brush", "wind", "adaptive", "dense")},
    ),
    "guan2012": Paper(
        "Guan, Sigal, Reznitskaya, Hodgins: Multi-linear Data-Driven Dynamic Hair Model",
        {name: f"reproduce.guan2012:{name}" for name in ("sparse", "main", "wind", "dense", "bust")},
        has_share=True,
    ),
    "hsu2024": Paper(
        "Hsu, Wang, Pan, Gao, Yuksel, Wu: Real-Time Physically Guided Hair Interpolation",
        {
            "short_curls": "reproduce.hsu2024:short_curls",
            "many_guides": "reproduce.hsu2024:many_guides",
            "long_curls": "reproduce.hsu2024:long_curls",
            "straight": "reproduce.hsu2024:straight",
            "separation": "reproduce.hsu2024:separation",
            "slow": "reproduce.hsu2024:slow",
            "capture": "reproduce.hsu2024:capture",
            "neural": "reproduce.hsu2024:neural",
            "real_groom": "reproduce.hsu2024_groom:real_groom",
            "sweeps": "reproduce.hsu2024_ablations:sweeps",
            "drift": "reproduce.hsu2024_ablations:drift",
            "penetration": "reproduce.hsu2024_ablations:penetration",
        },
    ),
    "lee2018": Paper(
        "Lee, Hyde, Bao, Fedkiw: A Skinned Tetrahedral Mesh for Hair Animation and Hair-Water Interaction",
        {
            **{name: f"reproduce.lee2018:{name}" for name in ("creature", "wetting", "dynamic", "truth")},
            **{name: f"reproduce.lee2018_water:{name}" for name in ("slosh", "pour", "water", "breach")},
            **{name: f"reproduce.lee2018_hairs:{name}" for name in ("mohawk", "long_hair", "carpet", "mass_spring")},
        },
    ),
}


@dataclass
class Report:
    """What one scene came to.

    Attributes:
        name: of the scene.
        folder: where its pictures go.
        figures: its numbers, beside the paper's where it has any.
        share: of the frames that are simulated; what is less than all says so in its notes.
        pictures: file name and caption of each.
        notes: where ours falls short or differs, and what cannot be compared.
    """

    name: str
    folder: Path
    figures: Figures
    share: float = 1.0
    pictures: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, case: str, metric: str, value: float, unit: str, **rest: Any) -> Row:
        """Append a row of figures; keyword arguments as in `Row`."""
        return self.figures.add(case, metric, value, unit, **rest)

    def picture(self, name: str, image: Any, caption: str) -> None:
        """Write display RGB (H, W, 3), uint8, as `name`.png into the folder."""
        from mane.render.sheet import write_png

        write_png(self.folder / f"{name}.png", image)
        self.pictures.append((f"{name}.png", caption))

    def note(self, text: str) -> None:
        """Say where ours falls short or differs."""
        self.notes.append(text)


def reproduce(
    paper: str,
    folder: Path | str,
    *,
    scenes: Iterable[str] | None = None,
    quick: bool = False,
    share: float = 1.0,
    tell: Callable[[str, str, float], None] | None = None,
) -> list[Report]:
    """Run scenes of a paper, write pictures, `figures.json` and `report.md` into `folder`, and return the reports.

    Args:
        paper: a name of `PAPERS`.
        folder: made if it is not there; each scene has a folder of its own in it.
        scenes: which ones; None for all.
        quick: smaller sizes, to see whether it runs at all.
        share: of the frames of every motion, above 0 and at most 1, where a paper has days of them.
        tell: called with the scene, what it does, and the share of it that is done.
    """
    require_choice("paper", paper, list(PAPERS))
    chosen = list(PAPERS[paper].scenes if scenes is None else scenes)
    for name in chosen:
        require_choice("scene", name, list(PAPERS[paper].scenes))
    if not 0 < share <= 1:
        raise ValueError(f"share: must be above 0 and at most 1, got {share}")
    if share < 1 and not PAPERS[paper].has_share:
        raise ValueError(f"share: scenes of {paper} are run whole, or quick; leave it out")
    target = Path(folder)
    reports = []
    for name in chosen:
        report = Report(name, target / name, Figures(f"{paper} {name}"), share)
        report.folder.mkdir(parents=True, exist_ok=True)
        module, _, function = PAPERS[paper].scenes[name].partition(":")
        run = getattr(import_module(f"mane.measure.{module}"), function or "run")
        run(report, quick=quick, tell=_of_scene(name, tell))
        reports.append(report)
        write_reports(paper, target, reports)  # after every scene, so that a long run that is stopped leaves something
    return reports


def task_of(tell: ProgressCallback, text: str, start: float, end: float) -> Done:
    """What to call with the share done of a task that takes a scene from `start` to `end`."""

    def done(share: float) -> None:
        tell(text, start + share * (end - start))

    return done


def _of_scene(name: str, tell: Callable[[str, str, float], None] | None) -> ProgressCallback:
    def told(text: str, share: float) -> None:
        if tell is not None:
            tell(name, text, share)

    return told


def all_figures(paper: str, reports: Iterable[Report]) -> Figures:
    """The rows of all scenes, each case with its scene's name before it."""
    from dataclasses import replace

    rows = [replace(row, case=f"{report.name}: {row.case}") for report in reports for row in report.figures.rows]
    return Figures(paper, rows)


def write_reports(paper: str, folder: Path, reports: list[Report]) -> None:
    """Write `figures.json` for programs and `report.md` for people."""
    from mane.io.atomic import atomic_path

    sections = [Section(report.name, report.figures.rows, report.pictures, report.notes) for report in reports]
    for name, text in (
        ("figures.json", all_figures(paper, reports).to_json() + "\n"),
        ("report.md", report_page(paper, PAPERS[paper].title, sections)),
    ):
        with atomic_path(folder / name) as partial:
            Path(partial).write_text(text, encoding="utf-8")

"""`mane bench salon`: how fast the salon answers a hand, with a page in a real browser where there is one."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mane.measure.figures import Figures
from mane.salon.protocol import TO_PAGE, decode
from mane.salon.scenes import salon_scene
from mane.salon.studio import Studio
from mane.salon.worker import Worker

Progress = Callable[[str], None]
GUIDES, STRANDS, VERTICES = 400, 150_000, 25
SHOWN = 30_000  # hairs of the page in software WebGL
CALM, COMBED, LATENCY = 25.0, 15.0, 100.0  # steps and milliseconds that are promised on two cores
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SOFTWARE = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
START_SECONDS = 300.0
COMB = 1
TIMED_PICTURES = 7
PARTS = {  # of an answer, see page/src/latency.ts
    "input": "mouse to page",
    "way": "page to simulation and back",
    "simulation": "in the simulation",
    "wait": "until the picture before is finished",
    "picture": "carrying, shading and drawing",
}


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Time steps calm and combed, then events of a mouse until the page shows what came of them."""
    figures, say = Figures("salon"), progress or (lambda text: None)
    guides, strands = (40, 2_000) if quick else (GUIDES, STRANDS)
    say(f"salon: {guides} guides, {strands:,} hairs")
    _measure_steps(figures, guides, strands, 10 if quick else 200, quick)
    _measure_water(figures, 1_000 if quick else SHOWN, 10 if quick else 150)
    browser = os.environ.get("MANE_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or not _has_playwright():
        say("salon: no page, there is no Chromium or no Playwright")
        return figures
    for shown in (1_000,) if quick else (SHOWN, STRANDS):
        say(f"salon: a page with {shown:,} hairs")
        _measure_page(figures, browser, shown, 20 if quick else 200, LATENCY if shown == SHOWN else None)
    return figures


def _settings(guides: int, strands: int, skin: str) -> list[str]:
    sizes = [f"groom.strands={strands}", f"groom.vertices={VERTICES}", f"guides.count={guides}"]
    return [*sizes, f"skin.method={skin}", "head.motion=still", "groom.style=straight", "strand.material=straight"]


def _measure_steps(figures: Figures, guides: int, strands: int, steps: int, quick: bool) -> None:
    sent: dict[str, int] = {}
    studio = Studio(
        salon_scene(None, _settings(guides, strands, "adaptive")),
        lambda topic, message: sent.__setitem__(topic, sent.get(topic, 0) + len(message)),
    )
    for _ in range(5):
        studio.step()
    case = f"{guides} guides x {VERTICES}, {strands:,} hairs adaptive"
    for name, motion, target in (("calm", None, CALM), ("combed", _combing, COMBED)):
        sent.clear()
        started = time.perf_counter()
        for step in range(steps):
            if motion is not None:
                studio.apply("move", motion(step / steps))
            studio.step()
        seconds = (time.perf_counter() - started) / steps
        promised = None if quick else target
        figures.add(case, f"steps of 10 ms, {name}", 1 / seconds, "1/s", target=promised, better="higher")
        figures.add(case, f"sent per frame, {name}", sum(sent.values()) / steps / 1e3, "kB")


def _measure_water(figures: Figures, strands: int, steps: int) -> None:
    """Steps of the hair that opens the salon: dry, and with water poured over it."""
    studio = Studio(salon_scene(None, [f"groom.strands={strands}"]), lambda topic, message: None)
    case = f"{studio.source.guides.count} guides, {strands:,} hairs linear"
    for name in ("dry", "poured on"):
        if name == "poured on":
            studio.apply("pour", {"origin": [0.03, 0.3, 0.03], "velocity": [0.0, -1.0, 0.0], "sequence": 1})
        for _ in range(steps // 3):
            studio.step()
        started = time.perf_counter()
        for _ in range(steps):
            studio.step()
        figures.add(case, f"steps of 10 ms, {name}", steps / (time.perf_counter() - started), "1/s", better="higher")


def _combing(share: float) -> dict[str, Any]:
    """The comb goes through the hair beside the face."""
    return {
        "number": COMB,
        "position": [0.1, 0.05 - 0.2 * share, 0.06],
        "rotation": [0.0, 0.0, 0.707, 0.707],
        "sequence": 1,
    }


def _has_playwright() -> bool:
    from importlib.util import find_spec

    return find_spec("playwright") is not None


def _measure_page(figures: Figures, browser: str, strands: int, events: int, target: float | None) -> None:
    from playwright.sync_api import sync_playwright

    from mane.salon.doors import OpenSalon

    scene = salon_scene(None, _settings(128, strands, "linear"))
    with tempfile.TemporaryDirectory() as folder, OpenSalon(scene, folder=Path(folder)) as salon:
        first_frame(salon.worker)
        with sync_playwright() as driver:
            one = driver.chromium.launch(executable_path=browser, args=list(SOFTWARE))
            page = one.new_page(viewport={"width": 1000, "height": 700})
            page.goto(salon.address)
            _wait(page, "window.salon && salon.stage.drawn > 0")
            _drag(page, events)
            answers: list[dict[str, float]] = page.evaluate("salon.answers")
            drawn, picture = page.evaluate("[salon.stage.drawn, salon.milliseconds().frame]")
            stages = _stage_times(page)
            one.close()
    case = f"page, software WebGL, {drawn:,} of {strands:,} hairs drawn"
    totals = [answer["total"] for answer in answers]
    figures.add(case, "mouse to finished picture, median", float(np.median(totals)), "ms", target=target)
    figures.add(case, "mouse to finished picture, 99th percentile", float(np.percentile(totals, 99)), "ms")
    for part, name in PARTS.items():
        figures.add(case, f"of it {name}, median", float(np.median([answer[part] for answer in answers])), "ms")
    figures.add(case, "picture, until it is finished", float(picture), "ms")
    for name, milliseconds in stages.items():
        figures.add(case, f"{name}, waited for by itself", milliseconds, "ms")


def _stage_times(page: Any) -> dict[str, float]:
    """Milliseconds of every stage of a picture, medians of some pictures in which each stage is waited for."""
    page.evaluate("salon.stage.isTimed = true")
    found: list[dict[str, float]] = []
    for _ in range(TIMED_PICTURES):
        page.evaluate("window.seen = salon.stage.pictures")
        _wait(page, "salon.stage.pictures > window.seen")
        found.append(page.evaluate("({...salon.milliseconds()})"))
    return {name: float(np.median([one[name] for one in found])) for name in found[0] if name != "frame"}


def first_frame(worker: Worker) -> dict[str, Any]:
    """Wait for the first frame of a worker and return its values."""
    deadline = time.monotonic() + START_SECONDS
    while worker.is_alive and time.monotonic() < deadline:
        found = dict(worker.board.newer(0)[1])
        if "frame" in found:
            return decode(found["frame"], TO_PAGE)[1]
        time.sleep(0.05)
    raise ValueError(f"salon: no frame came; {worker.error or 'the simulation is too slow'}")


def _wait(page: Any, code: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not page.evaluate(code):
        if time.monotonic() > deadline:
            raise ValueError("salon: the page shows nothing")
        time.sleep(0.05)


def _drag(page: Any, events: int) -> None:
    """Drag the comb about with events of a mouse, 30 a second."""
    x, y = page.evaluate(
        "(() => { const p = salon.stage.solids.pose(1).position.clone(); p.y += 0.006; p.project(salon.stage.camera);"
        "const box = document.querySelector('canvas').getBoundingClientRect();"
        "return [box.left + (p.x + 1) / 2 * box.width, box.top + (1 - p.y) / 2 * box.height]; })()"
    )
    page.mouse.move(x, y)
    page.mouse.down()
    for event in range(events):
        page.mouse.move(x - 1.5 * event * 200 / events, y + 20 * np.sin(0.2 * event))
        time.sleep(1 / 30)
    page.mouse.up()
    time.sleep(1.0)

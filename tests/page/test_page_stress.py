"""The page for long: left alone, and dragged about at random; memory of both sides does not grow.

`MANE_STRESS_MINUTES=1 pytest -m stress tests/page` takes a minute each in place of thirty and ten. What memory was over
time is written into the folder `MANE_STRESS_CURVES`, where that is given.
"""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from test_page import BALL, BROWSER, COMB, SOFTWARE, Tab

from mane.salon.doors import OpenSalon
from mane.salon.scenes import salon_scene

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.stress

MINUTES = os.environ.get("MANE_STRESS_MINUTES")
CURVES = os.environ.get("MANE_STRESS_CURVES")
SCENE = ["groom.strands=3000", "groom.vertices=12", "guides.count=32", "skin.method=adaptive"]
SETTLING = 0.35  # of the time, in which caches fill
GROWTH = {"simulation": 12e6, "server": 12e6, "page": 2e6}  # bytes between the first and the last third after that


def minutes(usual):
    return float(MINUTES or usual)


def resident(pid):
    """Bytes of a process that are in memory."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Watched:
    """A salon with a page, whose memory is looked at."""

    def __init__(self, driver, salon):
        flags = [*SOFTWARE, "--js-flags=--expose-gc", "--enable-precise-memory-info"]
        self.browser = driver.chromium.launch(executable_path=BROWSER, args=flags)
        self.tab, self.salon = Tab(self.browser, salon.address), salon
        self.samples, self.errors, self.started = [], [], time.monotonic()

    def look(self):
        heap = self.tab.get("(() => { gc(); gc(); return performance.memory.usedJSHeapSize; })()")
        simulation = resident(self.salon.worker._studio.pid)
        # The browser's other processes are shared with the driver; textures are counted by the page itself.
        textures = self.tab.get("salon.stage.backend.renderer.info.memory.textures")
        sample = {"simulation": simulation, "server": resident(os.getpid()), "page": heap, "textures": textures}
        self.samples.append({"time": time.monotonic() - self.started, **sample})

    def check(self, name):
        """No growth between the first and the last third of what was seen after settling."""
        if CURVES:
            Path(CURVES, f"{name}.json").write_text(json.dumps(self.samples))
        assert self.tab.errors == []
        assert self.tab.get("document.body.dataset.status") == "open"
        seen = self.samples[int(SETTLING * len(self.samples)) :]
        third = max(len(seen) // 3, 1)
        for name, allowed in GROWTH.items():
            early, late = (np.median([one[name] for one in part]) for part in (seen[:third], seen[-third:]))
            assert late - early < allowed, f"{name}: {early / 1e6:.1f} to {late / 1e6:.1f} MB"
        assert seen[-1]["textures"] == seen[0]["textures"]
        before = self.tab.get("salon.stage.frameCount")
        self.tab.wait(f"salon.stage.frameCount > {before + 5}", "alive")


@pytest.fixture
def watched():
    if BROWSER is None or not os.path.exists(BROWSER):
        pytest.skip("there is no Chromium")
    with OpenSalon(salon_scene(None, SCENE), threads=1) as salon, playwright.sync_playwright() as driver:
        one = Watched(driver, salon)
        yield one
        one.browser.close()


def test_a_page_that_is_left_alone(watched):
    end = time.monotonic() + 60 * minutes(30)
    while time.monotonic() < end:
        watched.look()
        time.sleep(min(60 * minutes(30) / 40, 20))
    watched.check("idle")


def test_a_page_that_is_dragged_about(watched):
    rng, tab = np.random.default_rng(5), watched.tab
    tab.choose("handles", "none")
    box = tab.page.locator("canvas").bounding_box()

    def somewhere():
        return box["x"] + box["width"] * rng.uniform(0.1, 0.9), box["y"] + box["height"] * rng.uniform(0.1, 0.9)

    end, looked = time.monotonic() + 60 * minutes(10), 0.0
    while time.monotonic() < end:
        tool = rng.choice(["hand", "hand", "grab", "blow", "pour"])
        tab.page.click(f"#tool-{tool}")
        tab.page.mouse.move(*(tab.place_of(int(rng.choice([COMB, BALL]))) if tool == "hand" else somewhere()))
        tab.page.mouse.down()
        for _ in range(int(rng.integers(2, 8))):
            tab.page.mouse.move(*somewhere(), steps=5)
            if rng.random() < 0.3:
                tab.page.mouse.wheel(0, float(rng.normal(0, 80)))
        tab.page.mouse.up()
        if rng.random() < 0.05:
            tab.press("reset")
        if time.monotonic() - looked > 60 * minutes(10) / 40:
            watched.look()
            looked = time.monotonic()
    watched.check("dragged")
    frame = np.array(tab.get("Array.from(salon.stage.shownFrame.points)"))
    assert np.isfinite(frame).all()
    assert np.abs(frame).max() < 3.0  # wherever it was combed to, hair is still on the head

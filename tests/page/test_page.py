"""The page in a real browser, with the simulation behind it; `make page-test` runs these."""

import os
import shutil
import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.groom.locks import lock_centres
from mane.salon.doors import OpenSalon
from mane.salon.scenes import salon_program, salon_scene
from mane.salon.shown import shuffled
from mane.scene.build import build
from mane.scene.config import FramesTable
from mane.scene.hair_stage import HairStage
from mane.scene.loop import run_scene
from mane.scene.scene_file import overridden, read_scene
from mane.skin.guide_values import GuideValues
from mane.stage.clock import StageClock

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.page

BROWSER = os.environ.get("MANE_BROWSER") or shutil.which("chromium")
SOFTWARE = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SCENE = ["groom.strands=1500", "groom.vertices=12", "guides.count=24", "head.motion=still"]
PATIENCE = 240.0  # [s]; the machine may be busy, kernels are compiled, and movies are drawn at the lowest priority
COMB, BALL = 1, 2


@contextmanager
def chromium(*arguments):
    """The browser of this machine, drawing in software; skips the test where there is none."""
    if BROWSER is None or not os.path.exists(BROWSER):
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as driver:
        one = driver.chromium.launch(executable_path=BROWSER, args=[*SOFTWARE, *arguments])
        yield one
        one.close()


@pytest.fixture(scope="module")
def browser():
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def salon(tmp_path_factory):
    with OpenSalon(salon_scene(None, SCENE), folder=tmp_path_factory.mktemp("saved"), threads=1) as one:
        one.folder = tmp_path_factory.getbasetemp() / "saved0"
        yield one


class Tab:
    """A page that is open, and what it complained about."""

    def __init__(self, browser, address):
        self.page = browser.new_page(viewport={"width": 760, "height": 420})
        self.errors, self.requests = [], []
        self.page.on(
            "console", lambda line: self.errors.append(line.text) if line.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.wait("window.salon && salon.stage.drawn > 0")

    def get(self, code):
        return self.page.evaluate(code)

    def wait(self, code, what="true"):
        """Ask the page until it says yes; its policy forbids to let it wait by itself."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = self.get(code)
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"{code} did not come {what} within {PATIENCE:g} s; the page says {self.errors}")

    def seen_at(self, point):
        """Where a point, a vector of three in the page's own words, is on the screen [pixels]."""
        return self.get(
            f"(() => {{ const p = {point}.project(salon.stage.camera);"
            "const box = document.querySelector('canvas').getBoundingClientRect();"
            "return [box.left + (p.x + 1) / 2 * box.width, box.top + (1 - p.y) / 2 * box.height]; })()"
        )

    def place_of(self, number, shift=(0, 0, 0)):
        """Where a prop is on the screen [pixels], or a place beside it."""
        spine = ".add({x: 0, y: 0.006, z: 0})" if number == COMB else ""
        x, y, z = shift
        return self.seen_at(
            f"salon.stage.solids.pose({number}).position.clone(){spine}.add({{x: {x}, y: {y}, z: {z}}})"
        )

    def guides(self):
        return np.array(self.get("Array.from(salon.stage.shownFrame.points)")).reshape(-1, 3)

    def press(self, name):
        self.page.click(f"#command-{name}")

    def pixels(self):
        from io import BytesIO

        from PIL import Image

        data = self.page.locator("canvas").screenshot()
        return np.asarray(Image.open(BytesIO(data)).convert("RGB"), np.float64)

    def choose(self, name, value):
        self.page.select_option(f"#choice-{name}", value)


@pytest.fixture(scope="module")
def tab(browser, salon):
    one = Tab(browser, salon.address)
    yield one
    if not one.page.is_closed():
        one.page.close()


def test_the_page_loads_without_errors_or_outside_requests(tab, salon):
    assert tab.errors == []
    assert tab.requests
    assert all(url.startswith(salon.address) for url in tab.requests)
    picture = tab.pixels()
    background = picture[5, 5]
    assert (np.abs(picture - background).max(axis=2) > 20).mean() > 0.05  # something is drawn


def reference(tab, skin):
    """What carries the page's hair, made here with other keys of [skin], and the frame that the page shows."""
    scene = overridden(salon_scene(None, SCENE), skin)
    assembly = build(scene)
    stage = HairStage(scene, shuffled(assembly.hair, scene.seed), assembly.source, StageClock())
    frame = tab.get(
        "(() => { const f = salon.stage.shownFrame; return {points: Array.from(f.points), head: Array.from(f.head),"
        "solids: Array.from(f.solids), time: f.time}; })()"
    )
    rest = assembly.source.rest
    head = Pose(np.array(frame["head"][:3]), np.array(frame["head"][3:]))
    solids = np.array(frame["solids"]).reshape(-1, 7)
    seen = replace(
        rest,
        points=np.array(frame["points"], np.float32).reshape(rest.points.shape),
        roots=head.apply(rest.roots),
        root_rotations=np.tile(head.rotation.astype(np.float32), (len(rest.points), 1)),
        head=head,
        solid_poses=tuple(Pose(row[:3], row[3:]) for row in solids),
        time=frame["time"],
        is_rest_pose=False,
    )
    return stage, seen


def shown(tab, method):
    """A skin of the page's hair bound here, the frame that the page shows, and hairs as its graphics card has them."""
    stage, seen = reference(tab, [f"skin.method={method}"])
    return stage.skin, seen, np.array(tab.get("salon.points(0)")).reshape(stage.skin.groom.strand_count, -1, 3)


def settled(tab):
    """Let the page stand still."""
    tab.press("pause")
    tab.wait("document.querySelector('#command-pause').getAttribute('aria-pressed') === 'true'")
    time.sleep(0.5)


def kept(vertices):
    """Vertices of a hair that a page has which draws with the processor: every other one, and the last."""
    return [*range(0, vertices - 1, 2), vertices - 1]


def test_hair_of_the_graphics_card_is_that_of_the_skin(tab, browser, salon):
    box = tab.page.locator("canvas").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + 0.45 * box["height"]
    tab.page.mouse.move(*middle)
    tab.page.mouse.down()  # on the face: the head turns
    tab.page.mouse.move(middle[0] + 60, middle[1] + 10, steps=4)
    tab.page.mouse.up()
    tab.wait("Math.abs(salon.stage.shownFrame.head[4]) > 0.05", "turned")
    settled(tab)
    skin, frame, hairs = shown(tab, "linear")
    expected = skin(frame)
    assert np.abs(expected[:, kept(expected.shape[1])] - hairs).max() < 1e-4
    fine = Tab(browser, salon.address + "#fine")  # with every vertex, as a graphics card has them
    assert np.abs(expected - np.array(fine.get("salon.points(0)")).reshape(expected.shape)).max() < 1e-4
    fine.page.close()


def test_dragging_the_comb_moves_hair(tab):
    tab.press("reset")
    tab.press("play")
    x, y = tab.place_of(COMB)
    before, guides = tab.pixels(), tab.guides()
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    assert tab.get("salon.hands.held") == COMB
    beside_the_face = "salon.stage.orbit.target.clone().set(0.1, 0.03, 0.07)"
    tab.page.mouse.move(*tab.seen_at(beside_the_face), steps=12)
    tab.wait("salon.answers.length > 5", "back from the server")
    tab.wait("salon.stage.solids.pose(1).position.x < 0.17", "with the mouse")
    in_front = tab.get("salon.stage.solids.pose(1).position.z")
    tab.page.mouse.wheel(0, -400)  # 10 cm deeper
    tab.wait(f"salon.stage.solids.pose(1).position.z < {in_front - 0.08}", "into the hair")
    time.sleep(1.0)
    tab.page.mouse.up()
    assert np.abs(tab.guides() - guides).max() > 0.003
    assert (np.abs(tab.pixels() - before).max(axis=2) > 30).mean() > 0.005


def test_adaptive_hair_of_the_graphics_card_is_that_of_the_skin(tab):
    """With the sets that the server chose, and what is left of jumps; hair does not lean there (docs/salon.md)."""
    tab.press("reset")
    tab.press("play")
    tab.choose("skin", "adaptive")
    tab.wait("salon.stage.sides[0].skin === 'adaptive'", "adaptive")
    tab.wait("salon.stage.shownFrame.time > 0.3", "long enough")
    settled(tab)
    skin, frame, hairs = shown(tab, "adaptive")
    masks = np.array(tab.get("salon.masks(0)"), np.int32)[: len(hairs)]
    assert len(np.unique(masks)) > 3  # the comb is in the hair
    jumps = np.array(tab.get("salon.points(0, 1)")).reshape(hairs.shape)
    assert np.abs(jumps).max() < 0.03
    tables = skin.tables
    weights = skin.sets.weights(tables, np.arange(len(hairs)), masks)
    local = frame.head.inverse_apply(frame.points.astype(np.float64))
    tables.move((local - skin.guides.rest).astype(np.float32))
    moved = tables.rest + np.einsum("smv,smcv->scv", weights, tables.shift[tables.rows])  # chai2017 eq. 5, 11
    moved = moved[:, :, kept(moved.shape[2])]
    here = frame.head.apply(np.moveaxis(moved, 1, 2) + tables.pivot + jumps)
    assert np.abs(here - hairs).max() < 1e-4
    tab.press("play")
    tab.choose("skin", "linear")
    tab.wait("salon.stage.sides[0].skin === 'linear'", "linear")


def test_every_slider_reaches_the_server(tab):
    names = tab.get("[...document.querySelectorAll('.settings input')].map((one) => one.id)")
    assert len(names) >= 12
    for name in names:
        if name in ("slider-strands", "slider-guides", "slider-server_strands"):
            continue  # make the hair anew, which test_studio does at a small size
        before = tab.page.locator(f"#{name} + output").inner_text()
        tab.get(
            f"(() => {{ const one = document.querySelector('#{name}');"
            "one.value = String(Number(one.value) * 0.5 + 137);"
            "for (const kind of ['input', 'change']) one.dispatchEvent(new Event(kind)); })()"
        )
        wanted = tab.page.locator(f"#{name} + output").inner_text()
        assert wanted != before, name
        tab.get("window.last = salon.stage.frameCount")
        tab.wait("salon.stage.shownFrame && salon.stage.frameCount > window.last + 2", f"after {name}")
        assert tab.page.locator(f"#{name} + output").inner_text() == wanted, name
    assert tab.page.locator(".notice").inner_text() == ""


def test_two_skins_are_side_by_side(tab):
    tab.choose("second", "rigid")
    tab.wait("salon.points(1).length > 0", "in the right half")
    tab.choose("view", "guides")
    time.sleep(0.5)
    picture = tab.pixels()
    half = picture.shape[1] // 2
    for side in (picture[:, :half], picture[:, half:]):
        assert (side.std(axis=2) > 15).mean() > 0.02
    tab.choose("view", "hair")


SHAPE = (
    "(() => { const box = document.querySelector('canvas').getBoundingClientRect();"
    "return salon.stage.columns * salon.stage.camera.aspect * box.height / box.width; })()"
)


def test_what_is_pointed_at_is_what_is_shown(tab):
    """Until the picture of one side is there, the one of two is seen; a drag missed the ball then."""
    tab.wait("salon.stage.columns === 2", "side by side")
    assert tab.get(SHAPE) == pytest.approx(1, rel=0.01)
    count = tab.get("salon.stage.solids.meshes.size")
    before = f"salon.stage.takeState({{sides: [{{skin: 'linear'}}], solids: {count}}})"
    assert tab.get(f"{before}; {SHAPE}") == pytest.approx(1, rel=0.01)
    tab.choose("second", "linear")
    tab.wait("salon.stage.columns === 2", "side by side")


def test_handles_that_are_not_shown_are_not_dragged(tab):
    """They are drawn over one view alone, and would be taken where the other one has something else."""
    tab.get("salon.hands.take(2)")
    tab.wait("salon.stage.columns === 2", "side by side")
    tab.page.mouse.move(*handle_of(tab, "y", 0.06))
    tab.page.mouse.down()
    assert not tab.get("salon.stage.gizmo.controls.dragging")
    tab.page.mouse.up()
    tab.choose("second", "none")
    tab.wait("salon.stage.columns === 1", "alone")


@pytest.fixture
def untouched_tab(browser, tmp_path):
    """A tab of a salon in which no slider was moved: other hair has other guides."""
    with OpenSalon(salon_scene(None, SCENE), folder=tmp_path, threads=1) as salon:
        one = Tab(browser, salon.address)
        yield one
        one.page.close()


def put_the_ball_beside(tab):
    """Take the comb in hand, so that handles are not at the ball, and put the ball where a scene begins."""
    tab.get("salon.hands.take(2); salon.hands.pose.position.set(-0.24, 0.1, 0.1); salon.hands.sendPose()")
    tab.get("salon.hands.take(1)")
    tab.wait("salon.stage.solids.pose(2).position.x < -0.23", "to its place")


# Keep the guides of every frame that arrives from now on, by time.
KEEP_FRAMES = (
    "(() => { window.seen = []; const take = salon.stage.take.bind(salon.stage);"
    "salon.stage.take = (one) => { take(one); if (one.kind === 'frame') seen.push([one.time, [...one.points]]); }; })()"
)


def test_what_was_done_is_recorded_and_saved_as_a_scene_of_the_same_motion(tab, salon):
    """After all sliders were moved and two views were shown, as a person does it."""
    put_the_ball_beside(tab)
    settled(tab)
    tab.get(KEEP_FRAMES)
    tab.press("record")
    tab.wait("document.querySelector('#command-record').getAttribute('aria-pressed') === 'true'")
    x, y = tab.place_of(BALL)
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.page.mouse.move(x + 120, y + 20, steps=8)
    tab.wait("salon.stage.solids.pose(2).position.x > -0.2", "with the mouse")
    tab.page.mouse.up()
    tab.wait("salon.stage.shownFrame.time > 0.1", "long enough")
    tab.press("stop")
    tab.page.fill("#save-name", "by_hand")
    tab.page.click("#save-scene")
    tab.wait("document.querySelector('.notice').textContent.includes('saved')", "saved")
    scene = read_scene(salon.folder / "by_hand.toml")
    source = build(scene).source
    again = [source.reset(), *(source.step() for _ in range(scene.frames.count - 1))]
    start = source.solids[BALL].motion.pose(0.0).position
    end = source.solids[BALL].motion.pose(1e3).position
    assert np.linalg.norm(end - start) > 0.02
    seen = [(round(one * scene.frames.rate), points) for one, points in tab.get("seen")]
    same = [(again[number].points, points) for number, points in seen if number < len(again)]
    assert len(same) > 8
    assert max(np.abs(one.reshape(-1) - points).max() for one, points in same) < 1e-6
    assert np.abs(again[-1].points - again[0].points).max() > 1e-4  # they moved
    tab.get("delete salon.stage.take")


def touch(tab, kind, points):
    """A touch of fingers, as a phone sends it."""
    tab.touches.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})


def test_touch_drags_props_and_turns_the_camera(tab):
    tab.press("reset")
    tab.press("play")
    put_the_ball_beside(tab)
    tab.touches = tab.page.context.new_cdp_session(tab.page)
    x, y = tab.place_of(BALL)
    before = tab.get("salon.stage.solids.pose(2).position.toArray()")
    touch(tab, "touchStart", [(x, y)])
    for step in range(1, 9):
        touch(tab, "touchMove", [(x + 10 * step, y + 2 * step)])
    touch(tab, "touchEnd", [])
    assert tab.get("salon.hands.held") == BALL
    tab.wait(f"salon.stage.solids.pose(2).position.x > {before[0] + 0.02}", "with the finger")
    eye = tab.get("salon.stage.camera.position.toArray()")
    box = tab.page.locator("canvas").bounding_box()
    corner = box["x"] + 8, box["y"] + 8
    touch(tab, "touchStart", [corner])
    for step in range(1, 6):
        touch(tab, "touchMove", [(corner[0] + 8 * step, corner[1])])
    touch(tab, "touchEnd", [])
    tab.wait(f"Math.abs(salon.stage.camera.position.x - {eye[0]}) > 0.02", "around")


def handle_of(tab, axis, along):
    """Where a place along an arrow of the handles is on the screen [pixels]."""
    shift = {"x": 0, "y": 0, "z": 0, axis: along}
    return tab.place_of(tab.get("salon.hands.held"), shift.values())


def test_handles_move_along_one_axis_alone(tab):
    x, y = tab.place_of(BALL)
    tab.page.mouse.click(x, y)  # in hand
    tab.wait("salon.hands.held === 2", "in hand")
    time.sleep(0.5)
    before = np.array(tab.get("salon.stage.solids.pose(2).position.toArray()"))
    x, y = handle_of(tab, "y", 0.06)  # beyond the ball
    tab.page.mouse.move(x, y)
    assert tab.get("salon.stage.gizmo.controls.axis") == "Y"
    tab.page.mouse.down()
    tab.page.mouse.move(x + 5, y - 40, steps=5)
    tab.page.mouse.up()
    tab.wait(f"salon.stage.solids.pose(2).position.y > {before[1] + 0.02}", "along the arrow")
    time.sleep(0.5)
    after = np.array(tab.get("salon.stage.solids.pose(2).position.toArray()"))
    assert np.abs(after - before)[[0, 2]].max() < 1e-3
    tab.choose("handles", "none")
    assert tab.get("salon.stage.gizmo.controls.object === undefined")
    tab.choose("handles", "move")


def colours(tab, view):
    tab.choose("view", view)
    time.sleep(0.7)
    return tab.pixels()


def test_every_coloured_view_shows_something_of_its_own(tab):
    settled(tab)
    seen = {view: colours(tab, view) for view in ("hair", "guides", "weights", "sets", "penetration")}
    names = list(seen)
    for first in range(len(names)):
        for second in range(first + 1, len(names)):
            differs = np.abs(seen[names[first]] - seen[names[second]]).max(axis=2) > 25
            # Sets of linear skinning are the guides of a hair: the same picture.
            assert differs.mean() > 0.02 or {names[first], names[second]} == {"guides", "sets"}
    tab.choose("view", "hair")


def test_another_thing_is_taken_in_hand(tab):
    tab.press("play")
    for prop in ("hairbrush", "hand", "comb"):
        count = tab.get("salon.stage.frameCount")
        tab.choose("prop", prop)
        tab.wait(f"salon.stage.solids.nameOf(1) === '{prop}'", prop)
        tab.wait(f"salon.stage.frameCount > {count + 3}", "moving on")
    assert tab.errors == []


def test_water_is_poured_and_hair_gets_wet(untouched_tab):
    """With real mouse events; what clings on the page is what the rule of `wet_locks` says, without its lengths."""
    tab = untouched_tab
    tab.wait("salon.stage.shownFrame.time > 0.02", "moving")
    tab.page.click("#tool-pour")
    x, y = tab.seen_at("salon.stage.orbit.target.clone().set(0, 0.2, 0)")
    before = tab.pixels()
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.wait("salon.stage.backend.water.isThere && salon.stage.backend.wet?.isWet", "wet")
    tab.wait(  # of seven vertices beyond the middle
        "salon.stage.backend.readWet(0, salon.stage.shownFrame).held.some((held, i) => i % 7 > 3 && held > 0.3)",
        "soaked",
    )
    during = tab.pixels()
    tab.page.mouse.up()
    assert (np.abs(during - before).max(axis=2) > 25).mean() > 0.01
    settled(tab)
    wet = tab.get(  # all at one moment
        "({...salon.stage.backend.readWet(0, salon.stage.shownFrame), dry: salon.points(0),"
        "levels: Array.from(salon.stage.backend.wet.wetness.image.data)})"
    )
    dry = np.array(wet["dry"]).reshape(1500, -1, 3)
    points, held = np.array(wet["points"]).reshape(dry.shape), np.array(wet["held"]).reshape(dry.shape[:2])
    scene = salon_scene(None, SCENE)
    assembly = build(scene)
    groom, guides = shuffled(assembly.hair, scene.seed), assembly.source.guides
    centres = lock_centres(groom.roots, 24)
    leader = np.array([np.flatnonzero(centres == centre)[0] for centre in centres])
    levels = np.array(wet["levels"], np.float32).reshape(-1, 2)
    shape = guides.rest.shape[:2]
    on_hair = [GuideValues(groom, guides)(one.reshape(shape), dry.shape[1]) for one in levels[: np.prod(shape)].T]
    part = np.clip((np.linspace(0, 1, dry.shape[1]) - 0.1) / 0.9, 0, 1)
    pull = on_hair[1] * 0.9 * part**2 * (3 - 2 * part)
    assert np.abs(held - on_hair[0]).max() < 1e-5
    assert pull.max() > 0.05
    assert np.abs(dry + pull[:, :, None] * (dry[leader] - dry) - points).max() < 1e-5
    tab.page.click("#tool-hand")
    tab.press("reset")
    tab.press("play")
    tab.wait("!salon.stage.backend.water.isThere && !salon.stage.backend.wet?.isWet", "dry again")
    assert tab.errors == []


def test_two_tabs_see_the_same(tab, browser, salon):
    settled(tab)
    other = Tab(browser, salon.address)
    assert np.array_equal(tab.guides(), other.guides())
    assert other.errors == []
    other.page.close()


def test_a_server_that_comes_back_is_found_again(tab, browser):
    tab.page.close()
    with OpenSalon(salon_scene(None, [*SCENE, "groom.style=ball"]), threads=1) as first:
        port = first.guard.port
        one = Tab(browser, first.address)
    one.wait("document.body.dataset.status !== 'open'", "lost")
    assert one.page.locator(".status").inner_text().split(":")[0] in ("lost", "connecting")
    with OpenSalon(salon_scene(None, [*SCENE, "groom.style=ball"]), port=port, threads=1):
        one.wait("document.body.dataset.status === 'open'", "open again")
        before = one.get("salon.stage.frameCount")
        one.wait(f"salon.stage.frameCount > {before + 3}", "alive")
    one.page.close()


def test_a_cache_is_played_paused_and_scrubbed(browser, tmp_path):
    scene = overridden(
        salon_scene(None, [*SCENE, "groom.style=ball"]),
        ["head.motion=shake", "output.cache=shake.cache", "camera.size=[96, 64]"],
    )
    run_scene(replace(scene, frames=FramesTable(end=8), folder=tmp_path))
    with OpenSalon(salon_program(tmp_path / "shake.cache"), folder=tmp_path, threads=1) as salon:
        one = Tab(browser, salon.address)
        one.wait("salon.stage.frameCount > 10", "around")
        settled(one)
        one.get(
            "(() => { const s = document.querySelector('#slider-frame'); s.value = '500';"
            "s.dispatchEvent(new Event('input')); })()"
        )
        one.wait(f"Math.abs(salon.stage.shownFrame.time - {4 / 24}) < {1.01 / 24}", "in the middle")
        time_before = one.get("salon.stage.shownFrame.time")
        one.press("step")
        one.wait(f"salon.stage.shownFrame.time > {time_before}", "a frame on")
        assert one.page.locator("#command-record").is_disabled()
        one.page.fill("#save-name", "shake")
        one.page.click("#save-movie")
        one.wait("document.querySelector('.notice').textContent === 'shake.mp4: saved'", "drawn")
        assert (tmp_path / "shake.mp4").stat().st_size > 500
        assert one.errors == []
        one.page.close()


def test_the_page_fits_a_phone(browser):
    with OpenSalon(salon_scene(None, [*SCENE, "groom.style=ball"]), threads=1) as salon:
        one = Tab(browser, salon.address)
        one.page.set_viewport_size({"width": 390, "height": 780})
        one.wait("document.querySelector('canvas').clientWidth == 390", "as wide as a phone")
        picture, panel = one.page.locator("canvas").bounding_box(), one.page.locator("aside").bounding_box()
        assert picture["width"] == 390
        assert picture["height"] > 350
        assert panel["y"] >= picture["height"] - 1
        assert one.get("document.documentElement.scrollWidth") <= 390
        one.page.close()

"""What a person does at the page besides dragging props: keys, locks, air, rings, time, a camera far away; and the page
in the frame of a notebook, with a simulation that dies, and with a server that is killed.
"""

import re
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from test_page import BALL, COMB, PATIENCE, SCENE, Tab, chromium, kept, settled

import mane
from mane.geometry import quaternion
from mane.salon.doors import OpenSalon
from mane.salon.scenes import salon_scene
from mane.salon.server import free_port

pytestmark = pytest.mark.page
SMALL = ["groom.style=ball", "groom.strands=600", "groom.vertices=10", "guides.count=16", "head.motion=still"]
DRAWN = 2  # points that are drawn, as a page reads them back
KEY_TURN = 0.12  # [rad] per key


@pytest.fixture(scope="module")
def browser():
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def salon():
    with OpenSalon(salon_scene(None, SCENE), threads=1) as one:
        yield one


@pytest.fixture(scope="module")
def tab(browser, salon):
    one = Tab(browser, salon.address)
    yield one
    one.page.close()


def rotation(tab, number):
    return np.array(tab.get(f"salon.stage.solids.pose({number}).rotation.toArray()"))


def angle_between(a, b):
    return float(np.linalg.norm(quaternion.log(quaternion.multiply(b, quaternion.conjugate(a)))))


def waits(tab, code):
    """Let the page show a few frames more."""
    tab.get("window.last = salon.stage.frameCount")
    tab.wait("salon.stage.frameCount > window.last + 5", code)


def test_keys_turn_what_was_touched_last(tab):
    tab.get(f"salon.hands.take({COMB})")
    before = rotation(tab, COMB)
    for _ in range(3):
        tab.page.keyboard.press("q")
    waits(tab, "turned")
    tab.wait(f"Math.abs(salon.stage.solids.pose({COMB}).rotation.z - {before[2]}) > 0.05", "turned")
    waits(tab, "turned")
    third = quaternion.multiply(before, [0.0, 0.0, np.sin(1.5 * KEY_TURN), np.cos(1.5 * KEY_TURN)])
    assert angle_between(rotation(tab, COMB), third) < 1e-3
    # Those are no keys for it: a shortcut of the browser, and one that chooses in a list.
    tab.page.keyboard.press("Control+e")
    tab.page.focus("#choice-look")
    tab.page.keyboard.press("w")
    waits(tab, "as before")
    assert angle_between(rotation(tab, COMB), third) < 1e-3
    tab.get("document.activeElement.blur()")
    for _ in range(3):
        tab.page.keyboard.press("e")
    tab.wait(f"Math.abs(salon.stage.solids.pose({COMB}).rotation.z - {before[2]}) < 1e-3", "turned back")


def test_rings_turn_a_prop_where_it_is(tab):
    tab.get(f"salon.hands.take({BALL})")
    tab.choose("handles", "turn")
    time.sleep(0.5)
    before, place = rotation(tab, BALL), np.array(tab.get(f"salon.stage.solids.pose({BALL}).position.toArray()"))
    x, y = tab.place_of(BALL)

    def ring():
        """A place to the right of the middle at which a ring can be taken [pixels]."""
        for away in range(8, 120, 2):
            tab.page.mouse.move(x + away, y)
            if tab.get("salon.stage.gizmo.controls.axis") is not None:
                return away
        raise AssertionError("there is no ring")

    away = ring()
    tab.page.mouse.down()
    tab.page.mouse.move(x + away + 60, y + 45, steps=6)  # whichever of them it is
    tab.page.mouse.up()
    waits(tab, "turned")
    assert angle_between(rotation(tab, BALL), before) > 0.1
    assert np.abs(np.array(tab.get(f"salon.stage.solids.pose({BALL}).position.toArray()")) - place).max() < 1e-4
    tab.choose("handles", "none")


def moved(tab, before):
    return np.linalg.norm(tab.guides() - before, axis=1).max()


def wait_until(is_so, what):
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def test_a_lock_is_grabbed_pulled_and_let_go(tab):
    tab.press("reset")
    tab.press("play")
    tab.page.click("#tool-grab")
    before = tab.guides()
    # The tip that is farthest to the left on the screen hangs freely.
    tips = before.reshape(24, -1, 3)[:, -1]
    guide = int(np.argmin(tips[:, 0]))
    tip = guide * len(before) // 24 + len(before) // 24 - 1
    x, y = tab.seen_at(f"salon.stage.orbit.target.clone().fromArray(salon.stage.shownFrame.points, {3 * tip})")
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    assert tab.get("salon.hands.drag?.kind") == "lock"
    tab.page.mouse.move(x - 40, y - 40, steps=6)
    wait_until(lambda: moved(tab, before) > 0.02, "pulled by 2 cm")
    held = moved(tab, before)
    tab.page.mouse.up()
    wait_until(lambda: moved(tab, before) < 0.7 * held, "let go")
    tab.page.click("#tool-hand")


def test_air_is_blown_from_the_pointer(tab):
    tab.press("reset")
    tab.press("play")
    tab.page.click("#tool-blow")
    before = tab.guides()
    tab.page.mouse.move(*tab.seen_at("salon.stage.orbit.target.clone()"))
    tab.page.mouse.down()
    wait_until(lambda: moved(tab, before) > 0.005, "blown by 5 mm")
    tab.page.mouse.up()
    tab.page.click("#tool-hand")


def slide(tab, name, value):
    tab.get(
        f"(() => {{ const one = document.querySelector('#slider-{name}'); one.value = '{value}';"
        "for (const kind of ['input', 'change']) one.dispatchEvent(new Event(kind)); })()"
    )


def pace(tab, seconds=1.5):
    """Time of the simulation per second of the clock."""
    start, before = time.monotonic(), tab.get("salon.stage.shownFrame.time")
    time.sleep(seconds)
    return (tab.get("salon.stage.shownFrame.time") - before) / (time.monotonic() - start)


def test_slow_motion_and_single_steps(tab):
    tab.press("reset")
    tab.press("play")
    usual = pace(tab)
    slide(tab, "speed", 0)
    time.sleep(0.3)
    slow = pace(tab)
    assert 0 < slow < 0.035  # a fiftieth of real time
    assert usual > 3 * slow
    slide(tab, "speed", 1000)
    settled(tab)
    before = tab.get("salon.stage.shownFrame.time")
    tab.press("step")
    tab.wait(f"salon.stage.shownFrame.time > {before}", "a step on")
    time.sleep(0.3)
    assert tab.get("salon.stage.shownFrame.time") == pytest.approx(before + 0.01)


def test_another_style_is_other_hair(tab):
    tab.press("play")
    before = tab.get("Array.from(salon.stage.shownFrame.points.slice(0, 600))")
    tab.choose("style", "bob")
    tab.wait("document.querySelector('#slider-fringe') !== null", "a bob has a fringe")
    waits(tab, "moving")
    assert np.abs(np.array(tab.get("Array.from(salon.stage.shownFrame.points.slice(0, 600))")) - before).max() > 0.01
    tab.choose("style", "wavy")
    tab.wait("document.querySelector('#slider-wave') !== null", "waves")
    assert tab.page.locator(".notice").inner_text() == ""


def test_from_far_away_fewer_hairs_are_drawn_and_wider(tab):
    """Of 1,500 half are drawn in full, and at least 500."""
    settled(tab)
    tab.page.click("#fit")
    tab.wait("salon.stage.isFull && salon.stage.drawn === 750", "near, and calm")
    width = "salon.stage.backend.pass.uniforms.width.value"
    near = tab.get(width)
    tab.get("salon.stage.camera.position.sub(salon.stage.orbit.target).multiplyScalar(8).add(salon.stage.orbit.target)")
    tab.wait("salon.stage.isFull && salon.stage.drawn === 500", "far away")
    assert tab.get(width) >= near
    tab.page.click("#fit")
    tab.wait("salon.stage.isFull && salon.stage.drawn === 750", "near again")


def test_hair_is_kept_out_of_the_ball_by_its_distances_and_penetration_is_what_it_was_in_it(tab):
    """3D textures of WebGL2 in half floats; lengths are WebGPU's business."""
    tab.press("reset")
    tab.press("play")
    tab.get(f"salon.hands.take({BALL}); salon.hands.pose.position.set(0.1, 0.02, 0.02); salon.hands.sendPose()")
    tab.wait(f"salon.stage.solids.pose({BALL}).position.x > 0.09", "in the hair")
    settled(tab)
    ball = np.array(tab.get(f"salon.stage.solids.pose({BALL}).position.toArray()"))
    carried, drawn = (np.array(tab.get(f"salon.points(0, {what})")).reshape(1500, -1, 3) for what in (0, DRAWN))
    assert carried.shape[1] == len(kept(12))
    away = [np.linalg.norm(points - ball, axis=2)[:, 1:] for points in (carried, drawn)]
    assert (away[0] < 0.034).sum() > 10  # there is something to push out
    assert away[1].min() > 0.035 - 2e-4
    deep = np.array(tab.get("salon.depths(0)")).reshape(1500, -1)[:, 1:]  # [mm], of the view of penetration
    inside = away[0] < 0.034
    assert (deep[inside] - 1e3 * (0.035 - away[0][inside])).min() > -0.2
    free = deep == 0
    assert free.mean() > 0.5
    assert away[0][free].min() > 0.035 - 2e-4
    assert np.abs(carried - drawn)[:, 1:][free].max() < 1e-5


# -- pages in frames, and servers that end ---------------------------------------------------------------------------


class OnePage(BaseHTTPRequestHandler):
    def __init__(self, text, *arguments):
        self.text = text
        super().__init__(*arguments)

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.text.encode())

    def log_message(self, *arguments):
        pass


class Notebook:
    """A page at an address of its own that shows a cell's value."""

    def __init__(self, text):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(OnePage, text))
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()


def has_hair(page, seconds):
    """Whether the frame of a page shows hair within a time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        frame = page.frames[-1]
        if frame is not page.main_frame and frame.evaluate("window.salon?.stage.drawn > 0"):
            return True
        time.sleep(0.1)
    return False


def test_a_notebook_shows_a_simulation_in_a_frame(browser):
    groom = mane.styles.make("ball", strands=300, vertices=8, seed=1)
    sim = mane.Simulation(mane.select_guides(groom, 12, seed=1), head="shake", frame_rate=100.0)
    with mane.show(sim, groom) as view, Notebook(view._repr_html_()) as notebook:
        page = browser.new_page()
        page.goto(notebook.address)
        assert has_hair(page, PATIENCE)
        page.close()


def test_a_salon_of_its_own_is_shown_in_no_frame(browser):
    with OpenSalon(salon_scene(None, SMALL), threads=1) as salon:
        with Notebook(f'<iframe src="{salon.address}"></iframe>') as notebook:
            page = browser.new_page()
            page.goto(notebook.address)
            assert not has_hair(page, 3.0)
            page.close()
        Tab(browser, salon.address).page.close()  # by itself it is


def test_a_simulation_that_dies_is_told_to_the_page(browser):
    with OpenSalon(salon_scene(None, SMALL), threads=1) as salon:
        one = Tab(browser, salon.address)
        salon.worker._studio.kill()
        one.wait("document.querySelector('.status').textContent === 'lost: the simulation has ended'", "told")
        one.page.close()


def start_salon(port):
    """`mane salon` as a person runs it, and the address that it prints."""
    settings = [part for one in SMALL for part in ("--set", one)]
    command = [sys.executable, "-m", "mane", "salon", "--no-browser", "--port", str(port), "--threads", "1", *settings]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    for line in process.stderr:
        found = re.search(r"salon at (\S+)", line)
        if found:
            return process, found[1]
    raise AssertionError(f"mane salon printed no address, and ended with {process.wait()}")


def test_a_server_that_is_killed_and_started_again_is_found_again(browser):
    port = free_port("127.0.0.1")
    first, address = start_salon(port)
    second = None
    try:
        one = Tab(browser, address)
        first.send_signal(signal.SIGKILL)
        first.wait()
        one.wait("document.body.dataset.status !== 'open'", "lost")
        assert one.page.locator(".status").inner_text().split(":")[0] in ("lost", "connecting")
        second, again = start_salon(port)
        assert again == address
        one.wait("document.body.dataset.status === 'open'", "open again")
        waits(one, "alive")
        one.page.close()
    finally:
        for process in (first, second):
            if process is not None:
                process.kill()
                process.communicate()

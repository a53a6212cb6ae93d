"""The page in a stock Firefox: it loads, hair moves under the mouse, and its graphics card has the hair of the skin."""

from base64 import b64decode
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from firefox import Firefox, find_firefox

from mane.body.motion import Pose
from mane.salon.doors import OpenSalon
from mane.salon.scenes import salon_scene
from mane.salon.shown import shuffled
from mane.scene.build import build
from mane.scene.hair_stage import HairStage
from mane.stage.clock import StageClock

pytestmark = pytest.mark.page
SCENE = ["groom.style=ball", "groom.strands=600", "groom.vertices=10", "guides.count=16", "head.motion=still"]
BALL = 2


@pytest.fixture(scope="module")
def salon():
    with OpenSalon(salon_scene(None, SCENE), threads=1) as one:
        yield one


@pytest.fixture(scope="module")
def firefox(salon, tmp_path_factory):
    path = find_firefox()
    if path is None:
        pytest.skip("there is no Firefox with a display: firefox-esr and xvfb")
    one = Firefox(path, tmp_path_factory.mktemp("firefox"))
    one.open(salon.address)
    one.wait("!!window.salon && salon.stage.drawn > 0", "drawing")
    yield one
    one.close()


def test_the_page_loads_in_firefox_without_errors_or_outside_requests(firefox, salon):
    assert firefox.errors == []
    pages = [url for url in firefox.requests if url.startswith("http")]
    assert pages
    assert all(url.startswith(salon.address) for url in pages)
    from PIL import Image

    picture = np.asarray(Image.open(BytesIO(b64decode(firefox.screenshot()))).convert("RGB"), np.float64)
    assert (np.abs(picture - picture[5, 5]).max(axis=2) > 20).mean() > 0.05


# Where a point of the world is on the screen [pixels].
PLACE = (
    "((p) => {{ p.project(salon.stage.camera); const box = document.querySelector('canvas').getBoundingClientRect();"
    "return [box.left + (p.x + 1) / 2 * box.width, box.top + (1 - p.y) / 2 * box.height]; }})({point})"
)


def test_a_prop_follows_the_mouse_in_firefox(firefox):
    x, y = firefox.get(PLACE.format(point=f"salon.stage.solids.pose({BALL}).position.clone()"))
    before = firefox.get(f"salon.stage.solids.pose({BALL}).position.x")
    firefox.drag((x, y), (x + 60, y))
    assert firefox.get("salon.hands.held") == BALL
    firefox.wait("salon.answers.length > 3", "answering")
    firefox.wait(f"salon.stage.solids.pose({BALL}).position.x > {before} + 0.02", "with the mouse")
    firefox.release()


def test_hair_moves_under_the_mouse_in_firefox(firefox):
    firefox.get("document.querySelector('#tool-grab').click()")
    tip = "salon.stage.orbit.target.clone().fromArray(salon.stage.shownFrame.points, 3 * 9)"  # of the first guide
    x, y = firefox.get(PLACE.format(point=tip))
    before = np.array(firefox.get("Array.from(salon.stage.shownFrame.points)"))
    firefox.drag((x, y), (x + 50, y + 30))
    firefox._until(
        lambda: np.abs(np.array(firefox.get("Array.from(salon.stage.shownFrame.points)")) - before).max() > 0.01,
        "moved hair by a centimetre",
    )
    firefox.release()
    assert firefox.errors == []


def test_hair_of_firefox_is_that_of_the_skin(firefox):
    firefox.get("document.querySelector('#command-pause').click()")
    firefox.wait("document.querySelector('#command-pause').getAttribute('aria-pressed') === 'true'", "paused")
    seen = firefox.get(
        "(() => { const f = salon.stage.shownFrame; return {points: Array.from(f.points), head: Array.from(f.head),"
        "hairs: salon.points(0)}; })()"
    )
    scene = salon_scene(None, SCENE)
    assembly = build(scene)
    skin = HairStage(scene, shuffled(assembly.hair, scene.seed), assembly.source, StageClock()).skin
    rest, head = assembly.source.rest, Pose(np.array(seen["head"][:3]), np.array(seen["head"][3:]))
    frame = replace(
        rest,
        points=np.array(seen["points"], np.float32).reshape(rest.points.shape),
        roots=head.apply(rest.roots),
        head=head,
        is_rest_pose=False,
    )
    expected, hairs = skin(frame), np.array(seen["hairs"]).reshape(600, -1, 3)
    if hairs.shape != expected.shape:  # a processor draws every other vertex, and the last
        expected = expected[:, [*range(0, 9, 2), 9]]
    assert np.abs(expected - hairs).max() < 1e-4

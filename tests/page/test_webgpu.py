"""The page with WebGPU: compute passes carry hair, let it lean and keep it out of solids as skins and `push_out` do."""

import time

import numpy as np
import pytest
from test_page import BALL, PATIENCE, SCENE, Tab, chromium, reference, settled

from mane.salon.doors import OpenSalon
from mane.salon.scenes import salon_scene
from mane.skin.finish.passes import SolidAdjustment

pytestmark = pytest.mark.page

# Chromium's own adapter in software; without Vulkan for the browser too, its canvas cannot show what WebGPU drew.
WEBGPU = [
    *("--enable-unsafe-webgpu", "--enable-features=Vulkan,WebGPU"),
    *("--use-webgpu-adapter=swiftshader", "--use-vulkan=swiftshader"),
]
FINE = "#fine"  # with every vertex, as a graphics card has them
CARRIED, JUMPS, DRAWN, LEANT, CLINGING = range(5)  # what a page reads back
ROUNDS = 32  # of the page's push-out
LEANING = ["skin.method=adaptive", "skin.lean=true"]


@pytest.fixture(scope="module")
def browser():
    with chromium(*WEBGPU) as one:
        yield one


@pytest.fixture(scope="module")
def salon():
    with OpenSalon(salon_scene(None, SCENE), threads=1) as one:
        yield one


def by_webgpu(browser, salon):
    """A tab that WebGPU draws."""
    asked = browser.new_page()
    asked.goto(salon.address + "icon.svg")
    if not asked.evaluate("navigator.gpu?.requestAdapter().then((one) => one !== null)"):
        pytest.skip("there is no adapter for WebGPU")
    asked.close()
    one = Tab(browser, salon.address + "?gpu=webgpu" + FINE)
    assert one.get("salon.stage.backend.name") == "webgpu"
    return one


@pytest.fixture(scope="module")
def tab(browser, salon):
    one = by_webgpu(browser, salon)
    yield one
    one.page.close()


@pytest.fixture
def leaning_tab(browser):
    with OpenSalon(salon_scene(None, [*SCENE, *LEANING]), threads=1) as salon:
        one = by_webgpu(browser, salon)
        yield one
        one.page.close()


def read(tab, skin, what):
    """Hairs as the graphics card has them, (S, V, 3) [m]."""
    return np.array(tab.get(f"salon.points(0, {what})")).reshape(skin.groom.strand_count, -1, 3)


def into_the_hair(tab):
    """Put the ball into the hair beside the head, and stand still."""
    tab.press("reset")
    tab.press("play")
    tab.get("salon.hands.take(2); salon.hands.pose.position.set(0.1, 0.02, 0.02); salon.hands.sendPose()")
    tab.wait("salon.stage.solids.pose(2).position.x > 0.09", "in the hair")
    settled(tab)


def lengths(points):
    return np.linalg.norm(np.diff(points, axis=1), axis=2)


# Cosine to the way into a solid. Of four million segments before a ball, pushed out in NumPy by the same rule, all that
# were off by more than 1e-5 after 32 rounds had more than 0.62 (measured once).
AIMED = 0.6


def aims(solids, frame, start, end):
    """Cosine between a segment and the way into the solid that it ends nearest to."""
    nudged = (end + 1e-4 * np.vstack([np.zeros(3), np.eye(3)])).astype(np.float32)
    poses = frame.solid_poses
    near = min(
        (one.placed(pose, frame.time).distance(nudged) for one, pose in zip(solids, poses, strict=True)), key=min
    )
    out = near[1:] - near[0]
    return float((start - end) @ out / np.linalg.norm(start - end) / np.linalg.norm(out))


def check_pushed_out(stage, frame, before, after):
    """Hairs are where `push_out` has them, and as long as before."""
    push_out = next(one for one in stage.passes if one.name == SolidAdjustment.name)
    solids, groom = push_out.solids, stage.skin.groom
    of_body = SolidAdjustment(solids, touched=[0], rounds=ROUNDS, groom=groom, body=solids[0])
    of_all = SolidAdjustment(solids, rounds=ROUNDS, groom=groom, body=solids[0])
    start = before.astype(np.float32)
    touches_body = (of_body(start.copy(), frame) != start).any(axis=(1, 2))
    off = np.abs(of_all(start.copy(), frame) - after).max(axis=(1, 2))
    assert off[~touches_body].max() < 1e-4
    assert off.max() < 2e-3  # the page's field of the body is coarser than the body's own
    ball = frame.solid_poses[BALL].position
    inside = np.linalg.norm(before - ball, axis=2).min(axis=1) < 0.03
    assert (inside & ~touches_body).sum() > 10  # there was something to push out
    assert np.linalg.norm(after - ball, axis=2)[:, 1:].min() > 0.035 - 1e-4
    longer = np.abs(lengths(after) / lengths(before) - 1)
    off = np.argwhere(longer > 1e-5)
    assert len(off) <= 3
    assert longer.max() < 0.01
    for hair, vertex in off:  # hair that points at a solid is as long as it must be to get out
        assert aims(solids, frame, after[hair, vertex], after[hair, vertex + 1]) > AIMED


def test_linear_hair_is_that_of_the_skin_and_keeps_its_lengths_out_of_solids(tab):
    into_the_hair(tab)
    stage, frame = reference(tab, ["skin.method=linear"])
    carried = read(tab, stage.skin, CARRIED)
    assert np.abs(stage.skin(frame) - carried).max() < 1e-4
    check_pushed_out(stage, frame, carried, read(tab, stage.skin, DRAWN))
    assert tab.errors == []


def test_the_picture_is_that_of_webgl2(tab, browser, salon):
    other = Tab(browser, salon.address + "?gpu=webgl2" + FINE)
    time.sleep(2.0)
    difference = np.abs(tab.pixels() - other.pixels()).max(axis=2)
    other.page.close()
    assert difference.mean() < 3.0
    assert (difference > 40).mean() < 0.03


def test_adaptive_hair_is_that_of_the_skin_and_leans(leaning_tab):
    tab = leaning_tab
    tab.wait("salon.stage.sides[0].skin === 'adaptive'", "adaptive")
    into_the_hair(tab)
    tab.press("play")
    tab.wait("new Set(salon.masks(0)).size > 3", "parted by the ball")
    settled(tab)
    tab.get("salon.stage.backend.carriers[0].time = -Infinity")  # nothing is left of frames before
    stage, frame = reference(tab, LEANING)
    skin = stage.skin
    carried, jumps, drawn, leant = (read(tab, skin, what) for what in (CARRIED, JUMPS, DRAWN, LEANT))
    masks = np.array(tab.get("salon.masks(0)"), np.int32)
    assert len(np.unique(masks)) > 3
    assert np.abs(jumps).max() == 0
    skin.choose(frame)
    skin.chosen, skin._decay = masks, np.float32(0)
    weights = skin.sets.weights(skin.tables, np.arange(len(masks)), masks)
    moved = skin.tables.rest + np.einsum("smv,smcv->scv", weights, skin.tables.shift[skin.tables.rows])
    blended = frame.head.apply(np.moveaxis(moved, 1, 2) + skin.tables.pivot)  # chai2017 eq. 5, 11
    assert np.abs(blended - carried).max() < 1e-4
    expected = carried.astype(np.float32)
    skin._lean(frame, expected)
    here = carried + leant @ frame.head.matrix[:3, :3].T
    assert (np.abs(expected - carried).max(axis=(1, 2)) > 0.005).sum() > 20  # many lean
    assert np.abs(expected - here).max() < 1e-4
    check_pushed_out(stage, frame, here, drawn)


def test_wet_hair_clings_to_its_lock(tab):
    """By the rule of `wet_locks` without its lengths, and water is drawn; `test_page.py` compares WebGL2 with groom."""
    tab.choose("skin", "linear")
    tab.wait("salon.stage.sides[0].skin === 'linear'", "linear")
    tab.press("reset")
    tab.press("play")
    tab.page.click("#tool-pour")
    box = tab.page.locator("canvas").bounding_box()
    tab.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.2 * box["height"])
    tab.page.mouse.down()
    tab.wait("salon.stage.backend.water.isThere && salon.stage.backend.wet?.wetness.some((one) => one > 0.2)", "wet")
    tab.page.mouse.up()
    tab.page.click("#tool-hand")
    settled(tab)
    told = tab.get(
        "(() => { const { wetness, message: m } = salon.stage.backend.wet; return {wetness: Array.from(wetness),"
        "guide: Array.from(m.guide), shares: Array.from(m.shares), leader: Array.from(m.leader), places: m.places,"
        "strength: m.strength, start: m.start}; })()"
    )
    count = len(told["leader"])
    dry, wet = (np.array(tab.get(f"salon.points(0, {what})")).reshape(count, -1, 3) for what in (CARRIED, CLINGING))
    level = np.array(told["wetness"]).reshape(24, -1, 2)[:, :, 1]
    guide, shares = (np.array(told[name]).reshape(count, told["places"]) for name in ("guide", "shares"))
    part = np.linspace(0, 1, dry.shape[1])
    along = np.array([np.interp(part, np.linspace(0, 1, level.shape[1]), one) for one in level])
    u = np.clip((part - told["start"]) / (1 - told["start"]), 0, 1)
    pull = np.einsum("sk,skv->sv", shares, along[guide]) * told["strength"] * u**2 * (3 - 2 * u)
    assert pull.max() > 0.01
    assert np.abs(dry + pull[:, :, None] * (dry[told["leader"]] - dry) - wet).max() < 1e-5
    assert tab.errors == []


def test_views_sides_and_handles_are_drawn_without_complaints(tab):
    tab.choose("second", "rigid")
    tab.wait("salon.points(1).then((one) => one.length > 0)", "in the right half")
    for view in ("sets", "penetration"):
        tab.choose("view", view)
        time.sleep(0.7)
        picture = tab.pixels()
        half = picture.shape[1] // 2
        for side in (picture[:, :half], picture[:, half:]):
            assert (side.std(axis=2) > 15).mean() > 0.02
    tab.choose("second", "none")
    tab.wait("salon.stage.columns === 1", "alone")
    deep = np.array(tab.get("salon.depths(0)"))
    assert deep.max() > 1.0
    assert tab.errors == []


def test_a_device_that_is_lost_leaves_the_picture_to_webgl2(tab):
    with tab.page.expect_navigation(timeout=1e3 * PATIENCE):
        tab.get("salon.stage.backend.gpu.device.destroy()")
    tab.wait("window.salon?.stage.backend.name === 'webgl2' && salon.stage.drawn > 0", "drawn by WebGL2")
    assert "WebGPU was lost" in tab.page.locator(".notice").inner_text()

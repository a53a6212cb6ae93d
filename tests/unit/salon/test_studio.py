import json
from dataclasses import replace

import numpy as np
import pytest

import mane
from mane.salon.carriers import AdaptiveCarrier, LinearCarrier, PointsCarrier
from mane.salon.protocol import TO_PAGE, decode
from mane.salon.recording import checked_path
from mane.salon.scenes import salon_program, salon_scene
from mane.salon.settings import CHOICES, SIDE_SKINS
from mane.salon.shown import has_field
from mane.salon.studio import Studio
from mane.scene.build import build
from mane.scene.config import HandsTable
from mane.scene.deeds import read_deeds
from mane.scene.scene_file import parse_scene, read_scene
from mane.scene.written import scene_text

# Hair on a ball, which is a formula: a bust would take its time to be made.
SMALL = ["groom.style=ball", "groom.strands=200", "groom.vertices=8", "guides.count=12", "head.motion=still"]


class Page:
    """Keeps the newest message of every topic, as a page would."""

    def __init__(self, folder=None, settings=(), second="none"):
        self.topics, self.notices = {}, []
        self.studio = Studio(salon_scene(None, [*SMALL, *settings]), self.take, folder, second)

    def take(self, topic, message):
        if not message:
            self.topics.pop(topic, None)
            return
        name, values = decode(message, TO_PAGE)
        self.topics[topic] = values
        if name == "notice":
            self.notices.append(values["text"])

    def settings(self):
        state = json.loads(self.topics["state"]["json"])
        return {one["name"]: one for one in state["settings"]}

    def hold(self, number, position, sequence=1):
        values = {"number": number, "position": position, "rotation": [0, 0, 0, 1], "sequence": sequence}
        self.studio.apply("move", values)


@pytest.fixture(scope="module")
def shared():
    return Page()


def carried(page):
    """Hairs as the page's shader carries them, in NumPy: R x0 + sum of w (g - R g0) (hsu2024 eq. 9)."""
    hair, binding, frame = page.topics["hair"], page.topics["carrier 0"], page.topics["frame"]
    s, v, g, u, k = hair["strands"], hair["vertices"], hair["guides"], hair["guide_vertices"], binding["places"]
    turn = page.studio.frame.head.matrix[:3, :3]
    rest = hair["rest"].reshape(s, v, 3).astype(np.float64)
    shift = frame["points"].reshape(g, u, 3) - hair["guide_rest"].reshape(g, u, 3) @ turn.T
    guide, place = binding["guide"].reshape(-1, k), binding["parameter"].reshape(-1, k, v)
    before = np.minimum(place.astype(int), u - 2)
    share = (place - before)[..., None]
    rows = guide[:, :, None]
    table = shift[rows, before] * (1 - share) + shift[rows, before + 1] * share
    weights = binding["weights"].reshape(s, k)
    return rest @ turn.T + np.einsum("sk,skvc->svc", weights, table[binding["of_hair"]])


def test_what_a_page_gets_is_enough_to_carry_every_hair(shared):
    studio = shared.studio
    studio.apply("turn", {"position": [0.02, 0, 0], "rotation": [0, 0.2, 0, 0.98], "sequence": 1})
    for _ in range(15):
        studio.step()
    hairs = studio.carriers[0].stage.skin(studio.frame)
    assert np.abs(carried(shared) - hairs).max() < 2e-6
    assert np.abs(hairs - studio.groom.as_uniform()).max() > 0.02  # the head has turned
    studio.apply("turn", {"position": [0, 0, 0], "rotation": [0, 0, 0, 1], "sequence": 1})


def test_hairs_of_the_page_are_those_of_the_scene_in_another_order(shared):
    studio = shared.studio
    order = studio.groom.strand["id"]
    own = studio._assembly.hair.groom.as_uniform()
    assert np.array_equal(np.sort(order), np.arange(len(own)))
    assert np.array_equal(studio.groom.as_uniform(), own[order])


def test_a_frame_says_which_event_it_has_seen(shared):
    start = shared.topics["frame"]["solids"].reshape(-1, 7)[1, :3].copy()
    shared.hold(1, start + [0.05, 0, 0], sequence=77)
    shared.studio.step()
    assert shared.topics["frame"]["sequence"] != 77  # the key of the hand lies at the end of the next frame
    assert np.array_equal(shared.topics["frame"]["solids"].reshape(-1, 7)[1, :3], start)
    shared.studio.step()
    assert shared.topics["frame"]["sequence"] == 77
    assert shared.topics["frame"]["solids"].reshape(-1, 7)[1, 0] > start[0]


VALUES = {
    "stiffness": 2.0,
    "damping": 3.0,
    "friction": 0.5,
    "drag": 0.4,
    "cohesion": 2.0,
    "gravity": 0.5,
    "wind": 2.0,
    "length": 0.2,
    "strands": 500.0,
    "guides": 16.0,
}


def test_every_slider_of_the_scene_is_tried(shared):
    own = {"speed", "server_strands"}
    assert {one["name"] for one in shared.settings().values() if one["kind"] == "slider"} == VALUES.keys() | own


@pytest.mark.parametrize("name", VALUES)
def test_every_slider_moves_and_is_a_key_of_the_scene(shared, name):
    before = shared.studio.scene
    shared.studio.apply("slide", {"name": name, "value": VALUES[name], "sequence": 1})
    shared.studio.step()
    assert shared.settings()[name]["value"] == pytest.approx(VALUES[name], rel=1e-6)
    assert shared.studio.scene != before
    assert np.isfinite(shared.studio.frame.points).all()


def test_other_hair_is_made_with_head_and_props_where_hands_have_put_them():
    """A length that is changed makes the hair anew; what was in hand must not fly back to where the scene begins."""
    page = Page(settings=["head.motion=look"])
    page.hold(1, [0.12, 0.1, 0.3])
    page.studio.apply("turn", {"position": [0, 0, 0], "rotation": [0, 0.2, 0, 0.98], "sequence": 2})
    for _ in range(40):
        page.studio.step()
    before = page.topics["frame"]["solids"].reshape(-1, 7).copy()
    turned = page.studio.frame.head.rotation
    page.studio.apply("slide", {"name": "length", "value": 0.06, "sequence": 3})
    for _ in range(40):
        page.studio.step()
    after = page.topics["frame"]["solids"].reshape(-1, 7)
    assert np.allclose(before[1, :3], [0.12, 0.1, 0.3], atol=1e-6)
    assert np.abs(after - before).max() < 1e-6
    assert np.abs(page.studio.frame.head.rotation - turned).max() < 1e-6


@pytest.mark.parametrize(
    ("name", "values", "shown"),
    [
        ("slide", {"name": "speed", "value": 0.5}, 0.5),
        ("choose", {"name": "pace", "value": "as set"}, "as set"),
    ],
)
def test_settings_of_the_salon_itself_are_told_to_pages(shared, name, values, shown):
    """Or a state that was sent before they were taken up would show them where they were, and stay."""
    shared.studio.apply(name, {**values, "sequence": 1})
    assert shared.settings()[values["name"]]["value"] == shown
    shared.studio.speed = 1.0


PAINTED = ("look", "painted")  # for hair that has a colour of its own
ENTRIES = [(one.name, entry) for one in CHOICES if one.name != "style" for entry in one.entries]
ENTRIES = [*(one for one in ENTRIES if one != PAINTED), *(("second", name) for name in SIDE_SKINS)]


@pytest.mark.parametrize(("name", "entry"), ENTRIES)
def test_every_entry_of_every_choice_is_taken(shared, name, entry):
    """Styles of a head need a bust, on which `tests/page` tries them."""
    shared.notices.clear()
    shared.studio.apply("choose", {"name": name, "value": entry, "sequence": 1})
    shared.studio.step()
    assert shared.notices == []
    assert shared.settings()[name]["value"] == entry
    assert np.isfinite(shared.studio.frame.points).all()


def test_choices_are_put_back(shared):
    for name, entry in (("model", "cosserat"), ("skin", "linear"), ("prop", "comb"), ("second", "none")):
        shared.studio.apply("choose", {"name": name, "value": entry, "sequence": 1})
    assert isinstance(shared.studio.carriers[0], LinearCarrier)


def test_a_look_that_hair_has_no_colours_for_is_not_taken():
    """Hair that was made anew after that had no look, and no page saw it."""
    page = Page()
    name, entry = PAINTED
    page.studio.apply("choose", {"name": name, "value": entry, "sequence": 1})
    assert "has no attribute 'color'" in page.notices[-1]
    assert page.settings()[name]["value"] == "light_brown"
    page.topics.clear()
    page.studio.apply("slide", {"name": "length", "value": 0.06, "sequence": 1})
    assert {"hair", "look", "carrier 0", "frame"} <= page.topics.keys()


def test_time_stands_still_but_for_single_steps(shared):
    studio = shared.studio
    studio.apply("command", {"action": "pause"})
    before = studio.frame.time
    studio.apply("command", {"action": "step"})
    assert studio.frame.time == pytest.approx(before + studio.dt)
    assert not studio.is_playing
    assert shared.topics["frame"]["time"] == studio.frame.time
    studio.apply("command", {"action": "play"})


def test_a_softer_hair_moves_on_from_where_it_was(shared):
    shared.studio.apply("turn", {"position": [0, 0, 0], "rotation": [0, 0.3, 0, 0.95], "sequence": 1})
    for _ in range(6):
        shared.studio.step()
    before, time = shared.studio.frame.points.copy(), shared.studio.frame.time
    shared.studio.apply("slide", {"name": "stiffness", "value": 2.0, "sequence": 1})
    shared.studio.step()
    assert shared.studio.frame.time > time
    assert np.abs(shared.studio.frame.points - before).max() < 0.03


def test_a_lock_is_pulled_and_let_go(shared):
    studio = shared.studio
    studio.apply("command", {"action": "reset"})
    tip = studio.frame.points[3, -1].copy()
    still = studio.frame.points.copy()
    for _ in range(20):
        studio.apply("grab", {"is_held": 1, "point": tip, "target": tip + [0.0, 0.05, 0.05], "sequence": 1})
        studio.step()
    pulled = studio.frame.points[3, -1] - still[3, -1]
    assert pulled[2] > 0.02
    studio.apply("grab", {"is_held": 0, "point": tip, "target": tip, "sequence": 1})
    assert not studio.hands.is_holding


def test_air_is_blown_at_hair(shared):
    studio = shared.studio
    studio.apply("command", {"action": "reset"})
    still = studio.frame.points.copy()
    studio.apply("blow", {"origin": [0, 0, 0.6], "velocity": [0, 0, -10], "sequence": 1})
    for _ in range(10):
        studio.step()
    assert (studio.frame.points - still)[..., 2].min() < -1e-3
    studio.apply("blow", {"origin": [0, 0, 0], "velocity": [0, 0, 0], "sequence": 1})


def test_what_cannot_be_done_is_told(shared):
    for name, values in (
        ("slide", {"name": "gravity", "value": 50.0, "sequence": 1}),
        ("choose", {"name": "skin", "value": "nonsense", "sequence": 1}),
        ("command", {"action": "explode"}),
        ("move", {"number": 0, "position": [0, 0, 0], "rotation": [0, 0, 0, 1], "sequence": 1}),
        ("save", {"kind": "scene", "name": "x", "eye": [0, 0, 1], "target": [0, 0, 0], "fov": 30.0}),
    ):
        shared.notices.clear()
        shared.studio.apply(name, values)
        assert len(shared.notices) == 1, name


def test_sides_are_carried_by_the_page_or_sent_as_points():
    page = Page(settings=["skin.method=adaptive"], second="rigid")
    left, right = page.studio.carriers
    assert isinstance(left, AdaptiveCarrier)
    assert isinstance(right, PointsCarrier)
    page.studio.step()
    points = page.topics["carrier 1"]
    shape = (points["strands"], page.topics["hair"]["vertices"], 3)
    unpacked = points["low"] + points["step"] * points["packed"].reshape(shape)
    assert np.abs(unpacked - right.stage(page.studio.frame)).max() < 0.51 * points["step"] + 1e-6
    assert page.topics["sets 0"]["masks"].all()
    page.studio.apply("choose", {"name": "second", "value": "none", "sequence": 1})
    page.studio.apply("choose", {"name": "skin", "value": "linear", "sequence": 1})
    assert isinstance(page.studio.carriers[0], LinearCarrier)
    assert "carrier 1" not in page.topics
    assert "sets 0" not in page.topics


def test_a_recording_is_a_scene_with_the_same_motion(tmp_path):
    page = Page(tmp_path)
    studio = page.studio
    studio.apply("command", {"action": "record"})
    seen = [studio.frame.points.copy()]
    for step in range(14):
        page.hold(1, [0.12 - 0.01 * step, 0.05, 0.1])
        studio.apply("turn", {"position": [0, 0, 0], "rotation": [0, 0.02 * step, 0, 1], "sequence": 1})
        studio.step()
        seen.append(studio.frame.points.copy())
    studio.apply("command", {"action": "stop"})
    studio.apply("save", {"kind": "scene", "name": "combed", "eye": [0, 0, 1], "target": [0, 0, 0], "fov": 30.0})
    assert page.notices == ["saved combed.toml"]
    scene = read_scene(tmp_path / "combed.toml")
    source = build(scene).source
    again = [source.reset().points.copy()]
    for _ in range(scene.frames.count - 1):
        again.append(source.step().points.copy())
    assert len(again) == len(seen) - 1
    for one, other in zip(again, seen, strict=False):
        assert np.abs(one - other).max() < 1e-7
    assert np.abs(seen[-1] - seen[0]).max() > 0.005


def test_hair_is_saved_as_it_is_and_as_a_picture(tmp_path):
    page = Page(tmp_path, settings=["camera.size=[64, 48]"])
    studio = page.studio
    studio.apply("turn", {"position": [0.02, 0, 0], "rotation": [0, 0.2, 0, 0.98], "sequence": 1})
    for _ in range(8):
        studio.step()
    eye = {"eye": [0.0, 0.1, 0.8], "target": [0.0, 0.0, 0.0], "fov": 30.0}
    for kind in ("usd", "picture"):
        studio.apply("save", {"kind": kind, "name": "now", **eye})
    assert page.notices == ["saved now.usdc", "saved now.png"]
    from PIL import Image

    hairs = studio.carriers[0].stage(studio.frame)
    assert np.abs(mane.read_groom(tmp_path / "now.usdc").as_uniform() - hairs).max() < 1e-6
    picture = np.asarray(Image.open(tmp_path / "now.png").convert("RGB"), np.float64)
    assert picture.shape == (48, 64, 3)
    assert (np.abs(picture - picture[0, 0]).max(axis=2) > 20).mean() > 0.05  # there is hair in it


def test_numbers_of_a_step_are_told():
    """Time by stage, what hair is stretched, how deep it is inside, and hairs that changed their guides."""
    page = Page(settings=["skin.method=adaptive"])
    told = []
    for step in range(25):
        page.hold(2, [0.1 - 0.012 * step, 0.02, 0.1])  # the ball goes into the hair
        page.studio._told = 0.0
        page.studio.step()
        told.append(json.loads(page.topics["metrics"]["json"]))
    for name in ("simulate [ms]", "carry and send [ms]"):
        assert all(one[name] > 0 for one in told), name
    assert all("steps per second" in one for one in told)
    report = page.studio.source.report
    assert told[-1]["penetration [mm]"] == pytest.approx(1e3 * report.penetration, abs=1e-4)
    assert told[-1]["stretch [%]"] == pytest.approx(100 * report.stretch, abs=1e-4)
    assert any(one["hairs that changed guides"] > 0 for one in told)
    assert sum(name.endswith("[ms]") for name in told[-1]) > 3  # stages by name


def test_a_scene_is_written_and_read_again():
    scene = salon_scene(None, ["wind.velocity=[1, 0, 2]", "skin.method=adaptive", "skin.eligible=6"])
    again = parse_scene(scene_text(scene))
    assert again.to_dict() == scene.to_dict()


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "", "x" * 65, ".hidden", "a b", "c:\\x"])
def test_names_of_files_cannot_leave_the_folder(tmp_path, name):
    with pytest.raises(ValueError, match="name"):
        checked_path(tmp_path, name, ".toml")


@pytest.mark.parametrize("prop", ["hairbrush", "hand", "comb"])
def test_another_thing_is_taken_in_hand_while_hair_moves(shared, prop):
    shared.studio.step()
    before, when = shared.studio.frame.points.copy(), shared.studio.frame.time
    shared.studio.apply("choose", {"name": "prop", "value": prop, "sequence": 1})
    assert shared.settings()["prop"]["value"] == prop
    assert shared.topics["solid 1"]["name"] == prop
    assert np.array_equal(shared.studio.frame.points, before)
    shared.studio.step()
    assert shared.studio.frame.time > when
    # A hand is thick enough for distances on a grid; teeth and bristles are not.
    assert has_field(shared.studio.source.solids[1]) == (prop == "hand")


def test_pulling_blowing_and_sliders_are_recorded(tmp_path):
    page = Page(tmp_path)
    studio = page.studio
    studio.apply("command", {"action": "record"})
    tip = studio.frame.points[3, -1].copy()
    seen = [studio.frame.points.copy()]
    for step in range(16):
        if 2 <= step < 8:
            target = tip + np.float32([0.0, 0.01 * step, 0.02])
            studio.apply("grab", {"is_held": 1, "point": tip, "target": target, "sequence": 1})
        if step == 8:
            studio.apply("grab", {"is_held": 0, "point": tip, "target": tip, "sequence": 1})
        if step == 5:
            studio.apply("slide", {"name": "damping", "value": 4.0, "sequence": 1})
            studio.apply("slide", {"name": "wind", "value": 3.0, "sequence": 1})
        if step in (7, 12):
            velocity = [0.0, 0.0, -9.0 if step == 7 else 0.0]
            studio.apply("blow", {"origin": [0, 0, 0.6], "velocity": velocity, "sequence": 1})
        studio.step()
        seen.append(studio.frame.points.copy())
    studio.apply("command", {"action": "stop"})
    for _ in range(30):
        studio.step()  # what comes after the recording is none of it
    studio.apply("save", {"kind": "scene", "name": "done", "eye": [0, 0, 1], "target": [0, 0, 0], "fov": 30.0})
    assert page.notices == ["saved done.toml"]
    scene = read_scene(tmp_path / "done.toml")
    source = build(scene).source
    again = [source.reset().points.copy()]
    for step in range(scene.frames.count - 1):
        if step == 6:  # a lock is held, and settings have changed
            checkpoint = source.checkpoint()
        again.append(source.step().points.copy())
    for one, other in zip(again, seen, strict=False):
        assert np.abs(one - other).max() < 1e-7
    assert len(again) == len(seen) - 1
    other = build(scene).source
    other.load_checkpoint(checkpoint)
    assert np.array_equal(other.step().points, again[7])
    # The same in the salon: it is done again until a hand takes over.
    salon = Page()
    salon.studio = Studio(salon_program(tmp_path / "done.toml"), salon.take)
    for points in again[1:]:
        salon.studio.step()
        assert np.abs(salon.studio.frame.points - points).max() < 1e-7


def test_without_what_hands_did_the_motion_is_another(tmp_path):
    """What the test above compares is not the same anyway."""
    page = Page(tmp_path)
    page.studio.apply("command", {"action": "record"})
    tip = page.studio.frame.points[3, -1].copy()
    for _ in range(6):
        page.studio.apply("grab", {"is_held": 1, "point": tip, "target": tip + 0.05, "sequence": 1})
        page.studio.step()
    page.studio.apply("save", {"kind": "scene", "name": "pulled", "eye": [0, 0, 1], "target": [0, 0, 0], "fov": 30.0})
    scene = read_scene(tmp_path / "pulled.toml")
    sources = [build(scene).source, build(replace(scene, hands=HandsTable())).source]
    ends = [[source.step() for _ in range(4)][-1].points for source in sources]
    assert np.abs(ends[0] - ends[1]).max() > 1e-3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no recording of hands"),
        ('{"mane_hands": 9, "deeds": []}', "format 1, got 9"),
        ('{"mane_hands": 1, "deeds": [{"time": 1, "kind": "kick"}]}', "kick"),
        ('{"mane_hands": 1, "deeds": [{"time": 1, "kind": "release"}, {"time": 0, "kind": "release"}]}', "not fall"),
    ],
)
def test_a_file_of_hands_that_is_none_is_named(tmp_path, text, reason):
    (tmp_path / "x.hands.json").write_text(text)
    with pytest.raises(ValueError, match=rf"x\.hands\.json: .*{reason}"):
        read_deeds(tmp_path / "x.hands.json")


def test_two_way_correction_carries_all_hairs_and_tells_its_price():
    page = Page(settings=["skin.method=adaptive_two_way"])
    studio = page.studio
    studio.apply("slide", {"name": "server_strands", "value": 100.0, "sequence": 1})
    assert page.topics["carrier 0"]["strands"] == 100
    assert studio.carriers[0].stage.skin.groom.strand_count == 200
    loads = []
    for step in range(25):
        page.hold(2, [0.1 - 0.012 * step, 0.02, 0.1])  # the ball goes into the hair
        studio._told = 0.0  # metrics of every step
        studio.step()
        loads.append(studio.carriers[0].load(studio.frame))
    assert any(load is not None and np.abs(load.force).max() > 0 for load in loads)
    assert json.loads(page.topics["metrics"]["json"])["all hairs for two-way correction [ms]"] > 0


def test_a_recording_with_two_way_correction_is_the_same_motion(tmp_path):
    """Forces of hairs are summed in the order of the scene, whatever the order of the page."""
    page = Page(tmp_path, settings=["skin.method=adaptive_two_way"])
    studio = page.studio
    studio.apply("command", {"action": "record"})
    seen, pushed = [studio.frame.points.copy()], 0.0
    for step in range(25):
        page.hold(2, [0.1 - 0.012 * step, 0.02, 0.1])
        studio.step()
        seen.append(studio.frame.points.copy())
        load = studio.carriers[0].load(studio.frame)
        pushed = max(pushed, 0.0 if load is None else float(np.abs(load.force).max()))
    studio.apply("command", {"action": "stop"})
    studio.apply("save", {"kind": "scene", "name": "pushed", "eye": [0, 0, 1], "target": [0, 0, 0], "fov": 30.0})
    scene = read_scene(tmp_path / "pushed.toml")
    assembly = build(scene)
    frame = assembly.source.reset()
    assert pushed > 0.0
    for expected in seen[: scene.frames.count]:
        assert np.abs(frame.points - expected).max() < 1e-7
        assembly.hair_stage(frame)
        assembly.source.receive(assembly.hair_stage.skin.world_load(frame))
        frame = assembly.source.step()

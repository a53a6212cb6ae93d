"""What the salon shows besides scenes: caches, models, grooms, simulations of scripts; and movies of it."""

import json
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import mane
from learned_hair import KnownHair, strands
from mane.reduced.source import LearnedSource
from mane.reduced.training import MultilinearTraining, fit_model
from mane.salon import notebook
from mane.salon.carriers import AdaptiveCarrier, LinearCarrier, PointsCarrier
from mane.salon.movies import MovieJob, Order
from mane.salon.programs import CacheProgram, SimulationProgram
from mane.salon.protocol import TO_PAGE, decode
from mane.salon.scenes import salon_program
from mane.salon.settings import described
from mane.salon.studio import Studio
from mane.scene.config import (
    CameraTable,
    FramesTable,
    GroomTable,
    GuidesTable,
    HeadTable,
    OutputTable,
    Scene,
    SkinTable,
)

EYE = {"eye": [0.0, 0.0, 1.0], "target": [0.0, 0.0, 0.0], "fov": 30.0}


class Page:
    """Keeps the newest message of every topic."""

    def __init__(self, program, folder=None):
        self.topics, self.notices = {}, []
        self.studio = Studio(program, self.take, folder)

    def take(self, topic, message):
        if message:
            name, values = decode(message, TO_PAGE)
            self.topics[topic] = values
            if name == "notice":
                self.notices.append(values["text"])

    def state(self):
        return json.loads(self.topics["state"]["json"])

    def slide(self, name, value):
        self.studio.apply("slide", {"name": name, "value": value, "sequence": 1})


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A short run of a ball of hair."""
    scene = Scene(
        groom=GroomTable(style="ball", strands=80, vertices=8),
        frames=FramesTable(start=1, end=5),
        guides=GuidesTable(count=8),
        head=HeadTable(motion="shake", ease_in=0.02),
        skin=SkinTable("linear"),
        output=OutputTable(cache="shake.cache"),
        camera=CameraTable(size=(64, 48)),
        folder=tmp_path_factory.mktemp("run"),
    )
    mane.run_scene(scene)
    return scene.folder / "shake.cache"


def test_a_cache_is_played_over_and_over_and_scrubbed(cache):
    page = Page(salon_program(cache))
    studio = page.studio
    frames = [np.load(cache / f"frame.{number:04d}.npz")["points"] for number in range(1, 6)]
    assert np.abs(frames[4] - frames[0]).max() > 1e-3
    for number in (2, 3, 4, 5, 1, 2):
        studio.step()
        assert studio.reel.number == number
        assert np.array_equal(page.topics["frame"]["points"].reshape(frames[0].shape), frames[number - 1])
    page.slide("frame", 4.0)
    assert np.array_equal(studio.frame.points, frames[3])
    studio.apply("command", {"action": "pause"})
    assert not studio.is_playing
    studio.apply("command", {"action": "step"})
    assert np.array_equal(studio.frame.points, frames[4])
    names = {one["name"] for one in page.state()["settings"]}
    assert names == {
        "look",
        "skin",
        "second",
        "pace",
        "server_strands",
        "speed",
        "frame",
    }  # nothing that would simulate
    studio.apply("choose", {"name": "skin", "value": "rigid", "sequence": 1})
    assert page.topics["carrier 0"]["strands"] == 80
    assert page.notices == []


def test_a_cache_cannot_be_combed_and_says_so(cache):
    page = Page(salon_program(cache))
    blow = {"origin": [0, 0, 1], "velocity": [0, 0, -1], "sequence": 1}
    for name, values in (("blow", blow), ("command", {"action": "record"})):
        page.notices.clear()
        page.studio.apply(name, values)
        assert len(page.notices) == 1, name
    page.slide("gravity", 1.0)
    assert "cannot be changed" in page.notices[-1]


def test_a_cache_of_other_hair_is_refused(cache):
    with pytest.raises(ValueError, match=r"cannot be played, the hair are other ones"):
        Page(salon_program(cache, ["groom.strands=90"]))
    with pytest.raises(ValueError, match=r"is no cache"):
        salon_program(cache.parent)


@pytest.mark.stress
def test_a_movie_of_a_cache_is_drawn_beside_the_salon(cache, tmp_path):
    page = Page(salon_program(cache), tmp_path)
    page.studio.apply("save", {"kind": "movie", "name": "shake", **EYE})
    page.studio.apply("save", {"kind": "movie", "name": "again", **EYE})
    assert page.notices == ["shake.mp4 is being drawn", "shake.mp4 is still being drawn; wait for it"]
    deadline, longest = time.monotonic() + 120, 0.0
    while page.studio._movie is not None and time.monotonic() < deadline:
        started = time.perf_counter()
        page.studio.tend()
        longest = max(longest, time.perf_counter() - started)
        time.sleep(0.02)
    assert page.notices[-1] == "shake.mp4: saved", page.notices
    assert any("of 5 frames are drawn" in text for text in page.notices)
    assert (tmp_path / "shake.mp4").stat().st_size > 500
    assert longest < 0.5  # the salon never waits for it


def test_a_movie_that_cannot_be_drawn_says_why(tmp_path):
    job = MovieJob(Order.seen_from(tmp_path / "x.mp4", tmp_path / "none.toml", [0, 0, 1], [0, 0, 0]))
    news, deadline = [], time.monotonic() + 60
    while not job.is_over and time.monotonic() < deadline:
        news += job.news()
        time.sleep(0.02)
    assert news[-1][1]
    assert "none.toml" in news[-1][0]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "hair.model"
    factors = (("length", [0.2, 0.25]), ("softness", [1, 2]))
    with open(path, "wb") as file:
        fit_model(KnownHair(factors), MultilinearTraining(dimensions=6)).model.to_file().write(file)
    return path


def test_sliders_of_a_learned_model_act_while_it_moves(model):
    page = Page(salon_program(model))
    studio = page.studio
    names = {one["name"] for one in page.state()["settings"] if one["group"] == "model"}
    assert names == {"model_length", "model_softness"}
    for _ in range(3):
        studio.step()

    def lengths():
        return np.linalg.norm(np.diff(studio.frame.points, axis=1), axis=2).sum(axis=1).mean()

    learned = mane.HairModel.load(model)
    at = [learned.rest_at({"length": value, "softness": 0.0})[1].sum(axis=-1).mean() for value in (0, 1)]
    assert lengths() == pytest.approx(at[0], rel=1e-3)
    before, source = studio.frame.time, studio.source
    page.slide("model_length", 1.0)
    assert studio.source is source  # nothing is made anew while a slider is drawn
    studio.step()
    assert studio.frame.time > before  # it moves on
    assert lengths() == pytest.approx(at[1], rel=1e-3)
    assert at[1] > 1.2 * at[0]
    assert page.notices == []
    page.slide("model_length", 7.0)
    assert "must lie between" in page.notices[-1]
    studio.apply("pour", {"origin": [0, 0.3, 0], "velocity": [0, -1, 0], "sequence": 1})
    assert page.notices[-1] == "hair that is not simulated does not get wet"


@pytest.mark.parametrize("skin", ["linear", "adaptive"])
def test_hair_of_a_model_that_may_change_lengths_is_carried_by_the_server(model, tmp_path, skin):
    """A page that adds up how far guides have come shows other hair than `mane bake`: it has no lengths."""
    page = Page(salon_program(model, [f"skin.method={skin}"]))
    assert isinstance(page.studio.carriers[0], PointsCarrier)
    page.slide("model_length", 1.0)
    page.studio.step()
    sent, learned = page.topics["carrier 0"], mane.HairModel.load(model)
    hairs = sent["low"] + sent["step"] * sent["packed"].reshape(sent["strands"], -1, 3)
    long = learned.rest_at({"length": 1.0, "softness": 0.0})[1].sum()
    assert np.linalg.norm(np.diff(hairs, axis=1), axis=2).sum() == pytest.approx(long, rel=1e-3)
    with open(tmp_path / "same.model", "wb") as file:  # styles of one length leave hair to the page
        rest = np.stack([strands()] * 2)
        one = fit_model(KnownHair([("softness", [1, 2])], rest=rest), MultilinearTraining(dimensions=3)).model
        one.to_file().write(file)
    carrier = Page(salon_program(tmp_path / "same.model", [f"skin.method={skin}"])).studio.carriers[0]
    assert isinstance(carrier, LinearCarrier | AdaptiveCarrier)


def test_a_slider_that_is_left_out_is_shown_as_the_groom_is(model):
    learned = mane.HairModel.load(model)
    source = LearnedSource(learned.guides(2), learned)  # long, stiff
    assert source.as_groomed == {"length": 1.0, "softness": 0.0}
    scene = salon_program(model).scene
    for given, shown in (({}, 1.0), ({"length": 0.25}, 0.25), ({"length": [[0, 0.5], [1, 0.6]]}, 1.0)):
        own = replace(scene, guides=replace(scene.guides, sliders=given))
        rows = {one["name"]: one["value"] for one in described(own, as_groomed=source.as_groomed) if "low" in one}
        assert rows["model_length"] == shown
        assert rows["model_softness"] == 0.0


def test_a_groom_file_is_combed(tmp_path):
    path = tmp_path / "head.usd"
    mane.write_groom(path, mane.styles.make("ball", strands=60, vertices=8, seed=1))
    page = Page(salon_program(path, ["guides.count=8"]))
    page.studio.step()
    assert page.topics["hair"]["strands"] == 60
    assert page.topics["solid 0"]["name"] == "comb"
    with pytest.raises(FileNotFoundError):
        salon_program(tmp_path / "none.usd")


def simulation():
    groom = mane.styles.make("ball", strands=80, vertices=8, seed=1)
    guides = mane.select_guides(groom, 8, seed=1)
    ball = mane.Solid(mane.shapes.Sphere((0.0, 0.0, 0.0), 0.02))
    return groom, mane.Simulation(guides, solids=[ball], head="shake", frame_rate=100.0)


def test_a_simulation_of_a_script_is_shown_combed_and_given_back():
    groom, sim = simulation()
    head, wind = sim.head, next(part for part in sim.parts if part.name == "drag").wind
    page = Page(SimulationProgram.of(sim, groom, "linear"))
    tip = page.studio.frame.points[2, -1].copy()
    for _ in range(8):
        page.studio.apply("grab", {"is_held": 1, "point": tip, "target": tip + 0.05, "sequence": 1})
        page.studio.step()
    assert np.abs(sim.frame.points[2, -1] - tip).max() > 0.01
    assert page.topics["hair"]["strands"] == 80
    page.studio.close()
    assert sim.head is head
    assert next(part for part in sim.parts if part.name == "drag").wind is wind
    sim.step()


def test_a_view_of_a_notebook_is_a_frame_with_the_page(monkeypatch):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    monkeypatch.setattr(notebook, "require_page", lambda: None)
    groom, sim = simulation()
    with mane.show(sim, groom, height=300) as view:
        assert f'<iframe src="{view.address}"' in view._repr_html_()
        assert "http://localhost:*" in view.salon.guard.headers["Content-Security-Policy"]
        deadline = time.monotonic() + 30
        while sim.time < 0.05 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert sim.time >= 0.05  # the view steps it
    reached = sim.time
    assert "closed" in view._repr_html_()
    assert not any(thread.name == "mane salon" for thread in threading.enumerate())
    sim.step()
    assert sim.time > reached


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((3,), "must be a Simulation, a Scene or a file, got int"),
        ((None, mane.styles.make("ball", strands=10, vertices=8, seed=1)), "must be a file"),
    ],
)
def test_what_cannot_be_shown_is_refused(monkeypatch, arguments, reason):
    monkeypatch.setattr(notebook, "require_page", lambda: None)
    with pytest.raises(ValueError, match=reason):
        mane.show(*arguments)


def test_a_cache_is_known_by_its_folder(cache):
    assert isinstance(salon_program(cache), CacheProgram)

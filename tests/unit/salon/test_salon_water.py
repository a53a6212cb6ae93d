"""Water that is poured by hand in the salon: hair gets wet, pages see it, and a recording pours it again."""

import json

import numpy as np
import pytest
from test_studio import SMALL, Page

from mane.fluid.drop_mesh import raised_mesh
from mane.groom.locks import lock_centres
from mane.salon.programs import SimulationProgram
from mane.salon.protocol import ProtocolError, encode, read_from_page
from mane.salon.scenes import salon_scene
from mane.salon.studio import Studio
from mane.salon.water import box_values
from mane.scene.build import build
from mane.scene.scene_file import read_scene
from mane.scene.simulation import Simulation
from mane.skin.guide_values import GuideValues

ABOVE, DOWN = [0.0, 0.22, 0.0], [0.0, -1.5, 0.0]


def pour(studio, origin=ABOVE, velocity=DOWN):
    studio.apply("pour", {"origin": origin, "velocity": velocity, "sequence": 1})


@pytest.fixture(scope="module")
def poured():
    page = Page(settings=["groom.strands=600"])
    for _ in range(3):
        page.studio.step()
    page.before = page.studio.frame.points.copy()
    assert not {"water", "wet", "wetting"} & page.topics.keys()  # nothing is sent of what nobody asked for
    assert page.studio._water is None
    pour(page.studio)
    page.after = page.studio.frame.points.copy()
    for _ in range(36):
        page.studio._told = 0.0
        page.studio.step()
    return page


def test_hair_goes_on_from_where_it_was_when_water_comes(poured):
    assert np.array_equal(poured.before, poured.after)
    assert poured.studio.frame.time == pytest.approx(0.39)
    assert poured.notices == []


def test_a_page_sees_the_surface_the_simulation_has(poured):
    flow, seen = poured.studio._water, poured.topics["water"]
    mesh = raised_mesh(flow.water.surface)
    points = seen["low"] + seen["step"] * seen["packed"].reshape(-1, 3)
    assert np.abs(points[: len(mesh.points)] - mesh.points).max() < 1e-5
    assert np.array_equal(seen["faces"].reshape(-1, 3)[: len(mesh.faces)], mesh.faces)
    numbers = json.loads(poured.topics["metrics"]["json"])
    assert numbers["water [ms]"] >= 0  # its price
    assert numbers["water [l]"] == pytest.approx(1e3 * flow.water.volume, abs=1e-3)
    assert poured.studio.frame.water is None  # which would be made a second time


def test_a_page_wets_hair_as_a_scene_does(poured):
    studio, wet, binding = poured.studio, poured.topics["wet"], poured.topics["wetting"]
    held = studio.frame.wet.held
    assert held.max() > 0.2
    assert np.abs(wet["held"].reshape(held.shape) / 255 - held).max() < 0.5 / 255 + 1e-6
    assert np.abs(wet["level"].reshape(held.shape) / 255 - studio.frame.wet.level).max() < 0.5 / 255 + 1e-6
    values = GuideValues(studio.groom, studio.source.guides)
    k = binding["places"]
    assert np.array_equal(binding["guide"].reshape(-1, k), values.guides)
    assert np.array_equal(binding["shares"].reshape(-1, k), values.shares)
    # Hairs of one lock cling to the same one, which is the first of them: whoever draws any has it.
    centres, leader = lock_centres(studio.groom.roots, studio.scene.water.lock), binding["leader"]
    for centre in np.unique(centres):
        assert (leader[centres == centre] == np.flatnonzero(centres == centre)[0]).all()


def test_settings_change_while_water_flows(poured):
    studio = poured.studio
    flow = studio._water
    held = studio.frame.wet.held.sum()
    studio.apply("slide", {"name": "damping", "value": 3.0, "sequence": 1})
    assert studio._water is not flow
    assert np.array_equal(studio._water.water.surface.level.phi, flow.water.surface.level.phi)
    studio.step()
    assert studio.frame.wet.held.sum() > 0.9 * held


def test_water_runs_off_and_a_reset_dries_everything(poured):
    studio = poured.studio
    pour(studio, [0, 0, 0], [0, 0, 0])
    for _ in range(200):
        studio.step()
        if studio._water.water.is_idle:
            break
    assert studio._water.water.is_idle
    for _ in range(3):  # the water's own step
        studio.step()
    assert len(poured.topics["water"]["faces"]) == 0
    assert poured.topics["wet"]["held"].any()
    studio.apply("command", {"action": "reset"})
    assert not poured.topics["wet"]["held"].any()
    assert not poured.studio.frame.wet.held.any()


def test_a_recording_pours_again(tmp_path):
    """Begun without water: the box, the stream and its end are all in the recording."""
    page = Page(tmp_path)
    studio = page.studio
    studio.apply("command", {"action": "record"})
    seen = [studio.frame.points.copy()]
    for step in range(26):
        if step in (3, 8, 20):
            pour(studio, [0.01 * step, 0.2, 0.0], [0, 0, 0] if step == 20 else [0.0, -2.0, 0.0])
        if step == 12:
            studio.apply("slide", {"name": "gravity", "value": 0.8, "sequence": 1})
        studio.step()
        seen.append(studio.frame.points.copy())
    wet = studio.frame.wet.held.copy()
    studio.apply("command", {"action": "stop"})
    studio.apply("save", {"kind": "scene", "name": "poured", "eye": [0, 0, 1], "target": [0, 0, 0], "fov": 30.0})
    assert page.notices == ["saved poured.toml"]
    scene = read_scene(tmp_path / "poured.toml")
    assert scene.water.cell is None  # there was none at first
    source = build(scene).source
    again = [source.reset()]
    for step in range(scene.frames.count - 1):
        if step == 15:
            checkpoint = source.checkpoint()
        again.append(source.step())
    for one, other in zip(again, seen, strict=False):
        assert np.abs(one.points - other).max() < 1e-7
    assert wet.max() > 0.1
    assert again[-1].water is not None  # a run of the scene has the surface in its frames
    other = build(scene).source
    other.load_checkpoint(checkpoint)
    assert np.array_equal(other.step().points, again[16].points)


def test_a_picture_shows_water_and_wet_hair(poured, tmp_path, monkeypatch):
    seen = {}

    def render(groom, bodies, **options):
        seen.update(options, groom=groom)
        return np.zeros((4, 4, 3), np.uint8)

    monkeypatch.setattr("mane.salon.pictures.render", render)
    studio = poured.studio
    pour(studio)
    for _ in range(20):
        studio.step()
    studio._folder = tmp_path
    studio.apply("save", {"kind": "picture", "name": "wet", "eye": [0, 0, 1], "target": [0, 0, 0], "fov": 30.0})
    assert poured.notices[-1] == "saved wet.png"
    assert len(seen["water"].faces) > 0
    assert [look.wetness for look in seen["look"]] == [0.0, 1.0]
    assert seen["groom"].vertex["style_level"].max() > 0.1


def test_a_script_without_water_is_told_so():
    page, guides = Page(), build(salon_scene(None, SMALL)).guides
    page.studio = Studio(SimulationProgram.of(Simulation(guides, frame_rate=100.0), None, "linear"), page.take)
    pour(page.studio)
    assert "cannot be changed here" in page.notices[-1]
    page.studio.step()


def test_the_box_holds_the_hair_with_room_above():
    page = Page()
    values = box_values(page.studio.groom)
    low, high = np.array(values["water.low"]), np.array(values["water.high"])
    points = page.studio.groom.points
    assert (low < points.min(axis=0)).all()
    assert (high > points.max(axis=0)).all()
    assert max(high - low) / values["water.cell"] == pytest.approx(26)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e6])
def test_a_stream_out_of_bounds_is_refused(value):
    message = encode("pour", origin=[0, 0, 0], velocity=[value, 0, 0], sequence=1)
    with pytest.raises(ProtocolError):
        read_from_page(message)

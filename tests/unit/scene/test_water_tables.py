"""[water] and [[water_sources]] of a scene: what they make, one line for what they cannot, and a run with its cache."""

from dataclasses import replace

import numpy as np
import pytest

from mane.cli import main
from mane.contact.air.waterflow import Waterflow
from mane.scene.build import build
from mane.scene.cache import Cache
from mane.scene.scene_file import SceneError, parse_scene
from mane.strand.frame import GuideWetness

SCENE = """
[groom]
style = "ball"
strands = 60
vertices = 8
[guides]
count = 8
[frames]
end = 3
[water]
cell = 0.04
low = [-0.24, -0.24, -0.24]
high = [0.24, 0.24, 0.24]
pool = 0.0
hairs = 2000.0
"""
JET = '[[water_sources]]\nkind = "jet"\nposition = [0, 0.16, 0.12]\nradius = 0.08\n'
DRAIN = '[[water_sources]]\nkind = "drain"\nposition = [0.1, -0.2, 0]\nradius = 0.05\n'


def test_a_scene_has_its_water_around_its_solids():
    source = build(parse_scene(SCENE + JET + DRAIN)).source
    (flow,) = (part for part in source.parts if isinstance(part, Waterflow))
    water = flow.water
    assert (water.grid.shape, len(water.jets), len(water.drains)) == ((12, 12, 12), 1, 1)
    assert [int(kind) for kind in water.grid.kinds] == [0, 0, 0, 2, 0, 0]  # the top is open
    assert water.volume < 0.48 * 0.48 * 0.24 - 2e-4  # the ball is in the pool
    assert source.rest.water is None
    assert source.frame.water is not None
    added = water.surface.account["added"]
    source.step()
    assert water.surface.account["added"] > added  # the jet runs
    assert water.surface.account["removed"] > 0.0
    assert abs(water.lost) < 0.02


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SCENE.replace("cell = 0.04", "cell = 0.0"), r"\[water\] cell: must be above 0, got"),
        (SCENE + 'outflow = ["above"]\n', r"\[water\] outflow: 'above' is unknown; choose from back"),
        (SCENE.replace("high = [0.24", "high = [-0.3"), r"\[water\] high: must be above low"),
        (SCENE + JET.replace("jet", "geyser"), "kind: 'geyser' is unknown; choose from drain, jet"),
        (SCENE + JET + "speed = 3.0\n", "has no key 'speed'"),
        (SCENE + JET + "velocity = [0.0, 1.0]\n", "velocity: must be three numbers, got 2"),
        (SCENE.replace("cell = 0.04\n", "") + JET, "give it a cell"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(text, message):
    with pytest.raises(SceneError, match=message):
        parse_scene(text)


def test_a_cached_shot_shows_its_water_again(tmp_path):
    pytest.importorskip("pxr")
    from pxr import Usd, UsdGeom

    scene = tmp_path / "scene.toml"
    scene.write_text(
        SCENE + JET + '[camera]\nsize = [96, 64]\n[output]\ncache = "shot.cache"\npictures = "one"\nevery = 2\n'
    )
    assert main(["simulate", str(scene), "--quiet"]) == 0
    water = Cache.open(tmp_path / "shot.cache").read_frame(3).water
    assert water is not None
    target = [str(tmp_path / "shot.cache"), "--pictures", str(tmp_path / "two"), "--water", str(tmp_path / "w.usdc")]
    assert main(["bake", *target, "--quiet"]) == 0
    pictures = [(tmp_path / folder / "picture.0003.png").read_bytes() for folder in ("one", "two")]
    assert pictures[0] == pictures[1]
    drawn = tmp_path / "drawn.png"  # and so does `mane render`
    shot = ["render", str(tmp_path / "shot.cache"), "-o", str(drawn), "--frames", "3", "--size", "96x64"]
    assert main([*shot, "--export-mitsuba", str(tmp_path / "mitsuba")]) == 0
    assert drawn.stat().st_size > 1000
    assert '<bsdf type="dielectric">' in next((tmp_path / "mitsuba").glob("*.xml")).read_text()
    stage = Usd.Stage.Open(str(tmp_path / "w.usdc"))  # held while its prims are read
    mesh = UsdGeom.Mesh(stage.GetDefaultPrim())
    assert np.array_equal(np.array(mesh.GetPointsAttr().Get(3.0)), water.points)
    assert len(mesh.GetPointsAttr().GetTimeSamples()) == 3


def test_styles_of_the_volume_skin_follow_the_water():
    """Hair under water is as it was groomed; out of it, it has the style of what it holds."""
    skin = '[skin]\nmethod = "volume"\nspacing = 0.08\nstyles = ["clumped"]\nfrom_water = true\n'
    assembly = build(parse_scene(SCENE + skin))
    assert not [one for one in assembly.hair_stage.passes if one.name == "wet_locks"]  # a matter of styles
    frame, shape = assembly.source.step(), assembly.source.frame.wet.held.shape
    found = {}
    for name, held, submerged in (("dry", 0.0, 0.0), ("soaked", 1.0, 0.0), ("under water", 1.0, 1.0)):
        wet = GuideWetness(np.full(shape, held, np.float32), np.full(shape, submerged, np.float32))
        assembly.hair_stage.reset()
        found[name] = assembly.hair_stage(replace(frame, wet=wet)).copy()
    assert np.array_equal(found["dry"], found["under water"])
    assert np.abs(found["soaked"] - found["dry"]).max() > 1e-3
    assert frame.wet.held.max() > 0.1  # the pool has wet what is in it

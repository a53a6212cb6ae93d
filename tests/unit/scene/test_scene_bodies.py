"""Bodies and solids of a scene from files that move: what the tables say, what is handed over, when results are."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pxr import Usd, UsdGeom, Vt  # noqa: TID253 (tests of USD need it anyway)

import mane
from mane.io.notices import FileNotice, OmissionNotice
from mane.scene.build import build
from mane.scene.cache import Cache
from mane.scene.config import (
    BodyTable,
    FramesTable,
    GroomTable,
    GuidesTable,
    HeadTable,
    OutputTable,
    SolidTable,
    StrandTable,
)
from mane.scene.context import SceneContext
from mane.scene.loop import run_scene
from mane.scene.scene_file import SceneError, parse_scene
from mane.scene.sinks import UsdSink

GROOM = '[groom]\nstyle = "ball"\n'
RADIUS = 0.1


def ball(radius=RADIUS):
    return mane.shapes.Sphere((0, 0, 0), radius).mesh(12)


def growth(code):
    """How much larger the ball is at a time code; it begins at 1001."""
    return np.float32(1 + 0.01 * (code - 1001))


def add_ball(stage, path, codes, radius=RADIUS):
    still, mesh = ball(radius), UsdGeom.Mesh.Define(stage, path)
    mesh.CreateFaceVertexCountsAttr([3] * still.face_count)
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(still.faces.reshape(-1)))
    for code in codes:
        mesh.CreatePointsAttr().Set(Vt.Vec3fArray.FromNumpy(still.points * growth(code)), code)
    return mesh


@pytest.fixture
def folder(tmp_path):
    """A breathing ball at 30 time codes per second, from 1001 on, and short hair on it in a file of its own."""
    stage = Usd.Stage.CreateNew(str(tmp_path / "body.usda"))
    UsdGeom.SetStageUpAxis(stage, "Y")
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(30)
    stage.SetStartTimeCode(1001)
    stage.SetEndTimeCode(1005)
    add_ball(stage, "/Root/Skin", range(1001, 1006))
    stage.Save()
    roots = ball().points[::5]
    away = roots / np.linalg.norm(roots, axis=1, keepdims=True)
    strands = roots[:, None] + away[:, None] * np.linspace(0, 0.03, 6)[:, None]
    mane.write_groom(tmp_path / "hair.usda", mane.Groom.from_uniform(strands.astype(np.float32)))
    return tmp_path


@pytest.fixture
def scene(folder, tiny_scene):
    def make(body, **tables):
        usual = {"groom": GroomTable(file="hair.usda"), "head": HeadTable(), "body": body}
        return tiny_scene(folder, **{**usual, **tables})

    return make


def context(scene):
    hair = mane.read_groom(scene.path("hair.usda"))
    return SceneContext(scene, mane.select_guides(hair, 6, seed=1))


def test_a_body_that_moves_deforms(scene):
    found = context(scene(BodyTable(mesh="body.usda", preroll=0.5)))
    body = found.body.animation
    assert_allclose(body.times, np.arange(5) / 30)
    for frame in range(5):  # of another rate than the file has
        code = min(1001 + 30 * frame / 24, 1005)
        assert_allclose(body.points(frame / 24), ball().points * growth(code), atol=1e-6)
    assert_allclose(found.body.mesh.points, ball().points)
    assert found.provide("preroll") == 0.5
    assert found.provide("body") is found.body
    assert context(scene(BodyTable(mesh="body.usda"))).provide("preroll") == "auto"


def test_keys_of_the_body(scene, folder):
    stage = Usd.Stage.Open(str(folder / "body.usda"))
    add_ball(stage, "/Root/Cap", [1001], 0.15)
    add_ball(stage, "/Root/Shoe", [1001], 0.2)
    stage.Save()
    table = BodyTable("body.usda", prim="/Root/Skin", ignore=("/Root/Shoe",), rest=1004, start=1003)
    found = context(scene(table, frames=FramesTable(end=3)))
    body = found.body.animation
    assert (found.body_clock.start, found.body_clock.rate) == (1003, 30)
    assert_allclose(body.times[0], -2 / 30)
    count = ball().vertex_count
    assert body.mesh.vertex_count == 2 * count  # the shoe is not there
    assert body.skin.faces.max() < count
    assert_allclose(body.mesh.points[:count], ball().points * growth(1004), atol=1e-6)
    assert_allclose(body.points(0.0)[:count], ball().points * growth(1003), atol=1e-6)


def test_an_array_may_move_the_body(scene, folder):
    mane.write_mesh(folder / "ball.obj", ball())
    written = mane.read_mesh(folder / "ball.obj").points
    np.save(folder / "points.npy", np.stack([written * growth(1001 + k) for k in range(4)]))
    found = context(scene(BodyTable("ball.obj", animation="points.npy", rate=10)))
    assert_allclose(found.body.animation.times, np.arange(4) / 10)
    assert_allclose(found.body.animation.points(0.25), written * growth(1003.5), atol=1e-6)
    assert found.body_clock is None


def test_a_scene_that_is_longer_than_the_shot_says_so(scene, folder):
    body = BodyTable("body.usda")
    with pytest.warns(
        FileNotice, match=r"body\.usda: its animation ends at frame 4, and the body stands still in later"
    ):
        context(scene(body, frames=FramesTable(end=20))).body  # noqa: B018 (it is read here)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        context(scene(body, frames=FramesTable(end=4))).body  # noqa: B018


def test_samples_are_joined_as_told(scene):
    smooth, straight = (context(scene(BodyTable("body.usda", interpolation=name))) for name in ("cubic", "linear"))
    assert (smooth.body.animation.interpolation, straight.body.animation.interpolation) == ("cubic", "linear")
    table = SolidTable(mesh="body.usda", interpolation="linear")
    (solid,) = context(scene(BodyTable("none"), solids=(table,))).surroundings
    assert solid.animation.interpolation == "linear"


def test_a_body_that_only_carries_hair(scene, folder):
    """Hair that falls into the ball goes in, guides and hairs, and nobody complains of it."""
    falls = StrandTable(root="hinged", sag_free=False, stiffen_to_stand="off", gravity=(0.0, -40.0, 0.0), substeps=8)

    def deepest(collide):
        made = build(scene(BodyTable("body.usda", collide=collide, preroll=0.0), strand=falls))
        frame = [made.source.reset(), *(made.source.step() for _ in range(4))][-1]
        ball, hair = made.source.solids[0], made.hair_stage(frame)
        return [-ball.distance(one[:, 1:].reshape(-1, 3), frame.time).min() for one in (frame.points, hair)]

    assert min(deepest(False)) > 2e-3
    assert max(deepest(True)) < 2e-4
    scene_ = scene(BodyTable("body.usda", collide=False), output=OutputTable(metrics="metrics.json"), strand=falls)
    run_scene(scene_)
    assert "penetration" not in (folder / "metrics.json").read_text()


def test_solids_deform_too(scene):
    table = SolidTable(mesh="body.usda", prim="/Root/Skin", start=1002, position=(0.0, 0.5, 0.0))
    (solid,) = context(scene(BodyTable("none"), solids=(table,))).surroundings
    assert_allclose(solid.animation.times, (np.arange(5) - 1) / 30)
    posed = solid.at(1 / 30).mesh()
    assert_allclose(posed.points, ball().points * growth(1003) + np.float32([0, 0.5, 0]), atol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[body]\nmesh = "a.usd"\nrest = "bynd"',
            "5: [body] rest: must be 'auto', 'bind', 'first' or a time code, got 'bynd'",
        ),
        (
            '[body]\nmesh = "a.usd"\npreroll = "long"',
            "5: [body] preroll: must be \"auto\" or a time [s] from 0 on, got 'long'",
        ),
        ('[body]\nmesh = "a.usd"\npreroll = -1', "5: [body] preroll: must be at least 0 and below 10000, got -1"),
        (
            '[body]\nmesh = "a.usd"\ninterpolation = "cubik"',
            "5: [body] interpolation: 'cubik' is unknown; choose from cubic, linear",
        ),
        ('[body]\ninterpolation = "linear"', "4: [body] interpolation: is for a mesh from a file"),
        ("[body]\nstart = 1", "4: [body] start: is for a mesh from a file"),
        ('[body]\nmesh = "bust"\nprim = "/A"', "5: [body] prim: is for a mesh from a file"),
        ('[body]\nmesh = "a.obj"\nanimation = "a.abc"', "5: [body] animation: must end in .npy or .npz, got 'a.abc'"),
        ('[body]\nmesh = "a.obj"\nrate = 0', "5: [body] rate: must be above 0 and below 10000"),
        ('[[solids]]\nprop = "comb"\nanimation = "a.npy"', "5: [[solids]] animation: is for a mesh from a file"),
    ],
)
def test_a_key_that_cannot_be_is_refused_with_its_line(text, message):
    with pytest.raises(SceneError) as caught:
        parse_scene(GROOM + text, name="scene.toml")
    assert f"scene.toml:{message}" in str(caught.value)


def test_one_path_or_several(tmp_path):
    text = GROOM + '[body]\nmesh = "a.usd"\nprim = "/A"\nignore = ["/B", "/C"]\nrest = 12\n'
    table = parse_scene(text).body
    assert (table.prim, table.ignore, table.rest) == ("/A", ("/B", "/C"), 12.0)


def test_faults_of_the_file_name_the_line_of_the_scene(scene, folder):
    (folder / "scene.toml").write_text('[groom]\nfile = "hair.usda"\n[body]\nmesh = "body.usda"\nprim = "/Root/Hat"\n')
    with pytest.raises(SceneError, match=r"scene\.toml:5: \[body\] prim: .*body\.usda has no mesh at or below"):
        _ = context(mane.read_scene(folder / "scene.toml")).body


# -- time codes of results ---------------------------------------------------------------------------------------------


def codes(scene):
    """Time codes at which the frames of a scene are written."""
    sink = UsdSink.for_output(_Request(build(scene), scene))
    frames = scene.frames
    return [sink._time_code(index) for index in range(frames.start, frames.end + 1)]


class _Request:
    def __init__(self, assembly, scene):
        self.assembly, self.output = assembly, scene.output

    def path(self, name):
        return self.assembly.scene.path(name)


def test_a_layer_is_on_the_time_codes_of_the_shot(scene):
    layer = OutputTable(usd="moved.usda", usd_layer=True)
    few = {"guides": GuidesTable(count=2), "frames": FramesTable(start=7, end=9, rate=48)}
    # the groom's file has 24 time codes per second; the body begins at 1001 / 30 s
    first = 1001 / 30 * 24
    assert codes(scene(BodyTable("body.usda"), output=layer, **few)) == pytest.approx([first, first + 0.5, first + 1])
    assert codes(scene(BodyTable("none"), output=layer, **few)) == [7, 7.5, 8]
    assert codes(scene(BodyTable("body.usda"), output=OutputTable(usd="new.usda"), **few)) == [7, 8, 9]


def test_hair_and_body_of_one_file_play_together(tmp_path, tiny_scene):
    """A shot that starts at frame 1001: hair is written where its body is at the same time code."""
    stage = Usd.Stage.CreateNew(str(tmp_path / "shot.usda"))
    UsdGeom.SetStageUpAxis(stage, "Y")
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetStartTimeCode(1001)
    stage.SetEndTimeCode(1004)
    add_ball(stage, "/Root/Skin", [1001], radius=0.06)
    groom = mane.styles.make("ball", strands=30, vertices=6)
    curves = UsdGeom.BasisCurves.Define(stage, "/Root/Hair")
    curves.CreateTypeAttr("linear")
    curves.CreateCurveVertexCountsAttr([6] * 30)
    curves.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(groom.points))
    walk = UsdGeom.Xform.Define(stage, "/Root").AddTranslateOp()
    walk.Set((0.0, 0, 0), 1001)
    walk.Set((0.03, 0, 0), 1004)
    stage.Save()
    scene = tiny_scene(
        tmp_path,
        groom=GroomTable(file="shot.usda"),
        body=BodyTable("shot.usda"),
        head=HeadTable(),
        guides=GuidesTable(count=4),
        output=OutputTable(usd="over.usda", usd_layer=True),
    )
    with pytest.warns(OmissionNotice, match="moves from time 1001 to 1004, only time 1001 is used"):
        run_scene(scene)
    over = Usd.Stage.Open(str(tmp_path / "over.usda"))
    points = over.GetPrimAtPath("/Root/Hair").GetAttribute("points")
    assert points.GetTimeSamples() == [1001, 1002, 1003, 1004]
    assert (over.GetStartTimeCode(), over.GetEndTimeCode()) == (1001, 1004)


def test_a_body_that_was_exported_again_is_noticed(scene, folder):
    """A run that is resumed must not go on with another animation."""
    with_cache = scene(BodyTable("body.usda"), output=OutputTable(cache="a.cache"), guides=GuidesTable(count=2))
    before = build(with_cache).keys
    assert build(with_cache).keys == before
    stage = Usd.Stage.Open(str(folder / "body.usda"))
    points = stage.GetPrimAtPath("/Root/Skin").GetAttribute("points")
    points.Set(Vt.Vec3fArray.FromNumpy(ball().points * np.float32(1.2)), 1005)
    stage.Save()
    cache = Cache(folder, {"keys": before})
    assert "the frames of the body are other ones" in cache.changed(build(with_cache).keys)

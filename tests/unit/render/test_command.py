"""`mane render` on the command line."""

import io
import json
import os
import re
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from mane.body.mesh import Mesh
from mane.cli import _frames, main
from mane.groom.groom import Groom
from mane.io import write_groom, write_mesh
from mane.io.usd import write_usd_groom
from mane.render.debug_looks import KINDS, DebugPainter

Image = pytest.importorskip("PIL.Image")

needs_encoder = pytest.mark.skipif(find_spec("imageio_ffmpeg") is None, reason="imageio-ffmpeg is not installed")
SIZE = ("--size", "48x36")


def sample(strands=40, **attributes):
    share = np.linspace(0, 1, 6)
    root = np.random.default_rng(0).uniform(-0.1, 0.1, (strands, 1, 3))
    hang = np.stack([0.02 * np.sin(6 * share), -0.3 * share, 0 * share], axis=1)
    return Groom.from_uniform(root + hang, **attributes)


@pytest.fixture
def still(tmp_path):
    write_groom(tmp_path / "hair.npz", sample())
    return tmp_path / "hair.npz"


@pytest.fixture
def moving(tmp_path):
    groom = sample()
    frames = [(float(t), groom.points * np.float32([1, 1 + 0.02 * t, 1])) for t in range(10, 14)]
    write_usd_groom(tmp_path / "moving.usda", groom, unit="m", up="y", frames=frames, time_codes_per_second=12)
    return tmp_path / "moving.usda"


@pytest.fixture
def render(capsys):
    """Run the command and return exit code, output and errors."""

    def run(*argv):
        code = main(["render", *map(str, argv)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def pixels(path):
    return np.asarray(Image.open(path))


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_a_picture_of_a_groom(still, tmp_path, render):
    code, out, err = render(still, "-o", tmp_path / "a.png", *SIZE, "--background", "none", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert facts["files"] == [str(tmp_path / "a.png")]
    assert (facts["frames"], facts["size"], facts["strands"], facts["points"]) == (1, [48, 36], 40, 240)
    assert (facts["renderer"], facts["look"], facts["debug"]) == ("mane", "brown", None)
    image = pixels(tmp_path / "a.png")
    assert image.shape == (36, 48, 4)
    # Framed with a margin of 6 %: what there is of the hair reaches from near the top to near the bottom.
    rows = np.flatnonzero((image[:, :, 3] > 0).any(axis=1))
    assert (rows.min(), rows.max()) == (pytest.approx(2, abs=1), pytest.approx(33, abs=1))


def test_text_for_people_names_the_files(still, tmp_path, render):
    code, out, _ = render(still, "-o", tmp_path / "a.png", *SIZE)
    assert code == 0
    assert re.match(r"1 picture of 48 x 36, 40 strands, [\d.]+ s each\n", out)
    assert out.endswith(f"{tmp_path / 'a.png'}\n")


def test_the_same_command_gives_the_same_bytes(still, tmp_path, render):
    for name in ("a.png", "b.png"):
        render(still, "-o", tmp_path / name, *SIZE, "--look", "blond")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_looks_numbers_directions_and_backgrounds_change_the_picture(still, tmp_path, render):
    variations = {
        "plain": [],
        "look": ["--look", "blond"],
        "number": ["--set", "eumelanin=0.1", "--set", "variation=0.5"],
        "side": ["--direction", "left"],
        "vector": ["--direction", "0,1,0.1"],
        "tone": ["--tone", "srgb"],
        "width": ["--hair-width", "2mm"],
    }
    images = {}
    for name, options in variations.items():
        assert render(still, "-o", tmp_path / f"{name}.png", *SIZE, *options)[0] == 0
        images[name] = pixels(tmp_path / f"{name}.png").tobytes()
    assert len(set(images.values())) == len(variations)
    render(still, "-o", tmp_path / "flat.png", *SIZE, "--background", "#3366cc")
    assert pixels(tmp_path / "flat.png")[0, 0].tolist() == [0x33, 0x66, 0xCC]
    render(still, "-o", tmp_path / "clear.png", *SIZE, "--background", "none")
    clear = pixels(tmp_path / "clear.png")
    assert clear.shape[2] == 4
    assert clear[0, 0, 3] == 0
    assert clear[:, :, 3].max() > 0


def test_a_groom_with_colours_keeps_them(tmp_path, render):
    write_groom(tmp_path / "a.npz", sample(strand={"color": np.tile([0.0, 0.6, 0.05], (40, 1))}))
    code, out, _ = render(tmp_path / "a.npz", "-o", tmp_path / "a.png", *SIZE, "--hair-width", "5mm", "--json")
    assert (code, json.loads(out)["look"]) == (0, "painted")
    red, green, blue = pixels(tmp_path / "a.png").reshape(-1, 3).astype(int).T
    assert (green - np.maximum(red, blue)).max() > 30


def test_linear_light_with_alpha_as_exr(still, tmp_path, render):
    assert render(still, "-o", tmp_path / "a.exr", *SIZE)[0] == 0
    data = (tmp_path / "a.exr").read_bytes()
    assert data[:4] == b"\x76\x2f\x31\x01"
    assert len(data) > 48 * 36 * 4 * 2  # four channels of two bytes


def test_a_body_is_shown_with_the_hair(still, tmp_path, render):
    wall = np.array([[-1, -1, -0.3], [1, -1, -0.3], [1, 1, -0.3], [-1, 1, -0.3]])
    write_mesh(tmp_path / "wall.obj", Mesh(wall, [[0, 1, 2], [0, 2, 3]]), unit="cm")
    options = ["--body", tmp_path / "wall.obj", "--body-unit", "cm", "--background", "none"]
    assert render(still, "-o", tmp_path / "a.png", *SIZE, "--direction", "front", *options)[0] == 0
    assert (pixels(tmp_path / "a.png")[:, :, 3] == 255).mean() > 0.3


# -- movies and sequences ----------------------------------------------------------------------------------------------


def test_frames_are_numbered_by_their_time_codes(moving, tmp_path, render):
    code, out, _ = render(moving, "-o", tmp_path / "f.png", *SIZE, "--frames", "10:13:2", "--json")
    assert code == 0
    files = json.loads(out)["files"]
    assert [os.path.basename(file) for file in files] == ["f.0010.png", "f.0012.png"]
    assert pixels(files[0]).tobytes() != pixels(files[1]).tobytes()


def test_without_frames_a_picture_is_of_the_first(moving, tmp_path, render):
    render(moving, "-o", tmp_path / "a.png", *SIZE)
    render(moving, "-o", tmp_path / "b.png", *SIZE, "--frames", "10")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert render(moving, "-o", tmp_path / "c.png", *SIZE, "--frames", "10.5:11")[0] == 0
    assert (tmp_path / "c.png").exists()


@pytest.mark.parametrize("camera", ["look-at", "follow", "turntable"])
def test_every_camera_films_a_moving_groom(camera, moving, tmp_path, render):
    code, out, _ = render(moving, "-o", tmp_path / "f.png", *SIZE, "--frames", "all", "--camera", camera, "--json")
    assert (code, json.loads(out)["frames"]) == (0, 4)


def test_turntable_of_a_still_groom(still, tmp_path, render):
    code, out, _ = render(still, "-o", tmp_path / "f.png", *SIZE, "--turntable", 3, "--json")
    assert code == 0
    files = json.loads(out)["files"]
    assert [os.path.basename(file) for file in files] == ["f.0001.png", "f.0002.png", "f.0003.png"]
    assert len({pixels(file).tobytes() for file in files}) == 3


@needs_encoder
def test_movies(moving, still, tmp_path, render):
    code, out, _ = render(moving, "-o", tmp_path / "a.mp4", *SIZE, "--json")
    assert (code, json.loads(out)["frames"]) == (0, 4)
    assert render(still, "-o", tmp_path / "b.mp4", "--size", "33x27", "--turntable", 2, "--fps", "6")[0] == 0
    for name in ("a.mp4", "b.mp4"):
        assert (tmp_path / name).read_bytes()[4:8] == b"ftyp"


# -- false colours -----------------------------------------------------------------------------------------------------


def test_false_colours_by_guide_stretch_and_guides_alone(moving, tmp_path, render):
    said = {}
    for kind in ("guide", "guides", "stretch"):
        code, out, _ = render(moving, "-o", tmp_path / f"{kind}.png", *SIZE, "--debug", kind, "--frames", 12, "--json")
        assert code == 0
        said[kind] = json.loads(out)["debug"]
    assert said["guide"] == said["guides"] == "40 strands of 40 guides"
    # The file knows its rest shape; at frame 12 everything is 24 % longer along y, and strands are a little wavy.
    low, high = map(float, re.findall(r"\+([\d.]+) %", said["stretch"]))
    assert 20 < low <= high < 24


def test_the_painter_keeps_rest_and_guides_of_the_first_frame():
    groom = sample()
    longer = groom.with_points(groom.points * np.float32(1.1))
    painter = DebugPainter("stretch")
    assert painter.paint(groom)[1].summary == "stretch +0 % to +0 %"
    assert painter.paint(longer)[1].summary == "stretch +10 % to +10 %"
    mixed = longer.with_points(longer.points + np.random.default_rng(1).normal(size=(240, 3)))
    owners = DebugPainter("guide")
    np.testing.assert_array_equal(owners.paint(groom)[1].colors, owners.paint(mixed)[1].colors)


def test_weights_and_depth_have_a_legend(tmp_path, render):
    weights = np.random.default_rng(0).dirichlet([1, 1, 1], 40)
    closest = np.random.default_rng(0).integers(0, 9, (40, 3)).astype(np.int32)
    groom = sample(strand={"guide_weights": weights, "closest_guides": closest})
    write_groom(tmp_path / "a.npz", groom)
    size = ("--size", "200x160")
    code, out, _ = render(tmp_path / "a.npz", "-o", tmp_path / "a.png", *size, "--debug", "weight", "--json")
    assert code == 0
    assert json.loads(out)["debug"].startswith("weight 0.")
    assert (pixels(tmp_path / "a.png")[-60:, :60] == 255).all(axis=2).any()  # the legend's plate
    code, out, _ = render(tmp_path / "a.npz", "-o", tmp_path / "b.png", *size, "--debug", "guide", "--json")
    assert json.loads(out)["debug"] == f"40 strands of {len(np.unique(closest[:, 0]))} guides"


# -- Mitsuba -----------------------------------------------------------------------------------------------------------


def test_export_for_mitsuba(still, tmp_path, render):
    code, out, _ = render(still, "--export-mitsuba", tmp_path / "deep" / "scene", *SIZE, "--json")
    assert code == 0
    files = json.loads(out)["files"]
    assert files == [str(tmp_path / "deep" / "scene" / "scene.xml")]
    assert sorted(os.listdir(tmp_path / "deep" / "scene")) == ["hair.00.txt", "pigment.00.exr", "scene.xml", "sky.exr"]


@pytest.mark.skipif(find_spec("mitsuba") is None, reason="Mitsuba 3 is not installed")
def test_rendered_by_mitsuba(still, tmp_path, render):
    options = ["--size", "24x18", "--renderer", "mitsuba"]
    assert render(still, "-o", tmp_path / "a.png", *options)[0] == 0
    assert pixels(tmp_path / "a.png").shape == (18, 24, 3)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--output: name a picture or movie to write, or a folder by --export-mitsuba"),
        (["-o", "a.gif"], "'.gif' is no suffix of a file that mane can draw; choose from .png, .exr, .mp4"),
        (["-o", "no/a.png"], "its folder does not exist; make it first"),
        (["-o", "a.png", "--size", "64"], "--size: must be WIDTHxHEIGHT such as 1280x720, got '64'"),
        (["-o", "a.png", "--size", "0x9"], "size: must be at least 1 x 1 pixels, got 0 x 9"),
        (["-o", "a.png", "--look", "purple"], "--look: 'purple' is unknown; choose from auburn"),
        (["-o", "a.png", "--set", "shine=1"], "--set: a look has no number 'shine'; it has eumelanin"),
        (["-o", "a.png", "--set", "wetness=much"], "--set: must be NAME=NUMBER, got 'wetness=much'"),
        (["-o", "a.png", "--set", "wetness=7"], "look.wetness: must lie between 0 and 1, got 7"),
        (["-o", "a.png", "--camera", "crane"], "--camera: 'crane' is unknown; choose from follow, look-at, turntable"),
        (["-o", "a.png", "--direction", "sideways"], "direction: 'sideways' is unknown"),
        (["-o", "a.png", "--tone", "linear"], "--tone: 'linear' is unknown; choose from filmic, srgb"),
        (["-o", "a.png", "--renderer", "arnold"], "--renderer: 'arnold' is unknown; choose from mane, mitsuba"),
        (["-o", "a.png", "--background", "pinkish"], "--background: must be #rrggbb, white, black or none"),
        (["-o", "a.png", "--hair-width", "thin"], "--hair-width: must be a length such as 0.0001 or 0.1mm, got 'thin'"),
        (["-o", "a.png", "--supersample", "0"], "supersample: must lie between 1 and 8, got 0"),
        (["-o", "a.png", "--frames", "3"], "holds one moment only; --frames is for animated USD files"),
        (["-o", "a.mp4"], "holds one moment only; go around it by --turntable 90, or write a .png"),
        (["-o", "a.mp4", "--turntable", "0"], "--turntable: must be 1 to 100,000 frames, got 0"),
        (["-o", "a.mp4", "--turntable", "9", "--background", "none"], "a movie cannot be transparent"),
        (["-o", "a.mp4", "--turntable", "9", "--fps", "0"], "--fps: must be a finite number above zero"),
        (["-o", "a.png", "--turntable", "9", "--camera", "follow"], "--turntable: is a camera of its own"),
        (["--export-mitsuba", "s", "--turntable", "9"], "--export-mitsuba: writes one frame, got several"),
        (["-o", "a.png", "--debug", "colour"], "debug: 'colour' is unknown; choose from guide, guides"),
        (["-o", "a.png", "--debug", "guide", "--look", "red"], "--debug: has a look of its own"),
        (["-o", "a.png", "--debug", "penetration"], "body: must be given"),
        (["-o", "a.png", "--debug", "weight"], "values: must be given"),
        (["-o", "a.png", "--body", "no.obj"], "no.obj"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else "",
)
def test_refused_in_one_line_with_exit_code_2_and_no_file(options, message, still, tmp_path, render, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = render(still, *options)
    assert (code, out) == (2, "")
    assert err.startswith("mane: error: ")
    assert err.count("\n") == 1
    assert message in err
    assert os.listdir(tmp_path) == ["hair.npz"]


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ("x", "--frames: must be `all`, A, A:B or A:B:STEP, got 'x'"),
        ("1:2:3:4", "--frames: must be `all`, A, A:B or A:B:STEP"),
        ("9:12", "--frames: must go forward between 10 and 13, got '9:12'"),
        ("12:10", "--frames: must go forward between 10 and 13"),
        ("nan", "--frames: must go forward between 10 and 13"),
        ("10:12:0", "--frames: must be at most 100,000 frames in steps above zero"),
        ("10:13:1e-9", "--frames: must be at most 100,000 frames"),
    ],
)
def test_bad_frames_are_refused(frames, message, moving, tmp_path, render):
    code, _, err = render(moving, "-o", tmp_path / "a.png", *SIZE, "--frames", frames)
    assert code == 2
    assert message in err
    code, _, err = render(moving, "-o", tmp_path / "a.png", *SIZE, "--frames", "all", "--turntable", 4)
    assert code == 2
    assert "--turntable: goes around one moment" in err


def test_no_file_at_all_points_to_the_help(render):
    code, _, err = render()
    assert code == 2
    assert "render: name a file to draw" in err


def test_list_names_every_look(render):
    from mane.render.looks import LOOKS

    code, out, _ = render("--list")
    assert code == 0
    assert all(name in out for name in LOOKS)
    assert "numbers for --set: eumelanin=" in out


def test_help_names_every_false_colour(capsys):
    with pytest.raises(SystemExit):
        main(["render", "--help"])
    out = capsys.readouterr().out
    assert all(kind in out for kind in KINDS)


# -- while one waits ---------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def frames_shown(stream, patience, log_seconds, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(_frames, "PATIENCE_SECONDS", patience)
    monkeypatch.setattr(_frames, "LOG_SECONDS", log_seconds)
    with _frames.FrameProgress("drawing", 3) as progress:
        for _ in range(3):
            progress.advance()
    return stream.getvalue()


def test_a_bar_for_people_lines_for_a_log_and_nothing_for_quick_work(monkeypatch):
    assert "drawing" in frames_shown(Terminal(), -1.0, 60.0, monkeypatch)
    assert frames_shown(io.StringIO(), -1.0, -1.0, monkeypatch).splitlines()[-1] == "mane: drawing: frame 3 of 3"
    assert frames_shown(Terminal(), 60.0, 60.0, monkeypatch) == ""
    assert frames_shown(io.StringIO(), 60.0, 60.0, monkeypatch) == ""

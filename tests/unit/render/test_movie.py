"""Numbered pictures and MP4 movies: the right frames in the right colours, whole or not at all."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from mane.render import extras
from mane.render.movie import FrameWriter, MovieWriter, frame_path, write_frames, write_movie, write_picture

Image = pytest.importorskip("PIL.Image")

COLORS = ((200, 40, 30), (30, 160, 60), (40, 60, 210), (120, 120, 120), (250, 220, 120))


def frame(color, height=48, width=64):
    return np.full((height, width, 3), color, np.uint8)


@pytest.fixture
def decode():
    """A function that returns the frames of a movie, shape (F, H, W, 3), and what the decoder says of it."""
    encoder = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()

    def decoded(path, height, width):
        about = subprocess.run([encoder, "-hide_banner", "-i", str(path)], capture_output=True, text=True).stderr
        command = [encoder, "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
        raw = subprocess.run(command, capture_output=True, check=True).stdout
        return np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3), about

    return decoded


def test_frames_are_named_by_number(tmp_path):
    assert frame_path("a/hair.png", 7).as_posix() == "a/hair.0007.png"
    assert frame_path("hair.v2.png", 12345).name == "hair.v2.12345.png"
    assert frame_path("hair.png", -3).name == "hair.-0003.png"
    written = write_frames(tmp_path / "hair.png", (frame(color) for color in COLORS[:3]))
    assert [path.name for path in written] == ["hair.0001.png", "hair.0002.png", "hair.0003.png"]
    numbered = write_frames(tmp_path / "b.png", [frame(COLORS[0])], numbers=[1001])
    assert [path.name for path in numbered] == ["b.1001.png"]
    np.testing.assert_array_equal(np.asarray(Image.open(written[1])), frame(COLORS[1]))
    assert sorted(os.listdir(tmp_path)) == ["b.1001.png", "hair.0001.png", "hair.0002.png", "hair.0003.png"]


def test_frames_may_be_exr(tmp_path):
    written = write_frames(tmp_path / "a.exr", [np.ones((2, 3, 3), np.float32)])
    assert written[0].read_bytes()[:4] == b"\x76\x2f\x31\x01"  # the magic number of the format


def test_movie_shows_every_frame_in_its_colour(tmp_path, decode):
    """Colours survive the trip to 4:2:0 and back within the roundings of limited-range video: 219 levels for 255."""
    assert write_movie(tmp_path / "a.mp4", (frame(color) for color in COLORS), fps=12) == len(COLORS)
    movie, about = decode(tmp_path / "a.mp4", 48, 64)
    assert movie.shape == (len(COLORS), 48, 64, 3)
    assert "yuv420p" in about
    assert "bt709" in about
    assert "12 fps" in about
    np.testing.assert_allclose(movie[:, 24, 32].astype(int), COLORS, atol=4)
    assert os.listdir(tmp_path) == ["a.mp4"]


def test_odd_sides_get_a_row_and_a_column_more(tmp_path, decode):
    write_movie(tmp_path / "a.mp4", [frame(COLORS[0], 33, 47)] * 3)
    movie, _ = decode(tmp_path / "a.mp4", 34, 48)
    np.testing.assert_allclose(movie[0, -1, -1].astype(int), COLORS[0], atol=4)


def test_an_error_on_the_way_leaves_the_old_movie_and_nothing_else(tmp_path, decode):
    target = tmp_path / "a.mp4"
    write_movie(target, [frame(COLORS[0])])
    before = target.read_bytes()

    def frames():
        yield frame(COLORS[1])
        raise RuntimeError("the renderer gave up")

    with pytest.raises(RuntimeError, match="gave up"):
        write_movie(target, frames())
    assert target.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.mp4"]


def test_an_interrupted_program_leaves_no_half_movie(tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    script = (
        "import signal, sys, time, numpy as np\n"
        "from mane.render.movie import MovieWriter\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background job begins without
        "with MovieWriter(sys.argv[1]) as movie:\n"
        "    while True:\n"
        "        movie.write(np.zeros((64, 64, 3), np.uint8))\n"
        "        if movie.count == 30:\n"
        "            print('encoding', flush=True)\n"
        "        time.sleep(0.001)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "a.mp4")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout.readline() == b"encoding\n"
    process.send_signal(signal.SIGINT)
    process.wait(30)
    process.stdout.close()
    assert os.listdir(tmp_path) == []


def test_a_dying_encoder_is_an_error_of_one_line(tmp_path):
    pytest.importorskip("imageio_ffmpeg")

    def encode():
        with MovieWriter(tmp_path / "a.mp4") as movie:
            movie.write(frame(COLORS[0]))
            movie._process.kill()
            movie._process.wait()
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline:
                movie.write(frame(COLORS[0]))

    with pytest.raises(OSError, match=r"a.mp4: cannot be encoded \(.*\); check the space") as failure:
        encode()
    assert "\n" not in str(failure.value)
    assert os.listdir(tmp_path) == []


def test_without_the_library_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"imageio_ffmpeg: is not installed; get it with: pip install 'mane\[movie\]'"):
        write_movie(tmp_path / "a.mp4", [frame(COLORS[0])])
    assert os.listdir(tmp_path) == []


def test_a_library_that_cannot_be_loaded_says_why(monkeypatch):
    def broken(name):
        raise ImportError("libx264.so: cannot open\nshared object file")

    monkeypatch.setattr(extras, "find_spec", lambda name: name)
    monkeypatch.setattr(extras, "import_module", broken)
    with pytest.raises(
        ValueError, match=r"imageio_ffmpeg: cannot be loaded \(libx264.so: cannot open shared object file"
    ):
        extras.import_extra("imageio_ffmpeg", "movie")


def movie_cases():
    return [
        (lambda p: write_movie(p / "a.mp4", []), ValueError, "a.mp4: must have at least one picture, got none"),
        (
            lambda p: write_movie(p / "a.mp4", [frame(COLORS[0]), frame(COLORS[0], 20)]),
            ValueError,
            r"images\[1\]: must have the shape of the first one \(48, 64, 3\), got \(20, 64, 3\)",
        ),
        (lambda p: write_movie(p / "a.mp4", [np.zeros((4, 4))]), ValueError, r"images\[0\]: must be uint8"),
    ]


@pytest.mark.parametrize(("call", "error", "message"), movie_cases())
def test_bad_movies_are_refused_and_leave_no_file(call, error, message, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    with pytest.raises(error, match=message):
        call(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p: write_movie(p / "a.avi", []), ValueError, r"a.avi: must end in .mp4, got '.avi'"),
        (lambda p: write_movie(p / "a.mp4", [], fps=0), ValueError, "fps: must be a finite number above zero"),
        (lambda p: write_movie(p / "no" / "a.mp4", []), FileNotFoundError, "its folder does not exist"),
        (lambda p: FrameWriter(p / "a.jpg"), ValueError, r"a.jpg: must end in .png or .exr for pictures, got '.jpg'"),
        (lambda p: FrameWriter(p / "no" / "a.png"), FileNotFoundError, "its folder does not exist"),
        (lambda p: write_frames(p / "a.png", [], numbers=[1, 1]), ValueError, "numbers: must differ"),
        (
            lambda p: write_frames(p / "a.png", [frame(COLORS[0])], numbers=[]),
            ValueError,
            "numbers: must be as many as images, got only 0",
        ),
        (lambda p: write_picture(p / "a", frame(COLORS[0])), ValueError, "a: must end in .png or .exr"),
    ],
)
def test_bad_requests_are_refused_and_leave_no_file(call, error, message, tmp_path):
    with pytest.raises(error, match=message):
        call(tmp_path)
    assert os.listdir(tmp_path) == []

"""OpenEXR files against the format's own description and, where they are installed, other readers."""

import struct
import subprocess

import numpy as np
import pytest

from mane.render.exr import write_exr


def picture(channels, height=5, width=7):
    return np.random.default_rng(channels).normal(scale=3.0, size=(height, width, channels)).astype(np.float32)


def parse(data):
    """Read an uncompressed scan-line file as openexr.com/en/latest/OpenEXRFileLayout.html describes it."""
    assert struct.unpack_from("<2i", data) == (20000630, 2)
    place, attributes = 8, {}
    while data[place]:
        name_end = data.index(b"\0", place)
        kind_end = data.index(b"\0", name_end + 1)
        size = struct.unpack_from("<i", data, kind_end + 1)[0]
        attributes[data[place:name_end].decode()] = (
            data[name_end + 1 : kind_end].decode(),
            data[kind_end + 5 : kind_end + 5 + size],
        )
        place = kind_end + 5 + size
    x0, y0, x1, y1 = struct.unpack("<4i", attributes["dataWindow"][1])
    width, height = x1 - x0 + 1, y1 - y0 + 1
    listed, names, kinds = attributes["channels"][1], [], []
    while listed[0]:
        end = listed.index(b"\0")
        names.append(listed[:end].decode())
        kind, _, step_x, step_y = struct.unpack_from("<iIii", listed, end + 1)
        kinds.append({1: "<f2", 2: "<f4"}[kind])
        assert (step_x, step_y) == (1, 1)
        listed = listed[end + 17 :]
    assert names == sorted(names)
    channels = {name: np.empty((height, width), kind) for name, kind in zip(names, kinds, strict=True)}
    for row, start in enumerate(np.frombuffer(data, "<u8", height, place + 1).tolist()):
        y, size = struct.unpack_from("<2i", data, start)
        assert y == row
        at = start + 8
        for values in channels.values():
            values[row] = np.frombuffer(data, values.dtype, width, at)
            at += values.itemsize * width
        assert at == start + 8 + size
    assert at == len(data)
    return attributes, channels


@pytest.mark.parametrize("half", [True, False])
@pytest.mark.parametrize(("count", "names"), [(1, "Y"), (3, "RGB"), (4, "RGBA")])
def test_read_back(count, names, half, tmp_path):
    image = picture(count)
    write_exr(tmp_path / "a.exr", image, half=half)
    attributes, channels = parse((tmp_path / "a.exr").read_bytes())
    assert set(channels) == set(names)
    for k, name in enumerate(names):
        np.testing.assert_array_equal(channels[name], image[:, :, k].astype("<f2" if half else "<f4"))
    assert attributes["compression"] == ("compression", b"\0")
    assert set(attributes) >= {
        "displayWindow",
        "lineOrder",
        "pixelAspectRatio",
        "screenWindowCenter",
        "screenWindowWidth",
    }


def test_halves_that_would_overflow_are_cut(tmp_path):
    write_exr(tmp_path / "a.exr", np.full((1, 1, 3), 1e9))
    assert parse((tmp_path / "a.exr").read_bytes())[1]["R"][0, 0] == 65504


def test_ffmpeg_reads_it(tmp_path):
    """An independent reader: the decoder that comes with the `movie` extra."""
    encoder = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    image = np.abs(picture(3))
    write_exr(tmp_path / "a.exr", image, half=False)
    command = [encoder, "-v", "error", "-i", str(tmp_path / "a.exr"), "-f", "rawvideo", "-pix_fmt", "gbrpf32le", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    green, blue, red = np.frombuffer(raw, "<f4").reshape(3, *image.shape[:2])
    np.testing.assert_allclose(np.stack([red, green, blue], axis=2), image, rtol=1e-6)


def test_mitsuba_reads_it(tmp_path):
    mitsuba = pytest.importorskip("mitsuba")
    mitsuba.set_variant("scalar_rgb")
    image = picture(4)
    write_exr(tmp_path / "a.exr", image, half=False)
    np.testing.assert_array_equal(np.array(mitsuba.Bitmap(str(tmp_path / "a.exr"))), image)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((4, 4)), r"image: must have shape \(H, W, 1\)"),
        (np.zeros((4, 4, 2)), "image: must have shape"),
        (np.zeros((0, 4, 3)), "image: must have shape"),
        (np.full((2, 2, 3), np.nan), "image: must be finite, got nan at index 0"),
    ],
)
def test_bad_pictures_are_refused_and_leave_no_file(image, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_exr(tmp_path / "a.exr", image)
    assert list(tmp_path.iterdir()) == []

"""Pictures as files and on sheets."""

import numpy as np
import pytest

from mane.render.sheet import contact_sheet, write_png

Image = pytest.importorskip("PIL.Image")


def picture(height=20, width=30, value=7):
    return np.full((height, width, 3), value, np.uint8)


def test_png_round_trip(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (12, 17, 3), np.uint8)
    write_png(tmp_path / "a.png", image)
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "a.png")), image)
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_png_keeps_straight_alpha(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (5, 6, 4), np.uint8)
    write_png(tmp_path / "a.png", image)
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "a.png")), image)
    with pytest.raises(ValueError, match=r"image: must be uint8 of shape \(H, W, 3\) or \(H, W, 4\), got uint8"):
        write_png(tmp_path / "a.png", image[:, :, :2])


def test_a_failed_write_leaves_the_old_picture_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "a.png"
    write_png(target, picture(value=1))
    before = target.read_bytes()

    def full_disk(self, path, **_):
        path.write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(Image.Image, "save", full_disk)
    with pytest.raises(OSError, match="no space left"):
        write_png(target, picture(value=2))
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_sheet_places_pictures_in_rows_with_captions():
    images = [picture(value=10 * (k + 1)) for k in range(5)]
    sheet = contact_sheet(images, list("abcde"), columns=2, gap=4, caption_height=16)
    assert sheet.shape == (4 + 3 * (20 + 16 + 4), 4 + 2 * (30 + 4), 3)
    for k in range(5):
        top, left = 4 + (k // 2) * 40, 4 + (k % 2) * 34
        assert (sheet[top : top + 20, left : left + 30] == 10 * (k + 1)).all()
        below = sheet[top + 20 : top + 36, left : left + 30]
        assert below.min() < 120  # the caption's ink
    assert (sheet[-40:, -34:] == 255).all()  # the last place stays empty


@pytest.mark.parametrize(
    ("images", "captions", "columns", "message"),
    [
        ([], [], 2, "images: must hold at least one picture"),
        ([picture()], [], 2, r"captions: must be as many as images \(1\), got 0"),
        ([picture()], ["a"], 0, "columns: must be at least 1"),
        ([picture().astype(float)], ["a"], 1, r"images\[0\]: must be uint8 of shape \(H, W, 3\), got float64"),
    ],
)
def test_bad_sheets_are_refused(images, captions, columns, message):
    with pytest.raises(ValueError, match=message):
        contact_sheet(images, captions, columns)


def test_jpeg_is_a_small_picture_of_the_same(tmp_path):
    from PIL import Image

    from mane.render.sheet import write_jpeg

    ramp = np.broadcast_to(np.arange(0, 256, 2, dtype=np.uint8)[None, :, None], (64, 128, 3))
    write_jpeg(tmp_path / "a.jpg", ramp)
    back = np.asarray(Image.open(tmp_path / "a.jpg"))
    assert np.abs(back.astype(int) - ramp).max() <= 6

"""What every groom format promises, whichever it is: one battery over the table of formats, USD included."""

import warnings

import numpy as np
import pytest

import mane
from mane.groom.groom import Groom
from mane.io.alembic import SUFFIX as ALEMBIC
from mane.io.formats import READABLE, STRAND_FORMATS, USD_SUFFIXES, WRITABLE

# Alembic goes by way of Blender, which tests/validation/test_blender.py looks for.
readable = pytest.mark.parametrize("suffix", [suffix for suffix in READABLE if suffix != ALEMBIC])
writable = pytest.mark.parametrize("suffix", [suffix for suffix in WRITABLE if suffix != ALEMBIC])


def some_hair(count=5):
    rng = np.random.default_rng(4)
    strands = [np.cumsum(rng.normal(0, 0.01, (rng.integers(2, 9), 3)), axis=0) for _ in range(count)]
    return Groom.from_strands([strand.astype(np.float32) for strand in strands])


def written(path, groom, **told):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a format has no room for
        mane.write_groom(path, groom, **told)
    return path


@writable
@pytest.mark.parametrize("count", [1, 5])
def test_what_is_written_is_read_again(suffix, count, tmp_path):
    groom = some_hair(count)
    read = mane.read_groom(written(tmp_path / f"hair{suffix}", groom))
    np.testing.assert_array_equal(read.offsets, groom.offsets)
    np.testing.assert_allclose(read.points, groom.points, atol=1e-7)


@writable
@pytest.mark.parametrize(("unit", "up"), [("cm", "y"), ("m", "z"), ("mm", "z")])
def test_units_and_axes_come_back(suffix, unit, up, tmp_path):
    groom = some_hair()
    path = written(tmp_path / f"hair{suffix}", groom, unit=unit, up=up)
    told = {} if suffix in USD_SUFFIXES else {"unit": unit, "up": up}
    np.testing.assert_allclose(mane.read_groom(path, **told).points, groom.points, atol=1e-7)


@writable
def test_the_same_hair_gives_the_same_bytes(suffix, tmp_path):
    first, second = (written(tmp_path / name / f"hair{suffix}", some_hair()) for name in _folders(tmp_path))
    assert first.read_bytes() == second.read_bytes()


def _folders(path):
    for name in ("one", "two"):
        (path / name).mkdir()
        yield name


@writable
def test_a_failed_write_leaves_what_was_there(suffix, tmp_path):
    path = written(tmp_path / f"hair{suffix}", some_hair())
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"unit: 'parsec' is unknown"):
        mane.write_groom(path, some_hair(), unit="parsec")
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@writable
def test_points_that_are_none_are_refused(suffix, tmp_path):
    broken = some_hair().points.copy()
    broken[3] = np.nan
    with pytest.raises(ValueError, match="points: must be finite, got nan at"):
        written(tmp_path / f"hair{suffix}", some_hair().with_points(broken))
    assert not list(tmp_path.iterdir())


@readable
@pytest.mark.parametrize(
    "contents", [b"", b"\0" * 7, b"#usda 1.0\n(", b"PXR-USDC" + b"\xff" * 99, bytes(range(256)) * 8]
)
def test_what_is_no_such_file_is_one_line(suffix, contents, tmp_path):
    path = tmp_path / f"hair{suffix}"
    path.write_bytes(contents)
    with pytest.raises((ValueError, OSError), match="hair") as error:
        mane.read_groom(path)
    assert "\n" not in str(error.value)


@readable
def test_a_file_that_is_not_there_is_one_line(suffix, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"nowhere{suffix}") as error:
        mane.read_groom(tmp_path / f"nowhere{suffix}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", STRAND_FORMATS)
def test_an_entry_says_what_people_call_it(suffix):
    entry = STRAND_FORMATS[suffix]
    assert entry.title
    assert entry.reason
    assert suffix == suffix.lower()
    assert suffix.startswith(".")

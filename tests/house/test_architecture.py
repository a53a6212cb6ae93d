"""ARCHITECTURE.md is true to the folders, the public modules and the dependencies."""

import re
import tomllib
from pathlib import Path

import pytest
from test_layers import ROOMS

import mane

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_rooms_stand_in_the_map_in_their_order():
    assert tuple(re.findall(r"^\| `(\w+)/` \|", TEXT, re.M)) == ROOMS


def test_files_to_start_reading_at_are_there():
    for room, start in re.findall(r"^\| `(\w+)/` \|.*\| ([^|]*) \|$", TEXT, re.M):
        for name in re.findall(r"`([\w/]+\.py|[\w]+/)`", start):
            assert (ROOT / "src" / "mane" / room / name).exists(), f"{room}/{name}"


@pytest.mark.parametrize("name", [name for name in mane.MODULES if (ROOT / "src" / "mane" / f"{name}.py").is_file()])
def test_public_modules_are_named(name):
    assert f"`{name}.py`" in TEXT


@pytest.mark.parametrize(
    "requirement",
    [
        *PROJECT["project"]["dependencies"],
        *(one for extra in PROJECT["project"]["optional-dependencies"].values() for one in extra),
        *(one for group in PROJECT["dependency-groups"].values() for one in group),
    ],
)
def test_every_dependency_is_explained(requirement):
    name = re.match(r"[\w.-]+", requirement).group()
    assert re.search(rf"\b{re.escape(name)}\b", TEXT[TEXT.index("## Dependencies") :], re.I), name

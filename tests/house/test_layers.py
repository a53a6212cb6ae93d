"""The rooms of the house, from the ground up: a room may use only rooms that come before it."""

import ast
from pathlib import Path

import pytest

import mane

SOURCE = Path(mane.__file__).parent
ROOMS = (
    "simd",
    "geometry",
    "stage",
    "body",
    "fluid",
    "groom",
    "strand",
    "contact",
    "skin",
    "reduced",
    "metrics",
    "io",
    "volume",
    "render",
    "scene",
    "dataset",
    "salon",
    "measure",
    "cli",
)
FILES = sorted(SOURCE.rglob("*.py"))
# Modules of the public surface, which hand out names of rooms and hold nothing of their own.
SURFACE = {path.stem for path in SOURCE.glob("[a-z]*.py")}


def imported_rooms(path):
    """Rooms of mane that a file imports anywhere, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            assert not isinstance(node, ast.ImportFrom), f"{path}: relative imports hide which room they reach"
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "mane" and len(parts) > 1:
                yield parts[1], node.lineno


def test_every_folder_is_a_known_room():
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(ROOMS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_room_imports_a_room_below_it(path):
    room = path.relative_to(SOURCE).parts[0]
    if room not in ROOMS:
        return  # mane/__init__.py and the modules beside it hand out names of all rooms
    for other, line in imported_rooms(path):
        assert other not in SURFACE, f"{path}:{line}: a room must import rooms, not mane.{other}, which imports it"
        if other in ROOMS:
            assert ROOMS.index(other) <= ROOMS.index(room), f"{path}:{line}: {room} must not import {other}"


METHOD_ROOMS = ("strand", "contact", "skin", "measure")
SHARED = ("measure.strands", "measure.study")  # cases that all kinds of measurement use
PACKAGES = [
    package
    for room in METHOD_ROOMS
    for package in sorted((SOURCE / room).iterdir())
    if (package / "__init__.py").is_file()
]


def imported_modules(path):
    """Modules of mane that a file imports anywhere, by dotted name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("mane."):
            yield node.module, node.lineno
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.startswith("mane."))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: f"{package.parent.name}.{package.name}")
def test_no_method_imports_another_one(package):
    """What two methods share belongs to their room, so that one is read by opening one folder."""
    room = package.parent.name
    others = {
        other.name for other in PACKAGES if other.parent == package.parent and f"{room}.{other.name}" not in SHARED
    }
    for path in package.rglob("*.py"):
        for module, line in imported_modules(path):
            parts = module.split(".")
            if len(parts) > 2 and parts[1] == room and parts[2] in others:
                assert parts[2] == package.name, f"{path}:{line}: {room}.{package.name} must not import {module}"


def test_the_check_finds_a_forbidden_import(tmp_path):
    offender = tmp_path / "offender.py"
    offender.write_text("def f():\n    from mane.cli import main\n    import mane.groom.groom\n")
    assert list(imported_rooms(offender)) == [("cli", 2), ("groom", 3)]

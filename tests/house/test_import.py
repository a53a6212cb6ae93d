"""`import mane` is quick because it loads nothing heavy; names arrive when they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mane

HEAVY = ("numpy", "numba", "scipy", "pxr", "PIL", "trimesh", "rich")


def modules_after(statement):
    """Names of the modules that a fresh interpreter has loaded after `statement`."""
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


def test_import_mane_loads_nothing_heavy():
    assert not modules_after("import mane") & set(HEAVY)


def test_the_command_starts_without_numba_or_usd():
    loaded = modules_after("from mane.cli import build_parser; build_parser()")
    assert not loaded & {"numba", "scipy", "pxr", "PIL", "trimesh"}


def test_importing_kernels_compiles_nothing():
    code = (
        "import mane.geometry._kernels_grid as k, mane.groom.styles._kernels as s\n"
        "for module in (k, s):\n"
        "    for value in vars(module).values():\n"
        "        assert not getattr(value, 'signatures', None), value\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", mane.PUBLIC)
def test_every_public_name_arrives(name):
    assert getattr(mane, name) is not None
    assert name in dir(mane)


def test_type_checkers_see_the_same_names():
    """The lazy table and the imports written for type checkers must not drift apart."""
    tree = ast.parse(Path(mane.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    listed = {}
    for node in block.body:
        if isinstance(node, ast.Assign):  # another name for what was imported above
            owner, other = listed.pop(node.value.id), node.value.id
            listed[node.targets[0].id] = f"{owner}:{other}"
            continue
        for alias in node.names:
            name = alias.asname or alias.name
            listed[name] = f"{node.module}.{alias.name}" if name in mane.MODULES else node.module
    assert listed == mane.PUBLIC


def test_render_draws():
    picture = mane.render([[[0, 0, 0], [0, 0.1, 0]]], size=(32, 24))
    assert picture.shape == (24, 32, 3)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'Grom'"):
        mane.Grom  # noqa: B018

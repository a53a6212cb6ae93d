"""Everything that a reader is shown uses public names only, and public names are what they say."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mane
from mane.scene.keys import described

ROOT = Path(__file__).parents[2]
FOR_DEVELOPERS = ("simd.md",)  # pages about the inside of mane
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in page.parts)]
PAGES = [page for page in PAGES if page.name not in FOR_DEVELOPERS]


def python_blocks(text):
    """Python code blocks of a page, each with the number of its first line."""
    for found in re.finditer(r"^```(?:python|py)\b[^\n]*\n(.*?)^```", text, re.M | re.S):
        yield text.count("\n", 0, found.start()) + 2, found.group(1)


def is_public(name):
    """Whether a dotted name below `mane` is public; what a public object has is its own matter."""
    first, _, rest = name.partition(".")
    if first in mane.MODULES and rest:
        return rest.partition(".")[0] in getattr(mane, first).__all__
    return first in mane.PUBLIC or first == "__version__"


def is_importable(module, name):
    """Whether `from mane.<module> import <name>` is a public way to that name."""
    return is_public(f"{module}.{name}") and module in mane.MODULES if module else is_public(name)


def private_names(tree):
    """Names of mane that a program uses and should not, each with its line."""
    inner = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mane":
            below = node.module.partition(".")[2]
            names = [f"{below}.{alias.name}" for alias in node.names if not is_importable(below, alias.name)]
        elif isinstance(node, ast.Import):
            below = [alias.name.partition(".")[2] for alias in node.names if alias.name.startswith("mane.")]
            names = [name for name in below if name not in mane.MODULES]
        elif isinstance(node, ast.Attribute) and id(node) not in inner:
            names = []
            dotted = ast.unparse(node)
            while isinstance(node, ast.Attribute):
                inner.add(id(node.value))
                node = node.value
            if isinstance(node, ast.Name) and node.id == "mane" and re.fullmatch(r"[\w.]+", dotted):
                names = [name for name in (dotted.partition(".")[2],) if not is_public(name)]
        else:
            continue
        yield from ((name, node.lineno) for name in names)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_use_public_names_only(path):
    assert not list(private_names(ast.parse(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_code_on_pages_uses_public_names_only(path):
    for line, block in python_blocks(path.read_text(encoding="utf-8")):
        found = list(private_names(ast.parse(block)))
        assert not found, f"{path.name}:{line}: {found}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_names_in_the_text_of_pages_are_public(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)  # blocks have a test
    spans = re.findall(r"`([^`\n]+)`", text)
    named = [name for span in spans for name in re.findall(r"(?<![\w./-])mane\.([A-Za-z_][\w.]*)", span)]
    assert len(named) > 20 or path.name != "README.md"
    assert not [name for name in named if not is_public(name) and not name.endswith(".json")]  # mane.schema.json


@pytest.mark.parametrize(
    ("program", "private"),
    [
        ("from mane.skin.table import SKINS", "skin.table.SKINS"),
        ("import mane.groom.groom", "groom.groom"),
        ("import mane\nmane.forces.Nothing()", "forces.Nothing"),
        ("import mane\nmane.scene.loop.run_scene(1).seconds", "scene.loop.run_scene"),
    ],
)
def test_the_check_finds_a_private_name(program, private):
    assert [name for name, _ in private_names(ast.parse(program))] == [private]


@pytest.mark.parametrize("name", mane.MODULES)
def test_public_modules_list_what_they_have(name):
    module = getattr(mane, name)
    assert inspect.ismodule(module)
    assert all(hasattr(module, public) for public in module.__all__)
    assert module.__doc__


@pytest.mark.parametrize("name", ["skin", "render"])
@pytest.mark.parametrize(
    "order",
    [
        "import mane; import mane.skin.table; import mane.render.camera",
        "from mane.skin.base import Skin; from mane.render.camera import Camera; import mane; mane.skins",
    ],
)
def test_skin_and_render_are_functions_whatever_was_imported(name, order):
    code = f"{order}; import inspect; assert inspect.isfunction(mane.{name}), mane.{name}; from mane import {name} as f"
    subprocess.run([sys.executable, "-c", f"{code}; assert f is mane.{name}"], check=True)


def public_objects():
    """Every public name with what it stands for."""
    for name in mane.PUBLIC:
        value = getattr(mane, name)
        if name in mane.MODULES:
            yield from ((f"{name}.{member}", getattr(value, member)) for member in value.__all__)
        else:
            yield name, value


def arguments_of(thing):
    """Names of the arguments that a caller gives to a function or a class; none of what is no such thing."""
    if inspect.isabstract(thing) or getattr(thing, "_is_protocol", False):
        return []
    if not (inspect.isfunction(thing) or (inspect.isclass(thing) and not issubclass(thing, Exception))):
        return []
    called = thing.__init__ if inspect.isclass(thing) else thing
    spread = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = inspect.signature(called).parameters.values()
    return [one.name for one in found if one.kind not in spread and one.name != "self" and not one.name.startswith("_")]


def test_every_argument_of_a_public_name_is_explained():
    """In a section of the docstring, in its text, or by another one that is named."""
    lacking, checked = {}, 0
    for name, thing in public_objects():
        arguments, text = arguments_of(thing), inspect.getdoc(thing) or ""
        told = described(thing) if arguments else {}
        refers = re.search(r"[Aa]rguments as (?:in|for) `", text)
        unknown = [one for one in arguments if one not in told and not re.search(rf"`{one}\b", text)]
        checked += len(arguments)
        if unknown and not refers:
            lacking[name] = unknown
    assert not lacking
    assert checked > 800

"""What pages print runs as it is printed: tutorials from first to last line, and blocks that stand by themselves."""

import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest

import mane
from mane.cli import build_parser, main
from mane.scene.config import SCENE_KEYS
from mane.scenes import parse_scene

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.M | re.S)
STRANDS = 3000


def blocks_of(page):
    """Language, title and text of every block of a page, in order."""
    return BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))


def run_console(text, capsys):
    """Run the lines behind `$`; what is printed below one is what the command must say, and then it must fail."""
    for entry in re.split(r"^\$ ", text, flags=re.M)[1:]:
        line, _, said = entry.partition("\n")
        program, *arguments = shlex.split(line)
        assert program == "mane", line
        capsys.readouterr()
        code = main(arguments)
        heard = capsys.readouterr()
        if said.strip():
            assert code == 2, heard
            assert said.strip() in heard.err
        else:
            assert code == 0, f"{line}: {heard.err}"


def run_page(page, folder, monkeypatch, capsys):
    """Do what a page says, in a folder of its own; returns what its Python has named."""
    monkeypatch.chdir(folder)
    named = {}
    for language, title, text in blocks_of(page):
        if title:
            (folder / title).write_text(text)
        elif language == "console":
            run_console(text, capsys)
        elif language == "python":
            exec(compile(text, page, "exec"), named)
    return named


def test_arrays_in_arrays_out(tmp_path, monkeypatch, capsys):
    named = run_page("tutorials/engineer.md", tmp_path, monkeypatch, capsys)
    assert named["hair"].shape == (400, 16, 3)
    assert np.array_equal(named["first"], named["again"])
    assert float(np.max(named["length"])) < 1e-3
    assert named["sim"].report.stretch < 1e-3
    assert mane.pictures.read_picture(tmp_path / "hair.png").std() > 1  # something is drawn


@pytest.mark.stress
def test_hair_on_a_character(tmp_path, monkeypatch, capsys):
    run_page("tutorials/artist.md", tmp_path, monkeypatch, capsys)
    assert mane.read_groom(tmp_path / "walk.usda").strand_count == STRANDS
    assert mane.read_groom(tmp_path / "preview.usda").strand_count == 500
    for made in ("walk.png", "walk.json", "spring.usda", "pictures/picture.0008.png"):
        assert (tmp_path / made).is_file()


@pytest.mark.stress
def test_a_dataset_from_one_file(tmp_path, monkeypatch, capsys):
    named = run_page("tutorials/data.md", tmp_path, monkeypatch, capsys)
    assert len(named["data"]) == 6
    assert named["fitted"] < named["still"]
    assert (tmp_path / "sheet.png").is_file()


@pytest.mark.parametrize("page", ["index.md", "forces.md", "howto/files.md", "howto/scenes.md"])
def test_blocks_that_stand_by_themselves(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ran = 0
    for language, _, text in blocks_of(page):
        if language == "python":
            exec(compile(text, page, "exec"), {"__name__": page})
            ran += 1
    assert ran


def test_every_method_is_on_a_page():
    """A method that no page explains is one that nobody finds."""
    pages = [*(DOCS / "methods").glob("*.md"), *DOCS.glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    tables = (mane.strands.SOLVERS, mane.forces.INTERACTIONS, mane.skins.SKINS, mane.skins.FINISHING_PASSES)
    for table in tables:
        unknown = [name for name in table if f"`{name}`" not in text and f'"{name}"' not in text]
        assert not unknown


METHODS = sorted(page for page in (DOCS / "methods").glob("*.md") if page.stem != "index")
SECTIONS = ("Equations", "Where in the code", "Figures", "When to use it", "Limits")


@pytest.mark.parametrize("page", METHODS, ids=lambda page: page.stem)
def test_every_page_of_a_method_has_the_same_sections(page):
    """What it is, its equations, where they are, a picture, figures by a command, when to use it, and its limits."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^## (.+)$", text, re.M)
    assert [one for one in found if one in SECTIONS] == list(SECTIONS)
    assert "$$" in text or r"\(" in text
    assert re.search(r"!\[[^\]]+\]\(\.\./images/[\w-]+\.jpg\)", text)
    for path in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text):
        assert (page.parent / path).is_file(), path
    for path in re.findall(r"`(?:src/)?(mane/[\w/]+\.py)`", text):
        assert (DOCS.parent / "src" / path).is_file(), path


def test_scenes_on_pages_can_be_read():
    """Tables of scene files, whole or in part, have keys and values that a scene may have."""
    pages = [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
    read = 0
    for page in pages:
        for language, _, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            tables = tomllib.loads(text) if language == "toml" else {}
            if tables and set(tables) <= set(SCENE_KEYS):
                parse_scene(text if "groom" in tables else f"[groom]\nstyle = 'curly'\n{text}", name=page.name)
                read += 1
    assert read > 5


def commands_of(text):
    """Commands of a page, in blocks and within the text; those with placeholders in capitals or dots are left out."""
    blocks = re.findall(r"^```(?:console|text|)\n(.*?)^```", text, re.M | re.S)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.split("\n")]
    found = [line for line in lines if line.startswith("mane ")] + re.findall(r"`(mane [a-z]+(?: [^`]+)?)`", text)
    for line in found:
        command = line.split("  #")[0].split(" && ")[0]
        if "..." not in command and not re.search(r"\b[A-Z]{3,}\b", command) and "error:" not in command:
            yield command


def test_commands_on_pages_have_options_that_there_are(capsys):
    """What is left out in the text, such as a file, is no fault; an option or a name that does not exist is one."""
    parser, faults, checked = build_parser(), [], 0
    for page in [DOCS.parent / "README.md", *DOCS.rglob("*.md")]:
        for command in commands_of(page.read_text(encoding="utf-8")):
            checked += 1
            try:
                parser.parse_args(shlex.split(command)[1:])
            except SystemExit as ended:
                said = capsys.readouterr().err
                if ended.code and "arguments are required" not in said:
                    faults.append(f"{page.name}: {command}: {said}")
    assert not faults
    assert checked > 100

"""Settings of what `mane learn` makes, as their classes have them: in its help and on the pages of the site."""

import dataclasses
import importlib.util
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from mane.cli import main
from mane.dataset.learn.table import LEARNERS

ROOT = Path(__file__).parents[3]


def help_of(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["learn", *words, "--help"])
    assert stop.value.code == 0
    return capsys.readouterr().out


def fields_of(kind):
    return dataclasses.fields(LEARNERS[kind].load("settings"))


@pytest.mark.parametrize("kind", LEARNERS)
def test_help_of_a_kind_has_its_settings_with_defaults_and_meanings_and_no_others(kind, capsys):
    text = help_of([kind], capsys)
    table, examples = text.split(f"settings of {kind}")[1].split("\n\nexamples:\n")
    rows = [line for line in table.split("\n")[1:] if line[2:3] != " "]
    assert [row.split()[0].split("=")[0] for row in rows] == [field.name for field in fields_of(kind)]
    assert all(40 < len(row) <= 100 for row in rows)
    assert f"mane learn {kind} " in examples
    other = next(name for name in LEARNERS if name != kind)
    assert f"settings of {other}" not in text
    assert f"mane learn {other}" not in examples


def test_help_shows_defaults_as_they_are_given(capsys):
    text = help_of([], capsys)
    for default in ("guides=200 ", 'method="k_medoids" ', "amplitude=[0.3, 0.8] ", "fit_root=false ", "ridge "):
        assert f"\n  {default}" in text
    assert all(f"settings of {kind}" in text for kind in LEARNERS)


@pytest.mark.parametrize("words", [["adaptve", "--help"], ["adaptve"]])
def test_a_wrong_kind_tells_the_kinds(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["learn", *words])
    assert stop.value.code == 2
    assert "adaptive" in capsys.readouterr().err


def load_site_hooks(monkeypatch):
    """docs/site_hooks.py, also where what builds the site is not installed."""
    for name in ("mkdocs", "mkdocs.structure", "mkdocs.structure.files", "latex2mathml", "latex2mathml.converter"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "site_hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    return hooks


@pytest.mark.parametrize(("kind", "page"), [("adaptive", "adaptive.md"), ("multilinear", "learned.md")])
def test_pages_of_the_site_have_the_same_settings(kind, page, monkeypatch):
    hooks = load_site_hooks(monkeypatch)
    text = (ROOT / "docs" / "methods" / page).read_text(encoding="utf-8")
    made = hooks.on_page_markdown(text, MagicMock(), None, None)
    assert "<!-- learning" not in made
    names = {row.split("`")[1] for row in made.split("\n") if row.startswith("| `") and row.count("|") == 5}
    assert names >= {field.name for field in fields_of(kind)}

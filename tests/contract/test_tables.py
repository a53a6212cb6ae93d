"""What every entry of every table says about itself."""

import dataclasses

import pytest

from mane.contact.table import INTERACTIONS
from mane.scene.keys import described
from mane.scene.sinks import SINKS
from mane.scene.sources import SOURCES
from mane.skin.finish.passes import FINISHING_PASSES
from mane.skin.table import SKINS
from mane.stage.protocol import NEEDS, Stage
from mane.stage.table import Table
from mane.strand.solver import SOLVERS

TABLES = (SOLVERS, INTERACTIONS, SOURCES, SKINS, FINISHING_PASSES, SINKS)
ENTRIES = [pytest.param(table, name, id=f"{table.what}-{name}") for table in TABLES for name in table]


@pytest.mark.parametrize(("table", "name"), ENTRIES)
def test_an_entry_is_what_its_table_holds_and_says_so(table, name):
    stage = table[name]
    table[name] = stage  # refuses what is of another kind or has another name
    assert isinstance(stage.version, int)
    assert stage.version >= 1
    assert stage.label
    assert stage.family
    assert set(stage.needs) <= set(NEEDS)
    assert stage.save_every >= 1
    assert stage.__doc__


@pytest.mark.parametrize(("table", "name"), ENTRIES)
def test_settings_are_a_frozen_dataclass_that_explains_its_fields(table, name):
    params = table[name].settings
    if params is None:
        return
    assert dataclasses.is_dataclass(params)
    assert params.__dataclass_params__.frozen
    for field in dataclasses.fields(params):
        assert field.name in described(params), field.name
        assert field.default is not dataclasses.MISSING, field.name


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.what)
def test_an_unknown_name_is_refused_with_those_there_are(table):
    first = next(iter(table))
    with pytest.raises(
        ValueError, match=f"'{first}x' is unknown; choose from .*{first}.*; did you mean '{first}'"
    ) as error:
        table.find(f"{first}x")
    assert "\n" not in str(error.value)
    with pytest.raises(KeyError):
        table["nobody"]


def test_an_entry_of_another_kind_or_name_is_refused():
    class Toy(Stage):
        family, name, label = "toy", "toy", "toy"

    with pytest.raises(TypeError, match="'toy' must be a Skin, got Toy"):
        SKINS["toy"] = Toy
    with pytest.raises(TypeError, match=r"LinearSkin.name must be 'mine', got 'linear'"):
        SKINS["mine"] = SKINS["linear"]
    assert "toy" not in SKINS


def test_unknown_needs_are_refused_where_the_class_is_made():
    with pytest.raises(TypeError, match=r"Greedy.needs: 'money' is unknown; choose from .*guides"):
        type("Greedy", (Stage,), {"needs": ("money",)})


def test_entries_are_imported_when_they_are_asked_for():
    table = Table("toy", "mane.stage.protocol:Stage", {"gone": "mane.no_such_module:Gone"})
    assert list(table) == ["gone"]
    with pytest.raises(ModuleNotFoundError):
        table.find("gone")

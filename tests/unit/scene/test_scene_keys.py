"""Every key is explained, the schema knows what the reader knows, and mistakes are told where they were made."""

import json
import tomllib
from pathlib import Path

import pytest

from mane.body.characters import CHARACTERS, character_motions
from mane.body.shapes import Capsule
from mane.cli import main
from mane.geometry.limits import Choice, Range
from mane.scene.keys import EMPTY, scene_tables
from mane.scene.parts import make_shape_or_prop
from mane.scene.reference import scene_reference
from mane.scene.scene_file import SceneError, parse_scene
from mane.scene.schema import scene_schema
from mane.scene.starter import starter_text
from mane.scene.values import VARYING

jsonschema = pytest.importorskip("jsonschema")
EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "02_scenes").glob("*.toml"))


@pytest.fixture(scope="module")
def validator():
    schema = scene_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_every_key_says_what_it_does():
    silent = [f"{table.title} {key.name}" for table in scene_tables() for key in table.keys if not key.meaning]
    for table in scene_tables():
        for variant in table.variants:
            silent += [f"{table.title} {variant.name} {key.name}" for key in variant.keys if not key.meaning]
    assert not silent


def test_the_page_has_every_table_and_unit():
    page = scene_reference()
    for table in scene_tables()[1:]:
        assert f"## `{table.title}`" in page
    assert "| `gravity` | `[0.0, -9.81, 0.0]` | m/s^2 |" in page
    assert "| `rate` | *needed* | 1/s |" in page  # of root_damping


@pytest.mark.parametrize("name", ["curls", "creature"])
def test_the_schema_takes_what_mane_new_writes(validator, name):
    validator.validate(tomllib.loads(starter_text(name)))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_schema_takes_the_examples(validator, path):
    validator.validate(tomllib.loads(path.read_text(encoding="utf-8")))


def numbers_outside(limit):
    """Numbers just beyond each bound of a range."""
    yield from (bound for bound in (limit.above, limit.below) if bound is not None)
    if limit.least is not None:
        yield limit.least - 1
    if limit.most is not None:
        yield limit.most + 1


def mesh_of(table, name):
    """The line of a scene that a motion of a body needs: whose motion it is."""
    owners = [one for one in CHARACTERS if table == "body" and name in character_motions(one)]
    return f"mesh = '{owners[0]}'\n" if owners else ""


def limited_keys():
    """Table, header of what has it, key and its limit, of every key whose type states one."""
    for table in scene_tables()[1:]:
        needed = {"solids": "prop = 'comb'\n"}.get(table.name, "")
        yield from ((table.title, needed, key) for key in table.keys if key.limit is not None)
        for variant in table.variants:
            chosen = f"{variant.selector} = '{variant.name}'\n{mesh_of(table.name, variant.name)}"
            title, header = (
                ("[strand.settings]", f"[strand]\n{chosen}") if table.name == "strand" else (table.title, chosen)
            )
            yield from ((title, header + needed_by(variant, key), key) for key in variant.keys if key.limit is not None)


def needed_by(variant, tested):
    """Lines with the keys that a scene must have of a variant, apart from the one that is tested."""
    needed = [key for key in variant.keys if key.default is EMPTY and key is not tested]
    return "".join(f"{key.name} = {0.1 if key.hint is float else [1, 2, 3]}\n" for key in needed if key.hint != VARYING)


# Tables that are refused without another one.
ALONG_WITH = {"[[air_fields]]": "[air]\ncell = 0.02\n", "[[water_sources]]": "[water]\ncell = 0.02\n"}


def test_reader_and_schema_have_the_same_limits(validator):
    """A limit is written once: what is beyond it is refused by both, and by name."""
    checked = 0
    for title, header, key in limited_keys():
        wrong = ["'nothing of the kind'"] if isinstance(key.limit, Choice) else map(str, numbers_outside(key.limit))
        for value in wrong:
            above, below = (header, "") if header.startswith("[") else ("", header)
            text = f"{above}{title}\n{below}{key.name} = {value}\n"
            if title != "[groom]":
                text = f"[groom]\nstyle = 'ball'\n{ALONG_WITH.get(title, '')}{text}"
            elif "style" not in text:
                text += "style = 'ball'\n"
            with pytest.raises(SceneError, match=key.name):
                parse_scene(text)
            assert not validator.is_valid(tomllib.loads(text)), text
            checked += 1
    assert checked > 100


# Numbers that may be anything finite: time codes and frames, and a height that is compared with others.
ANY_NUMBER = {"[frames] start", "[frames] end", "[body] rest", "[body] start", "[[solids]] start", "[water] pool"}


def test_every_number_of_a_scene_states_its_range():
    """What is not stated in a type is on no page and in no editor, and NaN may slip through."""
    numbers = (int, float, int | None, float | None, float | str)
    for table in scene_tables()[1:]:
        keys = [(table.title, key) for key in table.keys]
        keys += [(f"{table.title} {one.name}", key) for one in table.variants for key in one.keys]
        lacking = {f"{title} {key.name}" for title, key in keys if key.hint in numbers and key.limit is None}
        assert lacking <= ANY_NUMBER


@pytest.mark.parametrize(
    ("limit", "inside", "outside", "words", "schema"),
    [
        (Range(above=0), (1e-9, 1e9), (0, -1, float("nan"), float("inf")), "above 0", {"exclusiveMinimum": 0}),
        (
            Range(least=0, below=1),
            (0, 0.99),
            (1, -1e-9),
            "at least 0 and below 1",
            {"minimum": 0, "exclusiveMaximum": 1},
        ),
        (Range(least=1, most=4), (1, 4), (0, 5), "from 1 to 4", {"minimum": 1, "maximum": 4}),
        (Range(above=0, finite=False), (float("inf"),), (0,), "above 0", {"exclusiveMinimum": 0}),
        (Range(least=2, whole=True), (2, 9), (1, 2.5, "two"), "at least 2", {"minimum": 2}),
        (Range(), (-1e9, 0), (float("nan"), float("inf")), "", {}),
        (Choice("a", "b"), ("a", None), ("c", 1), "one of a, b", {"enum": ["a", "b"]}),
    ],
)
def test_a_limit_checks_says_and_describes_the_same(limit, inside, outside, words, schema):
    for value in inside:
        limit.check("key", value)
    for value in outside:
        with pytest.raises(ValueError, match=r"^key: "):
            limit.check("key", value)
    assert (limit.words, limit.schema()) == (words, schema)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[guides]\ncount = 1.5", r"scene:4: \[guides\] count: must be a whole number or 'all', got 1.5"),
        ("[[solids]]\nshape = 'box'\nrounding = 0.1", r"scene:3: \[\[solids\]\] center: is missing"),
        ("[air]\ncell = 0.02\n[[air_fields]]\nkind = 'fan'", r"scene:5: \[\[air_fields\]\] position: is missing"),
        ("[guides]\ncuont = 3", r"scene:4: \[guides\] has no key 'cuont'.*did you mean 'count'\?"),
        ("[strand]\ngravity = [0, 1]", r"scene:4: \[strand\] gravity: must be a list of 3 numbers, got \[0, 1\]"),
        ("[strand]\ndrag = '0.1'", r"scene:4: \[strand\] drag: must be a number, got '0.1'"),
        ("[strand]\ndrag = nan", r"scene:4: \[strand\] drag: must be a number, got nan"),
        ("[finish]\npush_out = 1", r"scene:4: \[finish\] push_out: must be true or false, got 1"),
        (
            "[[interactions]]\nkind = 'links'\nrate = [[0, 1], [1]]",
            r"scene:5: .*rate: must be a number, the name of a ",
        ),
    ],
)
def test_reader_and_schema_refuse_the_same_types(validator, text, message):
    scene = f"[groom]\nstyle = 'ball'\n{text}\n"
    with pytest.raises(SceneError, match=message):
        parse_scene(scene)
    if "nan" not in text:  # which JSON does not have
        assert not validator.is_valid(tomllib.loads(scene))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[[interactions]]\nkind = 'links'\nrate = -1",
            r"scene:5: \[\[interactions\]\] rate: must be at least 0, got -1",
        ),
        ("[[interactions]]\nkind = 'links'\nrate = [[0, 1], [1, -2]]", r"scene:5: .* rate: must be at least 0, got -2"),
        ("[[interactions]]\nkind = 'root_damping'\nrate = -1", r"scene:5: .* rate: must be at least 0, got -1"),
        (
            "[skin]\nbinding = 'trianlge'",
            r"scene:4: \[skin\] binding: 'trianlge' is unknown; choose from triangle, .*did you mean 'triangle'\?",
        ),
        ("[head]\nmotion = 'shak'", r"scene:4: \[head\] motion: 'shak' is unknown; choose from dance, jump, look, nod"),
        ("[head]\nmotion = 'nod'\nrate = 0.0", r"scene:5: \[head\] rate: must be above 0"),
        ("[[solids]]\nprop = 'comb'\nmotion = 'spni'", r"scene:5: \[\[solids\]\] motion: 'spni' is unknown"),
    ],
)
def test_mistakes_are_found_when_a_scene_is_read(text, message):
    with pytest.raises(SceneError, match=message):
        parse_scene(f"[groom]\nstyle = 'ball'\n{text}\n")


def test_mane_new_writes_a_schema_and_a_scene_that_names_it(tmp_path, monkeypatch, capsys, validator):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "curls", "--schema"]) == 0
    assert (tmp_path / "curls.toml").read_text().startswith("#:schema mane.schema.json\n")
    assert json.loads((tmp_path / "mane.schema.json").read_text()) == json.loads(json.dumps(validator.schema))
    assert main(["new", "--keys"]) == 0
    assert capsys.readouterr().out.endswith(scene_reference())
    assert main(["new"]) == 2
    assert "NAME: is missing" in capsys.readouterr().err


def test_a_capsule_has_its_ends_though_one_is_named_as_a_time_code():
    scene = parse_scene(
        "[groom]\nstyle = 'ball'\n[[solids]]\nshape = 'capsule'\nstart = [0, 0, 0]\nend = [0, 1, 0]\nradius = 0.1"
    )
    assert make_shape_or_prop(scene.solids[0]) == Capsule((0, 0, 0), (0, 1, 0), 0.1)
    with pytest.raises(SceneError, match=r"scene:5: \[\[solids\]\] start: must be a time code"):
        parse_scene("[groom]\nstyle = 'ball'\n[[solids]]\nmesh = 'a.obj'\nstart = [0, 0, 0]")

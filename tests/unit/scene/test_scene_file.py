"""Scene files: every refusal names its line, every key is explained, Python and TOML say the same."""

import dataclasses
import re
import tomllib
import typing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mane.contact.solids.contact import ContactParams
from mane.scene.config import ContactTable, GroomTable, GuidesTable, Scene, SkinTable
from mane.scene.keys import described
from mane.scene.scene_file import SceneError, overridden, parse_scene, read_scene, scene_from_dict
from mane.scene.starter import starter_text
from mane.scene.toml_lines import key_lines
from mane.skin.table import SKINS
from mane.strand.model import STANDARD_GRAVITY
from mane.strand.solver import SOLVERS

EXAMPLES = Path(__file__).parents[3] / "examples" / "02_scenes"
GROOM = '[groom]\nstyle = "ball"\n'


def refused(text, settings=()):
    with pytest.raises(SceneError) as error:
        parse_scene(text, name="scene.toml", settings=settings)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            GROOM + "[guides]\n\ncuont = 3",
            "scene.toml:5: [guides] has no key 'cuont'; known keys are count, method, vertices, file, prim, attribute, "
            "unit, up, register, model, sliders, slider_file; did you mean 'count'?",
        ),
        (GROOM + '[guides]\ncount = "many"', "toml:4: [guides] count: must be a whole number or 'all', got 'many'"),
        (GROOM + "[guides]\ncount = true", "scene.toml:4: [guides] count: must be a whole number or 'all', got true"),
        (GROOM + "[guides]\ncount = 0", "scene.toml:4: [guides] count: must be at least 1, got 0"),
        (
            GROOM + "[wind]\nvelocity = [1,\n2]",
            "scene.toml:4: [wind] velocity: must be a list of 3 numbers",
        ),
        (GROOM + '[strand]\nmodel = "coserat"', "scene.toml:4: [strand] model: 'coserat' is unknown; choose from"),
        (
            GROOM + '[strand]\nmodel = "xpbd"\n[strand.settings]\niterations = 0',
            "scene.toml:6: [strand.settings] iterations: must be at least 1",
        ),
        (GROOM + "[strand.properties]\nyung = 1", "[strand.properties] has no key 'yung'; known keys are young,"),
        (GROOM + "lenght = 0.1", "scene.toml:3: [groom] has no key 'lenght'; known keys are style,"),
        (GROOM + "[skin]\nalpha = 1.5", "scene.toml:4: [skin] alpha: must be at least 0 and below 1, got 1.5"),
        (GROOM + "[skin]\ncount = -3", "scene.toml:4: [skin] count: must be from 1 to 8, got -3"),
        (GROOM + '[skin]\nmethod = "linear"\nalpha = 0.5', "scene.toml:5: [skin] has no key 'alpha'"),
        (
            GROOM + '[[solids]]\nprop = "comb"\n[[solids]]\nprop = "comb"\nteeth = -3',
            "scene.toml:7: [[solids]] comb.teeth: must be",
        ),
        (GROOM + "[[solids]]\nposition = [0, 0, 0]", "scene.toml:3: [[solids]] prop: must be given, or shape, or mesh"),
        (
            GROOM + '[[interactions]]\nkind = "ties"\npoint = [0, 0, 0]\nradius = 0.1\nholds = "wall"',
            "scene.toml:7: [[interactions]] holds: 'wall' is unknown; choose from bundle, head",
        ),
        (
            GROOM + '[[interactions]]\nkind = "ties"\nradius = 0.1',
            "scene.toml:3: [[interactions]] ties: must have point and radius, or style, got radius",
        ),
        (
            GROOM + '[[interactions]]\nkind = "ties"\nstyle = "brush"',
            "scene.toml:5: [[interactions]] style: 'brush' has no ties",
        ),
        (GROOM + '[[interactions]]\nkind = "atraction"', "scene.toml:4: [[interactions]] kind: 'atraction' is unknown"),
        (GROOM + "[interactions]\nkind = 1", "scene.toml:3: interactions: must be a list of tables, [[interactions]]"),
        (
            GROOM + '[[solids]]\nprop = "comb"\nway = [[0, 0, 0, 0]]',
            "scene.toml:5: [[solids]] has no key 'way' any more; it is called 'keyframes' now",
        ),
        (
            GROOM + '[[solids]]\nprop = "comb"\nturn = [0, 1, 0]',
            "scene.toml:5: [[solids]] has no key 'turn' any more; it is called 'rotation_vector' now",
        ),
        (
            GROOM + '[strand]\nhold = "off"',
            "scene.toml:4: [strand] has no key 'hold' any more; it is called 'stiffen_to_stand' now",
        ),
        (
            GROOM + "[strand.settings]\nshare = 1.0",
            "scene.toml:4: [strand.settings] has no key 'share' any more; it is called 'theta' now",
        ),
        (
            GROOM + "[skin]\nclosing = 1.0",
            "scene.toml:4: [skin] has no key 'closing' any more; it is called 'drift_gain' now",
        ),
        (
            GROOM + "[bounds]\nhair_fallen = 0.1",
            "scene.toml:4: [bounds] has no key 'hair_fallen' any more; it is called 'hair_fallbacks' now",
        ),
        (
            GROOM + '[[interactions]]\nkind = "strips"\nrefresh = 0.0',
            "scene.toml:5: [[interactions]] has no key 'refresh' any more; it is called 'broad_phase_interval' now",
        ),
        (GROOM + "guides = 3", "scene.toml:3: [groom] has no key 'guides'"),
        ("guides = 3\n" + GROOM, "scene.toml:1: guides: must be a table, [guides], got 3"),
        (GROOM + "[gides]", "scene.toml:3: the scene has no key 'gides'; known keys are groom, seed,"),
        ("seed = 1", "scene.toml:1: [groom] is missing"),
        (GROOM + "[output]\nusd_layer = true", "scene.toml:4: [output] usd_layer: must be false unless groom.file"),
        (GROOM + "[guides]\ncount = = 3", "scene.toml:4: Invalid value (column 9)"),
        (GROOM + '[head]\nmotion = "shake', "scene.toml:4: "),
    ],
)
def test_a_refusal_names_line_key_and_remedy(text, message):
    assert message in refused(text)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("guides.cuont=3", "--set guides.cuont: [guides] has no key 'cuont'"),
        ("guides.count=none", "--set guides.count: [guides] count: must be a whole number or 'all', got 'none'"),
        ("guides", "--set: must be KEY=VALUE"),
        ("solids.0.prop=comb", "--set solids.0.prop: "),
        ("seed.x=1", "--set seed.x: seed is a value and has no keys"),
    ],
)
def test_a_setting_is_checked_like_a_line(setting, message):
    assert message in refused("seed = 1\nsolids = []\n" + GROOM, [setting])


def test_settings_take_the_place_of_lines():
    text = GROOM + '[[solids]]\nshape = "sphere"\ncenter = [0, 0, 1]\nradius = 0.1\n'
    settings = ["guides.count=7", "skin.method=linear", "solids.0.radius=0.2", "wind.velocity=[1, 2, 3]"]
    scene = parse_scene(text, settings=settings)
    assert scene.guides.count == 7
    assert scene.skin.method == "linear"
    assert scene.solids[0].settings == {"center": [0, 0, 1], "radius": 0.2}
    assert scene.wind.velocity == (1.0, 2.0, 3.0)


def test_python_and_toml_say_the_same():
    made = Scene(
        groom=GroomTable(style="ball", strands=50, settings={"length": 0.1}),
        guides=GuidesTable(count=5),
        skin=SkinTable("physical", {"alpha": 0.2}),
    )
    text = GROOM + "strands = 50\nlength = 0.1\n[guides]\ncount = 5\n[skin]\nalpha = 0.2\n"
    assert parse_scene(text) == made
    assert scene_from_dict(made.to_dict()) == made
    assert overridden(made, ["skin.alpha=0.3"]).skin.settings == {"alpha": 0.3}


def test_a_scene_made_in_python_is_checked_without_a_file():
    with pytest.raises(ValueError, match=r"^\[skin\] has no key 'alfa'"):
        Scene(groom=GroomTable(style="ball"), skin=SkinTable("physical", {"alfa": 0.2}))


def test_a_text_that_is_not_utf8_and_a_file_that_is_not_there(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_bytes(b"seed = \xff")
    with pytest.raises(SceneError, match="must be UTF-8 text, got byte 0xff"):
        read_scene(path)
    with pytest.raises(FileNotFoundError):
        read_scene(tmp_path / "none.toml")


def test_every_key_is_explained():
    for hint in typing.get_type_hints(Scene).values():
        table = next((part for part in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(part)), None)
        if table is not None:
            assert set(described(table)) == {f.name for f in dataclasses.fields(table)}


def test_tables_have_the_defaults_of_what_they_stand_for():
    assert dataclasses.asdict(ContactTable()) == dataclasses.asdict(ContactParams())
    assert Scene(groom=GroomTable(style="ball")).strand.gravity == STANDARD_GRAVITY


@pytest.mark.parametrize("style", ["curly", "ball"])
def test_the_starter_is_a_scene_that_names_every_key(style):
    text = starter_text("curls", style=style)
    scene = parse_scene(text, name="curls.toml")
    assert scene.groom.style == style
    assert scene.output.cache == "curls.cache"
    for table in (*scene.__dataclass_fields__,):
        if table not in ("folder", "locations", "text", "seed"):
            assert f"[{table}]" in text
    for key in re.findall(r"^(\w+) = ", text, re.M):
        assert re.search(rf"^{key} = .+  # \S", text, re.M), key
    # uncommented, the defaults are what they were
    shown = re.sub(r"^# (\w+ = (?!\.\.\.).*)$", r"\1", text, flags=re.M)
    tied = re.compile(r"(position|rotation_vector|keyframes|interpolation) ")
    opened = "\n".join(line for line in shown.split("\n") if not tied.match(line))
    assert parse_scene(opened) == scene


def test_models_and_skins_of_the_tables_are_accepted():
    for model in SOLVERS:
        for skin in SKINS:
            scene = parse_scene(GROOM + f'[strand]\nmodel = "{model}"\n[skin]\nmethod = "{skin}"\n')
            assert (scene.strand.model, scene.skin.method) == (model, skin)


# -- lines -------------------------------------------------------------------------------------------------------------

WORDS = st.text("abcdefgh_", min_size=1, max_size=6)
VALUES = st.sampled_from(
    [
        "1",
        '"a # b"',
        "'[x]'",
        "[1,\n  2, # ]\n 3]",
        '"""two\nkey = 3\n[no]"""',
        "{ x = 1, y = [2] }",
        "'''\n[[no]]\n'''",
    ]
)


@given(st.dictionaries(WORDS, st.dictionaries(WORDS, VALUES, max_size=4), min_size=1, max_size=4), st.booleans())
def test_lines_are_those_of_the_text(tables, is_list):
    lines, expected = [], {}
    for table, keys in tables.items():
        lines.append("# a comment = with [brackets]")
        lines += [f"[[{table}]]" if is_list else f"[{table}]  # {table}"]
        name = f"{table}.0" if is_list else table
        expected[name] = "\n".join(lines).count("\n") + 1
        for key, value in keys.items():
            lines.append(f"  {key} = {value}")
            expected[f"{name}.{key}"] = "\n".join(lines).count("\n") + 1 - value.count("\n")
    text = "\n".join(lines)
    tomllib.loads(text)
    found = key_lines(text)
    assert {name: found[name] for name in expected} == expected


def test_lines_of_dotted_keys_and_tables_within_lists():
    text = 'a.b = 1\n"quoted key".c = 2\n[[s]]\n[s.t]\nx = 1\n[[s]]\n[s.t]\nx = 2'
    lines = key_lines(text)
    assert lines["a"] == lines["a.b"] == 1
    assert lines["quoted key.c"] == 2
    assert (lines["s.0.t.x"], lines["s.1.t.x"]) == (5, 8)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_every_example_is_a_scene(path):
    assert read_scene(path).output.cache

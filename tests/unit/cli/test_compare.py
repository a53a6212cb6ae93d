"""`mane compare`: every model with every skin, in one table, one movie, one set of pictures."""

import json

import pytest

from mane.cli import main

SCENE = """
seed = 3
[groom]
style = "ball"
strands = 60
vertices = 8
length = 0.06
[guides]
count = 6
[frames]
end = 5
[head]
motion = "shake"
ease_in = 0.05
[strand]
substeps = 2
[[interactions]]
kind = "links"
"""
PICTURES = ["comparison.0001.png", "comparison.0002.png", "comparison.0003.png", "comparison.0005.png"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scene.toml").write_text(SCENE)
    return tmp_path


def values(text):
    """Value of every case and metric of the printed JSON."""
    return {(row["case"], row["metric"]): row["value"] for row in json.loads(text)["rows"]}


def test_the_product_of_models_and_skins(folder, capsys):
    from PIL import Image

    words = ["--skins", "linear,physical", "--models", "cosserat,chain", "--reference", "9", "--size", "64x48"]
    assert main(["compare", "scene.toml", *words, "-o", "out", "--json"]) == 0
    found = values(capsys.readouterr().out)
    cases = [f"{model}, {skin}" for model in ("cosserat", "chain") for skin in ("linear", "physical")]
    assert {case for case, _ in found} == {*cases, "cosserat, simulated hairs", "chain, simulated hairs"}
    for case in cases:
        assert found[case, "mean distance to reference"] > 0
        assert found[case, "guides, per frame"] > 0
        assert found[case, "skin, per frame"] > 0
        stages = [value for (name, metric), value in found.items() if name == case and metric.endswith(", per frame")]
        assert found[case, "whole frame"] == pytest.approx(sum(stages))
    # Both skins carry the same guides, whose time is counted once.
    assert found["chain, linear", "guides, per frame"] == found["chain, physical", "guides, per frame"]
    # Forces keep lengths, and a blend of guides that turn apart does not.
    assert found["cosserat, physical", "mean length error"] < 0.1 * found["cosserat, linear", "mean length error"]
    assert values((folder / "out" / "comparison.json").read_text()) == found

    page = (folder / "out" / "comparison.md").read_text().splitlines()
    assert page[0] == "# compare: ball, frames 1 to 5, seed 3"
    assert [cell.strip() for cell in page[2].split("|")[1:5]] == [
        "metric",
        "unit",
        "cosserat, simulated hairs",
        cases[0],
    ]
    assert sorted(path.name for path in (folder / "out").glob("*.png")) == PICTURES
    with Image.open(folder / "out" / PICTURES[0]) as picture:
        assert picture.width > 2 * 64  # a column per skin
        assert picture.height > 2 * 48  # a row per model
    assert (folder / "out" / "comparison.mp4").stat().st_size > 0
    assert not (folder / "out" / "comparison.frames").exists()


def test_hair_that_stays_at_rest_is_where_it_should_be(folder, capsys):
    words = ["--skins", "rigid,linear,physical", "--reference", "5", "--no-movie", "--size", "32x32"]
    still = ["--set", "head.motion=still", "--set", "frames.end=2"]
    assert main(["compare", "scene.toml", *words, *still, "-o", "out", "--json"]) == 0
    found = values(capsys.readouterr().out)
    for skin in ("rigid", "linear", "physical"):
        # Guides and sampled hairs stand as groomed; what is left is the rounding of float32 over 10 cm, in mm.
        assert found[f"cosserat, {skin}", "mean distance to reference"] < 1e-3
    assert not (folder / "out" / "comparison.mp4").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--skins", "linear,psychical"], "skins: 'psychical' is unknown; choose from"),
        (["--models", "cosserat,rope"], "models: 'rope' is unknown; choose from"),
        (["--skins", ","], "skins: must name at least one of"),
        (["--reference", "-1"], "reference: must be at least 0 hairs, got -1"),
        (["--reference", "55", "--no-movie"], "reference: must be at most 54 (= hairs besides guides), got 55"),
        (["--size", "big"], "--size: must be WIDTHxHEIGHT"),
        (["--set", "guides.cuont=3"], "has no key 'cuont'"),
    ],
    ids=lambda value: value[1] if isinstance(value, list) else None,
)
def test_refusals_are_one_line(folder, capsys, words, message):
    assert main(["compare", "scene.toml", *words, "-o", "out", "--quiet"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mane: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_folder_that_is_a_file_is_refused_before_anything_runs(folder, capsys):
    (folder / "out").write_text("")
    assert main(["compare", "scene.toml", "-o", "out"]) == 2
    assert capsys.readouterr().err == "mane: error: out: File exists\n"


def test_hsu2024_as_printed_is_a_column(folder, capsys):
    printed = ["strand.model=xpbd", "strand.settings.k_norm=0.4", "strand.sag_free=false"]
    words = [word for setting in printed for word in ("--set", setting)]
    skins = ("linear", "physical", "hsu2024")
    words += ["--skins", ",".join(skins), "--size", "64x48", "--no-movie", "-o", "out", "--json"]
    assert main(["compare", "scene.toml", *words]) == 0
    found = values(capsys.readouterr().out)
    assert {case for case, _ in found} == {f"xpbd, {skin}" for skin in skins}
    # Its forces stretch hair as they stretch its soft guides, which ours leaves to them.
    errors = {skin: found[f"xpbd, {skin}", "mean length error"] for skin in skins}
    assert errors["physical"] < errors["hsu2024"] < 20

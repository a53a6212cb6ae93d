"""`mane reproduce hsu2024`: a head of the paper, small, and the ablations."""

import json

import pytest

from mane.cli import main
from mane.measure.figures import Figures
from mane.measure.reproduce import hsu2024 as reproduce_hsu2024
from mane.measure.reproduce import hsu2024_ablations as reproduce_hsu2024_ablations
from mane.measure.reproduce.reproduce import Report


@pytest.fixture(autouse=True)
def smaller(monkeypatch):
    """Even smaller than quick: whether it runs and what it says, not what it finds."""
    sizes = reproduce_hsu2024.Sizes(sampled=4, measured=40, seconds=0.1, every=3)
    monkeypatch.setattr(reproduce_hsu2024, "QUICK", sizes)
    monkeypatch.setattr(reproduce_hsu2024, "QUICK_STRANDS", 150)
    monkeypatch.setattr(reproduce_hsu2024, "QUICK_GUIDES", 8)


def test_a_head_has_every_method_beside_simulated_hairs(tmp_path, capsys):
    main(["reproduce", "hsu2024", "--scene", "short_curls", "--quick", "--json", "-o", str(tmp_path)])
    rows = json.loads(capsys.readouterr().out)["rows"]
    found = {(row["case"], row["metric"]): row for row in rows}
    kinks = {case: row for (case, metric), row in found.items() if metric == "mean kink"}
    ours = ["hairs simulated one by one", "linear single", "linear", "half blend", "physical"]
    printed = ["hairs simulated one by one, xpbd", "linear, xpbd guides", "hsu2024 as printed", "physical, xpbd guides"]
    assert list(kinks) == [f"short_curls: {name}" for name in ours + printed]
    for names in (ours, printed):
        simulated, *carried = (kinks[f"short_curls: {name}"] for name in names)
        assert all(row["reference"] == simulated["value"] for row in carried)
    # The promise of the physical skin is the linear one's value.
    assert kinks["short_curls: physical"]["target"] == kinks["short_curls: linear"]["value"]
    assert found["short_curls: physical over linear", "overhead"]["unit"] == "%"
    assert (tmp_path / "short_curls" / "methods.png").is_file()
    assert "no numbers for them" in (tmp_path / "report.md").read_text()


def test_times_of_a_row_stand_beside_the_papers(tmp_path):
    report = Report("short_curls", tmp_path, Figures("hsu2024"))
    recording, _ = reproduce_hsu2024.recorded(
        reproduce_hsu2024.SHORT_CURLS, reproduce_hsu2024.JOSH, quick=True, tell=lambda text, share: None
    )
    spent = {"linear": 10.0, "physical": 15.0}
    reproduce_hsu2024._add_times(report, recording, spent, reproduce_hsu2024.JOSH.paper)
    times = {row.case.split(",")[0]: row for row in report.figures.rows}
    # Table 1: 283 and 346 microseconds, an overhead of 22 %.
    assert [times[name].reference for name in spent] == pytest.approx([0.283, 0.346])
    assert times["physical over linear"].value == pytest.approx(50.0)
    assert times["physical over linear"].reference == pytest.approx(22, abs=0.5)
    assert "times less" in report.notes[0]


@pytest.mark.parametrize("ablation", ["sweeps", "drift", "penetration"])
def test_ablations_carry_the_same_frames_in_every_variant(ablation, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(reproduce_hsu2024_ablations, "draw", lambda *args, **options: drawn.append(args[1:4]))
    report = Report(ablation, tmp_path, Figures("hsu2024"))
    getattr(reproduce_hsu2024_ablations, ablation)(report, quick=True, tell=lambda text, share: None)
    ((name, _, carried),) = drawn
    assert name == ablation
    values = {(row.case, row.metric): row.value for row in report.figures.rows}
    assert {case for case, _ in values} == set(carried)
    if ablation == "sweeps":
        assert values["converged", "mean distance to the converged solution"] == 0.0
        assert values["4 sweeps", "mean distance to the converged solution"] > 0.0

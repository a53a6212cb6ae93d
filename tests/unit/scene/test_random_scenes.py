"""Random scenes: valid ones run, invalid ones are refused with the line of the fault."""

import os
import re
import tomllib

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mane.contact.table import INTERACTIONS
from mane.scene.build import build
from mane.scene.cache import Cache
from mane.scene.loop import run_scene
from mane.scene.options import stage_options
from mane.scene.scene_file import SceneError, parse_scene, read_scene
from mane.scene.starter import toml_value
from mane.skin.table import SKINS
from mane.strand.material import MATERIALS
from mane.strand.solver import SOLVERS


def numbers(low, high):
    return st.floats(low, high, allow_nan=False).map(lambda value: round(value, 4))


def vectors(size):
    return st.lists(numbers(-size, size), min_size=3, max_size=3)


def tables(required, optional):
    return st.fixed_dictionaries(required, optional=optional)


SOLIDS = tables(
    {"shape": st.just("sphere"), "center": vectors(0.02), "radius": numbers(0.005, 0.02)},
    {"position": vectors(0.2), "rotation_vector": vectors(1.0)},
)
# kind of interaction -> settings that a scene may give it
PARTS = {
    "attraction": {"rate": numbers(1, 30)},
    "root_damping": {"rate": numbers(1, 30)},
    "links": {"rate": numbers(1, 60), "breaks_at": numbers(0.5, 2)},
    "strips": {"rate": numbers(1, 60), "friction": numbers(0, 1)},
    "ties": {"point": vectors(0.05), "radius": numbers(0.2, 0.4)},
    "grid": {"cell": numbers(0.01, 0.05), "friction": numbers(0, 1)},
    "adaptive": {"opens_at": numbers(0.0005, 0.01), "limit": st.integers(0, 8)},
}


def interactions():
    """One part of any kind that a scene file can describe in full."""
    parts = {kind: PARTS.get(kind, {}) for kind in INTERACTIONS}
    known = {kind: set(stage_options(INTERACTIONS[kind])) for kind in parts}
    return st.one_of(
        [tables({"kind": st.just(kind), **parts[kind]}, {}) for kind in parts if set(parts[kind]) <= known[kind]]
    )


def has_no_two_of_a_single_kind(parts):
    single = [kind for kind in INTERACTIONS if INTERACTIONS[kind].is_single]
    return all(sum(part["kind"] == kind for part in parts) <= 1 for kind in single)


SCENES = tables(
    {
        "groom": tables(
            {
                "style": st.sampled_from(["ball", "carpet"]),
                "strands": st.just(12),
                "vertices": st.integers(4, 7),
            },
            {},
        ),
        "guides": tables(
            {"count": st.integers(3, 6)},
            {"method": st.sampled_from(["shape", "farthest", "random"]), "vertices": st.integers(4, 7)},
        ),
        "frames": tables({"end": st.just(2)}, {"rate": numbers(12, 60), "preroll": st.just(0.04)}),
        "output": st.just({"cache": "run.cache", "metrics": "metrics.json"}),
    },
    {
        "seed": st.integers(0, 100),
        "body": tables({"mesh": st.sampled_from(["own", "none"])}, {}),
        "head": tables(
            {"motion": st.sampled_from(["still", "shake", "nod", "turn", "random"])},
            {"amplitude": numbers(0, 0.5), "rate": numbers(0.5, 3), "pivot": vectors(0.1)},
        ),
        "solids": st.lists(SOLIDS, min_size=1, max_size=2),
        "strand": tables(
            {"model": st.sampled_from(sorted(SOLVERS))},
            {
                "material": st.sampled_from(sorted(MATERIALS)),
                "sag_free": st.booleans(),
                "drag": numbers(0, 1),
                "substeps": st.integers(2, 4),
                "properties": tables({}, {"stiffness": numbers(0.5, 3), "radius": st.just([[0, 5e-5], [1, 3e-5]])}),
            },
        ),
        "contact": tables({}, {"mode": st.sampled_from(["hard", "penalty"]), "friction": numbers(0, 1)}),
        "wind": tables({"velocity": vectors(3)}, {"gusts": numbers(0, 0.5)}),
        "interactions": st.lists(interactions(), max_size=3).filter(has_no_two_of_a_single_kind),
        "skin": tables({"method": st.sampled_from(sorted(SKINS))}, {}),
        "finish": tables({}, {"push_out": st.booleans(), "subdivide": st.integers(0, 2)}),
    },
)


def as_toml(scene):
    lines = [f"seed = {scene['seed']}"] if "seed" in scene else []
    for name, table in scene.items():
        if name == "seed":
            continue
        for one in table if isinstance(table, list) else [table]:
            lines.append(f"[[{name}]]" if isinstance(table, list) else f"[{name}]")
            lines += [f"{key} = {toml_value(value)}" for key, value in one.items()]
    return "\n".join(lines) + "\n"


# Links of a model of few iterations at long steps: they stretched hair by 900 % while they counted on its stiffness.
LINKS_AT_LONG_STEPS = {
    "groom": {"style": "carpet", "strands": 12, "vertices": 4},
    "guides": {"count": 3, "method": "shape", "vertices": 7},
    "frames": {"end": 2, "preroll": 0.04},
    "output": {"cache": "run.cache", "metrics": "metrics.json"},
    "strand": {"model": "xpbd", "substeps": 2},
    "interactions": [{"kind": "links", "rate": 2.0, "breaks_at": 1.0}],
}


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@example(scene=LINKS_AT_LONG_STEPS)
@given(scene=SCENES)
def test_random_valid_scenes_run(scene, tmp_path_factory):
    check_that_it_runs(scene, tmp_path_factory)


@pytest.mark.stress
@settings(max_examples=int(os.environ.get("MANE_STRESS_EXAMPLES", "300")), suppress_health_check=list(HealthCheck))
@given(scene=SCENES)
def test_many_random_valid_scenes_run(scene, tmp_path_factory):
    check_that_it_runs(scene, tmp_path_factory)


def check_that_it_runs(scene, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scene")
    (folder / "scene.toml").write_text(as_toml(scene))
    read = read_scene(folder / "scene.toml")
    summary = run_scene(read)
    assert summary.frames == 2
    frame = Cache.open(folder / "run.cache").read_frame(2)
    assert np.isfinite(frame.points).all()
    assert summary.stretch < (0.05 if SOLVERS.find(read.strand.model).is_converged else 1.0 + free_stretch(read))


def free_stretch(scene):
    """How far short hair is stretched when it falls and flies freely, as with iterations at steps far too long."""
    seconds = scene.frames.preroll + 1 / scene.frames.rate
    rest = build(scene).guides.rest
    shortest = np.linalg.norm(np.diff(rest, axis=1), axis=-1).sum(axis=1).min()
    return (0.5 * 9.81 * seconds**2 + np.linalg.norm(scene.wind.velocity) * seconds) / shortest


# A line that no table takes, by what is wrong with it.
FAULTS = {
    "unknown key": lambda table, key, value: (f"{key}x_{table} = {value}", "has no key"),
    "wrong type": lambda table, key, value: (f"{key} = {{ a = 1 }}", "must be"),
    "not a number": lambda table, key, value: (f"{key} = nan", "must be"),
}


@settings(max_examples=60)
@given(scene=SCENES, data=st.data())
def test_random_invalid_scenes_are_refused_with_their_line(scene, data):
    lines = as_toml(scene).split("\n")
    keys = [number for number, line in enumerate(lines) if re.match(r"\w+ = ", line)]
    chosen = data.draw(st.sampled_from([n for n in keys if not lines[n].startswith("properties")]))
    key, value = lines[chosen].split(" = ", 1)
    table = next((line.strip("[]") for line in lines[chosen::-1] if line.startswith("[")), "scene")
    fault = data.draw(st.sampled_from(sorted(FAULTS)))
    lines[chosen], message = FAULTS[fault](table, key, value)
    text = "\n".join(lines)
    tomllib.loads(text)
    with pytest.raises(SceneError) as error:
        parse_scene(text, name="scene.toml")
    said = str(error.value)
    assert "\n" not in said
    found = re.match(r"scene\.toml:(\d+): ", said)
    assert found, said
    # A key that is gone may be missed before the one that came is: then the table is named.
    header = max((n for n in range(chosen) if lines[n].startswith("[")), default=0)
    assert int(found.group(1)) in (chosen + 1, header + 1), said
    assert message in said or "is missing" in said or "must be" in said


@given(st.text(max_size=80))
def test_any_text_is_a_scene_or_refused_with_a_line(text):
    with pytest.raises(SceneError, match=r"^scene\.toml:\d+: "):
        parse_scene(text, name="scene.toml")

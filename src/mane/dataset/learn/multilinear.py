"""`learn_multilinear`: a model of how guides move, with sliders, from a dataset whose axes are factors (guan2012)."""

from __future__ import annotations

import hashlib
import json
import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mane.dataset.dataset import Dataset, open_dataset
from mane.dataset.learn.styles import DatasetStyles
from mane.dataset.spec import SPLITS
from mane.reduced.calibrate import calibrated
from mane.reduced.evaluate import StyleError, style_errors
from mane.reduced.factors import corner_levels
from mane.reduced.model import HairModel
from mane.reduced.training import MultilinearTraining, fit_model
from mane.scene.cache import program_versions

ProgressCallback = Callable[[str, float], None]


class LearningNotice(UserWarning):
    """What a user should know of a model that was learned all the same."""


def learn_multilinear(
    dataset: Dataset,
    output: Path,
    training: MultilinearTraining,
    *,
    data: Path | None = None,
    workers: int | None = 0,
    tell: ProgressCallback | None = None,
) -> HairModel:
    """Learn a model from the training motions of a dataset, measure it on the test motions, and write it.

    Args:
        dataset: axes are factors; made with combine = "grid".
        output: file of the model; a report is written beside it (.json).
        training: how.
        data: a dataset with levels between those of the first, of any motions: how hair hangs there calibrates sliders.
        workers: not used: nothing is simulated.
        tell: is told what is done, and which part of it.

    Raises:
        ValueError: the dataset lacks something, or no stable model can be learned of it.
    """
    from mane.io.atomic import atomic_path, atomic_write, check_writable

    check_writable(output)
    began = time.perf_counter()
    say = tell or (lambda text, share: None)
    styles, test = DatasetStyles(dataset, wind=training.wind), _test_styles(dataset, training)
    between = None if data is None else _between(data, training)
    model = fit_model(styles, training, say).model
    if between is not None:
        say("calibrating sliders", 0.0)
        model = calibrated(model, between)
    errors = _errors(model, styles, test, say)
    _warn_of_errors(output, errors)
    _warn_of_instability(output, model)
    model = with_facts(model, styles, training, errors, time.perf_counter() - began, between=between)
    with atomic_write(output) as file:
        model.to_file().write(file)
    with atomic_path(output.with_suffix(".json")) as partial:
        Path(partial).write_text(json.dumps(model.facts, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return model


def with_facts(
    model: HairModel,
    styles: DatasetStyles,
    training: MultilinearTraining,
    errors: Mapping[str, Mapping[str, StyleError]],
    seconds: float,
    *,
    between: DatasetStyles | None = None,
) -> HairModel:
    """A model that tells what it is worth and what it was learned from, as `mane info` prints it.

    Args:
        model: that was learned, and calibrated where it is.
        styles: that it was learned from.
        training: how.
        errors: by the name of each style, on the motions of each split: "training", and "test" where there is one.
        seconds: that learning took.
        between: what calibrated its sliders.
    """
    rows = [
        {"style": name, **{f"{split}_{key}": value for split in own for key, value in _told(own[split])}}
        for name, own in errors.items()
    ]
    facts = {
        **model.facts,
        "errors": rows,
        "guides": model.guide_count,
        "vertices": model.vertex_count,
        "dimensions": model.coefficient_count,
        "motions": styles.motion_count,
        **_provenance(styles.dataset),
        "settings": asdict(training),
        "megabytes": model.nbytes / 1e6,
        "seconds": {"learning": seconds},
    }
    if between is not None:
        facts["calibrated_by"] = _provenance(between.dataset)
    return replace(model, facts=facts)


def _between(path: Path, training: MultilinearTraining) -> DatasetStyles:
    """Levels between, in whatever split there is."""
    dataset = open_dataset(path)
    return DatasetStyles(dataset, _planned_splits(dataset)[0], least=1, wind=training.wind)


def _planned_splits(dataset: Dataset) -> list[str]:
    """Splits that the spec has sequences for."""
    planned = {one.split for one in dataset.plan}
    return [name for name in SPLITS if name in planned]


def _test_styles(dataset: Dataset, training: MultilinearTraining) -> DatasetStyles | None:
    """Motions that are not learned from; None where the spec has none."""
    has_test = "test" in _planned_splits(dataset)
    return DatasetStyles(dataset, "test", least=1, wind=training.wind) if has_test else None


def _errors(
    model: HairModel, styles: DatasetStyles, test: DatasetStyles | None, say: ProgressCallback
) -> dict[str, dict[str, StyleError]]:
    say("measuring", 0.0)
    found = {"training": style_errors(model, styles, with_floor=False)}
    if test is not None:
        say("measuring on motion that was not learned from", 0.5)
        found["test"] = style_errors(model, test)
    return {name: {split: found[split][k] for split in found} for k, name in enumerate(style_names(model))}


def _warn_of_errors(output: Path, errors: Mapping[str, Mapping[str, StyleError]]) -> None:
    """Warn of styles that are worse than hair that nothing was learned for."""
    tested = {name: own["test"] for name, own in errors.items() if "test" in own}
    worse = {name: error for name, error in tested.items() if not error.model <= error.rigid}
    if not worse:
        return
    name, error = max(worse.items(), key=lambda item: item[1].model / item[1].rigid)
    warnings.warn(
        f"{output}: on motions that were not learned from, {len(worse)} of {len(tested)} styles are farther from the "
        f"simulation than hair carried rigidly, most of all {name}: {100 * error.model:.2f} cm, carried rigidly "
        f"{100 * error.rigid:.2f}; learn from more motions, or from some that are like them",
        LearningNotice,
        stacklevel=3,
    )


def _warn_of_instability(output: Path, model: HairModel) -> None:
    """Warn of a model that can leave all bounds: as printed nothing keeps least squares from it."""
    largest = float(model.radii.max())
    if largest < 1.0:
        return
    warnings.warn(
        f"{output}: is not stable, its largest eigenvalue is {largest:.4f}: hair may leave all bounds; learned without "
        'dynamics = "tensor" (and --paper) it is stable',
        LearningNotice,
        stacklevel=3,
    )


def _provenance(dataset: Dataset) -> dict[str, Any]:
    """The dataset by its name, and what it was made from: spec, digests of it and of files that it reads, programs."""
    header = dataset.store.header
    text = json.dumps(header["spec"], sort_keys=True).encode()
    return {
        "dataset": Path(dataset.store.path).name,
        "spec": header["spec"],
        "spec_sha256": hashlib.sha256(text).hexdigest(),
        "files_sha256": header.get("files", {}),
        "programs": program_versions(),
    }


def _told(error: StyleError) -> list[tuple[str, float | None]]:
    """Errors by name; None for one that has left the finite numbers, which JSON has not."""
    return [(name, float(value) if math.isfinite(value) else None) for name, value in asdict(error).items()]


def style_names(model: HairModel) -> list[str]:
    """Each style by the levels of its factors."""
    return [
        ", ".join(f"{f.name} {f.levels[k]}" for f, k in zip(model.factors, levels, strict=True)) or "one style"
        for levels in corner_levels(model.factors)
    ]


def _stability(facts: Mapping[str, Any]) -> str:
    radius, count = facts["spectral_radius"], facts.get("stability_settings")  # older models do not tell how many
    where = "over the sliders" if count is None else f"at {count} settings of the sliders"
    return f"largest eigenvalue {where}: {radius:.4f}, margin {1 - radius:.4f}"


def describe(facts: Mapping[str, Any]) -> str:
    """What a model is worth, for people."""
    lines = [
        f"{facts['guides']:,} guides of {facts['vertices']} vertices, {facts['dimensions']} dimensions "
        f"({100 * facts['energy']:.1f} % of the energy), {facts['megabytes']:.3g} MB",
        _stability(facts),
        "distance from the simulation [cm]         training      test   carried rigidly",
    ]
    for row in facts["errors"]:
        known, rigid = row["training_model"], row.get("test_rigid", row["training_rigid"])
        test = f"{_centimetres(row['test_model']):>9}" if "test_model" in row else "        -"
        lines.append(f"  {row['style']:<38} {_centimetres(known):>9} {test} {_centimetres(rigid):>17}")
    return "\n".join(lines) + "\n"


def _centimetres(error: float | None) -> str:
    return "diverged" if error is None else f"{100 * error:.2f}"

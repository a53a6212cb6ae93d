"""What a model is worth: errors on motion that was not learned from, beside other skins, and a picture."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mane.body.motion import Pose
from mane.dataset.dataset import Dataset, SequenceReader
from mane.geometry.checks import FloatArray
from mane.geometry.frames import segment_frames
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.adaptive.model import AdaptiveModel
from mane.skin.base import Skin
from mane.skin.table import make_skin
from mane.strand.frame import GuideFrame

ProgressCallback = Callable[[str, float], None]

PICTURE_SIZE = (360, 420)
COMPARED = ("linear", "adaptive")  # skins without training, on the same guides


def guide_frame(guides: Guides, points: FloatArray, head: Pose, time: float) -> GuideFrame:
    """Guides at known places on a head, for skins that ask for no forces."""
    slots, vertices = points.shape[:2]
    return GuideFrame(
        points=points,
        velocity=np.zeros_like(points),
        orientations=segment_frames(points),
        cut_force=np.zeros((slots, vertices - 1, 3), np.float32),
        roots=np.ascontiguousarray(points[:, 0]),
        root_rotations=np.tile(head.rotation, (slots, 1)).astype(np.float32),
        active=guides.active,
        weight=guides.weight,
        head=head,
        solid_poses=(),
        time=time,
    )


def frames_of(reader: SequenceReader, guides: Guides, strands: Any) -> list[tuple[GuideFrame, FloatArray]]:
    """Guide frames of a full simulation, each with every hair (S, V, 3) beside it."""
    points, heads = reader["points"], reader["head"]
    return [
        (guide_frame(guides, np.ascontiguousarray(hair[strands]), Pose(row[:3], row[3:]), float(time)), hair)
        for hair, row, time in zip(points, heads, reader.times, strict=True)
    ]


def mean_error(skin: Skin, readers: list[SequenceReader], strands: Any) -> float:
    """Mean distance of vertices from where the full simulation has them [m], guides left out."""
    others = np.setdiff1d(np.arange(skin.groom.strand_count), strands)
    if not len(others):
        return 0.0
    errors = []
    for reader in readers:
        skin.reset()
        for frame, truth in frames_of(reader, skin.guides, strands):
            errors.append(float(np.linalg.norm(skin(frame)[others] - truth[others], axis=2).mean()))
    return float(np.mean(errors))


def write_report(
    dataset: Dataset, model: AdaptiveModel, output: Path, seconds: dict[str, float], say: ProgressCallback
) -> AdaptiveModel:
    """Measure a model, write `<output>.json` and `<output>.png`, and return it with its errors."""
    from mane.io.atomic import atomic_path
    from mane.render.sheet import write_png

    readers = dataset.split("test")
    groom = Groom.from_uniform(np.asarray(readers[0].rest["guides"], np.float32))
    guides = Guides.chosen(groom, model.guides)
    skins: dict[str, Skin] = {"learned": make_skin("adaptive", groom, guides, model=model)}
    skins |= {("naive" if name == "adaptive" else name): make_skin(name, groom, guides) for name in COMPARED}
    errors = {}
    for number, (name, skin) in enumerate(skins.items()):
        say("measuring on motion that was not learned from", number / len(skins))
        errors[name] = mean_error(skin, readers, model.guides)
    say("drawing", 0.0)
    write_png(output.with_suffix(".png"), draw(readers[0], skins, errors, model.guides))
    measured = {f"test_error_{name}": value for name, value in errors.items()}
    facts = {**model.facts, **measured, "megabytes": model.nbytes / 1e6, "seconds": seconds}
    with atomic_path(output.with_suffix(".json")) as partial:
        Path(partial).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return replace(model, facts=facts)


def draw(reader: SequenceReader, skins: dict[str, Skin], errors: dict[str, float], strands: Any) -> Any:
    """The liveliest frame of a test motion, as simulated in full and as each skin makes it, side by side."""
    from mane.render.cameras import follow, outline
    from mane.render.renderer import render
    from mane.render.sheet import contact_sheet

    groom = next(iter(skins.values())).groom
    made = frames_of(reader, Guides.chosen(groom, strands), strands)
    rest = groom.as_uniform()
    liveliest = int(np.argmax([np.abs(frame.head.inverse_apply(hair) - rest).mean() for frame, hair in made]))
    pictures = {"full simulation": made[liveliest][1]}
    for name, skin in skins.items():
        skin.reset()
        pictures[f"{name}, {1e3 * errors[name]:.2f} mm"] = skin(made[liveliest][0], copy=True)
    aspect = PICTURE_SIZE[0] / PICTURE_SIZE[1]
    (camera,) = follow([outline(groom.with_points(made[liveliest][1].reshape(-1, 3)))], aspect=aspect)
    images = [
        render(groom.with_points(points.reshape(-1, 3)), camera=camera, size=PICTURE_SIZE)
        for points in pictures.values()
    ]
    return contact_sheet(images, list(pictures), len(images))


def describe(facts: Mapping[str, Any]) -> str:
    """What a model is worth, for people."""
    errors = {name.removeprefix("test_error_"): v for name, v in facts.items() if name.startswith("test_error_")}
    compared = ", ".join(f"{name} {1e3 * value:.2f}" for name, value in errors.items())
    spent = ", ".join(f"{name} {value:.0f}" for name, value in facts["seconds"].items())
    return (
        f"{facts['hairs']:,} hairs on {facts['guide_count']} guides, {facts['sets_per_hair']:.0f} sets per hair, "
        f"{facts['megabytes']:.3g} MB\n"
        f"error on motion that was not learned from [mm]: {compared}\nseconds: {spent}\n"
    )

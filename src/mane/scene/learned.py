"""Models in scenes: what [guides] model brings, by the kind of the model: guides, and perhaps what makes them move."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mane.geometry.checks import require_choice
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.stage.model_file import ModelFile

if TYPE_CHECKING:
    from mane.reduced.model import HairModel
    from mane.scene.config import GuidesTable, Scene


@dataclass(frozen=True)
class ModelKind:
    """What a kind of model means for a scene.

    Attributes:
        guides: from the file of a model, the groom and [guides] to the guides.
        source: `kind` of [source] that plays it; None where its guides are simulated.
    """

    guides: Callable[[Path, Groom, GuidesTable], Guides]
    source: str | None = None


def _adaptive_guides(path: Path, groom: Groom, table: GuidesTable) -> Guides:
    from mane.skin.adaptive.model import AdaptiveModel

    model = AdaptiveModel.load(path)
    guides = Guides.chosen(groom, np.minimum(model.guides, groom.strand_count - 1), table.vertices)
    model.require_fit(groom, guides)
    return guides


def _multilinear_guides(path: Path, groom: Groom, table: GuidesTable) -> Guides:
    model = load_hair_model(path)
    if table.vertices not in (None, model.vertex_count):
        raise ValueError(f"vertices: must be left out, or {model.vertex_count} as the model has, got {table.vertices}")
    return model.guides_of(groom)[0]


MODEL_KINDS: dict[str, ModelKind] = {
    "adaptive": ModelKind(_adaptive_guides),
    "multilinear": ModelKind(_multilinear_guides, "learned"),
}


def kind_of(path: Path) -> ModelKind:
    """Kind of the model of a file; ValueError where no scene can use it."""
    kind = _kind(str(path), _stamp(path))
    require_choice(f"{path}: kind", kind, list(MODEL_KINDS))
    return MODEL_KINDS[kind]


def source_kind(scene: Scene) -> str:
    """What makes the guides of a scene move: [source] says, or the model of [guides] that is played."""
    played = None if scene.guides.model is None else kind_of(scene.path(scene.guides.model)).source
    return scene.source.kind if played is None else played


def load_hair_model(path: Path) -> HairModel:
    """Read a learned model of hair; the last one is kept."""
    return _hair_model(str(path), _stamp(path))


def keyframed_sliders(scene: Scene, model: HairModel | None) -> dict[str, Any]:
    """Keyframes of sliders of [guides] slider_file; ValueError where the model cannot have them."""
    from mane.reduced.sliders import SliderTrack, read_sliders

    if scene.guides.slider_file is None:
        return {}
    try:
        values = read_sliders(scene.path(scene.guides.slider_file))
        if model is not None:
            SliderTrack.of(model, values)
    except ValueError as error:
        raise ValueError(f"slider_file: {error}") from None
    return dict(values)


def given_sliders(scene: Scene, model: HairModel | None, guides: Guides) -> dict[str, Any]:
    """Values of [guides] sliders; ValueError where the model cannot have them."""
    from mane.reduced.sliders import SliderTrack

    if model is not None:
        SliderTrack.of(model, scene.guides.sliders, guides=guides)
    return dict(scene.guides.sliders)


def _stamp(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4)
def _kind(path: str, stamp: tuple[int, int]) -> str:
    return ModelFile.read_any(path).kind


@lru_cache(maxsize=1)
def _hair_model(path: str, stamp: tuple[int, int]) -> HairModel:
    from mane.reduced.model import HairModel

    return HairModel.load(path)

"""`Stage`: what everything that takes part in making a frame says about itself.

A source of guide frames, a force on guides, a skin, a finishing pass and a sink are stages. The scene knows none of
them by name: it looks classes up in tables (`mane.stage.table`), gives each what it `needs`, counts its time for its
`label`, and saves its `memory` with every checkpoint. A new method is one class and one entry in a table.
"""

from __future__ import annotations

import dataclasses
import inspect
import weakref
from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray

Memory = dict[str, NDArray[Any]]

# What a scene can give to sources, parts, skins and finishing passes, by the name of the argument that takes it. A
# stage names those that it `needs`; one whose argument has a default goes without where the scene has none.
NEEDS = {
    "air": "the air as a fluid, an `Airflow`, or None",
    "body": "what the hair grows on, a `Solid`, or None",
    "collide_with_body": "whether hair touches the body, or is only carried by it",
    "contact": "settings of the contact with solids, by name",
    "drag": "factor on the air drag of a single hair",
    "forces": "parts that act on the guides",
    "frame_rate": "frames per second",
    "gravity": "[m/s^2]",
    "groom": "the dense hair at rest, all strands with the same vertex count",
    "guide_stiffening": "factor by which each guide was stiffened to stand as groomed, shape (G,)",
    "guide_model": "mechanics of the guides as simulated, a `StrandModel`",
    "guides": "the guides, at rest, with their painted maps",
    "hair_model": "a model of the guides that was learned, a `HairModel`",
    "head": "the motion of the head",
    "stiffen_to_stand": "what is done with strands that could not stand as groomed",
    "material": "of the hair",
    "model": "name of the strand model",
    "model_settings": "settings of the strand model, by name",
    "preroll": 'seconds from the rest pose of a body that deforms to where the shot begins, or "auto"',
    "rest": "the `GuideFrame` of guides at rest on the head in its rest pose",
    "previous_frame": "a function that returns the `GuideFrame` before the one at hand, or None at the first",
    "root": "what holds the roots",
    "sag_free": "whether the groom is what gravity makes of it",
    "seed": "of everything random",
    "shelters": "what keeps the wind away",
    "sliders": "values of the sliders of a learned model, by name",
    "solids": "body, if there is one, and solids, in the order of `GuideFrame.solid_poses`",
    "substeps": 'per frame, or "auto"',
    "surroundings": "solids besides the body",
    "touched": "numbers of the `solids` that hair touches",
    "wind": "what blows, or None",
}


class Owned:
    """Something that keeps what it learned of one owner, and so must not serve two at a time. Copies have none."""

    _owner: weakref.ref[Any] | None = None

    def require_free(self, what: str) -> None:
        """Raise ValueError, which begins with `what`, where it belongs to an owner that is still in use."""
        if self._owner is not None and self._owner() is not None:
            raise ValueError(
                f"{what}: must belong to one simulation, got a {type(self).__name__} that another one uses already; "
                "make one for each"
            )

    def join(self, owner: Any) -> None:
        """Belong to `owner` for as long as it is there."""
        self._owner = weakref.ref(owner)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_owner"}


class Stage(Owned, ABC):
    """Takes part in making a frame.

    Attributes:
        family: what kind of stage it is, e.g. "skin"; with the name it keys checkpoints.
        name: in tables, checkpoints, reports and errors.
        version: of what it computes and of what it remembers. Raise it when either changes: a run that was stopped
            before is then not resumed, since its second half would come from another method.
        label: row of the timings that its time counts for.
        settings: dataclass of its settings, whose fields are keyword arguments of the class and keys of scene files;
            None where the arguments of the class itself are all there is.
        needs: what it takes from the scene besides its settings, names of `NEEDS`; not for solvers and sinks.
        files: settings that name files; those of a scene are looked for from its folder.
        examples: settings to try it with, the first for a start; also what the contract tests run.
        save_every: frames between two times that its memory is saved; more than 1 for a memory so large that writing
            it every frame would take longer than making the frames again.
    """

    family: ClassVar[str]
    name: ClassVar[str]
    version: ClassVar[int] = 1
    label: ClassVar[str]
    settings: ClassVar[type | None] = None
    needs: ClassVar[tuple[str, ...]] = ()
    files: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    save_every: int = 1

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        unknown = [need for need in cls.needs if need not in NEEDS]
        if unknown:
            raise TypeError(f"{cls.__name__}.needs: {unknown[0]!r} is unknown; choose from {', '.join(NEEDS)}")

    @classmethod
    def for_scene(cls, **given: Any) -> Any:
        """Make one from the settings of a scene file and what the class needs of the scene.

        A class whose constructor takes what a scene file cannot write overrides this; its arguments are then the
        settings.
        """
        return cls(**given)

    @classmethod
    def check_settings(cls, settings: Mapping[str, Any]) -> None:
        """Raise ValueError for settings out of range, as far as that can be told before there is hair."""
        if cls.settings is not None:
            names = {f.name for f in dataclasses.fields(cls.settings)}
            cls.settings(**{name: value for name, value in settings.items() if name in names})

    def memory(self) -> Memory:
        """What must be saved to continue later exactly as if nothing had happened; copies."""
        return {}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""

    def reset(self) -> Any:
        """Begin anew, as if it had just been made."""
        return None

    @property
    def remembers(self) -> bool:
        """Whether what it does next depends on what it did before."""
        return type(self).memory is not Stage.memory


Provide = Callable[[str], Any]


def needed(stage: type[Stage], *providers: Provide, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what a stage needs, by name, from the first provider that knows it.

    Args:
        stage: the class.
        providers: each returns what it is asked for, None where there is none, and raises LookupError for what it does
            not know.
        given: what the stage gets anyway and need not be asked for.

    Raises:
        ValueError: nobody knows a need, or there is none and the stage cannot do without.
    """
    found = {need: _provided(stage, need, providers) for need in stage.needs if need not in (given or {})}
    required = inspect.signature(stage.for_scene if has_own_maker(stage) else stage).parameters
    for need, value in found.items():
        if value is None and need in required and required[need].default is inspect.Parameter.empty:
            raise ValueError(f"{stage.family}: {stage.name!r} needs {NEEDS[need]} ({need}), and there is none here")
    return {need: value for need, value in found.items() if value is not None}


def has_own_maker(stage: type[Stage]) -> bool:
    """Whether a stage is made by a `for_scene` of its own."""
    return stage.for_scene.__func__ is not Stage.for_scene.__func__  # type: ignore[attr-defined]


def _provided(stage: type[Stage], need: str, providers: tuple[Provide, ...]) -> Any:
    for provide in providers:
        try:
            return provide(need)
        except LookupError:
            continue
    raise ValueError(f"{stage.family}: {stage.name!r} needs {NEEDS[need]} ({need}), which cannot be had here")

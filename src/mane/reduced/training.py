"""`fit_model`: a `HairModel` from frames of simulated hair (guan2012 sections 3 to 5), whatever they come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import require_choice
from mane.geometry.linear_algebra import by_one_thread
from mane.reduced.canonical import SPACES, BodyShape, BodyTrack, Space, to_canonical
from mane.reduced.dynamics import CoreTensor, CrossGrams, Dynamics, Operator, Ridge, roll_outs, stability_grid
from mane.reduced.factors import Factor, corner_weights, with_safe_ranges
from mane.reduced.model import HairModel
from mane.reduced.principal import Basis, principal_components
from mane.reduced.representation import REPRESENTATIONS, Representation, lengths

Frames = NDArray[np.float32]
Array = NDArray[np.float64]
ProgressCallback = Callable[[str, float], None]

MOST_BYTES = 400_000_000  # of the frames that principal components are taken of
MOST_FRAMES = 2400
RAISE = 3.0  # the ridge is raised by this factor until the dynamics are stable
MOST_RAISES = 12
# Ridges that are tried, on the coefficients before and on what is known of the body.
HISTORY_CANDIDATES = (1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
CONTROL_CANDIDATES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
CALMEST = 0.1  # a motion counts as if hair moved by at least this part of the mean of all motions
FOLDS = 4  # of so many motions one is held back in turn, to choose the ridge by
WINDS = ("control", "factor")
# Evenly spaced values of each slider in the stability grid, by the number of sliders; its levels come besides. Four
# sliders of two levels have 5^4 = 625 settings.
GRID_POINTS = (1, 9, 5, 4, 3)
SAME_PLACE = 1e-6  # of a slider: an even value this near a level is that level
STILL = 1e-6  # [m], or of a direction: what single precision makes of hair and heads that stand still


@dataclass(frozen=True)
class MultilinearTraining:
    """How a model is learned.

    Attributes:
        dimensions: of the hair coefficients; guan2012 takes 100
        representation: what is learned: "directions" of segments, or "positions"
        space: that hair is seen in: "head", or "bust" as printed
        dynamics: "gram" with a ridge, or "tensor" as printed
        ridge: on the coefficients before, relative to their variance; without it chosen on motions that are held back;
            raised until the model is stable
        control_ridge: on what is known of the body, in the same way
        window: frames of history, 2 as printed
        bodies: frames of which the body itself is known: x_t alone is 1, as printed; with x_(t-1) and x_(t-2) 3
        wind: what an axis of winds is: a "control" that may turn in every frame, or a "factor" as printed
        even: whether every motion counts the same; by squares of errors, as printed, the most violent ones count most
    """

    dimensions: int = 100
    representation: str = "directions"
    space: str = "head"
    dynamics: str = "gram"
    ridge: float | None = None
    control_ridge: float | None = None
    window: int = 2
    bodies: int = 1
    wind: str = "control"
    even: bool = True

    def __post_init__(self) -> None:
        require_choice("representation", self.representation, list(REPRESENTATIONS))
        require_choice("space", self.space, list(SPACES))
        require_choice("dynamics", self.dynamics, list(DYNAMICS))
        require_choice("wind", self.wind, WINDS)
        if self.representation == "positions" and SPACES[self.space].rests_at_zero:
            raise ValueError(
                f'representation: "positions" are learned about their mean, which is no hair at rest, and space '
                f'"{self.space}" has no control that says where it rests; take space = "bust", or "directions"'
            )
        for name, low, high in (("dimensions", 1, 1000), ("window", 1, 8), ("bodies", 1, 9)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name}: must be from {low} to {high}, got {getattr(self, name)}")
        for name in ("ridge", "control_ridge"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise ValueError(f"{name}: must be a finite number of at least 0, got {value}")

    @classmethod
    def printed(cls, **settings: Any) -> MultilinearTraining:
        """As guan2012 prints it: positions seen from the bust, the data tensor, no ridge, wind as a factor."""
        given = {"representation": "positions", "space": "bust", "dynamics": "tensor", "ridge": 0.0, "wind": "factor"}
        return cls(**{**given, "control_ridge": 0.0, "even": False, **settings})


class TrainingData(Protocol):
    """Frames of C styles under the same M motions."""

    factors: tuple[Factor, ...]
    rest: Frames  # (C, G, V, 3) [m], after it has settled
    groomed: Frames  # (C, G, V, 3) [m]
    strands: NDArray[np.int64]  # (G,): strand of the groom that each guide is
    frame_rate: float
    has_wind: bool

    @property
    def body(self) -> BodyShape:
        """Some points of the body at rest."""
        ...

    @property
    def motion_count(self) -> int:
        """M."""
        ...

    def track(self, motion: int) -> BodyTrack:
        """What the body does, the same for all styles."""
        ...

    def points(self, corner: int, motion: int, rows: slice = slice(None)) -> Frames:
        """Hair of a style [m], world, in those frames of a motion, shape (T, G, V, 3)."""
        ...


@dataclass(eq=False)
class Fitted:
    """What training found besides the model.

    Attributes:
        model: the model.
        controls: of each motion, (T, U).
        coefficients: of each style and motion, (T, d).
        energy: part of the sum of squares that the dimensions hold.
    """

    model: HairModel
    controls: list[Array]
    coefficients: list[list[Array]]
    energy: float
    facts: dict[str, Any] = field(default_factory=dict)


@by_one_thread
def fit_model(
    data: TrainingData, training: MultilinearTraining | None = None, tell: ProgressCallback | None = None
) -> Fitted:
    """Learn a model.

    Raises:
        ValueError: there is nothing to learn: motions are too short, or nothing moves; or the dynamics cannot be made
            stable.
    """
    training = training or MultilinearTraining()
    say = tell or (lambda text, share: None)
    kind: Representation = REPRESENTATIONS[training.representation]()
    tracks = [data.track(m) for m in range(data.motion_count)]
    _require_motion(tracks, training.window)
    space: Space = SPACES[training.space].learned(data.body, tracks, data.has_wind, training.window, training.bodies)
    if data.has_wind and not space.has_wind:
        raise ValueError(
            f'wind: the data has winds, and space "{training.space}" none among its controls; take wind = "factor", '
            'or space = "head"'
        )
    rows, metric, mean = _sampled_rows(data, kind, space, tracks, say)
    if np.linalg.norm(rows) <= STILL * math.sqrt(rows.size):
        raise ValueError("hair: must move to learn from, and moves by less than rounding in all motions")
    say("principal components", 0.0)
    components, sums = principal_components(rows, training.dimensions)
    energy = float(sums[: components.shape[1]].sum() / max(sums.sum(), 1e-300))
    del rows
    encoder = components * metric[:, None].astype(np.float32)
    basis = Basis.of(np.asarray(components / metric[:, None], np.float32))
    controls, coefficients = _coefficients(data, kind, space, tracks, encoder, mean, say)
    dynamics = DYNAMICS[training.dynamics](training, data.factors, controls, coefficients)
    factors = with_safe_ranges(data.factors, [one.positions for one in data.factors], lengths(data.rest).sum(axis=-1))
    say("stability", 0.0)
    dynamics, grid, radii = stable(dynamics, factors, may_raise=training.dynamics == "gram")
    model = HairModel(
        factors=factors,
        rest=data.rest,
        groomed=data.groomed,
        strands=data.strands,
        basis=basis,
        mean=mean if training.representation == "positions" else np.zeros(0, np.float32),
        representation=kind,
        space=space,
        dynamics=dynamics,
        frame_rate=data.frame_rate,
        grid=grid,
        radii=radii,
        facts={
            "energy": energy,
            "spectral_radius": float(radii.max()),
            "stability_margin": float(1.0 - radii.max()),
            "stability_settings": len(radii),
            "frames": sum(map(len, controls)),
        },
        deviations=np.concatenate([rows for own in coefficients for rows in own]).std(axis=0),
        wind_speed=_strongest_wind(tracks) if space.has_wind else None,
    )
    return Fitted(model, controls, coefficients, energy)


def _require_motion(tracks: Sequence[BodyTrack], window: int) -> None:
    """Refuse motions that are over before a frame has its history, and those in which neither head nor air moves."""
    for number, track in enumerate(tracks):
        if len(track.heads) <= window:
            raise ValueError(
                f"motions: must have more than {window} frames, the window, to learn from, got {len(track.heads)} in "
                f"motion {number}"
            )
    if not any(_moves(track) for track in tracks):
        raise ValueError("motions: must move the head, or be in wind, to learn from, and all of them stand still")


def _moves(track: BodyTrack) -> bool:
    """Whether anything happens to hair: the head or the body moves, or wind blows."""
    poses = [track.heads] if track.points is None else [track.heads, track.points]
    has_wind = track.wind is not None and bool(track.wind.any())
    return has_wind or any(float(np.ptp(rows, axis=0).max()) > STILL for rows in poses)


def _strongest_wind(tracks: Sequence[BodyTrack]) -> float:
    """Largest speed of the air in all frames [m/s]."""
    winds = [track.wind for track in tracks if track.wind is not None]
    return max((float(np.linalg.norm(wind, axis=1).max()) for wind in winds), default=0.0)


def with_dynamics(fitted: Fitted, training: MultilinearTraining) -> HairModel:
    """The model with dynamics that are learned otherwise, from the coefficients that there are."""
    model = fitted.model
    dynamics = DYNAMICS[training.dynamics](training, model.factors, fitted.controls, fitted.coefficients)
    dynamics, grid, radii = stable(dynamics, model.factors, may_raise=training.dynamics == "gram")
    return replace(model, dynamics=dynamics, grid=grid, radii=radii)


# -- coefficients --------------------------------------------------------------------------------------------------


def _sampled_rows(
    data: TrainingData, kind: Representation, space: Space, tracks: Sequence[BodyTrack], say: ProgressCallback
) -> tuple[Frames, Array, Frames]:
    """Frames that are evenly spread over all sequences, weighted for principal components (F, D), their weights (D,),
    and their mean (D,), which is zero for what is measured from rest."""
    corners, guides, vertices = data.rest.shape[:3]
    weights = kind.metric(vertices)
    metric = np.tile(np.repeat(weights, 3), guides)
    total = corners * sum(len(track.heads) for track in tracks)
    most = max(32, min(MOST_FRAMES, MOST_BYTES // (4 * len(metric))))
    every = max(1, -(-total // most))
    parts = []
    for corner in range(corners):
        for m, track in enumerate(tracks):
            say("reading", (corner * len(tracks) + m) / (corners * len(tracks)))
            frames = space.frames(track)
            first = (corner * len(tracks) + m) % every  # no frame of a motion is left out in all styles
            own = slice(first, None, every)
            parts.append(kind.encode(to_canonical(frames[own], data.points(corner, m, own)), data.rest[corner]))
    rows = np.concatenate(parts)
    mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    if kind.name == "directions":
        mean = np.zeros_like(mean)
    rows -= mean
    rows *= metric.astype(np.float32)
    return rows, metric, mean


def _coefficients(
    data: TrainingData,
    kind: Representation,
    space: Space,
    tracks: Sequence[BodyTrack],
    encoder: Frames,
    mean: Frames,
    say: ProgressCallback,
) -> tuple[list[Array], list[list[Array]]]:
    frames = [space.frames(track) for track in tracks]
    controls = [space.controls(track, own) for track, own in zip(tracks, frames, strict=True)]
    coefficients: list[list[Array]] = []
    corners = len(data.rest)
    for corner in range(corners):
        own = []
        for m in range(len(tracks)):
            say("projecting", (corner * len(tracks) + m) / (corners * len(tracks)))
            vectors = kind.encode(to_canonical(frames[m], data.points(corner, m)), data.rest[corner])
            vectors -= mean
            own.append((vectors @ encoder).astype(np.float64))
        coefficients.append(own)
    return controls, coefficients


# -- dynamics ------------------------------------------------------------------------------------------------------


def _grams(
    training: MultilinearTraining,
    factors: Sequence[Factor],
    controls: Sequence[Array],
    coefficients: Sequence[Sequence[Array]],
) -> CrossGrams:
    history = HISTORY_CANDIDATES if training.ridge is None else (training.ridge,)
    control = CONTROL_CANDIDATES if training.control_ridge is None else (training.control_ridge,)
    if training.even:
        controls, coefficients = evened(controls, coefficients)
    ridge = chosen_ridge(controls, coefficients, training.window, history, control)
    return CrossGrams.of(controls, coefficients, [len(factor.levels) for factor in factors], training.window, ridge)


def evened(controls: Sequence[Array], coefficients: Sequence[Sequence[Array]]) -> tuple[list[Array], list[list[Array]]]:
    """All motions scaled to move hair by the same root of mean squares over all styles.

    The dynamics are linear: half of the coefficients under half of the controls are a motion, too. Errors are held
    small relative to how far hair moves then, where a shake of the head would count a hundred times a walk.
    """
    squares = [np.mean([(own[m] ** 2).sum(axis=1).mean() for own in coefficients]) for m in range(len(controls))]
    moved = np.sqrt(squares)
    scale = moved.mean() / np.maximum(np.maximum(moved, CALMEST * moved.mean()), 1e-12)
    rows = [[factor * part for factor, part in zip(scale, own, strict=True)] for own in coefficients]
    return [factor * control for factor, control in zip(scale, controls, strict=True)], rows


def chosen_ridge(
    controls: Sequence[Array],
    coefficients: Sequence[Sequence[Array]],
    order: int,
    history: Sequence[float],
    control: Sequence[float],
) -> Ridge:
    """The ridge with which models of most motions follow the others best, running freely.

    Every fourth motion is held back, then every one behind it, and so on until all were. Of errors relative to how far
    hair moved the geometric mean counts: one motion unlike all others would decide alone otherwise.
    """
    pairs = [Ridge(h, c) for h in history for c in control]
    folds = min(FOLDS, len(controls))
    if len(pairs) == 1 or folds < 2:
        return pairs[0]
    held = [range(fold, len(controls), folds) for fold in range(folds)]
    errors = np.zeros(len(pairs))
    for own in coefficients:
        parts = [CrossGrams.of([controls[m] for m in ms], [[own[m] for m in ms]], (), order) for ms in held]
        whole, frames = sum(part.grams for part in parts), sum(part.frames for part in parts)
        for part, ms in zip(parts, held, strict=True):
            others = replace(part, grams=whole - part.grams, frames=frames - part.frames)
            for number, ridge in enumerate(pairs):
                operator = replace(others, ridge=ridge).operator(np.ones(1))
                errors[number] += _relative_errors(operator, [controls[m] for m in ms], [own[m] for m in ms])
    return pairs[int(np.argmin(errors))]


def _relative_errors(operator: Operator, controls: Sequence[Array], coefficients: Sequence[Array]) -> float:
    """Sum of the logarithms of how far free runs are from the truth, over how far that is from rest."""
    with np.errstate(over="ignore", invalid="ignore"):
        free = roll_outs(operator, controls, [own[: len(operator.history)] for own in coefficients])
        pairs = zip(free, coefficients, strict=True)
        return sum(_bounded_log(_mean_size(run - own)) - _bounded_log(_mean_size(own)) for run, own in pairs)


def _mean_size(rows: Array) -> float:
    return float(np.sqrt((rows**2).sum(axis=1)).mean())


def _bounded_log(value: float) -> float:
    return math.log(min(max(value, 1e-12), 1e12)) if math.isfinite(value) else math.log(1e12)


def _tensor(
    training: MultilinearTraining,
    factors: Sequence[Factor],
    controls: Sequence[Array],
    coefficients: Sequence[Sequence[Array]],
) -> CoreTensor:
    levels = [len(factor.levels) for factor in factors]
    return CoreTensor.of(controls, coefficients, levels, training.window)


DYNAMICS: dict[str, Callable[..., Dynamics]] = {"gram": _grams, "tensor": _tensor}


def slider_grid(factors: Sequence[Factor]) -> Array:
    """Values of all sliders at the settings where stability is checked, (P, factors); one row where there is none.

    All settings of an even spread from end to end and of the levels: the styles that were learned are among them.
    """
    if not factors:
        return np.zeros((1, 0))
    count = GRID_POINTS[min(len(factors), len(GRID_POINTS) - 1)]
    rows = [_with_levels(np.linspace(*one.range, count), np.array(one.positions)) for one in factors]
    meshes = np.meshgrid(*rows, indexing="ij")
    return np.stack([mesh.ravel() for mesh in meshes], axis=1)


def _with_levels(even: Array, levels: Array) -> Array:
    is_new = np.abs(even[:, None] - levels).min(axis=1) > SAME_PLACE
    return np.union1d(even[is_new], levels)


def stable(dynamics: Dynamics, factors: Sequence[Factor], *, may_raise: bool) -> tuple[Dynamics, Array, Array]:
    """Check the grid of all sliders, and raise the ridge where an eigenvalue is 1 or above (guan2012 5.1).

    Returns the dynamics, the grid (P, factors) and the largest eigenvalue at each of its points (P,).

    Raises:
        ValueError: no ridge makes them stable.
    """
    grid = slider_grid(factors)
    weights = corner_weights(factors, {factor.name: grid[:, k] for k, factor in enumerate(factors)})
    weights = np.broadcast_to(weights, (len(grid), weights.shape[-1]))
    if not may_raise:
        return dynamics, grid, stability_grid(dynamics, weights)
    for _ in range(MOST_RAISES + 1):
        assert isinstance(dynamics, CrossGrams)
        radii = _stable_radii(dynamics, weights)
        if radii.max() < 1.0:
            return dynamics, grid, radii
        ridge = dynamics.ridge
        dynamics = replace(dynamics, ridge=Ridge(RAISE * max(ridge.history, 1e-4), ridge.control))
    raise ValueError(
        f"model: cannot be made stable, its largest eigenvalue is {radii.max():.4f}; learn from more motions, or with "
        "fewer dimensions"
    )


def _stable_radii(dynamics: Dynamics, weights: Array) -> Array:
    """Largest eigenvalue at each of many settings (P, C), up to the first where it is 1 or above, zero behind that one:
    from the ends of the sliders inwards, since it mostly is there."""
    radii = np.zeros(len(weights))
    for row in np.argsort(-(weights**2).sum(axis=1), kind="stable"):
        radii[row] = dynamics.operator(weights[row]).spectral_radius
        if not radii[row] < 1.0:
            break
    return radii

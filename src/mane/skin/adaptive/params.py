"""Settings of the adaptive skin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Self

from mane.geometry.limits import NotNegative, Positive, Range, check_limits

MAX_ELIGIBLE = 10  # guides that a set is a bitmask over


@dataclass(frozen=True)
class AdaptiveParams:
    """Settings of `AdaptiveSkin`.

    Attributes:
        eligible: guides per hair that its sets are made of, without a model; 1 to 10 (chai2017 7.2 has ten).
        use_motion: connect two guides only where they move alike (chai2017 4.1). By default without a model, and with
            `paper`: learned sets that never change are closer to full simulation, and calmer (decision 43).
        use_solids: connect two guides only where no solid is between them (chai2017 4.2). By default as `use_motion`.
        use_frames: guides turn the hairs that they carry, as frames at their vertices: B_g of eq. 5 as it is called
            there, "linear". Otherwise they carry them by their displacement. By default as the model was learned, and
            without one with `paper`.
        tangents: what a unit tangent counts as in the states that eq. 3 compares, with `paper` [m].
        sigma: weight of velocities against positions in eq. 2; with `use_motion` and a model that of its training.
        delta: guides whose motion differs by more are not connected. With `paper` a bound on d of eq. 2; otherwise
            on d over what it reaches where nothing disturbs the hair (the 99th percentile of training).
        tip_distance: connect two guides only where their tips are no farther apart than this [m], the rule of
            Bertails et al. that chai2017 7.2 compares with; None for no such rule.
        hysteresis: a set is kept while it is valid and its error is at most this many times that of the best valid
            one.
        fade: time constant with which the jump of a hair that changes its set dies away [s]; 0 lets it jump.
        lean: hairs that are behind a solid, seen from their guides, lean towards them until they are not: locks show,
            but a hair is no closer to where it would be simulated by itself.
        paper: choose as printed: sets within cliques, the one closest to the set before (algorithm 1, eq. 3), without
            hysteresis, fade and leaning; weights below zero count as they are.
    """

    eligible: Annotated[int, Range(least=1, most=MAX_ELIGIBLE)] = MAX_ELIGIBLE
    use_motion: bool | None = None
    use_solids: bool | None = None
    use_frames: bool | None = None
    tangents: NotNegative = 1.0
    sigma: NotNegative = 5.0
    delta: Positive = 2.0
    tip_distance: Positive | None = None
    hysteresis: Annotated[float, Range(least=1)] = 1.2
    fade: NotNegative = 0.1
    lean: bool = False
    paper: bool = False

    def __post_init__(self) -> None:
        check_limits(self)

    def decided(self, *, has_model: bool, has_frames: bool = False) -> Self:
        """Settings with all that was left open given: criteria are used where sets are not learned.

        `has_frames` says whether there is a model that was learned with frames.
        """
        usual = self.paper or not has_model
        frames = has_frames or (self.paper and not has_model)
        return replace(
            self,
            use_motion=usual if self.use_motion is None else self.use_motion,
            use_solids=usual if self.use_solids is None else self.use_solids,
            use_frames=frames if self.use_frames is None else self.use_frames,
        )

"""Settings of the adaptive skin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mane.geometry.checks import require_positive

MAX_ELIGIBLE = 10  # guides that a set is a bitmask over


@dataclass(frozen=True)
class AdaptiveParams:
    """Settings of `AdaptiveSkin`.

    Attributes:
        eligible: guides per hair that its sets are made of, without a model; 1 to 10 (chai2017 7.2 has ten).
        use_motion: connect two guides only where they move alike (chai2017 4.1).
        use_solids: connect two guides only where no solid is between them (chai2017 4.2).
        sigma: weight of velocities against positions in eq. 2.
        delta: guides whose motion differs by more are not connected. With `paper` a bound on d of eq. 2; otherwise
            on d over what it reaches where nothing disturbs the hair (the 99th percentile of training).
        tip_distance: connect two guides only where their tips are no farther apart than this [m], the rule of
            Bertails et al. that chai2017 7.2 compares with; None for no such rule.
        hysteresis: a set is kept while it is valid and its error is at most this many times that of the best valid
            one.
        fade: time constant with which the jump of a hair that changes its set dies away [s]; 0 lets it jump.
        lean: hairs that are behind a solid, seen from their guides, lean towards them until they are not.
        paper: choose as printed: sets within cliques, the one closest to the set before (algorithm 1, eq. 3), without
            hysteresis, fade and leaning.
    """

    eligible: int = MAX_ELIGIBLE
    use_motion: bool = True
    use_solids: bool = True
    sigma: float = 5.0
    delta: float = 2.0
    tip_distance: float | None = None
    hysteresis: float = 1.2
    fade: float = 0.1
    lean: bool = True
    paper: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.eligible <= MAX_ELIGIBLE:
            raise ValueError(f"eligible: must be from 1 to {MAX_ELIGIBLE}, got {self.eligible}")
        if not (np.isfinite(self.sigma) and self.sigma >= 0):
            raise ValueError(f"sigma: must be a finite number of at least 0, got {self.sigma}")
        require_positive("delta", self.delta)
        if self.tip_distance is not None:
            require_positive("tip_distance", self.tip_distance)
        if not (np.isfinite(self.hysteresis) and self.hysteresis >= 1):
            raise ValueError(f"hysteresis: must be a finite factor of at least 1, got {self.hysteresis}")
        if not (np.isfinite(self.fade) and self.fade >= 0):
            raise ValueError(f"fade: must be a finite time of at least 0 s, got {self.fade}")

"""Settings of the physically guided skin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from mane.geometry.limits import Choice, Count, Fraction, Positive, Range, check_limits

CONVERGED = "converged"
USUAL_DRIFT_GAIN = 0.5


@dataclass(frozen=True)
class PhysicalParams:
    """Settings of `PhysicalSkin`; forces are measured in weights of the hair, so that they suit hair of any size.

    The defaults of `alpha` and `drift` come from the sweep of `mane validate physical`: the pull towards the targets,
    `alpha * drift`, is one weight. With less of it hairs stray from their guides, with more they take over the kinks of
    their targets. hsu2024 has an alpha of 0.05 to 0.1 and a k_ss that it does not state.

    Attributes:
        alpha: share of the drift correction in the force (hsu2024 eq. 23), 0 to below 1. 0 leaves the hair to its
            forces.
        drift: stiffness of the drift correction: the k_ss of eq. 22 is `drift * weight * segment length`. It belongs to
            the reconstruction alone; the material's own would be thousands of times the weight and drown the forces.
        drift_from: the tangent that eq. 22 takes off the way to the target. "solution": that of the segment as it comes
            out, which turns nothing, so that however strong the pull, a segment turns to its target at most.
            "unloaded": that of the segment without force, as printed; a pull stronger than the bending stiffness
            overshoots, more at every segment, into a zigzag.
        drift_gain: part of the gap between a hair and its targets that the correction closes, 0 to 1; the rest turns
            segments parallel to those of their targets. Targets are shorter than hairs wherever guides part, so a hair
            that is to close all of the gap (1, eq. 22 as printed) is pushed together, and kinks. None is 0.5, but 1
            with further sweeps, cut forces alone, and eq. 12 and 22 as printed, which are as the paper has them and
            take no other value.
        sweeps: passes from root to tip. 1 is the paper's and never feels the moment of what lies further along a hair;
            n passes feel that of n - 1 segments; "converged" solves the whole chain with the exact multiplier.
        stretch: what a segment is stretched by. "material": the interpolated force and the hair's own E A.
            "paper": the blended force and k_ss, as eq. 12 and 23 are printed; stretches by many percent.
        load: what hairs feel of their guides with one sweep. "moment": the cut force, and across each segment the
            moment of all that lies beyond, as the guide shows it by how it is bent, so that a hair of its guide's shape
            follows it. "force": the cut force alone (eq. 10 as printed). Further sweeps find the moments by themselves,
            and eq. 12 and 22 as printed have no use for them: all those take the cut force alone.
        largest_force: cut forces of guides beyond this many weights are taken as that many. A shaken head makes one or
            so; what is above comes from blows, which are over before hair has moved.
        penetration: how hard a penetrating segment is turned out of a solid, in units that turn it by about the angle
            which would free its end.
        warm_start: "rest" takes the segment beyond as unbent (eq. 24), so a frame depends on the guides alone.
            "previous" starts from the orientations of the frame before; the skin then remembers it.
        sag_free: solve for rest rotations such that guides at rest, with their weight, give the groom. Otherwise the
            groom is the shape without forces.
    """

    alpha: Annotated[float, Range(least=0, below=1)] = 0.1
    drift: Positive = 10.0
    drift_gain: Fraction | None = None
    drift_from: Annotated[str, Choice("solution", "unloaded")] = "solution"
    sweeps: Count | Literal["converged"] = 1
    stretch: Annotated[str, Choice("material", "paper")] = "material"
    load: Annotated[str, Choice("moment", "force")] = "moment"
    largest_force: Positive = 1.5
    penetration: Positive = 1.0
    warm_start: Annotated[str, Choice("rest", "previous")] = "rest"
    sag_free: bool = True

    def __post_init__(self) -> None:
        check_limits(self)
        if self.sweeps != CONVERGED and not (isinstance(self.sweeps, int) and self.sweeps >= 1):
            raise ValueError(f"sweeps: must be a whole number above zero or 'converged', got {self.sweeps!r}")
        if self.sweeps == CONVERGED and self.warm_start == "previous":
            raise ValueError("warm_start: must be 'rest' with sweeps='converged', whose result has no memory")
        if self.drift_gain not in (None, 1) and not self.carries_moments:
            raise ValueError(
                "drift_gain: must be left out, or 1, unless sweeps is 1, load 'moment', warm_start 'rest', stretch "
                f"'material' and drift_from 'solution', got {self.drift_gain}"
            )

    @property
    def feels_beyond(self) -> bool:
        """Whether a segment feels the one beyond it, for which rest rotations of their own are needed."""
        return self.sweeps != 1 or self.warm_start == "previous"

    @property
    def is_plain(self) -> bool:
        """Whether there is one sweep, with neither eq. 12 nor eq. 22 as printed."""
        return not (self.feels_beyond or self.stretch_by_blend or self.overshoots)

    @property
    def carries_moments(self) -> bool:
        """Whether guides hand on their moments besides their forces."""
        return self.load == "moment" and self.is_plain

    @property
    def drift_gain_used(self) -> float:
        """Part of the gap that the correction closes, all of it where the paper's own forces are taken."""
        if not self.carries_moments:
            return 1.0
        return USUAL_DRIFT_GAIN if self.drift_gain is None else self.drift_gain

    @property
    def overshoots(self) -> bool:
        """Whether the drift correction of the first sweep is taken as printed."""
        return self.drift_from == "unloaded"

    @property
    def stretch_by_blend(self) -> bool:
        """Whether the blended force stretches."""
        return self.stretch == "paper"

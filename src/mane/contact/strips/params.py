"""Settings of `TriangleStrips`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from mane.contact.neighbours import NEIGHBOURHOODS
from mane.geometry.limits import Choice, NotNegative, Positive, check_limits
from mane.strand.model import StrandModel

AHEAD = 1.0  # a contact may be seen coming from this many thicknesses above the first
MARGIN = 1.5  # how far strands may come towards each other between broad phases, in thicknesses


@dataclass(frozen=True)
class StripParams:
    """Settings of `TriangleStrips`.

    Attributes:
        thickness: distance at which parts of the hair meet [m]: the radius of the cluster that a guide stands for.
        rate: angular frequency of the spring that pushes them apart [1/s]; beyond some 1 / dt it is simply hard.
        damping: its damping ratio; 1 does not bounce.
        friction: Coulomb's coefficient; None for that of the hair (`StrandModel.friction`).
        push_out_speed: at which hair that overlaps comes apart, at most [m/s].
        neighbours: "all" makes strips between all neighbouring roots, as for a brush; "horizontal" between those beside
            each other, as for a scalp.
        reach: roots farther apart than this have no strip [m]; None for 2.5 times the usual nearest distance.
        breaks_at: a triangle this many times as wide as at rest breaks.
        heals_at: and heals when it is less than this many times as wide.
        densest: most that the force of a strip grows when its guides come together; 1 is the strip at rest.
        broad_phase_interval: after this time [s] the broad phase runs again for hair that has moved; 0 runs it at every
            substep, which misses nothing. In between, parts that come near from beyond three and a half thicknesses are
            seen late, and so are parts that turn across each other.
        narrow_phase_interval: after this time [s] the narrow phase runs again; 0 runs it at every substep. In between
            a contact stays where it is on both parts, with the normal that it had; only its gap goes on.
        strips: False leaves all strips out: every guide is a wisp that collides with the others.
    """

    thickness: Positive = 0.002
    rate: Positive = 500.0
    damping: NotNegative = 1.0
    friction: NotNegative | None = None
    push_out_speed: Positive = 0.5
    neighbours: Annotated[str, Choice(*NEIGHBOURHOODS)] = "all"
    reach: Positive | None = None
    breaks_at: Positive = 3.0
    heals_at: Positive = 2.0
    densest: Positive = 2.0
    broad_phase_interval: NotNegative = 0.01
    narrow_phase_interval: NotNegative = 0.0
    strips: bool = True

    def __post_init__(self) -> None:
        check_limits(self, "strips.")
        if self.breaks_at < self.heals_at:
            raise ValueError(f"strips.breaks_at: must be at least heals_at ({self.heals_at}), got {self.breaks_at}")

    def laws(self, model: StrandModel) -> tuple[float, float, float, float]:
        """What `push_apart` calls the laws."""
        friction = model.friction if self.friction is None else self.friction
        return float(self.rate), float(self.damping), float(friction), float(self.push_out_speed)

    @property
    def ahead(self) -> float:
        """How far beyond its own gap a contact is seen coming [m]."""
        return AHEAD * self.thickness

    @property
    def zone(self) -> float:
        """Distance within which parts may touch before the next step [m]."""
        return (1 + AHEAD) * self.thickness

    @property
    def margin(self) -> float:
        """How far parts may move before the next broad phase [m]."""
        return MARGIN * self.thickness

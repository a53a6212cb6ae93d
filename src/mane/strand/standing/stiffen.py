"""`stiffen_to_stand`: groomed shapes that would fall are made stiff enough to stand, which is what hair spray does.

A rest shape can be found for every groom, such that gravity bends it into the groom exactly. But that balance may be
one of a pencil on its tip: an upright strand buckles once rho A g L^3 / (E I) exceeds 7.837, which for a hair of 40 um
radius happens at 10 cm. `stiffen_to_stand` finds for each strand the factor on its bending and twisting stiffness at
which the groomed shape stops being stable (`_kernels` derives it), and raises the stiffness of those that need it.

The result holds for every strand model: it looks at a rod that cannot stretch, cut into the model's own segments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import require_choice
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.standing import _kernels as kernels

MODES = ("on", "report", "off")

# At `margin` times the critical stiffness, a sideways push moves the strand margin / (margin - 1) times as far as
# without gravity (Southwell): three times at 1.5. At 1.1 it would be eleven times, and a groom that stands only on
# paper; at 3 the strand is twice as stiff as it need be and no longer moves like its neighbours.
DEFAULT_MARGIN = 1.5
# A joint's moment is (E I / L) 2 sin(psi / 2), with psi the angle by which it is bent away from its rest. Beyond
# psi = 180 degrees there is no rest angle that carries the moment; at sin(psi / 2) = 0.5 it is 60 degrees, and the
# joint still has 87 percent of its stiffness.
LARGEST_STRAIN = 0.5
# Hair spray makes hair some tens of times stiffer; a factor beyond this tells of wrong units or a broken strand.
UNBELIEVABLE = 1000


def stiffening(stiffened: StrandModel, bare: StrandModel) -> Float64Array:
    """Factor by which each strand of `stiffened` is stiffer than the same strand of the `bare` material, shape (G,)."""
    factor: Float64Array = stiffened.bend_stiffness.mean(axis=1) / bare.bend_stiffness.mean(axis=1)
    return factor


@dataclass(frozen=True, eq=False)
class StandingReport:
    """Which strands stand by themselves, and what was done about the others.

    Attributes:
        critical: factor on the stiffness below which the groomed shape falls, shape (G,): from 1 on it is unstable as
            it is; next to 0 it hangs and needs no stiffness. 0 where the root is hinged or free: such strands are not
            looked at, for no stiffness would do it.
        factor: what the stiffness must be multiplied by to stand with the margin, shape (G,), 1 where it need not be;
            infinite where no stiffness is enough.
        strain: sine of half the angle by which the most strained joint is bent away from its rest, shape (G,), before
            stiffening and to first order: from 1 on there is no such angle.
        is_clamped: whether the root is clamped, so that the strand was looked at, shape (G,).
        margin: over the critical factor.
        stiffened: whether the model that came back has `factor` in it.
    """

    critical: Float64Array
    factor: Float64Array
    strain: Float64Array
    is_clamped: NDArray[np.bool_]
    margin: float
    stiffened: bool

    @property
    def unstable_count(self) -> int:
        """Number of strands that would leave the groomed shape by themselves."""
        return int((self.critical >= 1).sum())

    @property
    def raised_count(self) -> int:
        """Number of strands that need more stiffness: unstable, too near to it, or strained too far."""
        return int((self.factor > 1).sum())

    @property
    def largest_factor(self) -> float:
        """Largest factor on the stiffness of a strand, 1 where none needs any."""
        return float(self.factor.max(initial=1.0))

    def __str__(self) -> str:
        count = len(self.critical)
        loose = count - int(self.is_clamped.sum())
        aside = f"; {loose} with hinged or free roots not stiffened" if loose else ""
        if self.raised_count == 0:
            return f"all {count - loose} clamped strands stand as groomed{aside}"
        deed = (
            'stiffened (stiffen_to_stand = "off" leaves them limp)' if self.stiffened else "would have to be stiffened"
        )
        hopeless = int(np.isinf(self.factor).sum())
        lost = f"; {hopeless} cannot stand at any stiffness and are left as they are" if hopeless else ""
        raised = self.factor[(self.factor > 1) & np.isfinite(self.factor)]
        fall = f"{self.unstable_count} of {count} strands would fall out of their groomed shape by their weight"
        if len(raised) == 0:
            return f"{fall}{lost}{aside}"
        middle, most = float(np.median(raised)), float(raised.max())
        if middle > UNBELIEVABLE:
            doubt = f"half of them more than {UNBELIEVABLE:,} times, as no hair is: check their unit"
        else:
            softest = f"more than {UNBELIEVABLE:,}" if most > UNBELIEVABLE else f"{most:.3g}"
            doubt = f"half of them less than {middle:.3g} times, the softest {softest} times"
        return f"{fall}; {len(raised)} {deed}: {doubt}, for a margin of {self.margin:g}{lost}{aside}"


def stiffen_to_stand(
    model: StrandModel, *, mode: str = "on", margin: float = DEFAULT_MARGIN
) -> tuple[StrandModel, StandingReport]:
    """Make the groomed shape of every clamped strand a stable equilibrium under gravity.

    Args:
        model: strands as groomed.
        mode: "on" multiplies bending and twisting stiffness of the strands that need it; "report" only says which
            would; "off" does not even look, and reports that all stand.
        margin: the stiffness is made at least this many times the critical one; above 1.

    Returns:
        The model, the same object unless it was stiffened, and a report whose `str` is one line.
    """
    require_choice("stiffen_to_stand", mode, MODES)
    if not (np.isfinite(margin) and margin > 1):
        raise ValueError(f"margin: must be a finite number above 1, got {margin}")
    is_clamped = model.root_kind == RootKind.CLAMPED
    critical, strain = np.zeros((2, model.strand_count))
    if mode != "off":
        kernels.find_stiffening(
            model.rest_points,
            model.mass,
            model.bend_stiffness,
            model.twist_stiffness,
            model.joint_length,
            is_clamped,
            model.gravity,
            critical,
            strain,
        )
    # The strain falls in proportion as the stiffness rises.
    factor = np.maximum(1.0, np.maximum(margin * critical, strain / LARGEST_STRAIN))
    stiffened = mode == "on" and bool((factor > 1).any())
    report = StandingReport(critical, factor, strain, is_clamped, margin, stiffened)
    return (_stiffened(model, factor) if stiffened else model), report


def _stiffened(model: StrandModel, factor: Float64Array) -> StrandModel:
    # A strand that no stiffness can hold is left as it is.
    usable = np.where(np.isfinite(factor), factor, 1.0)[:, None]
    return replace(model, bend_stiffness=model.bend_stiffness * usable, twist_stiffness=model.twist_stiffness * usable)

"""`Look`: what hair is made of, as light sees it; and the presets `LOOKS`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from mane.geometry.arclength import arc_lengths
from mane.geometry.checks import FloatArray, IntArray, as_floats, require_choice
from mane.groom.groom import Groom
from mane.render import pigments
from mane.render.fibre import Fibre
from mane.render.pigments import Floats
from mane.render.strand_numbers import strand_numbers, uniform

Triple = tuple[float, float, float]

MODELS = ("kajiya", "marschner")
STYLE_LEVEL = "style_level"  # attribute of a groom: between which of several looks each point is, 0 the first

# Lowest and highest value of every number.
RANGES: dict[str, tuple[float, float]] = {
    "eumelanin": (0.0, 20.0),
    "pheomelanin": (0.0, 20.0),
    "dye_strength": (0.0, 1.0),
    "grey_fraction": (0.0, 1.0),
    "roughness": (0.1, 1.0),
    "azimuthal_roughness": (0.1, 1.0),
    "tilt": (-0.2, 0.2),
    "index": (1.2, 2.0),
    "variation": (0.0, 1.0),
    "tip_pigment": (0.0, 4.0),
    "tip_start": (0.0, 1.0),
    "wetness": (0.0, 1.0),
    "translucency": (0.0, 1.0),
    "multiple_scattering": (0.0, 1.0),
}

WET_ABSORPTION = 0.9  # light crosses a soaked lock on longer ways: so much more pigment on top of each
WET_SCATTERING = 0.35  # share of the scattered light that is lost in the water
WET_SMOOTHNESS = 0.5  # a film of water fills the gaps between the scales: so much less roughness
CLEAR_ABSORPTION = 0.5  # what full translucency takes away from the absorption,
CLEAR_DENSITY = 0.7  # from the shadow of hair on hair,
CLEAR_GLOSS = 1.0  # and adds to the highlights
# A white hair among dark ones looks grey: the hair around takes light away, which the shading, whose light inside the
# hair comes from strands of one colour, would give it. So much absorption stands in for that if all others are dark.
GREY_ABSORPTION = 0.25
HUE_SPREAD = 0.35  # how much strands differ in hue, as a share of how much they differ in depth


@dataclass(frozen=True)
class Look:
    """How hair looks; `dataclasses.replace(look, ...)` makes a variation.

    Attributes:
        model: "marschner" (physically based lobes, the default) or "kajiya" (Kajiya-Kay with Goldman's transmission,
            which conserves nothing).
        eumelanin: concentration of brown-black pigment: 0 is white, 0.1 to 0.3 blond, 1 brown, 6 black.
        pheomelanin: concentration of red-yellow pigment, 0 to some 3.
        color: linear RGB reflectance that a thick lock should have, instead of the melanins; None for melanin.
        uses_groom_color: take the groom's own attribute `color` as that reflectance.
        dye: linear RGB reflectance that a dye alone would give to white hair; None for no dye.
        dye_strength: how much of the dye the hair has taken up, 0 to 1.
        grey_fraction: share of the strands that have lost their pigment, 0 to 1.
        roughness: along the fibre, 0.1 to 1; dry hair has 0.2 to 0.4. Higher widens the highlights.
        azimuthal_roughness: around the fibre, 0.1 to 1; dry hair has 0.2 to 0.5. Higher makes hair milky.
        tilt: angle of the cuticle's scales [rad]; 0.03 to 0.07 on human hair. It parts the white highlight from the
            coloured one.
        index: index of refraction.
        variation: how much strands differ in pigment, standard deviation of its logarithm, 0 to 1.
        tip_pigment: pigment at the tip as a share of that at the root, 0 to 4; below 1 the sun has bleached the tips.
        tip_color: linear RGB reflectance of dyed tips; None for tips like the rest.
        tip_start: share of the length at which the tip's colour sets in, 0 to 1.
        wetness: 0 (dry) to 1 (soaked): darker, with sharper highlights.
        translucency: 0 (physical) to 1: the artistic look of chang2002 7.5, more light through hair and more gloss.
        multiple_scattering: share of the light that went from fibre to fibre before, 0 to 1 (all).
    """

    model: str = "marschner"
    eumelanin: float = 1.0
    pheomelanin: float = 0.3
    color: Triple | None = None
    uses_groom_color: bool = False
    dye: Triple | None = None
    dye_strength: float = 1.0
    grey_fraction: float = 0.0
    roughness: float = 0.22
    azimuthal_roughness: float = 0.3
    tilt: float = 0.05
    index: float = 1.55
    variation: float = 0.2
    tip_pigment: float = 0.8
    tip_color: Triple | None = None
    tip_start: float = 0.4
    wetness: float = 0.0
    translucency: float = 0.0
    multiple_scattering: float = 1.0

    def __post_init__(self) -> None:
        require_choice("look.model", self.model, MODELS)
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"look.{name}: must lie between {low:g} and {high:g}, got {value}")
        for name in ("color", "dye", "tip_color"):
            _check_color(self, name)

    @property
    def fibre(self) -> Fibre:
        """The fibre's optics; water smooths it."""
        smooth = 1.0 - WET_SMOOTHNESS * self.wetness
        low = RANGES["roughness"][0]
        around = max(self.azimuthal_roughness * smooth, low)
        return Fibre(self.index, max(self.roughness * smooth, low), around, self.tilt)

    @property
    def lobe_gains(self) -> Floats:
        """Artistic factor on R, TT, TRT and the rest, shape (4,); all 1 unless translucent."""
        return 1.0 + CLEAR_GLOSS * self.translucency * np.array([1.0, 0.5, 1.0, 0.0])

    @property
    def shadow_density(self) -> float:
        """Factor on the number of hairs in the light's way; 1 unless translucent."""
        return 1.0 - CLEAR_DENSITY * self.translucency

    @property
    def scattered_share(self) -> float:
        """Share of the light from fibre to fibre that is kept."""
        return self.multiple_scattering * (1.0 - WET_SCATTERING * self.wetness)

    def strand_colors(self, groom: Groom, chosen: IntArray | None = None) -> FloatArray:
        """Return what `shade_vertices` takes as `colors`, one row per point of the groom, shape (P, 3).

        Rows of points that are not among the numbers `chosen` are zero; None chooses all.

        For "marschner" it is the share of light left along a diameter of the fibre, for "kajiya" linear reflectance.
        Strands differ by their attribute `id`, else by `root_uv`, else by the place of their root, never by their
        order. Without the first two, each strand's tint changes when its root moves, so give moving hair ids.
        """
        numbers = strand_numbers(groom)
        rows: IntArray | slice = slice(None) if chosen is None else chosen
        owner, along = groom.strand_of_point[rows], _length_shares(groom, rows)
        base, factors = self._base_absorption(groom), self._strand_factors(numbers)
        fade = np.float32(self.tip_pigment) ** along
        is_grey = (uniform(numbers, 3) < self.grey_fraction)[owner]
        base = base if len(base) == 1 else base[rows]
        colors = np.zeros((groom.point_count, 3), np.float32)
        for channel in range(3):  # one at a time: a head of hair has millions of points
            absorption = self._dyed_tips(base[:, channel] * fade, along, channel) * factors[owner, channel]
            absorption[is_grey] = pigments.KERATIN[channel] + GREY_ABSORPTION * (1.0 - self.grey_fraction)
            colors[rows, channel] = self._color(absorption)
        return colors

    def _color(self, absorption: FloatArray) -> FloatArray:
        """What the model takes as colour, with water and translucency taken into account."""
        change = (1.0 + WET_ABSORPTION * self.wetness) * (1.0 - CLEAR_ABSORPTION * self.translucency)
        absorption = absorption * np.float32(change)
        if self.model == "kajiya":
            return pigments.reflectance_from_absorption(absorption, self.azimuthal_roughness)
        return pigments.transmittance(absorption)

    def _dyed_tips(self, absorption: FloatArray, along: FloatArray, channel: int) -> FloatArray:
        """Absorption of one channel with the tips' own colour, for points `along` (P,) their strands."""
        if self.tip_color is None:
            return absorption
        tips = pigments.absorption_from_reflectance(self.tip_color[channel], self.azimuthal_roughness)
        blend = _smooth_step((along - self.tip_start) / max(1.0 - self.tip_start, 1e-6))
        return absorption + blend * (np.float32(tips) - absorption)

    def _base_absorption(self, groom: Groom) -> FloatArray:
        """Absorption at the root, shape (1, 3), or (P, 3) where the groom has colours of its own."""
        if self.uses_groom_color:
            base = pigments.absorption_from_reflectance(groom.per_vertex("color"), self.azimuthal_roughness)
        elif self.color is not None:
            base = pigments.absorption_from_reflectance(self.color, self.azimuthal_roughness)[None]
        else:
            base = pigments.melanin_absorption(self.eumelanin, self.pheomelanin)[None]
        if self.dye is not None:
            base = base + self.dye_strength * pigments.absorption_from_reflectance(self.dye, self.azimuthal_roughness)
        return base.astype(np.float32)

    def _strand_factors(self, numbers: NDArray[np.uint64]) -> FloatArray:
        """Factor on each strand's absorption, shape (S, 3)."""
        depth, hue = ndtri(uniform(numbers, 1)), ndtri(uniform(numbers, 2))
        logarithm = depth[:, None] + HUE_SPREAD * hue[:, None] * np.array([-1.0, 0.0, 1.0])
        result: FloatArray = np.exp(self.variation * logarithm).astype(np.float32)
        return result


def _check_color(look: Look, name: str) -> None:
    value = getattr(look, name)
    if value is None:
        return
    color = as_floats(f"look.{name}", value, (3,))
    if (color < 0).any() or (color > 1).any():
        raise ValueError(f"look.{name}: must lie between 0 and 1, got {color.tolist()}")
    object.__setattr__(look, name, tuple(float(v) for v in np.asarray(value, np.float64)))


def _length_shares(groom: Groom, rows: IntArray | slice) -> FloatArray:
    """How far along its strand each of some points lies, 0 at the root to 1 at the tip."""
    lengths = arc_lengths(groom.points, groom.offsets)
    whole = np.maximum(lengths[groom.offsets[1:] - 1], 1e-12)
    return (lengths[rows] / whole[groom.strand_of_point[rows]]).astype(np.float32)


def _smooth_step(x: FloatArray) -> FloatArray:
    x = np.clip(x, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)


_BROWN = Look()
_BLEACHED = Look(eumelanin=0.03, pheomelanin=0.0, variation=0.25, tip_pigment=0.9)

LOOKS: dict[str, Look] = {
    "black": Look(
        eumelanin=6.0, pheomelanin=0.0, roughness=0.17, azimuthal_roughness=0.25, variation=0.15, tip_pigment=0.9
    ),
    "dark_brown": replace(_BROWN, eumelanin=2.0),
    "brown": _BROWN,
    "light_brown": replace(_BROWN, eumelanin=0.6, pheomelanin=0.15),
    "auburn": replace(_BROWN, eumelanin=0.4, pheomelanin=2.0),
    "red": replace(_BROWN, eumelanin=0.12, pheomelanin=1.1),
    "blond": Look(eumelanin=0.11, pheomelanin=0.09, roughness=0.28, variation=0.3, tip_pigment=0.7),
    "platinum": Look(eumelanin=0.04, pheomelanin=0.02, roughness=0.28, variation=0.3),
    "grey": Look(eumelanin=1.5, pheomelanin=0.0, grey_fraction=0.6, roughness=0.28),
    "white": Look(eumelanin=0.01, pheomelanin=0.0, roughness=0.28),
    "dyed_blue": replace(_BLEACHED, dye=(0.006, 0.05, 0.35)),
    "dyed_pink": replace(_BLEACHED, dye=(0.70, 0.05, 0.22)),
    "dyed_green": replace(_BLEACHED, dye=(0.01, 0.20, 0.06)),
    "dyed_purple": replace(_BLEACHED, dye=(0.14, 0.02, 0.30)),
    "ombre": replace(_BROWN, eumelanin=1.6, tip_color=(0.55, 0.34, 0.16), tip_start=0.25),
    "wet": replace(_BROWN, wetness=1.0),
    "translucent": replace(_BROWN, eumelanin=0.5, pheomelanin=0.5, translucency=1.0),
    "painted": Look(uses_groom_color=True, variation=0.0, tip_pigment=1.0),
}

"""Light on hair: what a fibre sends to the eye from one light, or from the sky, per vertex.

`pack_look` turns a `Look` into one float32 vector (settings and tables) that the kernels read; `shade_vertices` is then
called once per light and `shade_ambient` once, all adding into the same array.

What the default model "marschner" keeps, for every roughness from 0.1 to 1 (tests/validation/test_furnace.py): a clear
fibre in even light is as bright as the light within 0.2 percent, and scattering is reciprocal for a fibre without tilt.
`translucency` gives both up on purpose. Light that goes from hair to hair is approximated (`hair_mass`). Mean light
over that of a path tracer, from black to white: lamps 0.76 to 1.03 on a curly head, 0.58 (black) to 1.77 (white) on a
sleek straight one; sky 0.70 to 1.13. The leak and the sky's middle were chosen on these same two heads, so expect no
better of others. "kajiya" (Kajiya and Kay 1989 with Goldman's transmission of 1997, chang2002 6) conserves nothing and
scatters no light from hair to hair.
"""

from __future__ import annotations

from dataclasses import astuple
from functools import lru_cache

import numpy as np

from mane.geometry.checks import FloatArray
from mane.render import _kernels_shading as kernels
from mane.render.fibre import Fibre, Floats, azimuthal_lobes, balance, longitudinal_norm
from mane.render.hair_mass import DIFFUSIVITY, LEAK, MANY, half_circle_means, scatter_variances, scattered_shares
from mane.render.looks import Look

FINE = 2  # azimuths of the inner sums per azimuth of the table


def pigment_nodes() -> Floats:
    """Transmittance of the pigment at each node of the tables."""
    return np.linspace(0.0, 1.0, kernels.PIGMENT_NODES) ** 2


def lobe_header(fibre: Fibre, lobe_gains: Floats) -> dict[int, Floats]:
    """Settings of the lobes and of scattered light: first slot of the header -> numbers."""
    variances = np.concatenate([fibre.variances, scatter_variances(fibre)])
    norms = longitudinal_norm(variances)
    norms[: kernels.LOBES] *= lobe_gains
    return {
        kernels.INV_VARIANCE: 1.0 / variances,
        kernels.NORM: norms,
        kernels.COS_SHIFT: np.cos(fibre.shifts),
        kernels.SIN_SHIFT: np.sin(fibre.shifts),
        kernels.DIFFUSE_PATH: np.array([DIFFUSIVITY, 1.0 + LEAK, 1.0 / MANY]),
    }


def lobe_tables(fibre: Fibre) -> FloatArray:
    """All tables of a fibre in the order of `kernels.LOBE_TABLE` and on, one vector."""
    phi = np.linspace(0.0, np.pi, FINE * (kernels.PHI_NODES - 1) + 1)
    wide_phi = np.linspace(0.0, np.pi, kernels.SPREAD_PHI_NODES)
    cosines = np.linspace(0.0, 1.0, kernels.COSINE_NODES)
    lobes, spreads, shares = [], [], []
    for cosine in cosines:
        exact = azimuthal_lobes(fibre, phi, float(cosine), pigment_nodes())
        total = exact.sum(axis=-1)
        lobes.append(exact[::FINE])
        spreads.append(np.stack(half_circle_means(phi, total, wide_phi), axis=-1))
        shares.append(np.stack(astuple(scattered_shares(phi, total)), axis=-1))
    inclination = 2.0 * np.arctan(np.linspace(-1.0, 1.0, kernels.BALANCE_NODES))
    tables = [np.stack(lobes, axis=1), np.stack(spreads, axis=1), np.stack(shares), *balance(fibre, inclination)]
    return np.concatenate([table.ravel() for table in tables]).astype(np.float32)


KAJIYA_DIFFUSE = 1.2 / np.pi  # a lock that faces the light is about as bright as a matte surface of its colour
KAJIYA_SPECULAR = 0.08
KAJIYA_TRANSMIT = 0.4  # light from behind, per light from the front
HALF_SKY = np.float32(0.5)


@lru_cache(maxsize=32)
def pack_look(look: Look) -> FloatArray:
    """Return the look as the kernels read it: one read-only float32 vector, made once per look."""
    packed = np.zeros(kernels.PACKED_SIZE if look.model == "marschner" else kernels.HEADER_SIZE, np.float32)
    packed[kernels.DENSITY] = look.shadow_density
    packed[kernels.MULTIPLE] = look.scattered_share
    if look.model == "marschner":
        packed[kernels.MODEL] = kernels.MARSCHNER
        for slot, values in lobe_header(look.fibre, look.lobe_gains).items():
            packed[slot : slot + len(values)] = values
        packed[kernels.LOBE_TABLE :] = lobe_tables(look.fibre)
    else:
        packed[kernels.MODEL] = kernels.KAJIYA
        packed[kernels.DIFFUSE] = KAJIYA_DIFFUSE
        packed[kernels.SPECULAR] = KAJIYA_SPECULAR * look.lobe_gains[0]
        packed[kernels.EXPONENT] = 1.0 / look.fibre.variances[0]
        packed[kernels.TRANSMIT] = KAJIYA_TRANSMIT + (1.0 - KAJIYA_TRANSMIT) * look.translucency
        packed[kernels.BACKWARD] = 1.0
    packed.flags.writeable = False
    return packed


def shade_vertices(
    packed: FloatArray,
    tangents: FloatArray,
    to_eye: FloatArray,
    colors: FloatArray,
    to_light: FloatArray,
    light_rgb: FloatArray,
    scatter: FloatArray,
    out: FloatArray,
) -> None:
    """Add to `out` the radiance that each vertex sends to the eye from one light.

    Everything is float32, C-contiguous and trusted; the result does not depend on the thread count.

    Args:
        packed: `pack_look(look)`.
        tangents: unit tangent of the fibre, root to tip, shape (N, 3).
        to_eye: unit direction from the vertex to the eye, shape (N, 3).
        colors: `look.strand_colors(groom)` at the vertices, linear interpolation along a strand is fine, shape (N, 3).
        to_light: unit direction to the light, shape (N, 3), or (1, 3) for all.
        light_rgb: irradiance at the vertex on a surface facing the light, after distance, cone and the shadow of
            SOLIDS, but NOT of hair; shape (N, 3), or (1, 3) for all.
        scatter: expected number of hairs that the light crosses on its way to the vertex, which is the optical
            depth of opaque hairs, -log(transmittance) of an opacity shadow map, shape (N,). Hair shadow,
            its colour and multiple scattering all come from this number, in here.
        out: radiance towards the eye, linear RGB, added to in place, shape (N, 3).
    """
    kernel = kernels.shade_marschner if packed[kernels.MODEL] == kernels.MARSCHNER else kernels.shade_kajiya
    kernel(packed, tangents, to_eye, colors, to_light, light_rgb, scatter, out)


def shade_ambient(
    packed: FloatArray,
    tangents: FloatArray,
    to_eye: FloatArray,
    colors: FloatArray,
    sky_rgb: FloatArray,
    scatter: FloatArray,
    out: FloatArray,
    openness: FloatArray | None = None,
) -> None:
    """Add to `out` the radiance that each vertex sends to the eye from light that comes from everywhere.

    Light from the eye's side is scattered back by a fibre and light from behind it is scattered on, which is far
    more. So it matters how much of the sky is open at all: the open part is taken to lie towards the eye, for what
    is seen is open that way.

    Args:
        packed: `pack_look(look)`.
        tangents: unit tangent of the fibre, root to tip, shape (N, 3).
        to_eye: unit direction from the vertex to the eye, shape (N, 3).
        colors: as in `shade_vertices`, shape (N, 3).
        sky_rgb: radiance that arrives after the solids, not the hair, averaged over all directions, those that the
            solids block included; shape (N, 3), or (1, 3) for all.
        scatter: number of hairs that would dim this light as much as the hair does, shape (N,).
        out: radiance towards the eye, linear RGB, added to in place, shape (N, 3).
        openness: share of all directions that the solids leave open, shape (N,); None takes a half, which suits hair
            that lies on something.
    """
    if packed[kernels.MODEL] == kernels.MARSCHNER:
        sky_share = np.full(1, HALF_SKY) if openness is None else openness
        kernels.shade_marschner_ambient(packed, tangents, to_eye, colors, sky_rgb, scatter, sky_share, out)
    else:
        kernels.shade_kajiya_ambient(packed, colors, sky_rgb, scatter, out)

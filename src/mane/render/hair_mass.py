"""Light inside a mass of hair: what reaches a fibre after other fibres have scattered it.

In the spirit of dual scattering (Zinke et al. 2008), forward light on its way from the lamp and backward light from
the hairs behind are kept apart; but instead of counting single turns, the two exchange light at every hair (two
streams, as Schuster, Kubelka and Munk have it for paint), so no light is lost in light hair. Depth n is the expected
number of hairs on the straight way to the lamp. With F the forward and B the backward stream, besides the beam
exp(-n) itself:

    F' = -g1 F + g2 B + s_f exp(-n),   B' = g1 B - g2 F - s_b exp(-n),   F(0) = 0, both finite deep inside.

a_f and a_b are the shares that a fibre sends on and back when light comes evenly from half of all azimuths, s_f and
s_b the same for the beam, g1 = D (1 - a_f) and g2 = D a_b, where D is how much longer slanting light stays at a given
depth. The solution is F = Q (exp(-k n) - exp(-n)) / (1 - k) and B = R F + B0 exp(-n).

Limits: the mass is taken as deep and even, with one LEAK for all the light that real, finite locks lose sideways and to
the skin below, so the fringe of light hair is a little too bright and the middle of a thick bun too dark; inclination
is kept along the way, which is exact for parallel fibres only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mane.render.fibre import Fibre, Floats

# Even light from half a circle has D = pi/2, a beam has 1. Between them, 1.3 comes within some ten percent of the exact
# solution of the transport equation from black to white hair (tests/validation/test_furnace.py).
DIFFUSIVITY = 1.3
LEAK = 0.03  # share of the scattered light lost at each hair; chosen beside two path-traced heads, see `shading`

NEAR_SCATTER, FAR_SCATTER = 2.0, 8.0  # longitudinal variance of light from few and from many hairs, per that of lobe R
WIDEST = 1.0  # a variance [rad2] at which the longitudinal function is flat already
MANY = 4.0  # depth at which half of the scattered light counts as coming from many hairs


@dataclass(frozen=True)
class Shares:
    """Where a fibre sends light, one array element per pigment; all that the streams depend on.

    Attributes:
        forward: a_f.
        backward: a_b.
        beam_forward: s_f.
        beam_backward: s_b.
    """

    forward: Floats
    backward: Floats
    beam_forward: Floats
    beam_backward: Floats


@dataclass(frozen=True)
class Streams:
    """The solution's numbers, one array element per pigment.

    Attributes:
        rate: k, decay of the scattered light per hair.
        gain: Q D, forward light made from the beam.
        turned: R, backward light per forward light; what a very deep mass reflects.
        first: B0 D, backward light that the beam itself causes.
    """

    rate: Floats
    gain: Floats
    turned: Floats
    first: Floats


def scatter_variances(fibre: Fibre) -> Floats:
    """Longitudinal variance of light that has passed few and many hairs [rad2], shape (2,)."""
    result: Floats = np.minimum(fibre.variances[0] * np.array([NEAR_SCATTER, FAR_SCATTER]), WIDEST)
    return result


def scattered_shares(phi: Floats, density: Floats) -> Shares:
    """Shares of light by azimuth, for a scattering `density` (F, ...) on the even grid `phi` (F,) from 0 to pi."""
    per_angle = np.moveaxis(density, 0, -1) * circle_weights(phi)
    onward = phi / np.pi  # share of half-circle pairs of directions that phi keeps in the forward half
    beyond = np.where(phi > 0.5 * np.pi, 1.0, 0.0)
    beyond[np.isclose(phi, 0.5 * np.pi)] = 0.5
    return Shares(per_angle @ onward, per_angle @ (1.0 - onward), per_angle @ beyond, per_angle @ (1.0 - beyond))


def solve_streams(shares: Shares, leak: float = LEAK) -> Streams:
    """Solve the two streams."""
    lost, turned_back = DIFFUSIVITY * (1.0 - shares.forward + leak), DIFFUSIVITY * shares.backward
    rate = np.sqrt(np.maximum(lost**2 - turned_back**2, 0.0))
    turned = (lost - rate) / turned_back
    first = DIFFUSIVITY * (shares.beam_backward + turned * shares.beam_forward) / (1.0 + rate)
    gain = DIFFUSIVITY * shares.beam_forward + turned_back * first
    return Streams(rate, gain, turned, first)


def circle_weights(phi: Floats) -> Floats:
    """Weights of an integral over the whole circle on the even grid `phi` from 0 to pi."""
    weight = 2.0 * np.gradient(phi)
    weight[[0, -1]] *= 0.5
    return weight


def half_circle_means(phi: Floats, density: Floats, at: Floats) -> tuple[Floats, Floats]:
    """What a fibre sends to azimuths `at` (A,) from unit light spread over the front and over the rear half-circle.

    `density` (F, ...) on the even grid `phi` (F,) from 0 to pi; two arrays of shape (A, ...).
    """
    step = phi[1] - phi[0]
    cumulative = np.zeros_like(density)
    cumulative[1:] = np.cumsum(0.5 * (density[1:] + density[:-1]) * step, axis=0)
    total = 2.0 * cumulative[-1]
    front = (_integral_to(phi, cumulative, at + 0.5 * np.pi) - _integral_to(phi, cumulative, at - 0.5 * np.pi)) / np.pi
    return front, total / np.pi - front


def _integral_to(phi: Floats, cumulative: Floats, angle: Floats) -> Floats:
    """Integral of the even, periodic density from 0 to `angle` (A,), which lies between -pi and 2 pi."""
    folded = np.where(angle > np.pi, 2.0 * np.pi - angle, np.abs(angle))
    position = folded / (phi[1] - phi[0])
    node = np.minimum(position.astype(np.int64), len(phi) - 2)
    part = (position - node).reshape(-1, *[1] * (cumulative.ndim - 1))
    value = cumulative[node] * (1.0 - part) + cumulative[node + 1] * part
    sign = np.where((angle < 0.0) | (angle > np.pi), -1.0, 1.0).reshape(part.shape)
    result: Floats = np.where((angle > np.pi).reshape(part.shape), 2.0 * cumulative[-1], 0.0) + sign * value
    return result

"""The smooth spine of curly strands, which a chain can move in their place (chang2002 section 8)."""

from __future__ import annotations

import numpy as np

from mane.strand.model import Float64Array

MIN_CURLS = 2.0  # fewer waves than this along a strand are its shape, not its curl
MIN_WAVE = 0.5  # share of the tangents' wavering that is one wave: a bend where hair leaves the head has many
MIN_SHARE = 0.05  # of a segment's length that the spine's segment keeps: a curl of many turns per vertex has no spine


def spine_points(points: Float64Array) -> Float64Array:
    """Spines (G, V, 3) of strands (G, V, 3): every strand averaged over one wavelength of its curl.

    Averaging over a whole wave removes the wave and keeps the course of the strand. Towards either end the window
    shrinks evenly, so that root and tip stay where they are. Strands without a curl come back as they are.
    """
    spines = points.copy()
    for strand, wavelength in enumerate(curl_wavelengths(points)):
        if np.isfinite(wavelength):
            spines[strand] = _averaged(points[strand], wavelength)
    return spines


def curl_wavelengths(points: Float64Array) -> Float64Array:
    """Length along the strand [m] of one curl, shape (G,); infinite where a strand has none.

    It is the strongest wave in the tangents, once their slow course (a quadratic in the vertex number) is taken out. A
    strand is curly when that wave is at least `MIN_WAVE` of the rest and comes at least `MIN_CURLS` times.
    """
    steps = np.diff(points, axis=1)
    lengths = np.linalg.norm(steps, axis=2)
    tangents = steps / lengths[..., None]
    count = tangents.shape[1]
    basis, _ = np.linalg.qr(np.vander(np.linspace(-1, 1, count), 3))
    waves = tangents - np.einsum("nk,mk,gmd->gnd", basis, basis, tangents)
    padded = 4 * count  # a finer grid of wavelengths than the segments alone would give
    power = (np.abs(np.fft.rfft(waves, padded, axis=1)) ** 2).sum(axis=2)
    strongest = np.maximum(power[:, 1:].argmax(axis=1) + 1, 1)
    curls = strongest / 4.0
    share = 2 * power.max(axis=1) / np.maximum(count * (waves**2).sum(axis=(1, 2)), np.finfo(np.float64).tiny)
    is_curly = (curls >= MIN_CURLS) & (share > MIN_WAVE) & (power.max(axis=1) > 1e-12 * count**2)
    return np.where(is_curly, lengths.sum(axis=1) / curls, np.inf)


def _averaged(points: Float64Array, window: float) -> Float64Array:
    """One strand (V, 3), each vertex replaced by the mean over up to half a `window` [m] of arc length either side."""
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    arc = np.concatenate([[0.0], np.cumsum(lengths)])
    half = np.minimum(0.5 * window, np.minimum(arc, arc[-1] - arc))
    inner = half > 0
    mean = points.copy()
    high, low = (_integral(points, arc, arc[inner] + side * half[inner]) for side in (1, -1))
    mean[inner] = (high - low) / (2 * half[inner, None])
    kept = np.linalg.norm(np.diff(mean, axis=0), axis=1)
    return mean if (kept > MIN_SHARE * lengths).all() else points


def _integral(points: Float64Array, arc: Float64Array, where: Float64Array) -> Float64Array:
    """Integral of the polyline over arc length, from the root to each place `where`, shape (W, 3)."""
    segment = np.clip(np.searchsorted(arc, where, side="right") - 1, 0, len(arc) - 2)
    whole = np.concatenate(
        [np.zeros((1, 3)), np.cumsum(0.5 * (points[1:] + points[:-1]) * np.diff(arc)[:, None], axis=0)]
    )
    beyond = (where - arc[segment])[:, None]
    slope = (points[segment + 1] - points[segment]) / (arc[segment + 1] - arc[segment])[:, None]
    return whole[segment] + points[segment] * beyond + 0.5 * slope * beyond**2

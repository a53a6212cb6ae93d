"""Places of a segment near a comb that are looked at: few, and none is left out that may touch."""

import numpy as np

from mane.body.props import make_comb
from mane.contact.solids._kernels_projection import places_beyond

INNER, REACH = 31, 4e-4  # places between the ends of a segment of 16 mm, and how far any of them moves [m]


def test_places_that_may_touch_a_tooth_are_never_skipped_and_most_others_are():
    comb = make_comb().shape
    rng = np.random.default_rng(7)
    visited, touching = 0, 0
    for _ in range(300):
        middle = rng.uniform([-0.07, -0.03, -0.006], [0.07, 0.0, 0.006])
        along = rng.normal(size=3)
        along *= 0.008 / np.linalg.norm(along)
        places = middle + np.linspace(-1, 1, INNER + 2)[:, None] * along
        distance = comb.distance(places.astype(np.float32)).astype(np.float64)
        spacing = 0.016 / (INNER + 1)
        k = 1 + places_beyond(distance[0], REACH, spacing, INNER)
        last = INNER - places_beyond(distance[-1], REACH, spacing, INNER)
        looked_at = np.zeros(INNER + 2, np.bool_)
        while k <= last:
            looked_at[k] = True
            k += 1 + places_beyond(distance[k], REACH, spacing, INNER)
        inside = np.arange(INNER + 2) % (INNER + 1) != 0
        assert not (inside & ~looked_at & (distance < REACH)).any()
        visited += looked_at.sum()
        touching += (inside & (distance < REACH)).sum()
    assert touching > 300
    assert visited < 0.5 * 300 * INNER

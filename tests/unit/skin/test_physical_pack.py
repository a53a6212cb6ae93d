"""What one sweep reads of hairs, packed by the kernel, against the solution in plain NumPy."""

import numpy as np
import pytest
from skin_frames import curls, guides_of

from mane.skin.physical.blocks import HairBlocks
from mane.skin.physical.mechanics import HairMechanics
from mane.skin.physical.rest import solve_rest
from mane.skin.physical.skin import PhysicalSkin
from mane.strand.material import Material

HAIR = Material(young=4e9, radius=4e-5)
GRAVITY = 9.81


def packed_plainly(skin):
    """`data` of a skin by `solve_rest` and `HairBlocks.pack`."""
    groom, params = skin.groom, skin.params
    bend, strain = skin._scaled(HairMechanics.of(HAIR, groom, skin._loads.forces.gravity))
    still = skin._inherited(
        skin._loads.at_rest, np.tile([0.0, 0.0, 0.0, 1.0], (skin.guides.capacity + 1, 1)), skin._weight
    )
    every = slice(0, groom.strand_count)
    points = groom.as_uniform().astype(np.float64)
    rest = solve_rest(points, still.of_hairs(every)[0], bend, strain, params)
    lanes: HairBlocks = skin._lanes
    data = lanes.empty_data(points.shape[1])
    lanes.pack(np.arange(len(points)), rest, points - skin._pivot, skin._weight, 1 - params.alpha, skin._keep, data)
    return data


@pytest.mark.parametrize("settings", [{}, {"load": "force"}, {"alpha": 0.4, "drift": 3.0}, {"sag_free": False}])
def test_the_kernel_packs_what_the_plain_solution_packs(settings):
    groom = curls(70, 12)
    skin = PhysicalSkin(groom, guides_of(groom, 8), material=HAIR, **settings)
    expected = packed_plainly(skin)
    size = np.abs(expected).max(axis=(0, 2))[:, None]  # of each row: single numbers of a vector may be near zero
    np.testing.assert_allclose(skin._data / size, expected / size, atol=4e-7)


def test_hairs_of_one_material_differ_by_their_lengths_alone():
    groom = curls(70, 12)
    one = HairMechanics.of(HAIR, groom, GRAVITY)
    same = Material(young=np.full(70, 4e9), radius=4e-5)  # the same numbers, said for each hair
    assert HAIR.is_uniform
    assert not same.is_uniform
    each = HairMechanics.of(same, groom, GRAVITY)
    np.testing.assert_allclose(one.bend, each.bend, rtol=1e-6)
    np.testing.assert_allclose(one.strain, each.strain, rtol=1e-6)

"""Hairs packed into lanes and found again."""

import numpy as np
import pytest
from skin_frames import curls, guides_of

from mane.geometry import quaternion
from mane.simd.f32x32 import QUARTER
from mane.skin.physical.skin import PhysicalSkin

EPS = np.finfo(np.float32).eps


@pytest.fixture(scope="module")
def skin():
    groom = curls(70, 12)
    return PhysicalSkin(groom, guides_of(groom, 8))


def test_every_hair_is_in_one_lane_of_a_quarter_of_its_bundle(skin):
    lanes = skin._lanes
    np.testing.assert_array_equal(np.sort(lanes.hair[lanes.is_filled]), np.arange(70))
    bundle = np.repeat(lanes.bundle, QUARTER, axis=1)
    np.testing.assert_array_equal(skin.bundles.of_hair[lanes.hair], bundle)


def test_what_is_packed_is_the_hair_without_force():
    groom = curls(70, 12)
    skin = PhysicalSkin(groom, guides_of(groom, 8), sag_free=False)  # its hairs feel nothing as groomed
    length, first, _, _ = skin._lanes.unpack(skin._data, np.arange(70))
    edge, frame = np.diff(groom.as_uniform().astype(np.float64), axis=1), np.array([0.0, 0.0, 0.0, 1.0])
    for i in range(first.shape[1]):
        frame = quaternion.multiply(frame, first[:, i])
        segment = length[:, i, None] * quaternion.rotate(frame, np.array([0.0, 0.0, 1.0]))
        # Of float32, and lengths are known from sums of two.
        np.testing.assert_allclose(segment, edge[:, i], atol=EPS * edge.shape[1] * length.max())


@pytest.mark.parametrize("wanted", [[0], [1, 3], [0, 1, 2]])
def test_lanes_of_some_bundles_have_their_part_of_the_data(skin, wanted):
    lanes = skin._lanes
    chosen = np.isin(np.arange(skin.bundles.bundle_count), wanted)
    part, data = lanes.of_bundles(chosen, skin._data)
    hairs = np.flatnonzero(chosen[skin.bundles.of_hair])
    np.testing.assert_array_equal(np.sort(part.hair[part.is_filled]), hairs)
    for row in range(len(part.hair)):
        for lane in np.flatnonzero(part.is_filled[row]):
            block, place = np.argwhere((lanes.hair == part.hair[row, lane]) & lanes.is_filled)[0]
            np.testing.assert_array_equal(data[row, :, lane], skin._data[block, :, place])

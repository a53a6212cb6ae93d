"""hsu2024 as printed: stencil and algorithm 1 against plain NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from skin_frames import SOMEWHERE, curls, frame_of, guides_of

from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.hsu2024 import _kernels as kernels
from mane.skin.hsu2024 import _reference as printed
from mane.skin.hsu2024.skin import Hsu2024Skin

BALL = Sphere((0.0, 0.15, 0.0), 0.06)


def moved_frame(guides, seed=0):
    """Guides that are bent and pulled every which way, on a head that has turned."""
    rng = np.random.default_rng(seed)
    along = np.linspace(0, 1, guides.vertex_count)[:, None]
    points = SOMEWHERE.apply(guides.rest) + 0.03 * rng.normal(size=(guides.capacity, 1, 3)) * along**2
    cut = 1e-5 * rng.normal(size=(guides.capacity, guides.vertex_count - 1, 3))
    frame = frame_of(guides, SOMEWHERE, points)
    return replace(frame, cut_force=cut.astype(np.float32), solid_poses=(SOMEWHERE,))


def at_place(curve, place):
    j = min(int(place), len(curve) - 2)
    return curve[j] + (place - j) * (curve[j + 1] - curve[j])


def by_hand(skin, frame, s, distance=None):
    """Hair `s` of a skin at a frame, from the paper's equations."""
    guide, places, weights = skin.binding.guides[s], skin._place[s], skin._share[s]
    rest, guide_rest = skin.groom.as_uniform()[s].astype(float), skin.guides.rest.astype(float)
    turn = quaternion.normalize(frame.root_rotations.astype(float))
    target, force = np.zeros_like(rest), np.zeros((len(rest) - 1, 3))
    for i in range(len(rest)):
        for k, g in enumerate(guide):  # eq. 9, displacements seen from the skin at the guides' roots
            before, now = (at_place(curve[g], places[i, k]) for curve in (guide_rest, frame.points.astype(float)))
            target[i] += weights[i, k] * (now + quaternion.rotate(turn[g], rest[i] - before))
            if i < len(force):  # eq. 10
                pulls = np.concatenate([frame.cut_force[g], np.zeros((1, 3))])
                force[i] += weights[i, k] * at_place(pulls.astype(float), places[i, k])
    hair = printed.ReferenceHair(
        skin._length[s].astype(float), skin._darboux[s].astype(float), skin._k_ss[s].astype(float),
        skin._k_bt[s].astype(float), skin._k_pen[s], skin.params.alpha,
    )  # fmt: skip
    return printed.interpolate_hair(hair, target[0], turn[guide[0]], force, target, distance)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_hairs_equal_the_algorithm_line_by_line(alpha):
    groom = curls(30, 9)
    guides = guides_of(groom, 6, 7)
    skin = Hsu2024Skin(groom, guides, alpha=alpha)
    frame = moved_frame(guides)
    hair = skin(frame)
    for s in range(0, 30, 3):
        # Lengths and rotations are kept in single precision; points lie within 2 m.
        np.testing.assert_allclose(hair[s], by_hand(skin, frame, s), atol=2e-6)


def test_penetrating_segments_are_solved_again():
    groom = curls(60, 9)
    guides = guides_of(groom, 8, 7)
    frame = moved_frame(guides)
    solid = Solid(BALL)
    skin, blind = Hsu2024Skin(groom, guides, solids=[solid]), Hsu2024Skin(groom, guides)

    def distance(point):
        depth, gradient = solid.distance_and_gradient(SOMEWHERE.inverse_apply(point[None]).astype(np.float32))
        return float(depth[0]), quaternion.rotate(SOMEWHERE.rotation, gradient[0].astype(float))

    hair, through = skin(frame), blind(frame)
    for s in range(0, 60, 6):
        np.testing.assert_allclose(hair[s], by_hand(skin, frame, s, distance), atol=5e-6)
    depths = [
        -np.minimum(solid.distance_and_gradient(SOMEWHERE.inverse_apply(one[:, 1:].reshape(-1, 3)))[0], 0).sum()
        for one in (hair, through)
    ]
    assert depths[1] > 0.05  # otherwise nothing was tried
    assert depths[0] < 0.5 * depths[1]


def test_the_inverse_of_theorem_4_1():
    rng = np.random.default_rng(2)
    v, b = rng.normal(size=3), rng.normal(size=4)
    matrix = printed.matrix_of(v)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-15)
    size = np.linalg.norm(v)
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix), [-size, -size, size, size], atol=1e-14)
    expected = np.linalg.solve(matrix - (size + np.linalg.norm(b)) * np.eye(4), b)
    assert np.linalg.norm(expected) < 1  # the multiplier is over-estimated
    np.testing.assert_allclose(kernels.orientation(*v, *b), expected / np.linalg.norm(expected), atol=1e-14)


def test_every_vertex_has_the_closest_places_and_its_coordinates_among_them():
    groom = curls(40, 12)
    guides = guides_of(groom, 8, 10)
    skin = Hsu2024Skin(groom, guides)
    points, rest = groom.as_uniform().astype(float), guides.rest.astype(float)
    inside = 0
    for s in range(40):
        np.testing.assert_array_equal(skin._place[s, 0], 0)
        for i in range(1, 12):
            chosen = [rest[g] for g in skin.binding.guides[s]]
            places = [printed.closest_place(points[s, i], guide) for guide in chosen]
            np.testing.assert_allclose(skin._place[s, i], places, atol=1e-5)
            corners = np.array([at_place(guide, place) for guide, place in zip(chosen, places, strict=True)])
            weights = skin._share[s, i].astype(float)
            assert weights.min() >= 0
            assert weights.sum() == pytest.approx(1, abs=1e-6)
            first, second = corners[1] - corners[0], corners[2] - corners[0]
            area = np.linalg.norm(np.cross(first, second))
            if area <= 1e-3 * max(first @ first, second @ second, (second - first) @ (second - first)):
                continue  # flat: the coordinates at the root
            off = points[s, i] - weights @ corners
            # No point of the triangle is closer: none of its corners lies ahead.
            scale = np.linalg.norm(corners - corners[0], axis=1).max()
            assert ((corners - weights @ corners) @ off).max() < 1e-5 * scale * max(np.linalg.norm(off), scale)
            inside += weights.min() > 0.01
    assert inside > 40


def test_guides_without_force_give_the_groom():
    """The paper's rest shape is that without load; turned and carried, without any force, hair keeps it."""
    groom = curls(50, 9)
    guides = guides_of(groom, 6, 7)
    hair = Hsu2024Skin(groom, guides)(frame_of(guides, SOMEWHERE))
    np.testing.assert_allclose(hair, SOMEWHERE.apply(groom.as_uniform()), atol=2e-6)


@pytest.mark.parametrize(("k_norm", "is_calm"), [(0.2, True), (0.1, False)])
def test_below_three_alpha_hair_turns_into_a_zigzag(k_norm, is_calm):
    """Small errors a of the tangent and G = gap / l go along a hair as a' = (1 - c) a - c G, G' = G + a', with
    c = 4 alpha / k_norm: they fade below c = 4 / 3, and grow by |1 - 3 c / 2| and more at every segment above."""
    points = np.zeros((1, 31, 3), np.float32)
    points[0, :, 2] = 0.01 * np.arange(31)
    groom = Groom.from_uniform(points)
    guides = Guides.from_groom(groom)
    aside = guides.rest.copy()
    aside[:, 2:, 0] += 1e-5
    hair = Hsu2024Skin(groom, guides, alpha=0.05, k_norm=k_norm)(frame_of(guides, points=aside))
    off = np.abs(hair - aside)[0].max(axis=1)
    assert (off[-5:].max() < 1e-6) == is_calm
    assert (off[-5:].max() > 1e-4) != is_calm


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 1.0}, "alpha: must be at least 0"),
        ({"k_norm": 0.0}, "k_norm"),
        ({"k_pen": -1.0}, "k_pen"),
    ],
)
def test_settings_are_checked(settings, message):
    groom = curls(3, 4)
    with pytest.raises(ValueError, match=message):
        Hsu2024Skin(groom, guides_of(groom, 1), **settings)

"""Guides of another file are laid onto their groom, whatever frame that file was in."""

import numpy as np
import pytest

from mane.groom.groom import Groom
from mane.groom.register import _turns, register_guides


def head(seed=0, count=900):
    """Strands on the upper half of a ball, longer at the back (-Z), hanging down; all different from side to side."""
    rng = np.random.default_rng(seed)
    away = rng.normal(size=(count, 3))
    away[:, 1] = np.abs(away[:, 1])
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    roots = 0.1 * away
    length = 0.15 - 0.08 * away[:, 2] + 0.03 * away[:, 0]
    s = np.linspace(0, 1, 8)[None, :, None]
    hang = away[:, None] * 0.3 * s * (1 - s) + np.array([0, -1.0, 0]) * s**2
    return Groom.from_uniform((roots[:, None] + length[:, None, None] * hang).astype(np.float32))


def guides_of(seed=1):
    """Strands of the same head that are none of the groom's."""
    return head(seed, 60)


def test_guides_that_lie_on_the_groom_stay_as_they_are():
    found = register_guides(guides_of(), head())
    assert found.is_identity
    assert str(found) == "as they are"
    assert found.guides.points.tobytes() == guides_of().points.tobytes()


@pytest.mark.parametrize(
    ("scale", "turn", "shift"),
    [
        (0.01, 0, (0, 0, 0)),
        (1.0, 5, (0, 0, 0)),
        (1.0, 0, (0.4, 1.6, -3.0)),
        (100.0, 14, (0.4, 1.6, -3.0)),
    ],
)
def test_scale_axes_and_translation_are_found(scale, turn, shift):
    """Guides in another frame come back to where they were, to a fraction of the spacing of the roots (5 mm)."""
    matrix = np.eye(4)
    matrix[:3, :3] = scale * list(_turns())[turn]
    matrix[:3, 3] = scale * np.array(shift)
    given = guides_of()
    found = register_guides(given.transformed(matrix), head())
    assert np.abs(found.guides.points - given.points).max() < 0.004
    assert found.scale == pytest.approx(1 / scale)
    assert np.allclose(found.rotation, matrix[:3, :3].T / scale)
    assert found.is_identity == (scale == 1.0 and turn == 0 and shift == (0, 0, 0))


def test_guides_of_something_else_are_refused():
    stick = np.zeros((20, 5, 3))
    stick[:, :, 0] = np.linspace(0, 3, 5) + np.arange(20)[:, None]
    with pytest.raises(ValueError, match=r"guides must lie on the groom, got half of their roots more than .* m off"):
        register_guides(Groom.from_uniform(stick), head())

"""What one sees of the styles, as numbers: waves side by side, a dense fringe, a free face."""

import numpy as np
import pytest

from mane.geometry.index import PointIndex
from mane.groom import styles
from mane.groom.styles import _shaping as shaping
from mane.groom.styles.head import load_head


def test_neighbouring_strands_wave_together():
    """Where hair falls, strands beside each other bend to the same side: before, as often to the other."""
    points = styles.make("wavy", strands=3000, seed=2).as_uniform().astype(np.float64)
    chin = float(load_head().bust.chin[1])
    bend = points[:, 2:] - 2 * points[:, 1:-1] + points[:, :-2]
    place = points[:, 1:-1]
    falls = (np.abs(place[..., 1] - chin) < 0.06) & (np.linalg.norm(place[..., ::2], axis=2) > 0.07)
    here, curved = place[falls], bend[falls]
    curved /= np.linalg.norm(curved, axis=1, keepdims=True)
    strand = np.nonzero(falls)[0]
    distance, near = PointIndex(here.astype(np.float32)).nearest(here.astype(np.float32), 4)
    other = (strand[near] != strand[:, None]) & (distance < 0.01)
    agreement = np.einsum("pk,pnk->pn", curved, curved[near])[other]
    assert other.sum() > 1000
    assert agreement.mean() > 0.5


def test_arc_length_at_a_height():
    down = np.array([[0, 1.0, 0], [0, 0.8, 0], [0, 0.5, 0], [0, 0.1, 0]], np.float32)
    over = np.array([[0, 1.0, 0], [0, 1.3, 0], [0.4, 1.3, 0], [0.4, 0.3, 0]], np.float32)
    assert shaping.arc_at_height(np.stack([down, over]), 0.6) == pytest.approx([0.4, 0.3 + 0.4 + 0.7], abs=1e-6)
    # One that ends above goes on straight down, one that starts below has passed it at its root.
    assert shaping.arc_at_height(np.stack([down, over]), 0.0) == pytest.approx([1.0, 2.0], abs=1e-6)
    assert shaping.arc_at_height(down[None], 2.0) == pytest.approx([0.0])


def in_front_of_the_face(points, low, high, half_width=0.04):
    """Vertices before the face between two heights [m], mask (S, V)."""
    x, y, z = np.moveaxis(points, -1, 0)
    return (np.abs(x) < half_width) & (z > 0.06) & (y > low) & (y < high)


@pytest.mark.parametrize("seed", [0, 3])
def test_the_bob_leaves_the_eyes_free_under_a_dense_fringe(seed):
    bust = load_head().bust
    groom = styles.make("bob", strands=4000, seed=seed)
    points = groom.as_uniform()
    brow, chin = float(bust.brow[1]), float(bust.chin[1])
    assert not in_front_of_the_face(points, chin, brow).any()
    # Fringe hairs, 80 um wide, of a head of 100,000, would cover its width of 12 cm four times over.
    fringe = groom.strand["group_id"] == 1
    assert 25 * fringe.sum() * 80e-6 > 4 * 0.12


@pytest.mark.parametrize("seed", [0, 1])
def test_curls_leave_the_face_free(seed):
    bust = load_head().bust
    points = styles.make("curly", strands=3000, seed=seed).as_uniform()
    brow, chin = float(bust.brow[1]), float(bust.chin[1])
    over = in_front_of_the_face(points, chin + 0.02, brow, half_width=0.065).any(axis=1)
    assert over.mean() < 0.005  # 2 percent before they were brushed back

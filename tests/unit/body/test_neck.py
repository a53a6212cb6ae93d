"""The point that a head turns about, found on any body, anywhere in space."""

import numpy as np
import pytest

from mane.body.bust import make_bust
from mane.body.mesh import Mesh
from mane.body.neck import find_neck
from mane.body.shapes import Sphere
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.io import read_groom, write_groom, write_mesh
from mane.scene.context import SceneContext
from mane.scene.scene_file import parse_scene

CLOSE = 0.005  # [m]: sections are 7 mm apart, and the line between two middles is not the spine


@pytest.fixture(scope="module")
def bust():
    return make_bust().mesh


@pytest.fixture(scope="module")
def roots(bust):
    """Points of the skin of the scalp."""
    points = bust.points
    return points[(points[:, 1] > 0.06) & (points[:, 2] < 0.09)]


def cut_above(mesh, height):
    return Mesh(mesh.points, mesh.faces[(mesh.points[mesh.faces][..., 1] > height).all(axis=1)])


def test_on_the_bust_it_is_the_origin_which_is_where_its_head_turns(bust, roots):
    assert np.abs(find_neck(bust, roots)).max() < CLOSE


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("place", [(0, 0, 0), (3.0, -2.0, 50.0)])
def test_it_goes_with_the_body_wherever_that_is_and_whatever_its_size(bust, roots, scale, place):
    moved = bust.with_points((scale * bust.points + np.float32(place)).astype(np.float32))
    found = find_neck(moved, scale * roots + np.float32(place))
    assert np.abs((found - place) / scale).max() < CLOSE + 1e-5 / scale  # float32 at 50 m


def test_a_head_that_is_cut_off_at_the_neck_and_a_few_roots_on_top_do(bust, roots):
    assert np.abs(find_neck(cut_above(bust, -0.1), roots)).max() < CLOSE
    assert np.abs(find_neck(bust, roots[roots[:, 1] > 0.1])).max() < 4 * CLOSE


def test_arms_beside_the_head_do_not_count(bust, roots):
    arm = Sphere((0.6, 0.1, 0.0), 0.2).mesh(12)
    both = Mesh(np.concatenate([bust.points, arm.points]), np.concatenate([bust.faces, arm.faces + len(bust.points)]))
    assert np.allclose(find_neck(both, roots), find_neck(bust, roots))


def test_a_ball_turns_below_its_middle_on_its_axis():
    ball = Sphere((1.0, 2.0, 3.0), 0.1).mesh(24)
    x, y, z = find_neck(ball, ball.points)
    assert (x, z) == pytest.approx((1.0, 3.0), abs=1e-3)
    assert 1.9 < y < 2.0


def test_hair_alone_turns_about_the_middle_of_its_roots_at_the_nape(roots):
    x, y, _ = find_neck(None, roots)
    assert x == pytest.approx(0.5 * (roots[:, 0].min() + roots[:, 0].max()))
    assert y == pytest.approx(np.quantile(roots[:, 1], 0.05))
    with pytest.raises(ValueError, match="roots: must hold at least one root, got none"):
        find_neck(None, roots[:0])


PLACE = (5.0, 1.0, -2.0)


@pytest.fixture
def folder(tmp_path, bust, roots):
    """A head and short hair on it, five metres from the origin, in files."""
    write_mesh(tmp_path / "head.obj", bust.with_points(bust.points + np.float32(PLACE)))
    some = roots[::40]
    away = some / np.linalg.norm(some, axis=1, keepdims=True)
    strands = some[:, None] + away[:, None] * np.linspace(0, 0.05, 6, dtype=np.float32)[:, None]
    write_groom(tmp_path / "hair.npz", Groom.from_uniform(strands + np.float32(PLACE)))
    return tmp_path


def scene_of(folder, head):
    text = f'[groom]\nfile = "hair.npz"\n[guides]\ncount = 6\n[body]\nmesh = "head.obj"\n[head]\n{head}\n'
    return parse_scene(text, folder=folder)


def test_a_scene_nods_about_the_neck_of_its_body(folder):
    """Before, it was the world's origin: a head that stands elsewhere flew around it."""
    guides = Guides.from_groom(read_groom(folder / "hair.npz"))
    for motion in ("nod", "shake", "turn", "tilt", "random"):
        head = SceneContext(scene_of(folder, f'motion = "{motion}"'), guides).head
        for time in (0.3, 0.6, 1.0):
            moved = head.pose(time).apply(np.asarray(PLACE))
            assert np.linalg.norm(moved - PLACE) < (0.06 if motion == "random" else 2 * CLOSE)
    set_by_hand = SceneContext(scene_of(folder, 'motion = "nod"\npivot = [0.0, 1.0, 0.0]'), guides).head
    assert np.allclose(set_by_hand.pose(0.4).apply(np.array([0.0, 1.0, 0.0])), [0.0, 1.0, 0.0])
    assert np.linalg.norm(set_by_hand.pose(0.4).apply(np.asarray(PLACE)) - PLACE) > 0.1

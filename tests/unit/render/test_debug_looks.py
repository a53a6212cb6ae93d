"""False colours: the right strands get the right colours, and the legend says what they mean."""

import numpy as np
import pytest

from mane.body import shapes
from mane.body.mesh import Mesh
from mane.body.solid import Solid
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.render import debug_looks
from mane.render.debug_looks import ALARM, DIVERGING, RISING, debug_colors, guides_only, stretch
from mane.render.develop import linear_from_display


def combed(strands=5, vertices=4, **attributes):
    """Straight strands along y, a centimetre apart."""
    points = np.zeros((strands, vertices, 3))
    points[:, :, 0] = 0.01 * np.arange(strands)[:, None]
    points[:, :, 1] = 0.1 * np.linspace(0, 1, vertices)
    return Groom.from_uniform(points, **attributes)


def strand_colors(result, groom):
    """One colour per strand; every strand must be of one colour."""
    colors = result.colors.reshape(groom.strand_count, -1, 3)
    assert (colors == colors[:, :1]).all()
    return colors[:, 0]


def test_strands_of_one_guide_share_a_colour_and_others_differ():
    groom = combed(strand={"closest_guides": np.array([[3, 1], [3, 2], [1, 3], [0, 1], [1, 0]], np.int32)})
    colors = strand_colors(debug_colors("guide", groom), groom)
    assert (colors[0] == colors[1]).all()
    assert (colors[2] == colors[4]).all()
    assert len(np.unique(colors.round(3), axis=0)) == 3


def test_guides_given_the_nearest_root_decides():
    groom = combed(20)
    guides = Guides.chosen(groom, [2, 12])
    colors = strand_colors(debug_colors("guide", groom, guides=guides), groom)
    assert len(np.unique(colors[:7], axis=0)) == 1
    assert len(np.unique(colors[8:], axis=0)) == 1
    assert not (colors[0] == colors[-1]).all()
    same = strand_colors(debug_colors("guide", groom, guides=groom.take([2, 12])), groom)
    np.testing.assert_array_equal(same, colors)


def test_neighbouring_guide_numbers_are_easy_to_tell_apart():
    hues = debug_looks._hues(np.arange(200))
    assert np.abs(np.diff(hues, axis=0)).max(axis=1).min() > 0.2
    assert hues.min() >= 0
    assert hues.max() <= 1


def test_stretch_is_the_change_of_length_at_each_point():
    rest = combed(2)
    pulled = rest.points.copy().reshape(2, 4, 3)
    pulled[1, 3, 1] += 0.5 * (0.1 / 3)  # the last segment of the second strand gets half as long again
    moved = rest.with_points(pulled)
    # Both ends of that segment see it, one of them beside a segment that kept its length.
    np.testing.assert_allclose(stretch(moved, rest.points), [0, 0, 0, 0, 0, 0, 0.25, 0.5], atol=1e-6)
    result = debug_colors("stretch", moved, rest=rest.points, limit=0.5)
    np.testing.assert_allclose(result.colors[7], linear_from_display(DIVERGING[-1]), atol=1e-6)
    np.testing.assert_allclose(result.colors[0], linear_from_display(DIVERGING[2]), atol=1e-6)
    assert (result.legend.low, result.legend.high) == ("-50 %", "+50 %")
    assert result.summary == "stretch +0 % to +50 %"


def test_stretch_takes_the_groom_s_own_rest_and_stands_segments_without_length():
    groom = combed(1)
    flat = groom.points.copy()
    flat[1] = flat[0]
    result = debug_colors("stretch", groom.with_vertex(rest=flat))
    assert np.isfinite(result.colors).all()
    assert (stretch(groom, np.zeros_like(flat)) == 0).all()


@pytest.mark.parametrize("as_mesh", [False, True])
def test_penetration_shows_depth_inside_the_body(as_mesh):
    """A strand through a ball of 5 cm: grey outside, coloured inside, darkest in the middle."""
    groom = Groom.from_strands([np.stack([np.linspace(-0.1, 0.1, 9), np.zeros(9), np.zeros(9)], axis=1)])
    body = Solid(shapes.Sphere((0, 0, 0), 0.05))
    if as_mesh:
        body = body.at(0.0).mesh(48)
        assert isinstance(body, Mesh)
    result = debug_colors("penetration", groom, body=body, limit=0.05)
    grey, alarm = linear_from_display(ALARM[0]), linear_from_display(ALARM[-1])
    np.testing.assert_allclose(result.colors[[0, 1, 7, 8]], np.tile(grey, (4, 1)), atol=1e-6)
    np.testing.assert_allclose(result.colors[4], alarm, atol=0.03)  # a mesh of 48 lies a little inside the ball
    assert (np.abs(result.colors[3:6] - grey).max(axis=1) > 0.2).all()
    assert result.summary.startswith("1 of 1 strands inside, up to ")
    assert result.legend.high == "50 mm"


def test_weights_per_strand_per_point_or_of_the_groom():
    groom = combed(3)
    per_strand = strand_colors(debug_colors("weight", groom, values=[0.0, 0.5, 1.0]), groom)
    np.testing.assert_allclose(per_strand, linear_from_display(RISING[[0, 2, 4]]), atol=1e-6)
    per_point = debug_colors("weight", groom, values=np.linspace(0, 2, 12), limit=2).colors
    np.testing.assert_allclose(per_point[[0, -1]], linear_from_display(RISING[[0, -1]]), atol=1e-6)
    owned = groom.with_strand(guide_weights=[[0.2, 0.8], [0.5, 0.5], [0.0, 1.0]])
    expected = debug_colors("weight", groom, values=[0.8, 0.5, 1.0]).colors
    np.testing.assert_array_equal(debug_colors("weight", owned).colors, expected)


def test_the_rising_ramp_gets_brighter_all_the_way():
    luminance = linear_from_display(RISING) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luminance) > 0.02).all()


def test_painted_groom_carries_the_colours():
    groom = combed(3, strand={"color": np.zeros((3, 3))})
    result = debug_colors("weight", groom, values=[0, 1, 0])
    np.testing.assert_array_equal(result.paint(groom).per_vertex("color"), result.colors)


def test_guides_only_are_the_marked_or_the_given():
    groom = combed(5, strand={"is_guide": [True, False, False, True, False]})
    np.testing.assert_array_equal(guides_only(groom).roots, groom.roots[[0, 3]])
    guides = Guides.chosen(groom, [1, 2]).with_capacity(4)
    assert guides_only(groom, guides).strand_count == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: debug_colors("colour", combed()),
            "kind: 'colour' is unknown; choose from guide, penetration, stretch",
        ),
        (lambda: debug_colors("guide", combed()), "guides: must be given"),
        (lambda: debug_colors("guide", combed(), values=[1, 2]), r"values: must have shape \(5,\)"),
        (lambda: debug_colors("stretch", combed()), "rest: must be given"),
        (lambda: debug_colors("stretch", combed(), rest=np.zeros((3, 3))), r"rest: must have shape \(20, 3\)"),
        (lambda: debug_colors("stretch", combed(), rest=np.zeros((20, 3)), limit=0), "limit: must be a finite number"),
        (lambda: debug_colors("penetration", combed()), "body: must be given"),
        (lambda: debug_colors("weight", combed()), "values: must be given"),
        (lambda: debug_colors("weight", combed(), values=[1.0]), r"values: must have shape \(20,\)"),
        (lambda: guides_only(combed()), "guides: must be given, since no strand of the groom is marked"),
    ],
)
def test_bad_requests_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()

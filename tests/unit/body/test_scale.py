"""Hair and body of different units are noticed; what can be is let through."""

import numpy as np
import pytest

from mane.body.scale import ScaleError, check_scale
from mane.body.shapes import Sphere
from mane.groom.groom import Groom

HEAD = Sphere((0, 1.6, 0), 0.12).mesh(16)
PERSON = np.array([[-0.3, 0.0, -0.2], [0.3, 1.75, 0.2]])


def hair(size=0.4, center=(0, 1.6, 0)):
    return np.random.default_rng(0).uniform(-0.5, 0.5, (50, 3)) * size + center


@pytest.mark.parametrize(
    ("points", "body"),
    [
        (hair(0.3), HEAD),
        (hair(1.5, (0, 1.0, 0)), HEAD),
        (hair(0.35), PERSON),
        (hair(0.03, (0.03, 1.63, 0.1)), PERSON),
        (PERSON * 1.05, PERSON),
    ],
    ids=["short hair", "hair to the knees", "whole person", "eyelashes", "fur"],
)
def test_what_can_be_is_let_through(points, body):
    check_scale(points, body)


@pytest.mark.parametrize(
    ("points", "body", "message"),
    [
        (hair(), HEAD.bounds * 100, r"body of 24 x 24 x 24 m; the body may be in centimetres \(scale it by 0\.01\)"),
        (hair(), PERSON * 100, r"the body may be in centimetres"),
        (hair(), PERSON * 1000, r"the body may be in millimetres \(scale it by 0\.001\)"),
        (hair() * 100, HEAD, r"hair of 3\d\.?\d* x .* m and a body of .*; the hair may be in centimetres"),
        (hair(center=(3, 1.6, 0)), PERSON, r"hair must touch its body, got .* 2\.\d+ m apart; check the origin"),
        (hair(center=(0, 0, 1.6)), np.array([[-0.3, 1.0, -0.2], [0.3, 1.75, 0.2]]), r"and the up axis of both"),
    ],
    ids=["head in cm", "person in cm", "person in mm", "hair in cm", "beside it", "other up axis"],
)
def test_what_cannot_be_is_named(points, body, message):
    with pytest.raises(ValueError, match=message):
        check_scale(points, body)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0, 0, 0]], "hair: must be at least two points"),
        ([[1, 1, 1], [1, 1, 1]], "hair: must have a size, got all points at"),
        ([[0, 0, np.nan], [1, 1, 1]], "hair: must be finite"),
    ],
)
def test_bad_input_is_refused(points, message):
    with pytest.raises(ValueError, match=message):
        check_scale(points, HEAD)


def groom_on(mesh, length=0.2, scale=1.0, offset=(0, 0, 0)):
    """Strands that stand on every fifth vertex of a ball around (0, 1.6, 0)."""
    roots = mesh.points[::5]
    away = roots - np.float32((0, 1.6, 0))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    strands = roots[:, None] + away[:, None] * np.linspace(0, length, 5, dtype=np.float32)[:, None]
    return Groom.from_uniform((scale * strands + np.float32(offset)).astype(np.float32))


@pytest.mark.parametrize("length", [0.002, 0.02, 0.5, 1.0])
def test_strands_of_any_usual_length_are_let_through_with_and_without_a_body(length):
    check_scale(groom_on(HEAD, length), None)
    check_scale(groom_on(HEAD, length), HEAD)


@pytest.mark.parametrize(
    ("groom", "thing", "factor", "text"),
    [
        (groom_on(HEAD, scale=100), "hair", 0.01, "strands must be 1 mm to 3 m long, got 20 m for half and 20 m"),
        (groom_on(HEAD, scale=1000), "hair", 0.001, "got 200 m for half"),
        (groom_on(HEAD, length=0.05, scale=0.01), "hair", 100, "got none above 0.5 mm"),
        (groom_on(HEAD, scale=0.001), "hair", 1000, "got none above 0.2 mm"),
    ],
    ids=["cm", "mm", "m read as cm", "m read as mm"],
)
def test_strands_that_cannot_be_hair_are_named_with_the_likely_factor(groom, thing, factor, text):
    with pytest.raises(ScaleError, match=text) as caught:
        check_scale(groom, None)
    assert (caught.value.thing, caught.value.factor) == (thing, factor)


def test_a_few_long_strays_and_many_stubs_are_no_wrong_unit():
    lengths = np.concatenate([[50.0], np.full(199, 0.2), np.full(300, 1e-5)])
    strands = np.zeros((500, 2, 3))
    strands[:, 1, 1] = lengths
    check_scale(Groom.from_uniform(strands), None)


@pytest.mark.parametrize("scale", [0.01, 0.02])
def test_hair_and_body_that_are_both_too_small_are_noticed(scale):
    """Files in metres that are read as centimetres: hair of 2 mm on a head of 2 mm."""
    body = HEAD.with_points(scale * HEAD.points)
    with pytest.raises(
        ScaleError, match=r"a body must be larger than 1 cm, got one of .* with hair that fits it"
    ) as error:
        check_scale(groom_on(HEAD, scale=scale), body)
    assert (error.value.thing, error.value.factor) == ("hair", 100.0)


@pytest.mark.parametrize(("scale", "factor"), [(0.01, 100.0), (100.0, 0.01), (1000.0, 0.001)])
def test_the_body_is_at_fault_where_the_hair_is_like_hair(scale, factor):
    """A body a hundred times too small ran to its end with `penetration 0`."""
    body = HEAD.with_points(scale * HEAD.points)
    with pytest.raises(ScaleError) as caught:
        check_scale(groom_on(HEAD), body)
    assert (caught.value.thing, caught.value.factor) == ("body", factor)


def test_roots_that_are_off_the_body_are_refused_and_a_little_off_are_not():
    check_scale(groom_on(HEAD, offset=(0.03, 0, 0)), HEAD)
    with pytest.raises(ScaleError, match=r"got half of the roots more than 0\.1\d+ m off it"):
        check_scale(groom_on(HEAD, offset=(0.2, 0, 0)), HEAD)

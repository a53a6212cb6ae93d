"""Hair and body of different units are noticed; what can be is let through."""

import numpy as np
import pytest

from mane.body.scale import check_scale
from mane.body.shapes import Sphere

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

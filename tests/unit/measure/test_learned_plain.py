"""A frame of learned hair in plain NumPy is the frame of the kernels, all stages of it."""

import numpy as np
import pytest

import mane
from learned_hair import KnownHair
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.measure.study.learned_plain import PlainFrame, field_distance
from mane.reduced.source import LearnedSource
from mane.reduced.training import MultilinearTraining, fit_model


@pytest.fixture(scope="module")
def body():
    return Solid(Sphere((0.02, -0.05, 0.0), 0.12).mesh(24))


def test_the_distance_is_that_of_the_field_within_and_beyond(body):
    field = body.field
    size = field.cell_size * (np.array(field.values.shape) - 1)
    points = field.origin + size * np.random.default_rng(0).uniform(-0.3, 1.3, (500, 3))
    distance, gradient = field_distance(field, points)
    expected, slope = field.sample_with_gradient(points.astype(np.float32))
    np.testing.assert_allclose(distance, expected, atol=1e-6)
    is_within = ((points > field.origin) & (points < field.origin + size)).all(axis=1)
    slope = slope / np.linalg.norm(slope, axis=1, keepdims=True)
    np.testing.assert_allclose(gradient[is_within], slope[is_within], atol=1e-3)


def test_a_plain_frame_is_the_frame_of_the_source(body):
    model = fit_model(KnownHair(motions=3), MultilinearTraining(dimensions=6, ridge=1e-2, control_ridge=1e-4)).model
    motion = mane.make_motion("random", amplitude=0.8, ease_in=0.05)
    source = LearnedSource(model.guides(), model, head=motion, body=body)
    for _ in range(7):
        source.step()
    plain = PlainFrame(source)
    frame = source.step()
    made = plain.made(source._controls(), frame.head, frame.roots, frame.root_rotations)
    free = LearnedSource(model.guides(), model, head=motion, body=body, collisions="off")
    for _ in range(8):
        bare = free.step()
    assert np.abs(bare.points - frame.points).max() > 1e-4  # some hair is pushed
    # Single precision, and a push along a gradient that is as precise: a micrometre or two of 20 cm.
    np.testing.assert_allclose(made["points"], frame.points, atol=5e-6)
    np.testing.assert_allclose(made["velocity"], frame.velocity, atol=30 * 1e-5)
    same = np.abs((made["orientations"] * frame.orientations).sum(axis=-1))
    np.testing.assert_allclose(same, 1, atol=1e-5)
    # Accelerations are second differences: points that are off by 5e-6 / (1/30)^2 = 0.0045 m/s^2 at most twice over.
    weight = source._masses.sum(axis=1).max()
    np.testing.assert_allclose(made["cut_force"], frame.cut_force, atol=2 * 0.0045 * weight)

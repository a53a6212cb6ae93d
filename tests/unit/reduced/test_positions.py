"""Models of positions, as printed, at work: frames are those of the equations, collisions correct what is shown."""

from dataclasses import fields, replace

import numpy as np
import pytest

import mane
from learned_hair import KnownHair, poses_of
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.reduced.canonical import BodyTrack, to_canonical, to_world
from mane.reduced.collisions import PrintedWeights, ReducedCollisions, canonical_bust
from mane.reduced.dynamics import CoreTensor, roll_out
from mane.reduced.evaluate import hair_of, settled_start
from mane.reduced.source import LearnedSource
from mane.reduced.training import MultilinearTraining, fit_model
from mane.strand.stepping import SolverDiverged

FACTORS = (("length", [0.2, 0.25]),)
FRAMES = 24


@pytest.fixture(scope="module")
def model():
    return fit_model(KnownHair(FACTORS, motions=6, amplitude=0.03), MultilinearTraining.printed(dimensions=6)).model


@pytest.fixture(scope="module")
def motion():
    return mane.make_motion("random", amplitude=0.6, rate=1.5, seed=3)


@pytest.mark.parametrize("bodies", [1, 3])
def test_frames_are_those_of_the_equations_set_back_on_their_roots(model, motion, bodies, tmp_path):
    if bodies > 1:
        data, training = KnownHair(FACTORS, motions=6, amplitude=0.03), {"dimensions": 6, "bodies": bodies}
        with open(tmp_path / "hair.model", "wb") as file:
            fit_model(data, MultilinearTraining.printed(**training)).model.to_file().write(file)
        model = mane.HairModel.load(tmp_path / "hair.model")
        assert model.space.control_count == 3 * model.space.body_count + 10
    found = list(model.play(motion, frames=FRAMES, length=1.0))
    heads = poses_of(motion, FRAMES, model.frame_rate)
    # Before the first frame the head stood where it is in the first.
    track = BodyTrack(np.concatenate([heads[:1], heads[:1], heads[:1], heads]))
    frames = model.space.frames(track)
    weights = np.eye(2)[1]
    start = settled_start(model, weights, track, model.rest[1])
    controls = model.space.controls(track, frames)[2:]
    rolled = roll_out(model.dynamics.operator(weights), controls, start)[1:]
    expected = to_world(frames[3:], hair_of(model, rolled, model.rest[1]))
    for frame, hair in zip(found[1:], expected[1:], strict=True):
        shape = hair - hair[:, :1]
        np.testing.assert_allclose(frame.points - frame.points[:, :1], shape, atol=2e-6)
        np.testing.assert_array_equal(frame.points[:, 0], frame.roots)
    lengths = [np.linalg.norm(np.diff(points, axis=1), axis=2) for points in (found[-1].points, model.rest[1])]
    assert np.abs(lengths[0] / lengths[1] - 1).max() > 1e-4  # positions stretch strands


def test_as_printed_the_first_two_frames_follow_from_the_bust_alone(model, motion):
    """t = 1, 2 of guan2012 section 5; eq. 10 from then on, and a run that is resumed in between knows where it was."""
    weights, count = np.eye(2)[1], model.space.body_count

    def made():
        return LearnedSource(model.guides(1), model, sliders={"length": 1.0}, head=motion, start="printed")

    source = made()
    source.reset()
    start = model.dynamics.start(weights, count)
    for _ in range(2):
        np.testing.assert_allclose(source._player.past[0, -1], start @ source._controls()[:count], rtol=1e-12)
        checkpoint = source.checkpoint()
        source.step()
    past = source._player.past[0].copy()
    assert np.abs(past[-1] - start @ source._controls()[:count]).max() > 1e-3 * np.abs(past[-1]).max()
    operator = model.dynamics.operator(weights)
    source.step()
    expected = operator.control @ source._controls() + sum(
        own @ y for own, y in zip(operator.history, past, strict=True)
    )
    np.testing.assert_allclose(source._player.past[0, -1], expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    resumed = made()
    resumed.load_checkpoint(checkpoint)
    resumed.step()
    resumed.step()
    np.testing.assert_array_equal(resumed._player.past, source._player.past)


def test_methods_of_the_paper_correct_what_is_shown_and_not_what_goes_on(model, motion):
    body = Solid(Sphere((0.02, -0.06, 0.0), 0.115).mesh(16))
    free, *solved = (
        LearnedSource(model.guides(1), model, sliders={"length": 1.0}, head=motion, body=body, **settings)
        for settings in (
            {"collisions": "off"},
            {"collisions": "A"},
            {"collisions": "B"},
            {"collisions": "B", "every": 3},
        )
    )
    for _ in range(8):
        frame = free.step()
        others = [source.step() for source in solved]
    for source, other in zip(solved, others, strict=True):
        np.testing.assert_array_equal(source._player.past, free._player.past)
        assert 1e-5 < np.abs(other.points - frame.points).max() < 0.05
    pushed = LearnedSource(model.guides(1), model, sliders={"length": 1.0}, head=motion, body=body)
    for _ in range(8):
        frame = pushed.step()
    deep = body.rest_distance(frame.head.inverse_apply(frame.points)[:, 1:].reshape(-1, 3).astype(np.float32))
    levels = pushed._player._levels[:, 1:].ravel()
    assert (deep - levels).min() > -2e-3


def test_whitened_method_b_is_what_a_source_is_asked_for(model, motion):
    """At the printed weights collisions hardly count; in standard deviations of the coefficients they do."""
    body = Solid(Sphere((0.02, -0.06, 0.0), 0.115).mesh(16))
    data = KnownHair(FACTORS, motions=6, amplitude=0.03)
    fitted = fit_model(data, MultilinearTraining.printed(dimensions=6))
    expected = np.concatenate([rows for own in fitted.coefficients for rows in own]).std(axis=0)
    np.testing.assert_allclose(model.deviations, expected, rtol=1e-6)
    plain, whitened = (
        LearnedSource(
            model.guides(1), model, sliders={"length": 1.0}, head=motion, body=body, collisions="B", whiten=whiten
        )
        for whiten in (False, True)
    )
    solver = ReducedCollisions(model, PrintedWeights(whiten=True), deviations=expected)
    moved = []
    for _ in range(8):
        plain.step()
        whitened.step()
        newest, frame, pose = whitened._player.past[0, -1], whitened._frame(), whitened._pose
        points = to_canonical(frame[None], pose.apply(body.mesh.points.astype(float))[None])[0]
        bust = canonical_bust(points, body.mesh.faces)
        roots = 100 * to_canonical(frame[None], whitened._moment.roots.positions.astype(float)[None])[0].reshape(-1)
        found = whitened._out_of_body(frame)[0]
        np.testing.assert_allclose(found, solver.method_b(newest, roots, bust), rtol=1e-4, atol=1e-6)
        moved.append([np.linalg.norm(one._out_of_body(frame)[0] - newest) for one in (plain, whitened)])
    assert np.ptp(np.array(moved), axis=1).max() > 1e-3
    older = replace(model, deviations=np.zeros(0))
    with pytest.raises(ValueError, match="whiten: the model does not tell how its coefficients vary; learn it again"):
        next(older.play(motion, collisions="B", whiten=True, body=body))


def test_what_does_not_go_together_is_refused_in_one_line(model, motion):
    with pytest.raises(ValueError, match="collisions: method A needs a body"):
        next(model.play(motion, collisions="A"))
    body = Solid(Sphere((0.0, 0.0, 0.0), 0.1).mesh(8))
    with pytest.raises(ValueError, match="collisions: method A needs a body that hair touches"):
        next(model.play(motion, collisions="A", body=body, collide_with_body=False))
    with pytest.raises(ValueError, match="collisions: method B needs sliders that are the same for all guides"):
        next(model.play(motion, collisions="B", body=body, length=np.linspace(0, 1, model.guide_count)))
    with pytest.raises(ValueError, match="collisions: method B needs a body that is a mesh"):
        next(model.play(motion, collisions="B", body=Solid(Sphere((0.0, 0.0, 0.0), 0.1))))
    with pytest.raises(ValueError, match="every: must be at least 1, got 0"):
        next(model.play(motion, every=0))


def test_a_model_that_is_not_stable_says_so(model, motion):
    class Growing(CoreTensor):
        def operator(self, weights):
            found = super().operator(weights)
            return type(found)(found.control, 2.0 * found.history)

    grown = Growing(*(getattr(model.dynamics, f.name) for f in fields(CoreTensor)))
    source = LearnedSource(model.guides(), replace(model, dynamics=grown), head=motion)
    with pytest.raises(SolverDiverged, match="model: as guan2012 prints it, it has left all bounds"):
        [source.step() for _ in range(200)]

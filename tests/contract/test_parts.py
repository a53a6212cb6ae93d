"""What every part that acts on guides promises, whichever it is: one battery over the table of interactions.

Solid contact, its projection, drag and returned forces are parts of every simulation here: `NOTHING` tests them alone.
"""

import copy

import numpy as np
import pytest
from ball_head import (
    ELSEWHERE,
    STILL,
    bytes_of,
    few_guides,
    guides,
    make_part,
    make_simulation,
    riding_body,
    run,
    shaking,
    variants,
)

from mane.contact.table import INTERACTIONS
from mane.scene.options import stage_options
from mane.scene.values import VARYING
from mane.strand.ports import GuideLoad

NOTHING = pytest.param(None, {}, id="nothing")
parts = pytest.mark.parametrize(("stage", "settings"), [NOTHING, *variants(INTERACTIONS)])
FRAMES = 6


def made(stage, settings, of=None):
    return [] if stage is None else [make_part(stage, settings, of)]


def still(stage, settings):
    """The same groom on a head that does not move, with nothing around it."""
    return make_simulation(made(stage, settings), head=STILL, body=False, solids=False)


@parts
def test_a_groom_at_rest_stays_as_groomed(stage, settings):
    simulation = still(stage, settings)
    frame = run(simulation, 12)[-1]
    length = simulation.strands.strand_length.max()
    assert np.abs(frame.points - guides().rest).max() < 1e-5 * length


@parts
def test_it_acts_in_the_frame_of_the_head(stage, settings):
    """Turned about gravity and carried elsewhere, the whole scene moves alike.

    Contacts that are just met or missed by rounding differ by what a contact does in a substep, so solids are left out.
    """
    here = run(make_simulation(made(stage, settings), solids=False, body=False), FRAMES)[-1]
    there = run(make_simulation(made(stage, settings), solids=False, body=False, base=ELSEWHERE), FRAMES)[-1]
    # Float32 at half a metre keeps 3e-8 m; some 20 substeps of a stiff solve and of contacts among hair add to that.
    np.testing.assert_allclose(there.points, ELSEWHERE.apply(here.points), atol=2e-6)


@parts
def test_it_acts_where_the_skin_has_the_roots(stage, settings):
    """Roots on an animated mesh that moves as the head did: what differs is float32 of its samples."""
    rigid = run(make_simulation(made(stage, settings), solids=False, body=False), FRAMES)[-1]
    carrier = {"body": riding_body(shaking(), FRAMES), "collide_with_body": False}
    rides = run(make_simulation(made(stage, settings), head=STILL, solids=False, **carrier), FRAMES)[-1]
    np.testing.assert_allclose(rides.points, rigid.points, atol=1e-5)


@parts
@pytest.mark.parametrize("count", [1, 2])
def test_one_guide_is_enough(stage, settings, count):
    of = few_guides(count)
    simulation = make_simulation(made(stage, settings, of), of=of)
    frame = run(simulation, 3)[-1]
    assert np.isfinite(frame.points).all()
    assert frame.active.sum() == count


@parts
def test_numbers_that_are_none_are_refused(stage, settings):
    if stage is None:
        return
    numbers = [name for name, kind in stage_options(stage).items() if kind in (float, float | None, VARYING)]
    for name in numbers:
        with pytest.raises(ValueError, match=name.split("_")[0]) as error:
            make_simulation(made(stage, {**settings, name: float("nan")}))
        assert "\n" not in str(error.value)


@parts
def test_going_on_from_a_checkpoint_equals_not_stopping(stage, settings):
    whole = make_simulation(made(stage, settings))
    expected = run(whole, FRAMES)
    first, second = make_simulation(made(stage, settings)), make_simulation(made(stage, settings))
    run(first, 3)
    checkpoint = first.checkpoint()
    run(first, 1)  # what a checkpoint holds are copies
    run(second, 1)  # what was there before is forgotten
    second.load_checkpoint(checkpoint)
    got = run(second, FRAMES - 3)
    assert [bytes_of(frame) for frame in got] == [bytes_of(frame) for frame in expected[3:]]
    ours, theirs = second.checkpoint(), whole.checkpoint()
    assert ours.keys() == theirs.keys()
    assert {name for name in ours if ours[name].tobytes() != theirs[name].tobytes()} == set()


@parts
def test_a_reset_forgets_everything(stage, settings):
    simulation = make_simulation(made(stage, settings))
    first = run(simulation, 4)[-1]
    simulation.reset()
    assert bytes_of(run(simulation, 4)[-1]) == bytes_of(first)


@parts
def test_any_number_of_threads_gives_the_same_bytes(stage, settings, on_threads):
    on_threads(lambda: [bytes_of(frame) for frame in run(make_simulation(made(stage, settings)), 4)])


@parts
def test_two_simulations_share_nothing(stage, settings):
    alone = run(make_simulation(made(stage, settings)), 4)
    first = make_simulation(made(stage, settings))
    second = make_simulation(made(stage, settings), model="chain")
    together = []
    for _ in range(4):
        together.append(first.step())
        second.step()
    assert [bytes_of(frame) for frame in together] == [bytes_of(frame) for frame in alone]


@parts
def test_one_part_cannot_serve_two_simulations(stage, settings):
    if stage is None:
        return
    shared = made(stage, settings)
    first = make_simulation(shared)
    with pytest.raises(ValueError, match=r"forces: must belong to one simulation, got a \w+ that another one uses"):
        make_simulation(shared)
    del first
    make_simulation(shared)  # the first is gone


@parts
def test_it_feels_what_a_skin_returns(stage, settings):
    """The one way back: a load that is received acts in the next step, is saved, and is gone after a reset."""
    push = GuideLoad(np.full((*guides().rest.shape[:2], 3), 1e-5))
    plain, pushed = make_simulation(made(stage, settings)), make_simulation(made(stage, settings))
    run(plain, 2), run(pushed, 2)
    pushed.receive(push)
    resumed = make_simulation(made(stage, settings))
    resumed.load_checkpoint(pushed.checkpoint())
    after, expected = pushed.step(), plain.step()
    assert (after.points - expected.points)[:, -1].mean() > 1e-5
    assert bytes_of(resumed.step()) == bytes_of(after)
    pushed.reset()
    plain.reset()
    assert bytes_of(pushed.step()) == bytes_of(plain.step())


@parts
def test_a_load_that_is_returned_once_acts_once(stage, settings):
    push = GuideLoad(np.full((*guides().rest.shape[:2], 3), 1e-5))
    plain, pushed = make_simulation(made(stage, settings)), make_simulation(made(stage, settings))
    pushed.receive(push)
    pushed.receive(None)
    assert bytes_of(pushed.step()) == bytes_of(plain.step())


@parts
def test_copies_of_a_part_are_free_and_a_failed_simulation_keeps_none(stage, settings):
    if stage is None:
        return
    (part,) = made(stage, settings)
    with pytest.raises(ValueError, match="must be Force, Constraint or AdaptiveGuides"):
        make_simulation([part, "breeze"])
    simulation = make_simulation([part])  # the one above never came to be
    with pytest.raises(ValueError, match=r"got one of them twice|one AdaptiveGuides at most"):
        make_simulation([other := made(stage, settings)[0], other])
    assert make_simulation([copy.copy(made(stage, settings)[0])]).step() is not None
    assert make_simulation([copy.deepcopy(part)]).step() is not None
    assert simulation.step() is not None

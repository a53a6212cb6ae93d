"""What every skin promises, whichever it is: one battery over the table of skins."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from ball_head import ELSEWHERE, few_guides, groom, guides, make_simulation, run, variants

from mane.groom.groom import Groom
from mane.measure.study.adaptive_steps import random_model
from mane.scene.options import stage_options
from mane.scene.values import VARYING
from mane.skin.table import SKINS, make_skin


def with_targets():
    """Every skin that pulls hair to where another one has it, with all that can be that one."""
    every = [SKINS[name] for name in SKINS]
    return [
        pytest.param(
            stage, {**stage.examples[0], "target": (target.name, settings)}, id=f"{stage.name}-{target.name}{n or ''}"
        )
        for stage in every
        for target in every
        if stage.takes_target and target.can_be_target
        for n, settings in enumerate(target.examples)
    ]


# A model belongs to one groom and its guides: one of random sets is made for each (see `with_model`).
LEARNED = [
    pytest.param(SKINS["adaptive"], {"model": None, **settings}, id=f"adaptive-model{number or ''}")
    for number, settings in enumerate(
        (
            {},
            {"use_motion": True, "use_solids": True},
            {"paper": True},
            {"use_motion": True, "use_frames": True},
            {"lean": True},
        )
    )
]
skins = pytest.mark.parametrize(("stage", "settings"), [*variants(SKINS), *with_targets(), *LEARNED])
# A segment's direction is rounded by a few times 6e-8 rad and turns all that lies beyond; points lie within 0.6 m.
ROUNDING = 1e-6


@cache
def simulated():
    """A simulation and some frames of it, as every scene has them."""
    simulation = make_simulation()
    return simulation, tuple(run(simulation, 6))


def with_model(settings, hair, of):
    """Settings with a model of this groom and these guides, where they ask for one."""
    return {**settings, "model": random_model(hair, of, all_pairs=True)} if "model" in settings else settings


def made(name, hair, source, settings):
    """A skin, with a model or one of its own to pull to where settings name it."""
    target = settings.get("target")
    pulled = {} if target is None else {"target": made(target[0], hair, source, target[1])}
    return make_skin(name, hair, source, **{**with_model(settings, hair, source.guides), **pulled})


def bound(stage, settings, hair=None):
    return made(stage.name, groom() if hair is None else hair, simulated()[0], settings)


def memory_bytes(skin):
    return {name: array.tobytes() for name, array in skin.memory().items()}


@skins
def test_guides_at_rest_give_the_groom(stage, settings):
    np.testing.assert_allclose(bound(stage, settings)(simulated()[0].rest), groom().as_uniform(), atol=ROUNDING)


@skins
def test_a_head_that_is_carried_carries_its_hair(stage, settings):
    """Turned about gravity, so that the forces in guides at rest turn along."""
    frame = make_simulation(base=ELSEWHERE).frame
    expected = ELSEWHERE.apply(groom().as_uniform().astype(np.float64))
    np.testing.assert_allclose(bound(stage, settings)(frame), expected, atol=3 * ROUNDING)


@skins
def test_roots_stay_on_the_head_and_hair_moves(stage, settings):
    skin = bound(stage, settings)
    for frame in simulated()[1]:
        hair = skin(frame)
        assert hair.shape == groom().as_uniform().shape
        assert hair.dtype == np.float32
        assert np.isfinite(hair).all()
        np.testing.assert_allclose(hair[:, 0], frame.head.apply(groom().roots), atol=ROUNDING)
    assert np.abs(hair - frame.head.apply(groom().as_uniform())).max() > 1e-4


@skins
def test_one_hair_and_none(stage, settings):
    alone = bound(stage, settings, groom().take(np.array([7])))
    np.testing.assert_allclose(alone(simulated()[0].rest)[0], groom().as_uniform()[7], atol=ROUNDING)
    assert np.isfinite(alone(simulated()[1][-1])).all()
    with pytest.raises(ValueError, match=r"groom\..* must describe at least one strand") as error:
        bound(stage, settings, Groom.from_uniform(np.zeros((0, 8, 3), np.float32)))
    assert "\n" not in str(error.value)


@skins
def test_one_guide_and_an_empty_slot(stage, settings):
    simulation = make_simulation(of=few_guides(1))
    skin = made(stage.name, groom(), simulation, settings)
    np.testing.assert_allclose(skin(simulation.rest), groom().as_uniform(), atol=ROUNDING)
    assert np.isfinite(skin(run(simulation, 3)[-1])).all()


@skins
@pytest.mark.parametrize("name", ["points", "roots", "root_rotations", "weight"])
def test_a_frame_that_is_not_finite_is_refused(stage, settings, name):
    frame = simulated()[1][0]
    broken = getattr(frame, name).copy()
    broken.reshape(-1)[5] = np.nan
    with pytest.raises(ValueError, match=rf"frame\.{name}: must be finite, got nan"):
        bound(stage, settings)(replace(frame, **{name: broken}))


@skins
def test_a_frame_of_other_guides_is_refused(stage, settings):
    other = make_simulation(of=few_guides(3)).frame
    with pytest.raises(ValueError, match=r"frame\.points: must have shape \(20, 8, 3\)"):
        bound(stage, settings)(other)


@skins
def test_numbers_that_are_none_are_refused(stage, settings):
    for name, kind in stage_options(stage).items():
        if kind in (float, float | None, VARYING):
            with pytest.raises(ValueError, match=name):
                bound(stage, {**settings, name: float("nan")})


@skins
def test_going_on_from_its_memory_equals_not_stopping(stage, settings):
    frames = simulated()[1]
    whole, first, second = (bound(stage, settings) for _ in range(3))
    expected = [whole(frame).tobytes() for frame in frames]
    for frame in frames[:3]:
        first(frame)
    memory = first.memory()
    first(frames[5])  # what it remembers are copies
    second(frames[4])  # what was there before is forgotten
    second.restore(memory)
    assert [second(frame).tobytes() for frame in frames[3:]] == expected[3:]
    if not whole.remembers:
        assert memory == {}
        assert second(frames[1]).tobytes() == expected[1]  # frames in any order


@skins
def test_a_reset_forgets_the_frames_before(stage, settings):
    frames = simulated()[1]
    fresh, used = bound(stage, settings), bound(stage, settings)
    for frame in frames[:3]:
        used(frame)
    used.reset()
    assert [used(frame).tobytes() for frame in frames[3:]] == [fresh(frame).tobytes() for frame in frames[3:]]


@skins
def test_a_frame_that_is_asked_for_again_gives_the_same_hair_and_changes_nothing(stage, settings):
    """As a picture that is saved does."""
    if settings.get("warm_start") == "previous" or settings.get("lengths") == "printed":
        pytest.skip("its iteration goes on, or its lengths drift, with every call")
    frames = simulated()[1]
    once, twice = bound(stage, settings), bound(stage, settings)
    for frame in frames:
        expected, load = once(frame).tobytes(), once.guide_load()
        for copy in (frame, frame.copy()):
            assert twice(copy).tobytes() == expected
            if load is not None:
                np.testing.assert_array_equal(twice.guide_load().force, load.force)
        assert memory_bytes(twice) == memory_bytes(once)


@skins
def test_the_restored_frame_asked_for_again_gives_the_same_hair_and_changes_nothing(stage, settings):
    if settings.get("warm_start") == "previous" or settings.get("lengths") == "printed":
        pytest.skip("its iteration goes on, or its lengths drift, with every call")
    frames = simulated()[1]
    whole, first, second = (bound(stage, settings) for _ in range(3))
    expected = [whole(frame).tobytes() for frame in frames]
    for frame in frames[:3]:
        first(frame)
    second(frames[4])
    second.restore(first.memory())
    assert second(frames[2].copy()).tobytes() == expected[2]
    if first.guide_load() is not None:
        np.testing.assert_array_equal(second.guide_load().force, first.guide_load().force)
    assert memory_bytes(second) == memory_bytes(first)
    assert [second(frame).tobytes() for frame in frames[3:]] == expected[3:]


@skins
def test_guides_that_a_slider_has_made_longer_carry_longer_hair(stage, settings):
    """The same hair as on guides of their own lengths, grown from its roots; a skin without guides has no other."""
    plain, grown = bound(stage, settings), bound(stage, settings)
    for frame in simulated()[1][:3]:
        roots, scale = frame.points[:, :1], np.full(len(frame.points), 2.0, np.float32)  # a power of two: no rounding
        longer = replace(frame, points=roots + 2 * (frame.points - roots), length_scale=scale)
        hair = plain(frame).astype(np.float64)
        size = 2.0 if grown.follows_guides else 1.0
        np.testing.assert_allclose(grown(longer), hair[:, :1] + size * (hair - hair[:, :1]), atol=4 * ROUNDING)


@skins
def test_any_number_of_threads_gives_the_same_bytes(stage, settings, on_threads):
    def carried():
        skin = bound(stage, settings)
        return [skin(frame).copy() for frame in simulated()[1][:3]]

    on_threads(carried)


@skins
def test_two_skins_share_nothing(stage, settings):
    frames = simulated()[1]
    alone = bound(stage, settings)
    expected = [alone(frame).tobytes() for frame in frames]
    first, second = bound(stage, settings), bound(stage, settings, groom(70))
    together = []
    for frame in frames:
        hair = first(frame)
        second(frame)
        together.append(hair.tobytes())
    assert together == expected


@skins
def test_it_writes_where_it_is_told_and_only_there(stage, settings):
    frame = simulated()[1][2]
    skin, other = bound(stage, settings), bound(stage, settings)
    out = np.full(groom().as_uniform().shape, 7, np.float32)
    assert skin(frame, out) is out
    assert out.tobytes() == other(frame).tobytes()
    assert other(frame) is other(frame)  # a buffer of its own, used again
    with pytest.raises(ValueError, match="out: must be C-contiguous float32"):
        skin(frame, out.astype(np.float64))


@pytest.mark.parametrize(("stage", "settings"), variants(SKINS))
def test_a_simulation_tells_it_more_than_guides_do(stage, settings):
    """What the skin needs of the scene comes from the simulation, by the same names for all skins."""
    settings = with_model(settings, groom(), guides())
    skin = make_skin(stage.name, groom(), guides(), **settings)
    assert skin.guides is guides()
    provided = {need: simulated()[0].provide(need) for need in stage.needs}
    assert all(value is not None for value in provided.values())
    by_hand = stage(groom(), guides(), **provided, **settings)
    frame = simulated()[1][-1]
    assert by_hand(frame).tobytes() == bound(stage, settings)(frame).tobytes()

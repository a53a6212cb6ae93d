import pytest

from mane.salon.pace import FEWEST, FIRST, MOST, WARMING, WATCHED, Pace, rounded


def settled(pace, per_hair, simulated=0.004, available=150_000):
    """Let a server that takes so many seconds for a hair run for a while; returns how often the number changed."""
    changes = 0
    for _ in range(40 * (WARMING + WATCHED)):
        carried = per_hair * min(pace.strands, available)
        changes += pace.watch(simulated, carried, 0.01, available)
    return changes


@pytest.mark.parametrize(("per_hair", "expected"), [(2e-6, 3000), (5e-7, 12_000), (1e-4, FEWEST), (1e-9, MOST)])
def test_as_many_hairs_as_fit_into_what_is_left_of_real_time(per_hair, expected):
    pace = Pace()
    changes = settled(pace, per_hair)
    assert expected / 1.5 <= pace.strands <= 1.5 * expected
    assert changes <= 3  # and not back and forth


def test_slow_steps_leave_as_much_time_to_carrying_as_they_take():
    pace = Pace()
    settled(pace, 1e-5, simulated=0.1)
    assert 0.1 / 1.5 <= 1e-5 * pace.strands <= 0.1


def test_no_more_hairs_than_there_are():
    pace = Pace()
    settled(pace, 1e-9, available=700)
    assert pace.strands == 700 or pace.strands == FIRST  # all of them in either case


def test_one_slow_frame_changes_nothing_and_a_person_has_the_last_word():
    pace = Pace()
    for frame in range(WARMING + WATCHED):
        assert not pace.watch(0.004, 1.0 if frame == WARMING + 3 else 0.006, 0.01, 150_000)
    pace.fix(1e9)
    assert pace.strands == MOST
    assert settled(pace, 1e-3) == 0
    pace.follow(True)
    assert settled(pace, 1e-3) > 0


def test_numbers_are_round():
    assert [rounded(number) for number in (100.7, 1234.5, 19_999)] == [100, 1200, 19_000]

from __future__ import annotations

import pytest

from netdsl.distributed.supervision import health
from netdsl.distributed.supervision.health import Health
from netdsl.distributed.supervision.protocol import Ending, Sign


@pytest.fixture
def clock(monkeypatch):
    """The time, which the test makes."""
    now = [100.0]
    monkeypatch.setattr(health.time, "monotonic", lambda: now[0])
    return now


def two(clock, deadline=10.0):
    found = Health(2, deadline)
    found._since, found._looked = clock[0], clock[0]
    for rank in (0, 1):
        found.welcome(rank, f"host{rank}")
    found.note_join((0, 1))
    return found


def problem_of(found):
    return found.hung() or found.standstill()


def wait(found, clock, seconds, signs=()):
    """Look as often as a supervisor does; some workers give a sign each time."""
    for _ in range(round(seconds)):
        clock[0] += 1.0
        for rank, sign in signs:
            found.note_sign(rank, sign)
        if problem_of(found):
            break
    return problem_of(found)


def test_whoever_gives_no_sign_is_named(clock):
    found = two(clock)
    assert wait(found, clock, 10) == ""
    found = two(clock)
    assert wait(found, clock, 12, [(0, Sign.WORKING)]) == [1]


def test_waiting_is_a_sign_of_life_unless_all_wait(clock):
    found = two(clock)
    assert wait(found, clock, 100, [(0, Sign.WORKING), (1, Sign.WAITING)]) == ""
    assert wait(found, clock, 49, [(0, Sign.WAITING), (1, Sign.WAITING)]) == ""
    assert wait(found, clock, 2, [(0, Sign.WAITING), (1, Sign.WAITING)]) == "all workers wait for each other since 50 s"


def test_a_supervisor_that_slept_blames_nobody(clock):
    found = two(clock)
    clock[0] += 3600
    assert problem_of(found) == ""
    assert wait(found, clock, 10) == ""


def test_workers_that_dont_begin(clock):
    found = Health(2, 500.0)
    found._since = found._looked = clock[0]
    found.welcome(1, "host1")
    assert wait(found, clock, 310, [(1, Sign.WAITING)]) == "only 1 of 2 workers began within 300 s"


def test_who_says_most_is_to_blame(clock):
    found = two(clock)
    found.note_end(0, Ending.LOST, "lost another: gather")
    assert found.blame() == "worker 0 on host0 lost another: gather"
    found.note_end(1, Ending.GONE, "ended without a word")
    assert found.blame() == "worker 1 on host1 ended without a word"
    found.note_end(0, Ending.GONE, "what was said first counts")
    assert found.blame() == "worker 1 on host1 ended without a word"


def test_the_end(clock):
    found = two(clock)
    found.note_end(1, Ending.DONE)
    assert (found.done(0), found.done(1)) == (False, True)
    assert wait(found, clock, 8, [(0, Sign.WORKING)]) == ""
    found.note_end(0, Ending.DONE)
    found.note_end(0, Ending.GONE, "its connection")
    assert found.done(0) and found.blame() == "" and wait(found, clock, 200) == ""

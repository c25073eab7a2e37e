"""When a run begins again, and when it has come to its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from netdsl.distributed.supervision.retries import End, Retries
from netdsl.errors import DistributedError


def attempts(endings: Sequence[str | None], progress: Callable[[], object]) -> Callable[[int], str | None]:
    """Generations that get on, or don't, and end so one after the other."""

    def attempt(number: int) -> str | None:
        progress()
        return endings[number]

    return attempt


def test_it_begins_again_until_one_generation_ends_well() -> None:
    restarts: list[tuple[int, str]] = []
    course = Retries(lambda: False, retries=1)
    end = course.follow(attempts(["lost", "", None], course.progress), lambda *start: restarts.append(start))
    assert end is End.FINISHED
    assert restarts == [(1, "lost"), (2, "")]  # a failure without a reason is one all the same


def test_failures_without_progress_end_it() -> None:
    course = Retries(lambda: False, retries=1)
    with pytest.raises(DistributedError, match="training failed 2 times without progress: again"):
        course.follow(attempts(["lost", "again"], lambda: None), lambda *start: None)


def test_a_wish_to_stop_is_heard_once_and_lasts() -> None:
    wishes = iter([True])
    course = Retries(lambda: next(wishes, False), retries=3)
    assert course.follow(attempts(["lost"], lambda: None), lambda *start: pytest.fail("began again")) is End.STOPPED
    assert course.stopping()

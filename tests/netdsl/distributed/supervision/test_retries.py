from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from netdsl.distributed.supervision.retries import End, Retries
from netdsl.errors import DistributedError


def attempts(endings: Sequence[str | None], progress: Callable[[], object]) -> Callable[[int], str | None]:
    """Attempts that get on, or don't, and end so one after the other."""

    def attempt(number: int) -> str | None:
        progress()
        return endings[number]

    return attempt


def test_a_run_begins_again_until_an_attempt_ends_well() -> None:
    restarts: list[tuple[int, str]] = []
    retries = Retries(lambda: False, most=1)
    end = retries.run(attempts(["lost", "", None], retries.note_progress), lambda *start: restarts.append(start))
    assert end is End.FINISHED
    assert restarts == [(1, "lost"), (2, "")]  # a failure without a reason is one all the same


def test_failures_without_progress_end_a_run() -> None:
    retries = Retries(lambda: False, most=1)
    with pytest.raises(DistributedError, match="training failed 2 times without progress: again"):
        retries.run(attempts(["lost", "again"], lambda: None), lambda *start: None)


def test_a_request_to_stop_is_heard_once_and_lasts() -> None:
    requests = iter([True])
    retries = Retries(lambda: next(requests, False), most=3)
    assert retries.run(attempts(["lost"], lambda: None), lambda *start: pytest.fail("began again")) is End.STOPPED
    assert retries.stopping()

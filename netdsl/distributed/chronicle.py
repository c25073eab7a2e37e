"""What the folder of a run tells about its course: records of rounds, and what was displayed and tested."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from netdsl.distributed.messages import Told
from netdsl.distributed.record import RoundRecord
from netdsl.distributed.records import RecordFile
from netdsl.solver.event_log import EventLog

EVENTS = "log.jsonl"


@contextmanager
def chronicle(run: Path) -> Iterator[Callable[[Told], None]]:
    """Write what workers tell; a run that was resumed goes on in its files."""
    with closing(RecordFile(run)) as records, closing(EventLog(run / EVENTS)) as events:

        def write(told: Told) -> None:
            if isinstance(told, RoundRecord):
                records(told)
            else:
                events(told)

        yield write

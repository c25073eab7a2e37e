"""The records of rounds, and the log of a run: they and its events, as lines of JSON in its folder."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from caffe_proto.errors import FileError
from netdsl.errors import DistributedError
from netdsl.solver.events import (
    DataOpened,
    DebugInfo,
    Event,
    EventLog,
    IterationFinished,
    NetCreated,
    Notice,
    SnapshotSaved,
    TestFinished,
    TestStarted,
    TrainingProgress,
    TrainingStarted,
    WeightsLoaded,
    read_event_log,
)

RECORDS, EVENTS = "records.jsonl", "log.jsonl"


class Activity(Enum):
    """Something that takes a worker's time."""

    COMPUTE = "compute"
    WAIT = "wait"  # for others
    EXCHANGE = "exchange"
    BROADCAST = "broadcast"  # beside computing, as are the next two
    REDUCE = "reduce"
    PREPARE = "prepare"
    PUSH = "push"  # to a shared variable, also beside computing
    TEST = "test"
    SAVE = "save"


@dataclass(frozen=True)
class Span:
    """The time from when to when a worker did something, by its clock."""

    activity: Activity
    start: float
    stop: float
    shard: int | None = None  # the shard of the model that was exchanged or prepared


@dataclass
class RoundRecord:
    """The numbers and times of one round of one worker."""

    number: int
    rank: int
    start: float
    stop: float = 0.0
    iteration: int = 0  # at the end of the round
    steps: int = 0
    compute: float = 0.0  # seconds
    wait: float = 0.0
    exchange: float = 0.0
    bytes: int = 0
    divergence: float | None = None  # the distance of the weights from the mean of all workers, before they take it
    accuracy: dict[str, float] = field(default_factory=dict)  # the outputs of test nets, by name
    spans: list[Span] = field(default_factory=list)
    memory: int = 0  # bytes of its device that the worker took at most, until the end of the round
    host: str = ""  # the machine that the worker was on, if there can be several


Told = Event | RoundRecord  # what a worker reports

_KINDS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        NetCreated,
        DataOpened,
        WeightsLoaded,
        TrainingStarted,
        IterationFinished,
        TrainingProgress,
        DebugInfo,
        TestStarted,
        TestFinished,
        SnapshotSaved,
        Notice,
    )
} | {"Record": RoundRecord}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def to_plain(report: Told) -> dict[str, Any]:
    """Return an event or a record as plain values."""
    return {"kind": _NAMES[type(report)], **msgspec.to_builtins(report, enc_hook=str)}


def from_plain(values: Mapping[str, Any]) -> Told:
    """Return the event or record that plain values were made of; anything else is a DistributedError."""
    kind = _KINDS.get(str(values.get("kind")))
    if kind is None:
        raise DistributedError(f"a worker reports something unknown: {str(values)[:200]}")
    fields = {name: value for name, value in values.items() if name != "kind"}
    try:
        report: Told = msgspec.convert(fields, kind, dec_hook=lambda kind, text: kind(text))
    except msgspec.ValidationError as problem:
        raise DistributedError(f"a worker reports a {kind.__name__} that makes no sense: {problem}") from None
    return report


@contextmanager
def open_run_log(folder: Path) -> Iterator[Callable[[Told], None]]:
    """Write what workers report; a run that was resumed goes on in its files."""
    with closing(_RecordFile(folder)) as records, closing(EventLog(folder / EVENTS)) as events:

        def write(report: Told) -> None:
            if isinstance(report, RoundRecord):
                records.write(report)
            else:
                events(report)

        yield write


class _RecordFile:
    """Appends records, after the last line that is whole."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / RECORDS
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as file:
                file.seek(0)
                file.truncate(sum(len(line) for line in file if _is_whole(line)))
            self._file = self._path.open("ab", buffering=0)
        except OSError as problem:
            raise self._file_error(problem) from None

    def write(self, record: RoundRecord) -> None:
        """Write a record, which others can read from then on."""
        rest = (json.dumps(to_plain(record)) + "\n").encode()
        try:
            while rest:  # a single call may write less
                rest = rest[self._file.write(rest) :]
        except OSError as problem:
            raise self._file_error(problem) from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _file_error(self, problem: OSError) -> FileError:
        return FileError(f"{self._path}: can't be written: {problem.strerror}")


def read_records(folder: Path) -> list[RoundRecord]:
    """Return all workers' records, by round and rank; of a round that was done again, the last one counts."""
    path, records = folder / RECORDS, {}
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if _is_whole(line):
                    record = _record_of(line, f"{path}:{number}")
                    records[record.number, record.rank] = record
    except OSError as problem:
        raise DistributedError(
            f"{path}: can't be read: {problem.strerror}; name the folder of a run with several workers"
        ) from None
    return [records[key] for key in sorted(records)]


def _is_whole(line: bytes) -> bool:
    """Return a kill may cut the last line off; and one that is being written isn't there yet."""
    return line.endswith(b"\n")


def _record_of(line: bytes, where: str) -> RoundRecord:
    try:
        record = from_plain(dict(json.loads(line)))  # Python's own reader takes NaN
    except (ValueError, TypeError, RecursionError, DistributedError):
        record = None
    if not isinstance(record, RoundRecord):
        raise DistributedError(f"{where}: isn't the record of a round; remove this line")
    return record


@dataclass(frozen=True)
class Moment:
    """An iteration: the loss, if it was displayed then, and the test nets' outputs, if there was a test."""

    iteration: int
    loss: float | None = None
    tested: Mapping[str, float] = field(default_factory=dict)


def read_moments(log: Path) -> tuple[Moment, ...]:
    """Return the moments in a log of events."""
    return moments_of(read_event_log(log))


def moments_of(lines: Iterable[Mapping[str, Any]]) -> tuple[Moment, ...]:
    """Return the moments of events in JSON's form. Iterations that were done again take the place of those before."""
    moments: dict[int, Moment] = {}
    for line in lines:
        match line:
            case {"event": "train", "iteration": int(iteration), "loss": None | int() | float() as loss}:
                moments[iteration] = replace(moments.get(iteration, Moment(iteration)), loss=_number_or_nan(loss))
            case {"event": "test", "iteration": int(iteration), "outputs": dict(outputs)}:
                tested = {
                    name: _number_or_nan(value)
                    for name, value in outputs.items()
                    if isinstance(value, int | float | None)
                }
                moments[iteration] = replace(moments.get(iteration, Moment(iteration)), tested=tested)
    return tuple(moments[iteration] for iteration in sorted(moments))


def _number_or_nan(value: float | None) -> float:
    """JSON has no NaN."""
    return math.nan if value is None else value

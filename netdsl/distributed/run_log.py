"""The records of rounds, and the log of a run. Events and records are stored as lines of JSON in the run's folder."""

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
    """An activity that takes a worker's time."""

    COMPUTE = "compute"
    WAIT = "wait"  # for other workers
    EXCHANGE = "exchange"
    BROADCAST = "broadcast"  # during computation, as are the next two
    REDUCE = "reduce"
    PREPARE = "prepare"
    PUSH = "push"  # to a shared variable, also during computation
    TEST = "test"
    SAVE = "save"


@dataclass(frozen=True)
class Span:
    """A period during which a worker did something, by the worker's clock."""

    activity: Activity
    start: float
    stop: float
    shard: int | None = None  # the shard of the model that was exchanged or prepared


@dataclass
class RoundRecord:
    """The results and times of one round of one worker."""

    number: int
    rank: int
    start: float
    stop: float = 0.0
    iteration: int = 0  # the last iteration of the round
    steps: int = 0
    compute: float = 0.0  # seconds
    wait: float = 0.0
    exchange: float = 0.0
    bytes: int = 0
    divergence: float | None = None  # the weights' distance from the mean of all workers, before the mean replaces them
    accuracy: dict[str, float] = field(default_factory=dict)  # the outputs of test nets, by name
    spans: list[Span] = field(default_factory=list)
    memory: int = 0  # peak bytes of the worker's memory on its device, until the end of the round
    host: str = ""  # the machine that the worker was on, if there can be several


Told = Event | RoundRecord  # a worker's report

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
    """Return the event or record in plain values. Raises a `DistributedError` for anything else."""
    kind = _KINDS.get(str(values.get("kind")))
    if kind is None:
        raise DistributedError(
            f"a worker sent an unknown report: {str(values)[:200]}; start all workers with the same version of netdsl"
        )
    fields = {name: value for name, value in values.items() if name != "kind"}
    try:
        report: Told = msgspec.convert(fields, kind, dec_hook=lambda kind, text: kind(text))
    except msgspec.ValidationError as problem:
        raise DistributedError(
            f"a worker sent an invalid {kind.__name__}: {problem}; start all workers with the same version of netdsl"
        ) from None
    return report


@contextmanager
def open_run_log(folder: Path) -> Iterator[Callable[[Told], None]]:
    """Return a function that writes workers' reports. After a resume, it appends to the existing files."""
    with closing(_RecordFile(folder)) as records, closing(EventLog(folder / EVENTS)) as events:

        def write(report: Told) -> None:
            if isinstance(report, RoundRecord):
                records.write(report)
            else:
                events(report)

        yield write


class _RecordFile:
    """Appends records after the last complete line."""

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
        """Write a record, which other processes can read as soon as this returns."""
        rest = (json.dumps(to_plain(record)) + "\n").encode()
        try:
            while rest:  # a single call may write only a part
                rest = rest[self._file.write(rest) :]
        except OSError as problem:
            raise self._file_error(problem) from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _file_error(self, problem: OSError) -> FileError:
        return FileError(f"{self._path}: the file can't be written: {problem.strerror}; free space in the run's folder")


def read_records(folder: Path) -> list[RoundRecord]:
    """Return all workers' records, by round and rank. If a round was trained again, only its last record counts."""
    path, records = folder / RECORDS, {}
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if _is_whole(line):
                    record = _record_of(line, f"{path}:{number}")
                    records[record.number, record.rank] = record
    except OSError as problem:
        raise DistributedError(
            f"{path}: the records can't be read: {problem.strerror}; name a folder that --run wrote"
        ) from None
    return [records[key] for key in sorted(records)]


def _is_whole(line: bytes) -> bool:
    """Return whether a line is complete. The last line isn't while it is being written, or if the writer was killed."""
    return line.endswith(b"\n")


def _record_of(line: bytes, where: str) -> RoundRecord:
    try:
        record = from_plain(dict(json.loads(line)))  # Python's reader accepts NaN
    except (ValueError, TypeError, RecursionError, DistributedError):
        record = None
    if not isinstance(record, RoundRecord):
        raise DistributedError(f"{where}: the line isn't the record of a round; remove this line")
    return record


@dataclass(frozen=True)
class Moment:
    """An iteration's loss, if it was displayed, and the test nets' outputs, if there was a test."""

    iteration: int
    loss: float | None = None
    tested: Mapping[str, float] = field(default_factory=dict)


def read_moments(log: Path) -> tuple[Moment, ...]:
    """Return the moments in a log of events."""
    return moments_of(read_event_log(log))


def moments_of(lines: Iterable[Mapping[str, Any]]) -> tuple[Moment, ...]:
    """Return the moments of events in JSON form. Repeated iterations replace the earlier ones."""
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
    """Return the number, or NaN for null, since JSON can't express NaN."""
    return math.nan if value is None else value

"""What a solver tells and can be asked for: events of training and testing, their log, and actions."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TextIO

from caffe_proto.errors import FileError
from netdsl.model.weights.match import LoadReport


class Action(Enum):
    """A request to a solver that is running."""

    NONE = "none"
    STOP = "stop"
    SNAPSHOT = "snapshot"


def no_action() -> Action:
    """Request nothing: the default `poll_action`."""
    return Action.NONE


@dataclass(frozen=True)
class Output:
    """The values of one of a net's outputs, and their weight in the loss."""

    name: str
    values: tuple[float, ...]
    loss_weight: float = 0.0
    is_score: bool = False  # of a whole test set, of which more is better


@dataclass(frozen=True)
class WeightsLoaded:
    """The nets have weights of files, one taken after the other."""

    paths: tuple[Path, ...]
    report: LoadReport


@dataclass(frozen=True)
class DataOpened:
    """A net's data are open: the name of their source, its number of items, and the names of their classes or, of a net
    that reads sequences of them, of its words or characters.
    """

    source: str
    items: int
    classes: tuple[str, ...]  # in the order of their numbers; none if nothing names them
    tests: bool  # whether the net tests on them
    vocabulary: bool = False  # whether the names are those of words or characters


@dataclass(frozen=True)
class CreatedLayer:
    """A layer of a new net: its blobs, and the shapes of its tops with their weights in the loss."""

    name: str
    bottoms: tuple[str, ...]
    tops: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    loss_weights: tuple[float, ...]


@dataclass(frozen=True)
class NetCreated:
    """A net is built: the one to train, or a test net, which has a number."""

    source: str  # the solver's field that has it, with the name of a file
    test: int | None
    layers: tuple[CreatedLayer, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class TrainingStarted:
    """Training starts at `iteration`, and will end at `last`."""

    iteration: int
    last: int
    net: str  # its name
    items: int  # in an iteration


@dataclass(frozen=True)
class IterationFinished:
    """An iteration is done; `iteration` is the number of the next one."""

    iteration: int


@dataclass(frozen=True)
class TrainingProgress:
    """The loss, the learning rate and the outputs, every `display` iterations."""

    iteration: int
    loss: float
    rate: float
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class BlobMagnitude:
    """The mean absolute value of a blob, or of its gradient."""

    layer: str
    blob: str  # the name of a top, or the index of a parameter
    is_param: bool
    gradient: bool
    mean: float


@dataclass(frozen=True)
class DebugInfo:
    """The magnitudes of all blobs in an iteration; with `debug_info`, in those that are displayed."""

    iteration: int
    magnitudes: tuple[BlobMagnitude, ...]


@dataclass(frozen=True)
class TestStarted:
    """The test of a net starts."""

    iteration: int
    net: int


@dataclass(frozen=True)
class LabelScore:
    """The score of a class over a whole test set."""

    label: int
    value: float


@dataclass(frozen=True)
class TestFinished:
    """The mean loss and the mean outputs of a test net over its batches.

    Where the settings ask for scores of the whole set, these are among the outputs.
    """

    iteration: int
    net: int
    loss: float | None  # only with test_compute_loss
    outputs: tuple[Output, ...]
    classes: tuple[LabelScore, ...] = ()  # only with show_per_class_result


@dataclass(frozen=True)
class BatchTested:
    """The outputs of one batch of a test that isn't part of a training."""

    batch: int
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class SnapshotSaved:
    """The files of a snapshot are complete."""

    iteration: int
    model: Path
    state: Path


@dataclass(frozen=True)
class Notice:
    """Something that a user should know, such as a damaged snapshot that was passed over."""

    text: str


@dataclass(frozen=True)
class WorkersRestarted:
    """A worker was lost, and all workers begin again from the last round that was saved."""

    start: int  # the number of this start
    reason: str


Event = (
    NetCreated
    | DataOpened
    | WeightsLoaded
    | TrainingStarted
    | IterationFinished
    | TrainingProgress
    | DebugInfo
    | TestStarted
    | TestFinished
    | BatchTested
    | SnapshotSaved
    | Notice
    | WorkersRestarted
)
Listener = Callable[[Event], object]


def as_numbers(outputs: tuple[Output, ...]) -> Mapping[str, float]:
    """Return the values of outputs by name; an output of several values has one name for each, with its index."""
    numbers = {}
    for output in outputs:
        for index, value in enumerate(output.values):
            numbers[output.name if len(output.values) == 1 else f"{output.name}[{index}]"] = value
    return numbers


class EventLog:
    """A listener that appends events to a file; a resumed run continues its file."""

    def __init__(self, path: str | Path) -> None:
        self._path, self._start = Path(path), time.monotonic()
        self._file = self._open_at_end()

    def _open_at_end(self) -> TextIO:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            last_byte = self._path.read_bytes()[-1:] if self._path.exists() else b""
            file = self._path.open("a", buffering=1, encoding="utf-8")
        except OSError as problem:
            raise FileError(f"{self._path}: can't be written: {problem.strerror}") from None
        if last_byte not in (b"", b"\n"):  # the process was killed while it wrote a line
            file.write("\n")
        return file

    def __call__(self, event: Event) -> None:
        """Write an event, if it is of a kind that is logged."""
        entry = event_as_json(event)
        if entry is not None:
            seconds = round(time.monotonic() - self._start, 3)
            self._file.write(json.dumps(entry | {"seconds": seconds}) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def event_as_json(event: Event) -> dict[str, Any] | None:
    """Return the JSON object of an event, or None if events of its kind aren't logged."""
    match event:
        case TrainingProgress():
            numbers = _json_numbers(as_numbers(event.outputs))
            loss = {"loss": _json_number(event.loss), "rate": event.rate}
            return {"event": "train", "iteration": event.iteration, **loss, "outputs": numbers}
        case TestFinished():
            loss = {} if event.loss is None else {"loss": _json_number(event.loss)}
            numbers = _json_numbers(as_numbers(event.outputs))
            classes = {"classes": {str(each.label): each.value for each in event.classes}} if event.classes else {}
            return {
                "event": "test",
                "iteration": event.iteration,
                "net": event.net,
                **loss,
                "outputs": numbers,
                **classes,
            }
        case SnapshotSaved():
            files = {"model": str(event.model), "state": str(event.state)}
            return {"event": "snapshot", "iteration": event.iteration, **files}
        case WeightsLoaded():
            return {"event": "weights", "files": list(map(str, event.paths)), "text": str(event.report)}
        case Notice():
            return {"event": "notice", "text": event.text}
        case WorkersRestarted():
            return {"event": "restart", "start": event.start, "reason": event.reason}
    return None


def read_event_log(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a log. Lines that aren't complete, because the process was killed, are skipped."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise FileError(f"{path}: can't be read: {problem}") from None
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _json_numbers(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _json_number(value) for name, value in numbers.items()}


def _json_number(value: float) -> float | None:
    """Return the value, or None in place of the numbers that JSON doesn't have."""
    return value if math.isfinite(value) else None

"""The events that a solver sends in training and testing, their log, and the actions that can be requested from it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TextIO

from caffe_proto.addresses import local_path
from caffe_proto.errors import FileError
from netdsl.model.weights.match import LoadReport
from netdsl.storage.local_copies import with_addresses


class Action(Enum):
    """A request to a solver that is running."""

    NONE = "none"
    STOP = "stop"
    SNAPSHOT = "snapshot"


def no_action() -> Action:
    """Return the default action of `poll_action`, which is none."""
    return Action.NONE


@dataclass(frozen=True)
class Output:
    """The values of one of a net's outputs, and their weight in the loss."""

    name: str
    values: tuple[float, ...]
    loss_weight: float = 0.0
    is_score: bool = False  # of a whole test set; higher is better


@dataclass(frozen=True)
class WeightsLoaded:
    """The nets have received weights from files, in this order."""

    paths: tuple[Path, ...]
    report: LoadReport


@dataclass(frozen=True)
class DataOpened:
    """A net's data are open.

    Contains the name of the source, the number of items, and the names of the classes. For a net that reads sequences,
    these are the names of its words or characters.
    """

    source: str
    items: int
    classes: tuple[str, ...]  # in the order of their numbers; empty if they have no names
    tests: bool  # whether the net tests on them
    vocabulary: bool = False  # whether the names are those of words or characters


@dataclass(frozen=True)
class CreatedLayer:
    """A layer of a new net: its blobs, and the shapes and loss weights of its tops."""

    name: str
    bottoms: tuple[str, ...]
    tops: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    loss_weights: tuple[float, ...]


@dataclass(frozen=True)
class NetCreated:
    """A net has been built. It is the net to train, or a test net with a number."""

    source: str  # the solver's field that contains the net, with the name of a file
    test: int | None
    layers: tuple[CreatedLayer, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class TrainingStarted:
    """Training starts at `iteration` and will end at `last`."""

    iteration: int
    last: int
    net: str  # its name
    items: int  # number of items in an iteration


@dataclass(frozen=True)
class IterationFinished:
    """An iteration is complete. `iteration` is the number of the next one."""

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
    """The magnitudes of all blobs in an iteration. With `debug_info`, the solver sends them if it displays the
    iteration."""

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

    The outputs include the scores of the whole set that the settings request.
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
    """A notice for the user, such as about a damaged snapshot that was skipped."""

    text: str


@dataclass(frozen=True)
class WorkersRestarted:
    """A worker was lost, and all workers restart from the last saved round."""

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
    """Return the values of outputs by name. An output with several values has one name for each, with its index."""
    numbers = {}
    for output in outputs:
        for index, value in enumerate(output.values):
            numbers[output.name if len(output.values) == 1 else f"{output.name}[{index}]"] = value
    return numbers


class EventLog:
    """A listener that appends events to a file. A resumed run continues its file."""

    def __init__(self, path: str | Path) -> None:
        self._path, self._start = local_path(path), time.monotonic()
        self._file = self._open_at_end()

    def _open_at_end(self) -> TextIO:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            last_byte = self._path.read_bytes()[-1:] if self._path.exists() else b""
            file = self._path.open("a", buffering=1, encoding="utf-8")
        except OSError as problem:
            raise FileError(
                f"{self._path}: the file can't be written: {problem.strerror}; choose a folder that you can "
                "write to, or free space there"
            ) from None
        if last_byte not in (b"", b"\n"):  # the process was killed while it was writing a line
            file.write("\n")
        return file

    def __call__(self, event: Event) -> None:
        """Write an event if its kind is logged."""
        entry = event_as_json(event)
        if entry is not None:
            seconds = round(time.monotonic() - self._start, 3)
            self._file.write(with_addresses(json.dumps(entry | {"seconds": seconds})) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def event_as_json(event: Event) -> dict[str, Any] | None:
    """Return the JSON object of an event, or `None` if its kind isn't logged."""
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
    """Yield the JSON objects of a log. Skips incomplete lines, which a killed process leaves."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise FileError(f"{path}: the log can't be read: {problem}; check the path and its permissions") from None
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _json_numbers(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _json_number(value) for name, value in numbers.items()}


def _json_number(value: float) -> float | None:
    """Return the value, or `None` for a number that JSON can't express."""
    return value if math.isfinite(value) else None

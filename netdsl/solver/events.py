"""Events of training and testing, which a solver sends to its listener."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from netdsl.weights.match import LoadReport


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
)
Listener = Callable[[Event], None]


def as_numbers(outputs: tuple[Output, ...]) -> Mapping[str, float]:
    """The values of outputs by name; an output of several values has one name for each, with its index."""
    numbers = {}
    for output in outputs:
        for index, value in enumerate(output.values):
            numbers[output.name if len(output.values) == 1 else f"{output.name}[{index}]"] = value
    return numbers

"""What a solver tells those who listen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Output:
    """The values of a net's output, and what they count in the loss."""

    name: str
    values: tuple[float, ...]
    loss_weight: float = 0.0


@dataclass(frozen=True)
class Began:
    """Training begins, from this iteration until the last."""

    iteration: int
    last: int
    net: str  # its name
    items: int  # in an iteration


@dataclass(frozen=True)
class Stepped:
    """An iteration is done."""

    iteration: int


@dataclass(frozen=True)
class Displayed:
    """How training goes, every `display` iterations."""

    iteration: int
    loss: float
    rate: float
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Magnitude:
    """How large the values or the gradients of a blob are: the mean of their sizes."""

    layer: str
    blob: str  # the name of a top, or the number of one of the layer's own blobs
    own: bool
    gradient: bool
    mean: float


@dataclass(frozen=True)
class Inspected:
    """What every layer made in an iteration: with `debug_info`, in those that are displayed."""

    iteration: int
    magnitudes: tuple[Magnitude, ...]


@dataclass(frozen=True)
class Testing:
    """A test begins."""

    iteration: int
    net: int


@dataclass(frozen=True)
class Tested:
    """What a test net gave on the average of its batches."""

    iteration: int
    net: int
    loss: float | None  # only with test_compute_loss
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Saved:
    """A snapshot is whole."""

    iteration: int
    model: Path
    state: Path


Event = Began | Stepped | Displayed | Inspected | Testing | Tested | Saved
Listener = Callable[[Event], None]


def as_numbers(outputs: tuple[Output, ...]) -> Mapping[str, float]:
    """Outputs of one value each, by name; longer ones are numbered."""
    found = {}
    for output in outputs:
        for index, value in enumerate(output.values):
            found[output.name if len(output.values) == 1 else f"{output.name}[{index}]"] = value
    return found

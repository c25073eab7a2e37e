"""A request to fine-tune."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from netdsl.distributed.strategies.strategy import Strategy
from zoo.finetuning.recipe import Recipe
from zoo.worker_count import WorkerCount

PATIENCE = 5  # tests without progress after which training ends


@dataclass(frozen=True)
class FineTuneRequest:
    """A request to fine-tune: the model, the data, and what else a user may choose."""

    model: str
    data: str
    output: Path
    tests: str | None = None  # data to test on, instead of a share of the data
    weights: tuple[str, ...] = ()  # if the model has none of its own
    replaced: Mapping[str, int | None] = field(default_factory=dict)  # layers, and their outputs if not the classes
    frozen: tuple[str, ...] = ()  # patterns of layers' names
    share: float = 0.1  # of the items, for tests
    recipe: Recipe = field(default_factory=Recipe)
    workers: WorkerCount | None = None
    strategy: Strategy | None = None
    patience: int | None = PATIENCE
    command: str = ""

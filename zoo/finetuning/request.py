"""A request to fine-tune, and what follows from it for the solver: batches, rates and lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import DistributedError
from netdsl.solver.length import Epoch

EPOCHS = 20
_TRAIN_BATCH, _TEST_BATCH = 32, 50
_BASE_RATE = 0.01  # of trainings from scratch, if the authors' isn't known
_SLOWER = 10.0  # times: weights that are good already change slowly, as in Caffe's own recipe

PATIENCE = 5  # tests without progress after which training ends


@dataclass(frozen=True)
class Recipe:
    """What a user may choose; what isn't chosen follows from the model and the data."""

    epochs: float = EPOCHS
    batch: int | None = None  # of each worker or, where workers divide it, of all together
    base_lr: float | None = None
    seed: int = 1


def train_batch(recipe: Recipe, items: int, strategy: Strategy, workers: int) -> int:
    """Return the batch of the net: 32, or less where there are few items, so that an epoch has some iterations.

    Each worker has one. Those of a strategy that divides it have equal parts of one, whose size they must divide.
    """
    parts = workers if strategy.divides_batch else 1
    batch = recipe.batch or max(1, min(_TRAIN_BATCH, items // (4 * workers // parts)) // parts) * parts
    if batch % parts:
        raise DistributedError(
            f"with {strategy.name} {workers} workers divide a batch, and {batch} can't be divided by {workers}; give "
            f"--batch {-(-batch // parts) * parts}, or another strategy, such as averaging"
        )
    return batch


def test_batch(items: int) -> int:
    """Return the batch of tests: the largest up to 50 that divides the number of items, so that each counts once."""
    return next(batch for batch in range(min(_TEST_BATCH, items), 0, -1) if items % batch == 0)


def solver_settings(
    authors: pb.SolverParameter | None, recipe: Recipe, epoch: Epoch, *, tests: int
) -> pb.SolverParameter:
    """Return the solver: a tenth of the authors' rate, which falls to nothing, and a test and a snapshot after each
    epoch."""
    rate = authors.base_lr if authors is not None and authors.HasField("base_lr") else _BASE_RATE
    param = pb.SolverParameter(
        type=authors.type if authors is not None and authors.HasField("type") else "SGD",
        base_lr=recipe.base_lr or rate / _SLOWER,
        lr_policy="poly",
        power=1,
        momentum=0.9,
        weight_decay=authors.weight_decay if authors is not None and authors.HasField("weight_decay") else 0.0005,
        max_iter=epoch.iterations_of(recipe.epochs),
        display=epoch.interval,
        test_interval=epoch.interval,
        snapshot=epoch.interval,
        random_seed=recipe.seed,
    )
    if authors is not None and authors.HasField("momentum"):
        param.momentum = authors.momentum
    param.test_iter.append(tests // test_batch(tests))
    return param


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
    dialect: str | None = None

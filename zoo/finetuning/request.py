"""Fine-tuning requests, and the solver settings that follow from them: batches, rates and lengths."""

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
_ITERATIONS = 4  # in an epoch, at least
_FEW_ITEMS = 16  # in a batch, whose own means and variances are too rough
_FEW_STEPS = 3000  # Caffe's averages of means and variances forget the old values in about a thousand steps
_BASE_RATE = 0.01  # for training from scratch, if the authors' rate is unknown
_SLOWER = 10.0  # a factor, since pretrained weights should change slowly, as in Caffe's own recipe

PATIENCE = 5  # number of tests without progress after which training ends


@dataclass(frozen=True)
class Recipe:
    """The user's choices. Missing choices follow from the model and the data."""

    epochs: float = EPOCHS
    batch: int | None = None  # for each worker, or for all together if they divide it
    base_lr: float | None = None
    seed: int = 1


def train_batch(recipe: Recipe, items: int, strategy: Strategy, workers: int) -> int:
    """Return the batch of the net: 32, or less for few items, so that an epoch has several iterations.

    A batch that the user chose is also limited, so that no iteration has an item twice.

    Each worker has its own batch. If the strategy divides the batch, the workers get equal parts, so the batch must be
    a multiple of their number.
    """
    parts = workers if strategy.divides_batch else 1
    alone = workers // parts  # the number of batches that are processed at the same time
    if recipe.batch is None:
        batch = max(1, min(_TRAIN_BATCH, items // (_ITERATIONS * alone)) // parts) * parts
    elif recipe.batch * alone <= items:
        batch = recipe.batch
    else:
        batch = max(1, items // alone // parts) * parts
    if batch % parts:
        raise DistributedError(
            f"with {strategy.name}, {workers} workers divide a batch, but {batch} isn't a multiple of "
            f"{workers}; give --batch {-(-batch // parts) * parts}, or another strategy, such as averaging"
        )
    return batch


def fixes_statistics(recipe: Recipe, items: int, batch: int) -> bool:
    """Return whether batch normalization should use the model's own means and variances in training.

    `batch` is the number of items in an iteration. In few iterations, Caffe's running averages can't follow the
    batches, so that tests would use other values than training.
    """
    return batch < _FEW_ITEMS or recipe.epochs * items / batch < _FEW_STEPS


def test_batch(items: int) -> int:
    """Return the batch of tests: the largest number up to 50 that divides the number of items, so that each item counts
    once."""
    return next(batch for batch in range(min(_TEST_BATCH, items), 0, -1) if items % batch == 0)


def solver_settings(
    authors: pb.SolverParameter | None, recipe: Recipe, epoch: Epoch, *, tests: int
) -> pb.SolverParameter:
    """Return the solver. Its learning rate is a tenth of the authors' and falls to zero. A test and a snapshot follow
    each epoch."""
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
    """A request to fine-tune: the model, the data, and the user's choices."""

    model: str
    data: str
    output: Path
    tests: str | None = None  # test data, instead of a share of the data
    weights: tuple[str, ...] = ()  # weights for a model without weights
    # Layers, each with its number of outputs, or `None` for the number of classes.
    replaced: Mapping[str, int | None] = field(default_factory=dict)
    frozen: tuple[str, ...] = ()  # name patterns of layers
    share: float = 0.1  # share of the items to test on
    folds: int | None = None  # number of folds of a cross-validation
    recipe: Recipe = field(default_factory=Recipe)
    workers: WorkerCount | None = None
    strategy: Strategy | None = None
    patience: int | None = PATIENCE
    command: str = ""
    dialect: str | None = None

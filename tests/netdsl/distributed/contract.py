"""A training run that counts its items: which ones its workers saw, and where they tested."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from netdsl.allowed_modules import in_folder
from netdsl.data.writing.databases import lmdb_writer
from netdsl.data.writing.example import Example
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.settings import STRATEGIES, parse
from netdsl.solver.length import Intervals
from netdsl.solver.settings import open_settings
from tests.patience import PATIENCE

PYTHON_LAYER = in_folder(["seen_items"], Path(__file__).parent)
ITEMS, BATCH, EPOCHS = 36, 6, 2
WORKERS = [1, 2, 3]
TIMED = "averaging:seconds=2.5"
# Rounds that only tests end, shorter rounds, and rounds that end by the clock.
LONG = [f"{name}:tau=50" for name in STRATEGIES if name != "allreduce"]
LINES = [*LONG, "allreduce", "elastic:tau=4", TIMED]
EXACT = LINES[:-1]

SOLVER = """
base_lr: 0.05 lr_policy: "poly" power: 1 momentum: 0.9 random_seed: 3 test_iter: 3 test_initialization: false
net_param {
  layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
    data_param { source: "%(data)s" batch_size: 6 backend: LMDB shuffle: true }
    transform_param { scale: 0.00390625 crop_size: 6 mirror: true } }
  layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST }
    data_param { source: "%(data)s" batch_size: 12 backend: LMDB }
    transform_param { scale: 0.00390625 crop_size: 6 } }
  layer { name: "seen" type: "Python" bottom: "data" bottom: "label" include { phase: TRAIN }
    python_param { module: "seen_items" layer: "SeenItems" param_str: "%(seen)s" } }
  layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
    inner_product_param { num_output: 50 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
  layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
}
"""


def write_items(folder: Path, count: int) -> None:
    """Write images of noise, each with its number as its label."""
    random = np.random.default_rng(7)
    with lmdb_writer(folder / "items") as put:
        for number in range(count):
            image = random.integers(0, 256, (1, 8, 8), np.uint8)
            put(Example(number, "", (image, np.array(number, np.float32))))


@dataclass(frozen=True)
class Contract:
    """A run of some epochs, in a folder that contains its items."""

    folder: Path
    strategy: str
    workers: int
    items: int = ITEMS
    epochs: float = EPOCHS

    @property
    def name(self) -> str:
        return f"{self.strategy.replace(':', '_').replace('=', '')}_{self.workers}"

    @property
    def at_once(self) -> int:
        """The number of items in an iteration."""
        return BATCH if self.strategy == "allreduce" else BATCH * self.workers

    def run(self) -> Run:
        names = {"data": str(self.folder / "items"), "seen": str(self.folder / f"{self.name}.txt")}
        param = text_format.Parse(SOLVER % names, pb.SolverParameter())
        param.test_interval = 1  # so that the test net is read
        run = Run(open_settings(param), parse(self.strategy), self.workers, deadline=PATIENCE)
        epoch = run.epoch_of(Fraction(self.items, BATCH))
        solver = run.solver.with_fields(
            max_iter=epoch.iterations_of(self.epochs), snapshot=epoch.interval, test_interval=epoch.interval
        )
        solver = solver.with_fields(snapshot_prefix=str(self.folder / self.name))
        return replace(run, solver=solver, due=Intervals(epoch.iterations, epoch.iterations)).settled()

    def ends_of_epochs(self) -> list[int]:
        """Return the iterations with tests: whenever all items were seen once more, and at the end."""
        ends = [-(-number * self.items // self.at_once) for number in range(1, int(self.epochs) + 1)]
        last = -(-int(self.epochs * self.items) // self.at_once)
        return sorted({*ends, last})

    def seen(self) -> Counter[str]:
        """Return how often each item was seen, by its label and its cropped and mirrored image."""
        return Counter((self.folder / f"{self.name}.txt").read_text().split())

    def snapshots(self) -> list[int]:
        """Return the iterations with snapshots."""
        return sorted(int(path.stem.rpartition("_")[2]) for path in self.folder.glob(f"{self.name}_iter_*.caffemodel"))

    def check(self, tests: list[int]) -> None:
        """Check the rules that every strategy follows with every number of workers."""
        items, labels = self.seen(), Counter[str]()
        for item, times in items.items():
            labels[item.partition(":")[0]] += times
        more = sum(labels.values()) - self.epochs * self.items
        if self.strategy in EXACT:
            assert 0 <= more < self.at_once
            assert set(labels) == {str(number) for number in range(self.items)}
            assert min(labels.values()) >= int(self.epochs)
        else:  # each worker reads its own part at its own pace
            assert -self.at_once / 2 <= more < 1.5 * self.at_once
        assert tests == self.ends_of_epochs()

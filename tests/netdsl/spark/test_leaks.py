"""No processes and no disk space accumulate over rounds."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.journal import Retention
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord, Told
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.supervisor import train
from netdsl.distributed.transports.transport import Transport
from netdsl.solver.settings import open_settings
from netdsl.spark.launcher import SparkLauncher
from tests.netdsl.spark.conftest import TRANSPORTS, executor_of, workers_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROUNDS, SETTLED, WINDOW = 200, 40, 10
GROWTH = 45e6  # bytes: two buffers of the model come and go; losing a fiftieth of it each round would be more
SOLVER = """
base_lr: 0.01 lr_policy: "fixed" max_iter: 200 random_seed: 3 snapshot_after_train: false
net_param {
  layer { name: "data" type: "Data" top: "data" top: "label"
    data_param { source: "digits:train" batch_size: 4 } transform_param { scale: 0.00390625 } }
  layer { name: "wide" type: "InnerProduct" bottom: "data" top: "wide"
    inner_product_param { num_output: 70000 weight_filler { type: "xavier" } } }
  layer { name: "ip" type: "InnerProduct" bottom: "wide" top: "ip"
    inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
}
"""


class Watch:
    """The lowest figures of processes and folders, early and late, so that temporary use while saving a state doesn't
    count."""

    def __init__(self, run: Path, local: Path) -> None:
        self._run, self._local = run, local
        self.early: dict[str, int] = defaultdict(lambda: 1 << 60)
        self.late: dict[str, int] = defaultdict(lambda: 1 << 60)

    def __call__(self, what: Told) -> None:
        if not isinstance(what, RoundRecord) or what.rank:
            return
        for start, found in ((SETTLED, self.early), (ROUNDS - WINDOW, self.late)):
            if start <= what.number < start + WINDOW:
                for name, value in self._taken().items():
                    found[name] = min(found[name], value)

    def _taken(self) -> dict[str, int]:
        workers = [pid for pid in workers_of(self._run) if is_python(pid)]
        processes = {"driver": os.getpid()}
        for number, pid in enumerate(sorted(workers)):
            processes |= {f"worker {number}": pid, f"executor {number}": executor_of(pid)}
        found = {name: resident(pid) for name, pid in processes.items()}
        return found | {"run": size_of(self._run), "local": size_of(self._local)}


def is_python(pid: int) -> bool:
    return b"java" not in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]


def resident(pid: int) -> int:
    """Return the bytes of a process's private memory."""
    values = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(values["RssAnon"].split()[0]) * 1024


def size_of(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_two_hundred_rounds_of_a_20_mb_model_leak_nothing(session: Any, folder: Path, transport: Transport) -> None:
    param: pb.SolverParameter = text_format.Parse(SOLVER, pb.SolverParameter())
    run = Run(open_settings(param), parse("averaging:tau=1"), 2, transport=transport, keeping=Retention(every=20))
    run.settled().save(folder)
    watch = Watch(folder, Path(session.sparkContext.getConf().get("spark.local.dir")))
    train(folder, SparkLauncher(session), told=watch)
    assert (folder / MODEL).stat().st_size > 20e6
    assert {"driver", "worker 0", "worker 1", "executor 0", "executor 1"} <= set(watch.late)
    grown = {name: watch.late[name] - watch.early[name] for name in watch.late}
    print({name: f"{watch.early[name] / 1e6:.1f} {by / 1e6:+.2f} MB" for name, by in grown.items()})
    assert {name for name, by in grown.items() if by > GROWTH} == set()

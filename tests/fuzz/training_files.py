"""Files that training writes: runs, journals and snapshots."""

from __future__ import annotations

from pathlib import Path

import torch
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import BadItems, Loading
from netdsl.data.tables.table import Table
from netdsl.distributed.journal import Journal, Retention, WorkerPart
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.transports.transport import Transport
from netdsl.net.compute_precision import ComputePrecision
from netdsl.net.graph import Phase
from netdsl.solver import state
from netdsl.solver.settings import open_settings
from netdsl.solver.snapshot_files import RandomStates, newest
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute
from tests.netdsl.solver.conftest import Regression

_NET = """
layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 6 dim: 3 } } }
layer { name: "p" type: "InnerProduct" bottom: "x" top: "p" inner_product_param { num_output: 2 } }
"""
_RETENTION = Retention(5, 4)


def make_runs(folder: Path) -> None:
    solver = pb.SolverParameter(net_param=text_format.Parse(_NET, pb.NetParameter()), base_lr=0.1, max_iter=12)
    compute = Compute(torch.device("cpu"), ComputePrecision.BF16, True, Loading(workers=7, bad=BadItems.SKIP))
    tables = {Phase.TRAIN: Table("arrow:rows", {"data": "image"}, shuffle=True), Phase.TEST: Table("digits")}
    for number, strategy in enumerate(("averaging:tau=auto", "elastic:alpha=0.25")):
        run = Run(
            open_settings(solver),
            parse(strategy),
            3,
            folder,
            ("a.caffemodel",),
            "some.solverstate",
            compute,
            tables=tables,
        )
        run.save(folder / str(number))
    Run(open_settings(solver), transport=Transport.GLOO, keeping=_RETENTION).save(folder / "plain")


def read_run(folder: Path) -> None:
    Run.load(folder)


def make_journals(folder: Path) -> None:
    journal = Journal(folder / "two", _RETENTION)
    for number in (1, 2):
        part = WorkerPart(number, {"data": 3 * number}, [], RandomStates("", []), current_step=0)
        for rank in (0, 1):
            journal.write(number, rank, {"weights": torch.arange(20.0), "rng": torch.arange(9)}, part)
        journal.complete(number, 2, 0.5)


def read_journal(folder: Path) -> None:
    journal = Journal(folder, _RETENTION)
    entry = journal.newest()
    if entry is not None:
        for rank in (0, 1):
            journal.read(entry, rank)


def _solver(folder: Path, form: int) -> Solver:
    settings = {"base_lr": 0.01, "lr_policy": "fixed", "type": "Adam", "momentum": 0.9, "snapshot_format": form}
    return Solver(pb.SolverParameter(**settings, snapshot_prefix=str(folder / "s")), Regression())


def make_snapshots(folder: Path) -> None:
    for name, form in pb.SolverParameter.SnapshotFormat.items():
        (folder / name).mkdir()
        solver = _solver(folder / name, form)
        solver.step(2)
        solver.snapshot()


def read_snapshot(folder: Path) -> None:
    path = newest(str(folder / "s")) or next(folder.glob("s_iter_2.solverstate*"))
    state.restore(_solver(folder, pb.SolverParameter.BINARYPROTO), path)

"""Folders of invented runs: a net with random weights, and made-up records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl import Accuracy, ConvLayer, Data, LinearLayer, NetParams, SoftmaxWithLoss
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord, open_run_log
from netdsl.distributed.run_worker import MODEL
from netdsl.model.weights.files import save_net
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule
from netdsl.solver.events import Event, Output, TestFinished, TrainingProgress
from netdsl.solver.settings import open_settings
from tests.zoo.logs.conftest import averaging
from zoo.report.predictions import open_trained

EVENTS = (
    TrainingProgress(0, 2.5, 0.1, ()),
    TrainingProgress(20, 1.5, 0.05, ()),
    TestFinished(0, 0, None, (Output("accuracy", (0.1,)), Output("loss", (2.4,), 1.0))),
)


def net(name: str = "small", first: str = "conv1") -> NetParams:
    """Return a net that classifies digits with one convolution, under any name."""
    read = [
        Data(
            "data",
            tops=["data", "label"],
            data_param={"source": f"digits:{phase.lower()}", "batch_size": 36},
            transform_param={"scale": 1 / 16},
            include={"phase": phase},
        )
        for phase in ("TRAIN", "TEST")
    ]
    return NetParams(
        name,
        *read,
        ConvLayer(first, ["data"], kernel=(3, 3), num_filters=5, weight_filler={"type": "xavier"}),
        LinearLayer("scores", [first], num_outputs=10, weight_filler={"type": "xavier"}),
        SoftmaxWithLoss("loss", ["scores", "label"]),
        Accuracy("accuracy", ["scores", "label"], include={"phase": "TEST"}),
    )


def write_run(
    folder: Path,
    records: Sequence[RoundRecord] = (),
    *,
    events: Sequence[Event] = EVENTS,
    params: NetParams | None = None,
    weights: bool = True,
    **settings: object,
) -> None:
    """Write a run of 40 iterations, by default with four rounds of three workers."""
    params = params or net()
    solver = pb.SolverParameter(base_lr=0.1, lr_policy="fixed", max_iter=40, test_iter=[10], test_interval=10)
    solver.MergeFrom(pb.SolverParameter(snapshot_prefix=str(folder / "small"), **settings))
    solver.net_param.CopyFrom(params.message)
    Run(open_settings(solver), workers=3).settled().save(folder)
    with open_run_log(folder) as log:
        for report in (*(records or averaging()), *events):
            log(report)
    if weights:
        model, _ = open_trained(Run.load(folder))  # random weights, in shapes that fit the data
        module = NetModule(model.layers(Phase.TRAIN).with_own_blobs()).allocate()
        save_net(module.built, folder / MODEL)

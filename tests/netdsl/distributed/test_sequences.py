"""Several workers and nets that carry a state from one batch to the next."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.distributed.machines import Link
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import open_worker
from netdsl.simulator.communicator import Network, SimulatedCommunicator
from netdsl.simulator.world import World
from netdsl.solver.events import Event, Notice

NET = """
layer { name: "x" type: "DummyData" top: "x" top: "cont" top: "y"
        dummy_data_param { shape { dim: 4 dim: 2 dim: 3 } shape { dim: 4 dim: 2 } shape { dim: 4 dim: 2 dim: 5 } } }
layer { name: "memory" type: "LSTM" bottom: "x" bottom: "cont" top: "h" %s }
layer { name: "loss" type: "EuclideanLoss" bottom: "h" bottom: "y" top: "loss" }
"""


@pytest.mark.parametrize(("workers", "told"), [(1, 0), (2, 1)])
def test_it_is_told_that_several_workers_break_sequences_up(workers: int, told: int) -> None:
    param = pb.SolverParameter(base_lr=0.1, lr_policy="fixed", max_iter=1)
    settings = 'recurrent_param { num_output: 5 weight_filler { type: "xavier" } }'
    param.net_param.CopyFrom(from_text(NET % settings, pb.NetParameter))
    communicator = SimulatedCommunicator(Network(World(workers), Link()), 0)
    events: list[Event] = []
    with open_worker(Run(param, workers=workers).settled(), communicator, listen=events.append):
        notices = [event.text for event in events if isinstance(event, Notice)]
    assert [text.partition(":")[0] for text in notices] == ["layer 'memory'"] * told

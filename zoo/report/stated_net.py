"""A run's net in one phase, with the shapes that its data have written into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from netdsl.distributed.run import Run
from netdsl.net.feed import Feeds
from netdsl.net.graph import Graph, Phase, connect, filter_layers
from netdsl.solver.settings import test_nets, train_net


@dataclass(frozen=True)
class OpenNet:
    """A net whose data are open. Its layers belong to its state, and state the shapes of what they read."""

    graph: Graph
    feeds: Feeds
    net: pb.NetParameter


@contextmanager
def open_data(run: Run, net: pb.NetParameter, phase: Phase) -> Iterator[OpenNet]:
    """Open the data that a net of the run reads in a phase."""
    graph = connect(filter_layers(net, net.state))
    table = run.tables.get(phase)
    with closing(Feeds.open(graph, loading=run.compute.loading, table=table)) as feeds:
        yield OpenNet(graph, feeds, _alone(graph))


def stated_net(run: Run) -> tuple[pb.NetParameter, str]:
    """The net that is trained, as its data make it, and why they can't be opened, if so."""
    net = train_net(run.solver, run.folder)
    try:
        with open_data(run, net, Phase.TRAIN) as opened:
            return opened.net, ""
    except CaffeError as problem:
        return _alone(connect(filter_layers(net, net.state))), str(problem)


def first_test_net(run: Run) -> pb.NetParameter | None:
    """The first net that the run tests; None if it tests none."""
    return next(iter(test_nets(run.solver, run.folder)), None)


def _alone(graph: Graph) -> pb.NetParameter:
    """The net of a graph's layers, which no rules leave out any more."""
    net = pb.NetParameter()
    net.CopyFrom(graph.net)
    net.ClearField("layer")
    for node in graph.nodes:
        layer = net.layer.add()
        layer.CopyFrom(node.layer)
        layer.ClearField("include")
        layer.ClearField("exclude")
    return net

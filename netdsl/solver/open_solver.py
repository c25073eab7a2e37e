"""Opening a solver: its nets, their data and their weights, from its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.data.tables.table import Table
from netdsl.model.opening import load_weights
from netdsl.model.weights.match import LoadReport
from netdsl.net.caffe_memory import memory_notes
from netdsl.net.compute_precision import repeatable
from netdsl.net.graph import Phase
from netdsl.solver.evaluation import unsupported_scores
from netdsl.solver.events import Action, Listener, Notice, WeightsLoaded, no_action
from netdsl.solver.opened_nets import data_events, net_created, output_names
from netdsl.solver.settings import find_file, inline_nets, net_sources, seed, split_names, test_nets, train_net
from netdsl.solver.solver import Solver, ignore_event
from netdsl.solver.trainable_net import Compute, ModuleNet


@contextmanager
def open_solver(
    param: pb.SolverParameter,
    *,
    folder: Path | None = None,
    compute: Compute | None = None,
    weights: Sequence[str | Path] = (),
    tables: Mapping[Phase, Table] | None = None,
    listen: Listener = ignore_event,
    poll_action: Callable[[], Action] = no_action,
    require_finite: bool = True,
    test_last: bool = False,
) -> Iterator[Solver]:
    """Open a solver with its nets, whose data are closed at the end.

    Files that the settings name are also looked for in `folder`. A phase with a table takes its data from it. `listen`
    hears of the data that are opened. On a GPU an exact training has the same bits again.
    """
    seed(param)
    compute, tables = compute or Compute(), tables or {}
    compute = replace(compute, loading=replace(compute.loading, seed=max(0, param.random_seed)))
    nets: list[ModuleNet] = []
    with ExitStack() as stack:
        stack.enter_context(repeatable(compute.device, compute.precision))
        inlined = inline_nets(param, folder)
        train, table = train_net(inlined), tables.get(Phase.TRAIN)
        train_source, test_sources = net_sources(param)
        nets.append(stack.enter_context(closing(ModuleNet(train, compute, values=table))))
        listen(net_created(nets[0].built, train_source))
        for index, (message, source) in enumerate(zip(test_nets(inlined), test_sources, strict=True)):
            nets.append(stack.enter_context(closing(ModuleNet(message, compute, values=tables.get(Phase.TEST)))))
            listen(net_created(nets[-1].built, source, test=index))
        for event in data_events(nets):
            listen(event)
        paths = [find_file(name, folder) for name in split_names([*param.weights, *map(str, weights)])]
        if paths:
            reports = [load_weights(path, *(net.built for net in nets)) for path in paths]
            listen(WeightsLoaded(tuple(paths), LoadReport.of_all(reports)))
        for note in memory_notes(nets[0].built, caffe_gradients=compute.caffe_gradients):
            listen(Notice(note))
        unsupported = unsupported_scores(param, [net.built for net in nets[1:]])
        if unsupported:
            listen(Notice(unsupported))
        yield Solver(
            param,
            nets[0],
            nets[1:],
            listen=listen,
            poll_action=poll_action,
            require_finite=require_finite,
            test_last=test_last,
            classes=output_names(nets[0]),
        )

"""Opens a solver from its settings, with its nets, data and weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from netdsl.data.tables.table import Table
from netdsl.model.model import Model
from netdsl.model.opening import load_weights
from netdsl.model.weights.match import LoadReport
from netdsl.net.caffe_memory import memory_notes
from netdsl.net.compute_precision import repeatable
from netdsl.net.graph import Phase
from netdsl.solver.evaluation import unsupported_scores
from netdsl.solver.events import Action, Listener, Notice, WeightsLoaded, no_action
from netdsl.solver.opened_nets import data_events, net_created, output_names
from netdsl.solver.settings import SolverSettings, find_weights, seed
from netdsl.solver.solver import Solver, ignore_event
from netdsl.solver.trainable_net import Compute, ModuleNet


@contextmanager
def open_solver(
    settings: SolverSettings,
    *,
    folder: Path | None = None,
    compute: Compute | None = None,
    weights: Sequence[str | Path | Model] = (),
    tables: Mapping[Phase, Table] | None = None,
    listen: Listener = ignore_event,
    poll_action: Callable[[], Action] = no_action,
    require_finite: bool = True,
    test_last: bool = False,
) -> Iterator[Solver]:
    """Open a solver with its nets, and close their data at the end.

    Names of weights files may be relative to `folder`, including those in the settings. A phase with a table reads its
    data from the table. Calls `listen` with an event for the data that are opened. On a GPU, exact training is
    repeatable to the same bits.
    """
    param = settings.param
    seed(param)
    compute, tables = compute or Compute(), tables or {}
    compute = replace(compute, loading=replace(compute.loading, seed=max(0, param.random_seed)))
    nets: list[ModuleNet] = []
    with ExitStack() as stack:
        stack.enter_context(repeatable(compute.device, compute.precision))
        train_source, test_sources = settings.sources()
        opened = ModuleNet.open(settings.trained, compute, values=tables.get(Phase.TRAIN))
        nets.append(stack.enter_context(closing(opened)))
        listen(net_created(opened.built, train_source))
        for index, (model, source) in enumerate(zip(settings.tested, test_sources, strict=True)):
            opened = ModuleNet.open(model, compute, values=tables.get(Phase.TEST))
            nets.append(stack.enter_context(closing(opened)))
            listen(net_created(opened.built, source, test=index))
        for event in data_events(nets):
            listen(event)
        files: list[Path | Model] = [*find_weights(param.weights, folder)]
        for file in weights:
            files += [file] if isinstance(file, Model) else find_weights([str(file)], folder)
        if files:
            reports = [load_weights(file, *(net.built for net in nets)) for file in files]
            paths = [path for file in files for path in (file.files if isinstance(file, Model) else [file])]
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

"""Training for `zoo train`: start the requested run, or find an existing one, and train it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import torch

from caffe_proto.addresses import address_in
from netdsl.data.batches.reading import BadItems, Loading
from netdsl.distributed.run import Run
from netdsl.distributed.run_storage import is_at_address, run_folder
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.transports.transport import Transport
from netdsl.distributed.worker_count import WorkerCount
from netdsl.net.compute_precision import ComputePrecision
from netdsl.planner.plan import read_plan
from netdsl.planner.planned_run import begin_planned, with_plan
from netdsl.ranks import started_by_mpiexec
from netdsl.solver.events import (
    Action,
    DataOpened,
    Event,
    EventLog,
    IterationFinished,
    Listener,
    NetCreated,
    Notice,
    SnapshotSaved,
    TestFinished,
    TrainingProgress,
    TrainingStarted,
    WeightsLoaded,
    as_numbers,
)
from netdsl.solver.settings import SolverSettings
from netdsl.solver.trainable_net import Compute
from netdsl.training import job
from netdsl.training.backends import EXTERNAL, HERE, MPI, SPARK, Backend, backend_named, chosen_backend
from netdsl.training.data_sources import NO_TESTS, holds_out, with_sources
from netdsl.training.publications import published_log
from zoo.accuracy import MeasuredAccuracy, TestedAccuracy, baselines_of
from zoo.devices import training_devices
from zoo.names import settings_to_train
from zoo.requests.events import Listen, RunBegins, WhatNext
from zoo.requests.request import answers
from zoo.requests.results import LEFT_OUT
from zoo.requests.training import ByWorkers, TrainRequest


@dataclass(frozen=True)
class ReadData:
    """A data set that a net was trained or tested on."""

    source: str
    items: int
    tests: bool


@dataclass(frozen=True)
class LastTest:
    """The last test of a net, with the scores of classes by label if there are any."""

    iteration: int
    loss: float | None
    outputs: Mapping[str, float]
    classes: Mapping[str, float]


@dataclass(frozen=True)
class LastSnapshot:
    """The last snapshot of a training."""

    iteration: int
    model: Path
    state: Path


@dataclass
class TrainedRun:
    """The result of a training: the last loss, tests and snapshot, and the run's folder if it has one."""

    says_too: ClassVar[tuple[str, ...]] = ("finished", "tests")

    run: Path | None
    net: str = ""
    iteration: int = 0
    last: int = field(default=0, metadata=LEFT_OUT)
    loss: float | None = None
    tests_of_nets: dict[int, LastTest] = field(default_factory=dict, metadata=LEFT_OUT)
    snapshot: LastSnapshot | None = None
    data: list[ReadData] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    measured: MeasuredAccuracy | None = None  # of the first test net, if it classifies items
    tested_net: NetCreated | None = field(default=None, metadata=LEFT_OUT)

    @property
    def finished(self) -> bool:
        """Whether the run reached its last iteration."""
        return self.iteration >= self.last

    @property
    def tests(self) -> list[LastTest]:
        """The last test of each net."""
        return [test for _, test in sorted(self.tests_of_nets.items())]

    def __call__(self, event: Event) -> None:
        """Store the facts of an event."""
        match event:
            case NetCreated(test=0):
                self.tested_net = event
            case DataOpened():
                self.data.append(ReadData(event.source, event.items, event.tests))
            case WeightsLoaded():
                self.weights.append(str(event.report))
            case TrainingStarted():
                self.net, self.iteration, self.last = event.net, event.iteration, event.last
            case IterationFinished():
                self.iteration = event.iteration
            case TrainingProgress():
                self.loss = event.loss
            case TestFinished():
                classes = {str(each.label): each.value for each in event.classes}
                outputs = as_numbers(event.outputs)
                self.tests_of_nets[event.net] = LastTest(event.iteration, event.loss, outputs, classes)
            case SnapshotSaved():
                self.snapshot = LastSnapshot(event.iteration, event.model, event.state)

    def measure(self, solver: SolverSettings) -> None:
        """Compare the accuracy of the last test with baselines."""
        last, read = self.tests_of_nets.get(0), {data.tests: data for data in reversed(self.data)}
        if last is None or self.tested_net is None or True not in read:
            return
        accuracy = TestedAccuracy.of(solver.tested[0].net, self.tested_net)
        if accuracy is not None and accuracy.blob in last.outputs:
            items = min(read[True].items, solver.param.test_iter[0] * accuracy.batch)
            baselines = baselines_of(read[False].source, read[True].source) if False in read else []
            more_items = "test_iter in the solver" if items < read[True].items else "--test-data"
            self.measured = MeasuredAccuracy.of(last.outputs[accuracy.blob], items, baselines, more_items)


@answers(TrainRequest)
def train(request: TrainRequest, listen: Listen) -> TrainedRun | None:
    """Train a net on one worker or several. Returns `None` in a worker that another process supervises."""
    backend = backend_of(request)

    def requested() -> Action:
        return next_action(listen)

    with ExitStack() as stack:
        if backend.supervises and (named := request.resume or request.folder):
            stack.enter_context(backend.leading(Path(named)))
        run, folder = _begin_or_find(request, backend, stack, listen)
        result = TrainedRun(folder)
        listeners = list[Listener]()
        if backend.supervises:
            listeners = [listen, result, _SilentTests(listen), *_logs(stack, request, run, folder, listen)]
        listen(RunBegins(run is not None and holds_out(run.solver.param, request.data, request.test_data)))
        if folder is not None:
            job.train(
                folder,
                backend,
                run=run,
                transport=None if request.transport is None else Transport(request.transport),
                workers=request.workers,
                deadline=request.deadline,
                command=request.command,
                listeners=listeners,
                requested=requested,
            )
        elif run is not None and len(run.devices) > 1:
            job.train_on_devices(run, listeners=listeners, requested=requested)
        elif run is not None:
            job.train_alone(run, listeners=listeners, requested=requested)
    if not backend.supervises:
        return None
    trained = Run.load(folder) if run is None and folder is not None else run
    if trained is not None and result.tests_of_nets:
        result.measure(trained.solver)
    return result


class _SilentTests:
    """A listener that sends a notice if a test net has no output that a test can print."""

    def __init__(self, listen: Listen) -> None:
        self._listen = listen
        self._nets = set[int]()

    def __call__(self, event: Event) -> None:
        """Check the results of a test net, once."""
        if not isinstance(event, TestFinished) or event.net in self._nets:
            return
        self._nets.add(event.net)
        if event.loss is None and not any(len(output.values) == 1 for output in event.outputs):
            self._listen(
                Notice(
                    f"test net {event.net} has neither a loss nor an accuracy in the TEST phase, so its tests measure "
                    "nothing; add an Accuracy layer with include { phase: TEST }"
                )
            )


def backend_of(request: ByWorkers) -> Backend:
    """Return the backend that starts the workers."""
    if request.backend == SPARK:
        return backend_named(
            SPARK, master=request.master, remote=request.remote, address=request.address, port=request.ports
        )
    if request.address or request.ports:
        name = request.backend or (MPI if started_by_mpiexec(os.environ) else EXTERNAL)
        return backend_named(name, address=request.address, port=request.ports)
    return chosen_backend(request.backend) or HERE


def _begin_or_find(
    request: TrainRequest, backend: Backend, stack: ExitStack, listen: Listen
) -> tuple[Run | None, Path | None]:
    """Return the requested run if it starts here, and its folder if it has one. `stack` holds the folder's lease."""

    def held(folder: Path) -> Path:
        stack.enter_context(job.holding(folder, backend, lambda text: listen(Notice(text))))
        return folder

    if request.resume is not None:
        folder = Path(request.resume)
        if backend.supervises and not is_at_address(folder):
            Run.load(folder)  # so that a folder without a run stays untouched
        return None, held(folder)
    if not backend.supervises and request.folder is not None:
        return None, held(Path(request.folder))  # the first worker begins the run
    if request.replay is not None:
        folder = held(Path(request.folder or f"{request.replay.rstrip('/')}_replay"))
        return job.begin_replay(Path(request.replay), folder, backend), folder
    if request.plan is not None:
        plan = read_plan(request.plan)
        run = with_plan(_described_run(request, backend, plan.workers, plan.precision, listen), plan)
        folder = held(_folder_of(request, run))
        return begin_planned(_with_length(run, request), plan, folder, backend), folder
    precision = ComputePrecision(request.precision or ComputePrecision.EXACT)
    if not request.is_kept(backend.started):
        return _with_length(_described_run(request, backend, None, precision, listen), request), None
    most = request.workers.most if request.workers else None
    run = _described_run(request, backend, most, precision, listen)
    # Without a number of workers, each device gets one worker.
    count = request.workers or WorkerCount(backend.started or max(1, len(run.devices)))
    strategy = ModelAveraging() if request.strategy is None else parse(request.strategy)
    run = replace(run, strategy=strategy, workers=count.most, fewest=count.fewest)
    folder = held(_folder_of(request, run))
    return job.begin(_with_length(run, request), folder, backend), folder


def _with_length(run: Run, request: TrainRequest) -> Run:
    return run if request.epochs is None else job.with_epochs(run, request.epochs)


def _folder_of(request: TrainRequest, run: Run) -> Path:
    return run_folder(request.folder or f"{run.solver.param.snapshot_prefix}_run")


def _described_run(
    request: TrainRequest, backend: Backend, workers: int | None, precision: ComputePrecision, listen: Listen
) -> Run:
    """Return the run that a request describes, with this number of workers on a backend if it is known."""
    settings, folder = settings_to_train(request.model, request.solver, request.dialect)
    if request.max_iter is not None:
        settings = settings.with_fields(max_iter=request.max_iter)
    devices = training_devices(
        request.device,
        request.gpus,
        settings.param,
        backend.workers_here(workers),
        remote=backend.on_other_machines,
        listen=listen,
    )
    loading = Loading(bad=BadItems.SKIP if request.skip_bad else BadItems.STOP)
    if request.decoders is not None:
        loading = replace(loading, workers=request.decoders)
    compute = Compute(
        devices[0] if devices else torch.device("cpu"),
        precision,
        request.compiled,
        loading,
        request.caffe_gradients,
        cuda_graph=not request.no_cuda_graph,
    )
    run = Run(
        settings,
        folder=folder,
        weights=request.weights,
        snapshot=request.snapshot,
        compute=compute,
        devices=tuple(devices),
        require_finite=not request.allow_nonfinite,
    )
    if request.test_data not in (None, NO_TESTS) and not run.solver.tested:
        listen(
            Notice(
                "--test-data isn't used, because the solver has no tests; set test_iter and test_interval in the solver"
            )
        )
    if request.data is None and request.test_data is None:
        return run
    return with_sources(run, request.data, request.test_data)


def next_action(listen: Listen) -> Action:
    """Return the listener's decision about how the run should continue."""
    answer = listen(WhatNext())
    return answer if isinstance(answer, Action) else Action.NONE


def _logs(
    stack: ExitStack, request: TrainRequest, run: Run | None, folder: Path | None, listen: Listen
) -> Iterator[Listener]:
    """Yield the requested logs. Each is closed when training ends, for whatever reason."""
    if request.log is not None:
        if address_in(request.log) is None:
            yield stack.enter_context(closing(EventLog(request.log)))
        else:
            yield stack.enter_context(published_log(request.log, lambda text: listen(Notice(text))))
    if request.tensorboard is not None:
        from zoo.logs.trackers import TensorBoardWriter

        yield stack.enter_context(closing(TensorBoardWriter(request.tensorboard)))
    if request.plot is not None:
        from zoo.logs.plots import TrainingCurves

        curves = TrainingCurves()
        stack.callback(curves.save, request.plot)
        yield curves
    if request.mlflow is not None:
        yield _mlflow_writer(stack, request.mlflow, run, folder, listen)


def _mlflow_writer(stack: ExitStack, address: str, run: Run | None, folder: Path | None, listen: Listen) -> Listener:
    """Return an MLflow log of the run, or of the run in a folder."""
    from zoo.logs.trackers import MlflowWriter
    from zoo.report.facts import parameters_of

    if run is None:
        assert folder is not None
        run = Run.load(folder)
    name = Path(run.solver.param.snapshot_prefix).name if folder is None else folder.resolve().name
    writer = MlflowWriter(address, name, parameters_of(run), lambda text: listen(Notice(text)))
    return stack.enter_context(writer)

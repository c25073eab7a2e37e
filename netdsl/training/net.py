"""The public Net: built, filled with weights, on a device, ready to run and to train."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.locations import unlocated
from netdsl.closing import ClosedAtEnd
from netdsl.data.batches.reading import Loading
from netdsl.data.batches.user_data import AnyData, UserData, begin_again, is_of_spark, user_data_of
from netdsl.data.tables.table import Table
from netdsl.distributed.run_log import RoundRecord
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.dsl.constructors import assign
from netdsl.errors import DataError, GradientWarning, NetError, WeightsError, WeightsWarning
from netdsl.model.collection import WeightCollection
from netdsl.model.model import Model, NetSource, in_state, open_net
from netdsl.model.opening import check_names, copy_model, load_weights, open_caffe_files, open_model, with_dialect_of
from netdsl.model.weights.files import array_of, copy_weights, learned_layers, save_net
from netdsl.model.weights.match import LoadReport, Weights
from netdsl.net.build import Built, running
from netdsl.net.caffe_memory import memory_notes
from netdsl.net.graph import Phase, phase_of, state_of
from netdsl.net.module import NetModule
from netdsl.solver import state
from netdsl.solver.evaluation import SetScores, average_batches, gather_scores
from netdsl.solver.events import as_numbers
from netdsl.solver.flat import share_blobs
from netdsl.solver.length import Epoch, Intervals
from netdsl.solver.settings import seed
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, ModuleNet, Positions
from netdsl.training.backends import HERE, Backend, chosen_backend
from netdsl.training.callbacks import Callback, Hearing, History
from netdsl.training.job import DISPLAYS
from netdsl.training.with_workers import Lesson, Team, train_with_team

if TYPE_CHECKING:
    from netdsl.spark.net_rdd import NetRDD

_DEFAULT_SETTINGS = {"type": "SGD", "base_lr": 0.01, "lr_policy": "fixed", "momentum": 0.9}

# Of `Net.train`, beside a solver's settings.
_ARGUMENTS = "steps", "epochs", "batch", "test_data", "workers", "backend", "strategy", "run", "callbacks", "on_round"
Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class _GivenData:
    """Data as the program gave them and as they are read, and the batch that it wants."""

    data: AnyData | None = None
    user_data: UserData | None = None
    batch: int | None = None
    stored: object = None  # what removes the rows of Spark's that were stored, when nobody has it any more

    def are(self, data: AnyData, batch: int | None) -> bool:
        """Return whether these are the same data; tuples are if they have the same arrays."""
        if isinstance(data, tuple) and isinstance(self.data, tuple) and len(data) == len(self.data):
            is_same = all(new is old for new, old in zip(data, self.data, strict=True))
        else:
            is_same = data is self.data
        return is_same and batch == self.batch

    def for_others(self) -> Self:
        """Return what another process can have of them: of Spark's rows, the table that has them."""
        table = self.user_data
        return replace(self, data=table, stored=None) if self.stored and isinstance(table, Table) else self


@dataclass(frozen=True)
class NetForm:
    """A net apart from its weights and data: what it was made of, so that it can be made again."""

    net: pb.NetParameter
    phase: Phase
    level: int
    stages: Sequence[str]
    items: Mapping[str, tuple[int, ...]]  # the shapes of an item of what comes from outside
    caffe_gradients: bool

    def open(self, weights: Weights | None = None) -> Net:
        """Return the net with these weights, or with new ones. torch's random numbers go on as if nothing had been
        made."""
        net = Net.__new__(Net)
        model = Model(self.net, weights or {}, items=self.items, level=self.level, stages=self.stages)
        with torch.random.fork_rng(devices=[]):
            net._make(model, self.phase, model.settled(self.phase).built, caffe_gradients=self.caffe_gradients)
        copy_model(model, net.module.built)
        return net


@dataclass(frozen=True)
class _NetState:
    """All that a net has, as a copy gets it."""

    form: NetForm
    weights: WeightCollection
    device: str
    settings: Mapping[str, Any]
    history: History
    given: Mapping[Phase, _GivenData]
    training: state.SolverPlace | None
    tested: Positions | None  # the place in the data to test on
    closed: bool

    def open(self) -> Net:
        """Return the net, which goes on where the other one was."""
        if self.device.startswith("cuda") and not torch.cuda.is_available():
            raise NetError(
                f"the net was on {self.device}, and torch sees no GPU here; call net.to('cpu') before it is sent"
            )
        net = self.form.open(self.weights)
        net.to(self.device)
        net._settings, net.history = self.settings, self.history
        net._given, net._closed = dict(self.given), self.closed
        net._left, net._tested = self.training, self.tested
        return net


class Net(ClosedAtEnd):
    """A net for one phase, from a description, a message or a file of any format, which may have weights too.

    `module` is the torch module. `forward(data=x)` runs it without gradients. `dialect` is the fork of Caffe that the
    net is for, where it doesn't say it itself. With `caffe_gradients` it is trained with Caffe's gradients also where
    Caffe writes over what it reads backward.

    Threads bring the data of a net that trains or tests, until it is closed, as by `with Net(...) as net:`.
    """

    def __init__(
        self,
        net: NetSource,
        *,
        weights: Weights | Paths | None = None,
        phase: Phase | str = Phase.TEST,
        level: int = 0,
        stages: Sequence[str] = (),
        shapes: Mapping[str, tuple[int, ...]] | None = None,
        dialect: str | None = None,
        caffe_gradients: bool = False,
    ) -> None:
        model = open_model(net, dialect=dialect) if weights is None else open_net(net, dialect=dialect)
        paths = [] if weights is None or isinstance(weights, Mapping) else _paths(weights)
        files = open_caffe_files(paths)
        own = replace(with_dialect_of(model, files), items=shapes or {}, level=level, stages=stages)
        told = dict(own.weights)  # what the shapes of data may be told by
        for file in files:
            told |= file.weights if isinstance(file, Model) else {}
        model = replace(own, weights=told | dict(weights if isinstance(weights, Mapping) else {}))
        self._make(model, phase_of(phase), model.layers(phase_of(phase)), caffe_gradients=caffe_gradients)
        reports = [copy_model(own, self.module.built)] if own.weights else []
        if weights is not None:
            reports.append(self.set_weights(weights) if isinstance(weights, Mapping) else self._load(files))
        report = LoadReport.of_all(reports) if reports else None
        if report is not None and report.missing:
            warnings.warn(f"net '{self.message.name}': {report}", WeightsWarning, stacklevel=2)

    def _make(self, model: Model, phase: Phase, built: Built, *, caffe_gradients: bool) -> None:
        """Make the net of a model and of its layers, with new weights."""
        self._net = model.net
        self.phase, self._level, self._stages = phase, model.level, model.stages
        self._caffe_gradients = caffe_gradients
        self._given: dict[Phase, _GivenData] = {}
        self._settings: Mapping[str, Any] = _DEFAULT_SETTINGS
        self.history = History()  # of the training that the newest call of `train` began or continued
        self._running: dict[Phase, ModuleNet] = {}
        self._solver: Solver | None = None
        self._left: state.SolverPlace | None = None  # where the net was that this one is a copy of
        self._tested: Positions | None = None  # likewise in the data to test on
        self._closed = False
        self.module = NetModule(built.with_own_blobs()).allocate()

    @property
    def form(self) -> NetForm:
        """The net apart from its weights and data."""
        built = self.module.built
        items = {name: tuple(built.shapes[edge][1:]) for name, edge in self.module.inputs.items()}
        return NetForm(self._net, self.phase, self._level, self._stages, items, self._caffe_gradients)

    def _state(self) -> _NetState:
        """Return all that the net has; an error if its data are of a kind that nobody can read again."""
        for given in self._given.values():
            if given.user_data is not None and not begin_again(given.user_data):
                raise NetError(
                    f"net '{self._net.name}' takes its batches from a function or an iterator, which can't go on "
                    "elsewhere; give it arrays, a list, a Dataset or a table, or make another net of its weights: "
                    "Net(net.message, weights=net.get_weights())"
                )
        return _NetState(
            self.form,
            self.get_weights(),
            str(self.device),
            self._settings,
            deepcopy(self.history),
            dict(self._given),
            self._left if self._solver is None else state.place_of(self._solver),
            self._running[Phase.TEST].positions() if Phase.TEST in self._running else self._tested,
            self._closed,
        )

    def __copy__(self) -> Net:
        """Return a net of its own, which goes on where this one is: weights, solver, place in the data, random numbers.

        It reads the same data. A net that takes its batches from a function or an iterator can't be copied.
        """
        return self._state().open()

    def __deepcopy__(self, memo: dict[int, Any]) -> Net:
        """Return the same: data are only read, so that nets can share them."""
        return self._state().open()

    def __reduce__(self) -> tuple[object, ...]:
        """To other processes, as those of Spark, goes what a copy has."""
        now = self._state()
        return _NetState.open, (replace(now, given={phase: data.for_others() for phase, data in now.given.items()}),)

    def __repr__(self) -> str:
        module = self.module
        inputs, outputs = (module.built.blob_text(edges.values()) for edges in (module.inputs, module.outputs))
        return f"Net({self._size()}: {inputs or 'data of its own'} -> {outputs or 'nothing'})"

    def _repr_html_(self) -> str:
        return self.module.built.html(f"Net {self._size()}")

    def _size(self) -> str:
        """Return the net's name, phase, number of layers and of weights, and device."""
        return f"'{self.message.name}', {self.module.built.size_text()} on {self.device}"

    @property
    def message(self) -> pb.NetParameter:
        """A copy of the net as Caffe's message, in today's form and without weights."""
        return unlocated(self._net)

    def forward(self, **inputs: Any) -> dict[str, Tensor]:
        """Return the outputs by name, for inputs by name: tensors or arrays of any type and any batch size."""
        self._check_open()
        tensors = {name: self._input(name, value) for name, value in inputs.items()}
        edges = self.module.edges_of(**tensors)
        with torch.no_grad(), running(self.module.built, edges):
            outputs: dict[str, Tensor] = self.module(**tensors)
        return outputs

    def _input(self, name: str, value: Any) -> Tensor:
        """Return an input as a tensor. Its lengths may differ from the net's, the number of its axes may not."""
        like = self._like()
        try:
            tensor = value if isinstance(value, Tensor) else torch.from_numpy(np.require(value, np.float32, ["C", "W"]))
        except (ValueError, TypeError) as problem:
            raise NetError(f"input '{name}' isn't an array of numbers: {problem}") from None
        shape = self._shape(name)
        if shape and tensor.dim() != len(shape):
            raise NetError(
                f"input '{name}' has shape {list(tensor.shape)}; wanted are {len(shape)} axes, as {list(shape)}"
            )
        return tensor.to(like.device, like.dtype)

    def _shape(self, name: str) -> tuple[int, ...]:
        """Return the shape that the net states for an input; empty if it states none, or has no such input."""
        return self.module.built.shapes[self.module.inputs[name]] if name in self.module.inputs else ()

    def _like(self) -> Tensor:
        """Return a tensor with the device and the type of the weights."""
        tensors = (*self.module.parameters(), *self.module.buffers())
        return next((tensor for tensor in tensors if tensor.is_floating_point()), torch.empty(0))

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self._like().device

    def to(self, device: torch.device | str) -> Self:
        """Move the net to a device. Training continues there with a new solver, without the old one's history."""
        self.module.to(device)
        self._close(*Phase)
        return self

    def get_weights(self) -> WeightCollection:
        """Return a copy of all weights, statistics included, with a shared parameter once for each of its layers."""
        layers = learned_layers(self.module.built)
        return WeightCollection.of(
            {name: [array_of(tensor) for tensor in layer.blob_tensors()] for name, layer in layers.items()}
        )

    def set_weights(self, weights: Weights, *, partial: bool = False) -> LoadReport:
        """Copy weights into the layers of the same names; with `partial`, layers whose shapes differ are skipped.

        If layers share a parameter, the values for the last of them count. Weights of other layers only are an error.
        """
        if weights:
            check_names(weights, learned_layers(self.module.built), self._net.name)
        return copy_weights(self.module.built, weights, partial=partial)

    def load(self, weights: Paths, *, partial: bool = False) -> LoadReport:
        """Load the weights of files of any format, one after the other. A text can name several: "a,b".

        Layers that a file doesn't have keep their values; a file that has none of the net's layers is an error.
        """
        return self._load(_paths(weights), partial=partial)

    def _load(self, files: Sequence[str | Path | Model], *, partial: bool = False) -> LoadReport:
        if not files:
            raise WeightsError("no file with weights is named")
        return LoadReport.of_all([load_weights(file, self.module.built, partial=partial) for file in files])

    def set_training_data(self, data: AnyData, *, batch: int | None = None) -> None:
        """Set the data to train on, whatever form they have.

        - A tuple of arrays or tensors in the order of the net's inputs, `(images, labels)`; a dict of them by blob
          names; a pandas DataFrame with a column for each blob; a Dataset of torch's. Rows are shuffled by the
          `random_seed`, in another order in each epoch.
        - A DataLoader of torch's, or another iterable of batches or of single items, each with arrays by blob names or
          in the order of the inputs. It begins again at its end, which a generator can't. A function is called for
          each batch or item.
        - A `Table`, or an address such as "lmdb:PATH" or "digits"; a DataFrame or an RDD of Spark's, whose rows its
          tasks store in a folder first, which this process must see. Rows are shuffled. They alone are transformed as
          the net's data layers say; all other values are taken as they are.

        A batch has as many items as the net's data layer says, or as `batch` says; rows for which neither does come
        32 at once.
        """
        self._set_data(Phase.TRAIN, data, batch)

    def set_validation_data(self, data: AnyData, *, batch: int | None = None) -> None:
        """Set the data to test on, in the same forms as data to train on. They aren't shuffled."""
        self._set_data(Phase.TEST, data, batch)

    def _set_data(self, phase: Phase, data: AnyData, batch: int | None) -> None:
        self._check_open()
        stored = None
        if is_of_spark(data):
            stored = import_module("netdsl.spark.net_rows").store_for_net(data, self._model_of(phase))  # which is above
            user_data: UserData = replace(stored.table, shuffle=phase is Phase.TRAIN)
        else:
            user_data = user_data_of(data, training=phase is Phase.TRAIN)
        self._close(phase)
        self._given[phase] = _GivenData(data, user_data, batch, stored)

    def _close(self, *phases: Phase) -> None:
        for phase in phases:
            if phase in self._running:
                self._running.pop(phase).close()
        if Phase.TRAIN in phases:
            self._solver = self._left = None
        if Phase.TEST in phases:
            self._tested = None

    def _model_of(self, phase: Phase) -> Model:
        return in_state(Model(self._net), state_of(self._net, phase, self._level, self._stages))

    def _net_of(self, phase: Phase) -> ModuleNet:
        """Return the net for a phase, with the data that were set, or those that its data layers read."""
        self._check_open()
        if phase not in self._running:
            model = self._model_of(phase)
            of_data = max(0, self._settings.get("random_seed") or 0)
            compute = Compute(self.device, loading=Loading(seed=of_data), caffe_gradients=self._caffe_gradients)
            given = self._given_data(phase)
            self._running[phase] = ModuleNet.open(model, compute, given.user_data, batch=given.batch)
            if phase is Phase.TEST and self._tested is not None:
                self._running[phase].seek(self._tested)
        return self._running[phase]

    def train(
        self,
        data: AnyData | int | None = None,
        steps: int | None = None,
        *,
        epochs: float | None = None,
        batch: int | None = None,
        test_data: AnyData | None = None,
        workers: int | str | None = None,
        backend: str | Backend | None = None,
        strategy: str | Strategy | None = None,
        run: str | Path | None = None,
        callbacks: Sequence[Callback] = (),
        on_round: Callable[[RoundRecord], object] = lambda record: None,
        alone: bool = False,
        **settings: Any,
    ) -> float:
        """Train for some iterations of a solver, or for some epochs, and return the loss that was computed last.

        `train((images, labels), epochs=5, type="Adam", base_lr=1e-3)`: data come in any form that `set_training_data`
        takes. `train(50)` goes on with the data that are set, and so does a call with the same data as before.

        Epochs count items that were seen: there are `epochs` times the number of items, by those of a batch (times
        `iter_size`), iterations, rounded up. As in Caffe, a batch that begins at the end of an epoch goes on with the
        first items of the next one. Batches that are given, as by a DataLoader, stay as they are.

        The settings are those of Caffe's solvers, by name: `base_lr=0.01, type="Adam"`. Without any, training continues
        with the same solver, or on other data with a new one of the same settings; the default of the first is a
        base_lr of 0.01 and a momentum of 0.9. None unsets a setting, also these two. A `random_seed` is that of torch's
        random numbers, too.

        With `test_data` the net is tested every `test_interval` iterations, by default after each epoch or at the end.
        `history` has the losses and the tests as a table. `callbacks` are functions that get every event, such as
        `EarlyStopping(patience=3)`; one that returns `Action.STOP` ends the training. `on_round` gets the record of
        each round of each worker.

        With `workers=4` as many processes train together, each on a part of the data: `strategy` is what they exchange
        and when, such as "averaging:tau=50" or "allreduce", `backend` is where they run: "local", "spark", "mpi", or
        "external" for those that torchrun or SLURM has started. `run` is a folder that keeps their run, so that the
        same call resumes it if it was interrupted; otherwise it is kept in a folder that is removed. They begin with
        the net's weights, and it has the new ones afterwards.

        A process that mpiexec, torchrun or SLURM started as one of several takes part in one training, and all have the
        same weights at its end; with `alone=True` it trains a net of its own.
        """
        data, steps = _data_and_count(data, steps, batch)
        if (steps is None) == (epochs is None):
            raise NetError("say how long to train: by steps=1000 or by epochs=5, and not by both")
        team = _team_of(workers, backend, strategy, run, alone=alone)
        if team is not None:
            self._set_new_data(data, test_data, batch, stores=False)
            lesson = self._lesson(Lesson(data, test_data, batch, steps, epochs))
            return self._train_with_team(lesson, team, settings, Hearing(callbacks), on_round)
        self._set_new_data(data, test_data, batch)
        self._go_to_left()
        if settings:
            self._set_solver({**_DEFAULT_SETTINGS, **settings})
        elif self._solver is None:
            self._set_solver(self._settings)
        assert self._solver is not None
        interval = Fraction(self._settings.get("test_interval") or 0)
        if epochs is not None:
            epoch = self._epoch(Phase.TRAIN, self._solver.param.iter_size)
            steps, interval = epoch.iterations_of(epochs), interval or epoch.iterations
        assert steps is not None
        tests = None if test_data is None else Intervals(interval)
        self._step_and_test(self._solver, steps, tests, Hearing([self.history, *callbacks]))
        return self._solver.loss

    def _set_new_data(
        self, data: AnyData | None, test_data: AnyData | None, batch: int | None, *, stores: bool = True
    ) -> None:
        """Set the data of a call that aren't set already; those of Spark's only where their rows are to be stored."""
        for phase, given in ((Phase.TRAIN, data), (Phase.TEST, test_data)):
            if given is None or (is_of_spark(given) and not stores):
                continue
            if not self._given_data(phase).are(given, batch):
                self._set_data(phase, given, batch)

    def _given_data(self, phase: Phase) -> _GivenData:
        return self._given.get(phase, _GivenData())

    def _step_and_test(self, solver: Solver, steps: int, tests: Intervals | None, hear: Hearing) -> None:
        """Train for some iterations, or until a callback stops it; with tests where they are due, and at the end."""
        solver.listen, solver.poll_action, solver.stopped = hear, hear.requested, False
        if not self._settings.get("display"):
            solver.param.display = max(1, steps // DISPLAYS)
        if tests is not None:
            solver.tests = [self._net_with_weights(Phase.TEST)]
            solver.param.test_iter[:] = [self._epoch(Phase.TEST).iterations_of(1)]
        end = solver.iteration + steps
        solver.listen(replace(solver.started_event(), last=end))
        while solver.iteration < end and not solver.stopped:
            until = min(end, (tests and tests.next_due(solver.iteration)) or end)
            solver.step(until - solver.iteration)
            if tests is not None and not solver.stopped:
                solver.test()

    def _lesson(self, lesson: Lesson) -> Lesson:
        """Return the lesson with the data that were set, where it has no others."""
        training, testing = self._given_data(Phase.TRAIN), self._given_data(Phase.TEST)
        return replace(
            lesson,
            data=training.data if lesson.data is None else lesson.data,
            batch=training.batch if lesson.data is None else lesson.batch,
            tests=testing.data if lesson.tests is None else lesson.tests,
        )

    def _train_with_team(
        self,
        lesson: Lesson,
        team: Team,
        settings: Mapping[str, Any],
        hear: Hearing,
        on_round: Callable[[RoundRecord], object],
    ) -> float:
        """Train with several workers, and take the weights that come of it; returns the loss that was computed last."""
        self._check_open()
        if settings:
            self._settings = {**_DEFAULT_SETTINGS, **settings}
        net_state = state_of(self._net, Phase.TRAIN, self._level, self._stages)
        net_state.ClearField("phase")  # since the net is tested, too
        model = in_state(Model(self._net, self.get_weights()), net_state)
        compute = Compute(self.device, caffe_gradients=self._caffe_gradients)
        self.history = train_with_team(
            model, solver_param(self._settings), lesson, team, compute, hear, on_round, hear.requested, self.load
        )
        self._close(Phase.TRAIN)  # whose solver has the history of other weights
        return next((moment.loss for moment in reversed(self.history) if moment.loss is not None), math.nan)

    def _go_to_left(self) -> None:
        """Make the solver of a net that is a copy, and let it go on from where the other net was."""
        if self._left is not None:
            history = self.history
            self._set_solver(self._settings)
            assert self._solver is not None
            state.go_to(self._solver, self._left, "the net that this one is a copy of")
            self._left, self.history = None, history

    def _net_with_weights(self, phase: Phase) -> ModuleNet:
        """Return the net for a phase, which shares the blobs of `module`; a DataError for data that need other
        blobs."""
        net = self._net_of(phase)
        try:
            share_blobs(net.built, self.module.built)
        except WeightsError as problem:
            names = {net.built.graph.blobs[edge]: edge for edge in net.module.inputs.values()}
            pairs = {name: (list(net.built.shapes[edge]), list(self._shape(name))) for name, edge in names.items()}
            others = [f"'{name}' has shape {a}, not {b}" for name, (a, b) in pairs.items() if b and a[1:] != b[1:]]
            if not others:
                raise
            raise DataError(f"the data don't fit the net: {', '.join(others)}; {problem}") from None
        return net

    def _epoch(self, phase: Phase, iter_size: int = 1) -> Epoch:
        """Return the epoch of the data of a phase."""
        feeds = self._net_of(phase).feeds
        per_epoch = None if feeds is None else feeds.epoch_batches()
        if per_epoch is None:
            instead = "steps=" if phase is Phase.TRAIN else "batches="
            raise DataError(
                f"nobody knows how many items these data have, as of a generator or a function; say {instead} for how "
                "many batches to take"
            )
        return Epoch.of(per_epoch, iter_size=iter_size)

    def _set_solver(self, settings: Mapping[str, Any]) -> None:
        """Begin with a new solver; with another seed also at the beginning of the data."""
        param = solver_param(settings)
        param.ClearField("test_interval")  # tests are `train`'s own
        seed(param)
        if settings.get("random_seed") not in (None, self._settings.get("random_seed")):
            self._close(Phase.TRAIN)
        self._settings, self.history = settings, History()
        net = self._net_with_weights(Phase.TRAIN)
        for note in memory_notes(net.built, caffe_gradients=self._caffe_gradients):
            warnings.warn(note, GradientWarning, stacklevel=3)
        self._solver = Solver(param, net)
        share_blobs(self.module.built, net.built)  # the solver moved the blobs

    def follow(self, solver: Solver) -> None:
        """Be the net of a solver that somebody else has opened: with its weights, and trained by it."""
        self._close(Phase.TRAIN)
        self._solver = solver
        share_blobs(self.module.built, solver.net.built)

    def follows(self, solver: Solver) -> bool:
        """Return whether it is trained by this solver."""
        return self._solver is solver

    def on(
        self,
        data: AnyData,
        *,
        workers: int | None = None,
        bindings: Mapping[str, str] | None = None,
        device: str | None = None,
        **settings: Any,
    ) -> NetRDD:
        """Nets like this one in Spark's executors, each on its part of the rows, for a loop of the program's own.

        `workers = net.on(rdd, workers=4, base_lr=0.02)` begins with this net's weights; `workers.train(50)` trains
        each on its own, and `workers.average()` lets all, and this net, go on with the mean. Without `workers` there
        are as many as Spark has slots. `bindings` has the columns of blobs whose names aren't those of columns. The
        settings are those of `train`.
        """
        self._check_open()
        settings = {**_DEFAULT_SETTINGS, **settings} if settings else dict(self._settings)
        return import_module("netdsl.spark.net_rdd").NetRDD(  # type: ignore[no-any-return]  # which is above
            self, data, solver_param(settings), workers=workers, bindings=bindings or {}, device=device
        )

    def test(
        self, data: AnyData | int | None = None, batches: int | None = None, *, batch: int | None = None
    ) -> dict[str, float]:
        """Return the mean outputs of the net over some batches, or over all of the data that are given.

        `test(10)` takes the next batches of the data that are set. `test((images, labels))` takes data in the forms of
        `set_validation_data`, from their beginning and all of them once; where the batch doesn't divide their number,
        the last one has the first items again.
        """
        net, batches = self._net_to_test(data, batches, batch)
        means = average_batches(net, batches)
        assert means is not None
        return dict(as_numbers(means[1]))

    def score(
        self, data: AnyData | int | None = None, batches: int | None = None, *, batch: int | None = None
    ) -> SetScores:
        """Return the scores, over some batches as one set, of detections that layers judge and of pixels that they
        compare.

        The batches are those of `test`.
        """
        net, batches = self._net_to_test(data, batches, batch)
        with gather_scores(net.built) as scores:
            average_batches(net, batches)
        if not (scores.detections or scores.segmentations):
            raise NetError("no layer of the test net judges detections or compares the classes of pixels")
        return scores

    def _net_to_test(self, data: AnyData | int | None, batches: int | None, batch: int | None) -> tuple[ModuleNet, int]:
        """Return the net on its test data, with the weights that it has now, and how many batches to take."""
        data, batches = _data_and_count(data, batches, batch)
        if data is not None:
            self._set_data(Phase.TEST, data, batch)
        net = self._net_with_weights(Phase.TEST)
        return net, self._epoch(Phase.TEST).iterations_of(1) if batches is None else batches

    def save(self, path: str | Path) -> None:
        """Write the net with its weights, as in Caffe's snapshots."""
        save_net(self.module.built, path)

    def close(self) -> None:
        """End the threads that bring its data, and close the files that they read.

        A closed net doesn't run, train or test any more; its weights stay, to be copied or saved.
        """
        self._close(*Phase)
        self._given.clear()
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise NetError(f"net '{self._net.name}' is closed, and only has its weights; make another one to run it")


def solver_param(settings: Mapping[str, Any]) -> pb.SolverParameter:
    """Settings of `Net.train` as Caffe's message."""
    param = pb.SolverParameter()
    assign(param, settings, "a solver", _ARGUMENTS)
    return param


def _team_of(
    workers: int | str | None,
    backend: str | Backend | None,
    strategy: str | Strategy | None,
    run: str | Path | None,
    *,
    alone: bool,
) -> Team | None:
    """Return how several workers train, if they do: as the call says, or since something has started several
    processes."""
    if alone:
        return None
    chosen = chosen_backend(backend, workers)
    if chosen is None and workers is None and strategy is None and run is None:
        return None
    return Team.of(chosen or HERE, workers, strategy, run)


def _data_and_count(
    data: AnyData | int | None, count: int | None, batch: int | None
) -> tuple[AnyData | None, int | None]:
    """Return the data of a call and how many batches to take, where the first argument may be either."""
    if isinstance(data, (int, np.integer)):
        if count is not None:
            raise NetError(f"both {data} and {count} say how many batches to take; leave one of them out")
        count, data = int(data), None
    if data is None and batch is not None:
        raise NetError("batch= says how data that are given are put together; give data, too")
    return data, count


def _paths(weights: Paths) -> list[str | Path]:
    """Caffe's rule: commas separate files."""
    if isinstance(weights, str):
        return [name.strip() for name in weights.split(",") if name.strip()]
    return [weights] if isinstance(weights, Path) else [path for item in weights for path in _paths(item)]

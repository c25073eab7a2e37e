"""The public Net: a net with weights on a device, which runs and trains."""

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

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Loading
from netdsl.data.batches.user_data import AnyData, UserData, begin_again, is_of_spark, user_data_of
from netdsl.data.tables.table import Table
from netdsl.distributed.run_log import RoundRecord
from netdsl.distributed.shipped_code import shipping
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.dsl.constructors import assign
from netdsl.errors import DataError, GradientWarning, NetError, WeightsError
from netdsl.model.collection import WeightCollection
from netdsl.model.model import Model, in_state
from netdsl.model.opening import copy_model
from netdsl.model.weights.match import Weights
from netdsl.net.build import Built
from netdsl.net.caffe_memory import memory_notes
from netdsl.net.graph import Phase, state_of
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
from netdsl.training.weighted_net import WeightedNet
from netdsl.training.with_workers import Lesson, Team, train_with_team

if TYPE_CHECKING:
    from netdsl.spark.net_rdd import NetRDD

_DEFAULT_SETTINGS = {"type": "SGD", "base_lr": 0.01, "lr_policy": "fixed", "momentum": 0.9}

# Arguments of `Net.train` in addition to a solver's settings.
_ARGUMENTS = "steps", "epochs", "batch", "test_data", "workers", "backend", "strategy", "run", "callbacks", "on_round"


@dataclass(frozen=True)
class _GivenData:
    """Data as a program passed them, the same data as they are read, and the requested batch size."""

    data: AnyData | None = None
    user_data: UserData | None = None
    batch: int | None = None
    stored: object = None  # removes the stored rows of Spark's data when it is deleted

    def matches(self, data: AnyData, batch: int | None) -> bool:
        """Return whether these are the same data and batch size. Tuples are the same if they contain the same
        arrays."""
        if isinstance(data, tuple) and isinstance(self.data, tuple) and len(data) == len(self.data):
            is_same = all(new is old for new, old in zip(data, self.data, strict=True))
        else:
            is_same = data is self.data
        return is_same and batch == self.batch

    def for_others(self) -> Self:
        """Return the data in a form that another process can read. Spark's rows become the table in which they are
        stored."""
        table = self.user_data
        return replace(self, data=table, stored=None) if self.stored and isinstance(table, Table) else self


@dataclass(frozen=True)
class NetForm:
    """A net apart from its weights and data: everything that is needed to create it again."""

    net: pb.NetParameter
    phase: Phase
    level: int
    stages: Sequence[str]
    items: Mapping[str, tuple[int, ...]]  # the shape of an item of each input
    caffe_gradients: bool

    def open(self, weights: Weights | None = None) -> Net:
        """Return a net with these weights, or with new ones. The state of torch's random numbers doesn't change."""
        net = Net.__new__(Net)
        model = Model(self.net, weights or {}, items=self.items, level=self.level, stages=self.stages)
        with torch.random.fork_rng(devices=[]):
            net._make(model, self.phase, model.settled(self.phase).built, caffe_gradients=self.caffe_gradients)
        copy_model(model, net.module.built)
        return net


@dataclass(frozen=True)
class _NetState:
    """The complete state of a net, from which a copy is created."""

    form: NetForm
    weights: WeightCollection
    device: str
    settings: Mapping[str, Any]
    history: History
    given: Mapping[Phase, _GivenData]
    training: state.SolverPlace | None
    tested: Positions | None  # the place in the test data
    closed: bool

    def open(self) -> Net:
        """Return a net that continues where the original net was."""
        if self.device.startswith("cuda") and not torch.cuda.is_available():
            raise NetError(
                f"the net was on {self.device}, but torch sees no GPU here; call net.to('cpu') before sending it"
            )
        net = self.form.open(self.weights)
        net.to(self.device)
        net._settings, net.history = self.settings, self.history
        net._given, net._closed = dict(self.given), self.closed
        net._copied_place, net._tested = self.training, self.tested
        return net


class Net(WeightedNet):
    """A net for one phase, from a description, a message or a file of any format. The file can also contain weights.

    `module` is the torch module. `forward(data=x)` runs it without gradients. `dialect` is the fork of Caffe that the
    net is for, unless the net states it. With `caffe_gradients`, training uses Caffe's gradients even where in-place
    layers overwrite values that Caffe's backward pass reads.

    A net that trains or tests loads its data in threads, which end when it is closed, as by `with Net(...) as net:`.
    """

    def _make(self, model: Model, phase: Phase, built: Built, *, caffe_gradients: bool) -> None:
        super()._make(model, phase, built, caffe_gradients=caffe_gradients)
        self._given: dict[Phase, _GivenData] = {}
        self._settings: Mapping[str, Any] = _DEFAULT_SETTINGS
        self.history = History()  # of the training that the last call of `train` started or continued
        self._running: dict[Phase, ModuleNet] = {}
        self._solver: Solver | None = None
        self._copied_place: state.SolverPlace | None = None  # where the training of the copied net was
        self._tested: Positions | None = None  # the same for the test data

    @property
    def form(self) -> NetForm:
        """The net apart from its weights and data."""
        built = self.module.built
        items = {name: tuple(built.shapes[edge][1:]) for name, edge in self.module.inputs.items()}
        return NetForm(self._net, self.phase, self._level, self._stages, items, self._caffe_gradients)

    def _state(self) -> _NetState:
        """Return the complete state of the net.

        Raises a `NetError` if its data can be read only once.
        """
        for given in self._given.values():
            if given.user_data is not None and not begin_again(given.user_data):
                raise NetError(
                    f"net '{self._net.name}' gets its batches from a function or an iterator, which can't be "
                    "copied; give it arrays, a list, a Dataset or a table, or create another net with its "
                    "weights: Net(net.message, weights=net.get_weights())"
                )
        return _NetState(
            self.form,
            self.get_weights(),
            str(self.device),
            self._settings,
            deepcopy(self.history),
            dict(self._given),
            self._copied_place if self._solver is None else state.place_of(self._solver),
            self._running[Phase.TEST].positions() if Phase.TEST in self._running else self._tested,
            self._closed,
        )

    def __copy__(self) -> Net:
        """Return a separate net that continues where this one is: weights, solver, place in the data, and random
        numbers.

        It reads the same data. A net that gets its batches from a function or an iterator can't be copied.
        """
        return self._state().open()

    def __deepcopy__(self, memo: dict[int, Any]) -> Net:
        """Return the same as `__copy__`. Nets can share data, because data are only read."""
        return self._state().open()

    def __reduce__(self) -> tuple[object, ...]:
        """Return the state of a copy, so that other processes, such as Spark's, can create it."""
        now = self._state()
        return _NetState.open, (replace(now, given={phase: data.for_others() for phase, data in now.given.items()}),)

    def to(self, device: torch.device | str) -> Self:
        """Move the net to a device. Training continues there with a new solver, whose history is empty."""
        self.module.to(device)
        self._close(*Phase)
        return self

    def set_training_data(self, data: AnyData, *, batch: int | None = None) -> None:
        """Set the data to train on.

        - A tuple of arrays or tensors in the order of the net's inputs, `(images, labels)`; a dict of them by blob
          names; a pandas DataFrame with a column for each blob; or a torch Dataset. Each epoch shuffles the rows
          differently, with the `random_seed`.
        - A torch DataLoader, or another iterable of batches or single items. Each contains arrays by blob names or in
          the order of the inputs. The iterable starts again at its end, which a generator can't. A function is called
          for each batch or item.
        - A `Table`, an address such as "lmdb:PATH" or "digits", or a Spark DataFrame or RDD. Spark's tasks first store
          its rows in a folder, which this process must be able to see. Rows are shuffled. Only these data are
          transformed as the net's data layers state; all other values are used as they are.

        `batch` is the batch size. The default is the batch size of the net's data layer, or 32 for rows if the net
        states none.
        """
        self._set_data(Phase.TRAIN, data, batch)

    def set_validation_data(self, data: AnyData, *, batch: int | None = None) -> None:
        """Set the data to test on, in the same forms as training data. They aren't shuffled."""
        self._set_data(Phase.TEST, data, batch)

    def _set_data(self, phase: Phase, data: AnyData, batch: int | None) -> None:
        self._check_open()
        stored = None
        if is_of_spark(data):
            # The package is above this one.
            stored = import_module("netdsl.spark.net_rows").store_for_net(data, self._model_of(phase))
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
            self._solver = self._copied_place = None
        if Phase.TEST in phases:
            self._tested = None

    def _model_of(self, phase: Phase) -> Model:
        return in_state(Model(self._net), state_of(self._net, phase, self._level, self._stages))

    def _net_of(self, phase: Phase) -> ModuleNet:
        """Return the net for a phase, with the data that were set, or else the data of its data layers."""
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
        ship: bool = False,
        callbacks: Sequence[Callback] = (),
        on_round: Callable[[RoundRecord], object] = lambda record: None,
        alone: bool = False,
        **settings: Any,
    ) -> float:
        """Train for some iterations or epochs, and return the last loss.

        `train((images, labels), epochs=5, type="Adam", base_lr=1e-3)` accepts data in every form that
        `set_training_data` accepts. `train(50)` continues with the data that are set, and so does a call with the same
        data as before.

        The number of iterations is `epochs` times the number of items, divided by the batch size and `iter_size`, and
        rounded up. As in Caffe, a batch that begins at the end of an epoch continues with the first items of the next
        epoch. Ready-made batches, as from a DataLoader, stay as they are.

        The settings are those of Caffe's solvers, by name: `base_lr=0.01, type="Adam"`. Without settings, training
        continues with the same solver. For other data, it continues with a new solver that has the same settings. The
        defaults are a base_lr of 0.01 and a momentum of 0.9. `None` unsets a setting, including these two.
        `random_seed` also seeds torch's random numbers.

        With `test_data`, the net is tested every `test_interval` iterations, by default after each epoch or at the end.
        `history` contains the losses and the tests as a table. `callbacks` are functions that get every event, such as
        `EarlyStopping(patience=3)`. A callback that returns `Action.STOP` ends the training. `on_round` gets the record
        of each round of each worker.

        With `workers=4`, four processes train together, each on a part of the data. `strategy` names what they exchange
        and when, such as "averaging:tau=50" or "allreduce". `backend` names where they run: "local", "spark", "mpi", or
        "external" for processes that torchrun or SLURM has started. `run` is a folder that keeps the run, so that the
        same call resumes it after an interruption. Without `run`, a temporary folder is used. The workers start with
        the net's weights, and the net gets the trained weights. With `ship`, workers on other machines get the modules
        of allowed Python layers and plug-ins that aren't installed.

        A process that mpiexec, torchrun or SLURM started as one of several takes part in one training, at whose end all
        of them have the same weights. With `alone=True`, it trains its own net.
        """
        data, steps = _data_and_count(data, steps, batch)
        if (steps is None) == (epochs is None):
            raise NetError("the length of the training isn't set; set either steps=1000 or epochs=5")
        team = _team_of(workers, backend, strategy, run, alone=alone)
        if team is not None:
            self._set_new_data(data, test_data, batch, stores=False)
            lesson = self._lesson(Lesson(data, test_data, batch, steps, epochs))
            with shipping(ship):
                return self._train_with_team(lesson, team, settings, Hearing(callbacks), on_round)
        self._set_new_data(data, test_data, batch)
        self._continue_copied_training()
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
        """Set the data of a call, unless they are set already.

        Spark's data are set only with `stores`, because their rows are then stored.
        """
        for phase, given in ((Phase.TRAIN, data), (Phase.TEST, test_data)):
            if given is None or (is_of_spark(given) and not stores):
                continue
            if not self._given_data(phase).matches(given, batch):
                self._set_data(phase, given, batch)

    def _given_data(self, phase: Phase) -> _GivenData:
        return self._given.get(phase, _GivenData())

    def _step_and_test(self, solver: Solver, steps: int, tests: Intervals | None, hear: Hearing) -> None:
        """Train for some iterations, or until a callback stops the training. Tests run when they are due and at the
        end."""
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
        """Return the lesson, completed with the data that were set."""
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
        """Train with several workers, load the trained weights, and return the last loss."""
        self._check_open()
        if settings:
            self._settings = {**_DEFAULT_SETTINGS, **settings}
        net_state = state_of(self._net, Phase.TRAIN, self._level, self._stages)
        net_state.ClearField("phase")  # because the net is also tested
        model = in_state(Model(self._net, self.get_weights()), net_state)
        compute = Compute(self.device, caffe_gradients=self._caffe_gradients)
        self.history = train_with_team(
            model, solver_param(self._settings), lesson, team, compute, hear, on_round, hear.requested, self.load
        )
        self._close(Phase.TRAIN)  # its history belongs to other weights
        return next((moment.loss for moment in reversed(self.history) if moment.loss is not None), math.nan)

    def _continue_copied_training(self) -> None:
        """Create the solver of a copied net, and continue from the place of the original net."""
        if self._copied_place is not None:
            history = self.history
            self._set_solver(self._settings)
            assert self._solver is not None
            state.go_to(self._solver, self._copied_place, "the net that was copied")
            self._copied_place, self.history = None, history

    def _net_with_weights(self, phase: Phase) -> ModuleNet:
        """Return the net for a phase, which shares the blobs of `module`.

        Raises a `DataError` if the data need blobs of other shapes.
        """
        net = self._net_of(phase)
        try:
            share_blobs(net.built, self.module.built)
        except WeightsError as problem:
            names = {net.built.graph.blobs[edge]: edge for edge in net.module.inputs.values()}
            pairs = {name: (list(net.built.shapes[edge]), list(self._shape(name))) for name, edge in names.items()}
            others = [f"'{name}' has shape {a}, not {b}" for name, (a, b) in pairs.items() if b and a[1:] != b[1:]]
            if not others:
                raise
            raise DataError(
                f"the data don't fit the net: {', '.join(others)}; give the data this shape, because {problem}"
            ) from None
        return net

    def _epoch(self, phase: Phase, iter_size: int = 1) -> Epoch:
        """Return the epoch of a phase's data.

        Raises a `DataError` if their number of items is unknown.
        """
        feeds = self._net_of(phase).feeds
        per_epoch = None if feeds is None else feeds.epoch_batches()
        if per_epoch is None:
            instead = "steps=" if phase is Phase.TRAIN else "batches="
            raise DataError(
                "the number of items is unknown, as for a generator or a function; give the number of batches "
                f"with {instead}"
            )
        return Epoch.of(per_epoch, iter_size=iter_size)

    def _set_solver(self, settings: Mapping[str, Any]) -> None:
        """Begin with a new solver. If the seed changes, the data begin again too."""
        param = solver_param(settings)
        param.ClearField("test_interval")  # `train` runs its tests itself
        seed(param)
        if settings.get("random_seed") not in (None, self._settings.get("random_seed")):
            self._close(Phase.TRAIN)
        self._settings, self.history = settings, History()
        net = self._net_with_weights(Phase.TRAIN)
        for note in memory_notes(net.built, caffe_gradients=self._caffe_gradients):
            warnings.warn(note, GradientWarning, stacklevel=3)
        self._solver = Solver(param, net)
        share_blobs(self.module.built, net.built)  # because the solver moved the blobs

    def follow(self, solver: Solver) -> None:
        """Become the net of an open solver, which trains this net's weights from now on."""
        self._close(Phase.TRAIN)
        self._solver = solver
        share_blobs(self.module.built, solver.net.built)

    def follows(self, solver: Solver) -> bool:
        """Return whether this solver trains the net."""
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
        """Return nets like this one in Spark's executors, each on a part of the rows, for the program's own loop.

        `workers = net.on(rdd, workers=4, base_lr=0.02)` begins with this net's weights. `workers.train(50)` trains each
        net separately. `workers.average()` sets all nets, including this one, to the mean of their weights. The default
        number of workers is the number of Spark's slots. `bindings` contains the columns of blobs whose columns have
        other names. The settings are those of `train`.
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

        `test(10)` uses the next ten batches of the data that are set. `test((images, labels))` accepts data in the
        forms of `set_validation_data` and reads all of them once, from the beginning. If the batch size doesn't divide
        the number of items, the last batch is filled up with the first items.
        """
        net, batches = self._net_to_test(data, batches, batch)
        means = average_batches(net, batches)
        assert means is not None
        return dict(as_numbers(means[1]))

    def score(
        self, data: AnyData | int | None = None, batches: int | None = None, *, batch: int | None = None
    ) -> SetScores:
        """Return the scores of detections and segmentations over some batches, which count as one set.

        The batches are those of `test`.
        """
        net, batches = self._net_to_test(data, batches, batch)
        with gather_scores(net.built) as scores:
            average_batches(net, batches)
        if not (scores.detections or scores.segmentations):
            raise NetError(
                "no layer of the test net judges detections or compares the classes of pixels; add one, such as "
                "DetectionEvaluate"
            )
        return scores

    def _net_to_test(self, data: AnyData | int | None, batches: int | None, batch: int | None) -> tuple[ModuleNet, int]:
        """Return the net on its test data, with the current weights, and the number of batches to test on."""
        data, batches = _data_and_count(data, batches, batch)
        if data is not None:
            self._set_data(Phase.TEST, data, batch)
        net = self._net_with_weights(Phase.TEST)
        return net, self._epoch(Phase.TEST).iterations_of(1) if batches is None else batches

    def close(self) -> None:
        """End the threads that load data, and close the files that they read.

        A closed net doesn't run, train or test any more. Its weights can still be copied and saved.
        """
        self._close(*Phase)
        self._given.clear()
        self._closed = True


def solver_param(settings: Mapping[str, Any]) -> pb.SolverParameter:
    """Return the settings of `Net.train` as Caffe's message."""
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
    """Return the workers' team if several workers train, or `None`.

    Several workers train if the call requests them, or if another program has started several processes.
    """
    if alone:
        return None
    chosen = chosen_backend(backend, workers)
    if chosen is None and workers is None and strategy is None and run is None:
        return None
    return Team.of(chosen or HERE, workers, strategy, run)


def _data_and_count(
    data: AnyData | int | None, count: int | None, batch: int | None
) -> tuple[AnyData | None, int | None]:
    """Return the data of a call and the number of batches. The first argument can be either."""
    if isinstance(data, (int, np.integer)):
        if count is not None:
            raise NetError(f"{data} and {count} are both numbers of batches; leave one of them out")
        count, data = int(data), None
    if data is None and batch is not None:
        raise NetError("batch= is the batch size of data in the same call; give data, too")
    return data, count

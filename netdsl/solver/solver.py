"""The loop that trains a net as Caffe does: test, learn, display, save."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import SolverError
from netdsl.solver import state
from netdsl.solver.debug_info import inspected
from netdsl.solver.events import Began, Displayed, Event, Inspected, Listener, Saved, Stepped, Tested, Testing
from netdsl.solver.flat import FlatWeights
from netdsl.solver.rate import next_step, rate_at
from netdsl.solver.settings import check
from netdsl.solver.sharing import share_blobs
from netdsl.solver.testing import averaged, outputs_of
from netdsl.solver.trainable import TrainableNet
from netdsl.solver.update import Updater


class Action(Enum):
    """What somebody outside wants of a solver that runs."""

    NONE = "none"
    STOP = "stop"
    SNAPSHOT = "snapshot"


def nothing_wanted() -> Action:
    """Nobody is there to want anything."""
    return Action.NONE


def nobody_listens(event: Event) -> None:
    """Nobody is there to be told."""


class Solver:
    """Trains `net`, and tests with its weights in `tests`.

    `listen` is told what happens; `requested` is asked before every step and batch whether to stop or to save.
    A loss that isn't a number any more is an error, unless `finite` is false.
    """

    def __init__(
        self,
        param: pb.SolverParameter,
        net: TrainableNet,
        tests: Sequence[TrainableNet] = (),
        *,
        listen: Listener = nobody_listens,
        requested: Callable[[], Action] = nothing_wanted,
        finite: bool = True,
    ) -> None:
        check(param)
        self.param, self.net, self.tests = param, net, list(tests)
        self.listen, self.requested, self.finite = listen, requested, finite
        self.weights = FlatWeights(net.built)
        self.updater = Updater(param, self.weights)
        self.iteration, self.current_step = 0, 0
        self.stopped = False  # because it was asked to
        self.on_start: list[Callable[[], None]] = []  # called before an iteration's first batch
        self.on_gradients_ready: list[Callable[[], None]] = []  # called before the weights change
        self._losses: deque[Tensor] = deque(maxlen=param.average_loss)

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return rate_at(self.param, self.iteration, next_step(self.param, self.iteration, self.current_step))

    @property
    def loss(self) -> float:
        """The mean loss of the last iterations, `average_loss` of them."""
        losses = [self._checked(loss) for loss in self._losses]
        return sum(losses) / max(1, len(losses))

    def solve(self) -> None:
        """Train until `max_iter`, with the snapshot, display and test that end it."""
        self.stopped = False
        self.listen(self.began())
        self.step(self.param.max_iter - self.iteration)
        if self.param.snapshot_after_train and not _due(self.param.snapshot, self.iteration):
            self.snapshot()
        if self.stopped:
            return
        if _due(self.param.display, self.iteration):
            self._losses.append(self.net.forward())
            self._display(self.rate)
        if _due(self.param.test_interval, self.iteration):
            self.test_all()

    def began(self, workers: int = 1) -> Began:
        """What those who listen are told first; so many workers learn at once."""
        items = self.net.batch_size * self.param.iter_size * workers
        return Began(self.iteration, self.param.max_iter, self.net.built.graph.net.name, items)

    def step(self, count: int) -> None:
        """Train for so many iterations, or until somebody wants it to stop."""
        self._losses.clear()
        end = self.iteration + count
        while self.iteration < end and not self.stopped:
            self._test_if_due()
            if self.stopped:
                return
            self.iterate()
            self._heed(self.requested(), save=_due(self.param.snapshot, self.iteration))

    def iterate(self) -> None:
        """Train for one iteration, whatever is due or wanted besides."""
        self.net.clear_gradients()
        _call(self.on_start)
        self._losses.append(self._learn())
        if _due(self.param.display, self.iteration):
            self._display(self.rate)
        _call(self.on_gradients_ready)
        self.apply_update()
        self.listen(Stepped(self.iteration))

    def _test_if_due(self) -> None:
        first = self.iteration == 0 and not self.param.test_initialization
        if _due(self.param.test_interval, self.iteration) and not first:
            self.test_all()

    def _learn(self) -> Tensor:
        """The loss of one iteration, which may have several batches."""
        with self._inspected():
            losses = [self.net.forward_backward() for _ in range(self.param.iter_size)]
        loss = torch.stack(losses).mean() if len(losses) > 1 else losses[0]
        if loss.device.type == "cpu":  # elsewhere a look would make the device wait; there it is when it's displayed
            self._checked(loss)
        return loss

    @contextmanager
    def _inspected(self) -> Iterator[None]:
        """With `debug_info`, what every layer makes is told in iterations that are displayed."""
        if not (self.param.debug_info and _due(self.param.display, self.iteration)):
            yield
            return
        with inspected(self.net.built) as found:
            yield
        self.listen(Inspected(self.iteration, tuple(found)))

    def _checked(self, loss: Tensor) -> float:
        value = float(loss)
        if self.finite and not math.isfinite(value):
            raise SolverError(
                f"iteration {self.iteration}: the loss is {value}; lower base_lr (it is {self.param.base_lr:g}), set "
                "clip_gradients, or look for values that aren't numbers in the data"
            )
        return value

    def apply_update(self) -> None:
        """Change the weights by the gradients that are there."""
        self.current_step = next_step(self.param, self.iteration, self.current_step)
        self.updater.apply(rate_at(self.param, self.iteration, self.current_step), self.iteration)
        self.iteration += 1

    def _heed(self, action: Action, *, save: bool) -> None:
        if save or action is Action.SNAPSHOT:
            self.snapshot()
        self.stopped = self.stopped or action is Action.STOP

    def _display(self, rate: float) -> None:
        self.listen(Displayed(self.iteration, self.loss, rate, outputs_of(self.net, self.net.outputs())))

    def test_all(self) -> list[Tested]:
        """Test all test nets; fewer, if somebody wants to stop."""
        found = [self.test(index) for index in range(len(self.tests))]
        return [each for each in found if each is not None]

    def test(self, index: int = 0) -> Tested | None:
        """Run a test net on its `test_iter` batches with the weights of now, and average what it gives."""
        net = self.tests[index]
        share_blobs(net.built, self.net.built)
        self.listen(Testing(self.iteration, index))
        found = averaged(net, self.param.test_iter[index], self._interrupted)
        if found is None:
            return None
        loss, outputs = found
        tested = Tested(self.iteration, index, loss if self.param.test_compute_loss else None, outputs)
        self.listen(tested)
        return tested

    def _interrupted(self) -> bool:
        while not self.stopped and (action := self.requested()) is not Action.NONE:
            self._heed(action, save=False)
        return self.stopped

    def snapshot(self) -> Saved:
        """Save the weights and the state, so that training can go on from them to the bit."""
        saved = state.save(self)
        self.listen(saved)
        return saved


def _call(functions: Sequence[Callable[[], None]]) -> None:
    for function in functions:
        function()


def _due(every: int, iteration: int) -> bool:
    return every > 0 and iteration % every == 0

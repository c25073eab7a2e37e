"""The solver's loop, which trains a net as Caffe does. It tests, learns, displays and saves."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import DivergedError
from netdsl.layer import Layer
from netdsl.layer.running import on_cpu
from netdsl.net.build import Built
from netdsl.solver import state
from netdsl.solver.evaluation import (
    SetScores,
    asks_for_scores,
    average_batches,
    gather_scores,
    label_scores,
    outputs_of,
    scored_outputs,
)
from netdsl.solver.events import (
    Action,
    BlobMagnitude,
    DebugInfo,
    Event,
    IterationFinished,
    Listener,
    Notice,
    SnapshotSaved,
    TestFinished,
    TestStarted,
    TrainingProgress,
    TrainingStarted,
    no_action,
)
from netdsl.solver.flat import FlatWeights, share_blobs
from netdsl.solver.settings import check_settings, next_step, rate_at
from netdsl.solver.step_graph import Repeat, step_graph
from netdsl.solver.trainable_net import TrainableNet
from netdsl.solver.update import Updater
from netdsl.solver.used_weights import normalized_outputs


def ignore_event(event: Event) -> None:
    """Ignore an event: the default listener."""


class Solver:
    """Trains `net`, and tests its weights with the nets in `tests`.

    Calls `listen` with all events. Calls `poll_action` after every iteration and before every batch of a test, and
    stops or saves a snapshot if the action requests it. Unless `require_finite` is false, a loss that isn't finite is
    an error. The same applies to weights at a snapshot and at the end. `classes` are the names of the classes that the
    net learns, which are saved with its weights.
    """

    def __init__(
        self,
        param: pb.SolverParameter,
        net: TrainableNet,
        tests: Sequence[TrainableNet] = (),
        *,
        listen: Listener = ignore_event,
        poll_action: Callable[[], Action] = no_action,
        require_finite: bool = True,
        test_last: bool = False,
        classes: Sequence[str] = (),
    ) -> None:
        check_settings(param)
        self.classes = classes
        self.param, self.net, self.tests = param, net, list(tests)
        self.listen, self.poll_action = listen, poll_action
        self.require_finite, self.test_last = require_finite, test_last
        self.weights = FlatWeights(net.built)
        self.updater = Updater(param, self.weights, net.loss_scale)
        self.normalized_outputs = normalized_outputs(net.built)
        self.iteration, self.current_step = 0, 0
        self.stopped = False  # whether an action stopped training
        self.on_start: list[Callable[[], None]] = []  # called before the first batch of an iteration
        # Called when all gradients are in the updater's buffer, before the weights change.
        self.on_gradients_ready: list[Callable[[], None]] = []
        self._losses: deque[Tensor] = deque(maxlen=param.average_loss)
        self._graph = step_graph(net, self.updater, self._learn_and_update, self._report_no_graph)

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return rate_at(self.param, self.iteration, next_step(self.param, self.iteration, self.current_step))

    @property
    def loss(self) -> float:
        """The mean loss of the last `average_loss` iterations."""
        losses = [self._checked(loss) for loss in self._losses]
        return sum(losses) / max(1, len(losses))

    def solve(self) -> None:
        """Train until `max_iter`, then save, display and test as the settings require. With `test_last`, always
        test."""
        self.stopped = False
        self.listen(self.started_event())
        self.step(self.param.max_iter - self.iteration)
        self.check_finite()
        if self.param.snapshot_after_train and not _due(self.param.snapshot, self.iteration):
            self.snapshot()
        if self.stopped:
            return
        if _due(self.param.display, self.iteration):
            self._losses.append(self.net.forward())
            self._display(self.rate)
        if self.test_last or _due(self.param.test_interval, self.iteration):
            self.test_all()

    def started_event(self, workers: int = 1) -> TrainingStarted:
        """Return the first event of a training by this many workers."""
        items = self.net.batch_size * self.param.iter_size * workers
        return TrainingStarted(self.iteration, self.param.max_iter, self.net.built.graph.net.name, items)

    def step(self, count: int) -> None:
        """Train for this many iterations, or until an action stops it."""
        self._losses.clear()
        end = self.iteration + count
        while self.iteration < end and not self.stopped:
            self._test_if_due()
            if self.stopped:
                return
            self.iterate()
            self._act_on(self.poll_action(), save=_due(self.param.snapshot, self.iteration))

    def iterate(self) -> None:
        """Train for one iteration, without tests, snapshots or actions."""
        self.net.clear_gradients()
        self.updater.begin(self.rate, in_buffer=bool(self.on_gradients_ready))
        _call_all(self.on_start)
        with nullcontext() if self._graph is None else self._graph.turn(self._graph_obstacle()) as repeat:
            if repeat is None:
                self._take_step()
            else:
                self._repeat_step(repeat)
        self.listen(IterationFinished(self.iteration))

    def _take_step(self) -> None:
        self._losses.append(self._learn())
        if _due(self.param.display, self.iteration):
            self._display(self.rate)
        if self.on_gradients_ready:
            self.updater.gradients.gather()
            _call_all(self.on_gradients_ready)
        self.apply_update()

    def _repeat_step(self, repeat: Repeat) -> None:
        """Repeat the recorded `_learn_and_update` on a GPU."""
        rate = self.rate
        self._prepare_update()
        self._losses.append(repeat())
        if _due(self.param.display, self.iteration):
            self._display(rate)
        self.iteration += 1

    def _learn_and_update(self) -> Tensor:
        loss = self._learn()
        self.updater.update()
        return loss

    def _graph_obstacle(self) -> str:
        """Return why this step can't be repeated as a whole. Returns an empty string if it can."""
        if self.on_gradients_ready:
            return "gradients are read or changed before the update"
        return "debug_info reads all blobs" if self._shows_debug_info() else ""

    def _test_if_due(self) -> None:
        first = self.iteration == 0 and not self.param.test_initialization
        if _due(self.param.test_interval, self.iteration) and not first:
            self.test_all()

    def _learn(self) -> Tensor:
        """Compute the gradients of one iteration, which may have several batches, and return the loss."""
        with self._debug_info():
            losses = [self.net.forward_backward() for _ in range(self.param.iter_size)]
        loss = torch.stack(losses).mean() if len(losses) > 1 else losses[0]
        if on_cpu(loss):  # on other devices this would wait, so the loss is checked when it is displayed
            self._checked(loss)
        return loss

    @contextmanager
    def _debug_info(self) -> Iterator[None]:
        """With `debug_info`, send the magnitudes of all blobs in displayed iterations."""
        if not self._shows_debug_info():
            yield
            return
        with _record_magnitudes(self.net.built) as magnitudes:
            yield
        self.listen(DebugInfo(self.iteration, tuple(magnitudes)))

    def _shows_debug_info(self) -> bool:
        return self.param.debug_info and _due(self.param.display, self.iteration)

    def _checked(self, loss: Tensor) -> float:
        value = float(loss)
        if self.require_finite and not math.isfinite(value):
            raise DivergedError(f"iteration {self.iteration}: the loss is {value}; {self._advice()}")
        return value

    def check_finite(self) -> None:
        """Raise a `DivergedError` if the last losses or the weights aren't finite, before they are saved as a result.

        Waits for a GPU.
        """
        if not self.require_finite:
            return
        for loss in self._losses:
            self._checked(loss)
        self._report_skipped()
        if not _is_finite(self.weights.buffer):
            blob = next(blob for blob in self.weights.blobs if not _is_finite(blob.tensor.detach()))
            raise DivergedError(
                f"iteration {self.iteration}: the weights of layer '{blob.layer}' aren't finite, so they aren't saved; "
                f"{self._advice()}"
            )

    def _report_skipped(self) -> None:
        """Send a notice about steps that were skipped in float16. Raises a `SolverError` if all steps are skipped."""
        report = "" if self.net.loss_scale is None else self.net.loss_scale.report()
        if report:
            self.listen(Notice(f"iteration {self.iteration}: {report}"))

    def _advice(self) -> str:
        return (
            f"lower base_lr (it is {self.param.base_lr:g}), set clip_gradients, or look for values in the data "
            "that aren't finite; earlier snapshots are unaffected"
        )

    def apply_update(self) -> None:
        """Update the weights with the blobs' gradients."""
        self._prepare_update()
        self.updater.update()
        self.iteration += 1

    def _prepare_update(self) -> None:
        self.current_step = next_step(self.param, self.iteration, self.current_step)
        self.updater.prepare(rate_at(self.param, self.iteration, self.current_step), self.iteration)

    def _report_no_graph(self, reason: str) -> None:
        self.listen(Notice(f"iteration {self.iteration}: the step isn't repeated as a CUDA graph: {reason}"))

    def _act_on(self, action: Action, *, save: bool) -> None:
        if save or action is Action.SNAPSHOT:
            self.snapshot()
        self.stopped = self.stopped or action is Action.STOP

    def _display(self, rate: float) -> None:
        self._report_skipped()
        self.listen(TrainingProgress(self.iteration, self.loss, rate, outputs_of(self.net, self.net.outputs())))

    def test_all(self) -> list[TestFinished]:
        """Test all test nets. Returns fewer results if an action stops the tests."""
        results = [self.test(index) for index in range(len(self.tests))]
        return [result for result in results if result is not None]

    def test(self, index: int = 0) -> TestFinished | None:
        """Test the current weights in a test net. Returns the averages over its `test_iter` batches, or `None` if it
        was stopped."""
        net = self.tests[index]
        share_blobs(net.built, self.net.built)
        self.listen(TestStarted(self.iteration, index))
        with gather_scores(net.built) if asks_for_scores(self.param) else nullcontext(SetScores()) as scores:
            averages = average_batches(net, self.param.test_iter[index], self._interrupted)
        if averages is None:
            return None
        loss, outputs = averages
        outputs = tuple(sorted((*outputs, *scored_outputs(self.param, scores)), key=lambda output: output.name))
        shown_loss = loss if self.param.test_compute_loss else None
        result = TestFinished(self.iteration, index, shown_loss, outputs, label_scores(self.param, scores))
        self.listen(result)
        return result

    def _interrupted(self) -> bool:
        while not self.stopped and (action := self.poll_action()) is not Action.NONE:
            self._act_on(action, save=False)
        return self.stopped

    def snapshot(self) -> SnapshotSaved:
        """Save the weights and the state. Training can be resumed from them to the same bits."""
        self.check_finite()
        saved = state.save(self)
        self.listen(saved)
        return saved


def _call_all(functions: Sequence[Callable[[], None]]) -> None:
    for function in functions:
        function()


def _is_finite(values: Tensor) -> bool:
    """Return whether all values are finite.

    Checks only the smallest and the largest value, which needs no extra memory. Both are NaN if any value is.
    """
    return bool(torch.isfinite(torch.stack(values.aminmax())).all())


def _due(interval: int, iteration: int) -> bool:
    return interval > 0 and iteration % interval == 0


@contextmanager
def _record_magnitudes(built: Built) -> Iterator[list[BlobMagnitude]]:
    """Return a list that is filled while the net runs forward and backward.

    The tops and parameters of each layer come first, in the order in which layers run. The gradients of tops follow as
    they are computed, and those of parameters come at the end.
    """
    magnitudes: list[BlobMagnitude] = []
    with ExitStack() as stack:
        for layer in built.layers:
            stack.callback(layer.register_forward_hook(_recording_hook(magnitudes)).remove)
        yield magnitudes
    for layer in built.layers:
        for index, blob in enumerate(layer.blob_tensors()):
            if blob.grad is not None:
                magnitudes.append(BlobMagnitude(layer.layer.name, str(index), True, True, _mean_size(blob.grad)))


def _recording_hook(magnitudes: list[BlobMagnitude]) -> Any:
    def record(layer: nn.Module, bottoms: tuple[Tensor, ...], tops: Tensor | tuple[Tensor, ...]) -> None:
        assert isinstance(layer, Layer)
        name = layer.layer.name
        for top, value in zip(layer.layer.top, tops if isinstance(tops, tuple) else (tops,), strict=False):
            magnitudes.append(BlobMagnitude(name, top, False, False, _mean_size(value)))
            if value.requires_grad:
                value.register_hook(  # type: ignore[no-untyped-call]
                    lambda gradient, top=top: magnitudes.append(
                        BlobMagnitude(name, top, False, True, _mean_size(gradient))
                    )
                )
        for index, blob in enumerate(layer.blob_tensors()):
            magnitudes.append(BlobMagnitude(name, str(index), True, False, _mean_size(blob)))

    return record


def _mean_size(values: Tensor) -> float:
    return float(values.detach().abs().mean()) if values.numel() else 0.0

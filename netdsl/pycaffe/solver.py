"""pycaffe's solvers: netdsl's training loop over nets whose blobs scripts can read and write between steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, overload

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.addresses import local_path
from caffe_proto.copies import copy_of
from netdsl.errors import TrainingWarning
from netdsl.model.opening import load_weights
from netdsl.pycaffe import process
from netdsl.pycaffe.net import Net
from netdsl.pycaffe.process import write_log_line
from netdsl.solver import state
from netdsl.solver.caffe_log import CaffeLog
from netdsl.solver.events import Event, Notice, WeightsLoaded
from netdsl.solver.flat import share_blobs
from netdsl.solver.settings import find_weights, open_settings, read_settings, seed
from netdsl.solver.solver import Solver as TrainingLoop
from netdsl.solver.trainable_net import LossScale, Positions


class _SolverNet:
    """An adapter of a pycaffe net for the training loop."""

    def __init__(self, net: Net) -> None:
        self._net = net
        self.built = net._built
        self._last = len(net.layers) - 1
        self.loss_scale: LossScale | None = None  # Caffe computes in float32

    @property
    def batch_size(self) -> int:
        return self._net.blobs[self._net._blob_names[0]].shape[0]

    def clear_gradients(self) -> None:
        self._net.clear_param_diffs()

    def forward(self) -> Tensor:
        return torch.tensor(self._net._forward(0, self._last))

    def forward_backward(self) -> Tensor:
        loss = self.forward()
        self._net._backward(self._last, 0)
        return loss

    def outputs(self) -> Mapping[str, Tensor]:
        return {name: self._net._memory[blob].data.read() for name, blob in self._numbered_outputs()}

    def loss_weights(self) -> Mapping[str, float]:
        return {name: self._net._blob_loss_weights[blob] for name, blob in self._numbered_outputs()}

    def _numbered_outputs(self) -> Sequence[tuple[str, int]]:
        return list(zip(self._net.outputs, self._net._outputs, strict=True))

    def positions(self) -> Positions:
        return self._net._feeds.positions()

    def seek(self, positions: Positions) -> None:
        self._net._feeds.seek(positions)


class SolverCallback(Protocol):
    """The functions that a solver calls in each iteration."""

    def on_start(self) -> None:
        """Run before the iteration's first batch."""
        ...

    def on_gradients_ready(self) -> None:
        """Run after all gradients are computed, before the weights change."""
        ...


class Solver:
    """A solver for the nets that its file names. `net` and `test_nets` are pycaffe nets."""

    kind: ClassVar[str] = ""  # the solver's type, which overrides the one in the file

    def __init__(self, solver_file: str | Path) -> None:
        self.param = read_settings(solver_file)
        local_path(self.param.snapshot_prefix, "the beginning of a path")
        if self.kind:
            self.param.type = self.kind
        seed(self.param, process.solver_rank())
        self._log = CaffeLog(self.param, write_log_line)
        folder = Path(solver_file).parent
        settings = open_settings(self.param, folder, process.dialect())
        self.net = Net.of(settings.trained)
        self.test_nets = [Net.of(model) for model in settings.tested]
        self._loop = TrainingLoop(
            self.param if process.solver_rank() == 0 else _only_training(self.param),
            _SolverNet(self.net),
            [_SolverNet(net) for net in self.test_nets],
            listen=self._listen,
            require_finite=False,
        )
        nets = [self.net, *self.test_nets]
        for path in find_weights(self.param.weights, folder):
            self._listen(WeightsLoaded((path,), load_weights(path, *(net._built for net in nets))))

    def _listen(self, event: Event) -> None:
        """Log an event as Caffe's first solver does, and show notices as warnings."""
        if isinstance(event, Notice):
            warnings.warn(event.text, TrainingWarning, stacklevel=4)
        elif process.solver_rank() == 0:
            self._log(event)

    @property
    def iter(self) -> int:
        """The number of iterations so far."""
        return self._loop.iteration

    @property
    def lr(self) -> float:
        """The learning rate of the next iteration."""
        return self._loop.rate

    def step(self, iterations: int) -> None:
        """Train for a number of iterations."""
        self._log.restart_clock(self.iter)
        self._loop.step(iterations)

    def solve(self, resume_file: str | Path | None = None) -> None:
        """Train to the end. Training continues from a solver state if `resume_file` is set."""
        if resume_file is not None:
            self.restore(resume_file)
        self._loop.solve()
        if process.solver_rank() == 0:
            self._log.end(stopped=self._loop.stopped)

    def apply_update(self) -> None:
        """Update the weights with the current gradients."""
        self.net._flush()
        self._loop.apply_update()

    def restore(self, state_file: str | Path) -> None:
        """Restore a solver state."""
        self.net._flush()
        state.restore(self._loop, state_file)

    def snapshot(self) -> None:
        """Save the weights and the solver state."""
        self.net._flush()
        self._loop.snapshot()

    def share_weights(self, net: Net) -> None:
        """Share the weights of the trained net with another net."""
        share_blobs(net._built, self.net._built)

    @overload
    def add_callback(self, on_start: SolverCallback) -> None: ...
    @overload
    def add_callback(self, on_start: Callable[[], None], on_gradients_ready: Callable[[], None]) -> None: ...
    def add_callback(self, on_start: Any, on_gradients_ready: Callable[[], None] | None = None) -> None:
        """Add functions to call before each iteration and after its gradients are computed.

        A single object can have both, such as an `NCCL`.
        """
        if on_gradients_ready is None:
            on_start, on_gradients_ready = on_start.on_start, on_start.on_gradients_ready
        self._loop.on_start.append(on_start)
        self._loop.on_gradients_ready.append(on_gradients_ready)


class SGDSolver(Solver):
    """Stochastic gradient descent with momentum."""

    kind = "SGD"


class NesterovSolver(SGDSolver):
    """Nesterov's accelerated gradient."""

    kind = "Nesterov"


class AdaGradSolver(SGDSolver):
    """AdaGrad: gradients divided by the root of the sum of all squares so far."""

    kind = "AdaGrad"


class RMSPropSolver(SGDSolver):
    """RMSProp: gradients divided by the root of a decaying mean of squares."""

    kind = "RMSProp"


class AdaDeltaSolver(SGDSolver):
    """AdaDelta: gradients scaled by the ratio of two decaying means."""

    kind = "AdaDelta"


class AdamSolver(SGDSolver):
    """Adam: decaying means of gradients and their squares."""

    kind = "Adam"


def _only_training(param: pb.SolverParameter) -> pb.SolverParameter:
    """Return the settings without tests and snapshots. Caffe's rule: only the first of several solvers does these."""
    changed = copy_of(param)
    changed.test_interval = changed.snapshot = 0
    changed.snapshot_after_train = False
    return changed


_SOLVER_CLASSES = {
    net.kind: net for net in (SGDSolver, NesterovSolver, AdaGradSolver, RMSPropSolver, AdaDeltaSolver, AdamSolver)
}


def get_solver(solver_file: str | Path) -> Solver:
    """Return the solver for a file, with the class of its type."""
    return _SOLVER_CLASSES.get(read_settings(solver_file).type, Solver)(solver_file)

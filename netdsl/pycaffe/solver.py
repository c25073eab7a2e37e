"""pycaffe's solvers: the same training loop, over nets whose blobs scripts read and write between steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from netdsl.pycaffe.net import Net
from netdsl.solver import state
from netdsl.solver.nets import find_file, split_names, test_nets, train_net
from netdsl.solver.settings import read_settings, seed
from netdsl.solver.sharing import share_blobs
from netdsl.solver.solver import Solver as Loop
from netdsl.solver.trainable_net import Positions


class _Blobs:
    """A pycaffe net as a solver's loop wants it."""

    def __init__(self, net: Net) -> None:
        self._net = net
        self.built = net._built
        self._last = len(net.layers) - 1

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
        return {name: self._net._memory[blob].data.read() for name, blob in self._numbered()}

    def loss_weights(self) -> Mapping[str, float]:
        return {name: self._net._blob_loss_weights[blob] for name, blob in self._numbered()}

    def _numbered(self) -> Sequence[tuple[str, int]]:
        return list(zip(self._net.outputs, self._net._outputs, strict=True))

    def positions(self) -> Positions:
        return self._net._feeds.positions()

    def seek(self, positions: Positions) -> None:
        self._net._feeds.seek(positions)


class Solver:
    """Trains the net that a solver's file names. `net` and `test_nets` are pycaffe nets."""

    kind: ClassVar[str] = ""  # of the solver, whatever its file says

    def __init__(self, solver_file: str | Path) -> None:
        self.param = read_settings(solver_file)
        if self.kind:
            self.param.type = self.kind
        seed(self.param)
        folder = Path(solver_file).parent
        self.net = Net.of(train_net(self.param, folder))
        self.test_nets = [Net.of(each) for each in test_nets(self.param, folder)]
        self._loop = Loop(self.param, _Blobs(self.net), [_Blobs(each) for each in self.test_nets], require_finite=False)
        for name in split_names(self.param.weights):
            for net in (self.net, *self.test_nets):
                net.copy_from(find_file(name, folder))

    @property
    def iter(self) -> int:
        """How often the weights were changed."""
        return self._loop.iteration

    @property
    def lr(self) -> float:
        """The learning rate of the next step."""
        return self._loop.rate

    def step(self, iterations: int) -> None:
        """Train for so many iterations."""
        self._loop.step(iterations)

    def solve(self, resume_file: str | Path | None = None) -> None:
        """Train to the end, from a state if one is given."""
        if resume_file is not None:
            self.restore(resume_file)
        self._loop.solve()

    def apply_update(self) -> None:
        """Change the weights by the gradients that are there."""
        self.net._flush()
        self._loop.apply_update()

    def restore(self, state_file: str | Path) -> None:
        """Go on from a state."""
        self.net._flush()
        state.restore(self._loop, state_file)

    def snapshot(self) -> None:
        """Save weights and state."""
        self.net._flush()
        self._loop.snapshot()

    def share_weights(self, net: Net) -> None:
        """Let another net use the weights of the one that is trained."""
        share_blobs(net._built, self.net._built)

    def add_callback(self, on_start: Callable[[], None], on_gradients_ready: Callable[[], None]) -> None:
        """Have functions called before every iteration, and when its gradients are there."""
        self._loop.on_start.append(on_start)
        self._loop.on_gradients_ready.append(on_gradients_ready)


class SGDSolver(Solver):
    """Momentum."""

    kind = "SGD"


class NesterovSolver(SGDSolver):
    """Momentum that looks ahead."""

    kind = "Nesterov"


class AdaGradSolver(SGDSolver):
    """Divided by the root of the sum of all squares so far."""

    kind = "AdaGrad"


class RMSPropSolver(SGDSolver):
    """Divided by the root of a decaying mean of squares."""

    kind = "RMSProp"


class AdaDeltaSolver(SGDSolver):
    """Scaled by the ratio of two decaying means."""

    kind = "AdaDelta"


class AdamSolver(SGDSolver):
    """Decaying means of gradients and their squares."""

    kind = "Adam"


_KINDS = {
    each.kind: each for each in (SGDSolver, NesterovSolver, AdaGradSolver, RMSPropSolver, AdaDeltaSolver, AdamSolver)
}


def get_solver(solver_file: str | Path) -> Solver:
    """The solver of the type that its file names."""
    return _KINDS.get(read_settings(solver_file).type, Solver)(solver_file)

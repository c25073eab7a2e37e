"""A net that is ready to run: built, filled with weights, on a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.user_batches import Values
from netdsl.dsl.assign import assign
from netdsl.errors import NetError, WeightsError
from netdsl.layers import LAYERS
from netdsl.model import NetSource, copy_model, load_weights, open_net
from netdsl.net.build import Types, build, running
from netdsl.net.graph import Phase, phase_of, resolve, state_of
from netdsl.net.module import NetModule
from netdsl.solver.evaluation import average_batches
from netdsl.solver.events import as_numbers
from netdsl.solver.module_net import Compute, ModuleNet
from netdsl.solver.sharing import share_blobs
from netdsl.solver.solver import Solver
from netdsl.tables.table import Table
from netdsl.weights.collection import WeightCollection
from netdsl.weights.files import array_of, copy_weights, learned_layers, save_net
from netdsl.weights.match import LoadReport, Weights

_USUAL = {"type": "SGD", "base_lr": 0.01, "lr_policy": "fixed", "momentum": 0.9}

Paths = str | Path | Sequence[str | Path]


class Net:
    """A net for one phase, from a description, a message or a file of any format, which may have its weights too.

    `module` is the torch module. `forward(data=x)` runs it without gradients.
    """

    def __init__(
        self,
        net: NetSource,
        *,
        weights: Weights | Paths | None = None,
        phase: Phase | str = Phase.TEST,
        level: int = 0,
        stages: Sequence[str] = (),
        types: Types = LAYERS,
    ) -> None:
        model = open_net(net)
        self.message = model.net
        self.phase, self._level, self._stages, self._types = phase_of(phase), level, stages, types
        self._values: dict[Phase, Values | Table] = {}
        self._running: dict[Phase, ModuleNet] = {}
        self._solver: Solver | None = None
        graph = resolve(self.message, self.phase, level=level, stages=stages)
        self.module = NetModule(build(graph, types)).allocate()
        copy_model(model, self.module.built)
        if isinstance(weights, Mapping):
            self.set_weights(weights)
        elif weights is not None:
            self.load(weights)

    def forward(self, **inputs: Any) -> dict[str, Tensor]:
        """The outputs by name, for inputs by name: tensors or arrays of any type and any batch size."""
        tensors = {name: self._input(name, value) for name, value in inputs.items()}
        try:
            with torch.no_grad(), running(self.module.built):
                found: dict[str, Tensor] = self.module(**tensors)
        except NetError as problem:
            raise type(problem)(f"{problem}{self._unusual(tensors)}") from problem.__cause__
        return found

    def _input(self, name: str, value: Any) -> Tensor:
        """A value as the net takes it. Other lengths may be fine, another number of axes is a mistake."""
        like = self._like()
        try:
            given = value if isinstance(value, Tensor) else torch.from_numpy(np.require(value, np.float32, ["C", "W"]))
        except (ValueError, TypeError) as problem:
            raise NetError(f"input '{name}' is no array of numbers: {problem}") from None
        shape = self._shape(name)
        if shape and given.dim() != len(shape):
            raise NetError(
                f"input '{name}' has shape {list(given.shape)}; wanted are {len(shape)} axes, as {list(shape)}"
            )
        return given.to(like.device, like.dtype)

    def _shape(self, name: str) -> tuple[int, ...]:
        """What the net was made for; nothing if it says nothing, or has no such input."""
        return self.module.built.shapes[self.module.inputs[name]] if name in self.module.inputs else ()

    def _unusual(self, tensors: Mapping[str, Tensor]) -> str:
        """The inputs that aren't as the net was made for."""
        shapes = [(name, list(tensor.shape), list(self._shape(name))) for name, tensor in tensors.items()]
        words = [f"'{name}' has shape {given}, made for {own}" for name, given, own in shapes if own not in ([], given)]
        return f"; input {', '.join(words)}" if words else ""

    def _like(self) -> Tensor:
        """A tensor with the device and the type of the weights."""
        tensors = (*self.module.parameters(), *self.module.buffers())
        return next((tensor for tensor in tensors if tensor.is_floating_point()), torch.empty(0))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self._like().device

    def to(self, device: torch.device | str) -> Self:
        """Move the net. Training goes on there with a new solver, which remembers nothing."""
        self.module.to(device)
        self._forget(*Phase)
        return self

    def get_weights(self) -> WeightCollection:
        """A copy of all weights, statistics included; a parameter that layers share is there for each of them."""
        layers = learned_layers(self.module.built)
        return WeightCollection.of(
            {name: [array_of(tensor) for tensor in layer.blob_tensors()] for name, layer in layers.items()}
        )

    def set_weights(self, weights: Weights, *, partial: bool = False) -> LoadReport:
        """Take a copy of weights by layer name; with `partial`, layers whose shapes differ are passed over.

        Of different values for a parameter that layers share, the last ones count.
        """
        return copy_weights(self.module.built, weights, partial=partial)

    def load(self, weights: Paths, *, partial: bool = False) -> LoadReport:
        """Take the weights of files of any format, one after the other. A text can name several: "a,b".

        A layer that a file doesn't have keeps its values; a file that has none of the net's layers is an error.
        """
        paths = _paths(weights)
        if not paths:
            raise WeightsError("no file with weights is named")
        return LoadReport.of_all([load_weights(path, self.module.built, partial=partial) for path in paths])

    def set_training_data(self, values: Values | Table) -> None:
        """Train on these: batches or single items, each with arrays by blob names or in the blobs' order.

        An iterable begins again at its end; a function is asked for the next ones. A table's rows come as batches.
        """
        self._give(Phase.TRAIN, values)

    def set_validation_data(self, values: Values | Table) -> None:
        """Test on these."""
        self._give(Phase.TEST, values)

    def _give(self, phase: Phase, values: Values | Table) -> None:
        self._forget(phase)
        self._values[phase] = values

    def _forget(self, *phases: Phase) -> None:
        for phase in phases:
            if phase in self._running:
                self._running.pop(phase).close()
        if Phase.TRAIN in phases:
            self._solver = None

    def _net_of(self, phase: Phase) -> ModuleNet:
        """The net for a phase, with data: those that were given, or what its data layers read."""
        if phase not in self._running:
            message = pb.NetParameter()
            message.CopyFrom(self.message)
            message.state.CopyFrom(state_of(message, phase, self._level, self._stages))
            self._running[phase] = ModuleNet(message, Compute(self.device), self._types, self._values.get(phase))
        return self._running[phase]

    def train(self, steps: int, **settings: Any) -> float:
        """Change the weights in so many iterations of a solver; what comes back is the loss of the last.

        The settings are those of Caffe's solvers, by name: `base_lr=0.01, type="Adam"`. Without any, training goes on
        where it was; the first time that is with a base_lr of 0.01 and a momentum of 0.9.
        """
        if self._solver is None or settings:
            self._solver = self._made_solver({**_USUAL, **settings})
        self._solver.step(steps)
        return self._solver.loss

    def _made_solver(self, settings: Mapping[str, Any]) -> Solver:
        param, net = pb.SolverParameter(), self._net_of(Phase.TRAIN)
        assign(param, settings, "a solver")
        share_blobs(net.built, self.module.built)
        solver = Solver(param, net)
        share_blobs(self.module.built, net.built)  # the solver moved them
        return solver

    def test(self, batches: int) -> dict[str, float]:
        """The outputs of the net on the average of so many batches."""
        net = self._net_of(Phase.TEST)
        share_blobs(net.built, self.module.built)
        found = average_batches(net, batches)
        assert found is not None
        return dict(as_numbers(found[1]))

    def save(self, path: str | Path) -> None:
        """Write the net with its weights, as Caffe's snapshots are."""
        save_net(self.module.built, path)


def _paths(weights: Paths) -> list[str | Path]:
    """Caffe's rule: commas separate files."""
    if isinstance(weights, str):
        return [name.strip() for name in weights.split(",") if name.strip()]
    return [weights] if isinstance(weights, Path) else [path for each in weights for path in _paths(each)]

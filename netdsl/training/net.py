"""The public Net: built, filled with weights, on a device, ready to run and to train."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.locations import unlocated
from netdsl.data.batches.user_batches import Values, check_not_empty
from netdsl.data.tables.table import Table
from netdsl.dsl.constructors import assign
from netdsl.errors import GradientWarning, NetError, WeightsError, WeightsWarning
from netdsl.html_table import html_table
from netdsl.model.collection import WeightCollection
from netdsl.model.model import Model, NetSource, in_state, open_net
from netdsl.model.opening import check_names, copy_model, load_weights, open_caffe_files, open_model, with_dialect_of
from netdsl.model.weights.files import array_of, copy_weights, learned_layers, save_net
from netdsl.model.weights.match import LoadReport, Weights
from netdsl.net.build import running
from netdsl.net.caffe_memory import memory_notes
from netdsl.net.graph import Phase, phase_of, state_of
from netdsl.net.module import NetModule
from netdsl.solver.evaluation import SetScores, average_batches, gather_scores
from netdsl.solver.events import as_numbers
from netdsl.solver.flat import share_blobs
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, ModuleNet

_DEFAULT_SETTINGS = {"type": "SGD", "base_lr": 0.01, "lr_policy": "fixed", "momentum": 0.9}

Paths = str | Path | Sequence[str | Path]


class Net:
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
        self._net = model.net
        self.phase, self._level, self._stages = phase_of(phase), level, stages
        self._caffe_gradients = caffe_gradients
        self._values: dict[Phase, Values | Table] = {}
        self._running: dict[Phase, ModuleNet] = {}
        self._solver: Solver | None = None
        self._closed = False
        self.module = NetModule(model.layers(self.phase)).allocate()
        reports = [copy_model(own, self.module.built)] if own.weights else []
        if weights is not None:
            reports.append(self.set_weights(weights) if isinstance(weights, Mapping) else self._load(files))
        report = LoadReport.of_all(reports) if reports else None
        if report is not None and report.missing:
            warnings.warn(f"net '{self.message.name}': {report}", WeightsWarning, stacklevel=2)

    def __repr__(self) -> str:
        inputs, outputs = (self._blobs(edges.values()) for edges in (self.module.inputs, self.module.outputs))
        return f"Net({self._size()}: {inputs or 'data of its own'} -> {outputs or 'nothing'})"

    def _repr_html_(self) -> str:
        rows = [
            (
                node.layer.name,
                node.layer.type,
                ", ".join(node.layer.bottom),
                self._blobs(node.tops),
                f"{sum(tensor.numel() for tensor in layer.blob_tensors()):,}" if layer.blob_names() else "",
            )
            for node, layer in self.module.built.pairs()
        ]
        return html_table(f"Net {self._size()}", ("layer", "type", "bottoms", "tops", "weights"), rows)

    def _size(self) -> str:
        """The net's name, phase, number of layers and of weights, and device."""
        layers = self.module.built.layers
        shared_once = {id(tensor): tensor.numel() for layer in layers for tensor in layer.blob_tensors()}
        count = f"{len(layers)} layer{'' if len(layers) == 1 else 's'}"
        weights = f"{sum(shared_once.values()):,} weights"
        return f"'{self.message.name}', {self.phase.name}, {count}, {weights} on {self.device}"

    def _blobs(self, edges: Iterable[int]) -> str:
        """Blobs with their shapes."""
        built = self.module.built
        return ", ".join(
            f"{built.graph.blobs[edge]} {'x'.join(map(str, built.shapes[edge]))}".strip() for edge in edges
        )

    @property
    def message(self) -> pb.NetParameter:
        """A copy of the net as Caffe's message, in today's form and without weights."""
        return unlocated(self._net)

    def forward(self, **inputs: Any) -> dict[str, Tensor]:
        """The outputs by name, for inputs by name: tensors or arrays of any type and any batch size."""
        self._check_open()
        tensors = {name: self._input(name, value) for name, value in inputs.items()}
        edges = self.module.edges_of(**tensors)
        with torch.no_grad(), running(self.module.built, edges):
            outputs: dict[str, Tensor] = self.module(**tensors)
        return outputs

    def _input(self, name: str, value: Any) -> Tensor:
        """An input as a tensor. Its lengths may differ from the net's, the number of its axes may not."""
        like = self._like()
        try:
            tensor = value if isinstance(value, Tensor) else torch.from_numpy(np.require(value, np.float32, ["C", "W"]))
        except (ValueError, TypeError) as problem:
            raise NetError(f"input '{name}' is no array of numbers: {problem}") from None
        shape = self._shape(name)
        if shape and tensor.dim() != len(shape):
            raise NetError(
                f"input '{name}' has shape {list(tensor.shape)}; wanted are {len(shape)} axes, as {list(shape)}"
            )
        return tensor.to(like.device, like.dtype)

    def _shape(self, name: str) -> tuple[int, ...]:
        """The shape that the net states for an input; empty if it states none, or has no such input."""
        return self.module.built.shapes[self.module.inputs[name]] if name in self.module.inputs else ()

    def _like(self) -> Tensor:
        """A tensor with the device and the type of the weights."""
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
        """A copy of all weights, statistics included, with a shared parameter once for each of its layers."""
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

    def set_training_data(self, values: Values | Table) -> None:
        """Set the data to train on: batches or single items, each with arrays by blob names or in the blobs' order.

        An iterable begins again at its end; a function is called for each batch or item. Of a table, rows are taken in
        batches.
        """
        self._set_data(Phase.TRAIN, values)

    def set_validation_data(self, values: Values | Table) -> None:
        """Set the data to test on, in the same forms as data to train on."""
        self._set_data(Phase.TEST, values)

    def _set_data(self, phase: Phase, values: Values | Table) -> None:
        self._check_open()
        check_not_empty(values)
        self._close(phase)
        self._values[phase] = values

    def _close(self, *phases: Phase) -> None:
        for phase in phases:
            if phase in self._running:
                self._running.pop(phase).close()
        if Phase.TRAIN in phases:
            self._solver = None

    def _net_of(self, phase: Phase) -> ModuleNet:
        """The net for a phase, with the data that were set, or those that its data layers read."""
        self._check_open()
        if phase not in self._running:
            model = in_state(Model(self._net), state_of(self._net, phase, self._level, self._stages))
            compute = Compute(self.device, caffe_gradients=self._caffe_gradients)
            self._running[phase] = ModuleNet.open(model, compute, self._values.get(phase))
        return self._running[phase]

    def train(self, steps: int, **settings: Any) -> float:
        """Train for some iterations of a solver, and return the loss of the last one.

        The settings are those of Caffe's solvers, by name: `base_lr=0.01, type="Adam"`. Without any, training continues
        with the same solver; the default of the first is a base_lr of 0.01 and a momentum of 0.9.
        """
        if self._solver is None or settings:
            self._solver = self._new_solver({**_DEFAULT_SETTINGS, **settings})
        self._solver.step(steps)
        return self._solver.loss

    def _new_solver(self, settings: Mapping[str, Any]) -> Solver:
        param, net = pb.SolverParameter(), self._net_of(Phase.TRAIN)
        assign(param, settings, "a solver")
        for note in memory_notes(net.built, caffe_gradients=self._caffe_gradients):
            warnings.warn(note, GradientWarning, stacklevel=3)
        share_blobs(net.built, self.module.built)
        solver = Solver(param, net)
        share_blobs(self.module.built, net.built)  # the solver moved the blobs
        return solver

    def test(self, batches: int) -> dict[str, float]:
        """The mean outputs of the net over some batches."""
        net = self._net_of(Phase.TEST)
        share_blobs(net.built, self.module.built)
        means = average_batches(net, batches)
        assert means is not None
        return dict(as_numbers(means[1]))

    def score(self, batches: int) -> SetScores:
        """The scores, over some batches as one set, of detections that layers judge and of pixels that they compare."""
        net = self._net_of(Phase.TEST)
        share_blobs(net.built, self.module.built)
        with gather_scores(net.built) as scores:
            average_batches(net, batches)
        if not (scores.detections or scores.segmentations):
            raise NetError("no layer of the test net judges detections or compares the classes of pixels")
        return scores

    def save(self, path: str | Path) -> None:
        """Write the net with its weights, as in Caffe's snapshots."""
        save_net(self.module.built, path)

    def close(self) -> None:
        """End the threads that bring its data, and close the files that they read.

        A closed net doesn't run, train or test any more; its weights stay, to be copied or saved.
        """
        self._close(*Phase)
        self._values.clear()
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise NetError(f"net '{self._net.name}' is closed, and only has its weights; make another one to run it")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _paths(weights: Paths) -> list[str | Path]:
    """Caffe's rule: commas separate files."""
    if isinstance(weights, str):
        return [name.strip() for name in weights.split(",") if name.strip()]
    return [weights] if isinstance(weights, Path) else [path for item in weights for path in _paths(item)]

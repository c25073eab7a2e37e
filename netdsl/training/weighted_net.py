"""A net with its weights on a device, which runs: the part of the public Net that knows no data and no solver."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.locations import unlocated
from netdsl.closing import ClosedAtEnd
from netdsl.errors import NetError, WeightsError, WeightsWarning
from netdsl.model.collection import WeightCollection
from netdsl.model.model import Model, NetSource, open_net
from netdsl.model.opening import check_names, copy_model, load_weights, open_caffe_files, open_model, with_dialect_of
from netdsl.model.weights.files import array_of, copy_weights, learned_layers, save_net
from netdsl.model.weights.match import LoadReport, Weights
from netdsl.net.build import Built, running
from netdsl.net.graph import Phase, phase_of
from netdsl.net.module import NetModule

Paths = str | Path | Sequence[str | Path]


class WeightedNet(ClosedAtEnd):
    """A net for one phase, with weights."""

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
        known_weights = dict(own.weights)  # weights can reveal the shapes of data
        for file in files:
            known_weights |= file.weights if isinstance(file, Model) else {}
        model = replace(own, weights=known_weights | dict(weights if isinstance(weights, Mapping) else {}))
        self._make(model, phase_of(phase), model.layers(phase_of(phase)), caffe_gradients=caffe_gradients)
        reports = [copy_model(own, self.module.built)] if own.weights else []
        if weights is not None:
            reports.append(self.set_weights(weights) if isinstance(weights, Mapping) else self._load(files))
        report = LoadReport.of_all(reports) if reports else None
        if report is not None and report.missing:
            warnings.warn(f"net '{self.message.name}': {report}", WeightsWarning, stacklevel=2)

    def _make(self, model: Model, phase: Phase, built: Built, *, caffe_gradients: bool) -> None:
        """Initialize the net from a model and its layers, with new weights."""
        self._net = model.net
        self.phase, self._level, self._stages = phase, model.level, model.stages
        self._caffe_gradients = caffe_gradients
        self._closed = False
        self.module = NetModule(built.with_own_blobs()).allocate()

    @property
    def message(self) -> pb.NetParameter:
        """A copy of the net as Caffe's message, in the current format and without weights."""
        return unlocated(self._net)

    def __repr__(self) -> str:
        module = self.module
        inputs, outputs = (module.built.blob_text(edges.values()) for edges in (module.inputs, module.outputs))
        return f"Net({self._size()}: {inputs or 'data of its own'} -> {outputs or 'nothing'})"

    def _repr_html_(self) -> str:
        return self.module.built.html(f"Net {self._size()}")

    def _size(self) -> str:
        """Return the net's name, phase, number of layers and of weights, and device."""
        return f"'{self.message.name}', {self.module.built.size_text()} on {self.device}"

    def forward(self, **inputs: Any) -> dict[str, Tensor]:
        """Return the outputs, by name, for inputs by name. Inputs are tensors or arrays of any type and batch size."""
        self._check_open()
        tensors = {name: self._input(name, value) for name, value in inputs.items()}
        edges = self.module.edges_of(**tensors)
        with torch.no_grad(), running(self.module.built, edges):
            outputs: dict[str, Tensor] = self.module(**tensors)
        return outputs

    def _input(self, name: str, value: Any) -> Tensor:
        """Return an input as a tensor. It must have the same number of axes as the net's input, but can have other
        lengths."""
        like = self._like()
        try:
            tensor = value if isinstance(value, Tensor) else torch.from_numpy(np.require(value, np.float32, ["C", "W"]))
        except (ValueError, TypeError) as problem:
            raise NetError(
                f"input '{name}' isn't an array of numbers: {problem}; convert it, as with np.asarray(values, "
                "np.float32)"
            ) from None
        shape = self._shape(name)
        if shape and tensor.dim() != len(shape):
            raise NetError(
                f"input '{name}' has shape {list(tensor.shape)}; give an array with {len(shape)} axes, as {list(shape)}"
            )
        return tensor.to(like.device, like.dtype)

    def _shape(self, name: str) -> tuple[int, ...]:
        """Return the shape that the net states for an input. The shape is empty if it states none, or if there is no
        such input."""
        return self.module.built.shapes[self.module.inputs[name]] if name in self.module.inputs else ()

    def _like(self) -> Tensor:
        """Return a tensor that has the device and the type of the weights."""
        tensors = (*self.module.parameters(), *self.module.buffers())
        return next((tensor for tensor in tensors if tensor.is_floating_point()), torch.empty(0))

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self._like().device

    def get_weights(self) -> WeightCollection:
        """Return a copy of all weights, including statistics. A shared parameter appears in each of its layers."""
        layers = learned_layers(self.module.built)
        return WeightCollection.of(
            {name: [array_of(tensor) for tensor in layer.blob_tensors()] for name, layer in layers.items()}
        )

    def set_weights(self, weights: Weights, *, partial: bool = False) -> LoadReport:
        """Copy weights into the layers with the same names. With `partial`, layers whose shapes differ are skipped.

        If layers share a parameter, the values for the last of these layers win. Raises a `WeightsError` if no layer
        has one of these names.
        """
        if weights:
            check_names(weights, learned_layers(self.module.built), self._net.name)
        return copy_weights(self.module.built, weights, partial=partial)

    def load(self, weights: Paths, *, partial: bool = False) -> LoadReport:
        """Load weights from files of any format, one after the other. A text can name several files: "a,b".

        Layers that a file doesn't contain keep their values. Raises a `WeightsError` if a file contains none of the
        net's layers.
        """
        return self._load(_paths(weights), partial=partial)

    def _load(self, files: Sequence[str | Path | Model], *, partial: bool = False) -> LoadReport:
        if not files:
            raise WeightsError("no weights file is named; name at least one, such as a .caffemodel")
        return LoadReport.of_all([load_weights(file, self.module.built, partial=partial) for file in files])

    def save(self, path: str | Path) -> None:
        """Write the net with its weights, as in Caffe's snapshots."""
        save_net(self.module.built, path)

    def _check_open(self) -> None:
        if self._closed:
            raise NetError(
                f"net '{self._net.name}' is closed, so only its weights can be used; create another net to run it"
            )


def _paths(weights: Paths) -> list[str | Path]:
    """Return a list of paths. As in Caffe, commas separate files."""
    if isinstance(weights, str):
        return [name.strip() for name in weights.split(",") if name.strip()]
    return [weights] if isinstance(weights, Path) else [path for item in weights for path in _paths(item)]

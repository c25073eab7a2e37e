"""pycaffe's `Net`: the same calls, names and arrays, over our layers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read_net
from caffe_proto.upgrade import upgrade_net
from netdsl.build import AUTOMATIC, Built, build, reshape
from netdsl.errors import NetError
from netdsl.graph import Phase, connect, filtered
from netdsl.layer import Layer
from netdsl.layers import LAYERS
from netdsl.layers.split import insert_splits
from netdsl.module import cut_of
from netdsl.pycaffe import modes
from netdsl.pycaffe.batches import BatchCalls
from netdsl.pycaffe.blob import Array, Blob
from netdsl.pycaffe.memory import Activation, Learned
from netdsl.pycaffe.weights import copy_weights, save_weights

Callback = Callable[[int], None]


class NetLayer:
    """What pycaffe shows of a layer."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.type = layer.layer.type
        self.blobs = [Blob(Learned(layer, name)) for name in layer.blob_names()]


class Net(BatchCalls):
    """A net that runs layer by layer on blobs that stay.

    `Net(file, phase, level=0, stages=None, weights=None)`, or as old scripts have it `Net(file, weights, phase)`.
    """

    def __init__(
        self,
        network_file: str | Path,
        phase_or_weights: int | str = Phase.TEST,
        phase: int | None = None,
        *,
        level: int = 0,
        stages: Sequence[str] | None = None,
        weights: str | None = None,
    ) -> None:
        if isinstance(phase_or_weights, str):
            weights, phase_or_weights = phase_or_weights, Phase.TEST if phase is None else phase
        file = read_net(network_file, lenient=True)
        self._init(upgrade_net(file.message).message, Phase(phase_or_weights), level, stages or ())
        if weights:
            self.copy_from(weights)

    def _init(self, net: pb.NetParameter, phase: Phase, level: int, stages: Sequence[str]) -> None:
        self.param = insert_splits(connect(filtered(net, phase, level=level, stages=stages)).net)
        self._built = build(connect(self.param), LAYERS)
        self._device = modes.device()
        self._prepare(self._built)
        self._callbacks: dict[str, list[Callback]] = {}

    def _prepare(self, built: Built) -> None:
        done: dict[int, Tensor] = {}
        for layer in built.layers:
            layer.train(built.graph.phase is Phase.TRAIN)
            layer.allocate(self._device, done)
        self.layers = [NetLayer(layer) for layer in built.layers]
        self._layer_names = [node.layer.name for node in built.graph.nodes]
        self._memory = OrderedDict(
            (name, Activation(built.shapes[edge], self._device)) for edge, name in enumerate(built.graph.blobs)
        )
        self.blobs = OrderedDict((name, Blob(memory)) for name, memory in self._memory.items())
        self.params = OrderedDict(
            (name, layer.blobs) for name, layer in zip(self._layer_names, self.layers, strict=True) if layer.blobs
        )
        self._prepare_ends(built)

    def _prepare_ends(self, built: Built) -> None:
        """Inputs, outputs, and the gradients that the backward pass begins with."""
        pairs = list(zip(built.graph.nodes, built.layers, strict=True))
        self.inputs = [name for node, layer in pairs if layer.external for name in node.layer.top]
        self.outputs = sorted({built.graph.blobs[edge] for edge in built.graph.outputs} - {AUTOMATIC})
        self.blob_loss_weights = OrderedDict.fromkeys(self.blobs, 0.0)
        for node, layer in pairs:
            for name, weight in zip(node.layer.top, layer.loss_weights(), strict=True):
                self.blob_loss_weights[name] = weight
                if weight:
                    self._memory[name].gradient().fill_(weight)
        if built.graph.net.force_backward:
            for name in self.inputs:
                self._memory[name].values().requires_grad_(True)

    @property
    def name(self) -> str:
        """The net's name."""
        return self.param.name

    @property
    def layer_dict(self) -> OrderedDict[str, NetLayer]:
        """Layers by name."""
        return OrderedDict(zip(self._layer_names, self.layers, strict=True))

    @property
    def top_names(self) -> OrderedDict[str, list[str]]:
        """The tops of every layer."""
        return OrderedDict((node.layer.name, list(node.layer.top)) for node in self._built.graph.nodes)

    @property
    def bottom_names(self) -> OrderedDict[str, list[str]]:
        """The bottoms of every layer."""
        return OrderedDict((node.layer.name, list(node.layer.bottom)) for node in self._built.graph.nodes)

    def _index(self, layer: str | None, default: int) -> int:
        if layer is None:
            return default
        if layer not in self._layer_names:
            raise NetError(f"there is no layer '{layer}' in net '{self.name}'")
        return self._layer_names.index(layer)

    def forward(
        self, blobs: Sequence[str] | None = None, start: str | None = None, end: str | None = None, **inputs: Array
    ) -> dict[str, Array]:
        """Run the net, or the layers from `start` to `end`, on the inputs that are given or that are there."""
        first, last = self._index(start, 0), self._index(end, len(self.layers) - 1)
        wanted = {*(self.top_names[end] if end is not None else self.outputs), *(blobs or ())}
        if inputs:
            self._fill(inputs, self.inputs, "data")
        self._forward(first, last)
        return {name: self.blobs[name].data for name in wanted}

    def backward(
        self, diffs: Sequence[str] | None = None, start: str | None = None, end: str | None = None, **tops: Array
    ) -> dict[str, Array]:
        """Run the layers backward, from the gradients that are given or from the loss."""
        first, last = self._index(start, len(self.layers) - 1), self._index(end, 0)
        wanted = {*(self.bottom_names[end] if end is not None else self.inputs), *(diffs or ())}
        if tops:
            self._fill(tops, self.outputs, "diff")
        self._backward(first, last)
        return {name: self.blobs[name].diff for name in wanted}

    def _fill(self, arrays: dict[str, Array], expected: list[str], what: str) -> None:
        if set(arrays) != set(expected):
            raise NetError(f"given are {', '.join(arrays)}, the net's are {', '.join(expected)}")
        for name, array in arrays.items():
            target: Array = getattr(self.blobs[name], what)
            if target.ndim and array.shape[0] != target.shape[0]:
                raise NetError(f"'{name}' has a batch of {target.shape[0]}, given are {array.shape[0]}")
            target[...] = array

    def _forward(self, start: int, end: int) -> float:
        self._flush()
        for index in range(start, end + 1):
            self._call("before_forward", index)
            self._run(index)
            self._call("after_forward", index)
        return self._loss()

    def _run(self, index: int) -> None:
        node, layer = self._built.graph.nodes[index], self._built.layers[index]
        if layer.external:
            return
        bottoms = [self._memory[name].values() for name in node.layer.bottom]
        for position in cut_of(self._built, node, layer):
            bottoms[position] = bottoms[position].detach()
        tops = layer(*bottoms)
        for name, top in zip(node.layer.top, tops if isinstance(tops, tuple) else (tops,), strict=False):
            self._memory[name].put(top, in_place=name in node.layer.bottom)

    def _loss(self) -> float:
        weighed = ((weight, self._memory[name]) for name, weight in self.blob_loss_weights.items() if weight)
        return sum(weight * float(memory.values().sum()) for weight, memory in weighed)

    def _backward(self, start: int, end: int) -> None:
        self._flush()
        nodes = self._built.graph.nodes[end : start + 1]
        touched = dict.fromkeys(name for node in nodes for name in (*node.layer.bottom, *node.layer.top))
        tensors = [tensor for name in touched for tensor in self._memory[name].versions if tensor.requires_grad]
        for tensor in tensors:
            tensor.grad = None
        seeds = [(memory.values(), memory.gradient()) for memory in self._ends(end, start)]
        seeds = [(values, gradient.clone()) for values, gradient in seeds if values.requires_grad]
        wanted = [*tensors, *self._learned(end, start)]
        if seeds and wanted:
            values, gradients = zip(*seeds, strict=True)
            torch.autograd.backward(values, gradients, retain_graph=True, inputs=wanted)
        for name in touched:
            self._memory[name].take_gradient()
        for index in range(start, end - 1, -1):
            self._call("after_backward", index)

    def _ends(self, first: int, last: int) -> Iterable[Activation]:
        """The blobs made in a range of layers that no later layer of it reads."""
        nodes = self._built.graph.nodes[first : last + 1]
        for index, node in enumerate(nodes):
            later = {name for each in nodes[index + 1 :] for name in each.layer.bottom}
            for name in node.layer.top:
                if name not in later:
                    yield self._memory[name]

    def _learned(self, first: int, last: int) -> list[Tensor]:
        found: dict[int, Tensor] = {}
        for layer in self._built.layers[first : last + 1]:
            for name in layer.blob_names():
                tensor = layer.owner_of(name)
                if tensor.requires_grad:
                    Learned(layer, name).gradient()  # so that autograd adds to the array that was handed out
                    found[id(tensor)] = tensor
        return list(found.values())

    def _flush(self) -> None:
        for blob in self.blobs.values():
            blob.flush()
        for blobs in self.params.values():
            for blob in blobs:
                blob.flush()

    def _call(self, when: str, index: int) -> None:
        for callback in self._callbacks.get(when, ()):
            callback(index)

    def before_forward(self, callback: Callback) -> None:
        """Call back with the index of each layer before it runs."""
        self._callbacks.setdefault("before_forward", []).append(callback)

    def after_forward(self, callback: Callback) -> None:
        """Call back with the index of each layer after it ran."""
        self._callbacks.setdefault("after_forward", []).append(callback)

    def after_backward(self, callback: Callback) -> None:
        """Call back with the index of each layer after its backward pass."""
        self._callbacks.setdefault("after_backward", []).append(callback)

    def clear_param_diffs(self) -> None:
        """Set the gradients of all parameters to zero."""
        for layer in self.layers:
            for blob in layer.blobs:
                blob.diff[...] = 0

    def reshape(self) -> None:
        """Give every blob the shape that follows from the inputs'."""
        edges = {edge: self._memory[name].values() for edge, name in enumerate(self._built.graph.blobs)}
        reshape(self._built, {edge: tuple(values.shape) for edge, values in edges.items()})
        for edge, name in enumerate(self._built.graph.blobs):
            if name not in self.inputs:
                self._memory[name].resize(self._built.shapes[edge])

    def copy_from(self, weights: str | Path) -> None:
        """Take the weights of a caffemodel, layer by layer of the same name."""
        copy_weights(self._built, read_net(weights))

    def save(self, path: str | Path) -> None:
        """Write a caffemodel."""
        self._flush()
        save_weights(self._built, path)

    save_hdf5 = save
    load_hdf5 = copy_from

    def share_with(self, other: Net) -> None:
        """Use the very parameters of another net, layer by layer of the same name."""
        theirs = dict(zip(other._layer_names, other._built.layers, strict=True))
        for name, layer in zip(self._layer_names, self._built.layers, strict=True):
            if name in theirs:
                for blob in layer.blob_names():
                    setattr(layer, blob, getattr(theirs[name], blob))

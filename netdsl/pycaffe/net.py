"""pycaffe's `Net`: the same calls, names and arrays, with netdsl's layers."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TypeGuard

import numpy as np
import torch
from torch import Tensor

from caffe_proto.errors import FileError, name_advice
from caffe_proto.files import Form
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.data.batches.reading import Loading
from netdsl.errors import DeprecatedFormWarning, NetError, ShapeError, WeightsWarning
from netdsl.layer import BringsData, Layer, Shape
from netdsl.layer.data import DataOrigin, MakesData
from netdsl.layers import insert_splits
from netdsl.model.model import Model, in_state, open_net
from netdsl.model.opening import copy_model, load_weights, open_caffe_files, open_model, open_weights, with_dialect_of
from netdsl.model.weights.files import save_net
from netdsl.net.build import AUTOMATIC, Built, build, reshape
from netdsl.net.compute_precision import ComputePrecision, products_of
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, connect, phase_of, resolve_own_state, state_of
from netdsl.net.memory import allocate_layers
from netdsl.pycaffe import process
from netdsl.pycaffe.blob import ActivationMemory, Array, Blob
from netdsl.pycaffe.net_layers import LayerRunner, NetLayer, gradient_needs, number_blobs
from netdsl.pycaffe.python_layer import own_modules
from netdsl.solver.flat import share_blobs

Calls = Callable[..., dict[str, Array]]
Collected = dict[str, list[Array]]
_Callback = Callable[[int], object]


class Net:
    """A net that runs layer by layer on persistent blobs.

    The signature is `Net(file, phase, level=0, stages=None, weights=None)`, or `Net(file, weights, phase)` in old
    scripts.
    """

    def __init__(
        self,
        network_file: str | Path,
        phase: int | str | Path = Phase.TEST,
        level: int = 0,
        stages: Sequence[str] | None = None,
        weights: str | Path | None = None,
    ) -> None:
        if isinstance(phase, (str, Path)):
            new = f"Net('{network_file}', {level}, weights='{phase}')"
            warnings.warn(f"this form is deprecated; write {new}", DeprecatedFormWarning, stacklevel=2)
            weights, phase, level = phase, level, 0
        open_named = open_net if weights else open_model
        model = open_named(network_file, dialect=process.dialect())
        files = open_caffe_files([weights] if weights else [])
        model = with_dialect_of(model, files)
        self._set_up(in_state(model, state_of(model.net, phase_of(phase), level, stages or ())))
        copy_model(model, self._built)
        for file in files:
            self.copy_from(file)

    @classmethod
    def of(cls, model: Model) -> Net:
        """Return the net of a model in the model's state."""
        made = cls.__new__(cls)
        made._set_up(model)
        return made

    def _set_up(self, model: Model) -> None:
        self._callbacks: dict[str, list[_Callback]] = {}
        self.param = insert_splits(resolve_own_state(model.net).net)
        self._device = process.device()
        graph = connect(self.param)
        self._feeds = Feeds.open(graph, loading=_loading(), device=self._device)
        with PYTHON_LAYERS.allowing(dict.fromkeys(own_modules(graph), "")):
            self._built = build(graph)
        self._allocate_layers()
        self._make_blobs(self._built)
        self._name_everything(self._built)
        for runner in self._runners:
            if isinstance(runner.layer, MakesData):  # Caffe's rule: it runs once during the setup of the net
                runner.forward()

    def _allocate_layers(self) -> None:
        for layer in self._built.layers:
            layer.train(self._built.graph.phase is Phase.TRAIN)
        allocate_layers(self._built, self._device)

    def _make_blobs(self, built: Built) -> None:
        """Create the blobs and pass them to the layers."""
        self._numbers = number_blobs(built)
        self._blob_names, self._blob_loss_weights = self._numbers.names, [0.0] * len(self._numbers.names)
        for link, layer in zip(self._numbers.layers, built.layers, strict=True):
            for blob, weight in zip(link.tops, layer.loss_weights(), strict=True):
                self._blob_loss_weights[blob] = weight
        self._memory = [
            ActivationMemory(built.shapes[edge], self._device, weight)
            for edge, weight in zip(self._numbers.edges(), self._blob_loss_weights, strict=True)
        ]
        self._blobs = [Blob(memory) for memory in self._memory]
        needs = gradient_needs(self._numbers.layers, built.layers, force=built.graph.net.force_backward)
        self._runners = [
            LayerRunner(
                layer,
                [self._memory[blob] for blob in link.bottoms],
                [self._memory[blob] for blob in link.tops],
                layer_needs,
            )
            for layer, link, layer_needs in zip(built.layers, self._numbers.layers, needs, strict=True)
        ]
        for index in self._feeds.read:
            self._runners[index].feed = partial(self._feeds.tops, index)

    def _name_everything(self, built: Built) -> None:
        """Set the attributes with the names that scripts use."""
        self.layers = [NetLayer(layer) for layer in built.layers]
        self._layer_names = [node.layer.name for node in built.graph.nodes]
        self.layer_dict = OrderedDict(zip(self._layer_names, self.layers, strict=True))
        self.blobs = OrderedDict(zip(self._blob_names, self._blobs, strict=True))
        self.blob_loss_weights = OrderedDict(zip(self._blob_names, self._blob_loss_weights, strict=True))
        self.params = OrderedDict((name, layer.blobs) for name, layer in self.layer_dict.items() if layer.blobs)
        pairs = zip(self._numbers.layers, built.layers, strict=True)
        self._inputs = [blob for link, layer in pairs if _brings(layer, DataOrigin.INPUT) for blob in link.tops]
        ends = {built.graph.blobs[edge] for edge in built.graph.outputs} - {AUTOMATIC}
        self._outputs = [self._blob_names.index(name) for name in sorted(ends, key=str.encode)]
        self.inputs = [self._blob_names[blob] for blob in self._inputs]
        self.outputs = [self._blob_names[blob] for blob in self._outputs]

    def _top_ids(self, index: int) -> list[int]:
        return list(self._numbers.layers[index].tops)

    def _bottom_ids(self, index: int) -> list[int]:
        return list(self._numbers.layers[index].bottoms)

    @property
    def top_names(self) -> OrderedDict[str, list[str]]:
        """The tops of each layer."""
        pairs = zip(self._layer_names, self._numbers.layers, strict=True)
        return OrderedDict((name, [self._blob_names[blob] for blob in link.tops]) for name, link in pairs)

    @property
    def bottom_names(self) -> OrderedDict[str, list[str]]:
        """The bottoms of each layer."""
        pairs = zip(self._layer_names, self._numbers.layers, strict=True)
        return OrderedDict((name, [self._blob_names[blob] for blob in link.bottoms]) for name, link in pairs)

    def _index(self, layer: str | None, default: int) -> int:
        if layer is None:
            return default
        if layer not in self._layer_names:
            advice = name_advice(layer, self._layer_names)
            raise NetError(f"there is no layer '{layer}' in net '{self.param.name}'; {advice}")
        return self._layer_names.index(layer)

    def _arrays(self, names: set[str], what: str) -> dict[str, Array]:
        unknown = sorted(names - self.blobs.keys())
        if unknown:
            advice = name_advice(unknown[0], self.blobs)
            raise NetError(f"there is no blob '{unknown[0]}' in net '{self.param.name}'; {advice}")
        return {name: getattr(self.blobs[name], what) for name in names}

    def forward(
        self, blobs: Sequence[str] | None = None, start: str | None = None, end: str | None = None, **inputs: Array
    ) -> dict[str, Array]:
        """Run the net, or the layers from `start` to `end`, on the given inputs or on the present ones."""
        first, last = self._index(start, 0), self._index(end, len(self.layers) - 1)
        wanted = {*(self.top_names[end] if end is not None else self.outputs), *(blobs or ())}
        if inputs:
            self._fill(inputs, self.inputs, "data")
        self._forward(first, last)
        return self._arrays(wanted, "data")

    def backward(
        self, diffs: Sequence[str] | None = None, start: str | None = None, end: str | None = None, **tops: Array
    ) -> dict[str, Array]:
        """Run the layers backward, from the given gradients or from the loss."""
        first, last = self._index(start, len(self.layers) - 1), self._index(end, 0)
        wanted = {*(self.bottom_names[end] if end is not None else self.inputs), *(diffs or ())}
        if tops:
            self._fill(tops, self.outputs, "diff")
        self._backward(first, last)
        return self._arrays(wanted, "diff")

    def _fill(self, arrays: dict[str, Array], expected: list[str], what: str) -> None:
        if set(arrays) != set(expected):
            raise NetError(
                f"the arguments are {', '.join(arrays)}, but the net expects {', '.join(expected) or 'none'}; "
                "pass one array for each of them by name"
            )
        for name, given in arrays.items():
            array, target = np.asarray(given), self._arrays({name}, what)[name]
            if target.ndim and array.shape[:1] != target.shape[:1]:
                raise NetError(
                    f"'{name}' has shape {list(target.shape)}, but the array has shape {list(array.shape)}; reshape "
                    "it, or call blob.reshape and net.reshape"
                )
            target[...] = array

    def forward_all(self, blobs: Sequence[str] | None = None, **inputs: Array) -> dict[str, Array]:
        """Run any number of items in batches, and return the outputs of all items."""
        run: Calls = self.forward
        collected: Collected = {name: [] for name in {*self.outputs, *(blobs or ())}}
        count = _item_count(inputs)
        for batch in self._batch(inputs):
            _collect_items(collected, run(blobs=blobs, **batch))
        return _without_padding(collected, count)

    def forward_backward_all(
        self, blobs: Sequence[str] | None = None, diffs: Sequence[str] | None = None, **arrays: Array
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Run any number of items forward and backward in batches, and return outputs and gradients."""
        run: Calls = self.forward
        run_back: Calls = self.backward
        outs: Collected = {name: [] for name in {*self.outputs, *(blobs or ())}}
        gradients: Collected = {name: [] for name in {*self.inputs, *(diffs or ())}}
        count = _item_count(arrays)
        forward = self._batch({name: arrays[name] for name in self.inputs if name in arrays})
        backward = self._batch({name: arrays[name] for name in self.outputs if name in arrays})
        empty: dict[str, Array] = {}
        for inputs, tops in zip_longest(forward, backward, fillvalue=empty):
            _collect_items(outs, run(blobs=blobs, **inputs))
            _collect_items(gradients, run_back(diffs=diffs, **tops))
        return _without_padding(outs, count), _without_padding(gradients, count)

    def _batch(self, arrays: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
        """Yield batches of the net's size. The last one is padded with zeros."""
        if not arrays:
            return
        size = next(iter(self.blobs.values())).shape[0]
        for start in range(0, _item_count(arrays), size):
            batch = {name: np.asarray(array[start : start + size]) for name, array in arrays.items()}
            missing = size - _item_count(batch)
            yield {
                name: np.concatenate([array, np.zeros((missing, *array.shape[1:]), array.dtype)]) if missing else array
                for name, array in batch.items()
            }

    def _forward(self, start: int, end: int) -> float:
        """Return the loss of the layers in a range."""
        self._check_range(start, end)
        self._flush()
        loss = 0.0
        with products_of(ComputePrecision.EXACT):
            for index in range(start, end + 1):
                self._call_back("before_forward", index)
                loss += self._runners[index].forward()
                self._call_back("after_forward", index)
        return loss

    def _backward(self, start: int, end: int) -> None:
        self._check_range(end, start)
        self._flush()
        with products_of(ComputePrecision.EXACT):
            for index in range(start, end - 1, -1):
                self._call_back("before_backward", index)
                self._runners[index].backward()
                self._call_back("after_backward", index)

    def _check_range(self, first: int, last: int) -> None:
        if first < 0 or last >= len(self.layers):
            raise NetError(f"layers {first} to {last} don't exist; name one of 0 to {len(self.layers) - 1}")

    def before_forward(self, callback: _Callback) -> None:
        """Add a function to call before each layer runs."""
        self._callbacks.setdefault("before_forward", []).append(callback)

    def after_forward(self, callback: _Callback) -> None:
        """Add a function to call after each layer has run."""
        self._callbacks.setdefault("after_forward", []).append(callback)

    def before_backward(self, callback: _Callback) -> None:
        """Add a function to call before each layer's backward pass."""
        self._callbacks.setdefault("before_backward", []).append(callback)

    def after_backward(self, callback: _Callback) -> None:
        """Add a function to call after each layer's backward pass."""
        self._callbacks.setdefault("after_backward", []).append(callback)

    def _call_back(self, when: str, index: int) -> None:
        callbacks = self._callbacks.get(when, ())
        for callback in callbacks:
            callback(index)
        if callbacks:
            self._flush()

    def _all_blobs(self) -> Iterator[Blob]:
        yield from self._blobs
        for layer in self.layers:
            yield from layer.blobs

    def _flush(self) -> None:
        for blob in self._all_blobs():
            blob.flush()

    def clear_param_diffs(self) -> None:
        """Set the gradients of all parameters to zero."""
        for layer in self.layers:
            for blob in layer.blobs:
                blob.diff[...] = 0

    def reshape(self) -> None:
        """Set the shapes of all blobs from the shapes of the inputs."""
        self._flush()
        reshape(self._built, {edge: self._memory[blob].shape for edge, blob in self._numbers.blobs.items()})
        for edge, blob in self._numbers.blobs.items():
            self._memory[blob].resize(self._built.shapes[edge])

    def set_input_arrays(self, data: Array, labels: Array) -> None:
        """Set the arrays from which the net's MemoryData layer takes its batches."""
        self._set_input_arrays(data, labels[:, None, None, None].copy() if labels.ndim == 1 else labels)

    def _set_input_arrays(self, data: Array, labels: Array) -> None:
        layer = self._built.layers[0]
        if not _brings(layer, DataOrigin.ARRAYS):
            raise NetError(
                "set_input_arrays needs a net whose first layer has the type MemoryData; open a net that begins "
                "with a MemoryData layer"
            )
        self._feeds.read[0] = Arrays(layer.top_shapes([])[0], data, labels)
        self._runners[0].feed = partial(self._feeds.tops, 0)

    def copy_from(self, weights: str | Path | Model) -> None:
        """Copy the weights from a file of any format to layers of the same names."""
        self._flush()
        report = load_weights(weights, self._built)
        if report.missing:
            path = weights.files[0] if isinstance(weights, Model) else weights
            warnings.warn(f"{path}: {report}", WeightsWarning, stacklevel=2)

    def load_hdf5(self, weights: str | Path) -> None:
        """Copy the weights from an HDF5 file."""
        opened = open_weights(weights, [self._built])
        if opened.file is None or opened.file.form is not Form.HDF5:
            raise FileError(f"{weights}: not an HDF5 file; load other formats with net.copy_from")
        self._flush()
        load_weights(opened, self._built)

    def save(self, path: str | Path) -> None:
        """Write a caffemodel, whatever the suffix of the path is."""
        self._flush()
        save_net(self._built, path, form=Form.BINARY)

    def save_hdf5(self, path: str | Path) -> None:
        """Write an HDF5 file, whatever the suffix of the path is."""
        self._flush()
        save_net(self._built, path, form=Form.HDF5)

    def share_with(self, other: Net) -> None:
        """Share the parameters of another net's layers of the same names."""
        self._flush()
        share_blobs(self._built, other._built)


def _brings(layer: Layer, origin: DataOrigin) -> TypeGuard[BringsData]:
    return isinstance(layer, BringsData) and layer.data_origin is origin


def _item_count(arrays: Mapping[str, Array]) -> int:
    if not arrays:
        raise NetError("no inputs are given; pass the net's inputs by name")
    return len(next(iter(arrays.values())))


def _collect_items(collected: Collected, batch: Mapping[str, Array]) -> None:
    for name, array in batch.items():
        collected[name].extend(np.atleast_1d(array).copy())


def _without_padding(collected: Collected, count: int) -> dict[str, Array]:
    return {name: np.asarray(items[:count]) for name, items in collected.items()}


def _loading() -> Loading:
    """Return the settings from `set_random_seed`, `set_solver_rank` and `set_solver_count`."""
    return Loading(seed=torch.initial_seed() % 2**63, rank=process.solver_rank(), size=process.solver_count())


class Arrays:
    """Data and labels in batches. After the last batch, the first one follows again."""

    waited = 0.0

    def __init__(self, shape: Shape, data: Array, labels: Array) -> None:
        batch, item = shape[0], shape[1:]
        _check_array("data", data, item)
        _check_array("labels", labels, (1, 1, 1))
        if len(data) != len(labels):
            raise ShapeError(f"there are {len(data)} items but {len(labels)} labels; pass one label for each item")
        if not len(data) or len(data) % batch:
            raise ShapeError(
                f"{len(data)} items can't be divided into batches of {batch}; pass a multiple of the batch size"
            )
        self._data, self._labels, self._size = data, labels.reshape(-1), batch
        self.position = 0

    def __next__(self) -> tuple[Tensor, ...]:
        at = self.position * self._size % len(self._data)
        self.position += 1
        return tuple(torch.tensor(array[at : at + self._size]) for array in (self._data, self._labels))

    def epoch_batches(self) -> Fraction:
        """Return the number of batches in an epoch."""
        return Fraction(len(self._data), self._size)

    def seek(self, position: int) -> None:
        """Continue with this batch."""
        self.position = position

    def close(self) -> None:
        """Do nothing, because no file is open."""


def _check_array(what: str, array: Array, item: Shape) -> None:
    if array.dtype != np.float32 or not array.flags.c_contiguous:
        raise NetError(
            f"{what} must be float32 and C-contiguous; convert the array with np.ascontiguousarray(x, np.float32)"
        )
    if array.shape[1:] != item:
        raise ShapeError(
            f"{what} must have shape N x {' x '.join(map(str, item))}, not {list(array.shape)}; reshape it"
        )

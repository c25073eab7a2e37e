"""Comparison of two models of any format: the differences of their blobs for the same inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from caffe_proto.errors import CaffeError, FileError, in_file
from converters.onnx.library import inference_session, onnx
from converters.onnx.reading import load_onnx
from converters.onnx.verification import difference
from netdsl.checking.sample_inputs import sample_inputs
from netdsl.deploy.deploy_net import deploy_model
from netdsl.errors import ConversionError, NetError
from netdsl.layer import BringsData, Shape
from netdsl.model import Model, built_of, holds_weights, open_model
from netdsl.net.build import Built, reshape, running
from netdsl.weights.match import AnyArray

Arrays = dict[str, AnyArray]

_NO_SHAPES: Mapping[str, Shape] = {}


class Runnable(ABC):
    """A model that can be run, with all its intermediate blobs as results."""

    inputs: dict[str, tuple[int | None, ...]]  # None: any length
    outputs: tuple[str, ...]

    @abstractmethod
    def run(self, inputs: Mapping[str, AnyArray]) -> Arrays:
        """Compute every blob; of several values under one name, the last one counts."""


@dataclass(frozen=True)
class BlobDifference:
    """How far a blob of the second model is from the first's, relative to the spread of the first's values."""

    blob: str
    shape: Shape
    is_output: bool
    difference: float  # infinite if the shapes differ


@dataclass(frozen=True)
class Comparison:
    """The differences of the blobs that both models have, in the order in which they are computed."""

    blobs: tuple[BlobDifference, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]  # the blobs that only the first model has, and only the second

    @property
    def worst_output(self) -> float:
        """The largest difference of an output."""
        return max((blob.difference for blob in self.blobs if blob.is_output), default=float("inf"))

    def first_beyond(self, tolerance: float) -> BlobDifference | None:
        """The first blob whose difference is larger than a tolerance."""
        return next((blob for blob in self.blobs if blob.difference > tolerance), None)


class CaffeModel(Runnable):
    """A Caffe net with its weights, run layer by layer, without optimisations across layers."""

    def __init__(self, model: Model) -> None:
        self.built: Built = built_of(model)
        self.built_inputs = {self.built.graph.blobs[edge]: edge for edge in self.built.input_edges()}
        self.inputs = {name: self.built.shapes[edge] for name, edge in self.built_inputs.items()}
        self.outputs = tuple(self.built.graph.blobs[edge] for edge in self.built.graph.outputs)

    def run(self, inputs: Mapping[str, AnyArray]) -> Arrays:
        """Compute every blob; of several edges of one blob, the last one counts."""
        return {self.built.graph.blobs[edge]: value for edge, value in sorted(self.run_edges(inputs).items())}

    def run_edges(self, inputs: Mapping[str, AnyArray]) -> dict[int, AnyArray]:
        """Compute all edges. Layers get copies of their bottoms, for they may write to them."""
        edges = {self.built_inputs[name]: torch.from_numpy(np.array(value)) for name, value in inputs.items()}
        with torch.no_grad(), running(self.built):
            reshape(self.built, {edge: tuple(value.shape) for edge, value in edges.items()})
            for node, layer in zip(self.built.graph.nodes, self.built.layers, strict=True):
                if isinstance(layer, BringsData):
                    continue
                tops = layer(*(edges[edge].clone() for edge in node.bottoms))
                edges |= zip(node.tops, tops if isinstance(tops, tuple) else (tops,), strict=False)
        return {edge: value.float().numpy() for edge, value in edges.items()}


class OnnxModel(Runnable):
    """An ONNX model, run by onnxruntime."""

    def __init__(self, path: str | Path) -> None:
        try:
            model = load_onnx(path)
            self._outputs = tuple(value.name for value in model.graph.output)
            output_names = {value.name for value in model.graph.output}
            inner_names = [
                name for node in model.graph.node for name in node.output if name and name not in output_names
            ]
            model.graph.output.extend(onnx().ValueInfoProto(name=name) for name in inner_names)
            self._session = inference_session(model)
        except CaffeError:
            raise
        except Exception as problem:  # neither package publishes its exception classes
            raise FileError(f"{path}: is no ONNX model that runs: {str(problem).splitlines()[0]}") from None
        self.outputs = self._outputs
        self.inputs = {
            value.name: tuple(length if isinstance(length, int) else None for length in value.shape)
            for value in self._session.get_inputs()
        }

    def run(self, inputs: Mapping[str, AnyArray]) -> Arrays:
        """Compute every value, in the order of the nodes."""
        names = [value.name for value in self._session.get_outputs()]
        order = [*names[len(self._outputs) :], *self._outputs]
        return {**inputs, **dict(zip(order, self._session.run(order, dict(inputs)), strict=True))}


def open_runnable(files: str, *, shapes: Mapping[str, Shape] = _NO_SHAPES, dialect: str | None = None) -> Runnable:
    """Open a model by its files, separated by commas: an ONNX file, or a net and the files of its weights.

    A training net is deployed. A caffemodel alone is a net with its weights.
    """
    paths = [Path(name.strip()) for name in files.split(",") if name.strip()]
    if not paths:
        raise FileError("no file is named")
    if paths[0].suffix == ".onnx":
        return OnnxModel(paths[0])
    if paths[0].suffix == ".pt2":
        raise FileError(f"{paths[0]}: a .pt2 file can hold pickled code, which is never loaded")
    if holds_weights(paths[0]) and paths[0].suffix != ".caffemodel":
        raise FileError(f"{paths[0]}: are weights without a net; name both, as in deploy.prototxt,{paths[0]}")
    model = open_model(paths[0], paths[1:], dialect=dialect)
    try:
        return CaffeModel(deploy_model(model, shapes=shapes))
    except NetError as problem:
        raise type(problem)(in_file(paths[0], problem)) from None


def compare(first: Runnable, second: Runnable, *, seed: int = 0) -> Comparison:
    """Run both models on random inputs and compare the blobs of the same names, and the outputs in their order."""
    inputs = _inputs(first, seed)
    first_blobs = first.run(inputs)
    second_blobs = second.run(_for_second(first, second, inputs))
    names = {
        **{name: name for name in first_blobs if name in second_blobs and name not in inputs},
        **_outputs(first, second),
    }
    blobs = [
        BlobDifference(
            name,
            first_blobs[name].shape,
            name in first.outputs,
            difference(second_blobs[names[name]], first_blobs[name]),
        )
        for name in first_blobs
        if name in names
    ]
    only_first = tuple(name for name in first_blobs if name not in names and name not in inputs)
    compared = {*names.values(), *second.inputs}
    return Comparison(tuple(blobs), (only_first, tuple(name for name in second_blobs if name not in compared)))


def uninformative_outputs(model: Runnable, *, seed: int = 0) -> tuple[str, ...]:
    """The outputs that prove nothing when models are compared: for random inputs they have one value, or no number."""
    blobs = model.run(_inputs(model, seed))
    return tuple(name for name in model.outputs if not _is_informative(blobs[name]))


def _is_informative(values: AnyArray) -> bool:
    return values.size < 2 or bool(np.isfinite(values).all() and np.ptp(values) > 0)


def _inputs(model: Runnable, seed: int) -> Arrays:
    """Inputs that are valid for a Caffe net, or random numbers for another model. An open length is 1."""
    shapes = {name: tuple(length or 1 for length in shape) for name, shape in model.inputs.items()}
    if isinstance(model, CaffeModel):
        return dict(sample_inputs(model.built, shapes, seed))
    random = np.random.default_rng(seed)
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def _for_second(first: Runnable, second: Runnable, inputs: Arrays) -> Arrays:
    """The inputs under the second model's names: the same names, else in the same order."""
    if len(first.inputs) != len(second.inputs):
        raise ConversionError(f"one model has the inputs {_words(first.inputs)}, the other {_words(second.inputs)}")
    names = second.inputs if first.inputs.keys() == second.inputs.keys() else first.inputs
    renamed_inputs = {name: inputs[first_name] for name, first_name in zip(second.inputs, names, strict=True)}
    for name, array in renamed_inputs.items():
        expected = second.inputs[name]
        fits = len(expected) == array.ndim and all(
            length in (None, have) for length, have in zip(expected[1:], array.shape[1:], strict=True)
        )
        if expected and not fits:
            shapes = f"{list(array.shape)} in one model, {list(expected)} in the other"
            raise ConversionError(f"input '{name}' has shape {shapes}")
    return renamed_inputs


def _outputs(first: Runnable, second: Runnable) -> dict[str, str]:
    """The second model's output for each of the first's: of the same name, else in the same order."""
    if set(first.outputs) <= set(second.outputs):
        return {name: name for name in first.outputs}
    if len(first.outputs) != len(second.outputs):
        raise ConversionError(f"one model has the outputs {_words(first.outputs)}, the other {_words(second.outputs)}")
    return dict(zip(first.outputs, second.outputs, strict=True))


def _words(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(names) or "none"

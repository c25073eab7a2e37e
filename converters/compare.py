"""Two models of any format side by side on the same inputs: how far apart their blobs are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from caffe_proto.errors import CaffeError, FileError
from converters.model import Model, built_of, deployed, open_model
from converters.onnx.library import onnx, session
from converters.onnx.verification import difference
from converters.weights import holds_weights
from netdsl.checking.sample_inputs import sample_inputs
from netdsl.errors import ConversionError, NetError
from netdsl.layer import BringsData, Shape
from netdsl.net.build import Built, reshape, running
from netdsl.weights.match import AnyArray

Arrays = dict[str, AnyArray]


class Runnable(ABC):
    """A model that can be run for all that it computes on the way."""

    inputs: dict[str, tuple[int | None, ...]]  # None: any length
    outputs: tuple[str, ...]

    @abstractmethod
    def run(self, inputs: Mapping[str, AnyArray]) -> Arrays:
        """Every blob by its name, as it is in the end."""


@dataclass(frozen=True)
class Compared:
    """One blob of the first model, and how far the second's is from it, in parts of how far its values lie apart."""

    blob: str
    shape: Shape
    is_output: bool
    difference: float  # infinite if the shapes differ


@dataclass(frozen=True)
class Comparison:
    """The blobs that both models have, in the order in which they are computed."""

    blobs: tuple[Compared, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]  # the blobs that only the first has, or only the second

    @property
    def worst_output(self) -> float:
        """The largest difference of an output."""
        return max((each.difference for each in self.blobs if each.is_output), default=float("inf"))

    def first_beyond(self, tolerance: float) -> Compared | None:
        """The first blob that differs by more."""
        return next((each for each in self.blobs if each.difference > tolerance), None)


class CaffeModel(Runnable):
    """A net with its weights, layer by layer and so without what layers do together."""

    def __init__(self, model: Model) -> None:
        self.built: Built = built_of(model)
        self.built_inputs = {self.built.graph.blobs[edge]: edge for edge in self.built.input_edges()}
        self.inputs = {name: self.built.shapes[edge] for name, edge in self.built_inputs.items()}
        self.outputs = tuple(self.built.graph.blobs[edge] for edge in self.built.graph.outputs)

    def run(self, inputs: Mapping[str, AnyArray]) -> Arrays:
        """The last of several edges of one name counts."""
        return {self.built.graph.blobs[edge]: value for edge, value in sorted(self.run_edges(inputs).items())}

    def run_edges(self, inputs: Mapping[str, AnyArray]) -> dict[int, AnyArray]:
        """The values of all edges. Copies of bottoms are given, since layers may write to what they read."""
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
            model = onnx().load(str(path))
            self._outputs = tuple(each.name for each in model.graph.output)
            known = {each.name for each in model.graph.output}
            inner = [name for node in model.graph.node for name in node.output if name and name not in known]
            model.graph.output.extend(onnx().ValueInfoProto(name=name) for name in inner)
            self._session = session(model)
        except (OSError, ValueError) as problem:
            raise FileError(f"{path}: can't be opened: {getattr(problem, 'strerror', None) or problem}") from None
        except CaffeError:
            raise
        except Exception as problem:  # of classes that neither package publishes
            raise FileError(f"{path}: is no ONNX model that runs: {str(problem).splitlines()[0]}") from None
        self.outputs = self._outputs
        self.inputs = {
            each.name: tuple(length if isinstance(length, int) else None for length in each.shape)
            for each in self._session.get_inputs()
        }

    def run(self, inputs: Mapping[str, AnyArray]) -> Arrays:
        """In the order of the nodes."""
        names = [each.name for each in self._session.get_outputs()]
        order = [*names[len(self._outputs) :], *self._outputs]
        return {**inputs, **dict(zip(order, self._session.run(order, dict(inputs)), strict=True))}


def open_runnable(words: str, *, shapes: Mapping[str, Shape] | None = None) -> Runnable:
    """A model as one names it: an ONNX file, or a net and the files of its weights, with commas between them.

    A net that was trained is taken as it is deployed. A caffemodel alone is a net with its weights.
    """
    paths = [Path(each.strip()) for each in words.split(",") if each.strip()]
    if not paths:
        raise FileError("no file is named")
    if paths[0].suffix == ".onnx":
        return OnnxModel(paths[0])
    if paths[0].suffix == ".pt2":
        raise FileError(f"{paths[0]}: a .pt2 file can hold pickled code, which is never loaded")
    if holds_weights(paths[0]) and paths[0].suffix != ".caffemodel":
        raise FileError(f"{paths[0]}: are weights without a net; name both, as in deploy.prototxt,{paths[0]}")
    model = open_model(paths[0], paths[1:])
    try:
        return CaffeModel(deployed(model, shapes=shapes))
    except NetError as problem:
        raise type(problem)(f"{paths[0]}: {problem}") from None


def compare(first: Runnable, second: Runnable, *, seed: int = 0) -> Comparison:
    """Run both on made-up inputs, and compare the blobs of the same names, and the outputs one by one."""
    given = _inputs(first, seed)
    one = first.run(given)
    other = second.run(_for_second(first, second, given))
    names = {**{name: name for name in one if name in other and name not in given}, **_outputs(first, second)}
    blobs = [
        Compared(name, one[name].shape, name in first.outputs, difference(other[names[name]], one[name]))
        for name in one
        if name in names
    ]
    mine = tuple(name for name in one if name not in names and name not in given)
    taken = {*names.values(), *second.inputs}
    return Comparison(tuple(blobs), (mine, tuple(name for name in other if name not in taken)))


def _inputs(model: Runnable, seed: int) -> Arrays:
    """What a net of Caffe's can do with; for other models random numbers. An open length is 1."""
    shapes = {name: tuple(length or 1 for length in shape) for name, shape in model.inputs.items()}
    if isinstance(model, CaffeModel):
        return dict(sample_inputs(model.built, shapes, seed))
    random = np.random.default_rng(seed)
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def _for_second(first: Runnable, second: Runnable, given: Arrays) -> Arrays:
    """The inputs by the second's names: the same ones, else in their order."""
    if len(first.inputs) != len(second.inputs):
        raise ConversionError(f"one model has the inputs {_words(first.inputs)}, the other {_words(second.inputs)}")
    names = second.inputs if first.inputs.keys() == second.inputs.keys() else first.inputs
    found = {name: given[own] for name, own in zip(second.inputs, names, strict=True)}
    for name, array in found.items():
        wanted = second.inputs[name]
        fits = len(wanted) == array.ndim and all(
            length in (None, have) for length, have in zip(wanted[1:], array.shape[1:], strict=True)
        )
        if wanted and not fits:
            shapes = f"{list(array.shape)} in one model, {list(wanted)} in the other"
            raise ConversionError(f"input '{name}' has shape {shapes}")
    return found


def _outputs(first: Runnable, second: Runnable) -> dict[str, str]:
    """The outputs of the first with those of the second: of the same names, else one after the other."""
    if set(first.outputs) <= set(second.outputs):
        return {name: name for name in first.outputs}
    if len(first.outputs) != len(second.outputs):
        raise ConversionError(f"one model has the outputs {_words(first.outputs)}, the other {_words(second.outputs)}")
    return dict(zip(first.outputs, second.outputs, strict=True))


def _words(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(names) or "none"

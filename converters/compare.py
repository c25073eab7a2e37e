"""Compares two models of any format: runs both on the same inputs and returns the differences of their blobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from caffe_proto.errors import FileError, in_file
from converters.onnx.files import load_onnx
from converters.onnx.session import OnnxSession, open_onnx_session
from converters.running import (
    Arrays,
    Work,
    aligned_rows,
    blob_values,
    difference,
    input_shapes,
    made_up_inputs,
    selection_axes,
    unreported,
)
from netdsl.errors import ConversionError, NetError
from netdsl.layer import Shape
from netdsl.model.data_shapes import DataShape, Known
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.formats import holds_weights
from netdsl.model.opening import open_model
from netdsl.model.weights.match import AnyArray
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule

Lengths = tuple[int | None, ...]  # None means that the length is open

_NO_SHAPES: Mapping[str, Shape] = {}


class Session(Protocol):
    """A model that another program runs. The lengths of the inputs are names if they are open. A call returns the
    outputs, and maybe values between inputs and outputs before them."""

    @property
    def inputs(self) -> Mapping[str, Sequence[int | str | None]]: ...  # noqa: D102

    @property
    def outputs(self) -> tuple[str, ...]: ...  # noqa: D102

    def __call__(self, arrays: Arrays, /) -> Mapping[str, AnyArray]: ...  # noqa: D102


Runnable = NetModule | Session


@dataclass(frozen=True)
class BlobDifference:
    """The difference of a blob of the second model from the first's, relative to the spread of the first's values."""

    blob: str
    shape: Shape
    is_output: bool = field(metadata={"json": "output"})
    difference: float  # infinite if the shapes differ


@dataclass(frozen=True)
class Comparison:
    """The differences of the blobs that both models have, in the order of computation."""

    blobs: tuple[BlobDifference, ...]
    # The blobs that only the first model has, then those that only the second has.
    only: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def worst_output(self) -> float:
        """The largest difference of an output."""
        return max((blob.difference for blob in self.blobs if blob.is_output), default=float("inf"))

    def first_beyond(self, tolerance: float) -> BlobDifference | None:
        """Return the first blob whose difference exceeds a tolerance, or `None`."""
        return next((blob for blob in self.blobs if blob.difference > tolerance), None)


@dataclass(frozen=True)
class Comparable:
    """A model that can be run, with the known shapes of its data.

    An ONNX file's inputs are left out if they have open lengths besides the batch size.
    """

    model: Runnable
    data: Mapping[str, DataShape]


def open_comparable(files: str, *, shapes: Mapping[str, Shape] = _NO_SHAPES, dialect: str | None = None) -> Comparable:
    """Open a model by its files, separated by commas: an ONNX file, or a net and its weight files.

    A training net is deployed. A caffemodel alone contains both the net and its weights.
    """
    paths = files_of(files)
    if paths[0].suffix == ".onnx":
        session = open_onnx_values(paths[0])
        return Comparable(session, _stated_data(session))
    if paths[0].suffix == ".pt2":
        raise FileError(
            f"{paths[0]}: a .pt2 file can contain pickled code, so it is never loaded; name the net and the "
            "weights from which it was exported"
        )
    if holds_weights(paths[0]) and paths[0].suffix != ".caffemodel":
        raise FileError(
            f"{paths[0]}: the file contains weights but no net; name its net too, as in deploy.prototxt,{paths[0]}"
        )
    model = open_model(paths[0], paths[1:], dialect=dialect, shapes=shapes)
    try:
        deployed = deploy_model(model)
        return Comparable(deployed.module(Phase.TEST), deployed.data(Phase.TEST))
    except NetError as problem:
        raise type(problem)(in_file(paths[0], problem)) from None


def files_of(model: str) -> list[Path]:
    """Return the files of a model, which commas separate."""
    paths = [Path(name.strip()) for name in model.split(",") if name.strip()]
    if not paths:
        raise FileError(
            "no file is named; give an .onnx file, a .caffemodel, or a net and its weights as in "
            "deploy.prototxt,net.caffemodel"
        )
    return paths


def open_onnx_values(path: str | Path) -> OnnxSession:
    """Open a session of an ONNX file that returns all values of the model's nodes."""
    model = load_onnx(path)
    return _opened(path, model, [name for node in model.graph.node for name in node.output if name])


def open_onnx_outputs(path: str | Path) -> OnnxSession:
    """Open a session of an ONNX file that returns the model's outputs."""
    return _opened(path, load_onnx(path), ())


def _opened(path: str | Path, model: Any, extra_outputs: Collection[str]) -> OnnxSession:
    try:
        with open_onnx_session(model, extra_outputs) as session:
            return session
    except ConversionError as problem:
        raise FileError(f"{path}: {problem}") from None


def _stated_data(session: OnnxSession) -> dict[str, DataShape]:
    """Return the shapes of the inputs for which an ONNX file states all lengths except the batch size."""
    shapes = {name: lengths[1:] for name, lengths in _input_lengths(session).items()}
    items = {name: tuple(length for length in shape if length is not None) for name, shape in shapes.items()}
    return {name: DataShape(item, Known.STATED) for name, item in items.items() if len(item) == len(shapes[name])}


def compare(
    first: Runnable,
    second: Runnable,
    *,
    seed: int = 0,
    adds_zeros: bool = False,
    work: Work = unreported,
) -> Comparison:
    """Run both models on random inputs. Compare blobs with the same name, and outputs in their order.

    With `adds_zeros`, the second model adds items of zeros to those that its layers select, which don't count.
    """
    inputs = _inputs_of(first, seed)
    first_blobs = _values(first, inputs, work, "running the first model")
    second_blobs = _values(second, _for_second(second, inputs), work, "running the second model")
    outputs, axes = _outputs(first), _selection_axes(first)
    names = {
        **{name: name for name in first_blobs if name in second_blobs and name not in inputs},
        **_paired_outputs(outputs, _outputs(second)),
    }
    blobs = [
        BlobDifference(
            name,
            first_blobs[name].shape,
            name in outputs,
            _item_difference(second_blobs[names[name]], first_blobs[name], axes.get(name), adds_zeros=adds_zeros),
        )
        for name in first_blobs
        if name in names
    ]
    only_first = tuple(name for name in first_blobs if name not in names and name not in inputs)
    compared = {*names.values(), *_input_lengths(second)}
    return Comparison(tuple(blobs), (only_first, tuple(name for name in second_blobs if name not in compared)))


def _selection_axes(model: Runnable) -> dict[str, int]:
    """Return the axis of selected items by the blob's name, as far as it is known."""
    if not isinstance(model, NetModule):
        return {}
    return {model.built.graph.blobs[edge]: axis for edge, axis in selection_axes(model.built).items()}


def _item_difference(actual: AnyArray, expected: AnyArray, axis: int | None, *, adds_zeros: bool) -> float:
    if adds_zeros and axis is not None and actual.ndim == expected.ndim and actual.size:
        items = np.moveaxis(actual, axis, 0)
        if len(items) > expected.shape[axis]:
            actual = np.compress(items.reshape(len(items), -1).any(1), actual, axis)
    return difference(*aligned_rows(actual, expected, axis))


def _input_lengths(model: Runnable) -> dict[str, Lengths]:
    if isinstance(model, NetModule):
        return dict(input_shapes(model.built))
    return {
        name: tuple(length if isinstance(length, int) else None for length in shape)
        for name, shape in model.inputs.items()
    }


def _outputs(model: Runnable) -> tuple[str, ...]:
    return tuple(model.outputs)


def _values(model: Runnable, inputs: Arrays, work: Work, doing: str) -> Arrays:
    """Return all blobs by name, in the order of computation."""
    if isinstance(model, NetModule):
        return blob_values(model.built, inputs, work, doing)
    with work(doing, 1):
        return {**inputs, **model(inputs)}


def _inputs_of(model: Runnable, seed: int) -> Arrays:
    """Return valid inputs for a Caffe net, or random numbers for another model. Open lengths become 1."""
    if isinstance(model, NetModule):
        return made_up_inputs(model.built, seed)
    shapes = {name: tuple(length or 1 for length in lengths) for name, lengths in _input_lengths(model).items()}
    random = np.random.default_rng(seed)
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def _for_second(second: Runnable, inputs: Arrays) -> Arrays:
    """Return the inputs under the second model's names. They match by name if the names are equal, else by order."""
    lengths = _input_lengths(second)
    if len(inputs) != len(lengths):
        raise ConversionError(
            f"one model has the inputs {_words(inputs)}, the other has {_words(lengths)}; name two models of "
            "the same net"
        )
    names = lengths if inputs.keys() == lengths.keys() else inputs
    renamed_inputs = {name: inputs[first_name] for name, first_name in zip(lengths, names, strict=True)}
    for name, array in renamed_inputs.items():
        expected = lengths[name]
        fits = len(expected) == array.ndim and all(
            length in (None, have) for length, have in zip(expected[1:], array.shape[1:], strict=True)
        )
        if expected and not fits:
            shapes = f"{list(array.shape)} in one model, {list(expected)} in the other"
            raise ConversionError(
                f"input '{name}' has shape {shapes}; set the shape with --assume {name}=SHAPE, or in the net's "
                "Input layer"
            )
    return renamed_inputs


def _paired_outputs(first: Sequence[str], second: Sequence[str]) -> dict[str, str]:
    """Return the second model's output for each of the first's. They match by name if the names are equal, else by
    order."""
    if set(first) <= set(second):
        return {name: name for name in first}
    if len(first) != len(second):
        raise ConversionError(
            f"one model has the outputs {_words(first)}, the other has {_words(second)}; name two models of the "
            "same net, or end the larger one at a layer with `zoo export --prune-to LAYER`"
        )
    return dict(zip(first, second, strict=True))


def _words(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"

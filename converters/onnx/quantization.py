"""Quantizes ONNX models to 8-bit integers, with ranges of values that are measured on data."""

from __future__ import annotations

import logging
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.storage import write_pieces
from converters.integer_form import IntegerForm
from converters.onnx.graph import edge_names
from converters.onnx.library import onnx, onnxruntime_quantization
from converters.onnx.session import WrittenModel, conversion_errors, open_onnx_session
from converters.running import Arrays, Work, difference, selection_axes, unreported
from netdsl.errors import ConversionError
from netdsl.layer.samples import BlobKind
from netdsl.model.weights.match import AnyArray
from netdsl.net.build import Built

# Operators that multiply by weights, and those that quantized values may pass on their way from one to the next.
_PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
_ACTIVATIONS = ("Relu", "Clip")
_BETWEEN = (*_ACTIVATIONS, "MaxPool", "AveragePool", "GlobalAveragePool", "Reshape", "Flatten", "Transpose", "Concat",
            "Add")  # fmt: skip

_USUAL = IntegerForm()


@dataclass(frozen=True)
class Quantization:
    """How to quantize a model: batches of its inputs, on which the ranges of its values are measured, and the form of
    the integers. Each call of `batches` returns the same ones."""

    batches: Callable[[], Iterable[Arrays]]
    form: IntegerForm = _USUAL


@dataclass(frozen=True)
class Quantized:
    """The effect of a quantization on the items that it was calibrated with."""

    items: int
    # The largest difference of each output, relative to its spread. In place of an output whose items a layer selects,
    # the names are those of the values that the layer reads.
    outputs: Mapping[str, float]

    @property
    def difference(self) -> float:
        """The largest difference of an output."""
        return max(self.outputs.values(), default=math.inf)


def quantize(
    model: WrittenModel, built: Built, quantization: Quantization, *, verify: bool = True, work: Work = unreported
) -> Quantized | None:
    """Quantize a written model in its place. With `verify`, compare it with the model before. `built` is its net.

    Products with weights become integer products, and so do the operators between two of them. The operators before the
    first and after the last product stay as they are, such as a softmax, or the selection of detections.
    """
    nodes = _quantized_nodes(model.message.graph)
    if not nodes:
        raise ConversionError(f"{model.name}: no layer multiplies by weights, so there is nothing to quantize")
    with _moved_away(model) as plain:
        batches = _Batches(plain, quantization)
        with conversion_errors(model.name, "quantize"), work("calibrating", 1):
            _quantize_file(plain.path, model.path, nodes, batches, quantization.form)
        quantized = replace(model, message=_clean(model.path, model.message))
        if not verify:
            return None
        return Quantized(batches.items, _differences(plain, quantized, built, quantization, work))


def _quantized_nodes(graph: Any) -> list[Any]:
    """Return the nodes to quantize: products with weights, activations right after them, and nodes between two of
    them."""
    weights = {tensor.name for tensor in graph.initializer}
    products = {node.name for node in graph.node if node.op_type in _PRODUCTS and node.input[1] in weights}
    made = {output for node in graph.node if node.name in products for output in node.output}
    after, before = set[str](), set[str]()  # the values that depend on a product, and those that a product depends on
    for node in graph.node:
        if node.name in products or (node.op_type in _BETWEEN and after.intersection(node.input)):
            after.update(node.output)
    for node in reversed(graph.node):
        if node.name in products or (node.op_type in _BETWEEN and before.intersection(node.output)):
            before.update(node.input)
    return [
        node
        for node in graph.node
        if node.name in products
        or (node.op_type in _BETWEEN and after.intersection(node.output) and before.intersection(node.output))
        or (node.op_type in _ACTIVATIONS and node.input[0] in made)
    ]


class _Batches:
    """Hands batches to onnxruntime's quantizer, in the form that it expects. It counts their items."""

    def __init__(self, model: WrittenModel, quantization: Quantization) -> None:
        self.items, self._name = 0, model.name
        self._batches = fitting_batches(model, quantization.batches())

    def get_next(self) -> Arrays | None:
        """Return the next batch, or `None` after the last one."""
        batch = next(self._batches, None)
        if batch is not None:
            self.items += len(next(iter(batch.values())))
        elif not self.items:
            raise ConversionError(f"{self._name}: the data for the calibration have no items; name others")
        return batch


def fitting_batches(model: WrittenModel, batches: Iterable[Arrays]) -> Iterator[Arrays]:
    """Yield the inputs of a model from batches. If it reads a fixed number of items, the batches are divided, and items
    that are left over are skipped."""
    shapes = {
        value.name: [dim.dim_value or None for dim in value.type.tensor_type.shape.dim]
        for value in model.message.graph.input
    }
    fixed = next((shape[0] for shape in shapes.values() if shape), None)
    for batch in batches:
        inputs = {name: _input(model, name, shape, batch) for name, shape in shapes.items()}
        length = len(next(iter(inputs.values())))
        size = fixed or length
        for start in range(0, length - size + 1, size):
            yield {name: array[start : start + size] for name, array in inputs.items()}


def _input(model: WrittenModel, name: str, shape: list[int | None], batch: Arrays) -> AnyArray:
    """Return an input of a model from a batch. Raises a `ConversionError` if it doesn't fit."""
    if name not in batch:
        raise ConversionError(
            f"{model.name}: the data for the calibration have no values of input '{name}'; name data that have them"
        )
    array = batch[name].astype(np.float32)
    known = len(shape) == array.ndim and all(
        length in (None, own) for length, own in zip(shape[1:], array.shape[1:], strict=True)
    )
    if not known:
        raise ConversionError(
            f"{model.name}: input '{name}' has shape {shape}, but the data for the calibration have "
            f"{list(array.shape)}; export the net with the shape of the data, or name other data"
        )
    return array


@contextmanager
def _moved_away(model: WrittenModel) -> Iterator[WrittenModel]:
    """Provide a model's files in a folder next to its place, in which the quantizer's temporary files are written too.
    The folder is removed afterwards."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(dir=model.path.parent) as name:
        for file in (model.path, model.path.with_name(f"{model.path.name}.data")):
            if file.exists():
                file.rename(Path(name) / file.name)
        tempfile.tempdir = name
        try:
            yield replace(model, path=Path(name) / model.path.name)
        finally:
            tempfile.tempdir = before


def _quantize_file(plain: Path, path: Path, nodes: list[Any], batches: _Batches, form: IntegerForm) -> None:
    library = onnxruntime_quantization()
    activations = {"uint8": library.QuantType.QUInt8, "int8": library.QuantType.QInt8}
    with _unlogged():
        library.quantize_static(
            plain,
            path,
            batches,
            quant_format=library.QuantFormat.QDQ,
            op_types_to_quantize=sorted({node.op_type for node in nodes}),
            nodes_to_quantize=[node.name for node in nodes],
            per_channel=form.per_channel,
            reduce_range=form.reduced_weights,
            activation_type=activations[form.activations],
            weight_type=library.QuantType.QInt8,
            use_external_data_format=plain.with_name(f"{plain.name}.data").exists(),
            extra_options={"ActivationSymmetric": form.symmetric, "QuantizeBias": not form.float_biases},
        )


def _clean(path: Path, before: Any) -> Any:
    """Remove the shapes of values, which some programs compare with the batch size, and the quantizer's own remarks
    from a model. Returns its message."""
    message = onnx().load(path, load_external_data=False)
    message.producer_name = before.producer_name
    for values, usual in (
        (message.graph.value_info, before.graph.value_info),
        (message.metadata_props, before.metadata_props),
    ):
        del values[:]
        values.extend(usual)
    write_pieces(path, [message.SerializeToString()])
    return message


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep the quantizer, which logs advice about its other functions, from setting up Python's logging."""
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


def _differences(
    plain: WrittenModel, quantized: WrittenModel, built: Built, quantization: Quantization, work: Work
) -> dict[str, float]:
    """Return the differences of the quantized model's outputs from the model's, for the items of the calibration."""
    names = compared_values(built)
    worst: dict[str, float] = {}
    sessions = open_onnx_session(plain, names), open_onnx_session(quantized, names)
    with sessions[0] as before, sessions[1] as after, work("comparing", 1):
        for inputs in fitting_batches(plain, quantization.batches()):
            expected, actual = before(inputs), after(inputs)
            for name in expected.keys() & actual.keys() & set(names):
                worst[name] = max(worst.get(name, 0.0), difference(actual[name], expected[name]))
    return worst


def compared_values(built: Built) -> list[str]:
    """Return the values that show how exact a net's outputs are: the outputs, and in place of items that a layer
    selects, the values that it selects from."""
    names, axes, outputs = edge_names(built), selection_axes(built), set(built.graph.outputs)
    found = {names[edge]: None for edge in built.graph.outputs if edge not in axes}
    for node, layer in built.pairs():
        if outputs.intersection(node.tops) & axes.keys():
            places = [place for place in range(len(node.bottoms)) if layer.bottom_kind(place) is not BlobKind.PRIORS]
            found |= {names[node.bottoms[place]]: None for place in places}
    return list(found)

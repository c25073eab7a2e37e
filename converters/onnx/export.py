"""From a net with its weights to an ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from converters.onnx.builder import Builder, MustStayError, TooNewError
from converters.onnx.lengths import Lengths, LengthSource, changing, sources
from converters.onnx.library import OLDEST_OPSET, model_of, newest_opset, onnx
from converters.onnx.metadata import PRODUCER, Metadata
from converters.onnx.naming import edge_names
from converters.onnx.saving import save_onnx
from converters.onnx.verification import TOLERANCE, Report, verify
from netdsl.errors import ConversionError
from netdsl.layer import BringsData, HasOnnxForm
from netdsl.net.build import Built
from netdsl.net.graph import Phase
from netdsl.net.net import Net
from netdsl.weights.files import array_of

_PLAIN = Metadata()


def to_onnx(net: Net | Built, *, opset: int | None = None, metadata: Metadata = _PLAIN) -> Any:
    """A net's ModelProto.

    Values have the names of blobs, nodes those of layers. The first axis of the inputs stays open if the net allows
    it. The opset is the newest that the installed onnxruntime runs, unless said otherwise.
    """
    built = net.module.built if isinstance(net, Net) else net
    _check(built)
    wanted = None if opset is None else _checked(opset)
    opset, fixed = wanted or newest_opset(), set[str]()
    while True:
        open_lengths = _open_lengths(built, fixed)
        try:
            graph = _graph(built, open_lengths, opset)
            break
        except MustStayError as need:
            fixed.add(need.source.name)
        except TooNewError as problem:
            if wanted is not None:
                raise ConversionError(f"the net needs an operator that onnxruntime runs up to {problem} only") from None
            opset = problem.opset
    model = model_of(graph, opset)
    model.producer_name = PRODUCER
    onnx().helper.set_model_props(model, metadata.properties())
    return model


def export_onnx(
    net: Net | Built,
    path: str | Path,
    *,
    opset: int | None = None,
    metadata: Metadata = _PLAIN,
    external: bool | None = None,
    verified: bool = True,
    tolerance: float = TOLERANCE,
) -> Report | None:
    """Write a net as an ONNX model and, unless told otherwise, prove before that it computes the same.

    A model that doesn't isn't written. `external` puts the weights into a file of their own, as is done above 2 GB.
    """
    model = to_onnx(net, opset=opset, metadata=metadata)
    report = verify(model, net, tolerance=tolerance) if verified else None
    if report is not None and not report.passed:
        raise ConversionError(f"{path}: not written: {report}")
    save_onnx(model, path, external=external)
    return report


def _check(built: Built) -> None:
    if built.graph.phase is not Phase.TEST:
        raise ConversionError("a net of the TRAIN phase has no ONNX form; take the TEST phase")
    if any(blob.is_meta for layer in built.layers for blob in layer.blob_tensors()):
        raise ConversionError("the net has no weights yet: allocate it, and load them")


def _checked(opset: int) -> int:
    newest = onnx().defs.onnx_opset_version()
    if not OLDEST_OPSET <= opset <= newest:
        raise ConversionError(f"opset {opset} can't be written; take one from {OLDEST_OPSET} to {newest}")
    return opset


def _open_lengths(built: Built, fixed: set[str]) -> Lengths:
    found: Lengths = {}
    for source in sources(built):
        lengths = None if source.name in fixed else changing(built, source)
        if lengths is None and not source.free:
            raise ConversionError(f"a layer has to know {source.name}, which is known only when the net runs")
        found |= lengths or {}
    return found


def _graph(built: Built, lengths: Lengths, opset: int) -> Any:
    """The GraphProto; everything that has no ONNX form is told at once."""
    names, outside = edge_names(built), set(built.input_edges())
    builder = Builder(opset, _dtype(built), names)
    problems = []
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        if isinstance(layer, BringsData):
            continue
        bottoms = {names[edge]: (built.shapes[edge], _changes(lengths, edge)) for edge in node.bottoms}
        builder.begin(node.layer.name, bottoms)
        try:
            if not isinstance(layer, HasOnnxForm):
                raise ConversionError("has no ONNX form")
            found = layer.onnx(builder, *(names[edge] for edge in node.bottoms))
        except ConversionError as problem:
            problems.append(f"layer '{node.layer.name}' of type {node.layer.type} {problem}")
            continue
        builder.end(found if isinstance(found, tuple) else (found,), [names[edge] for edge in node.tops])
    if problems:
        raise ConversionError("; ".join(problems))
    ends = [edge for edge in built.graph.outputs if edge not in outside]
    if not ends:
        raise ConversionError("the net has no outputs")
    used = {value for node in builder.all_nodes for value in node.input}
    starts = [edge for edge in sorted(outside) if names[edge] in used]
    values = [[_value(built, lengths, edge, names[edge], builder) for edge in edges] for edges in (starts, ends)]
    title = built.graph.net.name or "net"
    return onnx().helper.make_graph(builder.all_nodes, title, *values, initializer=builder.initializers)


def _changes(lengths: Lengths, edge: int) -> dict[int, LengthSource]:
    return {axis: source for (each, axis), source in lengths.items() if each == edge}


def _value(built: Built, lengths: Lengths, edge: int, name: str, builder: Builder) -> Any:
    """An input or output. A length that isn't the source's own, as twice a batch, has a name of its own."""
    dims: list[int | str] = list(built.shapes[edge])
    for axis, source in _changes(lengths, edge).items():
        own = next((built.shapes[each][at] for each, at in source.axes.items()), None)
        dims[axis] = source.name if dims[axis] == own else f"{name}_{axis}"
    kind = onnx().helper.np_dtype_to_tensor_dtype(builder.dtype)
    return onnx().helper.make_tensor_value_info(name, kind, dims)


def _dtype(built: Built) -> np.dtype[Any]:
    """What the net computes in: its weights' type."""
    blobs = (blob for layer in built.layers for blob in layer.parameters() if blob.is_floating_point())
    return array_of(next(blobs, torch.empty(0)).new_empty(0)).dtype

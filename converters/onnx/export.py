"""Exports a net with its weights to an ONNX model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from converters.lengths import (
    ChangingLength,
    FreeAxes,
    Lengths,
    LengthSource,
    changing_lengths,
    length_conditions,
    length_sources,
    refusal,
)
from converters.onnx.decoders import OutputDecoding, add_decoder, verify_decoder
from converters.onnx.files import CARD, SplitModel, write_model
from converters.onnx.graph import FixedLengthError, GraphBuilder, UnsupportedOpsetError, edge_names
from converters.onnx.library import OLDEST_OPSET, model_of, newest_opset, onnx
from converters.onnx.quantization import Quantization, quantize
from converters.onnx.reader import ANY_READER, OnnxReader
from converters.onnx.session import WrittenModel
from converters.onnx.verification import Report
from converters.onnx.verification import verify as verify_onnx
from converters.running import TOLERANCE, NetToRun, Work, built_only, module_of, unreported
from converters.staging import staged_file
from netdsl.errors import ConversionError
from netdsl.layer import BringsData, HasOnnxForm, Layer
from netdsl.model.weights.files import array_of
from netdsl.model.weights.match import AnyArray
from netdsl.net.build import Built
from netdsl.net.graph import Node, Phase
from netdsl.prediction.decoders.decoder import Decoder

PRODUCER = "netdsl"
LENGTHS = "lengths"  # the name of the conditions of free lengths in the model's metadata


@dataclass(frozen=True)
class Metadata:
    """The texts for the model's `metadata_props`. Empty texts are left out."""

    preprocessing: str = ""  # a description of how an image becomes the input
    labels: Sequence[str] = ()  # the names of the classes, in order
    licence: str = ""
    source_sha256: str = ""  # the hash of the file that the weights came from
    card: str = ""  # a model card, as in a README.md

    def properties(self) -> dict[str, str]:
        """Return the properties by name."""
        properties = {
            "producer": PRODUCER,
            "preprocessing": self.preprocessing,
            "labels": "\n".join(self.labels),
            "licence": self.licence,
            "source_sha256": self.source_sha256,
            CARD: self.card,
        }
        return {name: value for name, value in properties.items() if value}


_NO_METADATA = Metadata()


def to_onnx(
    net: NetToRun, *, opset: int | None = None, metadata: Metadata = _NO_METADATA, free: FreeAxes | None = None
) -> Any:
    """Convert a net to a ModelProto.

    Values are named after blobs, and nodes after layers. The first axis of the inputs stays open if the net allows it.
    With `free`, exactly the named axes are open, as in `{"data": ("N", 3, "H", "W")}`. An error names the layers that
    need a fixed length. The default opset is the newest that the installed onnxruntime supports.
    """
    return _model_of(module_of(net).built, opset, metadata, free=free).joined()


def export_onnx(
    net: NetToRun,
    path: str | Path,
    *,
    opset: int | None = None,
    metadata: Metadata = _NO_METADATA,
    external: bool | None = None,
    verify: bool = True,
    tolerance: float = TOLERANCE,
    decoder: Decoder | None = None,
    reader: OnnxReader = ANY_READER,
    free: FreeAxes | None = None,
    quantization: Quantization | None = None,
    accept: Callable[[Path], object] | None = None,
    work: Work = unreported,
) -> Report | None:
    """Write a net as an ONNX model and return the report of its verification.

    With `decoder`, the model's outputs are the decoder's answer for one image instead of the net's outputs.
    With `verify`, the written model is run before it takes its place, and must compute the same values as the net.
    `external` puts the weights into a separate file, which is the default above 2 GB.

    `free` gives names to the axes of inputs whose lengths the program that runs the model chooses, and lengths to the
    others, as in `{"data": ("N", 3, "H", "W")}`. Axes with the same name have the same length. Inputs that it doesn't
    name keep their shapes. A `ConversionError` names the layers that need a fixed length. By default, only the first
    axes of the inputs are open, if the net allows it. With `verify`, the net is built again at a smaller and a larger
    size.

    `reader` is the program for which the model is written. A model with operators that only that program has isn't
    verified in onnxruntime. With `quantization`, the model is quantized after it is verified. `accept` is called with
    the written model before it takes its place, and can raise an error.
    """
    own_operators = reader.layers_in(built_only(net), sized=free is not None)
    if own_operators and quantization is not None:
        raise ConversionError(
            f"layer '{own_operators[0]}' becomes an operator that only the target has, so onnxruntime can't calibrate "
            "the quantization of the net; export it without --int8, or for another target"
        )
    verify = verify and not own_operators
    if decoder is not None and free is not None:
        raise ConversionError("a decoder reads images of one size; leave the decoder out, or the free axes")
    with staged_file(path) as staged:
        with work(f"writing {Path(path).name}", 1):
            decoding = None if decoder is None else OutputDecoding.of(decoder, module_of(net).built)
            fixed = decoding is not None
            message = write_model(
                _model_of(module_of(net).built, opset, metadata, fixed=fixed, reader=reader, free=free),
                staged,
                external=external,
            )
        written = WrittenModel(staged, message, str(path))
        report = verify_onnx(written, net, tolerance=tolerance, work=work) if verify else None
        if decoding is not None and (report is None or report.passed):
            built = module_of(net).built
            plain = _model_of(built, opset, metadata, fixed=True)
            joined = plain.joined()
            shapes = dict(zip(edge_names(built), built.shapes, strict=True))
            message = write_model(add_decoder(plain, decoding, shapes), staged, external=external)
            if report is not None:
                written = WrittenModel(staged, message, str(path))
                report = replace(report, decoded=verify_decoder(written, joined, decoding, built))
        if report is not None and not report.passed:
            raise ConversionError(
                f"{path}: the model wasn't written because {report}; export it with another --opset, or with a "
                "larger --tolerance if the difference is acceptable"
            )
        if quantization is not None:
            written = WrittenModel(staged, message, str(path))
            quantized = quantize(written, built_only(net), quantization, verify=verify, work=work)
            report = None if report is None else replace(report, quantized=quantized)
        if accept is not None:
            accept(staged)
    return report


def _model_of(
    built: Built,
    opset: int | None,
    metadata: Metadata,
    *,
    fixed: bool = False,
    reader: OnnxReader = ANY_READER,
    free: FreeAxes | None = None,
) -> SplitModel:
    """Return the model of a net. With `fixed`, its inputs have the net's own shapes."""
    _check_exportable(built)
    requested = None if opset is None else _check_opset(opset)
    opset, fixed_names = requested or newest_opset(), set[str]()
    while True:
        open_lengths = {} if fixed else _open_lengths(built, fixed_names, free)
        try:
            graph, values = _graph(built, open_lengths, opset, reader)
            break
        except FixedLengthError as problem:
            fixed_names.add(problem.source.name)
        except UnsupportedOpsetError as problem:
            if requested is not None:
                raise ConversionError(
                    f"the net needs an operator that onnxruntime supports only up to {problem}; choose an older "
                    "one with --opset"
                ) from None
            opset = problem.opset
    model = model_of(graph, opset)
    model.producer_name = PRODUCER
    conditions = length_conditions(built, free) if free else []
    stated = {LENGTHS: "\n".join(conditions)} if conditions else {}
    onnx().helper.set_model_props(model, metadata.properties() | stated)
    return SplitModel(model, values)


def _check_exportable(built: Built) -> None:
    if built.graph.phase is not Phase.TEST:
        raise ConversionError(
            "a net in the TRAIN phase can't be exported to ONNX; pass the net of its TEST phase, as in "
            "model.module(Phase.TEST)"
        )
    if any(blob.is_meta for layer in built.layers for blob in layer.blob_tensors()):
        raise ConversionError(
            "the net doesn't have weights yet; load them first, as in Net(net, weights='net.caffemodel')"
        )


def _check_opset(opset: int) -> int:
    newest = onnx().defs.onnx_opset_version()
    if not OLDEST_OPSET <= opset <= newest:
        raise ConversionError(f"opset {opset} can't be written; choose one from {OLDEST_OPSET} to {newest}")
    return opset


def _open_lengths(built: Built, fixed: set[str], free: FreeAxes | None) -> Lengths:
    open_lengths: Lengths = {}
    for source in length_sources(built, free):
        lengths = None if source.name in fixed else changing_lengths(built, source)
        if lengths is None and not source.free:
            raise ConversionError(
                f"a layer needs a fixed {source.name}, but it is known only when the net runs; set it in the "
                "net's Input layer, or with --assume BLOB=SHAPE"
            )
        for place, length in (lengths or {}).items():
            both = place in open_lengths  # such a length, as that of flattened rows and columns, isn't that of a source
            open_lengths[place] = replace(length, equal=False) if both else length
    return open_lengths


def _graph(built: Built, lengths: Lengths, opset: int, reader: OnnxReader) -> tuple[Any, list[AnyArray]]:
    """Return the GraphProto of a net and the values of its initializers.

    One `ConversionError` reports all layers without an ONNX form, or all that need a length that must be free.
    """
    names, outside = edge_names(built), set(built.input_edges())
    builder = GraphBuilder(opset, _dtype(built), names, reader)
    problems, needing = [], dict[LengthSource, list[tuple[Node, Layer]]]()
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        if isinstance(layer, BringsData):
            continue
        bottoms = {names[edge]: (built.shapes[edge], _changes(lengths, edge)) for edge in node.bottoms}
        builder.begin(node.layer.name, bottoms)
        if reader.computes(node.layer.type, sized=any(_changes_size(lengths, edge) for edge in node.bottoms)):
            results: Any = builder.add(reader.operator(layer, bottoms, len(node.tops)))
            builder.end(results, [names[edge] for edge in node.tops])
            continue
        try:
            if not isinstance(layer, HasOnnxForm):
                raise ConversionError("has no ONNX form")
            results = layer.onnx(builder, *(names[edge] for edge in node.bottoms))
        except ConversionError as problem:
            problems.append(f"layer '{node.layer.name}' of type {node.layer.type} {problem}")
            continue
        except FixedLengthError as problem:
            if not problem.source.requested:
                raise
            needing.setdefault(problem.source, []).append((node, layer))
            continue
        builder.end(results if isinstance(results, tuple) else (results,), [names[edge] for edge in node.tops])
    if problems:
        raise ConversionError(f"{'; '.join(problems)}; replace these layers, or export the net to torch")
    if needing:
        raise ConversionError("; ".join(refusal(nodes, source, built) for source, nodes in needing.items()))
    ends = [edge for edge in built.graph.outputs if edge not in outside]
    if not ends:
        raise ConversionError(
            "the net has no outputs, because each top is read by a layer; rename the top of the last layer"
        )
    used = {value for node in builder.all_nodes for value in node.input}
    starts = [edge for edge in sorted(outside) if names[edge] in used]
    values = [[_value(built, lengths, edge, names[edge], builder) for edge in edges] for edges in (starts, ends)]
    title = built.graph.net.name or "net"
    graph = onnx().helper.make_graph(builder.all_nodes, title, *values, initializer=builder.initializers)
    return graph, builder.values


def _changes_size(lengths: Lengths, edge: int) -> bool:
    """Return whether the height or width of a blob can change."""
    return any(axis > 1 and length.source.free for axis, length in _changes(lengths, edge).items())


def _changes(lengths: Lengths, edge: int) -> dict[int, ChangingLength]:
    return {axis: length for (changing_edge, axis), length in lengths.items() if changing_edge == edge}


def _value(built: Built, lengths: Lengths, edge: int, name: str, builder: GraphBuilder) -> Any:
    """Return an input or output of the graph.

    A length that differs from its source's length, such as twice a batch, gets its own name.
    """
    dims: list[int | str] = list(built.shapes[edge])
    for axis, length in _changes(lengths, edge).items():
        dims[axis] = length.source.name if length.equal else f"{name}_{axis}"
    kind = onnx().helper.np_dtype_to_tensor_dtype(builder.dtype)
    return onnx().helper.make_tensor_value_info(name, kind, dims)


def _dtype(built: Built) -> np.dtype[Any]:
    """Return the type of a net's weights, which is also the type of its computations."""
    blobs = (blob for layer in built.layers for blob in layer.parameters() if blob.is_floating_point())
    return array_of(next(blobs, torch.empty(0)).new_empty(0)).dtype

"""Proves that the program of a target computes the same outputs as a net."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of, with_layers
from converters.caffe import write_net
from converters.compare import Comparison, compare
from converters.lengths import named_sources, rebuilt, trial_shapes
from converters.onnx.export import export_onnx
from converters.onnx.files import load_onnx
from converters.onnx.quantization import Quantization, fitting_batches
from converters.onnx.reader import OnnxReader
from converters.onnx.session import WrittenModel, open_onnx_session
from converters.rewriting import replace_lacking
from converters.running import Work, difference, selection_axes, unreported
from converters.targets.rules import check_rules, lacks
from converters.targets.session import TargetSession, open_target_session
from converters.targets.target import Target
from netdsl.errors import ConversionError
from netdsl.layer.samples import BlobKind
from netdsl.model.data_shapes import dimensions
from netdsl.model.model import Model
from netdsl.net.build import Built
from netdsl.net.graph import Node, Phase
from netdsl.net.module import NetModule


@dataclass(frozen=True)
class PartDifference:
    """The largest difference of an output, relative to its spread, of a net or of a part of it."""

    part: str  # empty for the whole net
    difference: float


def reader_of(target: Target) -> OnnxReader:
    """Return what a target's reader of ONNX takes and misreads."""
    return OnnxReader(target.caffe_layers, target.enums_as_numbers, target.misreads, target.sized_layers)


def prove_in_target(
    model: Model, target: Target, files: Sequence[Path], tolerance: float, work: Work = unreported
) -> list[PartDifference]:
    """Run the written files of a model in a target, and return how much the outputs differ from the model's.

    Raises a `ConversionError` if a difference exceeds the tolerance, or if the net breaks a rule of the target. The
    result is empty for a target that doesn't run here.

    Random inputs contain no objects, and items of almost equal rank are selected differently. If the outputs of layers
    that select items therefore prove nothing or differ, the rest of the net and each of these layers are proved apart,
    the layers with random items. If the written model leaves sizes open, smaller and larger inputs are proved too.
    """
    check_rules(model, target, files)
    if target.program is None:
        return []
    session = open_target_session(target, files)
    whole = _compared(model, session, work)
    return [*_own_size(model, target, whole, tolerance, work), *_other_sizes(model, session, tolerance, work)]


def _own_size(model: Model, target: Target, whole: Comparison, tolerance: float, work: Work) -> list[PartDifference]:
    """Return the differences for inputs of the model's own shapes, whose comparison is given."""
    built = model.layers(Phase.TEST)
    selecting = _selecting_at_the_end(built)
    if not selecting or (whole.worst_output <= tolerance and _selected_items(whole, built)):
        return [_checked("", whole.worst_output, target, tolerance)]
    parts = {"the layers before the selection": _without(model, selecting)}
    parts |= {f"layer '{node.layer.name}'": _alone(model, node) for node in selecting}
    compared = {name: _part_compared(part, target, work) for name, part in parts.items()}
    return [_checked(name, found.worst_output, target, tolerance) for name, found in compared.items()]


def prove_quantized_in_target(
    model: Model, target: Target, file: Path, quantization: Quantization, tolerance: float, work: Work = unreported
) -> list[PartDifference]:
    """Run the quantized ONNX file of a model in a target and in onnxruntime, and return how much the outputs differ.

    Both run on items of the calibration. If layers select items at the end, the rest of the net is quantized and run
    by itself, because values that differ by rounding can select other items. Raises a `ConversionError` as
    `prove_in_target` does.
    """
    selecting = _selecting_at_the_end(model.layers(Phase.TEST))
    if not selecting:
        return [_checked("", _difference_when_quantized(target, file, quantization, work), target, tolerance)]
    with TemporaryDirectory() as folder:
        path, part = Path(folder) / file.name, _without(model, selecting)
        export_onnx(
            part, path, opset=target.opset, verify=False, reader=reader_of(target), quantization=quantization, work=work
        )
        differ = _difference_when_quantized(target, path, quantization, work)
    return [_checked("the layers before the selection", differ, target, tolerance)]


def _difference_when_quantized(target: Target, file: Path, quantization: Quantization, work: Work) -> float:
    """Return the largest difference of an output in a target from the one in onnxruntime, for a batch."""
    model = WrittenModel(file, load_onnx(file), file.name)
    inputs = next(iter(fitting_batches(model, quantization.batches())))
    with work(f"running {target.name}", 1), open_onnx_session(model) as session:
        expected, actual = session(inputs), open_target_session(target, [file])(inputs)
    return max(difference(actual[name], values) for name, values in expected.items())


def try_in_target(model: Model, target: Target, tolerance: float, work: Work = unreported) -> list[PartDifference]:
    """Write a model for a target into a temporary folder, and prove it there. Raises a `ConversionError` as
    `prove_in_target` does."""
    fitting = replace_lacking(model, partial(lacks, target))
    with TemporaryDirectory() as folder:
        return prove_in_target(fitting, target, _written(fitting, target, Path(folder)), tolerance, work)


def _other_sizes(model: Model, session: TargetSession, tolerance: float, work: Work) -> list[PartDifference]:
    """Return the differences for smaller and larger inputs, if the written model leaves more than a number of items
    open."""
    built, target = model.layers(Phase.TEST), session.target
    sources = named_sources(built, session.inputs)
    if all(source.counts_items() for source in sources):
        return []
    proofs = []
    for shapes in trial_shapes(built, sources)[1:]:
        part = f"the net for {', '.join(f'{name} {dimensions(shape)}' for name, shape in shapes.items())}"
        module = NetModule(rebuilt(model.module(Phase.TEST).built, shapes))
        try:
            comparison = compare(module, session, adds_zeros=target.adds_zeros, work=work)
        except ConversionError as problem:
            raise ConversionError(
                f"{part}: {problem}; the net's own size runs there, so export it with fixed lengths"
            ) from None
        proofs.append(_checked(part, comparison.worst_output, target, tolerance))
    return proofs


def _compared(model: Model, session: TargetSession, work: Work) -> Comparison:
    """Run a model's written files in a target, and the model here."""
    return compare(model.module(Phase.TEST), session, adds_zeros=session.target.adds_zeros, work=work)


def _part_compared(part: Model, target: Target, work: Work) -> Comparison:
    """Write a part of a net for a target, and run it there and here."""
    with TemporaryDirectory() as folder:
        session = open_target_session(target, _written(part, target, Path(folder)))
        return _compared(part, session, work)


def _written(model: Model, target: Target, folder: Path) -> Sequence[Path]:
    """Write a model for a target, and return its files."""
    if target.format == "caffe":
        return write_net(model, folder / "net.prototxt")
    export_onnx(model, folder / "net.onnx", opset=target.opset, verify=False, reader=reader_of(target))
    return [folder / "net.onnx"]


def _checked(part: str, worst: float, target: Target, tolerance: float) -> PartDifference:
    if worst <= tolerance:
        return PartDifference(part, worst)
    differ = "have another shape, or aren't finite" if math.isinf(worst) else f"differ by {worst:.1e} of their spread"
    raise ConversionError(
        f"the outputs {f'of {part} ' if part else ''}in {target.title} {differ}, more than {tolerance:g} allows; "
        "choose another target, or allow the difference with `zoo export --tolerance`"
    )


def _selecting_at_the_end(built: Built) -> list[Node]:
    """Return the layers that select items, if all of their tops are outputs of the net, or else nothing."""
    axes, ends = selection_axes(built), set(built.graph.outputs)
    nodes = [node for node in built.graph.nodes if axes.keys() & set(node.tops)]
    return nodes if all(ends.issuperset(node.tops) for node in nodes) else []


def _selected_items(whole: Comparison, built: Built) -> bool:
    """Return whether more than one item was selected."""
    axes = {built.graph.blobs[edge]: axis for edge, axis in selection_axes(built).items()}
    return all(blob.shape[axes[blob.blob]] > 1 for blob in whole.blobs if blob.blob in axes)


def _without(model: Model, selecting: Sequence[Node]) -> Model:
    """Return the part of a model that computes the bottoms of layers, except their priors, and the other outputs."""
    built = model.layers(Phase.TEST)
    ends = {top for node in selecting for top in node.tops}
    needed = set(built.graph.outputs) - ends
    for node, layer in built.pairs():
        if ends.intersection(node.tops):
            bottoms = enumerate(node.bottoms)
            needed |= {edge for place, edge in bottoms if layer.bottom_kind(place) is not BlobKind.PRIORS}
    kept = [node.layer for node in built.graph.needed_for(needed)]
    return replace(model, net=with_layers(model.net, kept), file=None)


def _alone(model: Model, node: Node) -> Model:
    """Return a layer whose bottoms are inputs."""
    built = model.layers(Phase.TEST)
    blobs = {built.graph.blobs[edge]: built.shapes[edge] for edge in node.bottoms}
    inputs = [
        pb.LayerParameter(name=blob, type="Input", top=[blob], input_param={"shape": [{"dim": shape}]})
        for blob, shape in blobs.items()
    ]
    return replace(model, net=with_layers(model.net, [*inputs, copy_of(node.layer)]), weights={}, file=None)

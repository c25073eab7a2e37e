"""Proves that the program of a target computes the same outputs as a net."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of, with_layers
from converters.caffe import write_net
from converters.compare import Comparison, compare
from converters.lengths import named_sources, rebuilt, trial_shapes
from converters.onnx.export import export_onnx
from converters.onnx.reader import OnnxReader
from converters.running import Work, selection_axes, unreported
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
    return OnnxReader(target.caffe_layers, target.enums_as_numbers, target.misreads)


def prove_in_target(
    model: Model, target: Target, files: Sequence[Path], tolerance: float, work: Work = unreported
) -> list[PartDifference]:
    """Run the written files of a model in a target, and return how much the outputs differ from the model's.

    Raises a `ConversionError` if a difference exceeds the tolerance.

    Random inputs contain no objects, and items of almost equal rank are selected differently. If the outputs of layers
    that select items therefore prove nothing or differ, the rest of the net and each of these layers are proved apart,
    the layers with random items. If the written model leaves sizes open, smaller and larger inputs are proved too.
    """
    session = open_target_session(target, files)
    whole = _compared(model, session, work)
    return [*_own_size(model, target, whole, tolerance, work), *_other_sizes(model, session, tolerance, work)]


def _own_size(model: Model, target: Target, whole: Comparison, tolerance: float, work: Work) -> list[PartDifference]:
    """Return the differences for inputs of the model's own shapes, whose comparison is given."""
    built = model.layers(Phase.TEST)
    selecting = _selecting_at_the_end(built)
    if not selecting or (whole.worst_output <= tolerance and _selected_items(whole, built)):
        return [_checked("", whole, target, tolerance)]
    parts = {"the layers before the selection": _without(model, selecting)}
    parts |= {f"layer '{node.layer.name}'": _alone(model, node) for node in selecting}
    return [_checked(name, _part_compared(part, target, work), target, tolerance) for name, part in parts.items()]


def try_in_target(model: Model, target: Target, tolerance: float, work: Work = unreported) -> list[PartDifference]:
    """Write a model for a target into a temporary folder, and prove it there. Raises a `ConversionError` as
    `prove_in_target` does."""
    with TemporaryDirectory() as folder:
        return prove_in_target(model, target, _written(model, target, Path(folder)), tolerance, work)


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
        proofs.append(_checked(part, comparison, target, tolerance))
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


def _checked(part: str, comparison: Comparison, target: Target, tolerance: float) -> PartDifference:
    worst = comparison.worst_output
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

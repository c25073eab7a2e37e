"""What a target is known to take, as far as its table says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.dialects import BVLC, dialect_named, missing_in
from caffe_proto.errors import few
from caffe_proto.locations import error_label
from converters.onnx.files import load_onnx
from converters.targets.target import Target
from netdsl.checking.caffe_notes import caffe_notes
from netdsl.errors import ConversionError
from netdsl.layer.capabilities import capabilities
from netdsl.layers import LAYERS
from netdsl.model.model import Model
from netdsl.net.graph import Phase

_MOST = 5  # problems that one error names


def check_rules(model: Model, target: Target, files: Sequence[Path]) -> None:
    """Raise a `ConversionError` that names what a target doesn't take in the files of a model."""
    problems = list(dict.fromkeys([*_operators(target, files), *_layers(model, target)]))
    if problems:
        raise ConversionError(
            f"{target.title} doesn't take the net: {few(problems, _MOST)}; use another target, or end the net before "
            "the layer with `zoo export --prune-to`"
        )


def _operators(target: Target, files: Sequence[Path]) -> Iterator[str]:
    """Yield the operators of an ONNX file that a target doesn't have."""
    if not target.operators:
        return
    for node in load_onnx(files[0]).graph.node:
        if node.op_type not in target.operators:
            yield f"layer '{node.name.partition('/')[0]}' needs the operator {node.op_type}"


def lacks(target: Target, layer: pb.LayerParameter) -> bool:
    """Return whether a target is known to lack the type of a layer."""
    if target.layers:
        return layer.type not in target.layers
    return target.fork is not None and not _is_of(target.fork, layer.type)


def _is_of(fork: str, type_name: str) -> bool:
    """Return whether a fork of Caffe has a type of layers."""
    kind = LAYERS.get(type_name)
    return kind is not None and bool({BVLC.name, fork} & set(capabilities(kind).origins))


def _layers(model: Model, target: Target) -> Iterator[str]:
    """Yield the types of layers and the settings that a fork of Caffe or a reader of its files doesn't have, and what
    Caffe computes differently."""
    built = model.layers(Phase.TEST)
    for node in built.graph.nodes:
        label = error_label(node.layer)
        if lacks(target, node.layer):
            yield f"{label}: {target.title} has no {node.layer.type}"
        elif target.fork is not None and _is_of(target.fork, node.layer.type):
            dialect = dialect_named(target.fork)
            missing = dict.fromkeys(missing_in(node.layer, dialect))
            yield from (f"{label}: {target.title} has no {name}" for name in missing)
        yield from _other_settings(node.layer, target, label)
    if target.fork is not None:
        yield from caffe_notes([built.graph], [built])


def _other_settings(layer: pb.LayerParameter, target: Target, label: str) -> Iterator[str]:
    """Yield the settings of a layer whose values a target doesn't take."""
    for name, taken in target.layer_settings.items():
        parameter, _, field = name.partition(".")
        if not layer.HasField(parameter):
            continue
        value = getattr(getattr(layer, parameter), field)
        found = value if isinstance(value, (int, float)) else tuple(value)
        if found not in taken:
            values = " or ".join(str(list(each) if isinstance(each, tuple) else each) for each in taken)
            shown = list(found) if isinstance(found, tuple) else found
            yield f"{label}: {target.title} takes {name} {values}, not {shown}"

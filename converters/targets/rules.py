"""What a target is known to take, as far as its table says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

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


def _layers(model: Model, target: Target) -> Iterator[str]:
    """Yield the types of layers and the settings that a fork of Caffe doesn't have, and what Caffe computes
    differently."""
    if target.fork is None:
        return
    dialect, built = dialect_named(target.fork), model.layers(Phase.TEST)
    for node in built.graph.nodes:
        kind = LAYERS.get(node.layer.type)
        known = kind is not None and {BVLC.name, dialect.name} & set(capabilities(kind).origins)
        missing = dict.fromkeys(missing_in(node.layer, dialect)) if known else [node.layer.type]
        yield from (f"{error_label(node.layer)}: {dialect.title} has no {name}" for name in missing)
    yield from caffe_notes([built.graph], [built])

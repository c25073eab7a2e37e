"""The conversion of a file by `zoo convert`: the suffixes of two files say what one becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from caffe_proto.errors import FileError
from caffe_proto.files import write
from converters.caffe import write_net
from converters.rewriting import Proof
from netdsl.model.data_shapes import DataShape
from netdsl.model.formats import TENSOR_SUFFIXES, WEIGHTS_SUFFIXES, holds_weights
from netdsl.model.model import warn_of_guesses
from netdsl.model.opening import open_model, open_weights
from netdsl.model.weights.tensor_files import Precision
from netdsl.model.weights.torch_names import TensorMatch
from netdsl.model.weights.writing import write_weights
from netdsl.net.graph import Phase
from zoo.exporting import Export, ExportTarget, export

_TARGETS = {".onnx": ExportTarget.ONNX, ".pt2": ExportTarget.TORCH}
_CAFFE = (".prototxt", ".caffemodel")


@dataclass(frozen=True)
class ConvertedFiles:
    """The written files, the proofs, the layers that torch's tensors were matched to, and what is known of a net's data
    if its shapes were needed.
    """

    files: tuple[Path, ...]
    proofs: tuple[Proof, ...] = ()
    names: tuple[TensorMatch, ...] = ()
    data: Mapping[str, DataShape] = field(default_factory=dict)


def convert(
    source: str,
    output: str,
    *,
    net: str | None = None,
    weights: tuple[str, ...] = (),
    precision: Precision | None = None,
    dialect: str | None = None,
) -> ConvertedFiles:
    """Convert weights, or a net with its weights. A net alone needs files of weights; weights alone may need a net."""
    kind, output_kind = Path(source).suffix, Path(output).suffix
    if output_kind in _TARGETS and kind not in _TARGETS:
        if holds_weights(source) and net is None and kind != ".caffemodel":
            raise FileError(f"{source}: are weights without a net; name it with --net")
        net_path, files = (net, (source, *weights)) if net and holds_weights(source) else (source, weights)
        exported = export(Export(net_path, files, _TARGETS[output_kind], Path(output), dialect=dialect))
        return ConvertedFiles(exported.files, exported.proofs, exported.names, exported.data)
    if kind == ".onnx" and output_kind in _CAFFE:
        model = open_model(source)
        return ConvertedFiles(write_net(model, output), data=model.data(Phase.TEST))
    if holds_weights(output) and kind != ".pt2":
        return _convert_weights(source, output, net, precision, dialect)
    raise FileError(
        f"{source} can't be converted to {output}: weights become {', '.join(WEIGHTS_SUFFIXES)}, "
        f"nets with weights become {', '.join(_TARGETS)}, and .onnx becomes {', '.join(_CAFFE)}; "
        "`zoo export` makes nets to deploy"
    )


def _convert_weights(
    source: str, output: str, net: str | None, precision: Precision | None, dialect: str | None
) -> ConvertedFiles:
    """Convert weights. A Caffe file that becomes another one keeps all its layers, with their settings."""
    files = (Path(output),)
    if net is not None:
        model = open_model(net, [source], dialect=dialect)
        write_weights(model.weights, output, net=model.net, precision=precision)
        data = model.data(model.phases[0], stub_unknown=True) if model.names else {}
        warn_of_guesses(model.net.name, data)
        return ConvertedFiles(files, names=model.names, data=data)
    opened = open_weights(source)
    if opened.file is not None and Path(output).suffix not in TENSOR_SUFFIXES:
        write(opened.file, output)
    else:
        layers = None if opened.file is None else opened.file.message
        write_weights(opened.weights, output, net=layers, precision=precision)
    return ConvertedFiles(files)

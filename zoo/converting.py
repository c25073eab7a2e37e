"""What `zoo convert` does: picks by the names of two files what becomes of one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from caffe_proto.errors import FileError
from caffe_proto.files import write
from converters.caffe import write_net
from converters.rewriting import Proof
from netdsl.formats import TENSOR_SUFFIXES, WEIGHTS_SUFFIXES, holds_weights
from netdsl.model import open_model, open_weights
from netdsl.weights.tensor_files import Precision
from netdsl.weights.torch_names import TensorMatch
from netdsl.weights.writing import write_weights
from zoo.exporting import Export, ExportTarget, export

_TARGETS = {".onnx": ExportTarget.ONNX, ".pt2": ExportTarget.TORCH}
_CAFFE = (".prototxt", ".caffemodel")


@dataclass(frozen=True)
class ConvertedFiles:
    """The files that were written, what was proved, and which layers torch's tensors were taken for."""

    files: tuple[Path, ...]
    proofs: tuple[Proof, ...] = ()
    names: tuple[TensorMatch, ...] = ()


def convert(
    source: str,
    output: str,
    *,
    net: str | None = None,
    weights: tuple[str, ...] = (),
    precision: Precision | None = None,
) -> ConvertedFiles:
    """Convert weights, or a net with its weights. A net alone needs files of weights; weights alone may need a net."""
    kind, wanted = Path(source).suffix, Path(output).suffix
    if wanted in _TARGETS and kind not in _TARGETS:
        if holds_weights(source) and net is None and kind != ".caffemodel":
            raise FileError(f"{source}: are weights without a net; name it with --net")
        message, own = (net, (source, *weights)) if net and holds_weights(source) else (source, weights)
        done = export(Export(message, own, _TARGETS[wanted], Path(output)))
        return ConvertedFiles(done.files, done.proofs, done.names)
    if kind == ".onnx" and wanted in _CAFFE:
        return ConvertedFiles(write_net(open_model(source), output))
    if holds_weights(output) and kind != ".pt2":
        return _weights(source, output, net, precision)
    raise FileError(
        f"{source} can't be converted to {output}: weights become {', '.join(WEIGHTS_SUFFIXES)}, "
        f"nets with weights {', '.join(_TARGETS)}, and .onnx {', '.join(_CAFFE)}; `zoo export` makes nets to deploy"
    )


def _weights(source: str, output: str, net: str | None, precision: Precision | None) -> ConvertedFiles:
    """A file of Caffe's stays what it is where it can, with all its layers."""
    files = (Path(output),)
    if net is not None:
        model = open_model(net, [source])
        write_weights(model.weights, output, net=model.net, precision=precision)
        return ConvertedFiles(files, names=model.names)
    opened = open_weights(source)
    if opened.file is not None and Path(output).suffix not in TENSOR_SUFFIXES:
        write(opened.file, output)
    else:
        layers = None if opened.file is None else opened.file.message
        write_weights(opened.weights, output, net=layers, precision=precision)
    return ConvertedFiles(files)

"""What `zoo convert` does: picks by the names of two files what becomes of one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from caffe_proto.errors import CaffeError, FileError
from caffe_proto.files import read_net, write
from converters.caffe import write_net
from converters.formats import FORMATS, Precision
from converters.from_onnx import from_onnx
from converters.name_map import Mapped
from converters.rewriting import Proof
from converters.weights import holds_weights, read_weights, write_weights
from netdsl.checking.lint import in_todays_form
from zoo.exporting import Export, ExportTarget, export

_TARGETS = {".onnx": ExportTarget.ONNX, ".pt2": ExportTarget.TORCH}
_CAFFE = (".prototxt", ".caffemodel")


@dataclass(frozen=True)
class ConvertedFiles:
    """The files that were written, what was proved, and which layers torch's tensors were taken for."""

    files: tuple[Path, ...]
    proofs: tuple[Proof, ...] = ()
    names: tuple[Mapped, ...] = ()


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
        return ConvertedFiles(write_net(from_onnx(source), output))
    if holds_weights(source) and holds_weights(output):
        return _weights(source, output, net, precision)
    raise FileError(
        f"{source} can't be converted to {output}: weights become .caffemodel, .h5, {', '.join(FORMATS)}, "
        f"nets with weights {', '.join(_TARGETS)}, and .onnx {', '.join(_CAFFE)}; `zoo export` makes nets to deploy"
    )


def _weights(source: str, output: str, net: str | None, precision: Precision | None) -> ConvertedFiles:
    """A file of Caffe's stays what it is where it can, with all its layers."""
    message = None
    if net is not None:
        try:
            message = in_todays_form(read_net(net, lenient=True).message)
        except CaffeError as problem:
            raise type(problem)(str(problem) if net in str(problem) else f"{net}: {problem}") from None
    loaded = read_weights(source, message)
    if loaded.file is not None and message is None and Path(output).suffix not in FORMATS:
        write(loaded.file, output)
    else:
        own = message if message is not None or loaded.file is None else loaded.file.message
        write_weights(loaded.weights, output, net=own, precision=precision)
    return ConvertedFiles((Path(output),), names=loaded.names)

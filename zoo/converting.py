"""Conversion of files for `zoo convert`. The suffixes of the two files select the formats."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from caffe_proto.errors import FileError
from caffe_proto.files import write
from converters.caffe import write_net
from converters.rewriting import Proof
from netdsl.model.formats import TENSOR_SUFFIXES, WEIGHTS_SUFFIXES, holds_weights
from netdsl.model.model import warn_of_guesses
from netdsl.model.opening import open_model, open_weights
from netdsl.model.weights.tensor_files import Precision
from netdsl.model.weights.torch_names import TensorMatch
from netdsl.model.weights.writing import write_weights
from netdsl.net.graph import Phase
from zoo.exporting import export
from zoo.requests.events import Listen
from zoo.requests.exporting import ConvertRequest, ExportRequest, ExportTarget
from zoo.requests.request import answers
from zoo.requests.results import KnowsData

_TARGETS: dict[str, ExportTarget] = {".onnx": "onnx", ".pt2": "torch"}
_CAFFE = (".prototxt", ".caffemodel")


@dataclass(frozen=True)
class ConvertedFiles(KnowsData):
    """The written files, the proofs, the layers matched to torch's tensors, and the shapes of the net's data if they
    were needed."""

    files: tuple[Path, ...]
    proofs: tuple[Proof, ...] = ()
    names: tuple[TensorMatch, ...] = ()


@answers(ConvertRequest)
def convert(request: ConvertRequest, listen: Listen) -> ConvertedFiles:
    """Convert weights, or a net with its weights. A net alone needs weights files, and weights alone may need a net."""
    source, output, net, weights = request.source, request.output, request.net, request.weights
    kind, output_kind = Path(source).suffix, Path(output).suffix
    if output_kind in _TARGETS and kind not in _TARGETS:
        if holds_weights(source) and net is None and kind != ".caffemodel":
            raise FileError(f"{source}: the file contains weights but no net; name the net with --net")
        net_path, files = (net, (source, *weights)) if net and holds_weights(source) else (source, weights)
        exported = export.ask(
            ExportRequest(
                net=net_path,
                weights=files,
                target=_TARGETS[output_kind],
                output=output,
                dialect=request.dialect,
                assume=request.assume,
            ),
            listen,
        )
        return ConvertedFiles(exported.files, exported.proofs, exported.names, data=exported.data)
    if kind == ".onnx" and output_kind in _CAFFE:
        model = open_model(source, shapes=request.assume)
        return ConvertedFiles(write_net(model, output), data=model.data(Phase.TEST))
    if holds_weights(output) and kind != ".pt2":
        return _convert_weights(request)
    raise FileError(
        f"{source} can't be converted to {output}: weights become {', '.join(WEIGHTS_SUFFIXES)}, nets with "
        f"weights become {', '.join(_TARGETS)}, and .onnx becomes {', '.join(_CAFFE)}; to deploy a net, use "
        "`zoo export`"
    )


def _convert_weights(request: ConvertRequest) -> ConvertedFiles:
    """Convert weights. A Caffe file that becomes another Caffe file keeps all its layers with their settings."""
    output, precision = (
        Path(request.output),
        None if request.precision is None else Precision[request.precision.upper()],
    )
    if request.net is not None:
        model = open_model(request.net, [request.source], dialect=request.dialect, shapes=request.assume)
        write_weights(model.weights, output, net=model.net, precision=precision)
        data = model.data(model.phases[0], stub_unknown=True) if model.names else {}
        warn_of_guesses(model.net.name, data)
        return ConvertedFiles((output,), names=model.names, data=data)
    opened = open_weights(request.source)
    if opened.file is not None and output.suffix not in TENSOR_SUFFIXES:
        write(opened.file, output)
    else:
        layers = None if opened.file is None else opened.file.message
        write_weights(opened.weights, output, net=layers, precision=precision)
    return ConvertedFiles((output,))

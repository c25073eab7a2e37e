"""Weights by layer, written to files of every format."""

from __future__ import annotations

from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import FileError
from caffe_proto.files import CaffeFile, Form, write
from netdsl.formats import TENSOR_SUFFIXES, WEIGHTS_SUFFIXES
from netdsl.weights.match import Weights, distinct
from netdsl.weights.tensor_files import Precision, write_tensors

_ABOUT = {"format": "caffe", "names": "LAYER.INDEX"}


def write_weights(
    weights: Weights,
    path: str | Path,
    *,
    net: pb.NetParameter | None = None,
    precision: Precision | None = None,
) -> None:
    """Write weights in the format that the file's name asks for; a caffemodel with the layers of a net, if it is said.

    In files of tensors a blob is called LAYER.INDEX, as `conv1.0`. The precision is for those: Caffe keeps float32.
    """
    suffix = Path(path).suffix
    if suffix in TENSOR_SUFFIXES:
        arrays = {f"{layer}.{index}": array for layer, blobs in weights.items() for index, array in enumerate(blobs)}
        name = {"net": net.name} if net is not None else {}
        write_tensors(path, arrays, about={**_ABOUT, **name}, precision=precision)
    elif suffix in WEIGHTS_SUFFIXES:
        write(caffe_file_of(weights, net), path)
    else:
        raise FileError(f"{path}: weights are written as {', '.join(WEIGHTS_SUFFIXES)}, not as '{suffix}'")


def caffe_file_of(weights: Weights, net: pb.NetParameter | None = None) -> CaffeFile[pb.NetParameter]:
    """A caffemodel in memory: weights in the layers of a net, or in layers that are nothing but a name."""
    file = CaffeFile(pb.NetParameter(name="weights"), form=Form.BINARY)
    if net is not None:
        file.message.CopyFrom(net)
    layers = dict(zip(distinct(layer.name for layer in file.message.layer), file.message.layer, strict=True))
    for name, arrays in weights.items():
        layer = layers[name] if name in layers else file.message.layer.add(name=name)
        layer.ClearField("blobs")
        for array in arrays:
            file.blobs.put(layer.blobs.add(), array)
    return file

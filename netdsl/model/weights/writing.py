"""Writes weights to files of all formats."""

from __future__ import annotations

from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.errors import FileError
from caffe_proto.files import CaffeFile, Form, write
from netdsl.model.formats import TENSOR_SUFFIXES, WEIGHTS_SUFFIXES
from netdsl.model.weights.match import Weights, unique_names
from netdsl.model.weights.tensor_files import Precision, write_tensors
from netdsl.storage.outgoing import published_path

_ABOUT = {"format": "caffe", "names": "LAYER.INDEX"}


def write_weights(
    weights: Weights,
    path: str | Path,
    *,
    net: pb.NetParameter | None = None,
    precision: Precision | None = None,
) -> None:
    """Write weights in the format of the file's suffix. With a net, a caffemodel contains the net's layers.

    In files of tensors, a blob is named LAYER.INDEX, such as `conv1.0`. `precision` applies only to these files,
    because Caffe stores float32. A file with an address is published when it is complete.
    """
    suffix = Path(path).suffix
    if suffix not in WEIGHTS_SUFFIXES:
        raise FileError(f"{path}: weights can't be written as '{suffix}'; use one of {', '.join(WEIGHTS_SUFFIXES)}")
    with published_path(path) as local:
        if suffix in TENSOR_SUFFIXES:
            tensors = {
                f"{layer}.{index}": array for layer, arrays in weights.items() for index, array in enumerate(arrays)
            }
            name = {"net": net.name} if net is not None else {}
            write_tensors(local, tensors, about={**_ABOUT, **name}, precision=precision)
        else:
            write(caffe_file_of(weights, net), local)


def caffe_file_of(weights: Weights, net: pb.NetParameter | None = None) -> CaffeFile[pb.NetParameter]:
    """Return a caffemodel in memory, with weights in the layers of a net, or in layers that have only a name."""
    file = CaffeFile(pb.NetParameter(name="weights") if net is None else copy_of(net), form=Form.BINARY)
    layers = dict(zip(unique_names(layer.name for layer in file.message.layer), file.message.layer, strict=True))
    for name, arrays in weights.items():
        layer = layers[name] if name in layers else file.message.layer.add(name=name)
        layer.ClearField("blobs")
        for array in arrays:
            file.blobs.put(layer.blobs.add(), array)
    return file

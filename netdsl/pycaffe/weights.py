"""Weight files by what they hold, whatever they are called."""

from __future__ import annotations

import mmap
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto import hdf5
from caffe_proto.blobs import Blobs
from caffe_proto.check import check
from caffe_proto.errors import FileError
from caffe_proto.files import CaffeFile, Form, read_net
from caffe_proto.storage import replacing
from netdsl.build import Built
from netdsl.errors import WeightsError
from netdsl.layer import Layer
from netdsl.snapshot import save_net

_SUFFIXES = {Form.BINARY: ".caffemodel", Form.HDF5: ".h5"}


def save_as(built: Built, path: str | Path, form: Form) -> None:
    """Write weights in a form that the file's name needn't promise."""
    with replacing(path) as temporary:
        named = temporary.with_name(temporary.name + _SUFFIXES[form])
        save_net(built, named)
        named.replace(temporary)


def read_weights(path: str | Path) -> CaffeFile[pb.NetParameter]:
    """The weights in a file of either form."""
    return read_hdf5(path) if _is_hdf5(path) else read_net(path)


def read_hdf5(path: str | Path) -> CaffeFile[pb.NetParameter]:
    """The weights in an HDF5 file."""
    if not _is_hdf5(path):
        raise FileError(f"{path}: is not an HDF5 file; copy_from reads the other kind")
    with Path(path).open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    blobs = Blobs()
    message = hdf5.read(Path(path), data, blobs)
    if not isinstance(message, pb.NetParameter):
        raise FileError(f"{path}: holds the state of a solver, not weights")
    check(message, blobs)
    return CaffeFile(message, blobs, Form.HDF5)


def _is_hdf5(path: str | Path) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(hdf5.SIGNATURE)) == hdf5.SIGNATURE
    except OSError as problem:
        raise FileError(f"{path}: can't be opened: {problem.strerror}") from None


def share(name: str, target: Layer, source: Layer) -> None:
    """Let a layer use the values of another one's blobs; gradients stay its own."""
    mine, theirs = target.blob_names(), source.blob_names()
    if len(mine) != len(theirs):
        raise WeightsError(f"layer '{name}' has {len(mine)} blobs, the other net's has {len(theirs)}")
    for index, (blob, other) in enumerate(zip(mine, theirs, strict=True)):
        to, values = target.owner_of(blob), source.owner_of(other)
        if to.shape != values.shape:
            shapes = f"{list(to.shape)}, the other net's has {list(values.shape)}"
            raise WeightsError(f"layer '{name}': blob {index} has shape {shapes}")
        to.data = values.data

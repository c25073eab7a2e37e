"""Weight files by what they hold, whatever they are called."""

from __future__ import annotations

from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import FileError
from caffe_proto.files import CaffeFile, Form, read_net
from caffe_proto.storage import atomic_path
from netdsl.net.build import Built
from netdsl.weights.files import save_net

_SUFFIXES = {Form.BINARY: ".caffemodel", Form.HDF5: ".h5"}


def save_as(built: Built, path: str | Path, form: Form) -> None:
    """Write weights in a form that the file's name needn't promise."""
    with atomic_path(path) as temporary:
        named = temporary.with_name(temporary.name + _SUFFIXES[form])
        save_net(built, named)
        named.replace(temporary)


def read_weights(path: str | Path) -> CaffeFile[pb.NetParameter]:
    """The weights in a file of either form."""
    return read_net(path, by_content=True)


def read_hdf5(path: str | Path) -> CaffeFile[pb.NetParameter]:
    """The weights in an HDF5 file."""
    file = read_weights(path)
    if file.form is not Form.HDF5:
        raise FileError(f"{path}: is not an HDF5 file; copy_from reads the other kind")
    return file

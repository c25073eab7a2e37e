"""Checks of files of tensors, which are untrusted: what is in one must not take far more memory than its size."""

from __future__ import annotations

import math
import mmap
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from caffe_proto.blobs import MAX_AXES
from caffe_proto.errors import FileError

_MOST_TIMES = 100  # what weights of zeros may shrink to; those of a trained net hardly shrink at all
_ALWAYS_FITS = 256 << 20  # bytes that any machine has
_SHOWN = 60  # letters of a name that an error shows
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what numpy writes; others may ask for gigabytes to begin with
_BYTES_MAKERS = re.compile(rb"c(builtins|__builtin__)\nbytearray\n|c_codecs\nencode\n")  # in a pickle
_TYPES = {
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool),
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
}


def check_size(path: Path, needed: int) -> None:
    """Raise a FileError if the contents of a file need far more memory than it has bytes."""
    size = path.stat().st_size
    if needed > max(_ALWAYS_FITS, _MOST_TIMES * size):
        raise FileError(
            f"{path}: claims {needed:,} bytes of values in a file of {size:,}; it is damaged, or made to fill memory"
        )


def check_archive(path: Path) -> None:
    """Check what an npz or torch's file would take, before anything in it is unpacked."""
    if path.suffix == ".safetensors":
        return  # its values are mapped
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            _check_pickle(path, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return
    with zipfile.ZipFile(path) as archive:
        check_size(path, sum(member.file_size for member in archive.infolist()))
        for member in archive.infolist():
            name = member.filename[:_SHOWN]
            if member.compress_type not in _METHODS or member.flag_bits & 1:
                raise FileError(f"{path}: '{name}' is packed in a way in which weights never are")
            if member.filename.endswith(".pkl"):
                _check_pickle(path, archive.read(member))


def _check_pickle(path: Path, data: bytes | mmap.mmap) -> None:
    """Refuse a pickle that makes bytes while it is read: a few letters can ask for any number of them."""
    if _BYTES_MAKERS.search(data):
        raise FileError(f"{path}: holds more than tensors by name; save module.state_dict()")


def check_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Raise a FileError unless tensors are plain numbers in memory, which they have all of."""
    for name, tensor in tensors.items():
        where = f"{path}: '{name[:_SHOWN]}'"
        plain = tensor.layout is torch.strided and tensor.device.type == "cpu"
        if not plain or tensor.is_quantized or tensor.is_nested:
            raise FileError(
                f"{where} isn't a plain tensor, but a sparse, quantized or nested one, or one without values"
            )
        if tensor.dtype not in _TYPES:
            kind = str(tensor.dtype).removeprefix("torch.")
            raise FileError(f"{where} has values of type {kind}; weights are real numbers, so convert them first")
        if tensor.ndim > MAX_AXES:
            raise FileError(f"{where} has {tensor.ndim:,} dimensions; Caffe has {MAX_AXES} at most")
        if math.prod(length or 1 for length in tensor.shape) >= 2**60:
            raise FileError(f"{where} has shape {list(tensor.shape)}, which is none; the file is damaged")
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise FileError(f"{where} claims more values than are stored; save it with .contiguous()")
    check_size(path, sum(tensor.numel() * tensor.element_size() for tensor in tensors.values()))

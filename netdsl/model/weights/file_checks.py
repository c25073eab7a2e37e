"""Checks files of tensors, which are untrusted: reading a file must not need far more memory than its size."""

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
from caffe_proto.limits import STORED_TIMES, Limit

_SHOWN = 60  # letters of a name in an error
# The methods that numpy writes; others may need gigabytes from the start.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BYTES_MAKERS = re.compile(rb"c(builtins|__builtin__)\nbytearray\n|c_codecs\nencode\n")  # pickle opcodes
_TYPES = {
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool),
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
}


def check_size(path: Path, needed: int) -> None:
    """Raise a `LimitError` if the contents of a file need far more memory than the file has bytes."""
    Limit.MEMORY.check(needed, f"{path}: the file", STORED_TIMES * path.stat().st_size)


def check_archive(path: Path) -> None:
    """Check how much memory an npz file or a torch file needs, before anything in it is unpacked."""
    if path.suffix == ".safetensors":
        return  # the values are mapped
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            _check_pickle(path, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return
    with zipfile.ZipFile(path) as archive:
        check_size(path, sum(member.file_size for member in archive.infolist()))
        for member in archive.infolist():
            name = member.filename[:_SHOWN]
            if member.compress_type not in _METHODS or member.flag_bits & 1:
                raise FileError(
                    f"{path}: '{name}' is compressed by a method that isn't used for weights; save it again "
                    "with torch.save(module.state_dict(), FILE)"
                )
            if member.filename.endswith(".pkl"):
                _check_pickle(path, archive.read(member))


def _check_pickle(path: Path, data: bytes | mmap.mmap) -> None:
    """Refuse a pickle that creates bytes while it is read, because a few letters can create any number of them."""
    if _BYTES_MAKERS.search(data):
        raise FileError(
            f"{path}: the file contains more than named tensors; save it again with torch.save(module.state_dict(), "
            "FILE)"
        )


def check_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Raise a `FileError` unless tensors are plain numbers in memory, with all of their values."""
    for name, tensor in tensors.items():
        where = f"{path}: '{name[:_SHOWN]}'"
        plain = tensor.layout is torch.strided and tensor.device.type == "cpu"
        if not plain or tensor.is_quantized or tensor.is_nested:
            raise FileError(
                f"{where} isn't a plain tensor; save it as a dense tensor, as with .to_dense() or .dequantize()"
            )
        if tensor.dtype not in _TYPES:
            kind = str(tensor.dtype).removeprefix("torch.")
            raise FileError(f"{where} has values of type {kind}; save it as real numbers, as with .float()")
        if tensor.ndim > MAX_AXES:
            raise FileError(
                f"{where} has {tensor.ndim:,} dimensions, but Caffe allows {MAX_AXES} at most; save it in another "
                "shape, as with .flatten(1)"
            )
        if math.prod(length or 1 for length in tensor.shape) >= 2**60:
            raise FileError(
                f"{where} has shape {list(tensor.shape)}, which is impossible; the file is damaged, so download it "
                "again"
            )
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise FileError(f"{where} claims more values than the file stores; save it again after .contiguous()")
    check_size(path, sum(tensor.numel() * tensor.element_size() for tensor in tensors.values()))

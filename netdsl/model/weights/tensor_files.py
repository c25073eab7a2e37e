"""Reads and writes files of named tensors: safetensors, npz, and torch's own. None of them is ever unpickled."""

from __future__ import annotations

import json
import re
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from caffe_proto.addresses import local_path
from caffe_proto.blobs import MAX_AXES
from caffe_proto.errors import FileError, MissingExtraError, import_extra
from caffe_proto.storage import atomic_path, check_regular
from netdsl.data.sources.npy import read_array
from netdsl.model.formats import TENSOR_SUFFIXES
from netdsl.model.weights.file_checks import check_archive, check_tensors
from netdsl.model.weights.match import AnyArray

Tensors = dict[str, Tensor]

# Words in errors of numpy and torch that advise unpickling the file.
_PICKLE = re.compile(r"weights.only|pickle", re.IGNORECASE)
_SHOWN, _LONGEST = 60, 300  # letters of a name, and of an error, in a message
_LENGTH = 8  # bytes of the length of a header in safetensors files
_WRAPPERS = ("state_dict", "model", "model_state_dict")  # keys under which training programs store a state_dict


class Precision(Enum):
    """The type in which values are stored."""

    FLOAT32 = torch.float32
    FLOAT16 = torch.float16
    BFLOAT16 = torch.bfloat16


@dataclass(frozen=True)
class TensorFormat:
    """The functions that read and write a format of files."""

    read: Callable[[Path], Tensors]
    write: Callable[[Path, Tensors, Mapping[str, str]], None]


def read_tensors(path: str | Path) -> dict[str, AnyArray]:
    """Read the tensors of a file by name. bfloat16 becomes float32, because numpy doesn't have bfloat16."""
    path = local_path(path)
    check_regular(path)
    try:
        check_archive(path)
        tensors = _FORMATS[path.suffix].read(path)
        check_tensors(path, tensors)
    except (MissingExtraError, FileError):
        raise
    except Exception as problem:  # an untrusted file may cause any error in the libraries
        reason = next(iter(str(problem).splitlines()), type(problem).__name__)
        if _PICKLE.search(reason):
            reason = "it contains more than named tensors, which could be code and is never run"
        raise FileError(
            f"{path}: not a readable {path.suffix} file: {reason[:_LONGEST]}; download or save it again"
        ) from None
    return {
        name: (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy() for name, tensor in tensors.items()
    }


def write_tensors(
    path: str | Path,
    arrays: Mapping[str, AnyArray],
    *,
    about: Mapping[str, str] | None = None,
    precision: Precision | None = None,
) -> None:
    """Write arrays by name in the format of the file's suffix, in their own types or all in one precision.

    `about` is metadata, which only safetensors files store.
    """
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
    if precision is not None:
        tensors = {name: tensor.to(precision.value) for name, tensor in tensors.items()}
    with atomic_path(path, nameless=True) as temporary:
        _FORMATS[Path(path).suffix].write(temporary, tensors, about or {})


def _safetensors() -> Any:
    return import_extra("safetensors.torch", "convert", "safetensors files need safetensors")


def _read_safetensors(path: Path) -> Tensors:
    _safetensors()
    from safetensors import safe_open

    tensors = {}
    with safe_open(path, "pt") as file:
        for name in file.keys():  # noqa: SIM118 - it isn't a mapping
            shape = file.get_slice(name).get_shape()
            if len(shape) > MAX_AXES:
                raise FileError(
                    f"{path}: '{name[:_SHOWN]}' has {len(shape):,} dimensions, but Caffe allows {MAX_AXES} at "
                    "most; save it in another shape, as with .flatten(1)"
                )
            tensors[name] = file.get_tensor(name)
    return tensors


def _write_safetensors(path: Path, tensors: Tensors, about: Mapping[str, str]) -> None:
    """Write a file whose bytes depend only on its contents: the library writes metadata in a random order."""
    data = memoryview(_safetensors().save(tensors, dict(about)))
    length = int.from_bytes(data[:_LENGTH], "little")
    header, values = json.loads(bytes(data[_LENGTH : _LENGTH + length])), data[_LENGTH + length :]
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    text = text.ljust(-(-len(text) // _LENGTH) * _LENGTH)  # the values begin at a multiple of eight bytes
    with path.open("wb") as file:
        for part in (len(text).to_bytes(_LENGTH, "little"), text, values):
            file.write(part)


def _read_npz(path: Path) -> Tensors:
    with zipfile.ZipFile(path) as archive:
        return {member.filename.removesuffix(".npy"): _read_member(archive, member) for member in archive.infolist()}


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Tensor:
    with archive.open(member) as file:
        try:
            array = read_array(file, member.file_size)
        except ValueError as problem:
            raise ValueError(f"'{member.filename[:_SHOWN]}': {problem}") from None
    return torch.from_numpy(array.astype(array.dtype.newbyteorder("="), copy=False))


def _write_npz(path: Path, tensors: Tensors, about: Mapping[str, str]) -> None:
    if any(tensor.dtype is torch.bfloat16 for tensor in tensors.values()):
        raise FileError("numpy doesn't have bfloat16; use a name that ends in .safetensors or .pt")
    with path.open("wb") as file:
        np.savez(file, **{name: tensor.numpy() for name, tensor in tensors.items()})  # type: ignore[arg-type]


def _read_torch(path: Path) -> Tensors:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about kinds of tensors that are refused here
        content = torch.load(path, map_location="cpu", weights_only=True)
    for _ in _WRAPPERS:
        wrapper = next((key for key in _WRAPPERS if key in content), None) if isinstance(content, dict) else None
        content = content if wrapper is None else content[wrapper]
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise FileError(
            f"{path}: the file doesn't contain a state_dict of named tensors; save it again with "
            "torch.save(module.state_dict(), FILE)"
        )
    return {str(name): value.detach() for name, value in content.items()}


def _write_torch(path: Path, tensors: Tensors, about: Mapping[str, str]) -> None:
    file = BytesIO()  # so that a full disk raises an OSError and not one of torch's errors
    torch.save(tensors, file)
    path.write_bytes(file.getbuffer())


_SAFETENSORS = TensorFormat(_read_safetensors, _write_safetensors)
_NPZ = TensorFormat(_read_npz, _write_npz)
_TORCH = TensorFormat(_read_torch, _write_torch)
_FORMATS = dict(zip(TENSOR_SUFFIXES, (_SAFETENSORS, _NPZ, _TORCH, _TORCH), strict=True))

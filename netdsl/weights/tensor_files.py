"""Files of named tensors: safetensors, npz, and torch's own, none of which is ever unpickled."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from caffe_proto.errors import FileError, MissingExtraError
from caffe_proto.storage import atomic_path
from netdsl.formats import TENSOR_SUFFIXES
from netdsl.weights.match import AnyArray

Tensors = dict[str, Tensor]

_PICKLE = re.compile(
    r"weights.only|pickle", re.IGNORECASE
)  # in errors of numpy and torch that advise to unpickle a file
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
    """Read the tensors of a file by name; bfloat16, which numpy doesn't have, becomes float32."""
    path = Path(path)
    if not path.is_file():
        raise FileError(f"{path}: can't be opened: no such file")
    try:
        tensors = _FORMATS[path.suffix].read(path)
    except (MissingExtraError, FileError):
        raise
    except Exception as problem:  # any error of the libraries, which an untrusted file may cause
        reason = next(iter(str(problem).splitlines()), type(problem).__name__)
        if _PICKLE.search(reason):
            reason = "it holds more than tensors by name, which could be code and is never run"
        raise FileError(f"{path}: is no {path.suffix} file that can be read: {reason}") from None
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
    """Write arrays by name, as they are or all in one precision, in the format of the file's suffix.

    `about` is metadata, which only safetensors store.
    """
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
    if precision is not None:
        tensors = {name: tensor.to(precision.value) for name, tensor in tensors.items()}
    with atomic_path(path, nameless=True) as temporary:
        _FORMATS[Path(path).suffix].write(temporary, tensors, about or {})


def _safetensors() -> Any:
    """The safetensors library, or an error that tells how to install it."""
    try:
        import safetensors.torch
    except ImportError:
        raise MissingExtraError("safetensors files need safetensors: pip install 'netdsl[convert]'") from None
    return safetensors.torch


def _read_safetensors(path: Path) -> Tensors:
    tensors: Tensors = _safetensors().load_file(path)
    return tensors


def _write_safetensors(path: Path, tensors: Tensors, about: Mapping[str, str]) -> None:
    path.write_bytes(_safetensors().save(tensors, dict(about)))


def _read_npz(path: Path) -> Tensors:
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        return {name: torch.from_numpy(file[name]) for name in file.files}


def _write_npz(path: Path, tensors: Tensors, about: Mapping[str, str]) -> None:
    if any(tensor.dtype is torch.bfloat16 for tensor in tensors.values()):
        raise FileError("numpy has no bfloat16; write .safetensors or .pt")
    with path.open("wb") as file:
        np.savez(file, **{name: tensor.numpy() for name, tensor in tensors.items()})  # type: ignore[arg-type]


def _read_torch(path: Path) -> Tensors:
    content = torch.load(path, map_location="cpu", weights_only=True)
    while isinstance(content, dict) and (wrapper := next((key for key in _WRAPPERS if key in content), None)):
        content = content[wrapper]
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise FileError(f"{path}: holds no state_dict, that is tensors by name; save module.state_dict()")
    return {str(name): value.detach() for name, value in content.items()}


def _write_torch(path: Path, tensors: Tensors, about: Mapping[str, str]) -> None:
    file = BytesIO()  # so that a full disk is an OSError, not one of torch's
    torch.save(tensors, file)
    path.write_bytes(file.getbuffer())


_SAFETENSORS = TensorFormat(_read_safetensors, _write_safetensors)
_NPZ = TensorFormat(_read_npz, _write_npz)
_TORCH = TensorFormat(_read_torch, _write_torch)
_FORMATS = dict(zip(TENSOR_SUFFIXES, (_SAFETENSORS, _NPZ, _TORCH, _TORCH), strict=True))

"""Compares the first bytes of a file with its name, so that what is stored as weights isn't an error page or a
pointer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import PurePosixPath

from caffe_proto import hdf5
from caffe_proto.errors import BinaryError
from caffe_proto.files import LFS_POINTER, is_text
from caffe_proto.wire import FIXED32, FIXED64, LENGTH, VARINT, read_varint

BEGINNING = 4096  # the number of bytes to compare

_WEB_PAGE = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype\s+html|html)", re.IGNORECASE)
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_NUMPY = b"\x93NUMPY"
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_PICKLED = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_SIGNATURES = (hdf5.SIGNATURE, *_ZIP, _NUMPY, *_COMPRESSED, *_PICKLED)
_LONGEST_HEADER = 100_000_000  # of a safetensors file, by its specification

# The wire types of the fields with which these messages begin. Other fields may belong to a fork.
_NET = {1: LENGTH, 2: LENGTH, 3: LENGTH, 100: LENGTH}
_BLOB = {1: VARINT, 2: VARINT, 3: VARINT, 4: VARINT, 7: LENGTH}
_ONNX = {1: VARINT, 2: LENGTH, 7: LENGTH, 8: LENGTH}


def misfit(name: str, start: bytes) -> str | None:
    """Return a problem with advice if a file's first bytes aren't those of a file with its name, or `None`."""
    if start.startswith(LFS_POINTER):
        return (
            "this is a Git LFS pointer instead of the file itself; name the address of the file, often with /media/ or "
            "/resolve/ instead of /raw/, or run `git lfs pull` in its repository and pull the local file"
        )
    if _WEB_PAGE.match(start):
        return "this is a web page instead of a model's file; name the address of the file itself"
    known = _FORMATS.get(PurePosixPath(name).suffix.lower())
    if known is None:
        return None
    expected, fits = known
    if fits(start):
        return None
    return (
        f"the name is that of {expected}, but the first bytes are those of {_appearance(start)}; name another file, or "
        "download this one, rename it and pull the local file"
    )


def _starts_message(fields: Mapping[int, int], start: bytes) -> bool:
    """Return whether the bytes may be the beginning of a binary message with these fields."""
    # A message's tags and lengths aren't text, but the other beginnings might be those of unknown fields.
    if is_text(start) or start.startswith(_SIGNATURES) or _starts_safetensors(start):
        return False
    try:
        key, _ = read_varint(start, 0, len(start))
    except BinaryError:
        return False
    number, kind = key >> 3, key & 7
    return number > 0 and kind in (VARINT, FIXED64, LENGTH, FIXED32) and kind == fields.get(number, kind)


def _starts_safetensors(start: bytes) -> bool:
    return int.from_bytes(start[:8], "little") <= _LONGEST_HEADER and start[8:9] == b"{"


# The format that a suffix stands for, and whether bytes may be the beginning of such a file.
_FORMATS: dict[str, tuple[str, Callable[[bytes], bool]]] = {
    ".caffemodel": ("a caffemodel", partial(_starts_message, _NET)),
    ".binaryproto": ("a binary mean", partial(_starts_message, _BLOB)),
    ".onnx": ("an ONNX file", partial(_starts_message, _ONNX)),
    ".h5": ("an HDF5 file", lambda start: start.startswith(hdf5.SIGNATURE)),
    ".npz": ("a zip file of numpy arrays", lambda start: start.startswith(_ZIP)),
    ".npy": ("a numpy array", lambda start: start.startswith(_NUMPY)),
    ".safetensors": ("a safetensors file", _starts_safetensors),
    ".prototxt": ("a text", lambda start: is_text(start) and not start.lstrip().startswith((b"<?", b"{"))),
}


def _appearance(start: bytes) -> str:
    """Return a description of a file by its first bytes."""
    text = start.lstrip()
    looks: dict[str, object] = {
        "an empty file": not start,
        "an HDF5 file": start.startswith(hdf5.SIGNATURE),
        "a zip file, as torch and numpy write": start.startswith(_ZIP),
        "a numpy array": start.startswith(_NUMPY),
        "a compressed file": start.startswith(_COMPRESSED),
        "a pickled file": start.startswith(_PICKLED),
        "a safetensors file": _starts_safetensors(start),
        "a JSON text": is_text(start) and text.startswith((b"{", b"[")),
        "an XML text": is_text(start) and text.startswith(b"<"),
        "a text": is_text(start),
        "an ONNX file": start[:1] == b"\x08",
        "a caffemodel": start[:1] in (b"\n", b"\x12", b"\xa2"),
    }
    return next((look for look, applies in looks.items() if applies), "another format")

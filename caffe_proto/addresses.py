"""Addresses such as s3://bucket/net.prototxt: how they differ from paths, and the error where only a path works."""

from __future__ import annotations

import os
import re
from pathlib import Path

from caffe_proto.errors import FileError

_SCHEME = r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)"
_ADDRESS = re.compile(rf"{_SCHEME}://[^\s,]*")
_WITHOUT_SLASH = re.compile(rf"{_SCHEME}:")  # the first folder of an address that became a `Path`
_USER = re.compile(r"(?<=://)[^/@]*:[^/@]*@")

# The programs that copy between this machine and the storage of a scheme.
_COPY_PROGRAMS = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "aws s3 cp"),
    **dict.fromkeys(("gs", "gcs"), "gcloud storage cp"),
    **dict.fromkeys(("abfs", "abfss", "az", "wasb", "wasbs"), "azcopy copy"),
    **dict.fromkeys(("hdfs", "viewfs", "webhdfs"), "hdfs dfs"),
    **dict.fromkeys(("http", "https", "ftp"), "curl"),
    "sftp": "scp",
    "dbfs": "databricks fs cp",
    "hf": "hf",
}
_OWN = ("file", "local", "memory")  # schemes of fsspec's own


def address_in(text: str | os.PathLike[str]) -> str | None:
    """Return the first address in a text, such as that in lmdb:s3://bucket/train, or `None`.

    `Path` turns s3://bucket into s3:/bucket. That counts too if the scheme is well known, unless there is a folder of
    this name.
    """
    text = os.fspath(text)
    match = _ADDRESS.search(text)
    if match is not None:
        return match[0]
    first = _WITHOUT_SLASH.fullmatch(text.partition("/")[0])
    if first is None or "/" not in text or first["scheme"].lower() not in (*_COPY_PROGRAMS, *_OWN):
        return None
    return None if Path(first[0]).is_dir() else text.replace(":/", "://", 1)


def scheme_of(address: str) -> str:
    """Return the scheme of an address in lower case."""
    return address.partition("://")[0].lower()


def shown_address(address: str) -> str:
    """Return an address for messages: without a password, and without a query, which can be a permission."""
    return _USER.sub("", address).partition("?")[0]


def local_path(path: str | os.PathLike[str], needed: str = "a path") -> Path:
    """Return the path of a file or folder on this machine. Raises a `FileError` for an address.

    Without this check, s3://bucket/run would become a folder with the name s3: on this machine.
    """
    address = address_in(path)
    if address is None:
        return Path(path)
    raise FileError(f"{shown_address(address)}: {address_problem(address, needed)}")


def address_problem(address: str, needed: str = "a path") -> str:
    """Return the sentence that an address can't be used, and what to do instead."""
    sentence = f"this must be {needed} on this machine, not an address"
    scheme = scheme_of(address)
    if scheme == "file":
        return f"{sentence}; leave out file://"
    if scheme not in _COPY_PROGRAMS:
        return f"{sentence}, and no storage with the scheme {scheme}:// is known; name {needed} on this machine"
    return f"{sentence}; name {needed} on this machine, and copy the files with `{_COPY_PROGRAMS[scheme]}`"

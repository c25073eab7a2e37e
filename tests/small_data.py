"""Small data files for tests: encoded images, tar files, and LMDBs from LMDB's own library."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest


def png(pixels: np.ndarray) -> bytes:
    """Encode an image (height, width, optional channels) as a PNG."""
    cv2 = pytest.importorskip("cv2")
    return bytes(cv2.imencode(".png", pixels)[1])


def png_of(image: np.ndarray) -> bytes:
    """Encode an image (channels, height, width), as sources return it, as a PNG."""
    return png(image.transpose(1, 2, 0))


def write_lmdb(path: Path, records: Iterable[tuple[bytes, bytes]]) -> Path:
    """Write records to an LMDB, without the lock file."""
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(path), map_size=1 << 24) as environment, environment.begin(write=True) as transaction:
        for key, value in records:
            transaction.put(key, value)
    (path / "lock.mdb").unlink()
    return path


def write_tar(path: Path, files: Mapping[str, bytes], form: int = tarfile.USTAR_FORMAT) -> Path:
    """Write files to a tar in a folder that may be new."""
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w", format=form) as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, BytesIO(data))
    return path


def records_in(path: str | Path) -> list[tuple[bytes, bytes]]:
    """Return the records of an LMDB."""
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(path), readonly=True, lock=False) as environment, environment.begin() as transaction:
        return [(bytes(key), bytes(value)) for key, value in transaction.cursor()]

"""Small data files for tests: encoded images, and LMDBs from LMDB's own library."""

from __future__ import annotations

from collections.abc import Iterable
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


def records_in(path: str | Path) -> list[tuple[bytes, bytes]]:
    """Return the records of an LMDB."""
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(path), readonly=True, lock=False) as environment, environment.begin() as transaction:
        return [(bytes(key), bytes(value)) for key, value in transaction.cursor()]

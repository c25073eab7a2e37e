"""Where items are written to: LMDB and LevelDB with Caffe's records, or Parquet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from netdsl.data.writing.databases import leveldb_writer, lmdb_writer
from netdsl.data.writing.example import Put
from netdsl.data.writing.parquet import parquet_writer
from netdsl.errors import DataError

Writer = Callable[[Path], AbstractContextManager[Put]]


@dataclass(frozen=True)
class WriteTarget:
    """What is to be written, and where."""

    path: Path
    writer: Writer


WRITERS: dict[str, Writer] = {"lmdb": lmdb_writer, "leveldb": leveldb_writer, "parquet": parquet_writer}


def target_of(name: str) -> WriteTarget:
    """What a name such as `lmdb:PATH`, `train_lmdb` or `train.parquet` asks for."""
    kind, colon, path = name.partition(":")
    if colon and path and kind in WRITERS:
        return WriteTarget(Path(path), WRITERS[kind])
    for kind, writer in WRITERS.items():
        if name.endswith((f".{kind}", f"_{kind}")):
            return WriteTarget(Path(name), writer)
    forms = ", ".join(f"{kind}:PATH" for kind in WRITERS)
    raise DataError(f"{name}: the name doesn't say what to write; use {forms}, or a name with such an ending")

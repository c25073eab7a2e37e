"""Results under addresses: written here, then published whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from caffe_proto.errors import FileError
from netdsl.errors import StorageError
from netdsl.model.weights.writing import write_weights
from netdsl.storage.cache_folder import cache_folder
from netdsl.storage.local_copies import with_addresses
from netdsl.storage.outgoing import outgoing_path, published_path
from tests.memory_storage import Put, stored

ADDRESS = "memory://bucket/nets/net.onnx"


def test_a_file_is_published_with_those_next_to_it(put: Put) -> None:
    put(ADDRESS, "old")
    with outgoing_path(ADDRESS) as path:
        path.write_bytes(b"net")
        path.with_name("net.data").write_bytes(b"values")
        assert with_addresses(f"wrote {path}") == f"wrote {ADDRESS}"
        assert stored() == {"/bucket/nets/net.onnx": b"old"}
    assert stored() == {"/bucket/nets/net.onnx": b"net", "/bucket/nets/net.data": b"values"}
    assert not list((cache_folder() / "outgoing").iterdir())


def test_a_folder_is_published_with_the_nets_after_the_weights(put: Put, published: list[str]) -> None:
    with outgoing_path("memory://bucket/nets/") as path:
        for name in ("solver.prototxt", "deploy.prototxt", "train_val.prototxt", "deploy.caffemodel", "rows/data.mdb"):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(name)
        path.with_name("nets.json").write_text("read with the folder")
    names = [address.removeprefix("memory://bucket/") for address in published]
    assert names[0] == "nets.json" and {*names[1:3]} == {"nets/deploy.caffemodel", "nets/rows/data.mdb"}
    assert {*names[3:5]} == {"nets/deploy.prototxt", "nets/train_val.prototxt"} and names[5:] == [
        "nets/solver.prototxt"
    ]


def test_a_program_writes_weights_under_an_address(put: Put) -> None:
    with published_path("here.txt") as path:
        assert path == Path("here.txt")
    weights = {"ip": [np.ones((2, 3), np.float32)]}
    for name in ("w.safetensors", "w.caffemodel"):
        write_weights(weights, f"memory://bucket/{name}")
    with pytest.raises(FileError, match=r"^memory://bucket/w.txt: weights can't be written as '.txt'"):
        write_weights(weights, "memory://bucket/w.txt")
    assert sorted(stored()) == ["/bucket/w.caffemodel", "/bucket/w.safetensors"]


def test_nothing_is_published_after_an_error(put: Put) -> None:
    with pytest.raises(RuntimeError), outgoing_path(ADDRESS) as path:
        path.write_bytes(b"net")
        raise RuntimeError("the work failed")
    assert not stored() and not list((cache_folder() / "outgoing").iterdir())


def test_a_result_that_cannot_be_published_stays_here(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ADDRESS, "old")
    put_file = fsspec.filesystem("memory").put_file

    def cut(source: str, target: str, **settings: Any) -> None:
        put_file(source, target, **settings)
        fsspec.filesystem("memory").pipe_file(target, b"ne")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "put_file", staticmethod(cut))
    lost = pytest.raises(StorageError, match=r"2 of 3 bytes arrived.*; copy the result from (/.*/outgoing/\w+)$")
    with lost as problem, outgoing_path(ADDRESS) as path:
        path.write_bytes(b"net")
    kept = Path(str(problem.value).rpartition(" ")[2])
    assert (kept / "net.onnx").read_bytes() == b"net" and stored() == {"/bucket/nets/net.onnx": b"old"}


def test_the_web_is_only_read(put: Put) -> None:
    with pytest.raises(StorageError, match="files can't be written there"):
        outgoing_path("https://example.org/net.onnx").__enter__()

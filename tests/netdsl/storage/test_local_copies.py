"""Files and folders with addresses: copied once for each version, checked, and opened as files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from time import sleep
from types import SimpleNamespace

import pytest

from caffe_proto.errors import FileError, LimitError, MissingExtraError
from netdsl import Net
from netdsl.data.reader import open_reader
from netdsl.data.sources.open_source import parse_source
from netdsl.errors import StorageError
from netdsl.layer.data import with_stored_files
from netdsl.model import open_model
from netdsl.solver.settings import open_settings, read_settings
from netdsl.storage import local_copies, transfers
from netdsl.storage.drivers import DriverStorage
from netdsl.storage.local_copies import local_copy, path_in_file, remove_unused_copies, with_local_paths
from netdsl.storage.schemes import StoredObject
from tests.memory_storage import Put

NET = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 2 } } }'
ADDRESS = "memory://bucket/net.prototxt"


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of addresses whose bytes are read."""
    addresses, pieces = list[str](), DriverStorage.pieces

    def counted(self: DriverStorage, stored: StoredObject) -> Iterator[bytes]:
        addresses.append(stored.address)
        return pieces(self, stored)

    monkeypatch.setattr(DriverStorage, "pieces", counted)
    return addresses


def kept() -> list[Path]:
    return sorted(local_copies._copies_folder().iterdir()) if local_copies._copies_folder().exists() else []


def test_a_file_is_fetched_once_for_each_version(put: Put, fetched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    put(ADDRESS, NET)
    first = local_copy(ADDRESS)
    assert first.name == "net.prototxt" and first.read_text() == NET
    monkeypatch.setattr(local_copies, "_opened", {})  # as in the next command
    assert local_copy(ADDRESS) == first and fetched == [ADDRESS]
    put(ADDRESS, NET.replace("dim: 2", "dim: 3"))
    assert local_copy(ADDRESS).read_text() == NET.replace("dim: 2", "dim: 3") and fetched == [ADDRESS] * 2


def test_a_damaged_copy_is_fetched_again(put: Put, fetched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    put(ADDRESS, NET)
    copy = local_copy(ADDRESS)
    copy.write_text(NET.replace("dim: 2", "dim: 9"))
    monkeypatch.setattr(local_copies, "_opened", {})
    assert local_copy(ADDRESS).read_text() == NET and len(fetched) == 2


def test_a_copy_in_a_cache_that_is_only_for_reading_is_used(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ADDRESS, NET)
    copy = local_copy(ADDRESS)

    def refuse(path: Path) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(local_copies.os, "utime", refuse)
    assert local_copy(ADDRESS) == copy


def test_copies_that_are_no_longer_used_are_removed(put: Put) -> None:
    addresses = [f"memory://bucket/{name}.prototxt" for name in ("old", "new")]
    for address in addresses:
        put(address, NET)
    old, new = map(local_copy, addresses)
    os.utime(old.parent, (0, 0))
    [(removed, origin)] = remove_unused_copies(30)
    assert (removed, origin) == (old.parent, addresses[0]) and not old.exists() and new.exists()
    assert [folder for folder, _ in remove_unused_copies(0)] == [new.parent]
    assert not remove_unused_copies(0)


def test_a_folder_is_copied_with_everything_below(put: Put, fetched: list[str]) -> None:
    for name in ("a.txt", "b/c.txt", "b/d.txt"):
        put(f"memory://bucket/set/{name}", name)
    copy = local_copy("memory://bucket/set/")
    assert {str(path.relative_to(copy)): path.read_text() for path in copy.rglob("*.txt")} == {
        name: name for name in ("a.txt", "b/c.txt", "b/d.txt")
    }
    assert with_local_paths("mnist:memory://bucket/set:test?items=x") == f"mnist:{copy}:test?items=x"
    put("memory://bucket/set/b/c.txt", "new")
    assert (local_copy("memory://bucket/set") / "b" / "c.txt").read_text() == "new"


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("nowhere://x/y", r"nowhere://x/y: addresses with nowhere:// can't be read; .*s3://, .*https://, memory://"),
        ("file:///etc/passwd", "can't be read"),
        ("filecache::memory://bucket/net.prototxt", "'::'"),
        ("memory://bucket/net.prototxt?x=1", r"leave out '::' and '\?'"),
        ("s3://me:secret@bucket/x", r"^s3://bucket/x: the address contains a password"),
        ("memory://bucket/none", "memory://bucket/none: there is no such file or folder"),
        ("memory://", "names no file"),
    ],
)
def test_addresses_that_cannot_be_read(address: str, problem: str, put: Put) -> None:
    put(ADDRESS, NET)
    with pytest.raises(StorageError, match=problem):
        local_copy(address)
    assert not kept()


@pytest.mark.skipif(find_spec("gcsfs") is not None, reason="the driver is installed")
def test_a_missing_driver_is_a_sentence_with_its_extra(put: Put) -> None:
    with pytest.raises(MissingExtraError, match=r"gs://bucket/x: .* gcsfs: pip install 'netdsl\[gs\]'"):
        local_copy("gs://bucket/x")


def test_an_interrupted_fetch_leaves_nothing(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put("memory://bucket/set/a", "1")
    put("memory://bucket/set/b", "2")

    def ends(self: DriverStorage, stored: StoredObject) -> Iterator[bytes]:
        yield b"x"
        if stored.address.endswith("b"):
            raise StorageError("the connection ended")

    monkeypatch.setattr(DriverStorage, "pieces", ends)
    with pytest.raises(StorageError, match="the connection ended"):
        local_copy("memory://bucket/set")
    monkeypatch.setattr(DriverStorage, "pieces", lambda self, stored: iter([b"too long"]))
    with pytest.raises(StorageError, match="8 of 1 bytes arrived"):
        local_copy("memory://bucket/set")
    assert not kept()


def test_a_storage_that_says_nothing_is_given_up(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ADDRESS, NET)
    monkeypatch.setattr(transfers, "_SILENCE", 0.2)
    monkeypatch.setattr(DriverStorage, "pieces", lambda self, stored: iter(lambda: sleep(30), None))
    with pytest.raises(StorageError, match=r"net.prototxt: the storage has sent nothing for 0.2 seconds"):
        local_copy(ADDRESS)
    assert not kept()


def test_a_file_that_changes_while_it_is_fetched_is_not_used(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ADDRESS, NET)

    def changing(self: DriverStorage, stored: StoredObject) -> Iterator[bytes]:
        put(ADDRESS, NET + " ")
        yield NET.encode()

    monkeypatch.setattr(DriverStorage, "pieces", changing)
    with pytest.raises(StorageError, match="changed while it was fetched"):
        local_copy(ADDRESS)
    assert not kept()


def test_a_file_beyond_the_limit_or_the_disk_is_refused(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ADDRESS, NET)
    monkeypatch.setenv("NETDSL_LIMITS", "address-bytes=10")
    with pytest.raises(LimitError, match="address-bytes"):
        local_copy(ADDRESS)
    monkeypatch.delenv("NETDSL_LIMITS")
    monkeypatch.setattr(local_copies.shutil, "disk_usage", lambda path: SimpleNamespace(free=1))
    with pytest.raises(FileError, match=r"the disk needs .* more free bytes for memory://bucket/net\.prototxt"):
        local_copy(ADDRESS)
    assert not kept()


def test_names_from_a_storage_cannot_leave_the_copy(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = {"../../x": StoredObject("memory://bucket/x", 1, "1")}
    monkeypatch.setattr(DriverStorage, "objects", lambda self, address: outside)
    with pytest.raises(StorageError, match="isn't the name of a file below the folder"):
        local_copy("memory://bucket/set")


def test_nets_weights_and_solvers_are_opened_from_addresses(put: Put) -> None:
    put(ADDRESS, NET)
    put("memory://bucket/solver.prototxt", 'net: "net.prototxt" base_lr: 1 lr_policy: "fixed"')
    assert Net(ADDRESS).forward(x=[[1.0, 2.0]])
    assert open_model(ADDRESS).net.layer[0].name == "x"
    settings = open_settings("memory://bucket/solver.prototxt")
    assert settings.net is not None and settings.net.net.layer[0].name == "x"
    assert settings.param.snapshot_prefix == "solver" and not list(Path.cwd().iterdir())


def test_a_program_reads_data_from_an_address(put: Put) -> None:
    put("memory://bucket/rows.csv", "a,label\n1,0\n2,1\n")
    with open_reader("csv:memory://bucket/rows.csv", batch_size=2) as reader:
        assert len(reader) == 1


def test_a_file_names_other_addresses_only_if_the_user_allows_them(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(ADDRESS, NET)
    put("memory://bucket/nets/solver.prototxt", f'net: "{ADDRESS}" base_lr: 1 lr_policy: "fixed"')
    refused = r"memory://bucket/net.prototxt: a file names this address.*NETDSL_ALLOW_ADDRESSES=memory://bucket/"
    with pytest.raises(StorageError, match=refused):
        open_settings("memory://bucket/nets/solver.prototxt")
    monkeypatch.setenv("NETDSL_ALLOW_ADDRESSES", "memory://other/, memory://bucket/")
    assert open_settings("memory://bucket/nets/solver.prototxt").net is not None
    monkeypatch.delenv("NETDSL_ALLOW_ADDRESSES")
    folder = local_copy("memory://bucket/nets/solver.prototxt").parent
    assert path_in_file("../net.prototxt", folder) is None and path_in_file("/etc/passwd", folder) is None
    assert path_in_file("net.prototxt", tmp_path) is None
    (tmp_path / "solver.prototxt").write_text(f'net: "{ADDRESS}" base_lr: 1 lr_policy: "fixed"')
    with pytest.raises(StorageError, match=refused):
        read_settings(tmp_path / "solver.prototxt")


def test_a_net_finds_its_data_and_mean_beside_its_address(put: Put) -> None:
    put("memory://bucket/list.txt", "")
    put("memory://bucket/train.h5", b"")
    put(
        "memory://bucket/data.prototxt",
        NET.replace('type: "Input"', 'type: "HDF5Data" hdf5_data_param { source: "list.txt" batch_size: 1 }').replace(
            "input_param { shape { dim: 1 dim: 2 } }", ""
        ),
    )
    with pytest.raises(Exception, match=r"list\.txt: the list is empty"):
        Net("memory://bucket/data.prototxt", phase="TRAIN").train(epochs=1)


@pytest.mark.parametrize("source", ["csv:rows.csv", "csv:memory://bucket/rows.csv"])
def test_a_net_names_data_of_a_kind_beside_its_address_or_at_another(
    put: Put, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    put("memory://bucket/rows.csv", "a,label\n1,0\n")
    put(ADDRESS, f'layer {{ name: "x" type: "Data" top: "x" data_param {{ source: "{source}?columns=a" }} }}')
    layer = open_model(ADDRESS).net.layer[0]
    if "://" in source:
        with pytest.raises(StorageError, match="NETDSL_ALLOW_ADDRESSES=memory://bucket/"):
            with_stored_files(layer)
        monkeypatch.setenv("NETDSL_ALLOW_ADDRESSES", "memory://bucket/")
    stored = parse_source(with_stored_files(layer).data_param.source)
    assert (stored.kind, stored.query) == ("csv", "columns=a")
    assert Path(stored.path) == local_copy("memory://bucket/rows.csv")

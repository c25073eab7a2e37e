"""Addresses such as s3://bucket/file are distinguished from paths, and never become folders of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from caffe_proto import read
from caffe_proto.addresses import address_in, local_path, shown_address
from caffe_proto.errors import FileError
from caffe_proto.storage import create_folder, write_pieces


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("s3://bucket/net.prototxt", "s3://bucket/net.prototxt"),
        ("lmdb:hdfs://host/train", "hdfs://host/train"),
        ("net.prototxt,gs://bucket/w.npz", "gs://bucket/w.npz"),
        ("odd+scheme.1://x", "odd+scheme.1://x"),
        (Path("s3://bucket/net.prototxt"), "s3://bucket/net.prototxt"),
        ("/Volumes/main/net.prototxt", None),
        ("lmdb:/data/train", None),
        ("folder:a/b", None),
        ("time:12/net.prototxt", None),
        ("s3:", None),
    ],
)
def test_addresses_are_told_from_paths(
    text: str | Path, address: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert address_in(text) == address


def test_no_folder_is_named_after_a_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    problem = r"hdfs://n/run: this must be .* on this machine, not an address; .* `hdfs dfs`"
    with pytest.raises(FileError, match=problem):
        create_folder(Path("hdfs://n/run"))
    with pytest.raises(FileError, match=problem):
        write_pieces("hdfs://n/run", [b"x"])
    with pytest.raises(FileError, match=problem):
        read("hdfs://n/run")
    with pytest.raises(FileError, match=r"file:///x: this must be a path on this machine.*; leave out file://"):
        local_path("file:///x")
    with pytest.raises(FileError, match="no storage with the scheme nowhere:// is known"):
        local_path("nowhere://x")
    assert not list(tmp_path.iterdir())


def test_a_folder_with_a_colon_stays_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hdfs:").mkdir()
    create_folder(Path("hdfs:/n/run"))
    write_pieces("hdfs:/n/run/file", [b"x"])
    assert (tmp_path / "hdfs:" / "n" / "run" / "file").read_bytes() == b"x"


def test_passwords_and_permissions_in_addresses_are_not_shown() -> None:
    assert shown_address("s3://me:secret@bucket/x?X-Amz-Signature=f00") == "s3://bucket/x"
    assert shown_address("abfs://files@account.dfs.core.windows.net/x") == "abfs://files@account.dfs.core.windows.net/x"

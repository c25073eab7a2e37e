"""Files are moved into place once all of them are complete, with the permissions of the files that they replace."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from caffe_proto.errors import FileError
from converters.staging import staged_file, staged_files


def test_a_file_is_moved_into_place_with_its_companion_files(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/net.onnx").write_text("before")
    (tmp_path / "real/net.onnx").chmod(0o640)
    (tmp_path / "link.onnx").symlink_to(tmp_path / "real/net.onnx")
    with staged_file(tmp_path / "link.onnx") as staged:
        staged.write_text("after")
        staged.with_name("net.onnx.data").write_text("values")
        assert (tmp_path / "real/net.onnx").read_text() == "before"
    assert {path.name: path.read_text() for path in (tmp_path / "real").iterdir()} == {
        "net.onnx": "after",
        "net.onnx.data": "values",
    }
    assert (tmp_path / "link.onnx").is_symlink()
    assert (tmp_path / "real/net.onnx").stat().st_mode & 0o777 == 0o640


def test_a_pipe_gets_the_bytes_of_a_complete_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got = list[bytes]()
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    with staged_file(tmp_path / "pipe") as staged:
        staged.write_bytes(b"x" * 3_000_000)
    reader.join()
    assert got == [b"x" * 3_000_000]
    assert (tmp_path / "pipe").is_fifo()


def test_an_error_leaves_no_file_and_names_the_requested_path(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    with pytest.raises(FileError, match=f"^{path}: isn't good$"), staged_file(path) as staged:
        staged.write_text("half")
        raise FileError(f"{staged}: isn't good")
    with pytest.raises(KeyError), staged_files(tmp_path / "new/deeper") as staging:
        (staging / "file").write_text("half")
        raise KeyError
    with pytest.raises(FileError, match=r"net.onnx: this is a directory; name a file in it"):
        path.mkdir()
        with staged_file(path):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]

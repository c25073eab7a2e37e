"""Files that a rank other than the first writes: they are private to it, and it reads them back."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto.storage import check_regular, write_pieces
from netdsl.transparent.files import private_files


def test_other_ranks_files_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log").write_text("old\n")
    with private_files():
        Path("made").mkdir()
        with Path("log").open("a") as file:
            file.write("new\n")
        np.save("made/values.npy", np.arange(3))
        torch.save(torch.ones(2), "made/ones.pt")
        write_pieces("net.caffemodel", [b"blobs"])
        Path("log").rename("made/renamed")
        assert Path("made/renamed").read_text() == "old\nnew\n"
        assert np.load("made/values.npy").tolist() == [0, 1, 2]
        assert torch.load("made/ones.pt").sum() == 2
        assert Path("net.caffemodel").read_bytes() == b"blobs"
        assert Path("net.caffemodel").is_file() and Path("made/ones.pt").stat().st_size > 100
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert Path("log").read_text() == "old\n"


def test_a_ranks_file_has_the_size_of_its_own_content(tmp_path: Path) -> None:
    """This holds while the first rank is about to rewrite the file, too."""
    file = tmp_path / "net.prototxt"
    with private_files():
        file.write_text("layer {}")
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT))  # the first rank's file at that moment
        assert file.stat().st_size == 8
        check_regular(file)
    assert file.stat().st_size == 0


def test_temporary_folders_are_made_and_removed(tmp_path: Path) -> None:
    with private_files():
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            Path(folder, "file").write_text("text")
            assert Path(folder, "file").exists()
        assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_the_same_error(tmp_path: Path) -> None:
    with private_files(), pytest.raises(FileNotFoundError):
        Path(tmp_path, "missing", "file").write_text("text")

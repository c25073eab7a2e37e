"""What a rank other than the first writes is its own, and it reads it back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto.storage import write_pieces
from netdsl.transparent.files import private_files


def test_others_see_nothing_of_what_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert Path("log").read_text() == "old\n"


def test_temporary_folders_are_made_and_go(tmp_path: Path) -> None:
    with private_files():
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            Path(folder, "file").write_text("text")
            assert Path(folder, "file").exists()
        assert not list(tmp_path.iterdir())


def test_a_folder_that_is_missing_is_the_same_error(tmp_path: Path) -> None:
    with private_files(), pytest.raises(FileNotFoundError):
        Path(tmp_path, "missing", "file").write_text("text")

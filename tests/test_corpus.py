"""Real files from a folder outside the repository: each is read, or named with the reason why it can't be."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from caffe_proto import CaffeError, from_text, prototxt, read, upgrade_file

FOLDER = os.environ.get("NETDSL_CORPUS")


@pytest.mark.corpus
@pytest.mark.skipif(not FOLDER, reason="NETDSL_CORPUS names no folder")
def test_real_files_are_read_and_written_back(capsys: pytest.CaptureFixture[str]) -> None:
    paths = sorted(path for path in Path(str(FOLDER)).rglob("*.prototxt*") if path.is_file())
    unreadable, refused = [], []
    for path in paths:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                file = read(path, lenient=True)
            except CaffeError as problem:
                unreadable.append(str(problem))
                continue
        assert from_text(prototxt(file), type(file.message), lenient=True) == file.message, path
        try:
            upgrade_file(file)
        except CaffeError as problem:
            refused.append(f"{path}: {problem}")
    with capsys.disabled():
        print(f"\n{len(paths)} files, {len(unreadable)} can't be read, {len(refused)} can't be upgraded")
        print("\n".join([*unreadable, *refused]))
    assert paths

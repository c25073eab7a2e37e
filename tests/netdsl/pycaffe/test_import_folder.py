"""A folder on PYTHONPATH in which Python finds `caffe`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from netdsl.own_packages import IMPORTABLE_CAFFE

SCRIPT = "import caffe, caffe.io, netdsl.pycaffe\nfrom caffe import layers as L\nfrom caffe.proto import caffe_pb2\n"
SCRIPT += "print(caffe is netdsl.pycaffe, caffe.io is netdsl.pycaffe.io)"


def printed(script: str, folder: Path, *more: str) -> str:
    path = os.pathsep.join([*more, os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-c", script]
    return subprocess.run(
        words, env={**os.environ, "PYTHONPATH": path}, cwd=folder, text=True, capture_output=True, check=True
    ).stdout


def test_import_caffe_finds_pycaffe(tmp_path: Path) -> None:
    assert printed(SCRIPT, tmp_path, str(IMPORTABLE_CAFFE)) == "True True\n"


def test_a_source_tree_of_caffe_that_was_not_built_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "caffe/python").mkdir(parents=True)  # a folder named caffe isn't a package
    assert printed(f"import netdsl.pycaffe\n{SCRIPT}", tmp_path) == "True True\n"
    (tmp_path / "caffe/__init__.py").write_text("from ._caffe import Net")
    assert printed(f"import netdsl.pycaffe\n{SCRIPT}", tmp_path) == "True True\n"
    (tmp_path / "caffe/_caffe.so").write_text("")
    (tmp_path / "caffe/__init__.py").write_text("built = True")
    assert printed("import netdsl.pycaffe, caffe\nprint(caffe.built)", tmp_path) == "True\n"

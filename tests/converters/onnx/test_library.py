"""The packages onnx and onnxruntime."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")


def test_onnxruntime_writes_no_file_in_which_it_counts_its_use(tmp_path: Path) -> None:
    program = "from converters.onnx.library import onnxruntime; onnxruntime()"
    variables = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", program], env={**variables, "TMPDIR": str(tmp_path)}, check=True)
    assert not list(tmp_path.iterdir())

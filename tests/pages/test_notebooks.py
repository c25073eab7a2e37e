"""The notebooks of the documentation run without errors and contain their outputs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.pages.page import DOCS, ROOT

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
MARKS = {"spark_dataframe": pytest.mark.spark}
RUN = [pytest.param(path, id=path.stem, marks=MARKS.get(path.stem, pytest.mark.pages)) for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_its_outputs_and_no_error(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)], "stale: run `make notebooks`"
    assert all(output.output_type != "error" for cell in cells for output in cell.outputs)


@pytest.mark.parametrize("path", RUN)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    own = {"PYTHONPATH": str(ROOT), "JUPYTER_DATA_DIR": str(tmp_path / "jupyter"), "HOME": str(tmp_path)}
    copy = shutil.copy(path, tmp_path)
    program = [sys.executable, Path(__file__).with_name("run_notebook.py"), copy]
    done = subprocess.run(program, env={**os.environ, **own}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]

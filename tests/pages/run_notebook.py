"""Runs notebooks in a temporary folder and saves their outputs: `python run_notebook.py NOTEBOOK...`."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

SECONDS = 900  # seconds for a cell, on a busy machine


def run_notebook(path: Path) -> None:
    """Run the cells of a notebook in order, and write it with their outputs. Raises the error of a cell that fails."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.clear()  # the times at which cells ran
        if "outputs" in cell:  # without logs, which differ between machines
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run_notebook(Path(name))

"""Runs a model with the program of a target, in the target's environment: python main.py FOLDER.

`job.json` in the folder names the program, the model's files, the inputs and the outputs. The arrays of the inputs are
in `inputs.npz`, and those of the outputs are written to `outputs.npz`, in the same order. If the program can't run the
model, `problem.txt` contains the reason.

The environment contains nothing of netdsl, so this file imports only numpy.
"""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def run_job(folder: Path) -> None:
    """Run the program, and write its outputs."""
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    with np.load(folder / "inputs.npz") as stored:
        inputs = {name: stored[f"arr_{number}"] for number, name in enumerate(job["inputs"])}
    values = _loaded(job["program"]).run(job["files"], inputs, job["outputs"], **job["settings"])
    np.savez(folder / "outputs.npz", *(np.asarray(values[name], np.float32) for name in job["outputs"]))


def _loaded(path: str) -> Any:
    specification = importlib.util.spec_from_file_location("program", path)
    assert specification is not None and specification.loader is not None
    program = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(program)
    return program


if __name__ == "__main__":
    FOLDER = Path(sys.argv[1])
    try:
        run_job(FOLDER)
    except Exception as problem:
        (FOLDER / "problem.txt").write_text(f"{problem}" or type(problem).__name__, encoding="utf-8")
        sys.exit(1)

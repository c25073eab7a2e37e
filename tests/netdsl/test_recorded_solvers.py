"""Every solver compared with Caffe's own, step by step, with Caffe's snapshots in between."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from netdsl import pycaffe

pytestmark = pytest.mark.usefixtures("pycaffe_on_device")

DATA = Path(__file__).parent.parent / "data/solvers"
VALUES = np.load(DATA / "recorded.npz")["values"]
INDEX = json.loads((DATA / "index.json").read_text())
CASES = dict(part.split("\n", 1) for part in (DATA / "cases.prototxts").read_text().split("## ")[1:])

# Eight steps of float32 arithmetic in another order, relative to the largest value. Each step depends on the weights of
# the previous one.
TOLERANCE = 1e-4


def recorded(case: str) -> dict[str, NDArray[np.float32]]:
    found = {}
    for key, (at, *shape) in INDEX[case].items():
        found[key] = VALUES[at : at + math.prod(shape)].reshape(shape)
    return found


def solver_of(case: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> pycaffe.SGDSolver:
    net, settings = CASES[case].split("---\n")
    (folder / "net.prototxt").write_text(net)
    (folder / "solver.prototxt").write_text(settings)
    monkeypatch.chdir(folder)
    solver = pycaffe.get_solver("solver.prototxt")
    for key, value in recorded(case).items():
        if key.startswith("init/"):
            layer, _, index = key[5:].rpartition("/")
            solver.net.params[layer][int(index)].data[...] = value
    return solver


def follow(solver: pycaffe.SGDSolver, case: str, first: int = 0) -> None:
    wanted = recorded(case)
    for iteration in range(first, 1 + max(int(key.split("/")[1]) for key in wanted if key.startswith("loss/"))):
        for key, value in wanted.items():
            if key.startswith(f"data/{iteration}/"):
                solver.net.blobs[key.split("/", 2)[2]].data[...] = value
        solver.step(1)
        np.testing.assert_allclose(solver.net.blobs["loss"].data, wanted[f"loss/{iteration}"], rtol=TOLERANCE)
        for key, value in wanted.items():
            if key.startswith(f"after/{iteration}/"):
                layer, _, index = key.split("/", 2)[2].rpartition("/")
                got = solver.net.params[layer][int(index)].data
                assert np.abs(got - value).max() <= TOLERANCE * max(1e-2, np.abs(value).max()), key


@pytest.mark.parametrize("case", CASES)
def test_a_solver_takes_caffes_steps(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    follow(solver_of(case, tmp_path, monkeypatch), case)


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("resume")])
def test_a_solver_continues_from_a_snapshot(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("msgspec")
    first = solver_of(case, tmp_path, monkeypatch)
    follow(first, case)  # saves after five iterations
    again = pycaffe.get_solver("solver.prototxt")
    again.restore(next(tmp_path.glob("solver_iter_5.solverstate*")))
    assert again.iter == 5
    follow(again, case, 5)

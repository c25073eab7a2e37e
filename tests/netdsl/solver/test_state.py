"""Snapshots: Caffe's own files, which resume to the bit and are never half-written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.files import read, write
from caffe_proto.text.prototxt import from_text
from netdsl.errors import SolverError
from netdsl.layer.running import KeepsState
from netdsl.solver import state
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import open_settings
from netdsl.solver.snapshot_files import newest
from netdsl.solver.solver import Solver

TYPES = ["SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam"]


def solver_of(net: object, folder: Path, **settings: object) -> Solver:
    given = {"base_lr": 0.01, "lr_policy": "step", "stepsize": 2, "gamma": 0.5, "type": "SGD", "weight_decay": 0.1}
    return Solver(pb.SolverParameter(**(given | settings), snapshot_prefix=str(folder / "s")), net)


def bits(solver: Solver) -> bytes:
    found = [blob.detach().numpy().tobytes() for layer in solver.net.built.layers for blob in layer.blob_tensors()]
    return b"".join([*found, *(history.numpy().tobytes() for history in solver.updater.history())])


@pytest.mark.parametrize("form", [pb.SolverParameter.BINARYPROTO, pb.SolverParameter.HDF5])
@pytest.mark.parametrize("kind", TYPES)
def test_a_restored_solver_ends_with_the_same_bits(kind: str, form: int, regression, tmp_path: Path) -> None:
    settings = {"type": kind, "snapshot_format": form, "momentum": 0 if kind in ("AdaGrad", "RMSProp") else 0.9}
    undisturbed = solver_of(regression(), tmp_path, **settings)
    undisturbed.step(3)
    saved = undisturbed.snapshot()
    undisturbed.step(4)
    again = solver_of(regression(), tmp_path, **settings)
    state.restore(again, saved.state)
    assert (again.iteration, again.current_step) == (3, 1)
    again.step(4)
    assert bits(again) == bits(undisturbed)


def test_files_converted_to_caffes_formats_restore_the_same(regression, tmp_path: Path) -> None:
    first = solver_of(regression(), tmp_path, momentum=0.9)
    first.step(3)
    saved = first.snapshot()
    for path in (saved.model, saved.state):
        write(read(path), path.with_name("copy_" + path.name))
    again = solver_of(regression(), tmp_path, momentum=0.9)
    state.restore(again, saved.state.with_name("copy_" + saved.state.name))
    assert bits(again) == bits(first)


def test_a_state_has_caffes_own_format(regression, tmp_path: Path) -> None:
    solver = solver_of(regression(), tmp_path, type="Adam", momentum=0.9)
    solver.step(5)
    saved = solver.snapshot()
    assert saved.state.name == "s_iter_5.solverstate"
    message = read(saved.state).message
    assert (message.iter, message.current_step, message.learned_net) == (5, 2, str(tmp_path / "s_iter_5.caffemodel"))
    shapes = [tuple(blob.shape.dim) for blob in message.history]
    assert shapes == [(2, 3), (2,), (2, 3), (2,)]


def test_random_numbers_and_data_continue_from_their_positions(regression, tmp_path: Path) -> None:
    solver = solver_of(regression(), tmp_path)
    solver.step(2)
    saved = solver.snapshot()
    expected = torch.rand(3)
    torch.manual_seed(99)
    again = solver_of(regression(), tmp_path)
    state.restore(again, saved.state)
    assert torch.equal(torch.rand(3), expected)
    assert again.net.batch == 2


def test_a_state_alone_is_enough(regression, tmp_path: Path) -> None:
    solver = solver_of(regression(), tmp_path)
    solver.step(2)
    saved = solver.snapshot()
    saved.state.with_name("s_iter_2.resume.json").unlink()
    again = solver_of(regression(), tmp_path)
    state.restore(again, saved.state)
    assert bits(again) == bits(solver)


def test_files_that_were_moved_or_renamed_together_are_found(regression, tmp_path: Path) -> None:
    solver = solver_of(regression(), tmp_path)
    saved = solver.snapshot()
    other = tmp_path / "elsewhere"
    other.mkdir()
    saved.model.rename(other / "best.caffemodel")
    saved.state.rename(other / "best.solverstate")
    again = solver_of(regression(), tmp_path)
    state.restore(again, other / "best.solverstate")
    assert bits(again) == bits(solver)
    (other / "best.caffemodel").unlink()
    with pytest.raises(SolverError, match=r"the weights of this state are neither at .* nor at .*best\.caffemodel"):
        state.restore(again, other / "best.solverstate")


def test_mismatched_states_are_errors(regression, tmp_path: Path) -> None:
    solver = solver_of(regression(), tmp_path)
    saved = solver.snapshot()
    with pytest.raises(SolverError, match="has 2 histories, but this net needs 4 with solver type Adam"):
        state.restore(solver_of(regression(), tmp_path, type="Adam"), saved.state)
    with pytest.raises(SolverError, match="not the state of a solver"):
        state.restore(solver, saved.model)
    resume = tmp_path / "s_iter_0.resume.json"
    resume.write_text(json.dumps({"iteration": 3}))
    with pytest.raises(SolverError, match="belongs to iteration 3, but the state to iteration 0"):
        state.restore(solver, saved.state)
    resume.write_text("{")
    with pytest.raises(SolverError, match="can't be read"):
        state.restore(solver, saved.state)


def test_the_newest_complete_snapshot_is_found(regression, tmp_path: Path) -> None:
    solver = solver_of(regression(), tmp_path)
    assert newest(str(tmp_path / "s")) is None
    saved = []
    for _ in range(3):
        solver.step(5)
        saved.append(solver.snapshot())
    (tmp_path / "s_iter_99.solverstate").write_bytes(b"\x08")  # truncated by another program
    (tmp_path / "other_iter_100.solverstate").write_bytes(saved[0].state.read_bytes())
    assert newest(str(tmp_path / "s")) == saved[2].state
    saved[2].model.unlink()
    assert newest(str(tmp_path / "s")) == saved[1].state


def test_a_failed_snapshot_leaves_no_files(regression, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    solver = solver_of(regression(), file / "below")
    with pytest.raises(CaffeError, match="can't be"):
        solver.snapshot()
    assert list(tmp_path.iterdir()) == [file]


def test_gradients_are_saved_on_request(regression, tmp_path: Path) -> None:
    solver = solver_of(regression(), tmp_path, snapshot_diff=True)
    solver.step(1)
    file = read(solver.snapshot().model)
    weight = solver.net.built.layers[1].weight
    assert torch.equal(torch.tensor(file.blobs.gradient(file.message.layer[1].blobs[0])), weight.grad)


RECURRENT = """
layer {{ name: "data" type: "HDF5Data" top: "x" top: "cont" top: "y"
  hdf5_data_param {{ source: "{list}" batch_size: 2 }} }}
layer {{ name: "lstm" type: "LSTM" bottom: "x" bottom: "cont" top: "h"
  recurrent_param {{ num_output: 3 weight_filler {{ type: "uniform" min: -1 }} }} }}
layer {{ name: "loss" type: "EuclideanLoss" bottom: "h" bottom: "y" }}
"""


@pytest.fixture
def recurrent(tmp_path: Path) -> Iterator[Callable[[], Solver]]:
    """Return a solver of a net that reads two sequences, two steps per batch, and is tested on them."""
    random = np.random.default_rng(3)
    with h5py.File(tmp_path / "steps.h5", "w") as file:
        file["x"], file["y"] = (random.normal(size=(14, 2, 3)).astype(np.float32) for _ in range(2))
        file["cont"] = np.ones((14, 2), np.float32)
    (tmp_path / "list.txt").write_text(str(tmp_path / "steps.h5"))
    net = from_text(RECURRENT.format(list=tmp_path / "list.txt"), pb.NetParameter)

    def make() -> Solver:
        settings = {"base_lr": 0.1, "lr_policy": "fixed", "random_seed": 4, "test_iter": [1], "test_interval": 100}
        param = pb.SolverParameter(**settings, snapshot_prefix=str(tmp_path / "s"), net_param=net)
        return stack.enter_context(open_solver(open_settings(param)))

    with ExitStack() as stack:
        yield make


def test_layers_state_between_batches_is_saved_too(recurrent: Callable[[], Solver]) -> None:
    undisturbed = recurrent()
    undisturbed.step(3)
    undisturbed.test()
    saved = undisturbed.snapshot()
    undisturbed.step(2)
    again = recurrent()
    again.step(1)  # the state from these steps is discarded
    state.restore(again, saved.state)
    again.step(2)
    assert bits(again) == bits(undisturbed)
    first, second = undisturbed.test(), again.test()
    assert first is not None and second is not None
    assert first.outputs == second.outputs


def test_without_a_saved_state_layers_start_afresh(recurrent: Callable[[], Solver]) -> None:
    first, second = recurrent(), recurrent()
    first.step(3)
    point = replace(state.resume_point(first), kept=[])
    state.resume_from(first, point, Path("point"))
    lstm = first.net.built.layers[1]
    assert isinstance(lstm, KeepsState)
    assert not any(part.any() for part in lstm.kept().values())
    second.step(3)
    point = state.resume_point(second)
    (part,) = point.kept[0].values()
    damaged = {"lstm": {name: replace(tensor, type="nothing") for name, tensor in part.items()}}
    with pytest.raises(SolverError, match="'nothing' isn't a number type"):
        state.resume_from(second, replace(point, kept=[damaged]), Path("point"))

"""Snapshots of a solver: Caffe's two files, and one beside them with what Caffe doesn't save."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.files import CaffeFile, Form, read, read_net, write
from caffe_proto.storage import atomic_path
from netdsl.errors import SolverError
from netdsl.model import load_weights
from netdsl.solver.events import SnapshotSaved
from netdsl.weights.files import save_net

if TYPE_CHECKING:
    from netdsl.solver.solver import Solver

_RESUME_SUFFIX = ".resume.json"
_WITHOUT_IT = "if you remove it, training resumes, but not to the same bits"


def save(solver: Solver) -> SnapshotSaved:
    """Write the weights, the resume point, and last the state: where a state exists, the other files are complete."""
    hdf5 = solver.param.snapshot_format == pb.SolverParameter.HDF5
    suffix = ".h5" if hdf5 else ""
    base = f"{solver.param.snapshot_prefix}_iter_{solver.iteration}"
    model, path = Path(f"{base}.caffemodel{suffix}"), Path(f"{base}.solverstate{suffix}")
    save_net(solver.net.built, model, gradients=solver.param.snapshot_diff)
    _write_json(Path(base + _RESUME_SUFFIX), resume_point(solver))
    file = CaffeFile(
        pb.SolverState(iter=solver.iteration, learned_net=str(model)), form=Form.HDF5 if hdf5 else Form.BINARY
    )
    file.message.current_step = solver.current_step
    for history in solver.updater.history():
        file.blobs.put(file.message.history.add(), history.cpu().numpy())
    write(file, path)
    return SnapshotSaved(solver.iteration, model, path)


def restore(solver: Solver, path: str | Path) -> None:
    """Resume from a state: weights, history and iteration, and of our own snapshots the data and random numbers."""
    path = Path(path)
    file = read(path)
    if not isinstance(file.message, pb.SolverState):
        raise SolverError(f"{path}: is not the state of a solver; a model is for --weights")
    if file.message.HasField("learned_net"):
        load_weights(_model(file.message.learned_net, path), solver.net.built)
    _restore_history(solver, file, path)  # type: ignore[arg-type]
    solver.iteration, solver.current_step = file.message.iter, file.message.current_step
    resume_path = path.with_name(path.name.partition(".solverstate")[0] + _RESUME_SUFFIX)
    if resume_path.exists():
        resume_from(solver, _read_json(resume_path), resume_path)


def newest(prefix: str) -> Path | None:
    """The path of the state with the most iterations among those that are complete, with the model that they name."""
    folder, start = Path(prefix).parent, f"{Path(prefix).name}_iter_"
    states = {}
    for path in folder.glob(f"{_escaped(start)}*.solverstate*"):
        number = path.name[len(start) :].partition(".")[0]
        if number.isdigit() and path.name.endswith((".solverstate", ".solverstate.h5")):
            states[int(number), path.name] = path
    return next((states[key] for key in sorted(states, reverse=True) if _is_complete(states[key])), None)


def _escaped(text: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


def _is_complete(path: Path) -> bool:
    try:
        state = read(path).message
        if isinstance(state, pb.SolverState) and state.HasField("learned_net"):
            read_net(_model(state.learned_net, path))
    except CaffeError:
        return False
    return True


def _model(name: str, state: Path) -> Path:
    """The model that a state names: at that path, or beside the state, as when both were moved or renamed together."""
    same_name = state.with_name(state.name.replace(".solverstate", ".caffemodel"))
    candidates = [Path(name), state.parent / Path(name).name, same_name]
    model = next((path for path in candidates if path.exists()), None)
    if model is None:
        raise SolverError(f"{state}: its weights are neither at {' nor at '.join(map(str, dict.fromkeys(candidates)))}")
    return model


def _restore_history(solver: Solver, file: CaffeFile[pb.SolverState], path: Path) -> None:
    histories, protos = list(solver.updater.history()), list(file.message.history)
    if len(histories) != len(protos):
        raise SolverError(
            f"{path}: has {len(protos)} histories, this net needs {len(histories)} with solver type "
            f"{solver.param.type}; the state is of another net or of another type of solver"
        )
    for index, (target, proto) in enumerate(zip(histories, protos, strict=True)):
        array = file.blobs.array(proto)
        if array.size != target.numel():
            raise SolverError(f"{path}: history {index} has shape {list(array.shape)}, not {list(target.shape)}")
        target.copy_(torch.from_numpy(np.array(array)).view(target.shape))


def resume_point(solver: Solver) -> dict[str, Any]:
    """What Caffe's state lacks, as JSON: the positions in the data, and the state of the random numbers."""
    cuda = [_packed(state) for state in torch.cuda.get_rng_state_all()] if torch.cuda.is_available() else []
    return {
        "iteration": solver.iteration,
        "data": dict(solver.net.positions()),
        "test_data": [dict(net.positions()) for net in solver.tests],
        "random": {"cpu": _packed(torch.get_rng_state()), "cuda": cuda},
    }


def resume_from(solver: Solver, point: dict[str, Any], path: Path) -> None:
    """Restore the data and the random numbers of a resume point, which was read from `path`."""
    try:
        if point["iteration"] != solver.iteration:
            raise SolverError(f"{path}: is of iteration {point['iteration']}, the state of {solver.iteration}")
        solver.net.seek(point["data"])
        for net, positions in zip(solver.tests, point["test_data"], strict=False):
            net.seek(positions)
        torch.set_rng_state(_unpacked(point["random"]["cpu"]))
        cuda = [_unpacked(text) for text in point["random"]["cuda"]]
        if cuda and len(cuda) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(cuda)
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise SolverError(f"{path}: is damaged ({problem}); {_WITHOUT_IT}") from None


def _packed(tensor: Tensor) -> str:
    return base64.b64encode(tensor.cpu().numpy().tobytes()).decode()


def _unpacked(text: str) -> Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), np.uint8).copy())


def _write_json(path: Path, value: dict[str, Any]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1) + "\n")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError) as problem:
        raise SolverError(f"{path}: can't be read ({problem}); {_WITHOUT_IT}") from None
    if not isinstance(value, dict):
        raise SolverError(f"{path}: isn't a JSON object; {_WITHOUT_IT}")
    return value

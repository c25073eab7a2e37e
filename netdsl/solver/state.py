"""A solver's state in files: Caffe's own two, and one beside them with what Caffe forgets."""

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
from caffe_proto.storage import replacing
from netdsl.errors import SolverError
from netdsl.model import load_weights
from netdsl.solver.events import Saved
from netdsl.weights.files import save_net

if TYPE_CHECKING:
    from netdsl.solver.solver import Solver

_RESUME = ".resume.json"


def save(solver: Solver) -> Saved:
    """Write the weights, then what only we need, and the state last: where that is, the others are whole."""
    hdf5 = solver.param.snapshot_format == pb.SolverParameter.HDF5
    suffix = ".h5" if hdf5 else ""
    base = f"{solver.param.snapshot_prefix}_iter_{solver.iteration}"
    model, path = Path(f"{base}.caffemodel{suffix}"), Path(f"{base}.solverstate{suffix}")
    save_net(solver.net.built, model, gradients=solver.param.snapshot_diff)
    _write_json(Path(base + _RESUME), resume_point(solver))
    file = CaffeFile(
        pb.SolverState(iter=solver.iteration, learned_net=str(model)), form=Form.HDF5 if hdf5 else Form.BINARY
    )
    file.message.current_step = solver.current_step
    for history in solver.updater.history():
        file.blobs.put(file.message.history.add(), history.cpu().numpy())
    write(file, path)
    return Saved(solver.iteration, model, path)


def restore(solver: Solver, path: str | Path) -> None:
    """Go on from a state, Caffe's or our own: weights, history, iteration, place in the data, random numbers."""
    path = Path(path)
    file = read(path)
    if not isinstance(file.message, pb.SolverState):
        raise SolverError(f"{path}: is not the state of a solver; --weights takes a model")
    if file.message.HasField("learned_net"):
        load_weights(_model(file.message.learned_net, path), solver.net.built)
    _restore_history(solver, file, path)  # type: ignore[arg-type]
    solver.iteration, solver.current_step = file.message.iter, file.message.current_step
    resume = path.with_name(path.name.partition(".solverstate")[0] + _RESUME)
    if resume.exists():
        go_on_from(solver, _read_json(resume), resume)


def newest(prefix: str) -> Path | None:
    """The state with the most iterations that is whole: it and the model that it names can be read."""
    folder, start = Path(prefix).parent, f"{Path(prefix).name}_iter_"
    found = {}
    for path in folder.glob(f"{_escaped(start)}*.solverstate*"):
        number = path.name[len(start) :].partition(".")[0]
        if number.isdigit() and path.name.endswith((".solverstate", ".solverstate.h5")):
            found[int(number), path.name] = path
    return next((found[key] for key in sorted(found, reverse=True) if _is_whole(found[key])), None)


def _escaped(text: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


def _is_whole(path: Path) -> bool:
    try:
        state = read(path).message
        if isinstance(state, pb.SolverState) and state.HasField("learned_net"):
            read_net(_model(state.learned_net, path))
    except CaffeError:
        return False
    return True


def _model(name: str, state: Path) -> Path:
    """The model that a state names: where it says, or beside it, as when both were moved or renamed together."""
    own = state.with_name(state.name.replace(".solverstate", ".caffemodel"))
    places = [Path(name), state.parent / Path(name).name, own]
    found = next((place for place in places if place.exists()), None)
    if found is None:
        raise SolverError(f"{state}: its weights are neither at {' nor at '.join(map(str, dict.fromkeys(places)))}")
    return found


def _restore_history(solver: Solver, file: CaffeFile[pb.SolverState], path: Path) -> None:
    own, given = list(solver.updater.history()), list(file.message.history)
    if len(own) != len(given):
        raise SolverError(
            f"{path}: has {len(given)} histories, this net needs {len(own)} with solver type {solver.param.type}; "
            "the state is of another net or of another type of solver"
        )
    for index, (target, proto) in enumerate(zip(own, given, strict=True)):
        array = file.blobs.array(proto)
        if array.size != target.numel():
            raise SolverError(f"{path}: history {index} has shape {list(array.shape)}, not {list(target.shape)}")
        target.copy_(torch.from_numpy(np.array(array)).view(target.shape))


def resume_point(solver: Solver) -> dict[str, Any]:
    """What Caffe's state lacks: where the data are, and what the next random numbers will be."""
    cuda = [_packed(each) for each in torch.cuda.get_rng_state_all()] if torch.cuda.is_available() else []
    return {
        "iteration": solver.iteration,
        "data": dict(solver.net.positions()),
        "test_data": [dict(each.positions()) for each in solver.tests],
        "random": {"cpu": _packed(torch.get_rng_state()), "cuda": cuda},
    }


def go_on_from(solver: Solver, given: dict[str, Any], path: Path) -> None:
    """Go on with the data and the random numbers that were the next ones then."""
    try:
        if given["iteration"] != solver.iteration:
            raise SolverError(f"{path}: is of iteration {given['iteration']}, the state of {solver.iteration}")
        solver.net.seek(given["data"])
        for net, positions in zip(solver.tests, given["test_data"], strict=False):
            net.seek(positions)
        torch.set_rng_state(_unpacked(given["random"]["cpu"]))
        cuda = [_unpacked(each) for each in given["random"]["cuda"]]
        if cuda and len(cuda) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(cuda)
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise SolverError(f"{path}: is damaged ({problem}); without it training goes on, but not to the bit") from None


def _packed(tensor: Tensor) -> str:
    return base64.b64encode(tensor.cpu().numpy().tobytes()).decode()


def _unpacked(text: str) -> Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), np.uint8).copy())


def _write_json(path: Path, value: dict[str, Any]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1) + "\n")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError) as problem:
        raise SolverError(
            f"{path}: can't be read ({problem}); without it training goes on, but not to the bit"
        ) from None
    if not isinstance(value, dict):
        raise SolverError(f"{path}: is no table; without it training goes on, but not to the bit")
    return value

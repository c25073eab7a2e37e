"""Saves the state of a solver in snapshots, and restores it to the same bits."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.addresses import local_path
from caffe_proto.errors import CaffeError
from caffe_proto.files import CaffeFile, Form, write
from caffe_proto.storage import remove_leftovers
from netdsl.data.sources.class_names import model_labels, write_class_names
from netdsl.errors import SolverError
from netdsl.model.opening import load_weights
from netdsl.model.weights.files import save_net
from netdsl.solver.events import Listener, Notice, SnapshotSaved
from netdsl.solver.snapshot_files import (
    KeptStates,
    PackedTensor,
    RandomStates,
    ResumePoint,
    SavedPoint,
    newest,
    open_snapshot,
    resume_path_of,
    write_resume_file,
)
from netdsl.solver.trainable_net import TrainableNet
from netdsl.solver.update import Updater
from netdsl.solver.used_weights import NormalizedOutput, weights_for_use
from netdsl.storage.local_copies import with_addresses


class KeptSolver(Protocol):
    """The parts of a solver that snapshots use."""

    param: pb.SolverParameter
    net: TrainableNet
    tests: list[TrainableNet]
    updater: Updater
    iteration: int
    current_step: int
    classes: Sequence[str]
    normalized_outputs: list[NormalizedOutput]
    listen: Listener


@dataclass(frozen=True)
class SolverPlace:
    """The place of a solver: everything besides the weights from which it continues."""

    histories: list[Tensor]  # in the layout of the weights' buffer
    current_step: int
    point: ResumePoint


def place_of(solver: KeptSolver) -> SolverPlace:
    """Return a copy of the solver's current place."""
    histories = [history.detach().cpu().clone() for history in solver.updater.histories]
    return SolverPlace(histories, solver.current_step, resume_point(solver))


@torch.no_grad()
def go_to(solver: KeptSolver, place: SolverPlace, where: Path | str) -> None:
    """Continue from a place, which must be of the same net and settings. `where` is the place's name in errors."""
    histories = solver.updater.histories
    if [history.shape for history in histories] != [history.shape for history in place.histories]:
        raise SolverError(
            f"{where}: the saved state belongs to another net or another type of solver; resume with the net "
            "and the solver that wrote it, or begin with its weights with --weights"
        )
    for history, values in zip(histories, place.histories, strict=True):
        history.copy_(values)
    solver.iteration, solver.current_step = place.point.iteration, place.current_step
    resume_from(solver, place.point, where)


def save(solver: KeptSolver) -> SnapshotSaved:
    """Write the weights, the state and the names of classes, then the resume file with the hashes of the other
    files."""
    hdf5 = solver.param.snapshot_format == pb.SolverParameter.HDF5
    suffix = ".h5" if hdf5 else ""
    prefix = local_path(solver.param.snapshot_prefix, "the beginning of a path")
    base = f"{prefix}_iter_{solver.iteration}"
    model, path = Path(f"{base}.caffemodel{suffix}"), Path(f"{base}.solverstate{suffix}")
    with suppress(OSError):  # writing the weights reports the problem
        model.parent.mkdir(parents=True, exist_ok=True)  # repositories don't keep empty folders
    remove_leftovers(model.parent, f"{prefix.name}_iter_")
    with weights_for_use(solver.normalized_outputs):
        save_net(solver.net.built, model, gradients=solver.param.snapshot_diff, durable=True)
    message = pb.SolverState(iter=solver.iteration, learned_net=with_addresses(str(model)))
    file = CaffeFile(message, form=Form.HDF5 if hdf5 else Form.BINARY)
    file.message.current_step = solver.current_step
    for history in solver.updater.history():
        file.blobs.put(file.message.history.add(), history.cpu().numpy())
    write(file, path, durable=True)
    if solver.classes:
        write_class_names(solver.classes, model_labels(model))
    trained = {output.name: [_packed(blob) for blob in output.blobs] for output in solver.normalized_outputs}
    write_resume_file(path, model, SavedPoint(**vars(resume_point(solver)), trained=trained))
    return SnapshotSaved(solver.iteration, model, path)


def restore(solver: KeptSolver, path: str | Path) -> None:
    """Resume from a state: restore weights, history and iteration. Our own snapshots also restore the data and random
    numbers."""
    path = Path(path)
    try:
        snapshot = open_snapshot(path)
    except CaffeError as problem:
        raise SolverError(f"{problem}; {_way_out(path)}") from None
    if snapshot.notice:
        solver.listen(Notice(snapshot.notice))
    if snapshot.model is not None:
        load_weights(snapshot.model, solver.net.built)
        _restore_trained(solver, snapshot.point, path)
    _restore_history(solver, snapshot.file, path)
    solver.iteration, solver.current_step = snapshot.file.message.iter, snapshot.file.message.current_step
    if snapshot.point is not None:
        resume_from(solver, snapshot.point, resume_path_of(path))


def _way_out(path: Path) -> str:
    """Return advice for a user whose snapshot can't be restored."""
    prefix = path.name.rpartition("_iter_")[0]
    try:
        other = newest(str(path.with_name(prefix))) if prefix else None
    except SolverError:
        other = None
    return (
        f"resume from {other}, the newest undamaged snapshot"
        if other
        else "its folder contains no undamaged snapshot, so start again"
    )


def _restore_trained(solver: KeptSolver, point: SavedPoint | None, path: Path) -> None:
    """Convert weights that were saved in the form for use back to their training form."""
    trained = {} if point is None else point.trained
    if trained is None:  # a version that saved all weights in their training form
        return
    for output in solver.normalized_outputs:
        if output.name in trained:
            _unpack_blobs(output, trained[output.name], resume_path_of(path))
        else:
            output.to_train()
            solver.listen(
                Notice(
                    f"snapshot {path}: the weights of '{output.name}' are assumed to be in the form for use, as "
                    "netdsl saves them"
                )
            )


def _unpack_blobs(output: NormalizedOutput, values: Sequence[str], path: Path) -> None:
    try:
        for blob, text in zip(output.blobs, values, strict=True):
            blob.copy_(_unpacked(text).view(blob.dtype).view(blob.shape))
    except (ValueError, RuntimeError) as problem:
        raise SolverError(
            f"{path}: the values don't fit layer '{output.name}' ({problem}); resume with the net that wrote it"
        ) from None


def _restore_history(solver: KeptSolver, file: CaffeFile[pb.SolverState], path: Path) -> None:
    histories, protos = list(solver.updater.history()), list(file.message.history)
    if len(histories) != len(protos):
        raise SolverError(
            f"{path}: the state has {len(protos)} histories, but this net needs {len(histories)} with solver "
            f"type {solver.param.type}; resume with the net and the `type` of solver that wrote it, or begin "
            "with its weights with --weights"
        )
    for index, (target, proto) in enumerate(zip(histories, protos, strict=True)):
        array = file.blobs.array(proto)
        if array.size != target.numel():
            raise SolverError(
                f"{path}: history {index} has shape {list(array.shape)} instead of {list(target.shape)}; resume "
                "with the net that wrote the state"
            )
        target.copy_(torch.from_numpy(np.array(array)).view(target.shape))


def resume_point(solver: KeptSolver) -> ResumePoint:
    """Return the positions in the data, the random numbers and the loss scale, from which training continues to the
    same bits."""
    cuda = [_packed(state) for state in torch.cuda.get_rng_state_all()] if torch.cuda.is_available() else []
    return ResumePoint(
        solver.iteration,
        dict(solver.net.positions()),
        [dict(net.positions()) for net in solver.tests],
        RandomStates(_packed(torch.get_rng_state()), cuda),
        loss_scale=[] if solver.net.loss_scale is None else solver.net.loss_scale.numbers(),
        kept=[_kept_states(net) for net in (solver.net, *solver.tests)],
    )


def resume_from(solver: KeptSolver, point: ResumePoint, path: Path | str) -> None:
    """Restore the data and the random numbers of a resume point that was read from `path`."""
    try:
        solver.net.seek(point.data)
        for net, positions in zip(solver.tests, point.test_data, strict=False):
            net.seek(positions)
        for net, kept in zip_longest((solver.net, *solver.tests), point.kept):
            if net is not None:
                _keep_states(net, kept or {})
        restore_random(point.random)
        if point.loss_scale and solver.net.loss_scale is not None:
            solver.net.loss_scale.restore(point.loss_scale)
    except (KeyError, ValueError, RuntimeError) as problem:
        raise SolverError(
            f"{path}: the file doesn't fit this net and machine ({problem}); resume with the net that wrote it"
        ) from None


def restore_random(states: RandomStates) -> None:
    """Restore the states of torch's random number generators. Those of GPUs are restored only if there are equally
    many."""
    torch.set_rng_state(_unpacked(states.cpu))
    cuda = [_unpacked(text) for text in states.cuda]
    if cuda and len(cuda) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(cuda)


def _kept_states(net: TrainableNet) -> KeptStates:
    """Return the state that the layers of a net carry to the next batch."""
    return {
        node.layer.name: {part: _packed_tensor(state) for part, state in layer.kept().items()}
        for node, layer in net.built.remembering_layers()
    }


def _keep_states(net: TrainableNet, kept: KeptStates) -> None:
    """Restore the state that the layers of a net carried. Layers without a saved state start from scratch."""
    for node, layer in net.built.remembering_layers():
        layer.reset()
        if node.layer.name in kept:
            layer.keep({part: _unpacked_tensor(state) for part, state in kept[node.layer.name].items()})


def _packed_tensor(tensor: Tensor) -> PackedTensor:
    values = _packed(tensor.contiguous().view(torch.uint8))  # because numpy lacks bfloat16
    return PackedTensor(list(tensor.shape), str(tensor.dtype).removeprefix("torch."), values)


def _unpacked_tensor(packed: PackedTensor) -> Tensor:
    dtype = getattr(torch, packed.type, None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{packed.type!r} isn't a number type")
    return _unpacked(packed.values).view(dtype).view(packed.shape)


def _packed(tensor: Tensor) -> str:
    return base64.b64encode(tensor.cpu().numpy().tobytes()).decode()


def _unpacked(text: str) -> Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), np.uint8).copy())

"""A solver's settings: reading them in today's form, and checking them."""

from __future__ import annotations

from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.dialects import FORKS
from caffe_proto.errors import FileError
from caffe_proto.files import read_solver
from caffe_proto.upgrade import upgrade_solver
from netdsl.errors import SolverError
from netdsl.solver.eval_type import DETECTION, precision_rule
from netdsl.solver.nets import find_file
from netdsl.solver.rate import next_step, policy_of


def read_settings(path: str | Path) -> pb.SolverParameter:
    """Read the settings of a solver's file.

    Caffe's rule: the default of `snapshot_prefix` is the path of the solver's file without its ending; if it is a
    folder, snapshots are named after the solver's file in that folder.
    """
    path = Path(path)
    param = upgrade_solver(read_solver(path).message).message
    if not param.HasField("snapshot_prefix"):
        param.snapshot_prefix = str(path.with_suffix(""))
    elif Path(param.snapshot_prefix).is_dir():
        param.snapshot_prefix = str(Path(param.snapshot_prefix) / path.stem)
    _check_nets(param, path)
    try:
        check(param)
    except SolverError as problem:
        raise SolverError(f"{path}: {problem}") from None
    return param


def _check_nets(param: pb.SolverParameter, path: Path) -> None:
    """Raise a FileError for a net that isn't there; only here it is known which file names it."""
    named = [("net", param.net), ("train_net", param.train_net), *(("test_net", name) for name in param.test_net)]
    for field, name in named:
        if name and not find_file(name, path.parent).exists():
            raise FileError(f"{path}: {field}: there is no file '{name}', here or beside the solver")


def seed(param: pb.SolverParameter, rank: int = 0) -> None:
    """Seed torch's random numbers with `random_seed`, if the settings have one; every rank gets its own."""
    if param.random_seed >= 0:
        torch.manual_seed(param.random_seed + rank)


def check(param: pb.SolverParameter) -> None:
    """Raise a SolverError for settings that can't work."""
    for name in ("average_loss", "iter_size"):
        if getattr(param, name) < 1:
            raise SolverError(f"{name} is {getattr(param, name)}; it must be 1 or more")
    for count in param.test_iter:
        if count < 1:
            raise SolverError(f"test_iter is {count}; it must be 1 or more")
    policy_of(param)
    next_step(param, 0, 0)  # an error if the policy's steps make no sense
    _refuse_forks(param)
    if param.eval_type == DETECTION:
        precision_rule(param)
    if param.snapshot and not param.HasField("snapshot_prefix"):
        raise SolverError("the solver has a snapshot interval, but no snapshot_prefix that says where snapshots go")


_HARMLESS = {  # forks' settings that don't change what is learned
    *("engine", "device", "layer_wise_reduce", "per_parameter_reduce", "store_blobs_in_old_format"),
    *("eval_type", "ap_version", "show_per_class_result", "log_avg_gradient_norm"),
}


def _refuse_forks(param: pb.SolverParameter) -> None:
    """Raise a SolverError for settings of forks that would change what is learned."""
    for field, value in param.ListFields():
        is_default = field.has_default_value and value == field.default_value
        if field.number >= FORKS and field.name not in _HARMLESS and not is_default:
            raise SolverError(f"'{field.name}' is a setting of a fork of Caffe that isn't supported; remove it")

"""A solver's settings from its file, in today's form."""

from __future__ import annotations

from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read_solver
from caffe_proto.upgrade import upgrade_solver


def read_settings(path: str | Path) -> pb.SolverParameter:
    """The settings in a file.

    Caffe's rule: snapshots are called as the solver's file unless `snapshot_prefix` says otherwise, and if that is a
    folder they are called so in there.
    """
    path = Path(path)
    param = upgrade_solver(read_solver(path, lenient=True).message).message
    if not param.HasField("snapshot_prefix"):
        param.snapshot_prefix = str(path.with_suffix(""))
    elif Path(param.snapshot_prefix).is_dir():
        param.snapshot_prefix = str(Path(param.snapshot_prefix) / path.stem)
    return param


def seed(param: pb.SolverParameter, rank: int = 0) -> None:
    """Make all random numbers follow from `random_seed`, if there is one; every rank has its own."""
    if param.random_seed >= 0:
        torch.manual_seed(param.random_seed + rank)

"""The nets that come with the zoo, each a folder with a train_val.prototxt and a solver.prototxt."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read_solver
from netdsl.errors import NetError

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The names of all nets of the zoo."""
    return sorted(path.parent.name for path in FOLDER.glob("*/solver.prototxt"))


def folder_of(name: str) -> Path:
    """The folder with the files of a net."""
    if name not in names():
        near = get_close_matches(name, names(), 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names())}"
        raise NetError(f"the zoo has no net '{name}'; {hint}; --solver takes a file of your own")
    return FOLDER / name


def solver_of(name: str) -> pb.SolverParameter:
    """The settings to train a net with, whose snapshots are named after the net, in the working directory."""
    param = read_solver(folder_of(name) / "solver.prototxt").message
    param.snapshot_prefix = name
    return param

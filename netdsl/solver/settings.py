"""A solver's settings: read in today's form and checked, the nets that they name, and their learning rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.dialects import FORKS
from caffe_proto.errors import FileError
from caffe_proto.files import read_solver
from caffe_proto.upgrade import upgrade_solver
from netdsl.errors import SolverError
from netdsl.model.model import open_net
from netdsl.solver.evaluation import DETECTION, precision_rule

Policy = Callable[[pb.SolverParameter, int, int], float]  # of the settings, the iteration and the step
_TRAIN_FIELDS = ("net", "net_param", "train_net", "train_net_param")
_HARMLESS = {  # forks' settings that don't change what is learned
    *("engine", "device", "layer_wise_reduce", "per_parameter_reduce", "store_blobs_in_old_format"),
    *("eval_type", "ap_version", "show_per_class_result", "log_avg_gradient_norm"),
}


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
        check_settings(param)
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


def check_settings(param: pb.SolverParameter) -> None:
    """Raise a SolverError for settings that can't work."""
    for name in ("average_loss", "iter_size"):
        if getattr(param, name) < 1:
            raise SolverError(f"{name} is {getattr(param, name)}; it must be 1 or more")
    for count in param.test_iter:
        if count < 1:
            raise SolverError(f"test_iter is {count}; it must be 1 or more")
    _policy_of(param)
    next_step(param, 0, 0)  # an error if the policy's steps make no sense
    _refuse_forks(param)
    if param.eval_type == DETECTION:
        precision_rule(param)
    if param.snapshot and not param.HasField("snapshot_prefix"):
        raise SolverError("the solver has a snapshot interval, but no snapshot_prefix that says where snapshots go")


def _refuse_forks(param: pb.SolverParameter) -> None:
    """Raise a SolverError for settings of forks that would change what is learned."""
    for field, value in param.ListFields():
        is_default = field.has_default_value and value == field.default_value
        if field.number >= FORKS and field.name not in _HARMLESS and not is_default:
            raise SolverError(f"'{field.name}' is a setting of a fork of Caffe that isn't supported; remove it")


def train_net(param: pb.SolverParameter, folder: Path | None = None) -> pb.NetParameter:
    """The net for training, in today's form, with its state: the solver's `train_state` over the net's own."""
    fields = _train_fields(param)
    if not fields:
        raise SolverError(f"the solver names no net to train; it needs exactly one of {', '.join(_TRAIN_FIELDS)}")
    return _with_state(_net_of(getattr(param, fields[0]), folder), pb.TRAIN, [param.train_state])


def _train_fields(param: pb.SolverParameter) -> list[str]:
    """The field that has the net for training, if one has."""
    fields = [name for name in _TRAIN_FIELDS if param.HasField(name)]
    if len(fields) > 1:
        named = " and ".join(fields)
        raise SolverError(f"the solver names {named}; it needs exactly one of {', '.join(_TRAIN_FIELDS)}")
    return fields


def test_nets(param: pb.SolverParameter, folder: Path | None = None) -> list[pb.NetParameter]:
    """The nets for testing. Caffe's rule: `test_iter` says how many; the last ones are the `net` itself."""
    test_only: list[str | pb.NetParameter] = [*param.test_net_param, *param.test_net]
    shared: list[str | pb.NetParameter] = [
        getattr(param, name) for name in ("net_param", "net") if param.HasField(name)
    ]
    count = len(param.test_iter)
    if count < len(test_only) or (not shared and count != len(test_only)):
        raise SolverError(f"the solver has {count} test_iter for {len(test_only)} test nets; give one for each")
    if param.test_state and len(param.test_state) != count:
        raise SolverError(
            f"the solver has {len(param.test_state)} test_state for {count} test nets; give one for each, or none"
        )
    if count and param.test_interval <= 0:
        raise SolverError("the solver has a test_iter, so it needs a test_interval above 0")
    sources = test_only + shared[:1] * (count - len(test_only))
    states = [[state] for state in param.test_state] or [[]] * count
    return [_with_state(_net_of(source, folder), pb.TEST, state) for source, state in zip(sources, states, strict=True)]


def _with_state(net: pb.NetParameter, phase: pb.Phase, states: Sequence[pb.NetState]) -> pb.NetParameter:
    merged = pb.NetState(phase=phase)
    for state in (net.state, *states):
        merged.MergeFrom(state)
    net.state.CopyFrom(merged)
    return net


def net_sources(param: pb.SolverParameter) -> tuple[str, list[str]]:
    """Where the nets for training and testing are, in Caffe's words: `net file: lenet.prototxt`, or `net_param`."""
    train = _source_in_words(param, _train_fields(param)[0])
    tests = ["test_net_param"] * len(param.test_net_param) + [f"test_net file: {name}" for name in param.test_net]
    return train, tests + [train] * (len(param.test_iter) - len(tests))


def _source_in_words(param: pb.SolverParameter, field: str) -> str:
    value = getattr(param, field)
    return f"{field} file: {value}" if isinstance(value, str) else field


def inline_nets(
    param: pb.SolverParameter, folder: Path | None = None, dialect: str | None = None
) -> pb.SolverParameter:
    """The same settings with the nets themselves, in today's form, in place of the names of their files.

    `dialect` is the fork of Caffe that the nets are for, as `open_net` takes it; they keep it.
    """
    changed = copy_of(param)
    for name in _train_fields(param):
        field = f"{name.removesuffix('_param')}_param"
        changed.ClearField(name)
        getattr(changed, field).CopyFrom(_net_of(getattr(param, name), folder, dialect))
    del changed.test_net_param[:], changed.test_net[:]
    tests: list[str | pb.NetParameter] = [*param.test_net_param, *param.test_net]
    for source in tests:
        changed.test_net_param.add().CopyFrom(_net_of(source, folder, dialect))
    return changed


def _net_of(source: str | pb.NetParameter, folder: Path | None, dialect: str | None = None) -> pb.NetParameter:
    return open_net(source if isinstance(source, pb.NetParameter) else find_file(source, folder), dialect=dialect).net


def find_file(name: str, folder: Path | None) -> Path:
    """The path of a file that a solver names: relative to the working folder as in Caffe, or to the solver's folder."""
    path = Path(name)
    beside = folder / path if folder is not None else path
    return beside if not path.exists() and beside.exists() else path


def split_names(names: Iterable[str]) -> Iterator[str]:
    """The single names in names of weights files. Caffe's rule: one may have several, with commas between them."""
    for name in names:
        yield from (part.strip() for part in name.split(","))


def next_step(param: pb.SolverParameter, iteration: int, step: int) -> int:
    """The step of an iteration, that is how often the rate was lowered, from the step of the one before.

    Caffe's rule: `multistep` takes at most one step in an iteration, and continues from the step of a solver state.
    """
    if param.lr_policy == "step":
        return iteration // _positive(param, "stepsize")
    if param.lr_policy == "multistep" and step < len(param.stepvalue) and iteration >= param.stepvalue[step]:
        return step + 1
    return step


def rate_at(param: pb.SolverParameter, iteration: int, step: int) -> float:
    """The learning rate of an iteration."""
    return _policy_of(param)(param, iteration, step)


def _policy_of(param: pb.SolverParameter) -> Policy:
    """The policy that a solver names."""
    if param.lr_policy not in POLICIES:
        problem = f"unknown lr_policy '{param.lr_policy}'" if param.lr_policy else "the solver has no lr_policy"
        raise SolverError(f"{problem}; it is one of {', '.join(POLICIES)}")
    return POLICIES[param.lr_policy]


def _positive(param: pb.SolverParameter, name: str) -> int:
    value: int = getattr(param, name)
    if value <= 0:
        raise SolverError(f"lr_policy '{param.lr_policy}' needs a {name} above 0")
    return value


def _gamma(param: pb.SolverParameter) -> float:
    if param.gamma < 0:
        raise SolverError(f"gamma is {param.gamma:g}; lr_policy '{param.lr_policy}' needs one that isn't negative")
    return param.gamma


def _fixed(param: pb.SolverParameter, iteration: int, step: int) -> float:
    return param.base_lr


def _stepped(param: pb.SolverParameter, iteration: int, step: int) -> float:
    return param.base_lr * math.pow(_gamma(param), step)


def _exp(param: pb.SolverParameter, iteration: int, step: int) -> float:
    return param.base_lr * math.pow(_gamma(param), iteration)


def _inv(param: pb.SolverParameter, iteration: int, step: int) -> float:
    return param.base_lr * math.pow(1 + _gamma(param) * iteration, -param.power)


def _poly(param: pb.SolverParameter, iteration: int, step: int) -> float:
    left = 1 - iteration / _positive(param, "max_iter")
    return param.base_lr * math.pow(max(left, 0.0), param.power)


def _sigmoid(param: pb.SolverParameter, iteration: int, step: int) -> float:
    return param.base_lr / (1 + math.exp(-_gamma(param) * (iteration - _positive(param, "stepsize"))))


POLICIES: dict[str, Policy] = {
    "fixed": _fixed,
    "step": _stepped,
    "exp": _exp,
    "inv": _inv,
    "multistep": _stepped,
    "poly": _poly,
    "sigmoid": _sigmoid,
}

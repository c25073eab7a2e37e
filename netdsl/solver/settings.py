"""A solver's settings, read in today's form and checked, the nets that they name, and their learning rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.addresses import address_in, local_path
from caffe_proto.copies import copy_of
from caffe_proto.dialects import FORKS
from caffe_proto.errors import FileError
from caffe_proto.files import read_solver
from caffe_proto.upgrade import upgrade_solver
from netdsl.errors import SolverError
from netdsl.layer.data import with_stored_files
from netdsl.layers import data_layer_of
from netdsl.model.model import Model, in_state, open_net
from netdsl.solver.evaluation import DETECTION, precision_rule
from netdsl.storage.local_copies import check_allowed, is_copy, opened_path, path_in_file

Policy = Callable[[pb.SolverParameter, int, int], float]  # a function of the settings, the iteration and the step
_TRAIN_FIELDS = ("net", "net_param", "train_net", "train_net_param")
_HARMLESS = {  # settings of forks that don't change the result of training
    *("engine", "device", "layer_wise_reduce", "per_parameter_reduce", "store_blobs_in_old_format"),
    *("eval_type", "ap_version", "show_per_class_result", "log_avg_gradient_norm"),
}


def read_settings(path: str | Path) -> pb.SolverParameter:
    """Read the settings from a solver's file.

    Caffe's rule: by default, `snapshot_prefix` is the path of the solver's file without its suffix. The snapshots of a
    solver from a storage are in the working folder. If `snapshot_prefix` is a folder, snapshots are in that folder and
    named after the solver's file. An address must be one that the user allows.
    """
    path = local_path(path)
    param = upgrade_solver(read_solver(path).message).message
    if not param.HasField("snapshot_prefix"):
        param.snapshot_prefix = path.stem if is_copy(path) else str(path.with_suffix(""))
    elif (address := address_in(param.snapshot_prefix)) is not None:
        check_allowed(address)
    elif Path(param.snapshot_prefix).is_dir():
        param.snapshot_prefix = str(Path(param.snapshot_prefix) / path.stem)
    _check_nets(param, path)
    try:
        check_settings(param)
    except SolverError as problem:
        raise SolverError(f"{path}: {problem}") from None
    return param


def _check_nets(param: pb.SolverParameter, path: Path) -> None:
    """Raise a `FileError` for a net whose file doesn't exist. Only at this point is the solver's file known for the
    message."""
    named = [("net", param.net), ("train_net", param.train_net), *(("test_net", name) for name in param.test_net)]
    for field, name in named:
        if name and not find_file(name, path.parent).exists():
            raise FileError(
                f"{path}: {field}: the file '{name}' doesn't exist, neither here nor in the solver's folder; "
                "name a file relative to one of these folders, or its absolute path"
            )


def seed(param: pb.SolverParameter, rank: int = 0) -> None:
    """Seed torch's random numbers with `random_seed`, if it is set. Every rank gets its own seed."""
    if param.random_seed >= 0:
        torch.manual_seed(param.random_seed + rank)


def check_settings(param: pb.SolverParameter) -> None:
    """Raise a `SolverError` for invalid settings."""
    for name in ("average_loss", "iter_size"):
        if getattr(param, name) < 1:
            raise SolverError(f"{name} is {getattr(param, name)}; set it to 1 or more")
    for count in param.test_iter:
        if count < 1:
            raise SolverError(f"test_iter is {count}; set it to 1 or more")
    _policy_of(param)
    next_step(param, 0, 0)  # raises an error if the policy's steps are invalid
    _refuse_forks(param)
    if param.eval_type == DETECTION:
        precision_rule(param)
    if param.snapshot and not param.HasField("snapshot_prefix"):
        raise SolverError(
            "the solver has a snapshot interval but no snapshot_prefix; set it to a folder and the beginning of "
            "a name, as in 'snapshots/lenet'"
        )


def _refuse_forks(param: pb.SolverParameter) -> None:
    """Raise a `SolverError` for settings of forks that would change the result of training."""
    for field, value in param.ListFields():
        is_default = field.has_default_value and value == field.default_value
        if field.number >= FORKS and field.name not in _HARMLESS and not is_default:
            raise SolverError(
                f"'{field.name}' is a setting of a fork of Caffe and isn't supported; remove it from the solver"
            )


class SolverSettings:
    """A solver's settings and the models of its nets, each of which is opened once. Treat all of them as read-only.

    `net` is trained and tested, `train_net` is only trained, and `test_nets` are only tested. They correspond to
    Caffe's fields of these names. `param` keeps the names of their files, but contains no nets.
    """

    def __init__(
        self,
        param: pb.SolverParameter,
        net: Model | None = None,
        train_net: Model | None = None,
        test_nets: tuple[Model, ...] = (),
    ) -> None:
        self.param, self.net, self.train_net, self.test_nets = param, net, train_net, test_nets

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, SolverSettings) and self.message == other.message)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the message. Other processes open its nets again."""
        return open_settings, (self.message,)

    @cached_property
    def trained(self) -> Model:
        """The model that is trained. Its state is the net's own state, overridden by the solver's `train_state`."""
        return _with_state(self.net_to_train, pb.TRAIN, [self.param.train_state])

    @property
    def net_to_train(self) -> Model:
        """The net with the layers of all states, from which the training state selects."""
        model = self.net or self.train_net
        if model is None:
            raise SolverError(f"the solver names no net to train; set exactly one of {', '.join(_TRAIN_FIELDS)}")
        return model

    @cached_property
    def tested(self) -> tuple[Model, ...]:
        """The models that are tested, each in its state.

        Caffe's rule: the number of `test_iter` values is the number of test nets. The last of them are the `net`
        itself.
        """
        param, own, count = self.param, self.test_nets, len(self.param.test_iter)
        if count < len(own) or (self.net is None and count != len(own)):
            raise SolverError(f"the solver has {count} test_iter for {len(own)} test nets; give one for each")
        if param.test_state and len(param.test_state) != count:
            raise SolverError(
                f"the solver has {len(param.test_state)} test_state for {count} test nets; give one for each, or none"
            )
        if count and param.test_interval <= 0:
            raise SolverError("the solver has a test_iter but no test_interval; set test_interval to 1 or more")
        models = [*own, *([] if self.net is None else [self.net] * (count - len(own)))]
        states = [[state] for state in param.test_state] or [[]] * count
        return tuple(_with_state(model, pb.TEST, state) for model, state in zip(models, states, strict=True))

    @cached_property
    def message(self) -> pb.SolverParameter:
        """Caffe's message, which contains the nets themselves instead of the names of their files."""
        message = copy_of(self.param, without=("net", "train_net", "test_net"))
        for field, model in (("net_param", self.net), ("train_net_param", self.train_net)):
            if model is not None:
                getattr(message, field).CopyFrom(model.net)
        message.test_net_param.extend(model.net for model in self.test_nets)
        return message

    def sources(self) -> tuple[str, list[str]]:
        """Return the sources of the nets for training and testing in Caffe's words.

        Examples are `net file: lenet.prototxt` and `net_param`.
        """
        param, field = self.param, "net" if self.net is not None else "train_net"
        name = getattr(param, field)
        train = f"{field} file: {name}" if name else f"{field}_param"
        own = ["test_net_param"] * (len(self.test_nets) - len(param.test_net))
        tests = own + [f"test_net file: {name}" for name in param.test_net]
        return train, tests + [train] * (len(param.test_iter) - len(tests))

    def with_fields(self, **values: object) -> SolverSettings:
        """Return the settings with other values of some fields, and the same nets."""
        param = copy_of(self.param)
        for name, value in values.items():
            if isinstance(value, list):
                getattr(param, name)[:] = value
            else:
                setattr(param, name, value)
        return SolverSettings(param, self.net, self.train_net, self.test_nets)

    def without(self, *fields: str) -> SolverSettings:
        """Return the settings without some fields, and with the same nets."""
        param = copy_of(self.param, without=fields)
        return SolverSettings(param, self.net, self.train_net, self.test_nets)

    def with_stored_files(self) -> SolverSettings:
        """Return the settings with nets whose data layers name files on this machine, for other processes. Nets from a
        storage can name files that are stored next to them."""

        def localized(model: Model) -> Model:
            net = copy_of(model.net)
            for layer in net.layer:
                if data_layer_of(layer) is not None:
                    layer.CopyFrom(with_stored_files(layer))
            return model if net == model.net else replace(model, net=net)

        net, train_net = (None if model is None else localized(model) for model in (self.net, self.train_net))
        return SolverSettings(self.param, net, train_net, tuple(map(localized, self.test_nets)))

    def without_tests(self) -> SolverSettings:
        """Return the settings of the same training without tests."""
        param = copy_of(self.param, without=("test_iter", "test_interval", "test_state", "test_net"))
        return SolverSettings(param, self.net, self.train_net)

    def with_net(self, model: Model) -> SolverSettings:
        """Return the settings with another model to train, which is also tested if the original one is."""
        param = copy_of(self.param, without=("net", "train_net"))
        trained = {"net": model} if self.train_net is None else {"train_net": model}
        return SolverSettings(param, test_nets=self.test_nets, **trained)


def open_settings(
    source: str | Path | pb.SolverParameter, folder: Path | None = None, dialect: str | None = None
) -> SolverSettings:
    """Open the settings in a solver's file or message with their nets, each of which is opened once.

    File names may be relative to `folder`, which is the folder of the solver's file by default. `dialect` is the fork
    of Caffe for which the nets were written, as in `open_net`.
    """
    if not isinstance(source, pb.SolverParameter):
        source = opened_path(source)
        folder = source.parent if folder is None else folder
        source = read_settings(source)

    def opened(net: str | pb.NetParameter) -> Model:
        return open_net(net if isinstance(net, pb.NetParameter) else find_file(net, folder), dialect=dialect)

    fields = [name for name in _TRAIN_FIELDS if source.HasField(name)]
    if len(fields) > 1:
        raise SolverError(f"the solver names {' and '.join(fields)}; set exactly one of {', '.join(_TRAIN_FIELDS)}")
    trained = {name.removesuffix("_param"): opened(getattr(source, name)) for name in fields}
    tests: list[str | pb.NetParameter] = [*source.test_net_param, *source.test_net]
    param = copy_of(source, without=("net_param", "train_net_param", "test_net_param"))
    return SolverSettings(param, test_nets=tuple(map(opened, tests)), **trained)


def _with_state(model: Model, phase: pb.Phase, states: Sequence[pb.NetState]) -> Model:
    """Return the model in a phase. Its state is the net's own state, overridden by others."""
    state = pb.NetState(phase=phase)
    for part in (model.net.state, *states):
        state.MergeFrom(part)
    return in_state(model, state)


def find_file(name: str, folder: Path | None) -> Path:
    """Return the path of a file that a solver names. It is relative to the working folder as in Caffe, or to the
    solver's folder. A solver from a storage can name files that are stored next to it."""
    path = Path(name)
    in_folder = folder / path if folder is not None else path
    if path.exists() or in_folder.exists():
        return path if path.exists() else in_folder
    return path_in_file(name, folder) or path


def split_names(names: Iterable[str]) -> Iterator[str]:
    """Yield each name of a weights file. Caffe's rule: a name may contain several names with commas between them."""
    for name in names:
        yield from (part.strip() for part in name.split(","))


def find_weights(names: Iterable[str], folder: Path | None) -> list[Path]:
    """Return the paths of weights files. Names are relative to the working folder or to another folder."""
    return [find_file(name, folder) for name in split_names(names)]


def next_step(param: pb.SolverParameter, iteration: int, step: int) -> int:
    """Return the step of an iteration, given the previous iteration's step. The step is how often the rate was lowered.

    Caffe's rule: `multistep` advances at most one step per iteration, and continues from the step of a solver state.
    """
    if param.lr_policy == "step":
        return iteration // _positive(param, "stepsize")
    if param.lr_policy == "multistep" and step < len(param.stepvalue) and iteration >= param.stepvalue[step]:
        return step + 1
    return step


def rate_at(param: pb.SolverParameter, iteration: int, step: int) -> float:
    """Return the learning rate of an iteration."""
    return _policy_of(param)(param, iteration, step)


def _policy_of(param: pb.SolverParameter) -> Policy:
    """Return the policy that a solver names."""
    if param.lr_policy not in POLICIES:
        problem = f"unknown lr_policy '{param.lr_policy}'" if param.lr_policy else "lr_policy isn't set"
        raise SolverError(f"{problem}; set it to one of {', '.join(POLICIES)}")
    return POLICIES[param.lr_policy]


def _positive(param: pb.SolverParameter, name: str) -> int:
    value: int = getattr(param, name)
    if value <= 0:
        raise SolverError(f"lr_policy '{param.lr_policy}' needs a {name} above 0; set it in the solver")
    return value


def _gamma(param: pb.SolverParameter) -> float:
    if param.gamma < 0:
        raise SolverError(
            f"gamma is {param.gamma:g}, but lr_policy '{param.lr_policy}' needs 0 or more; set, for example, gamma: 0.1"
        )
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

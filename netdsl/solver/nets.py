"""The nets that a solver names: one for training, any number for testing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import SolverError
from netdsl.open_net import open_net

_TRAIN = ("net", "net_param", "train_net", "train_net_param")


def train_net(param: pb.SolverParameter, folder: Path | None = None) -> pb.NetParameter:
    """The net for training, in today's form, with its state: the solver's `train_state` over the net's own."""
    fields = _train_fields(param)
    if not fields:
        raise SolverError(f"the solver names no net to train; it needs exactly one of {', '.join(_TRAIN)}")
    return _with_state(_net(getattr(param, fields[0]), folder), pb.TRAIN, [param.train_state])


def _train_fields(param: pb.SolverParameter) -> list[str]:
    """The field that has the net for training, if one has."""
    fields = [name for name in _TRAIN if param.HasField(name)]
    if len(fields) > 1:
        raise SolverError(f"the solver names {' and '.join(fields)}; it needs exactly one of {', '.join(_TRAIN)}")
    return fields


def test_nets(param: pb.SolverParameter, folder: Path | None = None) -> list[pb.NetParameter]:
    """The nets for testing. Caffe's rule: `test_iter` says how many; the last ones are the `net` itself."""
    own: list[str | pb.NetParameter] = [*param.test_net_param, *param.test_net]
    both: list[str | pb.NetParameter] = [getattr(param, name) for name in ("net_param", "net") if param.HasField(name)]
    count = len(param.test_iter)
    if count < len(own) or (not both and count != len(own)):
        raise SolverError(f"{count} test_iter for {len(own)} test nets; give one for each")
    if param.test_state and len(param.test_state) != count:
        raise SolverError(f"{len(param.test_state)} test_state for {count} test nets; give one for each, or none")
    if count and param.test_interval <= 0:
        raise SolverError("test_iter is given, but test_interval isn't above 0")
    sources = own + both[:1] * (count - len(own))
    states = [[state] for state in param.test_state] or [[]] * count
    return [_with_state(_net(one, folder), pb.TEST, more) for one, more in zip(sources, states, strict=True)]


def inline_nets(param: pb.SolverParameter, folder: Path | None = None) -> pb.SolverParameter:
    """The same settings with the nets in them that they name files of."""
    changed = pb.SolverParameter()
    changed.CopyFrom(param)
    for name in _train_fields(param):
        if name in ("net", "train_net"):
            getattr(changed, f"{name}_param").CopyFrom(_net(getattr(param, name), folder))
            changed.ClearField(name)
    del changed.test_net_param[:], changed.test_net[:]
    tests: list[str | pb.NetParameter] = [*param.test_net_param, *param.test_net]
    for one in tests:
        changed.test_net_param.add().CopyFrom(_net(one, folder))
    return changed


def _net(source: str | pb.NetParameter, folder: Path | None) -> pb.NetParameter:
    return open_net(source if isinstance(source, pb.NetParameter) else find_file(source, folder)).net


def find_file(name: str, folder: Path | None) -> Path:
    """A file that a solver names: from where we are, as Caffe does it, or from where the solver is."""
    path = Path(name)
    beside = folder / path if folder is not None else path
    return beside if not path.exists() and beside.exists() else path


def split_names(names: Iterable[str]) -> Iterator[str]:
    """Caffe's rule: several files of weights may be named at once, with commas between them."""
    for name in names:
        yield from (each.strip() for each in name.split(","))


def _with_state(net: pb.NetParameter, phase: pb.Phase, more: Sequence[pb.NetState]) -> pb.NetParameter:
    state = pb.NetState(phase=phase)
    for each in (net.state, *more):
        state.MergeFrom(each)
    net.state.CopyFrom(state)
    return net

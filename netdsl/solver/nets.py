"""The nets that a solver's settings name: one for training, any number for testing."""

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
    return [_with_state(_net(source, folder), pb.TEST, state) for source, state in zip(sources, states, strict=True)]


def net_sources(param: pb.SolverParameter) -> tuple[str, list[str]]:
    """Where the nets for training and testing are, in Caffe's words: `net file: lenet.prototxt`, or `net_param`."""
    train = _source(param, _train_fields(param)[0])
    tests = ["test_net_param"] * len(param.test_net_param) + [f"test_net file: {name}" for name in param.test_net]
    return train, tests + [train] * (len(param.test_iter) - len(tests))


def _source(param: pb.SolverParameter, field: str) -> str:
    value = getattr(param, field)
    return f"{field} file: {value}" if isinstance(value, str) else field


def inline_nets(
    param: pb.SolverParameter, folder: Path | None = None, dialect: str | None = None
) -> pb.SolverParameter:
    """The same settings with the nets themselves, in today's form, in place of the names of their files.

    `dialect` is the fork of Caffe that the nets are for, as `open_net` takes it; they keep it.
    """
    changed = pb.SolverParameter()
    changed.CopyFrom(param)
    for name in _train_fields(param):
        changed.ClearField(name)
        getattr(changed, f"{name.removesuffix('_param')}_param").CopyFrom(_net(getattr(param, name), folder, dialect))
    del changed.test_net_param[:], changed.test_net[:]
    tests: list[str | pb.NetParameter] = [*param.test_net_param, *param.test_net]
    for source in tests:
        changed.test_net_param.add().CopyFrom(_net(source, folder, dialect))
    return changed


def _net(source: str | pb.NetParameter, folder: Path | None, dialect: str | None = None) -> pb.NetParameter:
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


def _with_state(net: pb.NetParameter, phase: pb.Phase, states: Sequence[pb.NetState]) -> pb.NetParameter:
    merged = pb.NetState(phase=phase)
    for state in (net.state, *states):
        merged.MergeFrom(state)
    net.state.CopyFrom(merged)
    return net

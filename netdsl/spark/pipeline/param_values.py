"""Conversion of the values of params to texts and plain values, which can be saved as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text, text_of
from caffe_proto.upgrade import upgrade_solver
from netdsl.distributed.strategies import settings
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.distributed.transports import CONNECTIONS
from netdsl.distributed.transports.transport import OF_MPI, Transport
from netdsl.dsl.assign import assign
from netdsl.dsl.params import NetParams
from netdsl.errors import NetError
from netdsl.open_net import open_net
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.solver.nets import inline_nets
from netdsl.solver.settings import read_settings

NetDescription = NetParams | pb.NetParameter | str | Path
Settings = pb.SolverParameter | Mapping[str, Any] | str | Path

_DEFAULTS = {"type": "SGD", "base_lr": 0.01, "lr_policy": "fixed", "momentum": 0.9}


def net_of(value: NetDescription) -> str:
    """The prototxt of a net: of a description in the DSL, a message, a file, or prototxt itself."""
    if not isinstance(value, (NetParams, pb.NetParameter, str, Path)):
        raise TypeError(f"a net is a NetParams, a NetParameter or a file, not {value!r}")
    if isinstance(value, (str, Path)) and _is_text(value):
        value = from_text(str(value), pb.NetParameter)
    model = open_net(value)
    if model.weights:
        raise NetError(f"{value}: has weights; name it where weights are wanted, and give the net as prototxt")
    return text_of(model.net)


def solver_of(value: Settings) -> str:
    """The prototxt of a solver's settings, with the nets that they name inlined."""
    if isinstance(value, Mapping):
        param = pb.SolverParameter()
        assign(param, {**_DEFAULTS, **value}, "solver")
    elif isinstance(value, pb.SolverParameter):
        param = value
    elif not isinstance(value, (str, Path)):
        raise TypeError(f"a solver is a dict of settings, a SolverParameter or a file, not {value!r}")
    elif _is_text(value):
        param = from_text(str(value), pb.SolverParameter)
    else:
        return text_of(inline_nets(read_settings(value), Path(value).parent))
    return text_of(inline_nets(upgrade_solver(param).message))


def _is_text(value: str | Path) -> bool:
    """Whether a value is prototxt, which has several lines, rather than the name of a file."""
    return "\n" in str(value)


def strategy_of(value: Strategy | str) -> str:
    """The text of a strategy, with its name and settings."""
    return settings.text_of(settings.parse(value) if isinstance(value, str) else value)


def transport_of(value: Transport | str) -> str:
    """The name of a transport."""
    possible = [*(transport.value for transport in Transport if transport not in OF_MPI), *CONNECTIONS]
    name = value.value if isinstance(value, Transport) else value
    if name not in possible:
        raise TypeError(f"a transport is one of {', '.join(possible)}, not {name!r}")
    return name


def device_of(value: torch.device | str) -> str:
    """The name of a device."""
    try:
        return str(torch.device(value))
    except (RuntimeError, TypeError):
        raise TypeError(f"a device is cpu, cuda or cuda:0, not {value!r}") from None


def names_of(value: Mapping[str, str]) -> dict[str, str]:
    """A dict of names by names."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for pair in value.items() for name in pair):
        raise TypeError(f"a dict of names is wanted, from blobs to columns, not {value!r}")
    return dict(value)


def classes_of(value: Sequence[str]) -> list[str]:
    """The names of classes."""
    if isinstance(value, str) or not all(isinstance(name, str) for name in value):
        raise TypeError(f"a list of names is wanted, of class 0 first, not {value!r}")
    return list(value)


def paths_of(value: str | Path | list[str | Path]) -> list[str]:
    """The names of files."""
    return [str(value)] if isinstance(value, (str, Path)) else [str(path) for path in value]


def count_of(value: Any) -> int:
    """A whole number of 1 or more."""
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise TypeError(f"a whole number of 1 or more is wanted, not {value!r}")
    return int(value)


def invalid_of(value: Any) -> str:
    """The word for what becomes of invalid rows."""
    words = [choice.value for choice in InvalidRows]
    if value not in words:
        raise TypeError(f"handleInvalid is one of {', '.join(words)}, not {value!r}")
    return str(value)


def function_of(value: Any) -> Any:
    """A function, or anything else that can be called."""
    if not callable(value):
        raise TypeError(f"a function is wanted, not {value!r}")
    return value

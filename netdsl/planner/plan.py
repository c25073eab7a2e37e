"""A plan for the training of a net on some machines, with its forecast and its reasons. It is stored as a JSON file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from caffe_proto.storage import write_pieces
from netdsl.distributed.strategies.settings import from_plain
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.errors import PlanError
from netdsl.net.compute_precision import ComputePrecision

_VERSION = 1  # of the file's format
_LONGEST = 1 << 24  # bytes; a longer file can't be a plan


class Forecast(msgspec.Struct, frozen=True):
    """The expectations of a plan. Times are in seconds, for the slowest worker."""

    compute: float  # for an iteration, with all its passes and the update
    exchange: float  # an iteration's share of the exchanges and waits that computing doesn't hide
    memory: int  # peak bytes on a device
    epoch: float  # until all workers together have seen each item once
    iterations: int  # of each worker, for the same result as with the plan's solver
    estimated: bool  # whether the number of iterations is an estimate from trainings of a small net

    @property
    def iteration(self) -> float:
        """The seconds of an iteration with its share of exchanges."""
        return self.compute + self.exchange

    @property
    def training(self) -> float:
        """The seconds of the whole training."""
        return self.iterations * self.iteration


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way to train a net, with its forecast and the reasons as sentences."""

    net: str
    device: str
    machines: int
    workers: int
    strategy: Strategy
    batch: int  # in a pass, as in the net's data layer
    iter_size: int  # passes in an iteration
    precision: ComputePrecision
    forecast: Forecast
    reasons: tuple[str, ...] = ()
    algorithms: dict[str, str] = {}  # expected algorithms of convolutions, by layer name
    version: int = _VERSION


def write_plan(plan: Plan, path: Path) -> None:
    """Write a plan to a file, which replaces an existing file."""
    write_pieces(path, [msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n"])


def read_plan(path: Path) -> Plan:
    """Read a plan from its file."""
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST)
        plan = msgspec.json.decode(data, type=Plan, dec_hook=lambda _, plain: from_plain(plain, path))
    except OSError as problem:
        raise PlanError(
            f"{path}: the file can't be read: {problem.strerror}; check the path and its permissions"
        ) from None
    except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise PlanError(f"{path}: not a plan: {problem}; write one with `zoo plan -o FILE`") from None
    if plan.version != _VERSION:
        raise PlanError(f"{path}: the plan is from another version of netdsl; write it again with `zoo plan -o FILE`")
    return plan

"""A plan: how a net is to be trained on some machines, what that will take, and why. It is a JSON file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from caffe_proto.storage import write_pieces
from netdsl.distributed.strategies.settings import from_plain
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.errors import PlanError
from netdsl.net.compute_precision import ComputePrecision

_VERSION = 1  # of the file
_LONGEST = 1 << 24  # bytes of a file that can be a plan


class Forecast(msgspec.Struct, frozen=True):
    """What a plan expects. Times are in seconds, of the slowest worker."""

    compute: float  # of an iteration: all its passes and the update
    exchange: float  # of an iteration's share of exchanges and waits that computing doesn't hide
    memory: int  # bytes on a device, at most
    epoch: float  # until all workers together have seen as many items as there are
    iterations: int  # of each worker, until the result is that of the plan's solver
    estimated: bool  # whether the number of iterations is estimated from trainings of another, small net

    @property
    def iteration(self) -> float:
        """The seconds of an iteration with its share of exchanges."""
        return self.compute + self.exchange

    @property
    def training(self) -> float:
        """The seconds of the whole training."""
        return self.iterations * self.iteration


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to train a net, with what is expected of that, and the reasons in sentences."""

    net: str
    device: str
    machines: int
    workers: int
    strategy: Strategy
    batch: int  # of a pass, as the net's data layer states it
    iter_size: int  # passes of an iteration
    precision: ComputePrecision
    forecast: Forecast
    reasons: tuple[str, ...] = ()
    algorithms: dict[str, str] = {}  # that are expected of convolutions, by their layers' names
    version: int = _VERSION


def write_plan(plan: Plan, path: Path) -> None:
    """Write a plan as a file, which is replaced if it is there."""
    write_pieces(path, [msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n"])


def read_plan(path: Path) -> Plan:
    """Read a plan from its file."""
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST)
        plan = msgspec.json.decode(data, type=Plan, dec_hook=lambda _, plain: from_plain(plain, path))
    except OSError as problem:
        raise PlanError(f"{path}: can't be read: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise PlanError(f"{path}: isn't a plan: {problem}; `zoo plan` writes one") from None
    if plan.version != _VERSION:
        raise PlanError(f"{path}: is a plan of another version of netdsl; make it again with `zoo plan`")
    return plan

"""A training run: everything that says what is trained and how, as one value that can be written and read."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import torch

from caffe_proto.files import CaffeFile, Form, read_solver, write
from caffe_proto.storage import remove_leftovers, write_pieces
from netdsl.data.tables.table import Table
from netdsl.distributed.journal import Membership, Retention
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.settings import from_plain
from netdsl.distributed.strategies.strategy import ModelSize, Strategy
from netdsl.distributed.transports.transport import OF_MPI, Transport, choose_transport
from netdsl.errors import DistributedError
from netdsl.net.graph import Phase
from netdsl.plugins import allowed_plugins, plugins
from netdsl.solver.length import NEVER, Epoch, Intervals
from netdsl.solver.settings import SolverSettings, open_settings
from netdsl.solver.trainable_net import Compute

NEWEST = "auto"  # as a snapshot: the newest whole one, if there is one
_RUN, _SOLVER = "run.json", "solver.prototxt"
_VERSION = 3  # of the folder: the file, and the order of the weights in the journal


@dataclass(frozen=True)
class Run:
    """What to train and how, by one worker in this process, or by several, whose run is kept in a folder.

    `folder` is where the names of files begin. Worker i of a machine computes on its i-th device, and again from the
    first. `snapshot` is a solver state to go on from, or NEWEST. Tables take the place of what the nets themselves
    read. `due` has the intervals of tests and snapshots, where those of the settings, which are whole numbers, aren't
    precise enough.
    """

    solver: SolverSettings
    strategy: Strategy = field(default_factory=ModelAveraging)
    workers: int = 1  # at most, if `fewest` is set
    folder: Path = Path()
    weights: tuple[str, ...] = ()
    snapshot: str | None = None
    compute: Compute = field(default_factory=Compute)
    devices: tuple[torch.device, ...] = ()  # if none is named, that of `compute`
    threads: int = 1  # that each of several workers computes with
    tables: Mapping[Phase, Table] = field(default_factory=dict)
    transport: Transport | None = None  # if unset, the best one for the devices and machines
    deadline: float = 120.0  # seconds without a heartbeat, after which a worker counts as lost
    keeping: Retention = field(default_factory=Retention)
    require_finite: bool = True  # whether a loss, or weights to save, that aren't finite are an error
    fewest: int | None = None  # if set, workers may be lost and come while no fewer than this take part
    memberships: tuple[Membership, ...] = ()  # if there are any, who takes part from which round on
    due: Intervals | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise DistributedError(f"{self.workers} workers; there must be one at least")
        if self.fewest is not None:
            self._check_range(self.fewest)

    def _check_range(self, fewest: int) -> None:
        if not 1 <= fewest <= self.workers:
            raise DistributedError(f"from {fewest} to {self.workers} workers; give the smaller number first")
        if self.strategy.divides_batch:
            raise DistributedError(
                f"with {self.strategy.name} the workers divide each batch, so their number can't change while they "
                "train; give one number of workers, or another strategy, such as averaging"
            )

    @property
    def intervals(self) -> Intervals:
        """The intervals of tests and of snapshots, of which the settings say whether there are any."""
        param = self.solver.param
        due = self.due or Intervals(Fraction(param.test_interval), Fraction(param.snapshot))
        return Intervals(due.test if param.test_iter else NEVER, due.snapshot if param.snapshot else NEVER)

    def epoch_of(self, batches: Fraction) -> Epoch:
        """Return the epoch of items that make this many batches of the net.

        A DistributedError if all iterations don't see equally many items, so that none could be promised.
        """
        if self.fewest is not None:
            raise DistributedError(
                f"with {self.fewest} to {self.workers} workers nobody knows how many items an iteration sees, so "
                f"epochs can't be counted; give one number of workers, as in --workers {self.workers}"
            )
        if self.workers > 1 and self.strategy.traffic(ModelSize(())).warmup:
            raise DistributedError(
                "in a warm-up one worker alone sees items, so epochs can't be counted; leave warmup out, or give the "
                "training's length in iterations"
            )
        at_once = 1 if self.strategy.divides_batch else self.workers
        return Epoch.of(batches, iter_size=self.solver.param.iter_size, batches_at_once=at_once)

    def device(self, local_rank: int) -> torch.device:
        """Return the device of a worker, by its rank on its machine."""
        devices = self.devices or (self.compute.device,)
        return devices[local_rank % len(devices)]

    def fitting(self, room: int) -> int:
        """Return the number of workers to begin with where there is room for so many."""
        return self.workers if self.fewest is None else max(self.fewest, min(self.workers, room))

    def with_transport(self, per_machine: int, *, mpi: bool = False) -> Run:
        """Return the run with the transport that was asked for, or else the best one for this many workers on each
        machine.

        `mpi` is whether the workers are ranks of mpiexec.
        """
        devices = [self.device(rank) for rank in range(per_machine)]
        best = choose_transport(devices, -(-self.workers // per_machine), mpi=mpi)
        transport = self.transport or best
        if transport is Transport.NCCL and best is not Transport.NCCL:
            raise DistributedError("the transport nccl needs a GPU for each worker; leave it out, or take gloo")
        if transport in OF_MPI and not mpi:
            raise DistributedError(f"the transport {transport.value} is between ranks of mpiexec; give --backend mpi")
        return replace(self, transport=transport)

    def settled(self) -> Run:
        """Return the same run with a random seed, which must be fixed to repeat it, and all weights in one place."""
        param = self.solver.param
        seed = param.random_seed if param.random_seed >= 0 else random.randrange(2**31)
        solver = self.solver.without("weights").with_fields(random_seed=seed)
        return replace(self, solver=solver, weights=(*param.weights, *self.weights), folder=self.folder.resolve())

    def save(self, path: Path, *, again: bool = False) -> None:
        """Begin a run of several workers in a folder, which is made; or write it again after a change."""
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DistributedError(f"{path}: can't be made: {problem.strerror}") from None
        if (path / _RUN).exists() and not again:
            raise DistributedError(f"{path}: has a run already; resume it, or name another folder")
        remove_leftovers(path)
        write(CaffeFile(self.solver.message, form=Form.TEXT), path / _SOLVER)
        data = msgspec.json.encode(_RunFile(_VERSION, self, tuple(allowed_plugins())), enc_hook=_to_plain)
        write_pieces(path / _RUN, [msgspec.json.format(data, indent=1) + b"\n"])

    @classmethod
    def load(cls, path: Path, solver: SolverSettings | None = None) -> Run:
        """Return the run that a folder has, with its solver, where that needn't be read again."""
        file = path / _RUN
        try:
            data = file.read_bytes()
            head = msgspec.json.decode(data, type=_Head)
            if head.version != _VERSION:
                raise DistributedError(
                    f"{file}: is the run of another version of netdsl, which kept runs in another form; begin a "
                    "new one, with the model or the newest snapshot of this one as --weights"
                )
            _check_plugins(path, head.plugins)
            return msgspec.json.decode(data, type=_RunFile, dec_hook=partial(_from_plain, path, solver)).run
        except OSError as problem:
            raise DistributedError(f"{file}: can't be read: {problem.strerror}; does a run begin there?") from None
        except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
            raise DistributedError(f"{file}: is damaged: {problem}") from None


def exists(path: Path) -> bool:
    """Return whether a run was begun in a folder."""
    return (path / _RUN).exists()


class _Head(msgspec.Struct, frozen=True):
    """What the file of a run says before anything else of it can be read."""

    version: int = 1
    plugins: tuple[str, ...] = ()


class _RunFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The file of a run, and the plug-ins that its starter allowed. The solver's settings are prototxt beside it."""

    version: int
    run: Run
    plugins: tuple[str, ...] = ()


def _check_plugins(folder: Path, names: Sequence[str]) -> None:
    """Raise a DistributedError if a run needs plug-ins that the user doesn't allow now: no file allows them."""
    allowed = {plugin.module for plugin in plugins()}
    missing = [name for name in names if name not in allowed]
    if missing:
        options = " ".join(f"--plugin {name}" for name in missing)
        raise DistributedError(
            f"{folder / _RUN}: the run was begun with {options}, which isn't allowed here; if you trust the code, add "
            f"that to the command, as in: zoo train --resume {folder} {options}"
        )


def _to_plain(value: Any) -> str:
    match value:
        case SolverSettings():
            return _SOLVER
        case _:
            return str(value)


def _from_plain(folder: Path, solver: SolverSettings | None, kind: type, plain: Any) -> Any:
    if kind is SolverSettings:
        return solver or open_settings(read_solver(folder / plain).message)
    if kind is Strategy:
        return from_plain(plain, folder / _RUN)
    try:
        return kind(plain)
    except RuntimeError:
        raise ValueError(f"'{plain}' is no {kind.__name__}") from None

"""A training run: the net, the solver and all other settings of a training, as a value that can be saved and loaded."""

from __future__ import annotations

import os
import random
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import torch

from caffe_proto.copies import with_texts
from caffe_proto.files import CaffeFile, Form, prototxt, read_solver, write
from caffe_proto.storage import PRIVATE, create_folder, remove_leftovers, write_pieces
from netdsl.data.sources.open_source import parse_source
from netdsl.data.tables.table import Table
from netdsl.distributed.control.address import DEADLINE
from netdsl.distributed.journal import Membership, Retention
from netdsl.distributed.run_lease import check_folder_name, held_lease
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.settings import from_plain
from netdsl.distributed.strategies.strategy import ModelSize, Strategy
from netdsl.distributed.transports.transport import OF_MPI, Transport, choose_transport
from netdsl.errors import DistributedError
from netdsl.layer.data import small_files_of
from netdsl.net.graph import Phase
from netdsl.plugins import allowed_plugins, plugins
from netdsl.ranks import starter_in
from netdsl.solver.length import NEVER, Epoch, Intervals
from netdsl.solver.settings import SolverSettings, open_settings
from netdsl.solver.trainable_net import Compute
from netdsl.storage.local_copies import addresses_of_copies, copy_again

NEWEST = "auto"  # as a snapshot, the newest valid one, if there is one
_RUN, _SOLVER = RUN_FILES = "run.json", "solver.prototxt"
_VERSION = 3  # of the folder's format: the file, and the order of the weights in the journal


@dataclass(frozen=True)
class Run:
    """The settings of a training by one worker in this process, or by several workers whose run is kept in a folder.

    `folder` is the folder to which file names are relative. Worker i of a machine computes on device i, counting from
    the first device again when there are more workers than devices. `snapshot` is a solver state from which training
    resumes, or `NEWEST`. `tables` replace the data that the nets themselves would read. `due` contains the intervals of
    tests and snapshots if the whole numbers of the solver's settings aren't precise enough.
    """

    solver: SolverSettings
    strategy: Strategy = field(default_factory=ModelAveraging)
    workers: int = 1  # the largest number, if `fewest` is set
    folder: Path = Path()
    weights: tuple[str, ...] = ()
    snapshot: str | None = None
    compute: Compute = field(default_factory=Compute)
    devices: tuple[torch.device, ...] = ()  # the device of `compute`, if empty
    threads: int = 1  # number of threads with which each of several workers computes
    tables: Mapping[Phase, Table] = field(default_factory=dict)
    transport: Transport | None = None  # the best one for the devices and machines, if unset
    deadline: float = DEADLINE  # seconds without a heartbeat after which a worker counts as lost
    keeping: Retention = field(default_factory=Retention)
    require_finite: bool = True  # whether losses and saved weights that aren't finite are an error
    fewest: int | None = None  # if set, workers may be lost and join while at least this number takes part
    memberships: tuple[Membership, ...] = ()  # if not empty, the workers that take part, from given rounds on
    due: Intervals | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise DistributedError(f"a run can't have {self.workers} workers; give 1 or more")
        if self.fewest is not None:
            self._check_range(self.fewest)

    def _check_range(self, fewest: int) -> None:
        if not 1 <= fewest <= self.workers:
            raise DistributedError(
                f"the range of {fewest} to {self.workers} workers is invalid; give the smaller number first, and at "
                "least 1"
            )
        if self.strategy.divides_batch:
            raise DistributedError(
                f"the strategy {self.strategy.name} divides each batch among the workers, so their number can't "
                "change during training; give one number of workers, or another strategy, such as averaging"
            )

    @property
    def intervals(self) -> Intervals:
        """The intervals of tests and of snapshots, which are `NEVER` if the solver's settings disable them."""
        param = self.solver.param
        due = self.due or Intervals(Fraction(param.test_interval), Fraction(param.snapshot))
        return Intervals(due.test if param.test_iter else NEVER, due.snapshot if param.snapshot else NEVER)

    def epoch_of(self, batches: Fraction) -> Epoch:
        """Return the epoch of items that fill this many batches of the net.

        Raises a `DistributedError` if iterations can differ in their number of items.
        """
        if self.fewest is not None:
            raise DistributedError(
                f"with {self.fewest} to {self.workers} workers, the number of items in an iteration isn't "
                f"fixed, so epochs can't be counted; give one number of workers, as in --workers {self.workers}"
            )
        if self.workers > 1 and self.strategy.traffic(ModelSize(())).warmup:
            raise DistributedError(
                "only one worker trains during a warm-up, so epochs can't be counted; leave warmup out, or give "
                "the training's length in iterations"
            )
        at_once = 1 if self.strategy.divides_batch else self.workers
        return Epoch.of(batches, iter_size=self.solver.param.iter_size, batches_at_once=at_once)

    def device(self, local_rank: int) -> torch.device:
        """Return the device of a worker, by its rank on its machine."""
        devices = self.devices or (self.compute.device,)
        return devices[local_rank % len(devices)]

    def fitting(self, room: int) -> int:
        """Return the number of workers to start, if there is room for `room` workers."""
        return self.workers if self.fewest is None else max(self.fewest, min(self.workers, room))

    def with_transport(self, per_machine: int, *, mpi: bool = False) -> Run:
        """Return the run with the requested transport, or otherwise the best one for this many workers on each machine.

        `mpi` is whether the workers are ranks of mpiexec.
        """
        devices = [self.device(rank) for rank in range(per_machine)]
        best = choose_transport(devices, -(-self.workers // per_machine), mpi=mpi)
        transport = self.transport or best
        if transport is Transport.NCCL and best is not Transport.NCCL:
            raise DistributedError(
                "the transport nccl needs a GPU for each worker; leave out --transport, or use --transport gloo"
            )
        if transport in OF_MPI and not mpi:
            raise DistributedError(
                f"the transport {transport.value} only works between ranks of mpiexec; give --backend mpi"
            )
        return replace(self, transport=transport)

    def settled(self) -> Run:
        """Return the run with a fixed random seed, which makes it repeatable, and with all weights in one field."""
        param = self.solver.param
        seed = param.random_seed if param.random_seed >= 0 else random.randrange(2**31)
        solver = self.solver.without("weights").with_fields(random_seed=seed)
        return replace(self, solver=solver, weights=(*param.weights, *self.weights), folder=self.folder.resolve())

    def own_files(self) -> list[Path]:
        """Return the files and folders that the run reads and that may be in its folder: weights and tables."""
        tables = [parse_source(table.source).path for table in self.tables.values()]
        return [Path(path) for path in (*self.weights, *tables) if path]

    def copies(self) -> dict[str, str]:
        """Return the folders of copies of data at addresses that the run reads, with these addresses."""
        text = msgspec.json.encode(self, enc_hook=_to_plain).decode()
        return addresses_of_copies(f"{text}\n{prototxt(CaffeFile(self.solver.message, form=Form.TEXT))}")

    def named_files(self) -> list[str]:
        """Return the names of the small files besides data that the layers of its nets read, such as means."""
        nets = [model.net for model in (self.solver.net, self.solver.train_net, *self.solver.test_nets) if model]
        names = (name for net in nets for layer in net.layer for name in small_files_of(layer))
        return list(dict.fromkeys(names))

    def save(self, path: Path, *, again: bool = False) -> None:
        """Save a new run of several workers in a folder, which is created. With `again`, overwrite a saved run."""
        create_folder(path, PRIVATE)
        if (path / _RUN).exists() and not again:
            command = f"{starter_in(os.environ, self.workers)}zoo train --resume {shlex.quote(str(path))}"
            raise DistributedError(
                f"{path}: the folder already contains a run; name another folder with --run, or continue that one: "
                f"{command}"
            )
        remove_leftovers(path)
        write(CaffeFile(self.solver.message, form=Form.TEXT), path / _SOLVER)
        try:
            file = _RunFile(_VERSION, self, tuple(allowed_plugins()), str(path.resolve()), self.copies())
            data = msgspec.json.encode(file, enc_hook=_to_plain)
        except UnicodeEncodeError as problem:
            raise DistributedError(
                f"{path}: the run can't be saved, since '{problem.object}' isn't UTF-8; rename the file or folder"
            ) from None
        write_pieces(path / _RUN, [msgspec.json.format(data, indent=1) + b"\n"])

    @classmethod
    def load(
        cls,
        path: Path,
        solver: SolverSettings | None = None,
        *,
        in_worker: bool = False,
        moved: Mapping[str, str] = MappingProxyType({}),
    ) -> Run:
        """Load the run in a folder. A given `solver` replaces the folder's solver file, which then isn't read.

        If the folder was moved or copied, the run's own files are those in the new folder. `moved` contains the new
        names of other files. A worker, and the process that holds the run, copy data at addresses that aren't here.
        """
        file = path / _RUN
        check_folder_name(path.resolve())
        try:
            data = file.read_bytes()
            head = msgspec.json.decode(data, type=_Head)
            if head.version != _VERSION:
                raise DistributedError(
                    f"{file}: the run was saved in the format of another version of netdsl; start a new run, "
                    "and pass the model or the newest snapshot of this one as --weights"
                )
            _check_plugins(path, head.plugins)
            copies = head.copies if in_worker or held_lease(path) is not None else {}
            folders = {head.place: str(path.resolve())} | {name: copy_again(name, copies[name]) for name in copies}
            place = _Moved(folders, moved)
            run = msgspec.json.decode(data, type=_RunFile, dec_hook=partial(_from_plain, path, solver, place)).run
            tables = {phase: replace(table, source=place(table.source)) for phase, table in run.tables.items()}
            return replace(run, weights=tuple(map(place, run.weights)), tables=tables)
        except OSError as problem:
            raise DistributedError(
                f"{file}: the run can't be read: {problem.strerror}; name a folder that --run wrote"
            ) from None
        except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
            raise DistributedError(
                f"{file}: the file is damaged: {problem}; start a new run in another folder"
            ) from None


def exists(path: Path) -> bool:
    """Return whether a folder contains a run."""
    return (path / _RUN).exists()


def forget(path: Path) -> None:
    """Let a folder contain no run, so that another one can begin there. Its other files stay."""
    (path / _RUN).unlink(missing_ok=True)


class _Head(msgspec.Struct, frozen=True):
    """The part of a run's file that is decoded first, whatever its version."""

    version: int = 1
    plugins: tuple[str, ...] = ()
    place: str = ""
    copies: dict[str, str] = {}


@dataclass(frozen=True)
class _Moved:
    """Replaces folders in paths: a run's folder by that to which it was moved or copied, and copies of addresses by
    those on this machine. Also replaces names of other files."""

    folders: Mapping[str, str]
    others: Mapping[str, str]

    @property
    def changes_nothing(self) -> bool:
        """Whether all files are where they were when the run was saved."""
        return not self.others and all(before == now for before, now in self.folders.items())

    def __call__(self, path: str) -> str:
        """Return the new path of a file in one of the folders, also within the name of a source. Others stay."""
        path = self.others.get(path, path)
        for before, now in self.folders.items():
            if before and before != now:
                parts = re.split(rf"(?:(?<=^)|(?<=[:=,;])){re.escape(before)}/", path)
                path = f"{now}/".join(parts)
        return path


class _RunFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The file of a run, and the plug-ins that the user allowed when the run was started.

    The solver's settings are in a prototxt file in the same folder.
    """

    version: int
    run: Run
    plugins: tuple[str, ...] = ()
    place: str = ""  # the folder in which the run was saved
    copies: dict[str, str] = {}  # folders of copies of data at addresses, with these addresses


def _check_plugins(folder: Path, names: Sequence[str]) -> None:
    """Raise a `DistributedError` if a run needs plug-ins that the user doesn't allow now. A file can't allow
    plug-ins."""
    allowed = {plugin.module for plugin in plugins()}
    missing = [name for name in names if name not in allowed]
    if missing:
        options = " ".join(f"--plugin {name}" for name in missing)
        raise DistributedError(
            f"{folder / _RUN}: the run was started with {options}, which isn't allowed here; if you trust the "
            f"code, add that to the command, as in: zoo train --resume {folder} {options}"
        )


def _to_plain(value: Any) -> str:
    match value:
        case SolverSettings():
            return _SOLVER
        case _:
            return str(value)


def _from_plain(folder: Path, solver: SolverSettings | None, place: _Moved, kind: type, plain: Any) -> Any:
    if kind is SolverSettings:
        if solver is not None:
            return solver
        message = read_solver(folder / plain).message
        return open_settings(message if place.changes_nothing else with_texts(message, place))
    if kind is Strategy:
        return from_plain(plain, folder / _RUN)
    try:
        return kind(plain)
    except RuntimeError:
        raise ValueError(f"{plain!r} isn't a {kind.__name__}") from None

"""Disturbances of a training run: processes are killed, stopped and asked to end, and the disk fills up."""

from __future__ import annotations

import math
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tests.chaos.processes import MarkedCommand, MarkedProcess, kill_all, marked_processes
from tests.chaos.settings import COPY, MOVED, RUN, ZOO, LauncherName

ROOM = 20_000  # bytes that a file can have on a full disk, at most
_USER_WAITS = 4.0  # seconds that a user watches a hanging supervisor before killing it


class DisturbanceKind(Enum):
    """The kinds of disturbance, and the processes that each hits."""

    KILL_WORKER = "a worker killed"
    STOP_WORKER = "a worker stopped"
    KILL_SUPERVISOR = "the supervisor killed"
    STOP_SUPERVISOR = "the supervisor stopped"
    TERMINATE = "SIGTERM"
    INTERRUPT = "SIGINT"
    KILL_ALL = "all killed"
    FILL_DISK = "the disk full"
    MOVE_FOLDER = "the run's folder moved"
    COPY_FOLDER = "the run's folder copied"
    SECOND_COMMAND = "a second command on the run"


Later = list[tuple[float, Callable[[], object]]]  # seconds from now, and the action then
OF_FOLDERS = (DisturbanceKind.MOVE_FOLDER, DisturbanceKind.COPY_FOLDER, DisturbanceKind.SECOND_COMMAND)
OF_WORKERS = (DisturbanceKind.KILL_WORKER, DisturbanceKind.STOP_WORKER)

RANK_NAMES = {LauncherName.EXTERNAL: "RANK", LauncherName.MPIEXEC: "PMI_RANK"}  # in each process's environment


@dataclass(frozen=True)
class Disturbance:
    """A disturbance at a moment of a command, after part of the training is done."""

    kind: DisturbanceKind
    progress: float = 0.0  # the fraction of the training that must be reached
    delay: float = 0.0  # seconds after that
    whom: float = 0.0  # which candidate is hit, as a fraction of their number
    seconds: float = math.inf  # until a process continues or the disk has room again; may be never

    def __str__(self) -> str:
        lasting = self.kind in (DisturbanceKind.STOP_WORKER, DisturbanceKind.STOP_SUPERVISOR, DisturbanceKind.FILL_DISK)
        until = ("" if math.isinf(self.seconds) else f" for {self.seconds:.1f} s") if lasting else ""
        return f"{self.kind.value}{until} at {self.progress:.0%} + {self.delay:.2f} s"

    def happen(self, command: MarkedCommand, launcher: LauncherName) -> Later | None:
        """Carry out the disturbance. Returns the actions that follow, or None if no process can be hit yet."""
        processes = [
            process for process in marked_processes(command.mark) if self._is_target(process, command, launcher)
        ]
        if not processes:
            return None
        if self.kind is DisturbanceKind.KILL_ALL:
            kill_all(command.mark)
            return []
        if self.kind is DisturbanceKind.FILL_DISK:
            return self._fill_disk(command)
        if self.kind in OF_FOLDERS:
            return self._disturb_folder(command)
        return self._signal(processes[int(self.whom * len(processes))])

    def _is_target(self, process: MarkedProcess, command: MarkedCommand, launcher: LauncherName) -> bool:
        match self.kind:
            case DisturbanceKind.KILL_ALL | DisturbanceKind.FILL_DISK:
                return True
            case DisturbanceKind.MOVE_FOLDER | DisturbanceKind.COPY_FOLDER | DisturbanceKind.SECOND_COMMAND:
                return is_worker(process, launcher)  # so the training has begun
            case DisturbanceKind.KILL_WORKER | DisturbanceKind.STOP_WORKER:
                return is_worker(process, launcher)
            case DisturbanceKind.KILL_SUPERVISOR | DisturbanceKind.STOP_SUPERVISOR:
                if launcher in RANK_NAMES:
                    return process.environment.get(RANK_NAMES[launcher]) == "0"
        return process.pid == command.process.pid  # torchrun and mpiexec forward signals to their workers

    def _signal(self, process: MarkedProcess) -> Later:
        match self.kind:
            case DisturbanceKind.TERMINATE:
                process.send(signal.SIGTERM)
            case DisturbanceKind.INTERRUPT:
                process.send(signal.SIGINT)
            case DisturbanceKind.STOP_WORKER | DisturbanceKind.STOP_SUPERVISOR:
                process.send(signal.SIGSTOP)
                if math.isfinite(self.seconds):
                    return [(self.seconds, lambda: process.send(signal.SIGCONT))]
                if self.kind is DisturbanceKind.STOP_SUPERVISOR:
                    return [(_USER_WAITS, lambda: process.send(signal.SIGKILL))]
            case _:
                process.send(signal.SIGKILL)
        return []

    def _disturb_folder(self, command: MarkedCommand) -> Later:
        """Move or copy the run's folder, or resume the run at the same time."""
        folder = command.folder
        if self.kind is DisturbanceKind.SECOND_COMMAND:
            command.start_another([str(ZOO), "train", "--resume", RUN])
        elif self.kind is DisturbanceKind.MOVE_FOLDER:
            (folder / RUN).rename(folder / MOVED)
        elif not (folder / COPY).exists():
            copy_folder(folder / RUN, folder / COPY)
        return []

    def _fill_disk(self, command: MarkedCommand) -> Later:
        def limit(size: int) -> None:
            for process in marked_processes(command.mark):
                process.limit_files(size)

        limit(int(self.whom * ROOM))
        return [(self.seconds, lambda: limit(-1))] if math.isfinite(self.seconds) else []


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder, without files that vanish meanwhile."""
    target.mkdir()
    for path in sorted(source.iterdir()):
        with suppress(FileNotFoundError):
            if path.is_dir():
                copy_folder(path, target / path.name)
            else:
                shutil.copyfile(path, target / path.name)


def is_worker(process: MarkedProcess, launcher: LauncherName) -> bool:
    """Return whether a process is a worker of its command and nothing else."""
    match launcher:
        case LauncherName.LOCAL:
            return "launchers.worker_process" in process.command
        case LauncherName.EXTERNAL | LauncherName.MPIEXEC:
            return process.environment.get(RANK_NAMES[launcher], "0") != "0"  # the first worker also supervises
        case LauncherName.MPI:
            return "mpi.worker_process" in process.command and "PMI_RANK" in process.environment
        case LauncherName.SPARK:
            return "pyspark.daemon" in process.command or "pyspark/daemon" in process.command
    return False

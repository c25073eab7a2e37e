"""Runs trials in a separate process that limits their time and memory."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS, ModuleFolders
from netdsl.checking.data_trial import DataTrial, TrialSettings, try_data
from netdsl.plugins import plugin_places


@dataclass(frozen=True)
class TrialLimits:
    """The limits of one net: seconds, and bytes of memory."""

    seconds: float
    memory: int


def try_all(files: Iterable[str | Path], settings: TrialSettings, limits: TrialLimits) -> Iterator[DataTrial]:
    """Try files one after the other. A net that exceeds its limits, or ends its process, fails alone."""
    rest = iter(files)
    for file in rest:
        with closing(TrialProcess(settings, limits)) as process:
            yield process.run(file)
            while not process.ended and (following := next(rest, None)) is not None:
                yield process.run(following)


class TrialProcess:
    """A process that tries one net after the other until one exceeds its limits."""

    def __init__(self, settings: TrialSettings, limits: TrialLimits) -> None:
        context = get_context("spawn")
        self._limits, self.ended = limits, False
        self._connection, theirs = context.Pipe()
        arguments = (theirs, settings, limits.memory, PYTHON_LAYERS.places(), plugin_places())
        self._process = context.Process(target=_try_what_comes, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self._connection.recv()  # wait until it is ready; starting takes seconds that don't count for a net

    def run(self, file: str | Path) -> DataTrial:
        """Return the result for one file."""
        self._connection.send(str(file))
        if not self._connection.poll(self._limits.seconds):
            return self._given_up(file, f"the trial took longer than its limit of {self._limits.seconds:g} s")
        try:
            trial: DataTrial = self._connection.recv()
        except EOFError:
            return self._given_up(file, "the trial ended its process, as systems do when memory is short")
        return trial

    def _given_up(self, file: str | Path, reason: str) -> DataTrial:
        self.ended = True
        return DataTrial(str(file), reason=f"{file}: {reason}")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()


def _try_what_comes(
    connection: Connection,
    settings: TrialSettings,
    memory: int,
    python: ModuleFolders,
    plugins: ModuleFolders,
) -> None:
    """Run the process: apply the user's permissions, and try files until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that shows results handles the user's Ctrl-C
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    PYTHON_LAYERS.allow(python)
    PLUGINS.allow(plugins)
    connection.send(None)
    while True:
        try:
            file = connection.recv()
        except EOFError:
            return
        connection.send(try_data(file, settings))

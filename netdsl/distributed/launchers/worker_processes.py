"""Worker processes that live and die together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import IO, Any, Self

from netdsl.distributed.launchers.local_worker_spec import Exit, LocalWorkerSpec
from netdsl.distributed.transports.shared_memory.memory import SharedBlock, create
from netdsl.distributed.transports.shared_memory.waiting import START
from netdsl.errors import DistributedError

_LAST = 3  # lines of its log that a worker is remembered by
_TAIL = 8192  # bytes that they are looked for in
_DRAIN = 1.0  # seconds to read what a worker wrote before it ended
_NAP = 0.02  # seconds between two looks whether all have ended
_HUNG = 0.5  # of the deadline without a sign of life, when others have already lost patience

Message = dict[str, Any]
Happened = tuple[int, Message | None]  # what a worker told; None when it has ended
CommandOf = Callable[[LocalWorkerSpec], Sequence[str]]


class Member:
    """One process, its pipes and its log."""

    def __init__(
        self, place: LocalWorkerSpec, command: Sequence[str], log: Path, happened: SimpleQueue[Happened]
    ) -> None:
        self.rank, self.log, self.killed, self._happened = place.rank, log, False, happened
        try:
            with log.open("ab") as output:
                self._start = output.tell()
                self.process = _started(command, place, output)
        except OSError as problem:
            raise DistributedError(f"worker {place.rank} can't be started: {problem}") from None

    def follow(self, events: IO[bytes]) -> None:
        """Tell what happens to it, each kind from a thread of its own, so that nothing is noticed late."""
        reader = threading.Thread(target=self._read, args=(events,), daemon=True)
        reader.start()
        threading.Thread(target=self._await_end, args=(reader,), daemon=True).start()

    def stop(self) -> None:
        """Ask it to stop after its round."""
        assert self.process.stdin is not None
        with suppress(OSError):  # if it has ended, that is noticed elsewhere
            self.process.stdin.write(b'{"stop": true}\n')
            self.process.stdin.flush()

    def kill(self) -> None:
        """End it at once, with whatever it started."""
        if self.process.poll() is None:
            self.killed = True
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let go of what is left of it."""
        self.process.wait()
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    def ending(self) -> str:
        """How it ended."""
        code = self.process.returncode
        if code >= 0:
            return f"worker {self.rank} ended with exit code {code}"
        return f"worker {self.rank} was ended by {signal.Signals(-code).name}"

    def last_words(self) -> str:
        """What it wrote last, and where the rest is."""
        with self.log.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(self._start, end - _TAIL))
            lines = [line.strip() for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        if not lines:
            return f"it wrote nothing to {self.log}"
        return f"its last lines in {self.log}: {' | '.join(lines[-_LAST:])}"

    def _read(self, events: IO[bytes]) -> None:
        with events:
            for line in events:
                with suppress(ValueError):  # it is cut short if the worker was killed while it wrote
                    self._happened.put((self.rank, dict(json.loads(line))))

    def _await_end(self, reader: threading.Thread) -> None:
        self.process.wait()
        reader.join(_DRAIN)
        self._happened.put((self.rank, None))


def _started(command: Sequence[str], place: LocalWorkerSpec, output: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        pass_fds=(place.memory, place.events),
        process_group=0,  # a terminal's Ctrl-C is the supervisor's to handle
    )


class Generation:
    """All processes of one attempt. Leaving it ends them."""

    def __init__(self, command_of: CommandOf, size: int, number: int, logs: Path, deadline: float) -> None:
        self._happened: SimpleQueue[Happened] = SimpleQueue()
        self.deadline = deadline
        self.members: list[Member] = []
        self.descriptor = create(size)
        self.memory = SharedBlock(self.descriptor, size)
        try:
            for rank in range(size):
                self._start(command_of, rank, size, number, logs)
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def stop(self) -> None:
        """Ask all to stop after their round."""
        for member in self.members:
            member.stop()

    def next(self, patience: float) -> Happened | None:
        """What happens within so many seconds, if anything does."""
        try:
            return self._happened.get(timeout=patience)
        except Empty:
            return None

    def hung(self, since: float, share: float = 1.0) -> list[Member]:
        """Workers that run, but gave no sign of life for the deadline, or a share of it, since some time."""
        return [each for each in self.members if each.process.poll() is None and self._is_hung(each.rank, since, share)]

    def _is_hung(self, rank: int, since: float, share: float) -> bool:
        sign = self.memory.sign(rank)  # taken before the time
        allowed = self.deadline * share if sign else max(self.deadline, START)
        return time.monotonic() - max(sign, since) > allowed

    def collapse(self, grace: float, hear: Callable[[int, Message], object]) -> str:
        """Give the survivors a moment to end, end them, and say who is to blame."""
        hung = self.hung(0.0, _HUNG)
        self.memory.abort()
        until = time.monotonic() + grace
        while any(each.process.poll() is None for each in self.members) and time.monotonic() < until:
            match self.next(_NAP):
                case rank, dict(message) if "error" not in message:
                    hear(rank, message)
        for member in self.members:
            member.kill()
        for member in self.members:
            member.process.wait()
        return self._blame(hung)

    def _blame(self, hung: list[Member]) -> str:
        """Whoever crashed, else whoever hung, else whoever says that it lost another."""
        ended = [each for each in self.members if not each.killed]
        crashed = [each for each in ended if each.process.returncode not in (0, Exit.LOST)]
        if not crashed and hung:
            return "; ".join(f"worker {each.rank} gave no sign of life; {each.last_words()}" for each in hung)
        lost = [each for each in ended if each.process.returncode == Exit.LOST]
        why = "; ".join(f"{each.ending()}; {each.last_words()}" for each in crashed or lost)
        return why or "a worker gave no sign of life for a while"

    def _start(self, command_of: CommandOf, rank: int, size: int, number: int, logs: Path) -> None:
        read, write = os.pipe()
        events = os.fdopen(read, "rb")
        try:
            place = LocalWorkerSpec(rank, size, number, self.descriptor, write, self.deadline)
            member = Member(place, command_of(place), logs / f"worker-{rank}.log", self._happened)
        except BaseException:
            events.close()
            raise
        finally:
            os.close(write)
        self.members.append(member)
        member.follow(events)

    def _end(self) -> None:
        for member in self.members:
            member.kill()
        for member in self.members:
            member.close()
        os.close(self.descriptor)

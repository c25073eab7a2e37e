"""The supervisor: watches a run's workers over the control channel, and begins again from the journal if it must."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from netdsl.distributed.launchers.launcher import Launcher, WorkerSpec
from netdsl.distributed.record import RoundRecord
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import Told, from_plain
from netdsl.distributed.supervision.control_client import ControlAddress
from netdsl.distributed.supervision.control_server import ControlServer
from netdsl.distributed.supervision.health import Health
from netdsl.distributed.supervision.protocol import Abort, Ended, Ending, Heartbeat, Hello, StopAfterRound, WorkerReport
from netdsl.distributed.supervision.retries import RETRIES, End, Retries
from netdsl.distributed.transports.relay.relay import Relay
from netdsl.distributed.transports.torch_group import TIMEOUT
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError
from netdsl.layer.allowed_python import allowed_folders
from netdsl.solver.action import Action, no_action

_LOOK = 0.2  # seconds between two looks
_GRACE = 1.0  # seconds for others to say what they saw when something went wrong
_LEAVE = 30.0  # seconds for workers to leave when all are done
_BEATS = 5  # in a deadline, at least
_SLOWEST_BEAT = 1.0  # seconds


def train(
    folder: Path,
    launcher: Launcher,
    *,
    told: Callable[[Told], object] = lambda told: None,
    on_restart: Callable[[int, str], object] = lambda attempt, reason: None,
    note: Callable[[str], object] = lambda note: None,
    requested: Callable[[], Action] = no_action,
    retries: int = RETRIES,
) -> End:
    """Train the run that a folder has, from its beginning or from where it was left.

    `told` gets the workers' events and records. When a worker is lost, `on_restart` is told the number of the next
    attempt and why, and all workers begin again from the journal; the run fails after so many attempts without a round
    done in between. Where the launcher can't start workers again the run fails at once, and says how to go on. `note`
    is told what a user should know before training begins.
    """
    folder = folder.resolve()
    run = launcher.prepare(folder, Run.load(folder), note)
    run.save(folder, again=True)
    attempts = Retries(lambda: requested() is Action.STOP, retries)

    def attempt(number: int) -> str | None:
        reason = _Attempt(folder, run, launcher, attempts, told).follow()
        if reason is not None and not launcher.restarts and not attempts.stopping():
            raise DistributedError(f"{reason}; to go on, start the workers again with --resume {folder}")
        return reason

    return attempts.run(attempt, on_restart)


class _Attempt:
    """One attempt at a run: its workers, from their start to their end, good or bad."""

    def __init__(
        self, folder: Path, run: Run, launcher: Launcher, retries: Retries, told: Callable[[Told], object]
    ) -> None:
        assert run.transport is not None
        self._health, self._retries, self._told = Health(run.workers, run.deadline), retries, told
        self._connected: set[int] = set()  # workers with a connection
        self._stopping = False
        with ExitStack() as stack:
            relay = Relay(run.workers, TIMEOUT) if run.transport is Transport.RELAY else None
            if relay is not None:
                stack.callback(relay.close)
            adopt = None if relay is None else relay.adopt
            self._server = stack.enter_context(ControlServer(launcher.bound, run.workers, launcher.port, adopt))
            address = ControlAddress(launcher.host, self._server.port, self._server.token)
            beat = min(_SLOWEST_BEAT, run.deadline / _BEATS)
            self._workers = launcher.start(
                WorkerSpec(
                    str(folder), str(Path.cwd()), run.workers, run.transport, address, beat, python=allowed_folders()
                )
            )
            stack.callback(self._workers.close)
            self._stack = stack.pop_all()

    def follow(self) -> str | None:
        """Hand on the workers' reports until all have come to a good end, or one hasn't; then return why."""
        with self._stack:
            while not self._health.all_done():
                self._take(_LOOK)
                self._pass_on_stop()
                reason = self._hung() or self._health.standstill()
                if not reason and self._health.blame():
                    reason = self._blame()
                if reason:
                    self._server.tell_all(Abort(f"a worker was lost: {reason}"))
                    self._take_until(lambda: not self._connected, _GRACE)
                    return reason
            self._take_until(lambda: not self._connected, _LEAVE)
            return None

    def _pass_on_stop(self) -> None:
        if self._retries.stopping() and not self._stopping:
            self._stopping = True
            self._server.tell_all(StopAfterRound())

    def _hung(self) -> str:
        """Which workers give no sign of life any more, if any."""
        names = [f"{self._health.name(rank)}{self._last_words(rank)}" for rank in self._health.hung()]
        return f"{', '.join(names)} gave no sign of life for {self._health.deadline:g} s" if names else ""

    def _blame(self) -> str:
        """What workers and their launcher say about a bad end, for which they have a moment."""
        self._take_until(lambda: not self._connected, _GRACE)
        problem = self._workers.problem()
        return "; ".join(filter(None, (self._health.blame(), problem)))

    def _take_until(self, condition: Callable[[], bool], seconds: float) -> None:
        until = time.monotonic() + seconds
        while not condition() and time.monotonic() < until:
            self._take(min(_LOOK, max(0.0, until - time.monotonic())))

    def _take(self, timeout: float) -> None:
        """Take the next thing that happens, if anything does in time."""
        match self._server.next(timeout):
            case None:
                self._note_unseen_ends()
            case rank, None:
                self._connected.discard(rank)
                self._note_end(rank, Ending.GONE, f"was lost: {self._ending_of(rank)}")
            case rank, Hello(host=host):
                self._connected.add(rank)
                self._health.welcome(rank, host)
                if self._stopping:
                    self._server.tell_all(StopAfterRound())
            case rank, Heartbeat(sign):
                self._health.note_sign(rank, sign)
            case _, WorkerReport(contents):
                self._hear(from_plain(contents))
            case rank, Ended(Ending.FAILED, reason):  # it found this itself, and would again
                raise DistributedError(f"{self._health.name(rank)}: {reason}")
            case rank, Ended(Ending.LOST, reason):
                self._note_end(rank, Ending.LOST, f"lost another: {reason}")
            case rank, Ended(Ending.CRASHED, reason):
                self._note_end(rank, Ending.CRASHED, f"crashed: {reason}")
            case rank, Ended(ending, _):
                self._health.note_end(rank, ending)

    def _hear(self, what: Told) -> None:
        if isinstance(what, RoundRecord):
            self._retries.note_progress()
        self._told(what)

    def _note_unseen_ends(self) -> None:
        """Workers that ended before they ever came here."""
        for rank, how in self._workers.endings().items():
            if rank not in self._health.workers:
                self._note_end(rank, Ending.GONE, how)

    def _note_end(self, rank: int, ending: Ending, reason: str) -> None:
        if rank not in self._health.workers or self._health.running(rank):
            self._health.note_end(rank, ending, f"{reason}{self._last_words(rank)}")

    def _ending_of(self, rank: int) -> str:
        """How a worker ended whose connection has; its launcher may take a moment to know."""
        until = time.monotonic() + _GRACE
        while rank not in (endings := self._workers.endings()) and time.monotonic() < until:
            time.sleep(_LOOK / 10)
        return endings.get(rank, "its connection ended without a word")

    def _last_words(self, rank: int) -> str:
        words = self._workers.last_words(rank)
        return f"; {words}" if words else ""

"""The supervisor: watches a run's workers over the control connection, and begins again from the journal if it must."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from enum import Enum
from itertools import count
from pathlib import Path
from typing import Protocol

from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.distributed.control.client import ControlAddress
from netdsl.distributed.control.heartbeat import Health
from netdsl.distributed.control.protocol import (
    Abort,
    Ended,
    Ending,
    Heartbeat,
    Hello,
    Join,
    LeaveAfterRound,
    Left,
    StopAfterRound,
    WorkerReport,
)
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.journal import Journal, JournalEntry, Membership, Retention, members_after, note_membership
from netdsl.distributed.launcher import Launcher, WorkerSpec
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord, Told, from_plain
from netdsl.distributed.transports.relay.relay import Relay
from netdsl.distributed.transports.torch_group import TIMEOUT
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError
from netdsl.plugins import plugin_places
from netdsl.solver.events import Action, Notice, WorkersRestarted, no_action

_log = logging.getLogger(__name__)

RETRIES = 3  # new starts without progress, after which a run has failed
_LOOK = 0.2  # seconds between two looks
_GRACE = 1.0  # seconds for others to say what they saw when something went wrong
_LEAVE = 30.0  # seconds for workers to leave when all are done
_BEATS = 5  # in a deadline, at least
_SLOWEST_BEAT = 1.0  # seconds


def train(
    folder: Path,
    launcher: Launcher,
    *,
    run: Run | None = None,
    told: Callable[[Told], object] = lambda told: None,
    requested: Callable[[], Action] = no_action,
    retries: int = RETRIES,
) -> End:
    """Train the run that a folder has, from its beginning or from where it was left.

    `run` is that one, where it needn't be read again. `told` gets the workers' events and records. When a worker is
    lost, all workers begin again from the journal; the run fails after this many attempts without a round done in
    between. Where the launcher can't start workers again the run fails at once, and says how to go on.
    """
    folder = folder.resolve()
    run = launcher.prepare(folder, run or Run.load(folder), lambda text: told(Notice(text)))
    run.save(folder, again=True)
    attempts = Retries(lambda: requested() is Action.STOP, retries)

    def attempt(number: int) -> str | None:
        reason = Attempt(folder, run, launcher, launcher.room(run), attempts, told).follow()
        if reason is not None and not launcher.restarts and not attempts.stopping():
            raise DistributedError(f"{reason}; to go on, start the workers again with --resume {folder}")
        return reason

    return attempts.run(attempt, lambda attempt, reason: told(WorkersRestarted(attempt + 1, reason)))


def watch(folder: Path, work: Supervised, launcher: Launcher) -> None:
    """Start the workers of something that can't go on when one is lost, and watch them to the end."""
    retries = Retries(lambda: False, 0)
    reason = Attempt(folder.resolve(), work, launcher, work.workers, retries, lambda told: None).follow()
    if reason is not None:
        raise DistributedError(reason)


class End(Enum):
    """How a run came to its end."""

    FINISHED = "finished"
    STOPPED = "stopped"  # somebody asked for it


class Retries:
    """Failures since the last progress, and a request to stop, which last from attempt to attempt."""

    def __init__(self, stop_requested: Callable[[], bool], most: int) -> None:
        self._stop_requested, self._most = stop_requested, most
        self._failures, self._stopping = 0, False

    def stopping(self) -> bool:
        """Return whether somebody asked to stop. The request lasts, although it is only heard once."""
        self._stopping = self._stopping or self._stop_requested()
        return self._stopping

    def note_progress(self) -> None:
        """Count failures from zero again."""
        self._failures = 0

    def run(self, attempt: Callable[[int], str | None], restarting: Callable[[int, str], object]) -> End:
        """Make attempts, each of which returns why it failed, if it did; `restarting` hears it before the next one."""
        for number in count():
            reason = attempt(number)
            if reason is None or self.stopping():
                break
            self.note_failure(reason)
            restarting(number + 1, reason)
        return End.STOPPED if self.stopping() else End.FINISHED

    def note_failure(self, reason: str) -> None:
        """Count a failure; an error if there were too many without progress."""
        self._failures += 1
        if self._failures > self._most:
            times = f"{self._failures} times " if self._failures > 1 else ""
            raise DistributedError(f"training failed {times}without progress: {reason}")


class Supervised(Protocol):
    """What workers do together, as far as who watches them must know."""

    @property
    def workers(self) -> int:
        """The number of workers, at most if there is a fewest one."""
        ...

    @property
    def fewest(self) -> int | None:
        """The number of workers that must be left, if they may be lost and come."""
        ...

    @property
    def memberships(self) -> tuple[Membership, ...]:
        """Who takes part from which round on, if that is planned."""
        ...

    @property
    def transport(self) -> Transport | None:
        """How they exchange buffers."""
        ...

    @property
    def deadline(self) -> float:
        """The seconds without a heartbeat after which a worker counts as lost."""
        ...

    @property
    def keeping(self) -> Retention:
        """The saved rounds that stay."""
        ...


class Attempt:
    """One attempt at a run, whose launcher has room for this many workers.

    Workers come, wait, and are told who takes part from the newest entry of the journal on. Where the run is elastic,
    and the launcher lets workers go on, those who take part leave when one of them is lost or another has come, and are
    told again.
    """

    def __init__(
        self,
        folder: Path,
        run: Supervised,
        launcher: Launcher,
        room: int,
        retries: Retries,
        told: Callable[[Told], object],
    ) -> None:
        self._folder, self._run, self._retries, self._told = folder, run, retries, told
        self._journal = Journal(folder / "rounds", run.keeping)
        self._elastic = run.fewest is not None and launcher.regroups
        self._health = Health(run.fewest or room if self._elastic else room, run.deadline)
        self._expected = set(range(room))  # the workers that were started, and not lost since
        self._members = set[int]()  # those that take part, or did until they were done
        self._meetings, self._restarts = 0, Counter[int]()
        self._connected: set[int] = set()  # workers with a connection
        self._stopping = self._parting = False  # whether the members were asked to stop, or to leave
        self._trouble = ""  # why the members were told to leave at once
        self._begun = time.monotonic()
        with ExitStack() as stack:
            self._relays = stack.enter_context(ExitStack())
            self._server = stack.enter_context(
                ControlServer(launcher.bound, run.workers, launcher.port, again=self._elastic)
            )
            _log.info("starting %d workers of run %s over %s", room, folder, run.transport and run.transport.value)
            self._workers = launcher.start(self._worker_spec(launcher, room))
            stack.callback(self._workers.close)
            self._stack = stack.pop_all()

    def _worker_spec(self, launcher: Launcher, room: int) -> WorkerSpec:
        transport = self._run.transport
        assert transport is not None
        address = ControlAddress(launcher.host, self._server.port, self._server.token)
        beat = min(_SLOWEST_BEAT, self._run.deadline / _BEATS)
        return WorkerSpec(
            str(self._folder),
            str(Path.cwd()),
            room,
            transport.value,
            address,
            beat,
            python=PYTHON_LAYERS.places(),
            plugins=plugin_places(),
        )

    def follow(self) -> str | None:
        """Hand on the workers' reports until all have come to a good end, or one hasn't; then return why."""
        with self._stack:
            while not self._is_over():
                self._take_next(_LOOK)
                self._pass_on_stop()
                reason = self._what_went_wrong()
                if reason:
                    _log.info("a worker was lost: %s", reason)
                if reason and not self._go_on_without_lost(reason):
                    self._server.tell_all(Abort(f"a worker was lost: {reason}"))
                    self._take_until(lambda: not self._connected, _GRACE)
                    return reason
                self._let_waiting_take_part()
            self._server.tell_all(StopAfterRound())  # for workers that came too late to take part
            self._take_until(lambda: not self._connected, _LEAVE)
            return None

    def _is_over(self) -> bool:
        """Return whether all who took part are done; before anybody did, whether all are who were started."""
        workers = self._members or self._expected
        return bool(workers) and all(map(self._health.done, workers))

    def _pass_on_stop(self) -> None:
        if self._retries.stopping() and not self._stopping:
            self._stopping = True
            self._server.tell_all(StopAfterRound())

    def _what_went_wrong(self) -> str:
        """Return what went wrong, if anything did."""
        reason = self._hung() or self._health.standstill()
        return self._blame() if not reason and self._health.blame() else reason

    def _hung(self) -> str:
        """Return which workers give no sign of life any more, if any."""
        silent = f"gave no sign of life for {self._health.deadline:g} s"
        return "; ".join(f"{self._health.name(rank)} {silent}{self._last_words(rank)}" for rank in self._health.hung())

    def _blame(self) -> str:
        """Return what workers and their launcher say about a bad end, for which they have a moment."""
        self._take_until(lambda: not self._connected, _GRACE)
        problem = self._workers.problem()
        return "; ".join(filter(None, (self._health.blame(), problem)))

    def _go_on_without_lost(self, reason: str) -> bool:
        """Leave out the workers that were lost, where the others can go on; returns whether they can."""
        lost = self._health.lost()
        if not (self._elastic and lost):
            return False
        self._told(Notice(f"{reason}; it is left out" if len(lost) == 1 else f"{reason}; they are left out"))
        if lost & self._members:
            self._let_all_leave(reason)
        elif not self._meetings:
            self._retries.note_failure(reason)
        for rank in lost:
            self._leave_out(rank)
        return True

    def _let_all_leave(self, reason: str) -> None:
        """Let those who take part leave at once, since one of them lost another."""
        if not self._trouble:
            self._trouble = reason
            self._server.tell_all(Abort(f"a worker was lost: {reason}"))

    def _leave_out(self, rank: int) -> None:
        """Let go of a lost worker; its launcher starts it again if it can, and it hasn't been lost too often."""
        _log.info("worker %d is left out", rank)
        self._server.dismiss(rank)
        self._health.forget(rank)
        self._members.discard(rank)
        self._restarts[rank] += 1
        if self._restarts[rank] > RETRIES or not self._workers.start_again(rank):
            self._expected.discard(rank)

    def _let_waiting_take_part(self) -> None:
        """Let those who wait take part: now if nobody does, or else when the others have finished their round."""
        waiting = self._health.waiting()
        if self._stopping or not waiting:
            return
        if self._health.taking_part():
            if self._elastic and waiting - self._members and not self._parting:
                self._parting = True
                self._server.tell_all(LeaveAfterRound())
        elif self._are_all_there(waiting):
            self._begin_meeting(tuple(sorted(waiting)))

    def _are_all_there(self, waiting: set[int]) -> bool:
        """Return whether nobody else needs to be waited for. At first those who are late have a deadline."""
        if not self._elastic:
            return waiting == self._expected
        late = not self._meetings and time.monotonic() - self._begun < self._run.deadline and self._expected - waiting
        return len(waiting) >= self._health.size and not late

    def _begin_meeting(self, waiting: tuple[int, ...]) -> None:
        """Tell all who wait, or those of them who are planned, that they take part from the newest entry on."""
        if self._trouble:
            self._retries.note_failure(self._trouble)
        entry = self._journal.newest(lambda text: self._told(Notice(text)))
        after = 0 if entry is None else entry.round
        membership = Membership(after, members_after(self._run.memberships, after) or waiting)
        self._tell_change(entry, membership)
        note_membership(self._folder, membership)
        self._members, self._parting, self._trouble = set(membership.members), False, ""
        self._meetings += 1
        _log.info("%s", membership)
        until = min((each.after for each in self._run.memberships if each.after > after), default=None)
        join = Join(self._meetings, membership, self._elastic, until)
        self._relays.close()
        relay = Relay(len(self._members), TIMEOUT) if self._run.transport is Transport.RELAY else None
        if relay is not None:
            self._relays.callback(relay.close)
        self._health.note_join(self._members)
        self._server.begin_meeting(join, None if relay is None else relay.adopt)

    def _tell_change(self, entry: JournalEntry | None, membership: Membership) -> None:
        """Tell who takes part, where that isn't what a user expects."""
        before = membership.members if entry is None else entry.members or membership.members
        if before != membership.members:
            others = Membership(membership.after, before).names()
            divided = "the data are divided again from where they were read up to"
            self._told(Notice(f"{membership}, in place of {others}; {divided}"))
        elif self._elastic:
            self._told(Notice(str(membership)))

    def _take_until(self, condition: Callable[[], bool], seconds: float) -> None:
        until = time.monotonic() + seconds
        while not condition() and time.monotonic() < until:
            self._take_next(min(_LOOK, max(0.0, until - time.monotonic())))

    def _take_next(self, timeout: float) -> None:
        """Take the next thing that happens, if anything does in time."""
        match self._server.next(timeout):
            case None:
                self._note_unseen_ends()
            case rank, message if rank not in self._health.workers and not isinstance(message, Hello):
                self._connected.discard(rank)  # of one that was left out
            case rank, None:
                self._connected.discard(rank)
                self._note_gone(rank)
            case rank, Hello(host=host):
                _log.info("worker %d on %s has connected", rank, host)
                self._connected.add(rank)
                self._expected.add(rank)
                self._health.welcome(rank, host)
                if self._stopping:
                    self._server.tell_all(StopAfterRound())
            case rank, Heartbeat(sign):
                self._health.note_sign(rank, sign)
            case _, WorkerReport(contents):
                self._pass_on_report(from_plain(contents))
            case rank, Left(reason):
                self._note_left(rank, reason)
            case rank, Ended(Ending.FAILED, reason):  # it found this itself, and would again
                raise DistributedError(f"{self._health.name(rank)}: {reason}")
            case rank, Ended(Ending.LOST, reason):
                self._note_end(rank, Ending.LOST, f"lost another: {reason}")
            case rank, Ended(Ending.CRASHED, reason):
                self._note_end(rank, Ending.CRASHED, f"crashed: {reason}")
            case rank, Ended(ending, _):
                _log.info("worker %d has ended: %s", rank, ending.name)
                self._health.note_end(rank, ending)

    def _pass_on_report(self, what: Told) -> None:
        if isinstance(what, RoundRecord):
            self._retries.note_progress()
        self._told(what)

    def _note_left(self, rank: int, reason: str) -> None:
        self._health.note_left(rank)
        if reason:
            self._let_all_leave(f"{self._health.name(rank)} lost another: {reason}")

    def _note_unseen_ends(self) -> None:
        """Workers that ended before they ever came here."""
        for rank, how in self._workers.endings().items():
            if rank in self._expected and rank not in self._health.workers:
                self._note_end(rank, Ending.GONE, how)

    def _note_end(self, rank: int, ending: Ending, reason: str) -> None:
        if rank not in self._health.workers or self._health.running(rank):
            self._health.note_end(rank, ending, f"{reason}{self._last_words(rank)}")

    def _note_gone(self, rank: int) -> None:
        how = self._ending_of(rank)
        first = self._workers.first_lost()
        ending = Ending.GONE if first in (None, rank) else Ending.LOST
        self._note_end(rank, ending, f"was lost: {how}")

    def _ending_of(self, rank: int) -> str:
        """Return how a worker ended whose connection has; its launcher may take a moment to know, if it will know at
        all."""
        until = time.monotonic() + (_GRACE if self._workers.sees_endings else 0)
        while rank not in (endings := self._workers.endings()) and time.monotonic() < until:
            time.sleep(_LOOK / 10)
        return endings.get(rank, "its connection ended without a word")

    def _last_words(self, rank: int) -> str:
        words = self._workers.last_words(rank)
        return f"; {words}" if words else ""

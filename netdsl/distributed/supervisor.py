"""The supervisor, which watches a run's workers over the control connection and restarts them from the journal."""

from __future__ import annotations

import logging
import os
import shlex
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.distributed.control.heartbeat import Health
from netdsl.distributed.control.peers import Introduction, Pair
from netdsl.distributed.control.protocol import (
    Abort,
    Ended,
    Ending,
    Heartbeat,
    Hello,
    Introduced,
    Join,
    LeaveAfterRound,
    Left,
    Peer,
    Posted,
    Purpose,
    StopAfterRound,
    TriedPeers,
    TryPeers,
    WorkerReport,
)
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.control.versions import Versions, differences
from netdsl.distributed.journal import (
    ROUNDS,
    Journal,
    JournalEntry,
    Membership,
    Retention,
    members_after,
    note_membership,
)
from netdsl.distributed.launcher import Launcher, WorkerSpec
from netdsl.distributed.run import Run
from netdsl.distributed.run_files import RunFiles
from netdsl.distributed.run_lease import held_lease
from netdsl.distributed.run_log import RoundRecord, Told, from_plain
from netdsl.distributed.shipped_code import shipped_code
from netdsl.distributed.transports.relay.relay import Relay
from netdsl.distributed.transports.torch_group import TIMEOUT
from netdsl.distributed.transports.transport import AMONG_WORKERS, Transport
from netdsl.errors import DistributedError, DivergedError, UnfitMachinesError
from netdsl.plugins import plugin_places
from netdsl.ranks import starter_in
from netdsl.solver.events import Action, Notice, WorkersRestarted, no_action

_log = logging.getLogger(__name__)

RETRIES = 3  # restarts without progress, after which a run has failed
_LOOK = 0.2  # seconds between two checks
_GRACE = 1.0  # seconds in which the other workers can report what they noticed after a failure
_LEAVE = 30.0  # seconds for workers to disconnect when all have finished
_BEATS = 5  # the smallest number of heartbeats within a deadline
_SLOWEST_BEAT = 1.0  # seconds
_SHOWN = 3  # pairs of machines that a message names


def train(
    folder: Path,
    launcher: Launcher,
    *,
    run: Run | None = None,
    told: Callable[[Told], object] = lambda told: None,
    requested: Callable[[], Action] = no_action,
    retries: int = RETRIES,
) -> End:
    """Train the run in a folder, from its beginning or from its last saved round.

    `run` avoids loading the run again. `told` receives the workers' events and records. When a worker is lost, all
    workers restart from the journal. Raises a `DistributedError` after this many retries in a row without a finished
    round. If the launcher can't start workers again, it raises the error at once, with the command that continues the
    run.
    """
    folder = folder.resolve()
    given = run or Run.load(folder)
    prepared = launcher.prepare(folder, given, lambda text: told(Notice(text)))
    prepared.save(folder, again=True)
    attempts = Retries(lambda: requested() is Action.STOP, retries)

    def use_relay() -> None:
        nonlocal prepared
        prepared = replace(prepared, transport=Transport.RELAY)
        prepared.save(folder, again=True)

    def attempt(number: int) -> str | None:
        fall_back = use_relay if given.transport is None else None
        room, needs = launcher.room(prepared), Needs(given.named_files(), tuple(prepared.copies().values()))
        reason = Attempt(folder, prepared, launcher, room, attempts, told, fall_back, needs=needs).follow()
        if reason is not None and not launcher.restarts and not attempts.stopping():
            command = f"{starter_in(os.environ, prepared.workers)}zoo train --resume {shlex.quote(str(folder))}"
            raise DistributedError(f"{reason}; to continue, start all workers again, as with: {command}")
        return reason

    return attempts.run(attempt, lambda attempt, reason: told(WorkersRestarted(attempt + 1, reason)))


def watch(
    folder: Path,
    work: Supervised,
    launcher: Launcher,
    received: Callable[[Mapping[str, Any]], object] = lambda contents: None,
) -> None:
    """Start and watch workers whose work can't continue when one of them is lost. Raises a `DistributedError` then.

    `received` gets the contents of the workers' reports.
    """
    retries = Retries(lambda: False, 0)
    reason = Attempt(
        folder.resolve(), work, launcher, work.workers, retries, lambda told: None, lambda: None, received
    ).follow()
    if reason is not None:
        raise DistributedError(reason)


class End(Enum):
    """The way in which a run ended."""

    FINISHED = "finished"
    STOPPED = "stopped"  # the user requested it


class Retries:
    """The failures since the last progress and a request to stop, across attempts."""

    def __init__(self, stop_requested: Callable[[], bool], most: int) -> None:
        self._stop_requested, self._most = stop_requested, most
        self._failures, self._stopping = 0, False

    def stopping(self) -> bool:
        """Return whether a stop was requested. Remembers the request, which is reported only once."""
        self._stopping = self._stopping or self._stop_requested()
        return self._stopping

    def note_progress(self) -> None:
        """Reset the count of failures."""
        self._failures = 0

    def run(self, attempt: Callable[[int], str | None], restarting: Callable[[int, str], object]) -> End:
        """Make attempts, each of which returns the reason of its failure, if it failed.

        Calls `restarting` with that reason before the next attempt.
        """
        for number in count():
            reason = attempt(number)
            if reason is None or self.stopping():
                break
            self.note_failure(reason)
            restarting(number + 1, reason)
        return End.STOPPED if self.stopping() else End.FINISHED

    def note_failure(self, reason: str) -> None:
        """Count a failure. Raises a `DistributedError` if there were too many without progress."""
        self._failures += 1
        if self._failures > self._most:
            times = f"{self._failures} times " if self._failures > 1 else ""
            raise DistributedError(
                f"training failed {times}without progress: {reason}; remove the cause, and continue with "
                "--resume and the run's folder"
            )


class Supervised(Protocol):
    """The supervisor's view of the work that workers do together."""

    @property
    def workers(self) -> int:
        """The number of workers, or the largest number if `fewest` is set."""
        ...

    @property
    def fewest(self) -> int | None:
        """The number of workers that must remain, if workers may be lost and join."""
        ...

    @property
    def memberships(self) -> tuple[Membership, ...]:
        """The workers that take part, from given rounds on. The value is empty if that isn't planned."""
        ...

    @property
    def transport(self) -> Transport | None:
        """The transport through which the workers exchange buffers."""
        ...

    @property
    def deadline(self) -> float:
        """The seconds without a heartbeat after which a worker counts as lost."""
        ...

    @property
    def keeping(self) -> Retention:
        """The saved rounds that are kept."""
        ...


@dataclass(frozen=True)
class Needs:
    """What workers need besides the run's folder and data on their machines: files of this machine, and addresses."""

    files: Sequence[str] = ()
    addresses: tuple[str, ...] = ()


class Attempt:
    """One attempt at a run, whose launcher has room for `room` workers.

    Workers connect and wait. The supervisor then sends them the membership, which begins after the newest entry of the
    journal. If the run is elastic and the launcher allows it, the members leave when one of them is lost or another
    worker joins, and then receive the next membership.

    Workers on several machines that exchange among themselves first try to reach each other. If some can't, all
    exchange through the relay, and `fall_back` is called. Without it, the user has named the transport, and that is an
    error. `received` gets the contents of workers' reports, which are events and records by default. Workers may fetch
    the files in the run's folder, and what else the run `needs`.
    """

    def __init__(
        self,
        folder: Path,
        run: Supervised,
        launcher: Launcher,
        room: int,
        retries: Retries,
        told: Callable[[Told], object],
        fall_back: Callable[[], object] | None,
        received: Callable[[Mapping[str, Any]], object] | None = None,
        needs: Needs | None = None,
    ) -> None:
        self._received = received or (lambda contents: self._pass_on_report(from_plain(contents)))
        assert run.transport is not None
        self._transport, self._fall_back = run.transport, fall_back
        self._on_network, self._introductions = launcher.place is not None, count(1)
        self._versions = dict[str, Versions]()  # by host
        self._failed = dict[int, str]()  # the reasons of workers that failed, which users must mend, by rank
        self._introduction: Introduction | None = None
        self._needs = needs or Needs()
        self._folder, self._run, self._retries, self._told = folder, run, retries, told
        self._journal = Journal(folder / ROUNDS, run.keeping)
        self._lease = held_lease(folder)
        self._elastic = run.fewest is not None and launcher.regroups
        self._health = Health(run.fewest or room if self._elastic else room, run.deadline)
        self._expected = set(range(room))  # the workers that were started and haven't been lost since
        self._members = set[int]()  # the workers that take part, including those that have finished
        self._meetings, self._restarts = 0, Counter[int]()
        self._connected: set[int] = set()  # workers with a connection
        self._sightless: set[str] = set()  # hosts that don't see the run's folder
        self._stopping = self._parting = False  # whether the members received a request to stop, or to leave
        self._trouble = ""  # why the members had to leave at once
        self._begun = time.monotonic()
        with ExitStack() as stack:
            self._relays = stack.enter_context(ExitStack())
            self._server = stack.enter_context(
                ControlServer(
                    launcher.place,
                    run.workers,
                    again=self._elastic,
                    deadline=run.deadline,
                    serve_files=RunFiles(folder, self._journal, self._lease, self._needs.files).serve,
                    code=shipped_code(),
                )
            )
            _log.info("starting %d workers of run %s over %s", room, folder, self._transport.value)
            spec = self._worker_spec(room)
            self._server.post(Posted(spec.text()))
            self._workers = launcher.start(spec)
            stack.callback(self._workers.close)
            self._health.hosts = self._workers.hosts()
            self._stack = stack.pop_all()

    def _worker_spec(self, room: int) -> WorkerSpec:
        beat = min(_SLOWEST_BEAT, self._run.deadline / _BEATS)
        return WorkerSpec(
            str(self._folder),
            str(Path.cwd()),
            room,
            self._server.address(),
            beat,
            lease="" if self._lease is None else self._lease.key,
            python=PYTHON_LAYERS.places(),
            plugins=plugin_places(),
            ships=shipped_code() is not None,
            addresses=self._needs.addresses,
        )

    def follow(self) -> str | None:
        """Pass on the workers' reports until all have finished. Returns the reason if a worker failed."""
        with self._stack:
            while not self._is_over():
                if self._lease is not None:
                    self._lease.check()
                self._process_next_event(_LOOK)
                self._pass_on_stop()
                reason = self._what_went_wrong()
                if reason:
                    _log.info("a worker was lost: %s", reason)
                if reason and not self._go_on_without_lost(reason):
                    self._server.tell_all(Abort(f"a worker was lost: {reason}", final=True))
                    self._process_until(lambda: not self._connected, _GRACE)
                    return reason
                self._let_waiting_take_part()
            self._server.tell_all(StopAfterRound())  # for workers that connected too late to take part
            self._process_until(lambda: not self._connected, _LEAVE)
            return None

    def _is_over(self) -> bool:
        """Return whether all members have finished. Before the first membership, return whether all started workers
        have."""
        workers = self._members or self._expected
        return bool(workers) and all(map(self._health.done, workers))

    def _pass_on_stop(self) -> None:
        if self._retries.stopping() and not self._stopping:
            self._stopping = True
            self._server.tell_all(StopAfterRound())

    def _what_went_wrong(self) -> str:
        """Return what went wrong. Returns an empty string if nothing did."""
        reason = self._hung() or self._health.standstill()
        return self._blame() if not reason and self._health.blame() else reason

    def _hung(self) -> str:
        """Return which workers no longer give a sign of life. Returns an empty string if all do."""
        silent = f"gave no sign of life for {self._health.deadline:g} s"
        return "; ".join(f"{self._health.name(rank)} {silent}{self._last_words(rank)}" for rank in self._health.hung())

    def _blame(self) -> str:
        """Return what workers and their launcher report about a failure, after a short wait for their reports."""
        self._process_until(lambda: not self._connected, _GRACE)
        problem = self._workers.problem()
        return "; ".join(filter(None, (self._health.blame(), problem)))

    def _go_on_without_lost(self, reason: str) -> bool:
        """Leave out the lost workers if the others can continue. Returns whether they can."""
        lost = self._health.lost()
        if not (self._elastic and lost):
            return False
        self._told(
            Notice(
                f"{reason}; training continues without this worker"
                if len(lost) == 1
                else f"{reason}; training continues without these workers"
            )
        )
        if lost & self._members:
            self._let_all_leave(reason)
        elif not self._meetings:
            self._retries.note_failure(reason)
        for rank in lost:
            self._leave_out(rank)
        return True

    def _let_all_leave(self, reason: str) -> None:
        """Let all members leave at once, since they lost one of them."""
        if not self._trouble:
            self._trouble = reason
            self._server.tell_all(Abort(f"a worker was lost: {reason}"))

    def _leave_out(self, rank: int) -> None:
        """Release a lost worker. Its launcher starts it again if it can, unless the worker was lost too often."""
        _log.info("worker %d is left out", rank)
        self._server.dismiss(rank)
        self._health.forget(rank)
        self._members.discard(rank)
        self._restarts[rank] += 1
        if self._restarts[rank] > RETRIES or not self._workers.start_again(rank):
            self._expected.discard(rank)

    def _let_waiting_take_part(self) -> None:
        """Let waiting workers take part, either now or when the current members have finished their round."""
        waiting = self._health.waiting()
        if self._stopping or not waiting:
            return
        if self._health.taking_part():
            if self._elastic and waiting - self._members and not self._parting:
                self._parting = True
                self._server.tell_all(LeaveAfterRound())
        elif self._are_all_there(waiting) and self._are_alike() and self._are_introduced(waiting):
            self._begin_meeting(tuple(sorted(waiting)))

    def _are_all_there(self, waiting: set[int]) -> bool:
        """Return whether no further worker needs to be waited for. In the first meeting, late workers have a
        deadline."""
        if not self._elastic:
            return waiting == self._expected
        late = not self._meetings and time.monotonic() - self._begun < self._run.deadline and self._expected - waiting
        return len(waiting) >= self._health.size and not late

    def _are_alike(self) -> bool:
        """Return whether the workers' machines have versions that go together. Raises a `DistributedError` if they
        don't."""
        if self._on_network:
            found = differences({socket.gethostname(): Versions.here()} | self._versions)
            if found.serious:
                self._refuse_machines(found.serious)
            if found.minor and not self._meetings and self._introduction is None:
                self._told(Notice(found.minor))
        return True

    def _refuse_machines(self, reason: str) -> None:
        """Let all workers end with a reason."""
        self._server.tell_all(Abort(reason, final=True))
        self._process_until(lambda: not self._connected, _GRACE)
        raise self._unfit(reason)

    def _unfit(self, reason: str) -> DistributedError:
        """Return the error with a reason for which the machines can't train the run, or can't continue it."""
        is_new = self._on_network and self._journal.newest(lambda text: None) is None
        return UnfitMachinesError(reason) if is_new else DistributedError(reason)

    def _are_introduced(self, waiting: set[int]) -> bool:
        """Return whether the waiting workers have found out who reaches whom, which they begin to do otherwise."""
        if not self._on_network or self._transport not in AMONG_WORKERS:
            return True
        if self._introduction is None or self._introduction.ranks != waiting:
            self._introduction = Introduction(next(self._introductions), waiting)
            self._server.introduce(self._introduction.number, waiting)
        if not self._introduction.is_over():
            return False
        if problems := self._introduction.problems():
            self._use_relay(problems)
        self._introduction = None
        return True

    def _use_relay(self, problems: Mapping[Pair, str]) -> None:
        """Let all workers exchange through the relay. Raises a `DistributedError` if the user named another
        transport."""
        shown: dict[frozenset[str], str] = {}  # by their hosts
        for pair, why in sorted(problems.items()):
            hosts = frozenset(self._health.workers[rank].host for rank in pair)
            shown.setdefault(hosts, self._apart(*pair, why))
        more = [f"{len(shown) - _SHOWN} more pairs of machines"] if len(shown) > _SHOWN else []
        apart = "; ".join([*list(shown.values())[:_SHOWN], *more])
        before, self._transport = self._transport.value, Transport.RELAY
        if self._fall_back is None:
            self._refuse_machines(
                f"transport {before}: {apart}; open all ports between these machines, or use --transport "
                f"{Transport.RELAY.value}"
            )
            return
        self._told(
            Notice(
                f"transport {Transport.RELAY.value} instead of {before}: {apart}; so the supervisor averages for all "
                "workers, which takes longer"
            )
        )
        self._fall_back()

    def _apart(self, rank: int, other: int, why: str) -> str:
        name = self._health.name
        return f"{name(rank)}: {why}" if rank == other else f"{name(rank)} can't reach {name(other)}: {why}"

    def _begin_meeting(self, waiting: tuple[int, ...]) -> None:
        """Send the next membership to the waiting workers, or to the planned ones among them. It begins after the
        newest entry."""
        if self._trouble:
            self._retries.note_failure(self._trouble)
        entry = self._journal.newest(lambda text: self._told(Notice(text)))
        after = 0 if entry is None else entry.round
        membership = Membership(after, members_after(self._run.memberships, after) or waiting)
        self._notify_of_change(entry, membership)
        note_membership(self._folder, membership)
        self._members, self._parting, self._trouble = set(membership.members), False, ""
        self._meetings += 1
        _log.info("%s", membership)
        until = min((each.after for each in self._run.memberships if each.after > after), default=None)
        join = Join(self._meetings, membership, self._transport.value, self._elastic, until)
        self._relays.close()
        relay = Relay(len(self._members), TIMEOUT) if self._transport is Transport.RELAY else None
        if relay is not None:
            self._relays.callback(relay.close)
        self._health.note_join(self._members)
        self._server.begin_meeting(join, None if relay is None else relay.adopt)

    def _notify_of_change(self, entry: JournalEntry | None, membership: Membership) -> None:
        """Notify the user of the membership if it changed or can change."""
        before = membership.members if entry is None else entry.members or membership.members
        if before != membership.members:
            others = Membership(membership.after, before).names()
            divided = "the data that haven't been read yet are divided again"
            self._told(Notice(f"{membership} instead of {others}; {divided}"))
        elif self._elastic:
            self._told(Notice(str(membership)))

    def _process_until(self, condition: Callable[[], bool], seconds: float) -> None:
        until = time.monotonic() + seconds
        while not condition() and time.monotonic() < until:
            self._process_next_event(min(_LOOK, max(0.0, until - time.monotonic())))

    def _process_next_event(self, timeout: float) -> None:
        """Process the next event, if one happens in time."""
        match self._server.next(timeout):
            case None:
                self._note_unseen_ends()
            case rank, message if rank not in self._health.workers and not isinstance(message, Hello):
                self._connected.discard(rank)  # a worker that was left out
            case rank, None:
                self._connected.discard(rank)
                self._note_gone(rank)
            case _, Hello(host=host, purpose=Purpose.FILES):
                self._note_sightless(host)
            case rank, Hello(host=host, versions=versions):
                if versions is not None:
                    self._versions[host] = versions
                _log.info("worker %d on %s has connected", rank, host)
                self._connected.add(rank)
                self._expected.add(rank)
                self._health.welcome(rank, host)
                if self._stopping:
                    self._server.tell_all(StopAfterRound())
            case rank, Heartbeat(sign) if sign is not None:
                self._health.note_sign(rank, sign)
            case rank, Introduced(number, peer):
                self._note_peer(rank, number, peer)
            case rank, TriedPeers(number, problems):
                if self._introduction is not None and number == self._introduction.number:
                    self._introduction.note_tried(rank, problems)
            case _, WorkerReport(contents):
                self._received(contents)
            case rank, Left(reason):
                self._note_left(rank, reason)
            case rank, Ended(Ending.FAILED, reason):  # it would fail again
                self._failed[rank] = reason
                if len(self._failed) == 1:
                    self._report_failures()
            case rank, Ended(Ending.DIVERGED, reason):
                raise DivergedError(f"{self._health.name(rank)}: {reason}")
            case rank, Ended(Ending.LOST, reason):
                self._note_end(rank, Ending.LOST, f"lost another worker: {reason}")
            case rank, Ended(Ending.CRASHED, reason):
                self._note_end(rank, Ending.CRASHED, f"crashed: {reason}")
            case rank, Ended(ending, _):
                _log.info("worker %d has ended: %s", rank, ending.name)
                self._health.note_end(rank, ending)

    def _report_failures(self) -> None:
        """Raise an error with the reason of a worker's failure, after a short wait for others that fail with it."""
        self._process_until(lambda: self._connected <= self._failed.keys(), _GRACE)
        name, reason = self._health.name, next(iter(self._failed.values()))
        alike = sorted(rank for rank, other in self._failed.items() if other == reason)
        well = sorted(self._connected - self._failed.keys()) if self._on_network else []
        others = f" (but not {', '.join(map(name, well))})" if well else ""
        raise self._unfit(f"{', '.join(map(name, alike))}{others}: {reason}")

    def _note_peer(self, rank: int, number: int, peer: Peer) -> None:
        """Note where a worker listens. When all do, let them try to reach each other."""
        introduction = self._introduction
        if introduction is not None and number == introduction.number and introduction.note_peer(rank, peer):
            for each in introduction.ranks:
                self._server.tell(each, TryPeers(number, introduction.peers_of(each)))

    def _note_sightless(self, host: str) -> None:
        if host not in self._sightless:
            self._sightless.add(host)
            self._told(Notice(f"{host} doesn't see {self._folder}, so the run's files go over the network"))

    def _pass_on_report(self, what: Told) -> None:
        if isinstance(what, RoundRecord):
            self._retries.note_progress()
        self._told(what)

    def _note_left(self, rank: int, reason: str) -> None:
        self._health.note_left(rank)
        if reason:
            self._let_all_leave(f"{self._health.name(rank)} lost another worker: {reason}")

    def _note_unseen_ends(self) -> None:
        """Note workers that ended before they connected."""
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
        """Return how a worker ended after its connection did. Waits for the launcher, which may know a moment later."""
        until = time.monotonic() + (_GRACE if self._workers.sees_endings else 0)
        while rank not in (endings := self._workers.endings()) and time.monotonic() < until:
            time.sleep(_LOOK / 10)
        return endings.get(rank, "its connection ended without a report")

    def _last_words(self, rank: int) -> str:
        words = self._workers.last_words(rank)
        return f"; {words}" if words else ""

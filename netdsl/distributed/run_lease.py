"""The lease of a run: only one process at a time starts, resumes or trains the run in a folder, on any machine.

The lease is a file in the folder. Its holder raises a number in it, the beat. Another process takes the lease over at
once if the holder was a process of the same machine and has ended. Otherwise it first watches the beat stand still for
the lease's time, by its own clock. Nothing compares the clocks of two machines, and the file is created and replaced
only by links and renames, which are atomic on shared storage too.
"""

from __future__ import annotations

import errno
import getpass
import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex

import msgspec

from caffe_proto.errors import SettingError
from caffe_proto.storage import PRIVATE, create_folder, is_utf8
from netdsl.errors import DistributedError

FILE = "lease.json"  # in the run's folder
VARIABLE = "NETDSL_LEASE_SECONDS"  # without a beat, after which another process may take a new lease over

_SECONDS, _BEATS = 60.0, 30  # the variable's default, and the number of beats in that time
_MISSED = 10  # beats after which a holder that was alive counts as ended for those who wait for it
_SUCCESSION = 15.0  # seconds for another process to begin after a lease's time
_LOOK = 0.1  # seconds between two looks at another process's lease
_WITHOUT_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EOPNOTSUPP)
_ENDED = "ZX"  # states of processes that have ended and that their parents haven't noticed yet
_WIDTH = 16  # digits of the beat, so that the file keeps its length


class LeaseTerms(msgspec.Struct, frozen=True):
    """The contents of a lease: its holder, and the beat."""

    key: str
    host: str = ""
    machine: str = ""  # identifies the machine since it was started, and the container
    process: int = 0
    process_start: str = ""  # a later process can have the same number
    user: str = ""
    since: float = 0.0  # seconds since 1970, by the holder's clock; for messages only
    folder: str = ""  # as the holder names it
    seconds: float = _SECONDS
    beat: str = "0" * _WIDTH
    released: bool = False  # at an address, where the file stays

    @classmethod
    def new(cls, folder: Path) -> LeaseTerms:
        """Return the terms of a lease that this process takes."""
        process, machine = os.getpid(), _machine()
        start = _start_of(process) if machine else ""
        host, user, key = socket.gethostname(), _user(), token_hex(8)
        return cls(key, host, machine, process, start, user, time.time(), str(folder), _lease_seconds())

    @classmethod
    def of(cls, data: bytes) -> LeaseTerms:
        """Return the terms in the contents of a file. A damaged file has an unknown holder."""
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.MsgspecError:
            return cls(hashlib.sha256(data).hexdigest()[:16], seconds=_lease_seconds())

    @property
    def holder(self) -> str:
        """The holder's description in messages."""
        if not self.process:
            return "an unknown process"
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since))
        return f"process {self.process} of {self.user} on {self.host} since {since}"

    @property
    def is_own(self) -> bool:
        """Whether this process took the lease."""
        return bool(self.machine) and (self.machine, self.process) == (_machine(), os.getpid())

    @property
    def has_ended(self) -> bool:
        """Whether the holder has released the lease, or ran on this machine and has ended."""
        if self.released:
            return True
        if not self.machine or self.machine != _machine():
            return False
        try:
            os.kill(self.process, 0)
            return _start_of(self.process) != self.process_start
        except ProcessLookupError:
            return True
        except OSError:  # the process belongs to another user
            return False


class RunLease:
    """A lease that this process holds. A thread raises its beat until the lease is released."""

    def __init__(self, folder: Path, terms: LeaseTerms, file: int, *, taken_over: bool) -> None:
        self._folder, self._terms, self._file = folder, terms, file
        self.key, self.thread = terms.key, threading.get_ident()
        self.taken_over = taken_over  # from a process that didn't release it
        self._pause, self._seen = terms.seconds / _BEATS, _clock()
        self._lost: DistributedError | None = None
        self._released = threading.Event()
        self._beating = threading.Thread(target=self._beat, name="lease", daemon=True)
        self._beating.start()

    def check(self) -> None:
        """Raise a `DistributedError` if this process has lost the lease. Looks at the file only if no beat did so
        recently, as after a pause of the process or the machine."""
        if self._lost is None and _clock() - self._seen > 2 * self._pause:
            self._look()
        if self._lost is not None:
            raise self._lost

    def release(self) -> None:
        """Stop the beat, and remove the lease unless another process has it now. Does nothing in a forked process."""
        if os.getpid() != self._terms.process:
            return
        self._released.set()
        self._beating.join()
        os.close(self._file)
        with suppress(OSError, DistributedError):
            if _is_held(self._folder, self.key):
                (self._folder / FILE).unlink()

    def _look(self) -> None:
        try:
            if _is_held(self._folder, self.key):
                self._seen = _clock()
        except DistributedError as problem:
            self._lost = problem

    def _beat(self) -> None:
        number = 0
        while not self._released.wait(self._pause) and self._lost is None:
            self._look()
            number += 1
            terms = msgspec.structs.replace(self._terms, beat=f"{number:0{_WIDTH}}")
            # The descriptor belongs to this lease, even if another one has its name now.
            with suppress(OSError):
                os.pwrite(self._file, msgspec.json.encode(terms), 0)
                os.close(os.dup(self._file))  # sends the bytes to a file server, but doesn't wait for a disk


_held: dict[Path, RunLease] = {}  # by folder; all leases of this process
_holding = threading.Lock()


@contextmanager
def hold(folder: Path, note: Callable[[str], object] = lambda text: None) -> Iterator[RunLease]:
    """Hold the lease of the run in a folder inside the context. The thread that holds it already goes on with it.

    Raises a `DistributedError` if another process holds the lease. `note` gets sentences about waiting and about a
    lease that is taken over. A folder that doesn't exist is created, and removed again if it stays empty.
    """
    folder = folder.resolve()
    check_folder_name(folder)
    with _holding:
        lease = _held.get(folder)
    if lease is not None and lease.thread == threading.get_ident():
        yield lease
        return
    new, lease = [path for path in (folder, *folder.parents) if not path.exists()], None
    try:
        lease = _taken(folder, note)
        with _holding:
            _held[folder] = lease
        yield lease
    finally:
        if lease is not None:
            with _holding:
                del _held[folder]
            lease.release()
        with suppress(OSError):  # a folder with files stays
            for path in new:
                path.rmdir()


class LeaseWatcher:
    """Watches from another process whether the holder of the lease in a folder is alive, by the beat of the lease.

    A lease that was there before and never changed can belong to a process that ended long ago. Its successor may wait
    for the lease's time before it begins.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = self._look()
        self._since, self._has_changed = time.monotonic(), False

    def lost_holder(self) -> str:
        """Return the description of a holder that has ended without releasing its lease. Returns an empty string if
        there is none."""
        now, terms = time.monotonic(), self._look()
        if terms != self._seen:
            self._seen, self._since, self._has_changed = terms, now, True
        if terms is None:
            return ""
        limit = _MISSED * terms.seconds / _BEATS if self._has_changed else terms.seconds + _SUCCESSION
        return terms.holder if now - self._since > limit else ""

    def _look(self) -> LeaseTerms | None:
        with suppress(OSError):
            return _read(self._folder / FILE)
        return None


def held_lease(folder: Path) -> RunLease | None:
    """Return the lease of a run's folder if this process holds it."""
    with _holding:
        return _held.get(folder.resolve())


def check_lease(folder: Path, key: str) -> None:
    """Raise a `DistributedError` if the lease of a run's folder isn't the one with this key, if there is a key."""
    if key:
        _is_held(folder, key)


def has_lease(folder: Path, key: str) -> bool:
    """Return whether a folder is the one with this lease."""
    try:
        terms = _read(folder / FILE)
    except OSError:
        return False
    return terms is not None and terms.key == key


def is_of_lease(path: Path) -> bool:
    """Return whether a file belongs to a lease, or to a process that is about to take one."""
    return path.name == FILE or path.name.startswith(f".{FILE}.")


def check_folder_name(folder: Path) -> None:
    """Raise a `DistributedError` if a folder's path isn't UTF-8, because the JSON files of a run contain the path."""
    if not is_utf8(folder):
        raise DistributedError(
            f"{folder}: the path isn't UTF-8, but the files of a run contain it; rename the folder, or name "
            "another one with --run"
        )


def _taken(folder: Path, note: Callable[[str], object]) -> RunLease:
    """Take the lease of a folder. Raises a `DistributedError` if another process holds it."""
    while True:
        create_folder(folder.parent)
        create_folder(folder, PRIVATE)
        try:
            claims, reason = _claims(folder), ""
            if claims:
                reason = _watch(folder, claims, note)
                if not reason:
                    continue  # another process was faster, or the lease was released
            lease = _claim(folder, claims)
        except FileNotFoundError:  # another process has just removed the empty folder
            continue
        except OSError as problem:
            raise DistributedError(
                f"{folder / FILE}: can't be written: {problem.strerror}; choose a folder that you can write to, or "
                "free space there"
            ) from None
        if lease is not None:
            if claims:
                note(f"{folder}: the run was held by {claims[0].holder}, {reason}; this process takes it over")
            return lease


def _claims(folder: Path) -> list[LeaseTerms]:
    """Return the lease of a folder, followed by the claims of processes that are about to take it over.

    A claim's file is named after the lease or the claim that it replaces. So there is at most one for each.
    """
    claims, path = list[LeaseTerms](), folder / FILE
    while (terms := _read(path)) is not None:
        claims.append(terms)
        path = _claim_on(folder, terms.key)
    return claims


def _claim_on(folder: Path, key: str) -> Path:
    return folder / f".{FILE}.{key}"


def _read(path: Path) -> LeaseTerms | None:
    """Return the terms in a file. Returns `None` if the file doesn't exist."""
    try:
        return LeaseTerms.of(path.read_bytes())
    except FileNotFoundError:
        return None


def _watch(folder: Path, claims: list[LeaseTerms], note: Callable[[str], object]) -> str:
    """Watch a lease of other processes. Returns the reason for which it may be taken over, or an empty text if it
    isn't there any more.

    Raises a `DistributedError` if another process holds it.
    """
    holder, begun, silent = claims[0], time.monotonic(), max(terms.seconds for terms in claims)
    original, noted = _original_of(folder, holder), False
    while not all(terms.has_ended for terms in claims):
        waited = time.monotonic() - begun
        if waited > silent:
            return f"which hasn't written anything for {silent:g} s"
        if waited > 0.1 * silent and not noted:
            noted = True
            note(
                f"{folder}: the run is held by {holder.holder}, which hasn't written anything for {waited:.0f} s; it "
                f"is taken over if that doesn't change for {silent:g} s"
            )
        time.sleep(_LOOK)
        elsewhere, present = _original_of(folder, holder), _claims(folder)
        if [terms.key for terms in present] != [terms.key for terms in claims]:
            return ""
        if present != claims:
            terms = next(now for now, before in zip(present, claims, strict=True) if now != before)
            raise DistributedError(
                f"{folder}: the run is held by {terms.holder}, which last wrote less than a second ago; wait until it "
                f"has ended, stop it with `kill {terms.process}` on {terms.host}, or use another folder"
            )
        if original is not None and elsewhere is not None and elsewhere.beat != original.beat:
            return f"but in {holder.folder}, of which this folder is a copy"
    return "which has ended"


def _original_of(folder: Path, terms: LeaseTerms) -> LeaseTerms | None:
    """Return the present terms of a lease where its holder sees them, if that is another folder of this machine."""
    if terms.machine != _machine() or terms.folder == str(folder):
        return None
    with suppress(OSError):
        present = _read(Path(terms.folder, FILE))
        return present if present is not None and present.key == terms.key else None
    return None


def _claim(folder: Path, claims: list[LeaseTerms]) -> RunLease | None:
    """Replace a lease, or the last claim to replace it. Returns `None` if another process was faster."""
    terms = LeaseTerms.new(folder)
    name = _claim_on(folder, claims[-1].key) if claims else folder / FILE
    hidden = folder / f".{FILE}.{token_hex(8)}"
    file, lease = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), None
    try:
        data = msgspec.json.encode(terms)
        os.pwrite(file, data, 0)
        if not _create(name, hidden, file, data):
            return None
        if _claims(folder)[: len(claims)] != claims:
            name.unlink(missing_ok=True)
            return None
        hidden.replace(folder / FILE)  # does nothing if both are one file
        lease = RunLease(folder, terms, file, taken_over=bool(claims))
    finally:
        hidden.unlink(missing_ok=True)
        if lease is None:
            os.close(file)
    for replaced in claims:
        _claim_on(folder, replaced.key).unlink(missing_ok=True)
    return lease


def _create(name: Path, hidden: Path, file: int, data: bytes) -> bool:
    """Create a file with the contents of a hidden one. Returns whether the name was free."""
    try:
        os.link(hidden, name)
    except FileExistsError:
        return os.fstat(file).st_nlink > 1  # a file server can do it twice and report the second failure
    except OSError as problem:
        if problem.errno not in _WITHOUT_LINKS:
            raise
        try:
            with name.open("xb") as copy:
                copy.write(data)
        except FileExistsError:
            return False
    return True


def _is_held(folder: Path, key: str) -> bool:
    """Return whether a lease is the one with this key, or false if that can't be found out now.

    Raises a `DistributedError` if it isn't.
    """
    try:
        terms = _read(folder / FILE)
    except OSError:
        return False
    if terms is None:
        raise DistributedError(
            f"{folder}: the run's folder was moved or removed during training, so this process ends; to continue, give "
            "the folder's new name to --resume"
        )
    if terms.key != key:
        raise DistributedError(
            f"{folder}: this process was stopped for so long that {terms.holder} has taken the run over, so this one "
            "ends; wait until the other one has ended, then look at the run's folder"
        )
    return True


def _lease_seconds() -> float:
    text = os.environ.get(VARIABLE, "")
    try:
        seconds = float(text or _SECONDS)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86400:
        raise SettingError(f"{VARIABLE} is '{text}'; set it to a number of seconds, at least 0.1, or leave it out")
    return seconds


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return f"user {os.getuid()}"


@cache
def _machine() -> str:
    """Return a text that processes share if their numbers can be compared, or an empty one if that is unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _start_of(process: int) -> str:
    """Return the start of a process, in ticks of its machine's clock, or an empty text if the process has ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return "" if fields[0] in _ENDED else fields[19]


def _clock() -> float:
    """Return seconds that also pass while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()

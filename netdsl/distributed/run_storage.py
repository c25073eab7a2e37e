"""Runs at addresses. Training works in a folder on this machine, whose files are published at the run's address.

All other code knows only that folder, which the first worker's machine has. A thread publishes what is new in it after
each round and each snapshot: first the files without which others are useless, then those that make a run, a round or a
snapshot valid. So the address always holds what a killed training could have left in a folder.

An address has one writer at a time. Its leases are numbered files, and only the newest counts. A storage that creates a
file only once gives each number to one process.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from secrets import token_hex
from threading import Event

import msgspec

from caffe_proto.addresses import address_in, shown_address
from caffe_proto.errors import FileError
from caffe_proto.limits import Limit
from caffe_proto.storage import PRIVATE, create_folder, write_pieces
from netdsl.distributed import run_lease
from netdsl.distributed.journal import ROUNDS, WHOLE
from netdsl.distributed.run_lease import LeaseTerms, RunLease, is_of_lease
from netdsl.errors import DistributedError, NotStoredError, StorageError
from netdsl.storage.cache_folder import cache_folder
from netdsl.storage.local_copies import name_of, show_as
from netdsl.storage.publisher import Publisher, Signature, is_hidden
from netdsl.storage.schemes import StoredObject, WritableStorage, writable_storage_of
from netdsl.storage.transfers import AT_ONCE, check_names, fetch_file, objects_at, within_silence

_log = logging.getLogger(__name__)

_RUN, _MODEL = "run.json", "model.caffemodel"
_NEVER_PUBLISHED = re.compile(
    r"control(-[0-9]+)?\.json|ended|left-[0-9]+"
)  # for processes of this machine; one is secret
_GROWING = (".jsonl", ".log")
_LEASE = re.compile(r"lease-([0-9]{8})\.json")
_BEATS = 6  # in the time of a lease
_LONGEST_LEASE = 1 << 16  # bytes
_LOOK = 1.0  # seconds between two looks at another process's lease


class _Published(msgspec.Struct):
    """What a working folder has in common with its address: the leases under which it was the newest state, and the
    files that are published."""

    keys: list[str] = []
    files: dict[str, Signature] = {}


@dataclass(frozen=True)
class _Place:
    """An address of a run, and the folder on this machine in which it is trained."""

    address: str
    folder: Path
    storage: WritableStorage

    @classmethod
    def of(cls, address: str, use: str) -> _Place:
        address = address.rstrip("/")
        storage, name = writable_storage_of(address), name_of(address)
        key = hashlib.sha256(address.encode()).hexdigest()[:32]
        place = cls(address, (cache_folder() / "runs" / key / use / name).resolve(), storage)
        show_as(place.folder.parent, address)
        return place

    @property
    def record(self) -> Path:
        """The file that describes what is published."""
        return self.folder.parent / "published.json"

    def read_record(self) -> _Published:
        try:
            return msgspec.json.decode(self.record.read_bytes(), type=_Published)
        except (OSError, ValueError):
            return _Published()

    def write_record(self, published: _Published) -> None:
        create_folder(self.record.parent, PRIVATE)
        write_pieces(self.record, [msgspec.json.encode(published)])

    def objects(self) -> dict[str, StoredObject]:
        """Return what the address holds, including the leases."""
        objects = objects_at(self.storage, self.address)
        objects = {name: each for name, each in objects.items() if not is_hidden(name)}
        if objects:
            check_names(objects, self.address)
        if "" in objects:
            raise StorageError(f"{shown_address(self.address)}: this is a file; name a folder for the run")
        return objects


_places: dict[Path, _Place] = {}  # by working folder
_publishers: dict[Path, _Publisher] = {}  # likewise, of the runs that this process holds


def run_folder(name: str | Path) -> Path:
    """Return the folder of a run on this machine. A run at an address has a working folder, the same for all processes
    of this machine and user. It has its files while this process or another one of this machine holds the run."""
    address = address_in(name)
    if address is None:
        return Path(name)
    place = _Place.of(address, "working")
    _places[place.folder] = place
    return place.folder


def recorded_folder(name: str | Path) -> Path:
    """Return a folder with the records of a run, to read. Those at an address are fetched, but not its saved rounds."""
    address = address_in(name)
    if address is None:
        return Path(name)
    place = _Place.of(address, "reading")
    objects = {
        each: stored for each, stored in _without_leases(place.objects()).items() if not each.startswith(f"{ROUNDS}/")
    }
    if _RUN not in objects:
        raise StorageError(f"{shown_address(address)}: there is no run at this address; name one that --run wrote to")
    _fetch(place, objects)
    return place.folder


def is_at_address(folder: Path) -> bool:
    """Return whether a folder is the working folder of a run at an address. It is complete only for the run's
    holder."""
    return folder.resolve() in _places


@contextmanager
def hold(folder: Path, note: Callable[[str], object] = lambda text: None) -> Iterator[RunLease]:
    """Hold a run inside the context, as `run_lease.hold` does. A run at an address is held there too: its files are
    fetched if another machine wrote them, and published until the end."""
    folder = folder.resolve()
    with run_lease.hold(folder, note) as lease:
        place = _places.get(folder)
        if place is None or folder in _publishers:
            yield lease
            return
        publisher = _Publisher(place, note)
        _publishers[folder] = publisher
        try:
            yield lease
        except BaseException:
            publisher.close(failed=True)
            raise
        else:
            publisher.close(failed=False)
        finally:
            del _publishers[folder]


def check_published(folder: Path, *, saved: bool = False) -> None:
    """Raise a `DistributedError` if another process has taken over the run at an address. With `saved`, publish what is
    new soon. Does nothing for other runs."""
    publisher = _publishers.get(folder.resolve())
    if publisher is not None:
        publisher.check(saved=saved)


class _Publisher(Publisher):
    """Holds the lease at an address, and publishes the files of the working folder."""

    what = "rounds"

    def __init__(self, place: _Place, note: Callable[[str], object]) -> None:
        super().__init__(place.storage, place.address, place.folder, note)
        self._place = place
        self._lost: DistributedError | None = None
        record = place.read_record()
        self._number, self._terms, before = _taken(place, record, note)
        if before is not None and before.key in record.keys:
            names = _without_leases(place.objects())
            self._published = {name: record.files.get(name, (-1, 0, 0)) for name in names}
        else:
            self._fetch_all(note)
        self.record()
        self.start(self._beat)

    def check(self, *, saved: bool) -> None:
        """Pass on notes, and raise a `DistributedError` if the lease is lost."""
        super().check(saved=saved)
        if self._lost is not None:
            raise self._lost

    def close(self, *, failed: bool) -> None:
        """Publish everything and release the lease, as for other publishers. A lost lease is an error too."""
        self.stop()
        try:
            if self._lost is not None:
                raise self._lost
            super().close(failed=failed)
        except DistributedError:
            if not failed:
                raise

    def files(self) -> dict[str, Signature]:
        """Return the files of the working folder that are published. Rounds are published when they are complete."""
        files = {
            name: signature
            for name, signature in super().files().items()
            if not (is_of_lease(self.folder / name) or _NEVER_PUBLISHED.fullmatch(name))
        }
        whole = {"", *(_round_of(name) for name in files if name.endswith(f"/{WHOLE}"))}
        return {name: signature for name, signature in files.items() if _round_of(name) in whole}

    def rank(self, name: str) -> int:
        """Return the place of a file in the order. A run's model follows its rounds and snapshots."""
        path = PurePosixPath(name)
        if name == _MODEL:
            return 3
        if path.name == WHOLE or name.endswith(".resume.json"):
            return 2
        return 1 if name == _RUN else 0

    def group(self, name: str) -> str:
        """Return the folder of a round to which a file belongs."""
        return _round_of(name)

    def grows(self, name: str) -> bool:
        """Return whether a file is a log."""
        return name.endswith(_GROWING)

    def check_writer(self) -> None:
        """Raise a `DistributedError` if there is a newer lease."""
        objects = self._place.objects()
        number = max(_lease_numbers(objects), default=0)
        if number < self._number:
            reason = "the run was removed there, so this process ends; start it again at another address"
        else:
            newest = _read_lease(self._place, objects[_lease_name(number)])
            if newest.key == self._terms.key:
                return
            reason = f"{newest.holder} has taken the run over, so this process ends; wait until the other one has ended"
        self._lost = DistributedError(f"{shown_address(self._place.address)}: {reason}")
        raise self._lost

    def record(self) -> None:
        """Keep a record of the published files, with which this machine can continue."""
        self._place.write_record(_Published([self._terms.key], self._published))

    def end(self) -> None:
        """Release the lease. Its file stays, so that numbers never repeat, unless no run has begun."""
        if (self.folder / _RUN).exists():
            self._write_lease(msgspec.structs.replace(self._terms, released=True))
        else:
            self._place.storage.remove(f"{self._place.address}/{_lease_name(self._number)}")

    def way_out(self) -> str:
        """Return advice for a user whose run can't be published."""
        return (
            f"{self.folder} still has everything: to publish it from this machine later, run zoo train --resume "
            f"{shown_address(self._place.address)}"
        )

    def _fetch_all(self, note: Callable[[str], object]) -> None:
        """Replace the working folder's files by those of the address, which another machine wrote."""
        place = self._place
        place.record.unlink(missing_ok=True)
        objects, left = _without_leases(place.objects()), self.files()
        if left:
            note(f"{shown_address(place.address)}: the run there replaces an older state of it on this machine")
        for name in left:
            (place.folder / name).unlink(missing_ok=True)
        _fetch(place, objects)
        self._published = dict.fromkeys(objects, (-1, 0, 0)) | self.files()  # the others are leftovers

    def _beat(self) -> None:
        number = 0
        while not self._ended.wait(self._terms.seconds / _BEATS) and self._lost is None:
            number += 1
            with suppress(StorageError):
                self.check_writer()
                self._write_lease(msgspec.structs.replace(self._terms, beat=f"{number:016}"))

    def _write_lease(self, terms: LeaseTerms) -> None:
        path = self.folder.parent / "lease.json"
        write_pieces(path, [msgspec.json.encode(terms)])
        self.put(path, _lease_name(self._number))


def _taken(
    place: _Place, record: _Published, note: Callable[[str], object]
) -> tuple[int, LeaseTerms, LeaseTerms | None]:
    """Take the lease at an address. Returns its number and its terms, and the terms of the one before.

    Raises a `DistributedError` if another process holds it.
    """
    shown_place = shown_address(place.address)
    while True:
        objects = place.objects()
        number, before = max(_lease_numbers(objects), default=0), None
        if number:
            before = _read_lease(place, objects[_lease_name(number)])
            reason = _watch(place, number, before, note)
            if not reason:
                continue
            if not before.released:
                note(f"{shown_place}: the run was held by {before.holder}, {reason}; this process takes it over")
        terms = LeaseTerms.new(place.folder)
        if before is not None and before.key in record.keys:
            record.keys.append(terms.key)  # so that a kill at this point doesn't make the working folder an older state
            place.write_record(record)
        created = within_silence(
            lambda terms=terms, number=number: place.storage.create(  # type: ignore[misc]
                msgspec.json.encode(terms), f"{place.address}/{_lease_name(number + 1)}"
            ),
            place.address,
        )
        objects = place.objects()
        mine = objects.get(_lease_name(number + 1))
        # A call that reports a failure can have succeeded, and a newer lease can be older than the look at it.
        if mine is None or max(_lease_numbers(objects)) != number + 1 or _read_lease(place, mine).key != terms.key:
            if created and mine is not None:
                place.storage.remove(mine.address)
            continue
        for each in _lease_numbers(objects):
            if each <= number:
                with suppress(StorageError):
                    place.storage.remove(f"{place.address}/{_lease_name(each)}")
        return number + 1, terms, before


def _watch(place: _Place, number: int, terms: LeaseTerms, note: Callable[[str], object]) -> str:
    """Watch the lease of another process. Returns the reason for which it may be taken over, or an empty text if there
    is another one.

    Raises a `DistributedError` if another process holds it.
    """
    begun, shown_place = time.monotonic(), shown_address(place.address)
    note_after: float | None = 0.1 * terms.seconds
    while not (terms.has_ended or terms.is_own):  # its own folder is held, so an own lease is a leftover
        waited = time.monotonic() - begun
        if waited > terms.seconds:
            return f"which hasn't written anything for {terms.seconds:g} s"
        if note_after is not None and waited > note_after:
            note_after = None
            note(
                f"{shown_place}: the run is held by {terms.holder}; it is taken over if that writes nothing for "
                f"{terms.seconds:g} s"
            )
        time.sleep(min(_LOOK, terms.seconds / _BEATS))
        objects = place.objects()
        if max(_lease_numbers(objects), default=0) != number:
            return ""
        present = _read_lease(place, objects[_lease_name(number)])
        if present.released:
            break
        if present.beat != terms.beat:
            raise DistributedError(
                f"{shown_place}: the run is held by {terms.holder}, which has just written; wait until it has ended, "
                f"stop it with `kill {terms.process}` on {terms.host}, or use another address"
            )
    return "which has ended"


def _fetch(place: _Place, objects: Mapping[str, StoredObject]) -> None:
    """Fetch files into the working folder. Files of the same version stay, and others are removed."""
    shown_place = shown_address(place.address)
    Limit.ADDRESS_BYTES.check(sum(each.size for each in objects.values()), shown_place)
    record, versions, ended = place.folder.parent / "versions.json", dict[str, str](), Event()
    with suppress(OSError, ValueError):
        versions = msgspec.json.decode(record.read_bytes(), type=dict[str, str])
    create_folder(place.folder, PRIVATE)
    for path in list(place.folder.rglob("*")):
        name = path.relative_to(place.folder).as_posix()
        if path.is_file() and not is_of_lease(path) and name not in objects:
            path.unlink()

    def fetch(name: str) -> None:
        stored, path = objects[name], place.folder / name
        if versions.get(name) == stored.version != "" and path.exists():
            return
        create_folder(path.parent, PRIVATE)
        hidden = path.with_name(f".{path.name[:40]}.{token_hex(8)}")
        try:
            fetch_file(place.storage, stored, hidden, ended)
            hidden.replace(path)
        finally:
            hidden.unlink(missing_ok=True)

    record.unlink(missing_ok=True)
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                list(pool.map(fetch, objects))
            except BaseException:
                ended.set()
                raise
    except OSError as problem:
        raise FileError(
            f"{place.folder.parent}: the files of {shown_place} can't be written: {problem.strerror}; free some space, "
            "or set XDG_CACHE_HOME to another folder"
        ) from None
    write_pieces(record, [msgspec.json.encode({name: stored.version for name, stored in objects.items()})])


def _read_lease(place: _Place, stored: StoredObject) -> LeaseTerms:
    """Return the terms of a lease."""

    def read() -> bytes:
        data = b""
        for piece in place.storage.pieces(stored):
            data += piece
            if len(data) > _LONGEST_LEASE:
                break
        return data

    try:
        return LeaseTerms.of(within_silence(read, stored.address))
    except NotStoredError:
        return LeaseTerms("", released=True)


def _lease_name(number: int) -> str:
    return f"lease-{number:08}.json"


def _lease_numbers(names: Iterable[str]) -> list[int]:
    return [int(match[1]) for match in map(_LEASE.fullmatch, names) if match]


def _without_leases(objects: Mapping[str, StoredObject]) -> dict[str, StoredObject]:
    return {name: stored for name, stored in objects.items() if not _LEASE.fullmatch(name)}


def _round_of(name: str) -> str:
    """Return the folder of a round to which a file belongs, or an empty text."""
    return name.rpartition("/")[0] if name.startswith(f"{ROUNDS}/") else ""

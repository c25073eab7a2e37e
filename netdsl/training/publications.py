"""Snapshots and logs of a training at addresses. They are written here, and published while training continues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event as Flag

from caffe_proto.addresses import address_in, shown_address
from caffe_proto.limits import Limit
from caffe_proto.storage import PRIVATE, create_folder, temporary_folder
from netdsl.distributed.run import NEWEST, Run
from netdsl.errors import SolverError, StorageError
from netdsl.solver.events import Event, EventLog, Listener, Notice, SnapshotSaved
from netdsl.solver.snapshot_files import newest, newest_of, states_among
from netdsl.storage.cache_folder import cache_folder
from netdsl.storage.local_copies import name_of, show_as
from netdsl.storage.publisher import Publisher, published_folder
from netdsl.storage.schemes import StoredObject, storage_of
from netdsl.storage.transfers import check_names, fetch_file, objects_at


class _Snapshots(Publisher):
    """Publishes snapshots. A snapshot counts when its state is there, which is published last."""

    what = "snapshots"

    def rank(self, name: str) -> int:
        return 1 if ".solverstate" in name else 0


class _Log(Publisher):
    """Publishes a log, which grows."""

    what = "log"

    def grows(self, name: str) -> bool:
        return True


@contextmanager
def with_published_snapshots(run: Run, listen: Listener) -> Iterator[tuple[Run, Listener]]:
    """Provide a run whose snapshots are written on this machine, and its listener.

    If `snapshot_prefix` is an address, each snapshot is published there while training continues.
    """
    address = address_in(run.solver.param.snapshot_prefix)
    if address is None:
        yield run, listen
        return
    folder, name = _folder_and_name(address)
    objects_at(storage_of(folder), folder)  # so that training doesn't start if the storage can't be reached
    with published_folder(_Snapshots, folder, lambda text: listen(Notice(text))) as publisher:
        yield (
            replace(run, solver=run.solver.with_fields(snapshot_prefix=str(publisher.folder / name))),
            _publishing_after_snapshots(listen, publisher),
        )


@contextmanager
def published_log(address: str, note: Callable[[str], object]) -> Iterator[Listener]:
    """Provide a listener that appends events to a log at an address. It is published after each snapshot and at the
    end."""
    folder, name = _folder_and_name(address)
    with published_folder(_Log, folder, note) as publisher:
        log = publisher.folder / name
        objects = objects_at(storage_of(address), address)
        if objects:
            fetch_file(storage_of(address), objects[""], log, Flag())
        with closing(EventLog(log)) as write:
            yield _publishing_after_snapshots(write, publisher)


def _publishing_after_snapshots(listen: Listener, publisher: Publisher) -> Listener:
    def listen_and_publish(event: Event) -> None:
        listen(event)
        publisher.check(saved=isinstance(event, SnapshotSaved))

    return listen_and_publish


def start_of(run: Run, stack: ExitStack, listen: Listener) -> Path | None:
    """Return the solver state from which a run resumes, or `None`. `listen` gets notices about damaged snapshots. The
    files of one at an address are fetched, and kept until the stack ends."""
    if run.snapshot is None:
        return None
    if run.snapshot == NEWEST:
        return _newest(run.solver.param.snapshot_prefix, stack, lambda text: listen(Notice(text)))
    if run.weights:
        raise SolverError("a snapshot contains its own weights; give --snapshot or --weights, not both")
    address = address_in(run.snapshot)
    if address is None:
        return Path(run.snapshot)
    folder, name = _folder_and_name(address)
    return _fetched(folder, name, objects_at(storage_of(folder), folder), _folder_for(folder, stack))


def _newest(prefix: str, stack: ExitStack, note: Callable[[str], object]) -> Path | None:
    address = address_in(prefix)
    if address is None:
        return newest(prefix, note)
    folder, name = _folder_and_name(address)
    objects, local = objects_at(storage_of(folder), folder), _folder_for(folder, stack)
    return newest_of(prefix, (_fetched(folder, each, objects, local) for each in states_among(objects, name)), note)


def _folder_for(address: str, stack: ExitStack) -> Path:
    """Return a new folder for files that are fetched from a folder at an address."""
    create_folder(cache_folder() / "outgoing", PRIVATE)
    folder = stack.enter_context(temporary_folder(cache_folder() / "outgoing", "snapshot")) / name_of(address)
    create_folder(folder)
    show_as(folder.parent, address)
    return folder


def _fetched(address: str, name: str, objects: Mapping[str, StoredObject], folder: Path) -> Path:
    """Fetch the files of a solver state in a folder at an address. Returns the path of the state."""
    base = name.partition(".solverstate")[0]
    files = {each: stored for each, stored in objects.items() if each == name or each.startswith(f"{base}.")}
    if name not in files:
        raise StorageError(
            f"{shown_address(address)}/{name}: there is no such file that you may see; name a .solverstate there"
        )
    check_names(files, address)
    Limit.ADDRESS_BYTES.check(sum(stored.size for stored in files.values()), shown_address(address))
    for each, stored in files.items():
        fetch_file(storage_of(address), stored, folder / each, Flag())
    return folder / name


def _folder_and_name(address: str) -> tuple[str, str]:
    """Return the folder of an address and the name in it."""
    folder, _, name = address.rpartition("/")
    if not name or folder.endswith(":/"):
        raise StorageError(f"{shown_address(address)}: the address names no file in a folder; add the name")
    return folder, name

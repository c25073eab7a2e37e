"""Publishes the new files of a folder under an address while other work continues."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from caffe_proto.addresses import shown_address
from caffe_proto.errors import FileError
from caffe_proto.storage import PRIVATE, create_folder, temporary_folder
from netdsl.errors import DistributedError, StorageError
from netdsl.storage.local_copies import show_as
from netdsl.storage.outgoing import in_ranks, outgoing_place, put_together
from netdsl.storage.schemes import WritableStorage, writable_storage_of

PAUSES = (1.0, 2.0, 5.0, 10.0, 20.0)  # seconds between attempts to publish; in the end, after them the work fails

Signature = tuple[int, int, int]  # of a file: its size, its time and its number


class Publisher:
    """Publishes the files of a folder, which are new or have changed, when it is asked to and at the end.

    A thread does that. `note` gets sentences about problems, from the thread that calls `check` or `close`.
    """

    what = "files"  # the name of the files in sentences

    def __init__(self, storage: WritableStorage, address: str, folder: Path, note: Callable[[str], object]) -> None:
        self.folder = folder
        self._storage, self._address, self._note = storage, address, note
        self._notes = deque[str]()
        self._published = dict[str, Signature]()
        self._wanted, self._ended = Event(), Event()
        self._threads = list[threading.Thread]()

    def start(self, *functions: Callable[[], None]) -> None:
        """Start the thread that publishes, and threads for other functions."""
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._work, *functions)]
        for thread in self._threads:
            thread.start()

    def check(self, *, saved: bool) -> None:
        """Pass on notes. With `saved`, publish new files soon."""
        self._pass_notes()
        if saved:
            self._wanted.set()

    def stop(self) -> None:
        """End the threads."""
        self._ended.set()
        self._wanted.set()
        for thread in self._threads:
            thread.join()
        self._pass_notes()

    def _pass_notes(self) -> None:
        while self._notes:
            self._note(self._notes.popleft())

    def close(self, *, failed: bool) -> None:
        """Publish everything. If that isn't possible, raise a `StorageError` that names the folder. After another
        failure, that is a note."""
        self.stop()
        problem: StorageError | FileError | None = None
        for pause in (0.0,) if failed else (0.0, *PAUSES):
            time.sleep(pause)
            try:
                self.publish()
                self.end()
                return
            except (StorageError, FileError) as reason:
                problem = reason
        show_as(self.folder.parent, None)
        text = f"{problem}; {self.way_out()}"
        if not failed:
            raise StorageError(text)
        self._note(text)

    def files(self) -> dict[str, Signature]:
        """Return the files that may be published now. Files and folders may be removed in the meantime."""
        files = dict[str, Signature]()
        for folder, _, names in os.walk(self.folder):
            for path in (Path(folder, name) for name in names):
                name = path.relative_to(self.folder).as_posix()
                if not is_hidden(name):
                    with suppress(OSError):
                        status = path.stat()
                        if path.is_file():
                            files[name] = (status.st_size, status.st_mtime_ns, status.st_ino)
        return files

    def rank(self, name: str) -> int:
        """Return the place of a file in the order in which files are published. Later ones make earlier ones valid."""
        return 0

    def group(self, name: str) -> str:
        """Return the name of a group of files that are only published together, or an empty text."""
        return ""

    def grows(self, name: str) -> bool:
        """Return whether a file can grow while it is published."""
        return False

    def check_writer(self) -> None:
        """Raise an error if this process may not publish any more."""

    def record(self) -> None:
        """Keep a record of the published files."""

    def end(self) -> None:
        """Do the work that follows the last publication."""

    def way_out(self) -> str:
        """Return advice for a user whose files can't be published."""
        return f"copy the {self.what} from {self.folder}"

    def publish(self) -> None:
        """Publish the new files, the decisive ones last, and remove those that are gone in the folder."""
        files = self.files()
        changed = [name for name, signature in files.items() if self._published.get(name) != signature]
        with self._pinned(changed) as pinned:
            for names in in_ranks(pinned, self.rank):
                self.check_writer()
                put_together(names, lambda name: self.put(pinned[name], name))
                self._published |= {name: files[name] for name in names}
        for name in sorted(self._published.keys() - files.keys(), key=self.rank, reverse=True):
            self._storage.remove(f"{self._address}/{name}")
            del self._published[name]
        if changed:
            self.record()

    def put(self, path: Path, name: str) -> None:
        """Publish one file under a name."""
        self._storage.put(path, f"{self._address}/{name}")

    def _work(self) -> None:
        failures = 0
        while not self._ended.is_set():
            self._wanted.wait()
            self._wanted.clear()
            if self._ended.is_set():
                return
            try:
                self.publish()
                if failures:
                    self._notes.append(f"{shown_address(self._address)}: the storage can be reached again")
                failures = 0
            except DistributedError:
                return
            except (StorageError, FileError) as problem:
                if not failures:
                    self._notes.append(f"{problem}; training continues, and publishes its {self.what} later")
                self._ended.wait(PAUSES[min(failures, len(PAUSES) - 1)])
                failures += 1
                self._wanted.set()

    @contextmanager
    def _pinned(self, names: Iterable[str]) -> Iterator[dict[str, Path]]:
        """Pin files as they are now, by links or copies, since new ones are written and old ones removed in the
        meantime. Yields the pinned files. A group of which a file is gone is left out."""
        pinned, gone = dict[str, Path](), set[str]()
        with temporary_folder(self.folder.parent, "publishing") as hidden:
            for number, name in enumerate(names):
                source, path = self.folder / name, hidden / str(number)
                try:
                    _copy(source, path, link=not self.grows(name))
                    pinned[name] = path
                except OSError as problem:
                    if source.exists():
                        raise FileError(
                            f"{source}: can't be published: {problem.strerror}; free some space there"
                        ) from None
                    gone.add(self.group(name))
            yield {name: path for name, path in pinned.items() if self.group(name) not in gone - {""}}


def is_hidden(name: str) -> bool:
    """Return whether a file or one of its folders is hidden."""
    return any(part.startswith(".") for part in name.split("/"))


def _copy(source: Path, path: Path, *, link: bool) -> None:
    """Make a link to a file, or a copy."""
    if link:
        with suppress(OSError):  # some file systems have no links
            path.hardlink_to(source)
            return
    shutil.copyfile(source, path)


@contextmanager
def published_folder(kind: type[Publisher], address: str, note: Callable[[str], object]) -> Iterator[Publisher]:
    """Provide the publisher of a new folder on this machine, whose files are published below an address whenever it is
    asked to, and at the end. If they can't be published, they stay in the folder."""
    storage, folder = writable_storage_of(address), outgoing_place(address)
    create_folder(folder, PRIVATE)
    publisher = kind(storage, address, folder, note)
    publisher.start()
    try:
        yield publisher
    except BaseException:
        publisher.close(failed=True)
        raise
    publisher.close(failed=False)
    shutil.rmtree(folder.parent, ignore_errors=True)

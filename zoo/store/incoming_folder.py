"""A folder into which the files of one model are collected. It checks their names, and records their sizes and
hashes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path, PurePosixPath

from caffe_proto.errors import FileError
from caffe_proto.storage import check_regular
from netdsl.solver.events import Notice
from zoo.cards import CARD
from zoo.store.download import PART, PART_NOTE, download
from zoo.store.errors import StoreError
from zoo.store.first_bytes import BEGINNING, misfit
from zoo.store.records import StoredFile
from zoo.store.transfers import ANY_FILE, ExpectedFile, Hashes, TransferProgress, TransferSettings

ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")

_WEIGHTS = (".caffemodel", ".h5", ".safetensors", ".npz")
_NETS = (".prototxt", ".onnx")
_OTHERS = (".binaryproto", ".npy", ".txt", ".md", ".onnx_data")
_PICKLED = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".t7", ".pdparams", ".msgpack")
_LICENCES = ("license", "licence", "copying", "notice")
_LONGEST_NAME = 200  # in characters, so that a temporary name fits too

_BLOCK = 1 << 20


class FileKind(Enum):
    """The purpose of a file in a model."""

    NET = auto()
    WEIGHTS = auto()
    OTHER = auto()  # a mean, labels, a license, a card
    PICKLED = auto()  # loading it can run any code
    FOREIGN = auto()


def kind_of(name: str) -> FileKind:
    """Return the kind of a file, by its name."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _NETS:
        return FileKind.NET
    if suffix in _WEIGHTS:
        return FileKind.WEIGHTS
    if suffix in _PICKLED:
        return FileKind.PICKLED
    is_licence = PurePosixPath(name).name.lower().startswith(_LICENCES) and suffix in ("", *_OTHERS)
    return FileKind.OTHER if suffix in _OTHERS or is_licence else FileKind.FOREIGN


def is_archive(name: str) -> bool:
    """Return whether a file is an archive that may contain a model."""
    return name.lower().endswith(ARCHIVES)


def is_kept(name: str) -> bool:
    """Return whether the store accepts a file with this name."""
    return kind_of(name) not in (FileKind.PICKLED, FileKind.FOREIGN)


def stored_name(name: str) -> str:
    """Return the name of a file in the store. Caffe's readme.md becomes the card."""
    return CARD if name.lower() == CARD.lower() else name


def checked_name(name: str, where: str) -> str:
    """Return a name from an external source. Raises an error if the name could lead outside the model's folder."""
    is_plain = PurePosixPath(name).name == name and name.isprintable() and not set(name) & set("\\:")
    if not is_plain or name.startswith(".") or len(name.encode()) > _LONGEST_NAME:
        raise StoreError(
            f"{where}: the file name '{name}' isn't a plain name in the model's own folder; rename the file"
        )
    return name


class IncomingFolder:
    """The files of a model that have been collected so far. If `pinned` is given, all other files are refused."""

    def __init__(self, path: Path, settings: TransferSettings, pinned: Mapping[str, StoredFile] | None = None) -> None:
        self.path, self.settings, self._pinned = path, settings, pinned
        self.files: dict[str, StoredFile] = {}

    def tell(self, text: str) -> None:
        """Send a notice to the listeners."""
        self.settings.listen(Notice(text))

    def allow(self, address: str) -> None:
        """Allow downloads from the host of an address that the user's settings name, even if it is private."""
        self.settings = replace(self.settings, guard=self.settings.guard.allow([address]))

    def download(
        self,
        name: str,
        addresses: Sequence[str],
        expected: ExpectedFile = ANY_FILE,
        headers: Mapping[str, str] | None = None,
    ) -> Path:
        """Download a file, unless a verified copy is already there."""
        path = self._path_of(name, addresses[0])
        wanted = self._expected_of_pin(name, expected)
        here = hash_file(path) if wanted.is_proof and path.is_file() else None
        if here is None or here.difference(wanted) is not None:
            self.note_file(download(path, addresses, wanted, self.settings, headers))
        else:
            self.note_file(StoredFile(name, here.size, here.sha256))
        return path

    def download_aside(self, name: str, addresses: Sequence[str], expected: ExpectedFile) -> Path:
        """Download a file that isn't part of the model, such as an archive."""
        path = self._path_of(name, addresses[0])
        download(path, addresses, expected, self.settings)
        return path

    def copy(self, source: Path, name: str) -> Path:
        """Copy a local file."""
        check_regular(source)
        try:
            with source.open("rb") as file:
                return self.receive(name, iter(lambda: file.read(_BLOCK), b""), str(source), source.stat().st_size)
        except OSError as problem:
            raise FileError(
                f"{source}: the file can't be copied to {self.path}: {problem.strerror}; check both paths and their "
                "permissions"
            ) from None

    def receive(self, name: str, pieces: Iterable[bytes], where: str, total: int | None = None) -> Path:
        """Write a file that arrives in pieces, such as a member of an archive."""
        path = self._path_of(name, where)
        hashes = Hashes()
        try:
            with path.open("wb") as file:
                for piece in pieces:
                    file.write(piece)
                    hashes.update(piece)
                    if hashes.size >= _BLOCK:  # for countless small files, showing progress takes longest
                        self.settings.listen(TransferProgress(name, hashes.size, total))
        except OSError as problem:
            raise FileError(
                f"{path}: the file can't be written: {problem.strerror}; free space there, or set NETDSL_HOME to "
                "another folder"
            ) from None
        self.note_file(StoredFile(name, hashes.size, hashes.sha256))
        return path

    def adopt(self, name: str) -> Path:
        """Record a file that is already in the folder."""
        path = self._path_of(name, str(self.path))
        hashes = hash_file(path)
        self.note_file(StoredFile(name, hashes.size, hashes.sha256))
        return path

    def keep_only_files(self) -> None:
        """Remove the remains of earlier attempts."""
        for path in self.path.iterdir():
            if path.name not in self.files:
                path.unlink(missing_ok=True)

    def check_card(self) -> None:
        """Raise an error if the complete card isn't the pinned one."""
        self._check_pinned(self.files[CARD])

    def _path_of(self, name: str, where: str) -> Path:
        return self.path / checked_name(name, where)

    def _expected_of_pin(self, name: str, expected: ExpectedFile) -> ExpectedFile:
        pin = (self._pinned or {}).get(name)
        if pin is None or name == CARD:  # the card may still be completed, and is checked later
            return expected
        return ExpectedFile(pin.sha256, expected.sha1, pin.size)

    def note_file(self, file: StoredFile) -> None:
        """Record a file in the folder. Raises an error if it isn't a pinned one, or isn't what its name says."""
        problem = misfit(file.name, _beginning(self.path / file.name))
        if problem is not None:
            raise StoreError(f"{file.name}: {problem}")
        self.files[file.name] = file
        if file.name != CARD:
            self._check_pinned(file)

    def _check_pinned(self, file: StoredFile) -> None:
        pinned = file if self._pinned is None else self._pinned.get(file.name)
        if pinned != file:
            locked = f"the SHA-256 is {pinned.sha256} in" if pinned else "the file isn't in"
            raise StoreError(
                f"{file.name}: {locked} the lock file, but the source's file has {file.sha256}; pull it without "
                "--locked, or write a new lock file with --lock"
            )


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(BEGINNING)


def check_distinct(names: Iterable[str], where: str) -> None:
    """Raise an error if the names of two files differ only in upper and lower case. The store, or another disk, would
    keep only one of them."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise StoreError(
                f"{where}: the names {other} and {name} differ only in upper and lower case; remove one of the files"
            )


def is_partial(path: Path) -> bool:
    """Return whether a file is an incomplete download, or a record about one."""
    return path.name.endswith((PART, PART_NOTE))


def hash_stored(folder: Path, file: StoredFile) -> StoredFile | None:
    """Return the current facts about a stored file, or `None` if it is missing."""
    path = folder / file.name
    if not path.is_file():
        return None
    hashes = hash_file(path)
    return StoredFile(file.name, hashes.size, hashes.sha256)


def hash_file(path: Path) -> Hashes:
    """Return the size and the hashes of a local file."""
    hashes = Hashes()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                hashes.update(block)
    except OSError as problem:
        raise FileError(
            f"{path}: the file can't be read: {problem.strerror}; check the path and its permissions"
        ) from None
    return hashes

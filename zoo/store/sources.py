"""Where a model is pulled from: the catalogue, the web, gists, and files of this machine, by what a user writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from netdsl.data.sources.class_names import LABELS
from zoo.cards import CARD, Card, read_card
from zoo.catalogue.writing import write_model
from zoo.model_folder import DEPLOY, SOLVER, TRAIN_VAL
from zoo.store.archives import tell_left_out, unpack
from zoo.store.download import check_address
from zoo.store.errors import MissingFileError, StoreError
from zoo.store.hub import HubSource
from zoo.store.incoming_folder import (
    ARCHIVES,
    FileKind,
    IncomingFolder,
    checked_name,
    is_archive,
    is_kept,
    kind_of,
    stored_name,
)
from zoo.store.local_store import name_from
from zoo.store.transfers import ANY_FILE, ExpectedFile

_GIST_ID = re.compile(r"(?:[\w-]+/)?[0-9a-f]{1,64}")
_GIST_REVISION = re.compile(r"-([0-9a-f]{40})$")  # of the folder in a gist's archive
_BESIDE_CARD = (DEPLOY, TRAIN_VAL, SOLVER, LABELS)  # of a card, where they are there
_GITHUB_PAGE = re.compile(r"https?://github\.com/(?P<repository>[^/]+/[^/]+)/blob/(?P<path>.+)")
HUB = "hf:"
_GIST = "gist:"


class ModelSource(Protocol):
    """A place that a model is pulled from."""

    @property
    def address(self) -> str:
        """How the place is written, here and in records and lock files."""
        ...

    @property
    def default_name(self) -> str:
        """The model's name in the store, if a user gives it no other."""
        ...

    def at(self, revision: str) -> ModelSource:
        """Return the same place in one of its versions, if it has any."""
        ...

    def fill(self, folder: IncomingFolder) -> str:
        """Bring the model's files, and return the version that they are of."""
        ...


def is_local(text: str) -> bool:
    """Return whether this is something on the disk."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


@dataclass(frozen=True)
class CatalogueSource:
    """A net of the catalogue, by its name."""

    name: str

    @property
    def address(self) -> str:
        """The name."""
        return self.name

    @property
    def default_name(self) -> str:
        """The same name."""
        return self.name

    def at(self, revision: str) -> CatalogueSource:
        """Return the same, since this version of netdsl has one version of a net."""
        return self

    def fill(self, folder: IncomingFolder) -> str:
        """Write the files of the net."""
        for path in write_model(self.name, folder.path):
            folder.adopt(path.name)
        return ""


@dataclass(frozen=True)
class GistSource:
    """A gist by its ID, which may have its owner's name before it and a revision behind it."""

    id: str
    revision: str = ""
    site: str = "https://gist.github.com/"

    def __post_init__(self) -> None:
        if _GIST_ID.fullmatch(self.id) is None:
            raise StoreError(f"gist:{self.id}: isn't a gist; it looks like gist:ID or gist:OWNER/ID")

    @property
    def address(self) -> str:
        """As users write it."""
        return f"gist:{self.id}@{self.revision}" if self.revision else f"gist:{self.id}"

    @property
    def default_name(self) -> str:
        """The ID, as Caffe's scripts name the folder."""
        return name_from(self.id)

    def at(self, revision: str) -> GistSource:
        """Return one version of the gist."""
        return replace(self, revision=revision)

    def fill(self, folder: IncomingFolder) -> str:
        """Fetch the gist's archive and unpack it."""
        path = f"{self.id}/archive/{self.revision}.zip" if self.revision else f"{self.id}/download"
        archive = folder.download_aside("gist.zip", [urljoin(self.site, path)], ANY_FILE)
        match = _GIST_REVISION.search(unpack(archive, folder, self.address))
        return match[1] if match else self.revision


@dataclass(frozen=True)
class LocalSource:
    """A folder or a file, of which the store gets a copy."""

    path: Path

    @property
    def address(self) -> str:
        """The whole path."""
        return str(self.path.resolve())

    @property
    def default_name(self) -> str:
        """The name of the folder, or of the file without its suffix."""
        name = self.path.resolve().name
        suffix = next((each for each in sorted(ARCHIVES, key=len, reverse=True) if name.lower().endswith(each)), "")
        return name_from(name.removesuffix(name[len(name) - len(suffix) :]) if suffix else Path(name).stem)

    def at(self, revision: str) -> LocalSource:
        """Return the same, since files of a disk have no versions."""
        return self

    def fill(self, folder: IncomingFolder) -> str:
        """Copy the files of the model."""
        if self.path.is_dir():
            self._copy_folder(folder)
        elif is_archive(self.path.name):
            unpack(self.path, folder, str(self.path))
        else:
            folder.copy(self.path, taken_name(self.path.name, str(self.path)))
        return ""

    def _copy_folder(self, folder: IncomingFolder) -> None:
        paths = sorted(path for path in self.path.iterdir() if not path.name.startswith("."))
        taken = [path for path in paths if path.is_file() and is_kept(path.name)]
        if not any(kind_of(path.name) in (FileKind.NET, FileKind.WEIGHTS) for path in taken):
            raise StoreError(f"{self.path}: has neither a net nor weights")
        for path in taken:
            folder.copy(path, stored_name(path.name))
        tell_left_out(folder, [path.name for path in paths if path not in taken], str(self.path))


def taken_name(name: str, where: str) -> str:
    """Return the name of a single file in the store; an error if it is none of a model, or one that can't be
    trusted."""
    if kind_of(name) is FileKind.PICKLED:
        raise StoreError(
            f"{where}: is a pickled file, which runs what it says when it is loaded; take the model's .safetensors, "
            ".onnx or .caffemodel"
        )
    if kind_of(name) not in (FileKind.NET, FileKind.WEIGHTS):
        raise StoreError(
            f"{where}: isn't a file that a model can be pulled by, such as .prototxt, .caffemodel, .onnx, "
            f".safetensors, {', '.join(ARCHIVES[:2])} or a README.md with a card"
        )
    return stored_name(name)


@dataclass(frozen=True)
class WebSource:
    """A file's address. That of a card stands for the model's files beside it."""

    url: str
    expected: ExpectedFile = ANY_FILE

    @property
    def address(self) -> str:
        """The address, without what is behind a '#'."""
        page = _GITHUB_PAGE.match(self.url)
        url = f"https://raw.githubusercontent.com/{page['repository']}/{page['path']}" if page else self.url
        return urlunsplit(urlsplit(url)._replace(fragment=""))

    @property
    def default_name(self) -> str:
        """The name of the file without its suffix, or of the folder that a card is in."""
        path = PurePosixPath(unquote(urlsplit(self.address).path))
        return name_from(path.parent.name) if self._is_card else LocalSource(Path(path.name)).default_name

    def at(self, revision: str) -> WebSource:
        """Return the same, since files of the web have no versions."""
        return self

    def fill(self, folder: IncomingFolder) -> str:
        """Fetch the model's files; what archives and cards stand for, too."""
        check_address(self.address)
        if self._is_card:
            self._fetch_card(folder)
        elif is_archive(self._file_name):
            unpack(folder.download_aside(self._file_name, [self.address], self.expected), folder, self.address)
        else:
            folder.download(taken_name(self._file_name, self.address), [self.address], self.expected)
            if not self.expected.is_proof:
                folder.tell(f"{self.address}: nothing says what its hash should be; zoo.lock keeps the one that it has")
        return ""

    @property
    def _file_name(self) -> str:
        return PurePosixPath(unquote(urlsplit(self.address).path)).name

    @property
    def _is_card(self) -> bool:
        return self._file_name.lower() == CARD.lower()

    def _fetch_card(self, folder: IncomingFolder) -> None:
        card = read_card(folder.download(CARD, [self.address]))
        fetched = [name for name in (*_BESIDE_CARD, *_files_named_by(card)) if self._fetch_beside(folder, name)]
        if not any(name in fetched for name in (DEPLOY, TRAIN_VAL)):
            raise StoreError(f"{self.address}: has neither {DEPLOY} nor {TRAIN_VAL} beside it")
        if card.caffemodel and not card.caffemodel_url and not self._fetch_beside(folder, card.caffemodel):
            folder.tell(f"{self.address}: {card.caffemodel} isn't beside it")

    def _fetch_beside(self, folder: IncomingFolder, name: str) -> bool:
        """Fetch a file of the same folder; False if there is none."""
        checked_name(name, self.address)
        beside = urljoin(self.address, quote(name))
        try:
            folder.download(name, [beside])
        except MissingFileError:
            return False
        return True


def _files_named_by(card: Card) -> list[str]:
    """Return the files that a card says the model needs, without its weights."""
    mean = card.input.mean if card.input is not None and isinstance(card.input.mean, str) else ""
    return [
        name for name in (mean, card.labels) if name and name not in _BESIDE_CARD and " " not in name and is_kept(name)
    ]


def open_model_source(text: str, expected: ExpectedFile = ANY_FILE) -> ModelSource:
    """Return the source that a text names. What is on the disk comes before a name, as everywhere."""
    place, _, revision = text.partition("@")
    if text.startswith(HUB):
        return HubSource(place.removeprefix(HUB), revision)
    if text.startswith(_GIST):
        return GistSource(place.removeprefix(_GIST), revision)
    if "://" in text:
        return WebSource(text, expected)
    if is_local(text) or Path(text).suffix or len(Path(text).parts) != 1:
        return LocalSource(Path(text))
    return CatalogueSource(text)

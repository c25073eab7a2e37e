"""Sources of models, from the text that a user writes: the catalogue, the web, gists, and local files."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from netdsl.data.sources.class_names import LABELS
from zoo.cards import CARD, Card, read_card
from zoo.catalogue import could_be_name
from zoo.catalogue.writing import write_model
from zoo.model_folder import DEPLOY, SOLVER, TRAIN_VAL
from zoo.store.apart import unpack_apart
from zoo.store.archives import report_left_out
from zoo.store.errors import MissingFileError, StoreError
from zoo.store.hub import HubSource
from zoo.store.incoming_folder import (
    ARCHIVES,
    FileKind,
    IncomingFolder,
    check_distinct,
    checked_name,
    is_archive,
    is_kept,
    kind_of,
    stored_name,
)
from zoo.store.local_store import name_from
from zoo.store.transfers import ANY_FILE, ExpectedFile
from zoo.store.web import check_address

_GIST_ID = re.compile(r"(?:[\w-]+/)?[0-9a-f]{1,64}")
_GIST_REVISION = re.compile(r"-([0-9a-f]{40})$")  # the commit in the name of the folder in a gist's archive
_FILES_OF_CARD = (DEPLOY, TRAIN_VAL, SOLVER, LABELS)  # files next to a card that are fetched if they exist
_GITHUB_PAGE = re.compile(r"https?://github\.com/(?P<repository>[^/]+/[^/]+)/blob/(?P<path>.+)")
HUB = "hf:"
_GIST = "gist:"


class ModelSource(Protocol):
    """A source from which a model can be pulled."""

    @property
    def address(self) -> str:
        """The source as it is written in commands, records and lock files."""
        ...

    @property
    def default_name(self) -> str:
        """The default name of the model in the store."""
        ...

    def at(self, revision: str) -> ModelSource:
        """Return the source at a revision, if it has revisions."""
        ...

    def fill(self, folder: IncomingFolder) -> str:
        """Collect the model's files, and return their version."""
        ...


def is_local(text: str) -> bool:
    """Return whether the text names a local file or folder."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


@dataclass(frozen=True)
class CatalogueSource:
    """A net of the catalogue, by name."""

    name: str

    @property
    def address(self) -> str:
        """The net's name."""
        return self.name

    @property
    def default_name(self) -> str:
        """The net's name."""
        return self.name

    def at(self, revision: str) -> CatalogueSource:
        """Return the source itself, since netdsl includes only one version of a net."""
        return self

    def fill(self, folder: IncomingFolder) -> str:
        """Write the files of the net."""
        for path in write_model(self.name, folder.path):
            folder.adopt(path.name)
        return ""


@dataclass(frozen=True)
class GistSource:
    """A gist by its ID, with an optional owner before it and an optional revision after it."""

    id: str
    revision: str = ""
    site: str = "https://gist.github.com/"

    def __post_init__(self) -> None:
        if _GIST_ID.fullmatch(self.id) is None:
            raise StoreError(f"gist:{self.id}: not a gist; write it as in gist:ID or gist:OWNER/ID")

    @property
    def address(self) -> str:
        """The gist as users write it."""
        return f"gist:{self.id}@{self.revision}" if self.revision else f"gist:{self.id}"

    @property
    def default_name(self) -> str:
        """The ID, which also names the folder in Caffe's scripts."""
        return name_from(self.id)

    def at(self, revision: str) -> GistSource:
        """Return the gist at a revision."""
        return replace(self, revision=revision)

    def fill(self, folder: IncomingFolder) -> str:
        """Download the gist's archive and unpack it."""
        path = f"{self.id}/archive/{self.revision}.zip" if self.revision else f"{self.id}/download"
        archive = folder.download_aside("gist.zip", [urljoin(self.site, path)], ANY_FILE)
        match = _GIST_REVISION.search(unpack_apart(archive, folder, self.address))
        return match[1] if match else self.revision


@dataclass(frozen=True)
class LocalSource:
    """A local folder or file, which is copied to the store."""

    path: Path

    @property
    def address(self) -> str:
        """The absolute path."""
        return str(self.path.resolve())

    @property
    def default_name(self) -> str:
        """The name of the folder, or of the file without its suffix."""
        name = self.path.resolve().name
        suffix = next((each for each in sorted(ARCHIVES, key=len, reverse=True) if name.lower().endswith(each)), "")
        return name_from(name.removesuffix(name[len(name) - len(suffix) :]) if suffix else Path(name).stem)

    def at(self, revision: str) -> LocalSource:
        """Return the source itself, since local files have no versions."""
        return self

    def fill(self, folder: IncomingFolder) -> str:
        """Copy the files of the model."""
        if self.path.is_dir():
            self._copy_folder(folder)
        elif is_archive(self.path.name):
            unpack_apart(self.path, folder, str(self.path))
        else:
            folder.copy(self.path, taken_name(self.path.name, str(self.path)))
        return ""

    def _copy_folder(self, folder: IncomingFolder) -> None:
        paths = sorted(path for path in self.path.iterdir() if not path.name.startswith("."))
        taken = [path for path in paths if path.is_file() and is_kept(path.name)]
        if not any(kind_of(path.name) in (FileKind.NET, FileKind.WEIGHTS) for path in taken):
            raise StoreError(
                f"{self.path}: the folder contains neither a net nor weights; name a folder with a .prototxt, a "
                ".caffemodel or other weights"
            )
        check_distinct((path.name for path in taken), str(self.path))
        for path in taken:
            folder.copy(path, stored_name(path.name))
        report_left_out(folder, [path.name for path in paths if path not in taken], str(self.path))


def taken_name(name: str, where: str) -> str:
    """Return the name of a single file in the store. Raises an error if the file isn't part of a model or isn't safe to
    load."""
    if kind_of(name) is FileKind.PICKLED:
        raise StoreError(
            f"{where}: the file is pickled, and loading it can run any code; use the model's .safetensors, "
            ".onnx or .caffemodel instead"
        )
    if kind_of(name) not in (FileKind.NET, FileKind.WEIGHTS):
        raise StoreError(
            f"{where}: not a file of a model; name a .prototxt, .caffemodel, .onnx or .safetensors file, an "
            f"archive such as {', '.join(ARCHIVES[:2])}, or a README.md with a card"
        )
    return stored_name(name)


@dataclass(frozen=True)
class WebSource:
    """The address of a file. If the file is a card, the model's files in the same folder belong to it."""

    url: str
    expected: ExpectedFile = ANY_FILE

    @property
    def address(self) -> str:
        """The address without a fragment."""
        page = _GITHUB_PAGE.match(self.url)
        url = f"https://raw.githubusercontent.com/{page['repository']}/{page['path']}" if page else self.url
        return urlunsplit(urlsplit(url)._replace(fragment=""))

    @property
    def default_name(self) -> str:
        """The name of the file without its suffix or, for a card, the name of its folder."""
        path = PurePosixPath(unquote(urlsplit(self.address).path))
        return name_from(path.parent.name) if self._is_card else LocalSource(Path(path.name)).default_name

    def at(self, revision: str) -> WebSource:
        """Return the source itself, since files on the web have no versions."""
        return self

    def fill(self, folder: IncomingFolder) -> str:
        """Download the model's files, including those in an archive or next to a card."""
        check_address(self.address)
        if self._is_card:
            self._fetch_card(folder)
        elif is_archive(self._file_name):
            unpack_apart(folder.download_aside(self._file_name, [self.address], self.expected), folder, self.address)
        else:
            folder.download(taken_name(self._file_name, self.address), [self.address], self.expected)
            if not self.expected.is_proof:
                folder.tell(
                    f"{self.address}: no hash is known, so the file can't be verified; a lock file (--lock) can pin "
                    "its current hash"
                )
        return ""

    @property
    def _file_name(self) -> str:
        return PurePosixPath(unquote(urlsplit(self.address).path)).name

    @property
    def _is_card(self) -> bool:
        return self._file_name.lower() == CARD.lower()

    def _fetch_card(self, folder: IncomingFolder) -> None:
        card = read_card(folder.download(CARD, [self.address]))
        fetched = [name for name in (*_FILES_OF_CARD, *_files_named_by(card)) if self._fetch_sibling(folder, name)]
        if not any(name in fetched for name in (DEPLOY, TRAIN_VAL)):
            raise StoreError(
                f"{self.address}: there is neither {DEPLOY} nor {TRAIN_VAL} next to it; name a README.md that "
                "is next to one of them"
            )
        if card.caffemodel and not card.caffemodel_url and not self._fetch_sibling(folder, card.caffemodel):
            folder.tell(f"{self.address}: {card.caffemodel} isn't next to it")

    def _fetch_sibling(self, folder: IncomingFolder, name: str) -> bool:
        """Download a file from the same folder. Returns False if it doesn't exist."""
        checked_name(name, self.address)
        sibling = urljoin(self.address, quote(name))
        try:
            folder.download(name, [sibling])
        except MissingFileError:
            return False
        return True


def _files_named_by(card: Card) -> list[str]:
    """Return the files that the card names as parts of the model, except the weights."""
    mean = card.input.mean if card.input is not None and isinstance(card.input.mean, str) else ""
    return [
        name
        for name in (mean, card.labels)
        if name and name not in _FILES_OF_CARD and " " not in name and is_kept(name)
    ]


def open_model_source(text: str, expected: ExpectedFile = ANY_FILE) -> ModelSource:
    """Return the source that a text names. Local files take precedence over names."""
    place, _, revision = text.partition("@")
    if text.startswith(HUB):
        return HubSource(place.removeprefix(HUB), revision)
    if text.startswith(_GIST):
        return GistSource(place.removeprefix(_GIST), revision)
    if "://" in text:
        return WebSource(text, expected)
    return LocalSource(Path(text)) if is_local(text) or not could_be_name(text) else CatalogueSource(text)

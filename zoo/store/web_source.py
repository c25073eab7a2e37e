"""Models on the web: a file, an archive, or a card with the files beside it, as in Caffe's own zoo."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from netdsl.data.sources.class_names import LABELS
from zoo.cards import CARD, Card, read_card
from zoo.model_folder import DEPLOY, SOLVER, TRAIN_VAL
from zoo.store.archives import unpack
from zoo.store.errors import MissingFileError, StoreError
from zoo.store.file_kinds import checked_name, is_archive, is_kept
from zoo.store.incoming_folder import IncomingFolder
from zoo.store.local_source import LocalSource, taken_name
from zoo.store.requests import check_address
from zoo.store.source import name_from
from zoo.store.transfers import ANY_FILE, ExpectedFile

_BESIDE = (DEPLOY, TRAIN_VAL, SOLVER, LABELS)  # of a card, where they are there
_PAGE = re.compile(r"https?://github\.com/(?P<repository>[^/]+/[^/]+)/blob/(?P<path>.+)")


@dataclass(frozen=True)
class WebSource:
    """A file's address. That of a card stands for the model's files beside it."""

    url: str
    expected: ExpectedFile = ANY_FILE

    @property
    def address(self) -> str:
        """The address, without what is behind a '#'."""
        page = _PAGE.match(self.url)
        url = f"https://raw.githubusercontent.com/{page['repository']}/{page['path']}" if page else self.url
        return urlunsplit(urlsplit(url)._replace(fragment=""))

    @property
    def default_name(self) -> str:
        """The name of the file without its suffix, or of the folder that a card is in."""
        path = PurePosixPath(unquote(urlsplit(self.address).path))
        return name_from(path.parent.name) if self._is_card else LocalSource(Path(path.name)).default_name

    def at(self, revision: str) -> WebSource:
        """The same, since files of the web have no versions."""
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
        fetched = [name for name in (*_BESIDE, *_files_named_by(card)) if self._fetch_beside(folder, name)]
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
    """The files that a card says the model needs, without its weights."""
    mean = card.input.mean if card.input is not None and isinstance(card.input.mean, str) else ""
    return [name for name in (mean, card.labels) if name and name not in _BESIDE and " " not in name and is_kept(name)]

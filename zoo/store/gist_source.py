"""Gists, in which the models of Caffe's zoo were published: a card, nets and a solver."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import urljoin

from zoo.store.archives import unpack
from zoo.store.errors import StoreError
from zoo.store.incoming_folder import IncomingFolder
from zoo.store.source import name_from
from zoo.store.transfers import ANY_FILE

_ID = re.compile(r"(?:[\w-]+/)?[0-9a-f]{1,64}")
_REVISION = re.compile(r"-([0-9a-f]{40})$")  # of the folder in a gist's archive


@dataclass(frozen=True)
class GistSource:
    """A gist by its ID, which may have its owner's name before it and a revision behind it."""

    id: str
    revision: str = ""
    site: str = "https://gist.github.com/"

    def __post_init__(self) -> None:
        if _ID.fullmatch(self.id) is None:
            raise StoreError(f"gist:{self.id}: is no gist; it looks like gist:ID or gist:OWNER/ID")

    @property
    def address(self) -> str:
        """As users write it."""
        return f"gist:{self.id}@{self.revision}" if self.revision else f"gist:{self.id}"

    @property
    def default_name(self) -> str:
        """The ID, as Caffe's scripts name the folder."""
        return name_from(self.id)

    def at(self, revision: str) -> GistSource:
        """One version of the gist."""
        return replace(self, revision=revision)

    def fill(self, folder: IncomingFolder) -> str:
        """Fetch the gist's archive and unpack it."""
        path = f"{self.id}/archive/{self.revision}.zip" if self.revision else f"{self.id}/download"
        archive = folder.download_aside("gist.zip", [urljoin(self.site, path)], ANY_FILE)
        match = _REVISION.search(unpack(archive, folder, self.address))
        return match[1] if match else self.revision

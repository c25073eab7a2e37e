"""The catalogue as a source: nets, solver and card are written, and the card says where the weights are."""

from __future__ import annotations

from dataclasses import dataclass

from zoo.catalogue.writing import write_model
from zoo.store.incoming_folder import IncomingFolder


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
        """The same, since this version of netdsl has one version of a net."""
        return self

    def fill(self, folder: IncomingFolder) -> str:
        """Write the files of the net."""
        for path in write_model(self.name, folder.path):
            folder.adopt(path.name)
        return ""

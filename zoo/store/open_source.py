"""A source of models by what a user writes."""

from __future__ import annotations

from pathlib import Path

from zoo.store.catalogue_source import CatalogueSource
from zoo.store.gist_source import GistSource
from zoo.store.hub import HubSource
from zoo.store.local_source import LocalSource
from zoo.store.source import ModelSource, is_local
from zoo.store.transfers import ANY_FILE, ExpectedFile
from zoo.store.web_source import WebSource

HUB = "hf:"
_GIST = "gist:"


def open_model_source(text: str, expected: ExpectedFile = ANY_FILE) -> ModelSource:
    """The source that a text names. What is on the disk comes before a name, as everywhere."""
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

"""Unpacks archives in a separate process with limits, `netdsl.apart`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from netdsl.apart import SeparateProcess
from netdsl.solver.events import Notice
from zoo.store.archives import unpack
from zoo.store.incoming_folder import IncomingFolder
from zoo.store.records import StoredFile
from zoo.store.transfers import TransferProgress, TransferSettings


@dataclass(frozen=True)
class UnpackedModel:
    """The name of the model's folder in an archive, and the files that are unpacked."""

    folder: str
    files: tuple[StoredFile, ...]


def unpack_into(
    archive: Path, folder: Path, shown: str, tell: Callable[[TransferProgress | str], object]
) -> UnpackedModel:
    """Unpack an archive into a folder. This function runs in the separate process."""

    def listen(event: object) -> None:
        if isinstance(event, Notice):
            tell(event.text)
        elif isinstance(event, TransferProgress):
            tell(event)

    incoming = IncomingFolder(folder, TransferSettings(listen=listen))
    name = unpack(archive, incoming, shown)
    return UnpackedModel(name, tuple(incoming.files.values()))


def unpack_apart(archive: Path, folder: IncomingFolder, shown: str) -> str:
    """Extract the files of the only model in an archive, and return the model's folder in the archive."""
    settings = folder.settings

    def listen(event: TransferProgress | str) -> None:
        settings.listen(Notice(event) if isinstance(event, str) else event)

    with SeparateProcess(__name__) as process:
        places = archive.resolve(), folder.path.resolve()
        unpacked = process.call_telling(shown, unpack_into, *places, shown, listen=listen)
    for file in unpacked.files:
        folder.note_file(file)
    return unpacked.folder

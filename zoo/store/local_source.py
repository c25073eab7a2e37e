"""Models on this machine: a folder, an archive of one, or a net's file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from zoo.store.archives import tell_left_out, unpack
from zoo.store.errors import StoreError
from zoo.store.file_kinds import ARCHIVES, FileKind, is_archive, is_kept, kind_of, stored_name
from zoo.store.incoming_folder import IncomingFolder
from zoo.store.source import name_from


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
        """The same, since files of a disk have no versions."""
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
    """The name of a single file in the store; an error if it is none of a model, or one that can't be trusted."""
    if kind_of(name) is FileKind.PICKLED:
        raise StoreError(
            f"{where}: is a pickled file, which runs what it says when it is loaded; take the model's .safetensors, "
            ".onnx or .caffemodel"
        )
    if kind_of(name) not in (FileKind.NET, FileKind.WEIGHTS):
        raise StoreError(
            f"{where}: is no file that a model is pulled by, such as .prototxt, .caffemodel, .onnx, .safetensors, "
            f"{', '.join(ARCHIVES[:2])} or a README.md with a card"
        )
    return stored_name(name)

"""The classes of a data set with marked objects, and the labels of their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from caffe_proto.errors import few
from netdsl.data.sources.class_names import class_file_in, label_map_items, read_class_names
from netdsl.errors import DataError

BACKGROUND = "background"
_BACKGROUNDS = {BACKGROUND, "_background_", "__background__", "none_of_the_above"}  # as tools call it
_IGNORED = "__ignore__"  # the first line of labelme's own files
_SHOWN = 10  # classes that a message names


@dataclass(frozen=True)
class ClassList:
    """The names of classes, of which the first is the background, and the labels by all the names that a class has."""

    names: tuple[str, ...]
    labels: Mapping[str, int]

    @classmethod
    def of(cls, names: Iterable[str], where: str) -> ClassList:
        """The list of these names, before which the background stands, whatever it is called among them."""
        without = tuple(name for name in names if name not in _BACKGROUNDS and name != _IGNORED)
        twice = next((name for place, name in enumerate(without) if name in without[:place]), None)
        if twice is not None:
            raise DataError(f"{where}: two classes have the name '{twice[:40]}'; rename one")
        return cls((BACKGROUND, *without), {name: label for label, name in enumerate(without, 1)})

    def label(self, name: str, where: str) -> int:
        """The label of a name."""
        label = self.labels.get(name, 0)
        if not label:
            raise DataError(
                f"{where}: there is no class '{name[:40]}' among {few(self.names[1:], _SHOWN)}; correct it, or name "
                "the classes by a file, ?classes=FILE"
            )
        return label


def read_class_list(path: Path) -> ClassList:
    """The classes of a text file with a name on each line, or of a label map of SSD's."""
    if path.suffix != ".prototxt":
        return ClassList.of(read_class_names(path), str(path))
    names, items = read_class_names(path), label_map_items(path)
    labels = {item.display_name: item.label for item in items} | {item.name: item.label for item in items}
    if names[:1] != (BACKGROUND,):
        raise DataError(
            f"{path}: label 0 must be the background, display_name: '{BACKGROUND}', as SSD's label maps have"
        )
    return ClassList(names, labels)


def class_list(file: str | Path | None, folder: Path) -> ClassList | None:
    """The classes of a file, or of the one that a data set's folder has; None without one."""
    path = class_file_in(folder) if file is None else Path(file)
    return None if path is None else read_class_list(path)

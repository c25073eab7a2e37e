"""Names of classes: the files that contain them, and the class numbers of marked objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import few
from caffe_proto.shown_text import shown
from caffe_proto.storage import write_pieces
from caffe_proto.text.prototxt import from_text
from netdsl.data.sources.files import numbered_lines, read_text
from netdsl.errors import DataError

LABELS = "labels.txt"  # a name on each line, beginning with class 0
LABEL_MAP = "labelmap.prototxt"  # SSD's format, which states the number of each class
_MOST_GROUPS = 256  # classes in maps, whose pixels are bytes
_MOST_CLASSES = 1 << 20  # classes in a label map
_MODEL_LABELS = "_labels.txt"  # follows the prefix of a model's snapshots
BACKGROUND = "background"
_BACKGROUNDS = {BACKGROUND, "_background_", "__background__", "none_of_the_above"}  # names that other tools use
_IGNORED = "__ignore__"  # the first line of labelme's own files
_SHOWN = 10  # classes that a message lists


@runtime_checkable
class ClassSource(Protocol):
    """A source whose labels are the numbers of named classes."""

    @property
    def classes(self) -> Sequence[str]:
        """The names of the classes, in the order of their numbers. The sequence is empty if they are unknown."""
        ...


def classes_of(source: object) -> tuple[str, ...]:
    """Return the names of a source's classes as printable text. The result is empty if they are unknown."""
    return tuple(map(shown, source.classes)) if isinstance(source, ClassSource) else ()


def read_class_names(path: str | Path) -> tuple[str, ...]:
    """Return the names in a file. A prototxt is a label map; other files have one name on each line."""
    if Path(path).suffix == ".prototxt":
        return _label_map(Path(path))
    return tuple(shown(line.strip()) for _, line in numbered_lines(path))


def class_names_in(folder: Path) -> tuple[str, ...]:
    """Return the names in a data folder's labels.txt or labelmap.prototxt. The result is empty if it has neither."""
    file = class_file_in(folder)
    return () if file is None else read_class_names(file)


def class_file_in(folder: Path) -> Path | None:
    """Return a data folder's file with the names of classes, or `None` if it has none."""
    return next((folder / name for name in (LABELS, LABEL_MAP) if (folder / name).is_file()), None)


def class_names_of_model(*files: str | Path) -> tuple[str, ...]:
    """Return the names of the classes that a model predicts, from the first of its files that has some.

    They come from the file of names that was written for the model, or else from its folder. The result is empty if
    there are none.
    """
    names = (_class_names_for(Path(file)) for file in files)
    return next(filter(None, names), ())


def _class_names_for(model: Path) -> tuple[str, ...]:
    own = model_labels(model)
    return read_class_names(own) if own.is_file() else class_names_in(model.parent)


def model_labels(model: Path) -> Path:
    """Return the file for the names of a model's classes. All snapshots of a training share it."""
    stem = model.stem.removesuffix(".caffemodel")
    return model.with_name((stem.rpartition("_iter_")[0] or stem) + _MODEL_LABELS)


def write_class_names(names: Sequence[str], path: Path) -> None:
    """Write names, one on each line, so that they can be read again."""
    write_pieces(path, ["".join(f"{name}\n" for name in names).encode()])


def label_map_items(path: Path) -> Sequence[pb.LabelMapItem]:
    """Return the classes of a label map. Annotations use an item's name, and people read its display name."""
    items = from_text(read_text(path, "surrogateescape"), pb.LabelMap, where=str(path)).item
    if not all(0 <= item.label < _MOST_CLASSES for item in items):
        raise DataError(
            f"{path}: a label isn't from 0 to {_MOST_CLASSES - 1:,}; number the items of the label map from 0 on"
        )
    return items


def _label_map(path: Path) -> tuple[str, ...]:
    """Return the names of a label map. A number that it leaves out becomes its own name."""
    names = {item.label: shown(item.display_name or item.name) for item in label_map_items(path)}
    return tuple(names.get(label, str(label)) for label in range(max(names, default=-1) + 1))


def class_groups(path: str | Path) -> list[list[int]]:
    """Return the classes that each channel of a class map represents, from MobileNet-YOLO's label map.

    Classes are given by their places. A `label_id` of 0 is background, which has no channel.
    """
    text = read_text(Path(path), "surrogateescape")
    numbers = [item.label_id for item in from_text(text, pb.YoloSegLabel, where=str(path)).item]
    if not 0 < max(numbers, default=0) < _MOST_GROUPS or len(numbers) > _MOST_GROUPS:
        raise DataError(
            f"{path}: the file has {len(numbers)} classes and a label_id up to {max(numbers, default=0)}, but "
            "both must be from 1 to 255; number the groups of classes from 1 on, with at most 255 classes"
        )
    return [[place for place, number in enumerate(numbers) if number == group] for group in range(1, max(numbers) + 1)]


@dataclass(frozen=True)
class ClassList:
    """The names of classes, beginning with the background, and the label for each name of a class."""

    names: tuple[str, ...]
    labels: Mapping[str, int]

    @classmethod
    def of(cls, names: Iterable[str], where: str) -> ClassList:
        """Return the list of these names after the background. Any of the background's usual names is dropped."""
        without = tuple(name for name in names if name not in _BACKGROUNDS and name != _IGNORED)
        twice = next((name for place, name in enumerate(without) if name in without[:place]), None)
        if twice is not None:
            raise DataError(f"{where}: two classes have the name '{twice[:40]}'; rename one of them")
        return cls((BACKGROUND, *without), {name: label for label, name in enumerate(without, 1)})

    def label(self, name: str, where: str) -> int:
        """Return the label of a name. Raises a `DataError` if the name is unknown."""
        label = self.labels.get(name, 0)
        if not label:
            raise DataError(
                f"{where}: there is no class '{name[:40]}' among {few(self.names[1:], _SHOWN)}; use one of "
                "these, or name a file of classes, as in ?classes=FILE"
            )
        return label


def read_class_list(path: Path) -> ClassList:
    """Return the classes of a text file with a name on each line, or of SSD's label map."""
    if path.suffix != ".prototxt":
        return ClassList.of(read_class_names(path), str(path))
    names, items = read_class_names(path), label_map_items(path)
    labels = {item.display_name: item.label for item in items} | {item.name: item.label for item in items}
    if names[:1] != (BACKGROUND,):
        raise DataError(
            f"{path}: label 0 isn't the background; set its display_name to '{BACKGROUND}', as in SSD's label maps"
        )
    return ClassList(names, labels)


def class_list(file: str | Path | None, folder: Path) -> ClassList | None:
    """Return the classes of a file, or else of the data folder's own file. Returns `None` if there is neither."""
    path = class_file_in(folder) if file is None else Path(file)
    return None if path is None else read_class_list(path)

"""Reads YOLO's folders: images/, and labels/ with a text file for each image."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import yaml

from caffe_proto.whole_numbers import whole_number
from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, MarkedObject, Outline
from netdsl.data.sources.annotations.set_files import bounds, checked_edges, image_size, number_in
from netdsl.data.sources.class_names import BACKGROUND, read_class_list, read_class_names
from netdsl.data.sources.files import file_errors, numbered_lines, regular_file
from netdsl.data.sources.images import is_image_file
from netdsl.errors import DataError

IMAGE_FOLDER, LABEL_FOLDER, SETTINGS = "images", "labels", "data.yaml"
NAMES = ("classes.txt", "obj.names")  # files with a name on each line
_LARGEST_YAML = 1 << 20  # bytes
_BOX, _POLYGON = 5, 7  # words in a line with a box, and in a line with a triangle
_MOST_CLASSES = 1 << 16


class YoloSettings(msgspec.Struct, frozen=True):
    """The part of data.yaml that is read: the names of the classes, numbered from 0."""

    names: list[str] | dict[int, str]


class YoloFolder:
    """The images in folders named `images`. Each can have a text file at the same place in a folder named `labels`.

    An image without a text file has no objects. With `image_set`, such as `train`, only images below a folder of that
    name count. The classes come from a given file, or from data.yaml, classes.txt or obj.names.
    """

    first_pixel = 0

    def __init__(self, path: str | Path, *, image_set: str | None = None, classes: str | Path | None = None) -> None:
        self._path = Path(path)
        self._files = [file for file in _image_files(self._path) if image_set is None or image_set in file.parts[:-1]]
        if not self._files:
            below = "" if image_set is None else f" below a folder {image_set}"
            raise DataError(
                f"{path}: there are no images in a folder {IMAGE_FOLDER}{below}; name the folder that contains "
                f"{IMAGE_FOLDER} and labels"
            )
        self.classes = _classes(self._path, classes)

    def __len__(self) -> int:
        return len(self._files)

    def image(self, index: int) -> AnnotatedImage:
        """Return one image with its objects."""
        file = self._files[index]
        height, width = image_size(self._path / file)
        labels = self._path / _label_file(file)
        lines = numbered_lines(labels) if labels.is_file() else ()
        objects = tuple(self._object(line, f"{labels}:{number}", height, width) for number, line in lines)
        name = Path(*(part for part in file.parts if part != IMAGE_FOLDER)).with_suffix("").as_posix()
        return AnnotatedImage(name, self._path / file, height, width, objects)

    def _object(self, line: str, where: str, height: int, width: int) -> MarkedObject:
        """Return the object in a line, from its class and its box or polygon as shares of the image's size."""
        word, *words = line.split()
        number = whole_number(word, 0, len(self.classes) - 2)
        if number is None:
            raise DataError(f"{where}: '{word[:40]}' isn't a class; use a number from 0 to {len(self.classes) - 2}")
        values = [number_in(word, where) for word in words]
        outlines: tuple[Outline, ...] = ()
        if len(words) + 1 == _BOX:
            x, y, across, down = values
            edges = Edges(
                (x - across / 2) * width, (y - down / 2) * height, (x + across / 2) * width, (y + down / 2) * height
            )
        elif len(words) + 1 >= _POLYGON and len(words) % 2 == 0:
            outline = tuple((x * width, y * height) for x, y in zip(values[::2], values[1::2], strict=True))
            outlines, edges = (outline,), bounds(outline)
        else:
            raise DataError(
                f"{where}: the line must be 'class x y width height', or a class and the x and y of 3 corners "
                "or more; write its numbers as shares of the image's size"
            )
        return MarkedObject(number + 1, checked_edges(edges, where), outlines=outlines)


def _image_files(path: Path) -> list[Path]:
    """Return the images in folders named `images`, relative to the path."""
    files = (file.relative_to(path) for folder in path.glob(f"**/{IMAGE_FOLDER}") for file in folder.rglob("*"))
    return sorted({file for file in files if is_image_file(file)})


def _label_file(image: Path) -> Path:
    """Return the text file of an image. In its path, `labels` replaces the last folder `images`."""
    place = max(index for index, part in enumerate(image.parts) if part == IMAGE_FOLDER)
    return Path(*image.parts[:place], LABEL_FOLDER, *image.parts[place + 1 :]).with_suffix(".txt")


def _classes(path: Path, given: str | Path | None) -> tuple[str, ...]:
    """Return the classes, with the background first. YOLO's files don't number the background."""
    files = [path / name for name in (SETTINGS, *NAMES)] if given is None else [Path(given)]
    file = next((file for file in files if file.is_file() or given is not None), None)
    if file is None:
        raise DataError(
            f"{path}: no file names its classes; name a file with a class on each line, as in ?classes=FILE"
        )
    if file.suffix == ".prototxt":
        return read_class_list(file).names
    return BACKGROUND, *(_names(file) if file.suffix in (".yaml", ".yml") else read_class_names(file))


def _names(path: Path) -> list[str]:
    """Return the classes of data.yaml, where they are a list or a mapping by number."""
    with file_errors(path):
        if regular_file(path).stat().st_size > _LARGEST_YAML:
            raise DataError(
                f"{path}: the file has more than 1 MB, too much for settings; name the data.yaml of the data set"
            )
        text = path.read_bytes()
    try:
        values = yaml.load(text, yaml.BaseLoader)  # reads all values as text
        names = msgspec.convert(values, YoloSettings, strict=False).names
    except (yaml.YAMLError, ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise DataError(
            f"{path}: the settings can't be read: {' '.join(str(problem).split())}; correct the YAML there, or name "
            "the classes in a text file, as in ?classes=FILE"
        ) from None
    if not isinstance(names, Mapping):
        return names
    if not names or min(names) < 0 or max(names) >= _MOST_CLASSES:
        raise DataError(
            f"{path}: classes must have numbers from 0 to {_MOST_CLASSES - 1:,}; number the entries of `names` from "
            "0 on"
        )
    return [names.get(number, str(number)) for number in range(max(names) + 1)]

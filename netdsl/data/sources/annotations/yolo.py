"""YOLO's folders: images/, and labels/ with a text file for each image."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import yaml

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, MarkedObject, Outline
from netdsl.data.sources.annotations.set_files import bounds, checked_edges, image_size, number_in
from netdsl.data.sources.class_names import BACKGROUND, read_class_list, read_class_names
from netdsl.data.sources.files import file_errors, numbered_lines, regular_file
from netdsl.data.sources.images import is_image_file
from netdsl.errors import DataError

IMAGE_FOLDER, LABEL_FOLDER, SETTINGS = "images", "labels", "data.yaml"
NAMES = ("classes.txt", "obj.names")  # files with a name on each line
_LARGEST_YAML = 1 << 20  # bytes
_BOX, _POLYGON = 5, 7  # words of a line with a box, and of one with a triangle
_MOST_CLASSES = 1 << 16


class YoloSettings(msgspec.Struct, frozen=True):
    """What is read of data.yaml: the names of the classes, from number 0 on."""

    names: list[str] | dict[int, str]


class YoloFolder:
    """The images below the folder that lie in a folder `images`, each with a file at the same place below `labels`.

    An image without such a file has no objects. With `image_set`, only images below a folder of that name count, such
    as `train`. The classes are those of data.yaml, classes.txt, obj.names or a given file.
    """

    first_pixel = 0

    def __init__(self, path: str | Path, *, image_set: str | None = None, classes: str | Path | None = None) -> None:
        self._path = Path(path)
        self._files = [file for file in _image_files(self._path) if image_set is None or image_set in file.parts[:-1]]
        if not self._files:
            below = "" if image_set is None else f" below a folder {image_set}"
            raise DataError(f"{path}: has no images in a folder {IMAGE_FOLDER}{below}")
        self.classes = _classes(self._path, classes)

    def __len__(self) -> int:
        return len(self._files)

    def image(self, index: int) -> AnnotatedImage:
        """Return one image, with what its text file says."""
        file = self._files[index]
        height, width = image_size(self._path / file)
        labels = self._path / _label_file(file)
        lines = numbered_lines(labels) if labels.is_file() else ()
        objects = tuple(self._object(line, f"{labels}:{number}", height, width) for number, line in lines)
        name = Path(*(part for part in file.parts if part != IMAGE_FOLDER)).with_suffix("").as_posix()
        return AnnotatedImage(name, self._path / file, height, width, objects)

    def _object(self, line: str, where: str, height: int, width: int) -> MarkedObject:
        """Return the object of a line: its class, and its box or its polygon in parts of the image."""
        number, *words = line.split()
        if not number.isdecimal() or len(number) > 9 or int(number) + 1 >= len(self.classes):
            raise DataError(f"{where}: '{number[:40]}' isn't a class; there are 0 to {len(self.classes) - 2}")
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
                f"{where}: isn't 'class x y width height', nor a class and the x and y of 3 corners or more"
            )
        return MarkedObject(int(number) + 1, checked_edges(edges, where), outlines=outlines)


def _image_files(path: Path) -> list[Path]:
    """Return the images in folders `images`, relative to the path."""
    files = (file.relative_to(path) for folder in path.glob(f"**/{IMAGE_FOLDER}") for file in folder.rglob("*"))
    return sorted({file for file in files if is_image_file(file)})


def _label_file(image: Path) -> Path:
    """Return the text file of an image: the last folder `images` of its path is `labels` there."""
    place = max(index for index, part in enumerate(image.parts) if part == IMAGE_FOLDER)
    return Path(*image.parts[:place], LABEL_FOLDER, *image.parts[place + 1 :]).with_suffix(".txt")


def _classes(path: Path, given: str | Path | None) -> tuple[str, ...]:
    """Return the classes with the background, which has no number in such files."""
    files = [path / name for name in (SETTINGS, *NAMES)] if given is None else [Path(given)]
    file = next((file for file in files if file.is_file() or given is not None), None)
    if file is None:
        raise DataError(f"{path}: nothing names its classes; name a file with a class on each line, ?classes=FILE")
    if file.suffix == ".prototxt":
        return read_class_list(file).names
    return BACKGROUND, *(_names(file) if file.suffix in (".yaml", ".yml") else read_class_names(file))


def _names(path: Path) -> list[str]:
    """Return the classes of data.yaml, which has them as a list or with their numbers."""
    with file_errors(path):
        if regular_file(path).stat().st_size > _LARGEST_YAML:
            raise DataError(f"{path}: is longer than 1 MB, which no file of settings is")
        text = path.read_bytes()
    try:
        values = yaml.load(text, yaml.BaseLoader)  # which makes text of everything
        names = msgspec.convert(values, YoloSettings, strict=False).names
    except (yaml.YAMLError, ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise DataError(f"{path}: can't be read: {' '.join(str(problem).split())}") from None
    if not isinstance(names, Mapping):
        return names
    if not names or min(names) < 0 or max(names) >= _MOST_CLASSES:
        raise DataError(f"{path}: the classes must have numbers from 0 to {_MOST_CLASSES - 1:,}")
    return [names.get(number, str(number)) for number in range(max(names) + 1)]

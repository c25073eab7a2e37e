"""Reads folders of images with a class map for each, by the list that ImageSegData and DenseImageData read."""

from __future__ import annotations

from pathlib import Path

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage
from netdsl.data.sources.annotations.set_files import image_size, path_inside
from netdsl.data.sources.class_names import class_list
from netdsl.data.sources.files import listed_lines
from netdsl.errors import DataError

LIST, MAPS = "list.txt", "labels"


class MapFolder:
    """The images in a list. Each line contains the paths of an image and its map. No objects are marked.

    The classes come from a given file, or from a file in the folder.
    """

    first_pixel = 0

    def __init__(self, path: str | Path, *, classes: str | Path | None = None) -> None:
        self._path, self._list = Path(path), Path(path, LIST)
        self._lines = list(listed_lines(self._list))
        names = class_list(classes, self._path)
        if names is None:
            raise DataError(
                f"{path}: the folder has no labels.txt with the names of classes; name a file, as in ?classes=FILE"
            )
        self.classes = names.names

    def __len__(self) -> int:
        return len(self._lines)

    def image(self, index: int) -> AnnotatedImage:
        """Return one image with its map."""
        number, line = self._lines[index]
        where, words = f"{self._list}:{number}", line.split()
        if len(words) != 2:
            raise DataError(
                f"{where}: the line must contain the path of an image and the path of its map; write both with a "
                "space between them"
            )
        image, labels = (path_inside(self._path, word, where) for word in words)
        return AnnotatedImage(image.stem, image, *image_size(image), (), class_map=labels)

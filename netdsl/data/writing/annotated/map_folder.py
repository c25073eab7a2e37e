"""Images with a map of classes for each, and the list that ImageSegData and DenseImageData read them by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netdsl.data.sources.annotations.map_folder import LIST, MAPS
from netdsl.data.sources.class_names import LABELS, write_class_names
from netdsl.data.writing.annotated.annotated_example import AnnotatedExample, Classes, PutAnnotated
from netdsl.data.writing.encode import ImageFormat, encode
from netdsl.data.writing.target import new_path
from netdsl.errors import DataError

_IMAGES = "images"


@contextmanager
def map_folder(path: Path, classes: Classes) -> Iterator[PutAnnotated]:
    """A function that adds images to a new folder, which is the layer's root_folder for the paths in its list.

    The pixels of a map are gray, and their values are classes, or 255 where the class isn't known.
    """
    lines: list[str] = []
    with new_path(path) as folder:
        for part in (_IMAGES, MAPS):
            (folder / part).mkdir(parents=True)
        write_class_names(classes, folder / LABELS)

        def put(example: AnnotatedExample) -> None:
            pixels = example.class_map()
            if pixels is None:
                raise DataError(
                    f"{example.image.path}: nothing says which pixels belong to its objects; write voc: or coco:"
                )
            image, labels = (
                f"{_IMAGES}/{'_'.join(example.file_name.split())}",
                f"{MAPS}/{'_'.join(example.stem.split())}.png",
            )
            (folder / image).write_bytes(example.data)
            (folder / labels).write_bytes(encode(pixels[None], ImageFormat.PNG, str(example.image.path)))
            lines.append(f"{image} {labels}\n")

        yield put
        (folder / LIST).write_text("".join(lines), encoding="utf-8", errors="surrogateescape")

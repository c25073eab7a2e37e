"""A folder with a folder of images for each class written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from netdsl.data.sources.class_names import LABELS, write_class_names
from netdsl.data.writing.encode import ImageFormat, encode
from netdsl.data.writing.example import Example, Put, label_of
from netdsl.errors import DataError


@contextmanager
def folder_writer(path: Path, classes: Sequence[str] = ()) -> Iterator[Put]:
    """A function that adds images to a new folder, which has the names of the classes in their order, too."""
    path.mkdir()
    if classes:
        write_class_names(classes, path / LABELS)

    def put(example: Example) -> None:
        where = example.key.decode("utf-8", "replace")
        if len(example.item) != 2:
            raise DataError(
                f"{where}: a folder has images and their classes, and an item has {len(example.item)} arrays"
            )
        image, values = example.item
        label = label_of(values, where)
        folder = path / _folder_name(classes[label] if 0 <= label < len(classes) else str(label))
        folder.mkdir(exist_ok=True)
        kinds = [kind for kind in ImageFormat if example.encoded is not None and kind.matches(example.encoded)]
        kind = kinds[0] if kinds else ImageFormat.PNG
        data = example.encoded if kinds and example.encoded is not None else encode(image, kind, where)
        (folder / f"{example.position:06}.{kind.value}").write_bytes(data)

    yield put


def _folder_name(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise DataError(f"the class '{name}' can't be the name of a folder; write a database instead")
    return name

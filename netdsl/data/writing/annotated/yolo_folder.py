"""Folders as YOLO's: images, labels with a line for each box, and data.yaml with the names of the classes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netdsl.data.sources.annotations.yolo import IMAGES, LABELS, SETTINGS
from netdsl.data.writing.annotated.annotated_example import AnnotatedExample, Classes, PutAnnotated
from netdsl.data.writing.target import new_path


@contextmanager
def yolo_folder(path: Path, classes: Classes) -> Iterator[PutAnnotated]:
    """A function that adds images to a new folder. Classes are counted without the background there."""
    import yaml

    with new_path(path) as folder:
        for part in (IMAGES, LABELS):
            (folder / part).mkdir(parents=True)
        settings = {"path": ".", "train": IMAGES, "val": IMAGES, "names": dict(enumerate(classes[1:]))}
        (folder / SETTINGS).write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), encoding="utf-8")

        def put(example: AnnotatedExample) -> None:
            (folder / IMAGES / example.file_name).write_bytes(example.data)
            (folder / LABELS / f"{example.stem}.txt").write_text("".join(_lines(example)))

        yield put


def _lines(example: AnnotatedExample) -> Iterator[str]:
    height, width = example.image.height, example.image.width
    for marked in example.image.objects:
        left, top, right, bottom = marked.edges
        parts = (left + right) / 2 / width, (top + bottom) / 2 / height, (right - left) / width, (bottom - top) / height
        yield f"{marked.label - 1} {' '.join(f'{part:.9g}' for part in parts)}\n"

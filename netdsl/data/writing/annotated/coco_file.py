"""COCO's instances as a JSON file, beside which a folder of the same name has the images."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from netdsl.data.sources.annotations.annotated_image import MarkedObject, Outline, RunLengths
from netdsl.data.sources.annotations.coco import MARKS
from netdsl.data.writing.annotated.annotated_example import AnnotatedExample, Classes, PutAnnotated
from netdsl.data.writing.target import new_path

_NUMBERS = {visibility: mark for mark, visibility in MARKS.items()}  # of joints


@contextmanager
def coco_file(path: Path, classes: Classes) -> Iterator[PutAnnotated]:
    """A function that adds images to a new file and the new folder beside it."""
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    with new_path(path.with_suffix("")) as folder, new_path(path) as file:
        folder.mkdir()

        def put(example: AnnotatedExample) -> None:
            number, objects = len(images) + 1, example.objects()
            needs_runs = any(marked.crowd or not marked.outlines for marked in objects)
            runs = example.runs() if needs_runs else [None] * len(objects)
            (folder / example.file_name).write_bytes(example.data)
            images.append(
                {"id": number, "file_name": example.file_name, "height": example.height, "width": example.width}
            )
            for marked, its_runs in zip(objects, runs, strict=True):
                annotations.append({"id": len(annotations) + 1, "image_id": number, **_annotation(marked, its_runs)})

        yield put
        categories = [{"id": label, "name": name} for label, name in enumerate(classes) if label]
        contents = {"images": images, "annotations": annotations, "categories": categories}
        file.write_bytes(msgspec.json.encode(contents))


def _annotation(marked: MarkedObject, runs: RunLengths | None) -> dict[str, Any]:
    """An object. Its mask is polygons if it has some, and runs of pixels otherwise, or for a crowd."""
    left, top, right, bottom = marked.edges
    width, height = right - left, bottom - top
    segmentation: object = []
    if marked.outlines and not marked.crowd:
        segmentation = [[number for point in outline for number in point] for outline in marked.outlines]
    elif runs is not None:
        segmentation = {"size": [runs.height, runs.width], "counts": runs.counts}
    annotation = {
        "category_id": marked.label,
        "bbox": [left, top, width, height],
        "area": _area(marked, runs) if marked.area is None else marked.area,
        "segmentation": segmentation,
        "iscrowd": int(marked.crowd),
    }
    return annotation | _keypoints(marked) | ({"ignore": 1} if marked.difficult and not marked.crowd else {})


def _keypoints(marked: MarkedObject) -> dict[str, Any]:
    """The joints of a person, of which COCO also has the number of those that are marked; nothing without joints."""
    if not marked.joints:
        return {}
    numbers = [number for joint in marked.joints for number in (joint.x, joint.y, _NUMBERS.get(joint.visibility, 0))]
    return {"keypoints": numbers, "num_keypoints": sum(joint.marked for joint in marked.joints)}


def _area(marked: MarkedObject, runs: RunLengths | None) -> float:
    """The area of an object's mask or, without one, of its box."""
    if runs is not None:
        return runs.area
    left, top, right, bottom = marked.edges
    return sum(map(_polygon_area, marked.outlines)) if marked.outlines else (right - left) * (bottom - top)


def _polygon_area(outline: Outline) -> float:
    following = (*outline[1:], outline[0])
    return abs(sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in zip(outline, following, strict=True))) / 2

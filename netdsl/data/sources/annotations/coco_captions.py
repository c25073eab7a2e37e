"""COCO's captions: one JSON file with the sentences that people wrote about images, which lie in a folder."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import msgspec

from netdsl.data.sources.annotations.coco import LARGEST_FILE, image_folder
from netdsl.data.sources.annotations.json_file import read_json
from netdsl.data.sources.annotations.set_files import path_inside
from netdsl.errors import DataError


class CaptionedFileImage(msgspec.Struct, frozen=True, gc=False):
    """An image of the file."""

    id: int
    file_name: str


class CaptionAnnotation(msgspec.Struct, frozen=True, gc=False):
    """A caption of the file."""

    image_id: int
    caption: str


class CaptionsFile(msgspec.Struct, frozen=True, gc=False):
    """The parts of the file that say what is in images."""

    images: list[CaptionedFileImage]
    annotations: list[CaptionAnnotation]


@dataclass(frozen=True)
class CaptionedImage:
    """The path of an image, and the sentences about it."""

    path: Path
    captions: tuple[str, ...]


def read_captions(path: Path, images: Path | None = None) -> list[CaptionedImage]:
    """The images of a file such as captions_val2017.json, in a folder that it is beside or that is given."""
    file = read_json(path, CaptionsFile, LARGEST_FILE)
    if not file.images:
        raise DataError(f"{path}: has no images")
    folder = image_folder(path, file.images[0].file_name) if images is None else images
    captions, known = defaultdict[int, list[str]](list), {image.id for image in file.images}
    for place, annotation in enumerate(file.annotations):
        if annotation.image_id not in known:
            raise DataError(f"{path}: annotations[{place}]: has image_id {annotation.image_id}, which no image has")
        captions[annotation.image_id].append(annotation.caption)
    return [
        CaptionedImage(path_inside(folder, image.file_name, f"{path}: images[{index}]"), tuple(captions[image.id]))
        for index, image in enumerate(file.images)
    ]

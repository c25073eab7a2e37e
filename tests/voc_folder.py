"""A small Pascal VOC folder with images of noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class VocObject:
    """An object, whose box counts pixels from 1 and includes the last: left, top, right, bottom."""

    name: str
    box: tuple[float, float, float, float]
    difficult: bool = False


@dataclass(frozen=True)
class VocImage:
    """An image, its height and width, and its objects."""

    name: str
    height: int
    width: int
    objects: Sequence[VocObject] = ()


def write_voc(folder: Path, images: Sequence[VocImage], image_set: str = "trainval") -> None:
    """Write images, their annotations, and a list of them."""
    import cv2

    random = np.random.default_rng(5)
    for name in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (folder / name).mkdir(parents=True)
    for image in images:
        pixels = random.integers(0, 256, (image.height, image.width, 3), np.uint8)
        for number, each in enumerate(image.objects, 1):
            left, top, right, bottom = (int(side) for side in each.box)
            pixels[top - 1 : bottom, left - 1 : right] = np.array([40, 90, 200]) + 15 * number
        cv2.imwrite(str(folder / "JPEGImages" / f"{image.name}.jpg"), pixels)
        (folder / "Annotations" / f"{image.name}.xml").write_text(_xml(image))
    (folder / "ImageSets" / "Main" / f"{image_set}.txt").write_text("".join(f"{image.name}\n" for image in images))


def _xml(image: VocImage) -> str:
    size = f"<size><width>{image.width}</width><height>{image.height}</height><depth>3</depth></size>"
    return f"<annotation><filename>{image.name}.jpg</filename>{size}{''.join(map(_object, image.objects))}</annotation>"


def _object(each: VocObject) -> str:
    sides = zip(("xmin", "ymin", "xmax", "ymax"), each.box, strict=True)
    box = "".join(f"<{side}>{value:g}</{side}>" for side, value in sides)
    return f"<object><name>{each.name}</name><difficult>{each.difficult:d}</difficult><bndbox>{box}</bndbox></object>"

"""The images of data sets with marked objects, with the regions that files propose for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode

import torch

from netdsl.data.sources.annotations.annotated_image import AnnotatedSet
from netdsl.data.sources.annotations.open_annotated import open_annotated_set
from netdsl.data.sources.annotations.proposals import read_proposals
from netdsl.errors import DataError
from netdsl.layers._roi_images import RoIImage, RoISettings

_PROPOSALS = "proposals"  # the option of a set's name, for a file with regions of its images
_NEXT = re.compile(r"\+(?=[a-z]+:)")  # between the names of two sets


def open_images(settings: RoISettings) -> tuple[tuple[str, ...], list[RoIImage]]:
    """The names of classes, and the images that a net can learn from, of one set or of several with '+' between."""
    classes: tuple[str, ...] = ()
    images = list[RoIImage]()
    for name in _NEXT.split(settings.source):
        plain, file = _without_proposals(name)
        marked = open_annotated_set(plain)
        if classes and tuple(marked.classes) != classes:
            raise DataError(f"{plain}: has other classes than the set before it; give both the same, ?classes=FILE")
        classes = tuple(marked.classes)
        images += _images(marked, file, settings)
    usable = [image for image in images if image.usable(settings)]
    if not usable:
        raise DataError(f"{settings.source}: none of its {len(images)} images has an object or a region to learn from")
    return classes, usable


def _images(marked: AnnotatedSet, file: str | None, settings: RoISettings) -> Sequence[RoIImage]:
    found = [marked.image(index) for index in range(len(marked))]
    proposed = read_proposals(file, [image.name for image in found]) if file else []
    boxes = [torch.from_numpy(each) for each in proposed] or [torch.zeros(0, 4)] * len(found)
    return [RoIImage.of(*pair, difficult=settings.use_diff) for pair in zip(found, boxes, strict=True)]


def _without_proposals(name: str) -> tuple[str, str | None]:
    """The name of a set, and the file with its regions if the name has one."""
    path, mark, query = name.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    others = [pair for pair in pairs if pair[0] != _PROPOSALS]
    rest = f"{path}?{urlencode(others, safe='/,:')}" if others else path
    return (rest if mark else name), dict(pairs).get(_PROPOSALS)

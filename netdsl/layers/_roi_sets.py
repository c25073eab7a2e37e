"""The images of data sets with marked objects, with the regions that files propose for them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch

from netdsl.data.sources.annotations.annotated_image import AnnotatedSet
from netdsl.data.sources.annotations.proposals import read_proposals
from netdsl.data.sources.open_source import parse_source
from netdsl.data.sources.source_name import Content
from netdsl.errors import DataError
from netdsl.layers._roi_images import RoIImage, RoISettings

_PROPOSALS = "proposals"  # the option of a set's name, for a file with regions of its images
_NEXT = re.compile(r"\+(?=[a-z]+:)")  # between the names of two sets


def open_images(settings: RoISettings) -> tuple[tuple[str, ...], list[RoIImage]]:
    """The names of classes, and the images that a net can learn from, of one set or of several with '+' between."""
    classes: tuple[str, ...] = ()
    images = list[RoIImage]()
    for name in _NEXT.split(settings.source):
        source = parse_source(name, Content.MARKED_IMAGES, extra_options=[_PROPOSALS])
        marked, file = source.open_marked(), source.options.get(_PROPOSALS)
        if classes and tuple(marked.classes) != classes:
            raise DataError(f"{source}: has other classes than the set before it; give both the same, ?classes=FILE")
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

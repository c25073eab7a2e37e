"""Batches of images with regions for Fast R-CNN and Faster R-CNN, drawn as py-faster-rcnn draws them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netdsl.data.sources.order import Order
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.transforms.resizing import ShortSide
from netdsl.data.types import Array, Random
from netdsl.errors import DataError
from netdsl.layer.target_units import TargetUnits
from netdsl.layers._region_targets import box_classes, chosen, class_targets, in_units
from netdsl.layers._roi_images import RoIImage, RoISettings
from netdsl.layers._rpn import pixel_targets

Places = NDArray[np.int64]


class EncodedBatch(NamedTuple):
    """The number of a batch, its images, and their files' bytes."""

    number: int
    images: list[RoIImage]
    encoded: list[bytes]


@dataclass(frozen=True)
class RoITops:
    """What batches have beside images: `boxes` is how many classes boxes are learned for.

    With `proposes` these are the image's size and its objects, otherwise the chosen regions and what is learned of
    them.
    """

    proposes: bool
    boxes: int
    units: TargetUnits | None = None


class RoIBatches:
    """An endless sequence of batches, each of which is an item; batch n follows from (seed, n) alone.

    An epoch has all images once and, in training, all of them mirrored too. Images of a batch are alike, both wide or
    both high, except where an odd number of them is left.
    """

    def __init__(
        self,
        images: Sequence[RoIImage],
        classes: Sequence[str],
        settings: RoISettings,
        tops: RoITops,
        *,
        seed: int = 0,
        train: bool = True,
    ) -> None:
        self.classes = classes
        self._images, self._settings, self._tops, self._seed, self._train = images, settings, tops, seed, train
        self._count = len(images) * (2 if train and settings.use_flipped else 1)
        self._epoch, self._rows = 0, self._batches_of(0)

    def __len__(self) -> int:
        return sys.maxsize

    @property
    def image_count(self) -> int:
        """How many images there are."""
        return len(self._images)

    def fetch(self, index: int) -> EncodedBatch:
        """The images of a batch, read from their files."""
        epoch, row = divmod(index, len(self._rows))
        if epoch != self._epoch:
            self._epoch, self._rows = epoch, self._batches_of(epoch)
        images = [self._image(place) for place in self._rows[row].tolist()]
        return EncodedBatch(index, images, [each.image.read() for each in images])

    def _image(self, place: int) -> RoIImage:
        image = self._images[place % len(self._images)]
        return image if place < len(self._images) else image.mirrored()

    def _batches_of(self, epoch: int) -> Places:
        """The places of the images of each batch of an epoch; the last one is filled up with the first images."""
        size, places = self._settings.ims_per_batch, np.arange(self._count)
        rows = -(-self._count // size)
        if not self._train:
            return np.resize(places, (rows, size))
        random = np.random.default_rng([self._seed, epoch])
        if self._settings.aspect_grouping:
            wide = np.resize([image.wide for image in self._images], self._count)
            places = np.concatenate([random.permutation(places[wide]), random.permutation(places[~wide])])
        else:
            places = random.permutation(places)
        return random.permutation(np.resize(places, (rows, size)))

    def item(self, fetched: EncodedBatch) -> Item:
        """The tops of a batch."""
        random = Order((1,), seed=self._seed).random(fetched.number)
        sides = random.choice(np.ravel(self._settings.scales), len(fetched.images)).tolist()
        pairs = [self._pixels(*each) for each in zip(fetched.images, fetched.encoded, sides, strict=True)]
        scales = [scale for _, scale in pairs]
        data = _padded([pixels for pixels, _ in pairs])
        if self._tops.proposes:
            return data, np.array([[*data.shape[2:], scales[0]]], np.float32), _objects(fetched.images[0], scales[0])
        parts = [
            self._learned(place, image, scale, random)
            for place, (image, scale) in enumerate(zip(fetched.images, scales, strict=True))
        ]
        return data, *(torch.cat(each).numpy() for each in zip(*parts, strict=True))

    def _pixels(self, image: RoIImage, encoded: bytes, side: float) -> tuple[Array, float]:
        """An image less the means of its colours, in the size that the net takes, and how much larger that is."""
        s, marked = self._settings, image.image
        pixels = decode(encoded, Color.COLOR, str(marked.path))
        if pixels.shape[1:] != (marked.height, marked.width):
            raise DataError(
                f"{marked.path}: is {pixels.shape[1]} x {pixels.shape[2]} pixels high and wide, and its annotation is "
                f"for {marked.height} x {marked.width}; boxes would be elsewhere"
            )
        return ShortSide(side, s.max_size, s.pixel_means)(pixels[:, :, ::-1] if image.flipped else pixels)

    def _learned(self, place: int, image: RoIImage, scale: float, random: Random) -> tuple[Tensor, ...]:
        """The chosen regions of one of a batch's images, their labels and box targets with both weights."""
        s, tops, regions = self._settings, self._tops, image.regions()

        def pick(mask: Tensor, count: int) -> Tensor:
            places = mask.nonzero()[:, 0]
            chance = random.choice(len(places), min(count, len(places)), replace=False)
            return places[torch.from_numpy(chance)]

        at, positives = chosen(regions.overlap, s, s.ims_per_batch, pick)
        if not len(at):
            raise DataError(f"{image.image.path}: no region of it can be learned from with a batch_size this small")
        boxes = regions.boxes[at]
        labels = regions.labels[at]
        moved = labels * (regions.overlap[at] >= s.bbox_thresh)
        targets = in_units(pixel_targets(boxes, regions.targets[at]), tops.units, box_classes(moved, tops.boxes))
        spread, inside = class_targets(moved, targets, tops.boxes, s.bbox_inside_weights)
        labels[positives:] = 0
        rows = torch.cat((boxes.new_full((len(boxes), 1), place), boxes * scale), 1)
        return rows, labels.to(rows), spread, inside, (inside > 0).to(inside)

    def close(self) -> None:
        """Do nothing, since no file stays open."""


def _objects(image: RoIImage, scale: float) -> Array:
    """The objects of an image, in pixels of the net's input, each with its class."""
    return torch.cat((image.objects * scale, image.labels[:, None].to(image.objects)), 1).numpy()


def _padded(images: Sequence[Array]) -> Array:
    """Images in one array, with zeros to the right of and below those that are smaller than others."""
    height, width = (max(image.shape[axis] for image in images) for axis in (1, 2))
    data = np.zeros((len(images), 3, height, width), np.float32)
    for target, image in zip(data, images, strict=True):
        target[:, : image.shape[1], : image.shape[2]] = image
    return data

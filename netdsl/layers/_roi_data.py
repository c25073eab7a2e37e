"""The data that RoIData reads: annotated images with regions, in batches that are drawn as in py-faster-rcnn."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet, Edges
from netdsl.data.sources.annotations.proposals import read_proposals, write_proposals
from netdsl.data.sources.open_source import parse_joined
from netdsl.data.sources.order import Order
from netdsl.data.sources.source import Item
from netdsl.data.sources.source_name import Content
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.transforms.resizing import COLOR_MEANS, LONGEST, ShortSide
from netdsl.data.types import Array, Random
from netdsl.data.writing.sample_files import as_pixels, write_images
from netdsl.errors import DataError
from netdsl.layer.tops import TargetUnits
from netdsl.layers._boxes import areas, overlaps
from netdsl.layers._rpn import Numbers, RegionSettings, box_classes, chosen, class_targets, in_units, pixel_targets

_MIRRORED = (-1.0, 1.0, 1.0, 1.0)  # factors of box targets when left and right are swapped
_CROWDED = 0.7  # a region isn't learned from if a larger share of it is in a crowd
Places = NDArray[np.int64]
_SAMPLE_SIDE = 320  # pixels; anchors of the usual sizes fit into it
_SAMPLE_OBJECT = (64, 32, 160, 200)  # left, top, width, height
_SAMPLE_REGIONS = 200
_SMALLEST_SAMPLE_REGION = 16  # pixels of a region's side


@dataclass(frozen=True)
class RoISettings(RegionSettings):
    """Further settings of py-faster-rcnn, and the source of the data, which its command line sets.

    `scales` are sizes of an image's shorter side. One of them is drawn at random, and the longer side is limited to
    `max_size`. `agnostic` is R-FCN's setting: objects of all classes share one box regression.
    """

    source: str = ""
    scales: Numbers = (600,)
    max_size: float = LONGEST
    ims_per_batch: int = 2
    use_flipped: bool = True
    use_diff: bool = False
    aspect_grouping: bool = True
    bbox_thresh: float = 0.5
    agnostic: bool = False
    pixel_means: Numbers = COLOR_MEANS


@dataclass(frozen=True)
class Regions:
    """The regions of an image. Its objects come first.

    `overlap` is the largest overlap with an object, and `label` and `target` are that object's class and box. Regions
    in crowds have an overlap of -1, so that they count neither as objects nor as background.
    """

    boxes: Tensor
    overlap: Tensor
    labels: Tensor
    targets: Tensor


@dataclass(frozen=True)
class RoIImage:
    """An image with the boxes and classes of its objects, the boxes of crowds, and proposed regions."""

    image: AnnotatedImage = field(repr=False)
    objects: Tensor
    labels: Tensor
    crowds: Tensor
    proposals: Tensor
    flipped: bool = False

    @classmethod
    def of(cls, image: AnnotatedImage, proposals: Tensor, *, difficult: bool) -> RoIImage:
        """Return the image with its objects. Difficult objects are included only if `difficult` is set."""
        boxes, labels, crowds = list[list[float]](), list[int](), list[list[float]]()
        for each in image.objects:
            box = _whole_pixels(each.edges, image)
            if box[2] < box[0] or box[3] < box[1] or each.area == 0:
                continue
            if each.crowd:
                crowds.append(box)
            elif difficult or not each.difficult:
                boxes.append(box)
                labels.append(each.label)
        return cls(image, _box_rows(boxes), torch.tensor(labels, dtype=torch.long), _box_rows(crowds), proposals)

    def mirrored(self) -> RoIImage:
        """Return the image with left and right swapped."""
        objects, crowds, proposals = (
            _mirrored(boxes, self.image.width) for boxes in (self.objects, self.crowds, self.proposals)
        )
        return replace(self, objects=objects, crowds=crowds, proposals=proposals, flipped=not self.flipped)

    @property
    def wide(self) -> bool:
        """Whether the width is at least the height."""
        return self.image.width >= self.image.height

    def regions(self) -> Regions:
        """Return the objects and the proposed regions, with the object that each overlaps most."""
        boxes = torch.cat((self.objects, self.proposals))
        if not len(self.objects):
            overlap, labels, targets = boxes.new_zeros(len(boxes)), torch.zeros(len(boxes), dtype=torch.long), boxes
        else:
            most, nearest = overlaps(boxes[:, None].double(), self.objects.double(), pixel=1).max(1)
            overlap, labels, targets = most.to(boxes), self.labels[nearest] * (most > 0), self.objects[nearest]
        overlap[len(self.objects) :][_in_crowd(self.proposals, self.crowds)] = -1
        return Regions(boxes, overlap, labels, targets)

    def usable(self, settings: RoISettings) -> bool:
        """Return whether a region of the image counts as an object or as background, by py-faster-rcnn's rule."""
        s = settings
        if len(self.objects) and s.fg_thresh <= 1:
            return True
        overlap = self.regions().overlap
        background = (overlap < s.bg_thresh_hi) & (overlap >= s.bg_thresh_lo)
        return bool(((overlap >= s.fg_thresh) | background).any())


def _whole_pixels(edges: Edges, image: AnnotatedImage) -> list[float]:
    """Return a box within its image, cut to whole pixels as in py-faster-rcnn."""
    left, top = max(edges.left, 0), max(edges.top, 0)
    right, bottom = min(edges.right, image.width) - 1, min(edges.bottom, image.height) - 1
    return [float(np.floor(side)) for side in (left, top, right, bottom)]


def _box_rows(boxes: list[list[float]]) -> Tensor:
    return torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4)


def _mirrored(boxes: Tensor, width: int) -> Tensor:
    left, top, right, bottom = boxes.unbind(1)
    return torch.stack((width - 1 - right, top, width - 1 - left, bottom), 1)


def _in_crowd(regions: Tensor, crowds: Tensor) -> Tensor:
    """Return whether a large part of each region is in one crowd, where it may contain unmarked objects."""
    if not len(crowds):
        return torch.zeros(len(regions), dtype=torch.bool)
    corner = torch.maximum(regions[:, None, :2], crowds[:, :2])
    end = torch.minimum(regions[:, None, 2:], crowds[:, 2:])
    common = areas(torch.cat((corner, end), -1), pixel=1)
    return (common / areas(regions, pixel=1)[:, None] > _CROWDED).any(1)


def target_statistics(images: Sequence[RoIImage], settings: RoISettings, classes: int, *, flipped: bool) -> TargetUnits:
    """Return the means and deviations of each class's box targets, over all regions that count as objects.

    The deviation is 1 if a class has no targets or if all its targets are equal.
    """
    counts, sums, squares = (torch.zeros(classes, numbers, dtype=torch.double) for numbers in (1, 4, 4))
    for image in images:
        regions = image.regions()
        positive = (regions.overlap >= settings.bbox_thresh) & (regions.labels > 0)
        targets = pixel_targets(regions.boxes[positive], regions.targets[positive]).double()
        rows = box_classes(regions.labels[positive], classes)
        for each in (targets, targets * torch.tensor(_MIRRORED)) if flipped else (targets,):
            counts.index_add_(0, rows, torch.ones_like(each[:, :1]))
            sums.index_add_(0, rows, each)
            squares.index_add_(0, rows, each**2)
    means = sums / counts.clamp_min(1)
    variances = (squares / counts.clamp_min(1) - means**2).clamp_min(0)
    deviations = torch.where(variances > 1e-12, variances.sqrt(), 1)
    return TargetUnits(tuple(map(tuple, means.tolist())), tuple(map(tuple, deviations.tolist())))


class EncodedBatch(NamedTuple):
    """The number of a batch, its images, and the bytes of their files."""

    number: int
    images: list[RoIImage]
    encoded: list[bytes]


class RoIBatches:
    """An endless sequence of batches. Each batch is one item, and batch n depends only on (seed, n).

    An epoch contains each image once and, in training, also mirrored. The images of a batch are all wide or all high,
    except where an odd number is left. Boxes are learned for `box_classes` classes in the given units. With `proposes`,
    a batch also contains the image's size and its objects. Otherwise, it contains the chosen regions and their targets.
    """

    def __init__(
        self,
        images: Sequence[RoIImage],
        classes: Sequence[str],
        settings: RoISettings,
        *,
        proposes: bool,
        box_classes: int,
        units: TargetUnits | None = None,
        seed: int = 0,
        train: bool = True,
    ) -> None:
        self.classes = classes
        self._images, self._settings, self._seed, self._train = images, settings, seed, train
        self._proposes, self._box_classes, self._units = proposes, box_classes, units
        self._count = len(images) * (2 if train and settings.use_flipped else 1)
        self._epoch, self._rows = 0, self._batches_of(0)

    def __len__(self) -> int:
        return sys.maxsize

    @property
    def image_count(self) -> int:
        """The number of images."""
        return len(self._images)

    def fetch(self, index: int) -> EncodedBatch:
        """Return the images of a batch with the bytes of their files."""
        epoch, row = divmod(index, len(self._rows))
        if epoch != self._epoch:
            self._epoch, self._rows = epoch, self._batches_of(epoch)
        images = [self._image(place) for place in self._rows[row].tolist()]
        return EncodedBatch(index, images, [each.image.read() for each in images])

    def _image(self, place: int) -> RoIImage:
        image = self._images[place % len(self._images)]
        return image if place < len(self._images) else image.mirrored()

    def _batches_of(self, epoch: int) -> Places:
        """Return the images' indices for each batch of an epoch. The first images fill up the last batch."""
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
        """Return the tops of a batch."""
        random = Order((1,), seed=self._seed).random(fetched.number)
        sides = random.choice(np.ravel(self._settings.scales), len(fetched.images)).tolist()
        pairs = [self._pixels(*each) for each in zip(fetched.images, fetched.encoded, sides, strict=True)]
        scales = [scale for _, scale in pairs]
        data = _padded([pixels for pixels, _ in pairs])
        if self._proposes:
            return data, np.array([[*data.shape[2:], scales[0]]], np.float32), _objects(fetched.images[0], scales[0])
        parts = [
            self._learned(place, image, scale, random)
            for place, (image, scale) in enumerate(zip(fetched.images, scales, strict=True))
        ]
        return data, *(torch.cat(each).numpy() for each in zip(*parts, strict=True))

    def _pixels(self, image: RoIImage, encoded: bytes, side: float) -> tuple[Array, float]:
        """Return an image minus its mean colors, resized for the net, and the scale factor."""
        s, marked = self._settings, image.image
        pixels = decode(encoded, Color.COLOR, str(marked.path))
        if pixels.shape[1:] != (marked.height, marked.width):
            raise DataError(
                f"{marked.path}: the image is {pixels.shape[1]} x {pixels.shape[2]} pixels (height x width), "
                f"but its annotation is for {marked.height} x {marked.width}; write the image's size into the "
                "annotation, and scale its boxes"
            )
        return ShortSide(side, s.max_size, s.pixel_means)(pixels[:, :, ::-1] if image.flipped else pixels)

    def _learned(self, place: int, image: RoIImage, scale: float, random: Random) -> tuple[Tensor, ...]:
        """Return the chosen regions of one image in a batch: rows, labels, box targets and both weights."""
        s, count, regions = self._settings, self._box_classes, image.regions()

        def pick(mask: Tensor, count: int) -> Tensor:
            places = mask.nonzero()[:, 0]
            chance = random.choice(len(places), min(count, len(places)), replace=False)
            return places[torch.from_numpy(chance)]

        at, positives = chosen(regions.overlap, s, s.ims_per_batch, pick)
        if not len(at):
            raise DataError(
                f"{image.image.path}: the image has no regions to learn from at this batch_size; raise batch_size"
            )
        boxes = regions.boxes[at]
        labels = regions.labels[at]
        moved = labels * (regions.overlap[at] >= s.bbox_thresh)
        targets = in_units(pixel_targets(boxes, regions.targets[at]), self._units, box_classes(moved, count))
        spread, inside = class_targets(moved, targets, count, s.bbox_inside_weights)
        labels[positives:] = 0
        rows = torch.cat((boxes.new_full((len(boxes), 1), place), boxes * scale), 1)
        return rows, labels.to(rows), spread, inside, (inside > 0).to(inside)

    def close(self) -> None:
        """Do nothing, since no file stays open."""


def _objects(image: RoIImage, scale: float) -> Array:
    """Return an image's objects in pixels of the net's input, each with its class."""
    return torch.cat((image.objects * scale, image.labels[:, None].to(image.objects)), 1).numpy()


def _padded(images: Sequence[Array]) -> Array:
    """Return images in one array. Smaller images are padded with zeros on the right and at the bottom."""
    height, width = (max(image.shape[axis] for image in images) for axis in (1, 2))
    data = np.zeros((len(images), 3, height, width), np.float32)
    for target, image in zip(data, images, strict=True):
        target[:, : image.shape[1], : image.shape[2]] = image
    return data


def write_coco_sample(folder: Path, classes: int, count: int, *, regions: bool) -> tuple[str, int]:
    """Write made-up images with one object each, of `classes` classes.

    Returns the data set's name and the images' side.
    """
    random = np.random.default_rng(0)
    names = write_images(
        (as_pixels(random.standard_normal((3, _SAMPLE_SIDE, _SAMPLE_SIDE))) for _ in range(count)), folder
    )
    places = range(count)
    file = {
        "images": [{"id": at, "file_name": names[at], "height": _SAMPLE_SIDE, "width": _SAMPLE_SIDE} for at in places],
        "categories": [{"id": number, "name": f"class{number}"} for number in range(1, classes)],
        "annotations": [
            {"image_id": at, "category_id": 1 + at % (classes - 1), "bbox": _SAMPLE_OBJECT} for at in places
        ],
    }
    (folder / "instances.json").write_text(json.dumps(file))
    options = {"images": str(folder)}
    if regions:
        options["proposals"] = str(folder / "regions.npz")
        _write_regions(folder / "regions.npz", [Path(name).stem for name in names], random)
    return f"coco:{folder / 'instances.json'}?{urlencode(options, safe='/')}", _SAMPLE_SIDE


def _write_regions(path: Path, names: Sequence[str], random: np.random.Generator) -> None:
    corners = np.sort(
        random.integers(0, _SAMPLE_SIDE - _SMALLEST_SAMPLE_REGION, (len(names), _SAMPLE_REGIONS, 2, 2)), axis=2
    )
    corners[:, :, 1] += _SMALLEST_SAMPLE_REGION - 1
    write_proposals(path, names, list(corners.reshape(len(names), -1, 4).astype(np.float32)))


def open_images(settings: RoISettings) -> tuple[tuple[str, ...], list[RoIImage]]:
    """Return the names of the classes and the images with objects or regions. A source can join several sets with
    '+'."""
    classes: tuple[str, ...] = ()
    images = list[RoIImage]()
    for name in parse_joined(settings.source, Content.MARKED_IMAGES):
        source, file = name.without_proposals()
        marked = source.open_marked()
        if classes and tuple(marked.classes) != classes:
            raise DataError(
                f"{source}: the classes differ from those of the first set; give both the same file with ?classes=FILE"
            )
        classes = tuple(marked.classes)
        images += _images_with_regions(marked, file, settings)
    usable = [image for image in images if image.usable(settings)]
    if not usable:
        raise DataError(
            f"{settings.source}: none of its {len(images)} images has an object or a region to learn from; name "
            "a set with boxes, or add the proposals with &proposals=FILE.npz"
        )
    return classes, usable


def _images_with_regions(marked: AnnotatedSet, file: str | None, settings: RoISettings) -> Sequence[RoIImage]:
    found = [marked.image(index) for index in range(len(marked))]
    proposed = read_proposals(file, [image.name for image in found]) if file else []
    boxes = [torch.from_numpy(each) for each in proposed] or [torch.zeros(0, 4)] * len(found)
    return [RoIImage.of(*pair, difficult=settings.use_diff) for pair in zip(found, boxes, strict=True)]

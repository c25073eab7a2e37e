"""DetectNet's transformation: random augmentation of images and boxes, and maps of the cells that each object
covers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.crops import rounded
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.core import positive
from netdsl.layer.running import can_be_read
from netdsl.layer.samples import BOX_VALUES
from netdsl.layers._constants import constants

Size = tuple[int, int]  # height and width
_DRAWS = 12  # how many random numbers are drawn for each image
_LEAST_ANGLE = torch.finfo(torch.float32).eps  # Caffe's rule: smaller rotations are skipped
_LEAST_PALENESS = 1 / 255
_SECTORS = (1.0, 3.0, 5.0)  # where blue, green and red begin on the hue circle, which has six sectors
_STEPS = 1024  # OpenCV's steps per pixel when it adds coordinates
_SUBPIXELS = 32  # OpenCV's steps per pixel when it reads pixels
_CLASS = 5  # the index of the class among a box's values
_MAPS = 8  # the maps before the classes: coverage, four corners, two inverse sizes and the inverse of the covered area
_EPSILON = torch.finfo(torch.float32).eps  # Caffe's smallest area of a box and smallest covered part of a cell
_KITTI_CAR = {1: 0}  # Caffe's default if the settings name no classes


@dataclass(frozen=True)
class Augmentation:
    """The random changes of one image: a hue rotation in degrees, the remaining saturation, and the geometry."""

    size: Size
    hue: float = 0.0
    saturation: float = 1.0
    flipped: bool = False
    degrees: float = 0.0
    top: int = 0
    left: int = 0

    @classmethod
    def draw(cls, p: pb.DetectNetAugmentationParameter, size: Size, wanted: Size) -> Augmentation:
        """Return a random augmentation for an image of a given size. The result has the size `wanted`.

        The random numbers are drawn in Caffe's order.
        """
        random = _Draws()
        hue = random.between(-p.hue_rotation, p.hue_rotation, p.hue_rotation_prob, usual=0)
        saturation = random.between(1, 1 - p.desaturation_max, p.desaturation_prob, usual=1)
        flipped = random.happens(p.flip_prob)
        scale = random.between(p.scale_min, p.scale_max, p.scale_prob, usual=1)
        degrees = random.between(-p.max_rotate_degree, p.max_rotate_degree, p.rotation_prob, usual=0)
        scaled = rounded(size[0] * scale), rounded(size[1] * scale)
        degrees = degrees if abs(degrees) > _LEAST_ANGLE else 0.0
        whole = Turn.of(scaled, degrees).size if degrees else scaled
        left, top = random.part(p, whole, wanted)
        return cls(scaled, max(-180.0, min(hue, 180.0)), saturation, flipped, degrees, top, left)

    def colored(self, image: Tensor) -> Tensor:
        """Return a BGR image with a rotated hue and a lower saturation."""
        pales = self.saturation < 1 - _LEAST_PALENESS
        if not pales and abs(self.hue) <= _LEAST_ANGLE:
            return image
        return _with_hue(image, self.hue, self.saturation if pales else 1.0)

    def moved(self, image: Tensor, out: Tensor) -> None:
        """Flip, scale, rotate and crop an image, and write it over the zeros of `out`."""
        image = image.flip(-1) if self.flipped else image
        if tuple(image.shape[1:]) != self.size:
            image = resized(image, self.size)
        if self.degrees:
            image = Turn.of(self.size, self.degrees).image(image)
        _crop(image, self.top, self.left, out)

    def moved_boxes(self, boxes: Tensor, size: Size) -> Tensor:
        """Return the boxes of an image after the same flip, scaling, rotation and crop.

        Caffe's flip treats the right edge as the last pixel. A rotated box keeps its width and height.
        """
        left, top, width, height = boxes.unbind(-1)
        left = size[1] - left - width - 1 if self.flipped else left
        y, x = (new / old for new, old in zip(self.size, size, strict=True))
        left, width, top, height = left * x, width * x, top * y, height * y
        if self.degrees:
            middle_x, middle_y = Turn.of(self.size, self.degrees).place(left + width / 2, top + height / 2)
            left, top = middle_x - width / 2, middle_y - height / 2
        return torch.stack((left - self.left, top - self.top, width, height), -1)


class _Draws:
    """The random numbers of one image. Their count doesn't depend on which of them are used."""

    def __init__(self) -> None:
        self._numbers = iter(torch.rand(_DRAWS, device="cpu").tolist())

    def happens(self, chance: float) -> bool:
        return bool(next(self._numbers) < chance)

    def between(self, first: float, last: float, chance: float, *, usual: float) -> float:
        """Return a random number between `first` and `last` with the given chance, and otherwise the usual value."""
        happens, place = self.happens(chance), next(self._numbers)
        return first + (last - first) * place if happens else usual

    def part(self, p: pb.DetectNetAugmentationParameter, whole: Size, part: Size) -> tuple[int, int]:
        """Return the left and top of a crop: random with the chance `crop_prob`, and otherwise centered."""
        shifts = (p.shift_x, p.shift_y) if (happens := self.happens(p.crop_prob)) else (0, 0)
        places = [number if happens else 0.5 for number in self._numbers]
        left, top = (
            rounded(place * (outer - inner + shift) - shift // 2)
            for place, outer, inner, shift in zip(places, whole[::-1], part[::-1], shifts, strict=True)
        )
        return left, top


@dataclass(frozen=True)
class Turn:
    """A rotation about the center of an image. The result is a larger image that contains the rotated one."""

    cos: float
    sin: float
    shift_x: float
    shift_y: float
    size: Size

    @classmethod
    def of(cls, size: Size, degrees: float) -> Turn:
        """Return the rotation of an image of a given size.

        OpenCV's rule: the larger image starts and ends at whole pixels. Its size is computed from a center that is
        rounded down.
        """
        height, width = size
        cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        reach_x = (width * abs(cos) + height * abs(sin)) / 2
        reach_y = (width * abs(sin) + height * abs(cos)) / 2
        left, top = math.floor(width / 2 - reach_x), math.floor(height / 2 - reach_y)
        middle_x, middle_y = width / 2 - left, height / 2 - top
        return cls(
            cos,
            sin,
            middle_x - cos * width / 2 + sin * height / 2,
            middle_y - sin * width / 2 - cos * height / 2,
            (_pixels(height // 2, reach_y), _pixels(width // 2, reach_x)),
        )

    def place(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the position of a point after the rotation."""
        return self.cos * x - self.sin * y + self.shift_x, self.sin * x + self.cos * y + self.shift_y

    def image(self, image: Tensor) -> Tensor:
        """Return the rotated image.

        OpenCV's rule: coordinates have fixed steps, and a pixel without four neighbors is 0.
        """
        height, width = image.shape[1:]
        x, y = self._read_places(image.device)
        column, row = x // _SUBPIXELS, y // _SUBPIXELS
        right, below = ((place % _SUBPIXELS).to(image.dtype) / _SUBPIXELS for place in (x, y))
        inside = (column >= 0) & (column < width - 1) & (row >= 0) & (row < height - 1)
        first = torch.where(inside, row * width + column, 0)
        upper_left, upper_right, lower_left, lower_right = (
            image.flatten(1)[:, first + step] for step in (0, 1, width, width + 1)
        )
        upper = upper_left + (upper_right - upper_left) * right
        lower = lower_left + (lower_right - lower_left) * right
        return torch.where(inside, upper + (lower - upper) * below, 0)

    def _read_places(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return the coordinates at which each pixel of the larger image is read, in subpixels."""
        y, x = (torch.arange(length, dtype=torch.float64, device=device) for length in self.size)
        start_x = -self.cos * self.shift_x - self.sin * self.shift_y
        start_y = self.sin * self.shift_x - self.cos * self.shift_y
        return (
            _subpixels(self.cos * x, (self.sin * y + start_x)[:, None]),
            _subpixels(-self.sin * x, (self.cos * y + start_y)[:, None]),
        )


def resized(image: Tensor, size: Size) -> Tensor:
    """Return an image resized with OpenCV's bicubic interpolation."""
    return F.interpolate(image[None], size, mode="bicubic")[0]


def _pixels(middle: int, reach: float) -> int:
    return math.ceil(middle + reach) - math.floor(middle - reach) + 1


def _subpixels(along: Tensor, start: Tensor) -> Tensor:
    whole = (along * _STEPS).round() + (start * _STEPS).round()
    return ((whole.long() + _STEPS // _SUBPIXELS // 2) * _SUBPIXELS).div(_STEPS, rounding_mode="floor")


def _with_hue(image: Tensor, degrees: float, saturation: float) -> Tensor:
    """Return an image with a rotated hue and a scaled saturation."""
    blue, green, red = image
    value, least = image.amax(0), image.amin(0)
    spread = value - least
    step = torch.where(spread > 0, spread, 1)
    hue = torch.where(green == value, 2 + (blue - red) / step, 4 + (red - green) / step)
    hue = torch.where(red == value, (green - blue) / step, hue) + degrees / 60
    sector = (constants(_SECTORS, image)[:, None, None] + hue) % 6
    return value - spread * saturation * torch.minimum(sector, 4 - sector).clamp(0, 1)


def _crop(image: Tensor, top: int, left: int, out: Tensor) -> None:
    """Write the part of an image that starts at (top, left) over the zeros of `out`. The rest of `out` stays 0."""
    (height, width), (rows, columns) = image.shape[1:], out.shape[1:]
    y, x = max(top, 0), max(left, 0)
    part = image[:, y : max(min(top + rows, height), y), x : max(min(left + columns, width), x)]
    out[:, y - top : y - top + part.shape[1], x - left : x - left + part.shape[2]] = part


@dataclass(frozen=True)
class LabeledBoxes:
    """The labeled boxes of a batch: left, top, width and height. Each image has the same number of slots for boxes."""

    boxes: Tensor  # images x places x 4
    classes: Tensor  # images x places
    valid: Tensor  # whether the slot contains a box

    @classmethod
    def of(cls, label: Tensor) -> LabeledBoxes:
        """Return the boxes in rows as DIGITS writes them.

        The first row contains the number of boxes and the row length.
        """
        rows = label.reshape(len(label), -1, BOX_VALUES)
        _check_first(rows[:, 0, :2], rows.shape[1] - 1)
        place = torch.arange(rows.shape[1], device=label.device)
        return cls(rows[..., :4], rows[..., _CLASS].trunc(), (place > 0) & (place <= rows[:, :1, 0]))


def _check_first(rows: Tensor, places: int) -> None:
    """Raise a `NetError` if a first row has other numbers. Does nothing if reading the row would wait for a GPU."""
    for count, length in rows.tolist() if can_be_read(rows) else ():
        if length != BOX_VALUES or not 0 <= count <= places:
            raise NetError(
                f"the label's first row announces {count:g} boxes of {length:g} numbers, but there is room for "
                f"{places} boxes of {BOX_VALUES}; write labels as DIGITS does"
            )


class CoverageMaps:
    """Computes the maps that `detectnet_groundtruth_param` describes."""

    def __init__(self, p: pb.DetectNetGroundTruthParameter) -> None:
        self.settings, self.stride = p, positive(p, "stride")
        self.height, self.width = p.image_size_y, p.image_size_x
        self.rows, self.columns = round(self.height / self.stride), round(self.width / self.stride)
        if min(self.rows, self.columns) < 1:
            raise NetError(
                f"an image of {self.width} x {self.height} pixels is smaller than a cell of {self.stride}; lower stride"
            )
        self.classes = {mapping.src: mapping.dst for mapping in p.object_class} or _KITTI_CAR

    @property
    def shape(self) -> Shape:
        """The shape of one image's maps."""
        return _MAPS + max(self.classes.values()) + 1, self.rows, self.columns

    def __call__(self, objects: LabeledBoxes) -> Tensor:
        """Return the maps of a batch. Caffe's rule: if several objects cover a cell, the last one counts."""
        label = self._labels(objects.classes)
        box = self._cropped(objects.boxes)
        size = box[..., 2:] - box[..., :2]
        valid = objects.valid & (label >= 0) & (size.clamp_min(0).prod(-1) >= _EPSILON)
        middle, half = (box[..., :2] + box[..., 2:]) / 2, self._covered_size(size) / 2
        values = self._values(box, size, 4 * half.prod(-1), label)
        place = torch.arange(valid.shape[1], device=box.device)[:, None, None]
        covered = self._cells(middle - half, middle + half) & valid[..., None, None]
        last = torch.where(covered, place, 0).amax(1).flatten(1)  # slot 0 never contains a box
        values = torch.where(valid[:, None], values, 0)
        maps = values.gather(2, last[:, None].expand(-1, values.shape[1], -1)).view(len(last), *self.shape)
        maps[:, 1:5] -= self._corners(box).repeat(2, 1, 1) * maps[:, :1]  # corners are relative to the cell
        return maps

    def _labels(self, classes: Tensor) -> Tensor:
        """Return the class map of each box, or -1 if its class has no map."""
        label = torch.full_like(classes, -1)
        for source, target in self.classes.items():
            label = torch.where(classes == source, target, label)
        return label

    def _cropped(self, boxes: Tensor) -> Tensor:
        """Return left, top, right and bottom of each box, cropped to the image if `crop_bboxes` is set."""
        corners = torch.cat((boxes[..., :2], boxes[..., :2] + boxes[..., 2:]), -1)
        if not self.settings.crop_bboxes:
            return corners
        x, y = corners[..., ::2].clamp(0, self.width), corners[..., 1::2].clamp(0, self.height)
        return torch.stack((x, y), -1).flatten(-2)

    def _covered_size(self, size: Tensor) -> Tensor:
        """Return the width and height of the area that each box covers.

        It is a fixed part of the box with a minimum or a maximum length.
        """
        p = self.settings
        part = size * p.scale_cvg
        if p.gridbox_type == pb.DetectNetGroundTruthParameter.GRIDBOX_MIN:
            return part.clamp_min(p.min_cvg_len).minimum(size)
        return part.clamp_max(p.max_cvg_len)

    def _values(self, box: Tensor, size: Tensor, area: Tensor, label: Tensor) -> Tensor:
        """Return the maps' values for each object: images x maps x places."""
        norm = (self.stride**2 / area).clamp_min(0 if self.settings.obj_norm else 1)
        kinds = torch.arange(self.shape[0] - _MAPS, device=box.device)[:, None] == label[:, None]
        parts = torch.ones_like(area)[:, None], box.mT, 1 / size.mT, norm[:, None], kinds.to(box.dtype)
        return torch.cat(parts, 1)

    def _cells(self, begin: Tensor, end: Tensor) -> Tensor:
        """Return which cells each rectangle overlaps: images x places x rows x columns."""
        x, y = (
            (torch.minimum(end[..., axis, None], edge + self.stride) - torch.maximum(begin[..., axis, None], edge))
            for axis, edge in enumerate(self._edges(begin))
        )
        return y.clamp_min(0)[..., None] * x.clamp_min(0)[..., None, :] > _EPSILON * self.stride**2

    def _corners(self, like: Tensor) -> Tensor:
        """Return the left and the top edge of each cell."""
        x, y = self._edges(like)
        return torch.stack((x.expand(self.rows, -1), y[:, None].expand(-1, self.columns)))

    def _edges(self, like: Tensor) -> tuple[Tensor, Tensor]:
        counts = self.columns, self.rows
        x, y = (torch.arange(count, dtype=like.dtype, device=like.device) * self.stride for count in counts)
        return x, y

"""DetectNet's maps of what its boxes cover: which cells of a grid see which object, and where its corners are."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.core import positive
from netdsl.layer.running import can_be_read
from netdsl.layer.samples import BOX_VALUES

_CLASS = 5  # the place of the class among a box's values
_MAPS = 8  # before those of the classes: an object, its four corners, two inverse sizes, the inverse of what is covered
_EPSILON = torch.finfo(torch.float32).eps  # Caffe's smallest area of a box, and of what is covered of a cell
_KITTI_CAR = {1: 0}  # Caffe's classes where the settings name none


@dataclass(frozen=True)
class LabelledBoxes:
    """As many places for boxes in each image of a batch, of which some hold one: left, top, width and height."""

    boxes: Tensor  # images x places x 4
    classes: Tensor  # images x places
    valid: Tensor  # whether there is a box in that place

    @classmethod
    def of(cls, label: Tensor) -> LabelledBoxes:
        """From DIGITS' rows. The first holds no box: it says how many follow, and how many numbers each has."""
        rows = label.reshape(len(label), -1, BOX_VALUES)
        _check_first(rows[:, 0, :2], rows.shape[1] - 1)
        place = torch.arange(rows.shape[1], device=label.device)
        return cls(rows[..., :4], rows[..., _CLASS].trunc(), (place > 0) & (place <= rows[:, :1, 0]))


def _check_first(rows: Tensor, places: int) -> None:
    """Raise a NetError if first rows say anything else, where nobody has to wait to know that."""
    for count, length in rows.tolist() if can_be_read(rows) else ():
        if length != BOX_VALUES or not 0 <= count <= places:
            raise NetError(
                f"the label's first row says {count:g} boxes of {length:g} numbers, and there is room for {places} of "
                f"{BOX_VALUES}, as DIGITS writes them"
            )


class CoverageMaps:
    """The maps of `detectnet_groundtruth_param`."""

    def __init__(self, p: pb.DetectNetGroundTruthParameter) -> None:
        self.settings, self.stride = p, positive(p, "stride")
        self.height, self.width = p.image_size_y, p.image_size_x
        self.rows, self.columns = round(self.height / self.stride), round(self.width / self.stride)
        if min(self.rows, self.columns) < 1:
            raise NetError(f"an image of {self.width} x {self.height} has no cells of {self.stride} pixels")
        self.classes = {mapping.src: mapping.dst for mapping in p.object_class} or _KITTI_CAR

    @property
    def shape(self) -> Shape:
        """The maps of one image."""
        return _MAPS + max(self.classes.values()) + 1, self.rows, self.columns

    def __call__(self, objects: LabelledBoxes) -> Tensor:
        """The maps of a batch. Caffe's rule: a cell that several objects cover sees the last one."""
        label = self._labels(objects.classes)
        box = self._cropped(objects.boxes)
        size = box[..., 2:] - box[..., :2]
        valid = objects.valid & (label >= 0) & (size.clamp_min(0).prod(-1) >= _EPSILON)
        middle, half = (box[..., :2] + box[..., 2:]) / 2, self._covered_size(size) / 2
        values = self._values(box, size, 4 * half.prod(-1), label)
        place = torch.arange(valid.shape[1], device=box.device)[:, None, None]
        covered = self._cells(middle - half, middle + half) & valid[..., None, None]
        last = torch.where(covered, place, 0).amax(1).flatten(1)  # 0 is no box's place
        values = torch.where(valid[:, None], values, 0)
        maps = values.gather(2, last[:, None].expand(-1, values.shape[1], -1)).view(len(last), *self.shape)
        maps[:, 1:5] -= self._corners(box).repeat(2, 1, 1) * maps[:, :1]  # as they are seen from the cell
        return maps

    def _labels(self, classes: Tensor) -> Tensor:
        """The map of each box among those of the classes; -1 for boxes of other classes."""
        label = torch.full_like(classes, -1)
        for source, target in self.classes.items():
            label = torch.where(classes == source, target, label)
        return label

    def _cropped(self, boxes: Tensor) -> Tensor:
        """Left, top, right and bottom, within the image if that is set."""
        corners = torch.cat((boxes[..., :2], boxes[..., :2] + boxes[..., 2:]), -1)
        if not self.settings.crop_bboxes:
            return corners
        x, y = corners[..., ::2].clamp(0, self.width), corners[..., 1::2].clamp(0, self.height)
        return torch.stack((x, y), -1).flatten(-2)

    def _covered_size(self, size: Tensor) -> Tensor:
        """Width and height of what a box covers: a part of it, which is no smaller, or no larger, than a length."""
        p = self.settings
        part = size * p.scale_cvg
        if p.gridbox_type == pb.DetectNetGroundTruthParameter.GRIDBOX_MIN:
            return part.clamp_min(p.min_cvg_len).minimum(size)
        return part.clamp_max(p.max_cvg_len)

    def _values(self, box: Tensor, size: Tensor, area: Tensor, label: Tensor) -> Tensor:
        """What the maps have where an object is: images x maps x places."""
        norm = (self.stride**2 / area).clamp_min(0 if self.settings.obj_norm else 1)
        kinds = torch.arange(self.shape[0] - _MAPS, device=box.device)[:, None] == label[:, None]
        parts = torch.ones_like(area)[:, None], box.mT, 1 / size.mT, norm[:, None], kinds.to(box.dtype)
        return torch.cat(parts, 1)

    def _cells(self, begin: Tensor, end: Tensor) -> Tensor:
        """The cells that rectangles cover in part: images x places x rows x columns."""
        x, y = (
            (torch.minimum(end[..., axis, None], edge + self.stride) - torch.maximum(begin[..., axis, None], edge))
            for axis, edge in enumerate(self._edges(begin))
        )
        return y.clamp_min(0)[..., None] * x.clamp_min(0)[..., None, :] > _EPSILON * self.stride**2

    def _corners(self, like: Tensor) -> Tensor:
        """The left and the upper edge of every cell."""
        x, y = self._edges(like)
        return torch.stack((x.expand(self.rows, -1), y[:, None].expand(-1, self.columns)))

    def _edges(self, like: Tensor) -> tuple[Tensor, Tensor]:
        counts = self.columns, self.rows
        x, y = (torch.arange(count, dtype=like.dtype, device=like.device) * self.stride for count in counts)
        return x, y

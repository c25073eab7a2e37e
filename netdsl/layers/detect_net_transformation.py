"""DetectNetTransformation: images augmented together with their boxes, and maps of the boxes' coverage."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.mean import Mean
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer, Shape
from netdsl.layer.running import NeedsValues, not_compiled
from netdsl.layer.samples import BOX_VALUES, BlobKind
from netdsl.layers._detect_net_transformation import Augmentation, CoverageMaps, LabeledBoxes, resized
from netdsl.layers._settings import refuse

_COLORS = 3
_OF_SSD = ("resize_param", "noise_param", "distort_param", "expand_param", "emit_constraint")


class DetectNetTransformation(NeedsValues, Layer):
    """Transforms images to DetectNet's size, subtracts the mean, and computes coverage maps from the boxes.

    The maps of an image are: which cells an object covers, four for the corners of that object, two for its inverse
    size, one for the inverse of the covered area, and one for each class. Images are randomly augmented in TRAIN and
    only scaled in TEST. `object_class` numbers the classes.
    """

    chooses = "draws random image changes on the host"
    config = pb.DetectNetGroundTruthParameter
    bottoms = (2, 2)
    tops = (2, 2)
    no_gradient = (0, 1)
    bottom_kinds = (BlobKind.NUMBER, BlobKind.COUNTED_BOX)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        refuse(layer.detectnet_augmentation_param, *_OF_SSD)
        _check_transform(layer.transform_param)
        _check_shapes(*bottoms)
        self.coverage = CoverageMaps(layer.detectnet_groundtruth_param)
        self.register_buffer("mean", torch.zeros(_COLORS, 1, 1), persistent=False)

    def allocate(self, device: torch.device | str, done: dict[int, Tensor]) -> None:
        """Also read the mean file, which isn't needed to inspect a net."""
        self.mean = _mean(self.layer.transform_param)
        super().allocate(device, done)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        _check_shapes(*bottoms)
        batch = bottoms[0][0]
        return [(batch, _COLORS, self.coverage.height, self.coverage.width), (batch, *self.coverage.shape)]

    @not_compiled
    @torch.no_grad()
    def forward(self, x: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        size, wanted = (x.shape[2], x.shape[3]), (self.coverage.height, self.coverage.width)
        objects, images, boxes = LabeledBoxes.of(label), x.new_zeros(len(x), _COLORS, *wanted), list[Tensor]()
        mean = self._mean_of(size)
        for image, own, out in zip(x, objects.boxes, images, strict=True):
            how = self._drawn(size, wanted)
            how.moved(how.colored(image) - mean, out)
            boxes.append(how.moved_boxes(own, size))
        moved = LabeledBoxes(torch.stack(boxes), objects.classes, objects.valid)
        return images, self.coverage(moved)

    def _drawn(self, size: tuple[int, int], wanted: tuple[int, int]) -> Augmentation:
        if not self.training:
            return Augmentation(wanted)
        return Augmentation.draw(self.layer.detectnet_augmentation_param, size, wanted)

    def _mean_of(self, size: tuple[int, int]) -> Tensor:
        """Return the mean of images of a given size. Caffe's rule: a mean image is scaled to that size."""
        mean: Tensor = self.mean
        return mean if mean.shape[1:] in ((1, 1), size) else resized(mean, size)


def _check_transform(p: pb.TransformationParameter) -> None:
    """Raise a `NetError` for settings other than the mean, because Caffe ignores them."""
    others = [field.name for field, _ in p.ListFields() if field.name not in ("mean_file", "mean_value")]
    if others:
        raise NetError(f"{', '.join(others)} in transform_param has no effect in this type; remove it")


def _check_shapes(images: Shape, label: Shape) -> None:
    if len(images) != 4 or images[1] != _COLORS:
        raise ShapeError(
            f"the first bottom must have images with {_COLORS} channels, not shape {list(images)}; connect the "
            "top `data` of the data layer with color images"
        )
    if len(label) != 4 or label[0] != images[0] or label[3] != BOX_VALUES:
        shape = [images[0], 1, "boxes + 1", BOX_VALUES]
        raise ShapeError(
            f"the second bottom must have shape {shape}, as DIGITS writes boxes, not {list(label)}; connect the "
            "labels of a database that DIGITS wrote"
        )


def _mean(p: pb.TransformationParameter) -> Tensor:
    """Return the mean image or one value for each channel, or zeros if there is no mean."""
    mean = Mean(p)
    values = mean.of_channels(_COLORS, 1, 1) if mean.image is None else mean.image
    if values is not None and len(values) != _COLORS:
        raise NetError(
            f"mean_file {mean.file} has {len(values)} channels, but images have {_COLORS}; use a mean with {_COLORS}"
        )
    return torch.zeros(_COLORS, 1, 1) if values is None else torch.tensor(values)

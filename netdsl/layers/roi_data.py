"""RoIData: Fast R-CNN's Python layer that reads images with their regions or objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import zip_longest
from pathlib import Path

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.source import Item
from netdsl.data.types import Array
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.data import HasSampleFiles, NamesSource
from netdsl.layer.samples import BlobKind
from netdsl.layer.tops import NormalizesTargets, TargetUnits
from netdsl.layer.user_code import ReplacesUserCode
from netdsl.layers._data import DataLayer
from netdsl.layers._roi_data import (
    RoIBatches,
    RoIImage,
    RoISettings,
    open_images,
    target_statistics,
    write_coco_sample,
)
from netdsl.layers._rpn import layer_settings, with_settings
from netdsl.layers._settings import set_param_str

_CLASSES = "num_classes"
_AGNOSTIC = 8  # the length of class-agnostic targets: four numbers for the background and four for all classes


class RoIData(DataLayer, NamesSource, HasSampleFiles, NormalizesTargets, ReplacesUserCode):
    """Reads annotated images for training.

    For a net that proposes regions, the tops are images, sizes and objects. Otherwise, they are images, regions,
    labels, box targets and weights. `param_str` has the settings, with py-faster-rcnn's names. The images' sizes are
    unknown until the data are open, so the shapes are py-faster-rcnn's initial ones. An image is 600 x 1000. A net with
    proposals has one image and one object, and a net without has two images and 128 regions.
    """

    origin = "Faster R-CNN"
    tops = (3, 6)
    any_size = True
    targets_top = 3
    python_names = ("roi_data_layer.layer.RoIDataLayer",)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.classes = layer_settings(layer, _CLASSES)[_CLASSES]
        self._measured: TargetUnits | None = None

    @property
    def proposes(self) -> bool:
        """Whether the net proposes its own regions."""
        return len(self.layer.top) == 3 and self.layer.top[1] != "rois"

    @property
    def settings(self) -> RoISettings:
        """The settings in `param_str`, with py-faster-rcnn's defaults for a net of this kind."""
        base = RoISettings(ims_per_batch=1 if self.proposes else 2)
        return with_settings(base, layer_settings(self.layer))

    @property
    def box_classes(self) -> int:
        """The number of classes in the box regression."""
        return 2 if self.settings.agnostic else self.classes

    def batch_size(self) -> int:
        return self.settings.ims_per_batch

    def target_units(self) -> TargetUnits | None:
        known = self.settings.units(self.box_classes) if len(self.layer.top) > self.targets_top else None
        return self._measured or known

    def top_kind(self, place: int) -> BlobKind:
        kinds = (BlobKind.IMAGE_SIZE, BlobKind.LABELED_BOX) if self.proposes else (BlobKind.REGION, BlobKind.LABEL)
        return kinds[place - 1] if 0 < place < 3 else BlobKind.NUMBER

    def item_shapes(self) -> Sequence[Shape | None]:
        return [self.image(), (3,), (5,)] if self.proposes else [self.image()]

    def typical_size(self) -> tuple[int, int]:
        return 600, 1000

    def known_shapes(self) -> list[Shape | None]:
        """Return the shapes. The number of regions isn't a batch size: it is the assumed number, or 128."""
        shapes, assumed = super().known_shapes(), self.assumed[1:]
        if self.proposes:
            return shapes
        count = assumed[0][0] if assumed and assumed[0] else 128
        defaults: list[Shape] = [(count, 5), (count,), *[(count, 4 * self.box_classes)] * 3]
        each = [shape or default for shape, default in zip_longest(assumed, defaults, fillvalue=())]
        return [shapes[0], *each][: len(self.layer.top)]

    def reading(self, seed: int) -> Reading:
        s, train = self.settings, self.layer.phase == pb.TRAIN
        self._check_settings()
        classes, images = open_images(s)
        if len(classes) != self.classes:
            raise NetError(
                f"num_classes is {self.classes}, but {s.source} has {len(classes)} classes with the background; "
                f"set num_classes to {len(classes)}, or name the file of the net's classes with ?classes=FILE"
            )
        if self.proposes and any(len(image.proposals) for image in images):
            raise NetError(f"the net proposes regions itself; remove the proposals from {s.source}")
        self._measure(images, train)
        source = RoIBatches(
            images,
            classes,
            s,
            proposes=self.proposes,
            box_classes=self.box_classes,
            units=self.target_units(),
            seed=seed,
            train=train,
        )
        return Reading(source, 1, name=s.source, collate=_first)

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        """Write small images at their full size, so that processing them is fast.

        The shape of the box targets shows whether a net is R-FCN's class-agnostic kind.
        """
        made = copy_of(self.layer)
        source, side = write_coco_sample(folder, self.classes, self.batch_size(), regions=not self.proposes)
        agnostic = len(values) > self.targets_top and values[self.targets_top].shape[1] == _AGNOSTIC
        set_param_str(made, source=source, scales=(side,), **({"agnostic": True} if agnostic else {}))
        return made

    def note_data(self, layer: pb.LayerParameter) -> None:
        """Write the measured means and deviations, by which saved weights are converted."""
        if self._measured is not None:
            measured = {
                "bbox_normalize_targets_precomputed": True,
                "bbox_normalize_means": self._measured.means,
                "bbox_normalize_stds": self._measured.deviations,
            }
            set_param_str(layer, **measured)

    @classmethod
    def name_source(cls, layer: pb.LayerParameter, source: str) -> None:
        set_param_str(layer, source=source)

    def _measure(self, images: Sequence[RoIImage], train: bool) -> None:
        """Measure the means and deviations of box targets.

        py-faster-rcnn's rule: they come from the data unless they are set.
        """
        s = self.settings
        if len(self.layer.top) > self.targets_top and s.bbox_normalize_targets and self.target_units() is None:
            self._measured = target_statistics(images, s, self.box_classes, flipped=train and s.use_flipped)

    def _check_settings(self) -> None:
        """Raise a `NetError` for impossible or unknown settings."""
        s, known = self.settings, {_CLASSES, *(field.name for field in fields(RoISettings))}
        for name in layer_settings(self.layer):
            if name.lower() not in known:
                raise NetError(f"param_str sets '{name}', which isn't supported; use only {', '.join(sorted(known))}")
        if not s.source:
            raise NetError(
                "the layer has no source; name one with --data or as 'source' in param_str, such as "
                "'voc:VOCdevkit/VOC2007?set=trainval', or pass its tops by name"
            )
        if self.proposes and s.ims_per_batch != 1:
            raise NetError(
                f"ims_per_batch is {s.ims_per_batch}, but a net that proposes regions supports only one image; set "
                "it to 1"
            )
        if s.batch_size > 0 and s.batch_size % s.ims_per_batch:
            raise NetError(
                f"batch_size {s.batch_size} isn't a multiple of the {s.ims_per_batch} images in a batch; set it "
                "to a multiple"
            )
        scales = np.ravel(s.scales)
        if not len(scales) or min(*scales, s.max_size) < 1 or np.size(s.pixel_means) != 3:
            raise NetError(
                "a size or the mean is wrong; set scales and max_size to 1 or more, and pixel_means to three numbers"
            )


def _first(items: Sequence[Item]) -> Item:
    """Return the only item, which is already a whole batch."""
    return items[0]

"""What is done to images before they are written to a database, so that the transform of Caffe does the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.crop_choice import refuse_for
from netdsl.data.transforms.image_settings import copy_of, crop_of
from netdsl.data.transforms.resizing import ImageResizing
from netdsl.data.types import Array
from netdsl.errors import DataError

_OF_FORKS = ("resize_param", "crop_h", "crop_w", "use_gpu_transform")  # and known to `Transform`
_OF_ENCODED_IMAGES = ("force_color", "force_gray")  # which Caffe applies to no others


@dataclass(frozen=True)
class Beforehand:
    """The part of a transform that Caffe lacks, for images as they are stored, and `rest`, the settings that it has."""

    rest: pb.TransformationParameter
    resizing: ImageResizing | None = None
    crop: tuple[int, int] | None = None

    @classmethod
    def of(cls, param: pb.TransformationParameter, *, train: bool) -> Beforehand:
        """The parts of a layer's settings; a DataError if they draw a crop that isn't a square, as Caffe can't."""
        if param.HasField("random_aspect_ratio_param"):
            raise DataError("Caffe draws no parts of images that it resizes; remove random_aspect_ratio_param")
        refuse_for("BVLC's Caffe", param)
        rest, crop = copy_of(param), crop_of(param)
        for field in (*_OF_FORKS, *_OF_ENCODED_IMAGES):
            rest.ClearField(field)
        resizing = ImageResizing(param.resize_param[0]) if param.resize_param else None
        if crop is None or crop[0] == crop[1]:
            if crop is not None:
                rest.crop_size = crop[0]
            return cls(rest, resizing)
        if train and (resizing is None or resizing.fixed_size != crop):
            raise DataError(f"Caffe draws squares only, and no crops of {crop[0]} x {crop[1]}; take another crop")
        return cls(rest, resizing, crop)

    def __call__(self, image: Array) -> Array:
        """An image in its new size. Where its interpolation is drawn, one is for good."""
        return self.cropped(self.resizing(image, np.random.default_rng(0)) if self.resizing else image)

    def cropped(self, image: Array) -> Array:
        """The middle of an image, or of a mean image, that a transform would take."""
        if self.crop is None:
            return image
        (height, width), (high, wide) = image.shape[1:], self.crop
        if high > height or wide > width:
            raise DataError(f"a crop of {high} x {wide} is larger than the image, {height} x {width}")
        top, left = (height - high) // 2, (width - wide) // 2
        return image[:, top : top + high, left : left + wide]

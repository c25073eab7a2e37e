"""Settings of transforms: their meaning in words, and the part that is applied before images are stored in a
database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.transforms.crops import refuse_for
from netdsl.data.transforms.decode import COLORS, GRAY
from netdsl.data.transforms.mean import Mean
from netdsl.data.transforms.resizing import ImageResizing
from netdsl.data.types import Array
from netdsl.errors import DataError, NetError

Size = tuple[int, int]  # height and width
_OF_FORKS = ("resize_param", "crop_h", "crop_w", "use_gpu_transform")  # supported by `Transform`
_OF_ENCODED_IMAGES = ("force_color", "force_gray")  # Caffe ignores them for other images


def settings_in_tests(
    param: pb.TransformationParameter, channels: int, size: Size | None = None
) -> pb.TransformationParameter:
    """Return a data layer's settings for tests, with fixed values for anything that depends on the data.

    All images get the input's number of channels, and a size that the layer accepts: that of the mean image or, if
    nothing is cropped, that of the input. Images aren't mirrored.
    """
    if channels not in (GRAY, COLORS):
        raise NetError(
            f"the net's input has {channels} channels, but images have 1 or 3; name a table, parquet:PATH, with "
            "an array of this shape for each item"
        )
    made = copy_of(param, without=("mirror", "force_gray", "force_color"))
    setattr(made, "force_gray" if channels == GRAY else "force_color", True)
    resized = resize_of(made) or _mean_size(made) or (None if crop_of(made) else size)
    if resized is not None and not made.resize_param:
        resize_to(made, *resized)
    if size is not None and size != (crop_of(made) or resized):
        made.ClearField("crop_size")
        made.crop_h, made.crop_w = size
    return made


def resize_to(param: pb.TransformationParameter, height: int, width: int, *, padded: bool = False) -> None:
    """Resize images to this size. With `padded`, they keep their proportions between black borders."""
    mode = pb.ResizeParameter.FIT_LARGE_SIZE_AND_PAD if padded else pb.ResizeParameter.WARP
    param.resize_param.add(resize_mode=mode, height=height, width=width)


def is_padded(param: pb.TransformationParameter) -> bool:
    """Return whether images keep their proportions between borders."""
    return any(resize.resize_mode == pb.ResizeParameter.FIT_LARGE_SIZE_AND_PAD for resize in param.resize_param)


def resize_of(param: pb.TransformationParameter) -> Size | None:
    """Return the size to which images are resized, or `None` if they keep their own size."""
    return next(((resize.height, resize.width) for resize in param.resize_param), None)


def crop_of(param: pb.TransformationParameter) -> Size | None:
    """Return the size of the crop, or `None` if images aren't cropped."""
    height, width = param.crop_h or param.crop_size, param.crop_w or param.crop_size
    return (height, width) if height and width else None


def describe(param: pb.TransformationParameter) -> str:
    """Return a description of the transform in words."""
    resized, crop = resize_of(param), crop_of(param)
    fitted = "fitted into" if is_padded(param) else "resized to"
    parts = [f"{fitted} {_in_words(resized)}"] if resized else []
    parts += (
        [f"cropped to {_in_words(crop)}{'' if resized else ' in their own size'}"] if crop and crop != resized else []
    )
    parts += ["mirrored in half of the cases"] if param.mirror else []
    parts += [f"minus {','.join(f'{value:g}' for value in param.mean_value)}"] if param.mean_value else []
    parts += [f"minus {Path(param.mean_file).name}"] if param.mean_file else []
    parts += [f"times {param.scale:g}"] if param.scale != 1 else []
    return ", ".join(parts) or "as they are"


def _mean_size(param: pb.TransformationParameter) -> Size | None:
    mean = Mean(param).image
    return None if mean is None else (mean.shape[1], mean.shape[2])


def _in_words(size: Size) -> str:
    return f"{size[0]}x{size[1]}"


@dataclass(frozen=True)
class Beforehand:
    """The part of a transform that Caffe lacks, for images before they are stored, and `rest`, the settings that Caffe
    has."""

    rest: pb.TransformationParameter
    resizing: ImageResizing | None = None
    crop: tuple[int, int] | None = None

    @classmethod
    def of(cls, param: pb.TransformationParameter, *, train: bool) -> Beforehand:
        """Return the parts of a layer's settings.

        Raises a `DataError` if the settings crop at random and the crop isn't a square, which Caffe can't do.
        """
        if param.HasField("random_aspect_ratio_param"):
            raise DataError("Caffe can't draw parts of images and resize them; remove random_aspect_ratio_param")
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
            raise DataError(
                f"Caffe can only draw square crops, not crops of {crop[0]} x {crop[1]}; set one crop_size, or "
                "resize_param to the crop's height and width"
            )
        return cls(rest, resizing, crop)

    def __call__(self, image: Array) -> Array:
        """Return an image in its new size. If its interpolation is random, this choice is always the same."""
        return self.cropped(self.resizing(image, np.random.default_rng(0)) if self.resizing else image)

    def cropped(self, image: Array) -> Array:
        """Return the central part of an image, or of a mean image, that a transform would cut out."""
        if self.crop is None:
            return image
        (height, width), (high, wide) = image.shape[1:], self.crop
        if high > height or wide > width:
            raise DataError(
                f"a crop of {high} x {wide} is larger than the image of {height} x {width}; use a smaller crop or "
                "larger images"
            )
        top, left = (height - high) // 2, (width - wide) // 2
        return image[:, top : top + high, left : left + wide]

"""Settings of a transform by which an image of any size becomes the input of a net."""

from __future__ import annotations

from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.channels import COLORS, GRAY
from netdsl.data.transforms.mean import Mean
from netdsl.errors import NetError

Size = tuple[int, int]  # height and width


def settings_in_tests(
    param: pb.TransformationParameter, channels: int, size: Size | None = None
) -> pb.TransformationParameter:
    """The settings of a data layer for tests, with what it leaves to the data.

    All images get the channels of the input, and a size that the layer doesn't refuse: that of the mean image or, if
    nothing is cropped, that of the input. None is mirrored.
    """
    if channels not in (GRAY, COLORS):
        raise NetError(f"takes {channels} channels, and images have 1 or 3; make a table, with a value for each")
    made = copy_of(param)
    for field in ("mirror", "force_gray", "force_color"):
        made.ClearField(field)
    setattr(made, "force_gray" if channels == GRAY else "force_color", True)
    resized = resize_of(made) or _mean_size(made) or (None if crop_of(made) else size)
    if resized is not None and not made.resize_param:
        resize_to(made, *resized)
    if size is not None and size != (crop_of(made) or resized):
        made.ClearField("crop_size")
        made.crop_h, made.crop_w = size
    return made


def resize_to(param: pb.TransformationParameter, height: int, width: int) -> None:
    """Let images be resized, whatever their proportions."""
    param.resize_param.add(resize_mode=pb.ResizeParameter.WARP, height=height, width=width)


def resize_of(param: pb.TransformationParameter) -> Size | None:
    """The size that images get; None if they keep their own."""
    return next(((resize.height, resize.width) for resize in param.resize_param), None)


def crop_of(param: pb.TransformationParameter) -> Size | None:
    """The size of what is cut out of images; None if they stay whole."""
    height, width = param.crop_h or param.crop_size, param.crop_w or param.crop_size
    return (height, width) if height and width else None


def copy_of(param: pb.TransformationParameter) -> pb.TransformationParameter:
    """A copy of settings."""
    copied = pb.TransformationParameter()
    copied.CopyFrom(param)
    return copied


def describe(param: pb.TransformationParameter) -> str:
    """What is done to images, in words."""
    resized, crop = resize_of(param), crop_of(param)
    parts = [f"resized to {_text(resized)}"] if resized else []
    parts += [f"cropped to {_text(crop)}{'' if resized else ' in their own size'}"] if crop and crop != resized else []
    parts += ["mirrored in half of the cases"] if param.mirror else []
    parts += [f"minus {','.join(f'{value:g}' for value in param.mean_value)}"] if param.mean_value else []
    parts += [f"minus {Path(param.mean_file).name}"] if param.mean_file else []
    parts += [f"times {param.scale:g}"] if param.scale != 1 else []
    return ", ".join(parts) or "as they are"


def _mean_size(param: pb.TransformationParameter) -> Size | None:
    mean = Mean(param).image
    return None if mean is None else (mean.shape[1], mean.shape[2])


def _text(size: Size) -> str:
    return f"{size[0]}x{size[1]}"

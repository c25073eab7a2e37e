"""Conversion between a card's description of the input and the settings of Caffe's data layers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.decode import GRAY
from netdsl.data.transforms.image_settings import crop_of, is_padded, resize_of, resize_to
from netdsl.data.transforms.mean import Mean
from netdsl.data.transforms.resizing import ShortSide
from netdsl.errors import NetError
from netdsl.model.data_shapes import dimensions
from zoo.cards import Channels, ImageInput


def transform_of(image: ImageInput, folder: Path) -> pb.TransformationParameter:
    """Return the card's settings for images whose channels are in the card's order. A mean file belongs to the model's
    folder. Standardization isn't one of a data layer's settings.

    Raises an error if the card can't be followed.
    """
    resized, transform = image.resize or image.size, pb.TransformationParameter()
    if min(image.size) < 1 or any(part > whole for part, whole in zip(image.size, resized, strict=True)):
        raise NetError(
            f"{folder}: the card crops images of {dimensions(resized)} to {dimensions(image.size)}; let its "
            "`size` be above 0 and no larger than its `resize`"
        )
    resize_to(transform, *resized, padded=image.padded)
    if resized != image.size:
        transform.crop_h, transform.crop_w = image.size
    if image.standardized and (image.mean or image.scale != 1):
        raise NetError(
            f"{folder}: the card sets `standardized`, which subtracts each image's own mean, and also `mean` or "
            "`scale`; remove these"
        )
    if image.scale != 1:
        transform.scale = image.scale
    setattr(transform, "force_gray" if image.channels.count == GRAY else "force_color", True)
    _add_mean(transform, image, folder, (image.channels.count, *resized))
    return transform


def short_side_of(image: ImageInput, folder: Path) -> ShortSide:
    """Return the card's settings for a net that accepts images of any size. `size` is the size of the largest
    images."""
    if isinstance(image.mean, str):
        raise NetError(
            f"{folder}: the card names '{image.mean}' as a mean, but the net accepts images of any size; let "
            "the card's `mean` be a value for each channel"
        )
    if image.padded or image.standardized or image.resize not in (None, image.size):
        raise NetError(
            f"{folder}: the card sets `resize`, `padded` or `standardized`, but the net reads whole images; keep only "
            "`size`"
        )
    _check_values(image.mean, folder, image.channels.count)
    shorter, longer = sorted(image.size)
    return ShortSide(shorter, longer, image.mean or (0.0,), image.scale)


def _add_mean(
    transform: pb.TransformationParameter, image: ImageInput, folder: Path, shape: tuple[int, int, int]
) -> None:
    if not isinstance(image.mean, str):
        _check_values(image.mean, folder, shape[0])
        transform.mean_value.extend(image.mean)
        return
    if Path(image.mean).name != image.mean:
        raise NetError(
            f"{folder}: the card names '{image.mean}' as a mean, which isn't a file in that folder; put it there, "
            "or let `mean` be a value for each channel"
        )
    transform.mean_file = str(folder / image.mean)
    mean = Mean(transform).image
    assert mean is not None
    if mean.shape != shape:
        raise NetError(
            f"{transform.mean_file}: the mean has {mean.shape[0]} channels and {dimensions(mean.shape[1:])}, "
            f"but images have {shape[0]} and {dimensions(shape[1:])} when the card subtracts it; let the card's "
            "`resize` be the mean's size, or its `mean` a value for each channel"
        )


def _check_values(mean: Sequence[float], folder: Path, channels: int) -> None:
    if len(mean) not in (0, 1, channels):
        raise NetError(
            f"{folder}: the card gives {len(mean)} values as a mean, for {channels} channels; give a value for each "
            "channel, or only one"
        )


def image_input(transform: pb.TransformationParameter) -> ImageInput | None:
    """Return the card's form of settings for images in Caffe's channel order. The mean file is in the card's folder.

    Returns `None` for settings that only a data layer can express: images that keep their sizes, have borders that
    aren't black, or aren't resized linearly.
    """
    resized = resize_of(transform)
    modes = {mode for resize in transform.resize_param for mode in resize.interp_mode}
    if resized is None or modes - {pb.ResizeParameter.LINEAR}:
        return None
    padded = is_padded(transform)
    if padded and not all(_has_black_borders(resize) for resize in transform.resize_param):
        return None
    size = crop_of(transform) or resized
    return ImageInput(
        size,
        Channels.GRAY if transform.force_gray else Channels.BGR,
        None if resized == size else resized,
        Path(transform.mean_file).name if transform.mean_file else tuple(transform.mean_value),
        transform.scale,
        padded,
    )


def _has_black_borders(resize: pb.ResizeParameter) -> bool:
    return resize.pad_mode == pb.ResizeParameter.CONSTANT and not any(resize.pad_value)


def unlike_layer(image: ImageInput, layer: pb.TransformationParameter | None) -> list[str]:
    """Return a warning that lists the steps of the net's data layer that are missing from the card. The list is empty
    if there are none."""
    if layer is None:
        return []
    unchanged = not (image.mean or image.standardized)
    missing = ["subtracts a mean"] if unchanged and (layer.mean_file or layer.mean_value) else []
    missing += [f"multiplies values by {layer.scale:g}"] if image.scale == 1 != layer.scale else []
    if not missing:
        return []
    return [f"The net's data layer {' and '.join(missing)}, but the card doesn't; the card's settings are used."]

"""What a card says of a model's input, as the settings of Caffe's data layers, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.decode import COLORS, GRAY
from netdsl.data.transforms.image_settings import crop_of, resize_of, resize_to
from netdsl.data.transforms.mean import Mean
from netdsl.data.transforms.resizing import ShortSide
from netdsl.errors import NetError
from netdsl.model.data_shapes import dimensions
from zoo.cards import Channels, ImageInput


def transform_of(image: ImageInput, folder: Path) -> pb.TransformationParameter:
    """Return what a card says, for images whose channels are in the card's order; a mean's file is one of the model's
    folder.

    A card that can't be followed is an error.
    """
    resized, transform = image.resize or image.size, pb.TransformationParameter()
    if min(image.size) < 1 or any(part > whole for part, whole in zip(image.size, resized, strict=True)):
        raise NetError(
            f"{folder}: its card says that images of {dimensions(resized)} are cropped to {dimensions(image.size)}"
        )
    resize_to(transform, *resized)
    if resized != image.size:
        transform.crop_h, transform.crop_w = image.size
    if image.scale != 1:
        transform.scale = image.scale
    gray = image.channels is Channels.GRAY
    setattr(transform, "force_gray" if gray else "force_color", True)
    _add_mean(transform, image, folder, (GRAY if gray else COLORS, *resized))
    return transform


def short_side_of(image: ImageInput, folder: Path) -> ShortSide:
    """Return what a card says, for a net that takes images of any size: `size` is that of the largest."""
    if isinstance(image.mean, str):
        raise NetError(
            f"{folder}: its card names '{image.mean}' as a mean, and the net takes images of any size; let the card's "
            "`mean` be a value for each channel"
        )
    if image.resize not in (None, image.size):
        raise NetError(f"{folder}: its card has a `resize`, and the net takes whole images; let it have only `size`")
    _check_values(image.mean, folder, GRAY if image.channels is Channels.GRAY else COLORS)
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
        raise NetError(f"{folder}: its card names '{image.mean}' as a mean, which must be a file in that folder")
    transform.mean_file = str(folder / image.mean)
    mean = Mean(transform).image
    assert mean is not None
    if mean.shape != shape:
        raise NetError(
            f"{transform.mean_file}: is a mean of {mean.shape[0]} channels and {dimensions(mean.shape[1:])}, and by "
            f"the card images have {shape[0]} and {dimensions(shape[1:])} when it is subtracted; let the card's "
            "`resize` be the mean's size, or its `mean` a value for each channel"
        )


def _check_values(mean: Sequence[float], folder: Path, channels: int) -> None:
    if len(mean) not in (0, 1, channels):
        raise NetError(f"{folder}: its card has {len(mean)} values as a mean, for {channels} channels")


def image_input(transform: pb.TransformationParameter) -> ImageInput | None:
    """Return what a card says of settings for images in Caffe's order of channels, with the mean's file in the card's
    folder.

    None for what only a data layer can say: images keep their sizes, or aren't resized linearly.
    """
    resized = resize_of(transform)
    modes = {mode for resize in transform.resize_param for mode in resize.interp_mode}
    if resized is None or modes - {pb.ResizeParameter.LINEAR}:
        return None
    size = crop_of(transform) or resized
    return ImageInput(
        size,
        Channels.GRAY if transform.force_gray else Channels.BGR,
        None if resized == size else resized,
        Path(transform.mean_file).name if transform.mean_file else tuple(transform.mean_value),
        transform.scale,
    )


def unlike_layer(image: ImageInput, layer: pb.TransformationParameter | None) -> list[str]:
    """Return what the net's data layer does to values and the card doesn't, as a sentence if there is something."""
    if layer is None:
        return []
    missing = ["subtracts a mean"] if not image.mean and (layer.mean_file or layer.mean_value) else []
    missing += [f"multiplies values by {layer.scale:g}"] if image.scale == 1 != layer.scale else []
    if not missing:
        return []
    return [f"The net's data layer {' and '.join(missing)}, and the card doesn't; what the card says is done."]

"""What a card says of a model's input, as Caffe's message, and the other way round."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.tuning.preparation import resize_to
from zoo.cards import Channels, ImageInput


def transform_of(image: ImageInput) -> pb.TransformationParameter:
    """What a card says, as Caffe's message."""
    if image.channels is Channels.RGB:
        raise NetError(
            "the card says that the net takes RGB, and Caffe's data layers give BGR; `zoo export --rgb` makes "
            "a net that takes the other order"
        )
    transform = pb.TransformationParameter()
    resize_to(transform, *(image.resize or image.size))
    if image.resize is not None:
        transform.crop_h, transform.crop_w = image.size
    if isinstance(image.mean, str):
        transform.mean_file = image.mean
    else:
        transform.mean_value.extend(image.mean)
    if image.scale != 1:
        transform.scale = image.scale
    if image.channels is Channels.GRAY:
        transform.force_gray = True
    else:
        transform.force_color = True
    return transform


def image_input(transform: pb.TransformationParameter, channels: int) -> ImageInput | None:
    """What a card says of a preparation; None where no size is stated."""
    resize = next(((resize.height, resize.width) for resize in transform.resize_param), None)
    crop = transform.crop_h or transform.crop_size, transform.crop_w or transform.crop_size
    size = crop if all(crop) else resize
    if size is None:
        return None
    return ImageInput(
        size,
        Channels.GRAY if channels == 1 else Channels.BGR,
        resize if resize != size else None,
        transform.mean_file or tuple(transform.mean_value),
        transform.scale,
    )

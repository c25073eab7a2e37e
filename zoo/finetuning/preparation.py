"""How images are prepared for a model: by its card, or else by its own data layers, or else by what it takes."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import BringsData
from netdsl.layer.data import stated_shapes
from netdsl.layers import LAYERS
from zoo.cards import Card, Channels, ImageInput


def transforms_of(net: pb.NetParameter, card: Card | None) -> dict[pb.Phase, pb.TransformationParameter]:
    """What is done to images for training and for tests. They are mirrored in training where the authors did so."""
    for_training, for_tests = (_own_transform(net, phase) for phase in (pb.TRAIN, pb.TEST))
    if card is not None and card.input is not None:
        transform = transform_of(card.input)
        transforms = {pb.TRAIN: transform, pb.TEST: _copy(transform)}
    elif for_training is not None:
        transforms = {pb.TRAIN: _copy(for_training), pb.TEST: _copy(for_tests or for_training)}
    else:
        transforms = {phase: _to_size(net) for phase in (pb.TRAIN, pb.TEST)}
    if for_training is not None and for_training.mirror:
        transforms[pb.TRAIN].mirror = True
    return transforms


def transform_of(image: ImageInput) -> pb.TransformationParameter:
    """What a card says, as Caffe's message."""
    if image.channels is Channels.RGB:
        raise NetError(
            "the card says that the net takes RGB, and Caffe's data layers give BGR; `zoo export --rgb` makes "
            "a net that takes the other order"
        )
    transform = pb.TransformationParameter()
    _resize(transform, *(image.resize or image.size))
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


def describe(transform: pb.TransformationParameter) -> str:
    """What is done to images, in words."""
    height, width = transform.crop_h or transform.crop_size, transform.crop_w or transform.crop_size
    parts = [f"resized to {resize.height}x{resize.width}" for resize in transform.resize_param]
    parts += [f"cropped to {height}x{width}"] if height else []
    parts += ["mirrored in half of the cases"] if transform.mirror else []
    parts += ["made gray"] if transform.force_gray else []
    parts += [f"minus {','.join(f'{value:g}' for value in transform.mean_value)}"] if transform.mean_value else []
    parts += [f"minus {transform.mean_file}"] if transform.mean_file else []
    parts += [f"times {transform.scale:g}"] if transform.scale != 1 else []
    return ", ".join(parts) or "as they are"


def _own_transform(net: pb.NetParameter, phase: pb.Phase) -> pb.TransformationParameter | None:
    """The preparation that a net's data layer of a phase states."""
    for layer in net.layer:
        rules = [rule.phase for rule in layer.include if rule.HasField("phase")]
        if layer.HasField("transform_param") and not layer.bottom and phase in (rules or [phase]):
            return layer.transform_param
    return None


def _to_size(net: pb.NetParameter) -> pb.TransformationParameter:
    """The size and the channels that a net's input states."""
    shapes = [
        shape
        for layer in net.layer
        if (kind := LAYERS.get(layer.type)) is not None and issubclass(kind, BringsData)
        for shape in stated_shapes(layer)
        if len(shape) == 4
    ]
    if len(shapes) != 1 or shapes[0][1] not in (1, 3):
        raise NetError(f"net '{net.name}' doesn't say how images are prepared for it; its card can, in `input`")
    transform = pb.TransformationParameter()
    _resize(transform, *shapes[0][2:])
    transform.force_gray, transform.force_color = shapes[0][1] == 1, shapes[0][1] == 3
    return transform


def _resize(transform: pb.TransformationParameter, height: int, width: int) -> None:
    transform.resize_param.add(resize_mode=pb.ResizeParameter.WARP, height=height, width=width)


def _copy(transform: pb.TransformationParameter) -> pb.TransformationParameter:
    copied = pb.TransformationParameter()
    copied.CopyFrom(transform)
    return copied

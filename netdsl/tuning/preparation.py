"""How images are prepared for a net: as its data layers say, or else by what it takes."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import BringsData
from netdsl.layer.data import stated_shapes
from netdsl.layers import LAYERS


def transforms_of(
    net: pb.NetParameter, stated: pb.TransformationParameter | None = None
) -> dict[pb.Phase, pb.TransformationParameter]:
    """What is done to images for training and for tests: what is stated, or what the net's data layers say.

    Images are mirrored in training where the authors did so.
    """
    for_training, for_tests = (_own_transform(net, phase) for phase in (pb.TRAIN, pb.TEST))
    if stated is not None:
        transforms = {phase: _copy(stated) for phase in (pb.TRAIN, pb.TEST)}
    elif for_training is not None:
        transforms = {pb.TRAIN: _copy(for_training), pb.TEST: _copy(for_tests or for_training)}
    else:
        transforms = {phase: _to_size(net) for phase in (pb.TRAIN, pb.TEST)}
    if for_training is not None and for_training.mirror:
        transforms[pb.TRAIN].mirror = True
    return transforms


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
        raise NetError(
            f"net '{net.name}' doesn't say how images are prepared for it; a data layer's transform_param can, or the "
            "`input` of a card"
        )
    transform = pb.TransformationParameter()
    resize_to(transform, *shapes[0][2:])
    transform.force_gray, transform.force_color = shapes[0][1] == 1, shapes[0][1] == 3
    return transform


def resize_to(transform: pb.TransformationParameter, height: int, width: int) -> None:
    """Let images be resized, whatever their proportions."""
    transform.resize_param.add(resize_mode=pb.ResizeParameter.WARP, height=height, width=width)


def _copy(transform: pb.TransformationParameter) -> pb.TransformationParameter:
    copied = pb.TransformationParameter()
    copied.CopyFrom(transform)
    return copied

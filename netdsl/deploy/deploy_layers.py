"""The layers of a deploy net, made from those of the net that was trained."""

from __future__ import annotations

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Layer

_TRAINING = ("include", "exclude", "phase", "loss_weight", "loss_param", "propagate_down")


def predicting(layer: pb.LayerParameter, old: type[Layer], new: type[Layer], bottom: str) -> pb.LayerParameter:
    """The layer in the place of a loss. The second top of a loss is its prediction, if it has one."""
    made = pb.LayerParameter()
    made.CopyFrom(layer)
    made.type = new.__name__
    made.bottom[:] = [bottom]
    made.top[:] = layer.top[1:2]
    _carry_settings(made, old, new)
    return made


def instead(layer: pb.LayerParameter, old: type[Layer], new: type[Layer]) -> pb.LayerParameter:
    """The layer in the place of one that has something to do in training only."""
    made = predicting(layer, old, new, layer.bottom[0])
    made.top[:] = layer.top[:1]
    made.ClearField("python_param")  # with which it would be the old one again
    return made


def _carry_settings(layer: pb.LayerParameter, old: type[Layer], new: type[Layer]) -> None:
    """The settings that both types have stay; the others are the loss's own."""
    source, target = _block(layer, old), _block(layer, new)
    if source is None or source == target:
        return
    for setting, value in getattr(layer, source).ListFields():
        if target is not None and setting.name in getattr(layer, target).DESCRIPTOR.fields_by_name:
            setattr(getattr(layer, target), setting.name, value)
    layer.ClearField(source)


def _block(layer: pb.LayerParameter, kind: type[Layer]) -> str | None:
    """The field with a type's settings."""
    wanted = kind.config.DESCRIPTOR if kind.config is not None else None
    return next((each.name for each in layer.DESCRIPTOR.fields if wanted and each.message_type == wanted), None)


def cleaned(layer: pb.LayerParameter, kind: type[Layer] | None = None) -> pb.LayerParameter:
    """A copy without what only training needs; a parameter's name stays, since layers share it."""
    made = pb.LayerParameter()
    made.CopyFrom(layer)
    for name in _TRAINING:
        made.ClearField(name)
    for spec in made.param:
        spec.ClearField("lr_mult")
        spec.ClearField("decay_mult")
    if not any(spec.ListFields() for spec in made.param):
        del made.param[:]
    if kind is not None and kind.blobs and not kind.fillers_make_blobs:
        for block in [value for each, value in made.ListFields() if isinstance(value, Message)]:
            _forget_fillers(block)
    return made


def _forget_fillers(block: Message) -> None:
    for setting, _ in block.ListFields():
        if setting.message_type is not None and setting.message_type == pb.FillerParameter.DESCRIPTOR:
            block.ClearField(setting.name)

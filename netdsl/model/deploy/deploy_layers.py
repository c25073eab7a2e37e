"""Creates the layers of a deploy net from those of the trained net."""

from __future__ import annotations

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.layer import Layer

_TRAINING_FIELDS = ("include", "exclude", "phase", "loss_weight", "loss_param", "propagate_down")


def prediction_layer(layer: pb.LayerParameter, old: type[Layer], new: type[Layer], bottom: str) -> pb.LayerParameter:
    """Return the layer that predicts in place of a loss. If a loss has a second top, it is the prediction."""
    prediction = copy_of(layer)
    prediction.type = new.__name__
    prediction.bottom[:] = [bottom]
    prediction.top[:] = layer.top[1:2]
    _carry_settings(prediction, old, new)
    return prediction


def replacement_layer(layer: pb.LayerParameter, old: type[Layer], new: type[Layer]) -> pb.LayerParameter:
    """Return the replacement of a layer that acts only in training."""
    replacement = prediction_layer(layer, old, new, layer.bottom[0])
    replacement.top[:] = layer.top[:1]
    replacement.ClearField("python_param")  # it would name the old type
    return replacement


def _carry_settings(layer: pb.LayerParameter, old: type[Layer], new: type[Layer]) -> None:
    """Keep the settings that both types have, and remove the others."""
    source, target = settings_field(layer, old), settings_field(layer, new)
    if source is None or source == target:
        return
    for setting, value in getattr(layer, source).ListFields():
        if target is not None and setting.name in getattr(layer, target).DESCRIPTOR.fields_by_name:
            setattr(getattr(layer, target), setting.name, value)
    layer.ClearField(source)


def settings_field(layer: pb.LayerParameter, kind: type[Layer]) -> str | None:
    """Return the name of the field with a type's settings, or `None` if the type doesn't have settings."""
    settings = kind.config.DESCRIPTOR if kind.config is not None else None
    return next((field.name for field in layer.DESCRIPTOR.fields if settings and field.message_type == settings), None)


def deploy_layer(layer: pb.LayerParameter, kind: type[Layer] | None = None) -> pb.LayerParameter:
    """Return a copy of a layer without the fields that only training needs.

    Names of parameters stay because layers share parameters by name.
    """
    deployed = copy_of(layer, without=_TRAINING_FIELDS)
    for spec in deployed.param:
        spec.ClearField("lr_mult")
        spec.ClearField("decay_mult")
    if not any(spec.ListFields() for spec in deployed.param):
        del deployed.param[:]
    if kind is not None and kind.blobs and not kind.fillers_make_blobs:
        for settings in [value for _, value in deployed.ListFields() if isinstance(value, Message)]:
            _clear_fillers(settings)
    return deployed


def _clear_fillers(settings: Message) -> None:
    for setting, _ in settings.ListFields():
        if setting.message_type is not None and setting.message_type == pb.FillerParameter.DESCRIPTOR:
            settings.ClearField(setting.name)

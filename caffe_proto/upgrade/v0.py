"""Upgrades V0 layers to V1: the settings in `layers { layer { ... } }` move to a message for each layer type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import set_fields
from caffe_proto.errors import UpgradeError
from caffe_proto.locations import at_place
from caffe_proto.upgrade.v1 import TYPE_NAMES, layer_label, refuse_unknown, set_field

_V1 = pb.V1LayerParameter
_PADDING = "padding"


@dataclass(frozen=True)
class _Kind:
    """The V1 type for a V0 type, and the V0 fields that move to its settings message.

    Without a settings message, the fields move to the layer itself.
    """

    type: pb.V1LayerParameter.LayerType
    settings: str = ""
    fields: tuple[str, ...] = ()


_FILLED = ("num_output", "biasterm", "weight_filler", "bias_filler")
_WINDOW = ("pad", "kernelsize", "stride")
_DETECTION = ("det_fg_threshold", "det_bg_threshold", "det_fg_fraction", "det_context_pad", "det_crop_mode")
_OLD_DETECTION = ("context_pad", "crop_mode")  # the names before Caffe's first release, without `det_`
_IMAGES = ("rand_skip", "shuffle_images", "new_height", "new_width")

_KINDS = {
    "accuracy": _Kind(_V1.ACCURACY),
    "bnll": _Kind(_V1.BNLL),
    "concat": _Kind(_V1.CONCAT, "concat_param", ("concat_dim",)),
    "conv": _Kind(_V1.CONVOLUTION, "convolution_param", (*_FILLED, *_WINDOW, "group")),
    "data": _Kind(_V1.DATA, "data_param", ("source", "batchsize", "rand_skip")),
    "dropout": _Kind(_V1.DROPOUT, "dropout_param", ("dropout_ratio",)),
    "euclidean_loss": _Kind(_V1.EUCLIDEAN_LOSS),
    "flatten": _Kind(_V1.FLATTEN),
    "hdf5_data": _Kind(_V1.HDF5_DATA, "hdf5_data_param", ("source", "batchsize")),
    "hdf5_output": _Kind(_V1.HDF5_OUTPUT, fields=("hdf5_output_param",)),
    "im2col": _Kind(_V1.IM2COL),
    "images": _Kind(_V1.IMAGE_DATA, "image_data_param", ("source", "batchsize", *_IMAGES)),
    "infogain_loss": _Kind(_V1.INFOGAIN_LOSS, "infogain_loss_param", ("source",)),
    "innerproduct": _Kind(_V1.INNER_PRODUCT, "inner_product_param", _FILLED),
    "lrn": _Kind(_V1.LRN, "lrn_param", ("local_size", "alpha", "beta", "k")),
    "multinomial_logistic_loss": _Kind(_V1.MULTINOMIAL_LOGISTIC_LOSS),
    "pool": _Kind(_V1.POOLING, "pooling_param", (*_WINDOW, "pool")),
    "relu": _Kind(_V1.RELU),
    "sigmoid": _Kind(_V1.SIGMOID),
    "softmax": _Kind(_V1.SOFTMAX),
    "softmax_loss": _Kind(_V1.SOFTMAX_LOSS),
    "split": _Kind(_V1.SPLIT),
    "tanh": _Kind(_V1.TANH),
    "window_data": _Kind(_V1.WINDOW_DATA, "window_data_param", ("source", "batchsize", *_DETECTION, *_OLD_DETECTION)),
}

_COMMON_FIELDS = ("name", "blobs", "blobs_lr", "weight_decay")
_TRANSFORM = ("scale", "meanfile", "cropsize", "mirror")

_RENAMED = {
    "batchsize": "batch_size",
    "biasterm": "bias_term",
    "cropsize": "crop_size",
    "det_bg_threshold": "bg_threshold",
    "det_context_pad": "context_pad",
    "det_crop_mode": "crop_mode",
    "det_fg_fraction": "fg_fraction",
    "det_fg_threshold": "fg_threshold",
    "kernelsize": "kernel_size",
    "meanfile": "mean_file",
    "shuffle_images": "shuffle",
}


def upgrade_layers(net: pb.NetParameter) -> list[str]:
    """Upgrade a net's V0 layers to V1 in place, and return a sentence for each change."""
    if not any(layer.HasField("layer") for layer in net.layers):
        return []
    for index, layer in enumerate(net.layers):
        with at_place(layer):
            _refuse_mixture(layer, layer_label(layer.layer.name or layer.name, index))
    changes = _fold_padding(net)
    upgraded = []
    for index, old in enumerate(net.layers):
        if old.layer.type != _PADDING:
            where = layer_label(old.layer.name, index)
            with at_place(old):
                upgraded.append(_upgrade_layer(old, where))
            new_type = TYPE_NAMES[upgraded[-1].type] or "no type"
            changes.append(f"{where}: V0 type {old.layer.type or 'NONE'} became {new_type}")
    net.ClearField("layers")
    net.layers.extend(upgraded)
    return changes


def _refuse_mixture(layer: pb.V1LayerParameter, where: str) -> None:
    """Raise an `UpgradeError` for V1 fields in a net with V0 layers. Caffe drops such fields silently."""
    refuse_unknown(layer, where)
    refuse_unknown(layer.layer, where)
    for field, _ in set_fields(layer):
        if field.name not in ("bottom", "top", "layer"):
            raise UpgradeError(
                f"{where}: {field.name} is a V1 field, but the net has V0 layers; write all layers in one form"
            )


def _fold_padding(net: pb.NetParameter) -> list[str]:
    """Move the pad of each padding layer to the layers that read it, and return a sentence for each change."""
    producers = dict.fromkeys(net.input, -1)
    unread = {index: layer.layer.name for index, layer in enumerate(net.layers) if layer.layer.type == _PADDING}
    changes = []
    for index, layer in enumerate(net.layers):
        where = layer_label(layer.layer.name, index)
        for bottom in list(layer.bottom):
            with at_place(layer):
                producer = _producer(bottom, producers, where)
                if producer >= 0 and net.layers[producer].layer.type == _PADDING:
                    changes.append(_take_pad(layer, net.layers[producer], where))
                    unread.pop(producer, None)
        producers.update(dict.fromkeys(layer.top, index))
    return changes + [f"padding layer '{name}' was removed: no layer reads it" for name in unread.values()]


def _producer(bottom: str, producers: Mapping[str, int], where: str) -> int:
    """Return the index of the layer that produces a bottom, or -1 for an input of the net."""
    if bottom not in producers:
        raise UpgradeError(
            f"{where}: the bottom '{bottom}' isn't an input of the net or a top of an earlier layer; correct "
            "its name, or add a layer or an `input` with this name"
        )
    return producers[bottom]


def _take_pad(layer: pb.V1LayerParameter, padding: pb.V1LayerParameter, where: str) -> str:
    """Replace a layer's pad with that of the padding layer below it, as Caffe does."""
    name = padding.layer.name
    if layer.layer.type not in ("conv", "pool") or len(layer.bottom) != 1:
        raise UpgradeError(
            f"{where}: only a conv or pool layer with one bottom can read the padding layer '{name}'; change "
            "the bottom, or set pad in a conv or pool layer"
        )
    if len(padding.bottom) != 1 or len(padding.top) != 1:
        raise UpgradeError(
            f"padding layer '{name}': the layer must have one bottom and one top, but has {len(padding.bottom)} and "
            f"{len(padding.top)}; give it one of each"
        )
    layer.layer.pad = padding.layer.pad
    layer.bottom[0] = padding.bottom[0]
    return f"padding layer '{name}' became pad: {padding.layer.pad} of '{layer.layer.name}'"


def _upgrade_layer(old: pb.V1LayerParameter, where: str) -> pb.V1LayerParameter:
    layer = _V1(bottom=old.bottom, top=old.top, location=old.location or None, dialects=old.dialects)
    kind = _kind(old.layer, where)
    if old.layer.HasField("type"):
        layer.type = kind.type
    for field, value in old.layer.ListFields():
        if field.name != "type":
            target = _target_message(layer, kind, field.name)
            if target is None:
                raise UpgradeError(
                    f"{where}: V0 type '{old.layer.type}' doesn't accept {field.name}; remove {field.name}"
                )
            set_field(target, _RENAMED.get(field.name, field.name), value)
    return layer


def _kind(old: pb.V0LayerParameter, where: str) -> _Kind:
    if not old.HasField("type"):
        return _Kind(_V1.NONE)
    if old.type not in _KINDS:
        raise UpgradeError(f"{where}: '{old.type}' isn't a V0 type; use {', '.join(_KINDS)} or {_PADDING}")
    return _KINDS[old.type]


def _target_message(layer: pb.V1LayerParameter, kind: _Kind, field: str) -> Message | None:
    """Return the V1 message that contains a V0 field, or `None` if the layer's type doesn't have the field."""
    if field in _TRANSFORM:
        return layer.transform_param
    if field in kind.fields and kind.settings:
        settings: Message = getattr(layer, kind.settings)
        return settings
    return layer if field in (*_COMMON_FIELDS, *kind.fields) else None

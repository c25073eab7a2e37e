"""V0 to V1: `layers { layer { ... } }`, where all settings lie side by side, get a message of settings per type."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import UpgradeError
from caffe_proto.upgrade.v1 import TYPE_NAMES, put, refuse_unknown, title

_V1 = pb.V1LayerParameter
_PADDING = "padding"


@dataclass(frozen=True)
class _Kind:
    """What a V0 type becomes, and which V0 fields go to which message of settings (without one: to the layer)."""

    type: pb.V1LayerParameter.LayerType
    settings: str = ""
    fields: tuple[str, ...] = ()


_FILLED = ("num_output", "biasterm", "weight_filler", "bias_filler")
_WINDOW = ("pad", "kernelsize", "stride")
_DETECTION = ("det_fg_threshold", "det_bg_threshold", "det_fg_fraction", "det_context_pad", "det_crop_mode")
_EARLY_DETECTION = ("context_pad", "crop_mode")  # before Caffe's first release they had no `det_`
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
    "window_data": _Kind(_V1.WINDOW_DATA, "window_data_param", ("source", "batchsize", *_DETECTION, *_EARLY_DETECTION)),
}

_OF_ANY_TYPE = ("name", "blobs", "blobs_lr", "weight_decay")
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
    """Turn a net's V0 layers into V1 layers, in place; the sentences that say so, none if there is no V0 layer."""
    if not any(layer.HasField("layer") for layer in net.layers):
        return []
    for index, layer in enumerate(net.layers):
        _refuse_mixture(layer, title(layer.layer.name or layer.name, index))
    changes = _fold_padding(net)
    upgraded = []
    for index, old in enumerate(net.layers):
        if old.layer.type != _PADDING:
            where = title(old.layer.name, index)
            upgraded.append(_upgrade_layer(old, where))
            new_type = TYPE_NAMES[upgraded[-1].type] or "no type"
            changes.append(f"{where}: V0 type {old.layer.type or 'NONE'} became {new_type}")
    net.ClearField("layers")
    net.layers.extend(upgraded)
    return changes


def _refuse_mixture(layer: pb.V1LayerParameter, where: str) -> None:
    """Caffe drops, without a word, what a V1 layer says if there is a V0 layer in its net."""
    refuse_unknown(layer, where)
    refuse_unknown(layer.layer, where)
    for field, _ in layer.ListFields():
        if field.name not in ("bottom", "top", "layer"):
            raise UpgradeError(
                f"{where}: {field.name} is a field of V1 in a net of V0 layers; write all layers in one form"
            )


def _fold_padding(net: pb.NetParameter) -> list[str]:
    """Give the pad of each padding layer to the layers behind it; the sentences that say so."""
    makers = dict.fromkeys(net.input, -1)
    unread = {index: layer.layer.name for index, layer in enumerate(net.layers) if layer.layer.type == _PADDING}
    changes = []
    for index, layer in enumerate(net.layers):
        where = title(layer.layer.name, index)
        for bottom in list(layer.bottom):
            if bottom not in makers:
                raise UpgradeError(
                    f"{where}: its bottom '{bottom}' is no input of the net and no top of a layer before it; add it"
                )
            maker = makers[bottom]
            if maker >= 0 and net.layers[maker].layer.type == _PADDING:
                changes.append(_take_pad(layer, net.layers[maker], where))
                unread.pop(maker, None)
        makers.update(dict.fromkeys(layer.top, index))
    return changes + [f"padding layer '{name}' was removed: no layer reads it" for name in unread.values()]


def _take_pad(layer: pb.V1LayerParameter, padding: pb.V1LayerParameter, where: str) -> str:
    """Caffe's rule: the padding layer's pad replaces the layer's own."""
    name = padding.layer.name
    if layer.layer.type not in ("conv", "pool") or len(layer.bottom) != 1:
        raise UpgradeError(
            f"{where}: padding layer '{name}' can only be read by a conv or pool layer with one bottom; "
            "change the bottom or give the pad to such a layer"
        )
    if len(padding.bottom) != 1 or len(padding.top) != 1:
        raise UpgradeError(f"padding layer '{name}': it must have one bottom and one top; remove the others")
    layer.layer.pad = padding.layer.pad
    layer.bottom[0] = padding.bottom[0]
    return f"padding layer '{name}' became pad: {padding.layer.pad} of '{layer.layer.name}'"


def _upgrade_layer(old: pb.V1LayerParameter, where: str) -> pb.V1LayerParameter:
    layer = _V1(bottom=old.bottom, top=old.top)
    kind = _kind(old.layer, where)
    if old.layer.HasField("type"):
        layer.type = kind.type
    for field, value in old.layer.ListFields():
        if field.name != "type":
            home = _home(layer, kind, field.name)
            if home is None:
                raise UpgradeError(f"{where}: V0 type '{old.layer.type}' takes no {field.name}; remove {field.name}")
            put(home, _RENAMED.get(field.name, field.name), value)
    return layer


def _kind(old: pb.V0LayerParameter, where: str) -> _Kind:
    if not old.HasField("type"):
        return _Kind(_V1.NONE)
    if old.type not in _KINDS:
        raise UpgradeError(f"{where}: '{old.type}' is no V0 type; V0 has {', '.join(_KINDS)} and {_PADDING}")
    return _KINDS[old.type]


def _home(layer: pb.V1LayerParameter, kind: _Kind, field: str) -> Message | None:
    """The V1 message that a V0 field goes to, if the layer's type takes that field."""
    if field in _TRANSFORM:
        return layer.transform_param
    if field in kind.fields and kind.settings:
        settings: Message = getattr(layer, kind.settings)
        return settings
    return layer if field in (*_OF_ANY_TYPE, *kind.fields) else None

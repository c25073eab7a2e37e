"""Upgrades V1 layers to V2: `layers` with types from an enum become `layer` with types by name."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import UpgradeError
from caffe_proto.locations import at_place

_V1 = pb.V1LayerParameter

TYPE_NAMES = {
    _V1.NONE: "",
    _V1.ABSVAL: "AbsVal",
    _V1.ACCURACY: "Accuracy",
    _V1.ARGMAX: "ArgMax",
    _V1.BNLL: "BNLL",
    _V1.CONCAT: "Concat",
    _V1.CONTRASTIVE_LOSS: "ContrastiveLoss",
    _V1.CONVOLUTION: "Convolution",
    _V1.DATA: "Data",
    _V1.DECONVOLUTION: "Deconvolution",
    _V1.DROPOUT: "Dropout",
    _V1.DUMMY_DATA: "DummyData",
    _V1.ELTWISE: "Eltwise",
    _V1.EUCLIDEAN_LOSS: "EuclideanLoss",
    _V1.EXP: "Exp",
    _V1.FLATTEN: "Flatten",
    _V1.HDF5_DATA: "HDF5Data",
    _V1.HDF5_OUTPUT: "HDF5Output",
    _V1.HINGE_LOSS: "HingeLoss",
    _V1.IM2COL: "Im2col",
    _V1.IMAGE_DATA: "ImageData",
    _V1.INFOGAIN_LOSS: "InfogainLoss",
    _V1.INNER_PRODUCT: "InnerProduct",
    _V1.LRN: "LRN",
    _V1.MEMORY_DATA: "MemoryData",
    _V1.MULTINOMIAL_LOGISTIC_LOSS: "MultinomialLogisticLoss",
    _V1.MVN: "MVN",
    _V1.POOLING: "Pooling",
    _V1.POWER: "Power",
    _V1.RELU: "ReLU",
    _V1.SIGMOID: "Sigmoid",
    _V1.SIGMOID_CROSS_ENTROPY_LOSS: "SigmoidCrossEntropyLoss",
    _V1.SILENCE: "Silence",
    _V1.SLICE: "Slice",
    _V1.SOFTMAX: "Softmax",
    _V1.SOFTMAX_LOSS: "SoftmaxWithLoss",
    _V1.SPLIT: "Split",
    _V1.TANH: "TanH",
    _V1.THRESHOLD: "Threshold",
    _V1.WINDOW_DATA: "WindowData",
    # types of forks and early versions
    _V1.ACCURACY_REGRESSION: "AccuracyRegression",
    _V1.BATCH_NORM: "BatchNorm",
    _V1.BIN_ACCURACY: "BinaryAccuracy",
    _V1.BN: "BN",
    _V1.CROP: "Crop",
    _V1.ELTWISE_ACCURACY: "EltwiseAccuracy",
    _V1.ELTWISE_AFFINE: "EltwiseAffine",
    _V1.IMAGE_SEG_DATA: "ImageSegData",
    _V1.IMPORT: "Import",
    _V1.INSANITY: "Insanity",
    _V1.LOCAL: "Local",
    _V1.LOCAL_WEIGHTED_CONVOLUTION: "LocalWeightedConvolution",
    _V1.LRN_MAP: "LRNMap",
    _V1.MULTI_STAGE_MEANFIELD: "MultiStageMeanfield",
    _V1.NORMALIZE: "Normalize",
    _V1.PARSE_EVALUATE: "ParseEvaluate",
    _V1.PARSE_OUTPUT: "ParseOutput",
    _V1.RED_ACCURACY: "RedAccuracy",
    _V1.RED_SOFTMAX_LOSS: "RedSoftmaxWithLoss",
    _V1.RELU6: "ReLU6",
    _V1.ROIPOOLING: "ROIPooling",
    _V1.SIMPLE_FAST_MEANFIELD: "SimpleFastMeanfield",
    _V1.TRIPLET_LOSS: "TripletLoss",
    _V1.UNPOOLING: "Unpooling",
    _V1.WINDOW_CLS_DATA: "WindowClsData",
    _V1.WINDOW_INST_SEG_DATA: "WindowInstSegData",
    _V1.WINDOW_SEG_DATA: "WindowSegData",
}

_REWRITTEN = frozenset({"type", "param", "blob_share_mode", "blobs_lr", "weight_decay"})


def _signatures(message: type[Message]) -> set[tuple[str, object, object, object]]:
    return {(field.name, field.type, field.message_type, field.is_repeated) for field in message.DESCRIPTOR.fields}


_COPIED = frozenset(name for name, *_ in _signatures(_V1) & _signatures(pb.LayerParameter))


def upgrade_layers(net: pb.NetParameter) -> list[str]:
    """Upgrade a net's `layers` to `layer` in place, and return a sentence for each layer."""
    changes = []
    for index, old in enumerate(net.layers):
        where = layer_label(old.name, index)
        with at_place(old):
            layer = _upgrade_layer(old, where)
        net.layer.append(layer)
        changes.append(f"{where}: V1 type {_V1.LayerType.Name(old.type)} became {layer.type or 'no type'}")
    net.ClearField("layers")
    return changes


def layer_label(name: str, index: int) -> str:
    """Return the description of a layer for a sentence."""
    return f"layer '{name}'" if name else f"layer number {index + 1}, which has no name"


def set_field(message: Message, name: str, value: Any) -> None:
    """Set a field. If the field is repeated, append the value; if it is a message, merge it."""
    target = getattr(message, name)
    if isinstance(target, Message):
        target.MergeFrom(value)
    elif isinstance(target, MutableSequence):
        target.extend(value if isinstance(value, MutableSequence) else [value])
    else:
        setattr(message, name, value)


def refuse_unknown(message: Message, where: str) -> None:
    """Raise an `UpgradeError` for a field or an enum value that the schema doesn't have."""
    unknown = UnknownFieldSet(message)
    if len(unknown) > 0:
        number, value = unknown[0].field_number, unknown[0].data
        field = message.DESCRIPTOR.fields_by_number.get(number)
        what = f"field number {number}" if field is None else f"{field.name}: {value!r:.40}"
        raise UpgradeError(
            f"{where}: the schema doesn't have {what}; name the fork that wrote the file with --dialect, or "
            "skip the field with --lenient"
        )


def _upgrade_layer(old: pb.V1LayerParameter, where: str) -> pb.LayerParameter:
    refuse_unknown(old, where)
    layer = pb.LayerParameter()
    for field, value in old.ListFields():
        if field.name in _COPIED:
            set_field(layer, field.name, value)
        elif field.name not in _REWRITTEN:
            raise UpgradeError(
                f"{where}: {field.name} has no equivalent in today's form; remove it, or write the layer as "
                "`layer` with today's settings"
            )
    if old.HasField("type"):
        layer.type = TYPE_NAMES[old.type]
    _upgrade_params(old, layer)
    return layer


def _upgrade_params(old: pb.V1LayerParameter, layer: pb.LayerParameter) -> None:
    """Merge four parallel lists of any lengths into one list of `param`, as Caffe does."""
    columns: tuple[tuple[str, MutableSequence[Any]], ...] = (
        ("name", old.param),
        ("share_mode", old.blob_share_mode),
        ("lr_mult", old.blobs_lr),
        ("decay_mult", old.weight_decay),
    )
    for name, values in columns:
        for index, value in enumerate(values):
            if index == len(layer.param):
                layer.param.add()
            setattr(layer.param[index], name, value)

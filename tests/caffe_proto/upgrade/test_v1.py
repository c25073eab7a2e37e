"""V1 nets: `layers` become `layer`."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import UpgradeError
from caffe_proto.upgrade import upgrade_net
from caffe_proto.upgrade.v1 import TYPE_NAMES
from caffe_proto.wire import VARINT, tag, varint


def parse(text: str) -> pb.NetParameter:
    return text_format.Parse(text, pb.NetParameter())


def layer_of(v1: str) -> pb.LayerParameter:
    return upgrade_net(parse(f"layers {{ {v1} }}")).message.layer[0]


def layer(v2: str) -> pb.LayerParameter:
    return text_format.Parse(v2, pb.LayerParameter())


BVLC = """
    AbsVal Accuracy ArgMax BNLL Concat ContrastiveLoss Convolution Data Deconvolution Dropout DummyData Eltwise
    EuclideanLoss Exp Flatten HDF5Data HDF5Output HingeLoss Im2col ImageData InfogainLoss InnerProduct LRN MVN
    MemoryData MultinomialLogisticLoss Pooling Power ReLU Sigmoid SigmoidCrossEntropyLoss Silence Slice Softmax
    SoftmaxWithLoss Split TanH Threshold WindowData
"""
FORKS = """
    AccuracyRegression BN BatchNorm BinaryAccuracy Crop EltwiseAccuracy EltwiseAffine ImageSegData Import Insanity
    LRNMap Local LocalWeightedConvolution MultiStageMeanfield Normalize ParseEvaluate ParseOutput ROIPooling ReLU6
    RedAccuracy RedSoftmaxWithLoss SimpleFastMeanfield TripletLoss Unpooling WindowClsData WindowInstSegData
    WindowSegData
"""
OTHER_WORDS = {
    "NONE": "",
    "SOFTMAX_LOSS": "SoftmaxWithLoss",
    "RED_SOFTMAX_LOSS": "RedSoftmaxWithLoss",
    "BIN_ACCURACY": "BinaryAccuracy",
}


def test_every_value_of_the_enum_has_a_name() -> None:
    assert set(TYPE_NAMES) == set(pb.V1LayerParameter.LayerType.values())
    assert sorted(TYPE_NAMES.values()) == sorted(["", *BVLC.split(), *FORKS.split()])


@pytest.mark.parametrize("value", pb.V1LayerParameter.LayerType.values())
def test_names_keep_the_words_of_the_enum(value: pb.V1LayerParameter.LayerType) -> None:
    v1, v2 = pb.V1LayerParameter.LayerType.Name(value), TYPE_NAMES[value]
    assert v2 == OTHER_WORDS[v1] if v1 in OTHER_WORDS else v2.upper() == v1.replace("_", "")


@pytest.mark.parametrize(
    ("v1", "v2"),
    [
        ("CONVOLUTION", "Convolution"),
        ("SOFTMAX_LOSS", "SoftmaxWithLoss"),
        ("IM2COL", "Im2col"),
        ("TANH", "TanH"),
        ("BATCH_NORM", "BatchNorm"),
        ("RELU6", "ReLU6"),
        ("NONE", ""),
    ],
)
def test_a_v1_type_gets_its_name(v1: str, v2: str) -> None:
    assert layer_of(f"type: {v1}") == layer(f'type: "{v2}"')


def test_a_layer_without_a_type_gets_none() -> None:
    upgraded = upgrade_net(parse("layers { name: 'a' }"))
    assert upgraded.message.layer[0] == layer("name: 'a'")
    assert upgraded.changes == ("layer 'a': V1 type NONE became no type",)


def test_an_unnamed_layer_is_reported_by_its_number() -> None:
    changes = upgrade_net(parse("layers { name: 'a' type: RELU } layers { type: TANH }")).changes
    assert changes[1] == "layer number 2, which has no name: V1 type TANH became TanH"


def test_params_come_from_four_lists_of_any_length() -> None:
    v1 = "param: 'w' blob_share_mode: PERMISSIVE blob_share_mode: STRICT blobs_lr: 0 weight_decay: [1, 0, 0.25]"
    v2 = """param { name: 'w' share_mode: PERMISSIVE lr_mult: 0 decay_mult: 1 }
            param { share_mode: STRICT decay_mult: 0 } param { decay_mult: 0.25 }"""
    assert layer_of(v1) == layer(v2)


def test_fields_of_the_same_name_are_copied() -> None:
    same = """name: 'a' bottom: 'x' bottom: 'y' top: 'z' loss_weight: [0, 0.5]
              include { phase: TEST stage: 's' } include { min_level: 2 } exclude { not_stage: 't' }
              transform_param { mirror: true } loss_param { ignore_label: 3 } lrn_param { k: 2 }"""
    assert layer_of(same) == layer(same)


def test_settings_that_are_empty_stay_set() -> None:
    assert layer_of("relu_param {}").HasField("relu_param")


def test_blobs_survive() -> None:
    blobs = "blobs { num: 1 channels: 2 data: [0.5, -0.25] } blobs { shape { dim: 7 } stored: 4 }"
    assert layer_of(blobs) == layer(blobs)


def test_a_forks_type_and_settings_are_upgraded() -> None:
    assert layer_of("type: TRIPLET_LOSS triplet_loss_param {}") == layer("type: 'TripletLoss' triplet_loss_param {}")


def test_a_forks_settings_without_a_current_equivalent_are_refused() -> None:
    with pytest.raises(
        UpgradeError, match="layer 'a': binary_accuracy_param has no equivalent in today's form; remove it"
    ):
        layer_of("name: 'a' binary_accuracy_param {}")


def test_settings_of_deconvnet_become_current_ones() -> None:
    layer = layer_of("type: UNPOOLING unpooling_param { unpool: AVE kernel_size: 2 unpool_size: 14 }")
    assert (layer.type, layer.unpooling_param.unpool) == ("Unpooling", pb.UnPoolingParameter.AVE)
    assert (layer.unpooling_param.kernel_size, layer.unpooling_param.unpool_size) == (2, 14)


def with_unknown(number: int, value: int) -> pb.NetParameter:
    """Return a net whose second V1 layer contains a field number that the schema doesn't know."""
    net = parse("layers { type: RELU } layers { name: 'a' }")
    net.layers[1].MergeFromString(tag(number, VARINT) + varint(value))
    return net


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(
        UpgradeError, match="layer 'a': the schema doesn't have type: 7777; name the fork that wrote the file"
    ):
        upgrade_net(with_unknown(pb.V1LayerParameter.TYPE_FIELD_NUMBER, 7777))


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(UpgradeError, match="layer 'a': the schema doesn't have field number 4321; name the fork"):
        upgrade_net(with_unknown(4321, 1))

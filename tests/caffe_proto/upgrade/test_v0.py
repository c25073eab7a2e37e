"""V0 nets: `layers { layer { ... } }`, and padding layers."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import UpgradeError
from caffe_proto.upgrade import upgrade_net
from caffe_proto.wire import VARINT, tag, varint


def parse(text: str) -> pb.NetParameter:
    return text_format.Parse(text, pb.NetParameter())


def layer_of(v0: str) -> pb.LayerParameter:
    return upgrade_net(parse(f"layers {{ layer {{ {v0} }} }}")).message.layer[0]


def layer(v2: str) -> pb.LayerParameter:
    return text_format.Parse(v2, pb.LayerParameter())


FILLED = "num_output: 3 {} weight_filler {{ std: 2 }} bias_filler {{ value: 4 }}"
DETECTION = "{0}fg_threshold: 0.6 {0}bg_threshold: 0.4 {0}fg_fraction: 0.3 {0}context_pad: 16 {0}crop_mode: 'square'"


@pytest.mark.parametrize(
    ("v0", "v2"),
    [
        ("type: 'accuracy'", "type: 'Accuracy'"),
        ("type: 'bnll'", "type: 'BNLL'"),
        ("type: 'concat' concat_dim: 0", "type: 'Concat' concat_param { concat_dim: 0 }"),
        (
            f"type: 'conv' {FILLED.format('biasterm: false')} pad: 0 kernelsize: 5 group: 2 stride: 6",
            f"""type: 'Convolution' convolution_param {{ {FILLED.format("bias_term: false")}
                pad: 0 kernel_size: 5 group: 2 stride: 6 }}""",
        ),
        (
            "type: 'data' source: 's' batchsize: 8 rand_skip: 9",
            "type: 'Data' data_param { source: 's' batch_size: 8 rand_skip: 9 }",
        ),
        ("type: 'dropout' dropout_ratio: 0.3", "type: 'Dropout' dropout_param { dropout_ratio: 0.3 }"),
        ("type: 'euclidean_loss'", "type: 'EuclideanLoss'"),
        ("type: 'flatten'", "type: 'Flatten'"),
        (
            "type: 'hdf5_data' source: 's' batchsize: 8",
            "type: 'HDF5Data' hdf5_data_param { source: 's' batch_size: 8 }",
        ),
        (
            "type: 'hdf5_output' hdf5_output_param { file_name: 'f' }",
            "type: 'HDF5Output' hdf5_output_param { file_name: 'f' }",
        ),
        ("type: 'im2col'", "type: 'Im2col'"),
        (
            "type: 'images' source: 's' batchsize: 8 rand_skip: 9 shuffle_images: true new_height: 10 new_width: 11",
            """type: 'ImageData' image_data_param {
               source: 's' batch_size: 8 rand_skip: 9 shuffle: true new_height: 10 new_width: 11 }""",
        ),
        ("type: 'infogain_loss' source: 's'", "type: 'InfogainLoss' infogain_loss_param { source: 's' }"),
        (
            f"type: 'innerproduct' {FILLED.format('biasterm: true')}",
            f"type: 'InnerProduct' inner_product_param {{ {FILLED.format('bias_term: true')} }}",
        ),
        (
            "type: 'lrn' local_size: 3 alpha: 4 beta: 5 k: 6",
            "type: 'LRN' lrn_param { local_size: 3 alpha: 4 beta: 5 k: 6 }",
        ),
        ("type: 'multinomial_logistic_loss'", "type: 'MultinomialLogisticLoss'"),
        (
            "type: 'pool' pool: STOCHASTIC pad: 1 kernelsize: 3 stride: 2",
            "type: 'Pooling' pooling_param { pool: STOCHASTIC pad: 1 kernel_size: 3 stride: 2 }",
        ),
        ("type: 'pool' pool: AVE", "type: 'Pooling' pooling_param { pool: AVE }"),
        ("type: 'pool' pool: MAX", "type: 'Pooling' pooling_param { pool: MAX }"),
        ("type: 'relu'", "type: 'ReLU'"),
        ("type: 'sigmoid'", "type: 'Sigmoid'"),
        ("type: 'softmax'", "type: 'Softmax'"),
        ("type: 'softmax_loss'", "type: 'SoftmaxWithLoss'"),
        ("type: 'split'", "type: 'Split'"),
        ("type: 'tanh'", "type: 'TanH'"),
        (
            f"type: 'window_data' source: 's' batchsize: 8 {DETECTION.format('det_')}",
            f"type: 'WindowData' window_data_param {{ source: 's' batch_size: 8 {DETECTION.format('')} }}",
        ),
        (
            "type: 'window_data' context_pad: 16 crop_mode: 'square'",
            "type: 'WindowData' window_data_param { context_pad: 16 crop_mode: 'square' }",
        ),
        (
            "type: 'tanh' scale: 0.5 meanfile: 'm' cropsize: 7 mirror: false",
            "type: 'TanH' transform_param { scale: 0.5 mean_file: 'm' crop_size: 7 mirror: false }",
        ),
        ("name: 'a'", "name: 'a'"),
    ],
)
def test_each_type_keeps_its_fields(v0: str, v2: str) -> None:
    assert layer_of(v0) == layer(v2)


def test_fields_of_any_type_are_kept() -> None:
    v0 = "name: 'a' type: 'tanh' blobs { num: 3 data: 0.5 } blobs { stored: 2 } blobs_lr: [1, 2] weight_decay: 0"
    v2 = """name: 'a' type: 'TanH' blobs { num: 3 data: 0.5 } blobs { stored: 2 }
            param { lr_mult: 1 decay_mult: 0 } param { lr_mult: 2 }"""
    assert layer_of(v0) == layer(v2)


def test_settings_that_are_empty_stay_set() -> None:
    assert layer_of("type: 'conv' weight_filler {}").convolution_param.HasField("weight_filler")


def test_a_change_is_reported_once_for_each_layer() -> None:
    changes = upgrade_net(parse("layers { layer { name: 'a' type: 'conv' } } layers { layer { name: 'b' } }")).changes
    assert changes == (
        "layer 'a': V0 type conv became Convolution",
        "layer 'b': V0 type NONE became no type",
    )


@pytest.mark.parametrize("field", ["num_output: 3", "pool: MAX", "new_num: 4", "hdf5_output_param {}", "source: 's'"])
def test_a_field_that_the_type_does_not_have_is_refused(field: str) -> None:
    name = field.replace(":", " ").split()[0]
    with pytest.raises(UpgradeError, match=f"layer 'a': V0 type 'relu' doesn't accept {name}; remove {name}"):
        layer_of(f"name: 'a' type: 'relu' {field}")


def test_a_field_of_a_layer_without_a_type_is_refused() -> None:
    with pytest.raises(UpgradeError, match="layer 'a': V0 type '' doesn't accept stride"):
        layer_of("name: 'a' stride: 2")


@pytest.mark.parametrize("name", ["Convolution", ""])
def test_an_unknown_type_is_refused(name: str) -> None:
    with pytest.raises(UpgradeError, match=f"layer 'a': '{name}' isn't a V0 type; use accuracy, .* or padding"):
        layer_of(f"name: 'a' type: '{name}'")


def test_a_v1_layer_in_a_v0_net_is_refused() -> None:
    v0 = "layers { layer { name: 'a' type: 'tanh' } top: 'a' }"
    with pytest.raises(
        UpgradeError, match="layer 'b': name is a V1 field, but the net has V0 layers; write all layers"
    ):
        upgrade_net(parse(v0 + "layers { name: 'b' type: RELU bottom: 'a' }"))


def test_a_v1_field_next_to_a_v0_layer_is_refused() -> None:
    with pytest.raises(UpgradeError, match="layer 'a': include is a V1 field"):
        upgrade_net(parse("layers { layer { name: 'a' type: 'tanh' } include { phase: TEST } }"))


def test_an_unknown_value_is_refused() -> None:
    net = parse("layers { layer { name: 'a' type: 'pool' } }")
    net.layers[0].layer.MergeFromString(tag(pb.V0LayerParameter.POOL_FIELD_NUMBER, VARINT) + varint(9))
    with pytest.raises(UpgradeError, match="layer 'a': the schema doesn't have pool: 9"):
        upgrade_net(net)


def test_an_unknown_field_next_to_a_v0_layer_is_refused() -> None:
    net = parse("layers { layer { name: 'a' type: 'pool' } }")
    net.layers[0].MergeFromString(tag(4321, VARINT) + varint(1))
    with pytest.raises(UpgradeError, match="layer 'a': the schema doesn't have field number 4321"):
        upgrade_net(net)


PADDING = "input: 'x' layers { layer { name: 'p' type: 'padding' pad: 2 } bottom: 'x' top: 'p' }"


def test_padding_is_folded_into_each_reader() -> None:
    conv = "layers { layer { name: 'c' type: 'conv' pad: 1 } bottom: 'p' top: 'c' }"
    pool = "layers { layer { name: 'm' type: 'pool' } bottom: 'p' top: 'm' }"
    upgraded = upgrade_net(parse(PADDING + conv + pool))
    assert list(upgraded.message.layer) == [
        layer("name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { pad: 2 }"),
        layer("name: 'm' type: 'Pooling' bottom: 'x' top: 'm' pooling_param { pad: 2 }"),
    ]
    assert upgraded.changes == (
        "padding layer 'p' became pad: 2 of 'c'",
        "padding layer 'p' became pad: 2 of 'm'",
        "layer 'c': V0 type conv became Convolution",
        "layer 'm': V0 type pool became Pooling",
        "input without input_shape or input_dim was removed",
    )


def test_in_place_padding_is_folded() -> None:
    net = """input: 'x' layers { layer { name: 'p' type: 'padding' pad: 2 } bottom: 'x' top: 'x' }
             layers { layer { name: 'c' type: 'conv' } bottom: 'x' top: 'x' }
             layers { layer { name: 'r' type: 'relu' } bottom: 'x' top: 'x' }"""
    conv, relu = upgrade_net(parse(net)).message.layer
    assert conv == layer("name: 'c' type: 'Convolution' bottom: 'x' top: 'x' convolution_param { pad: 2 }")
    assert relu == layer("name: 'r' type: 'ReLU' bottom: 'x' top: 'x'")


def test_unread_padding_is_removed() -> None:
    upgraded = upgrade_net(parse(PADDING))
    assert not upgraded.message.layer
    assert upgraded.changes[0] == "padding layer 'p' was removed: no layer reads it"


@pytest.mark.parametrize(
    "reader",
    [
        "layers { layer { name: 'a' type: 'relu' } bottom: 'p' top: 'p' }",
        "layers { layer { name: 'a' type: 'padding' pad: 1 } bottom: 'p' top: 'q' }",
        "layers { layer { name: 'a' type: 'conv' } bottom: 'p' bottom: 'x' top: 'a' }",
        "layers { layer { name: 'a' type: 'conv' } bottom: 'x' bottom: 'p' top: 'a' }",
    ],
)
def test_padding_is_refused_before_layers_without_a_window(reader: str) -> None:
    with pytest.raises(
        UpgradeError, match="layer 'a': only a conv or pool layer with one bottom can read the padding layer 'p'"
    ):
        upgrade_net(parse(PADDING + reader))


@pytest.mark.parametrize("edges", ["bottom: 'x' bottom: 'x' top: 'p'", "bottom: 'x' top: 'p' top: 'q'", "top: 'p'"])
def test_padding_of_several_blobs_is_refused(edges: str) -> None:
    net = f"input: 'x' layers {{ layer {{ name: 'p' type: 'padding' }} {edges} }}"
    with pytest.raises(UpgradeError, match="padding layer 'p': the layer must have one bottom and one top"):
        upgrade_net(parse(net + "layers { layer { name: 'c' type: 'conv' } bottom: 'p' }"))


def test_an_unknown_bottom_is_refused() -> None:
    net = "layers { layer { name: 'a' type: 'relu' } bottom: 'b' top: 'a' } layers { layer {} top: 'b' }"
    with pytest.raises(
        UpgradeError, match="layer 'a': the bottom 'b' isn't an input of the net or a top of an earlier layer"
    ):
        upgrade_net(parse(net))

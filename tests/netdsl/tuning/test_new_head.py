"""Nets with new heads."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import NetError
from netdsl.model.model import Model
from netdsl.net.graph import Phase
from netdsl.tuning.heads import head_names
from netdsl.tuning.new_head import DataLayers, freeze, heads_of, with_data, with_heads

CONV = (
    'layer {{ name: "{0}" type: "Convolution" bottom: "{1}" top: "{0}" '
    "convolution_param {{ num_output: 4 kernel_size: 3 }} }}"
)
FULL = (
    'layer {{ name: "{0}" type: "InnerProduct" bottom: "{1}" top: "{0}" {2} '
    "inner_product_param {{ num_output: {3} }} }}"
)
RATES = "param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }"
DEPLOY = (
    'name: "small" input: "data" input_shape { dim: 1 dim: 3 dim: 12 dim: 12 }'
    + CONV.format("c", "data")
    + 'layer { name: "b" type: "BatchNorm" bottom: "c" top: "c" }'
    + FULL.format("f", "c", RATES, 7)
    + 'layer { name: "d" type: "Dropout" bottom: "f" top: "f" }'
    + 'layer { name: "p" type: "Softmax" bottom: "f" top: "p" }'
)
TRAINED = (
    'name: "small" layer { name: "rows" type: "Data" top: "data" top: "class" include { phase: TRAIN } }'
    'layer { name: "rows" type: "Data" top: "data" top: "class" include { phase: TEST } }'
    + CONV.format("c", "data")
    + FULL.format("f1", "c", RATES, 7)
    + 'layer { name: "l1" type: "SoftmaxWithLoss" bottom: "f1" bottom: "class" top: "l1" loss_weight: 0.3 }'
    + FULL.format("f2", "c", "", 7)
    + 'layer { name: "l2" type: "SoftmaxWithLoss" bottom: "f2" bottom: "class" top: "l2" }'
    'layer { name: "top5" type: "Accuracy" bottom: "f2" bottom: "class" top: "top5" accuracy_param { top_k: 5 } '
    "include { phase: TEST } }"
)
TRANSFORM = "resize_param { resize_mode: WARP height: 12 width: 12 }"


def net_of(text: str) -> pb.NetParameter:
    from netdsl.model.model import todays_form

    return todays_form(from_text(text, pb.NetParameter))


def data() -> DataLayers:
    phases = (pb.TRAIN, pb.TEST)
    transforms = {phase: from_text(TRANSFORM, pb.TransformationParameter) for phase in phases}
    return DataLayers(dict.fromkeys(phases, "shapes"), dict.fromkeys(phases, 2), transforms)


def layers(net: pb.NetParameter, phase: Phase) -> dict[str, tuple[int, ...]]:
    built = Model(net).settled(phase).built
    return {node.layer.name: built.shapes[node.tops[0]] for node, _ in built.pairs()}


def test_heads_are_found() -> None:
    assert head_names(net_of(DEPLOY)) == ["f"]
    assert head_names(net_of(TRAINED)) == ["f1", "f2"]


def test_a_net_to_deploy_becomes_one_to_train() -> None:
    net = net_of(DEPLOY)
    with_data(net, data())
    assert with_heads(net, heads_of(net, {}, 5), "photos") == {"f": "f_photos"}
    assert layers(net, Phase.TRAIN) == {
        "data": (2, 3, 12, 12), "c": (2, 4, 10, 10), "b": (2, 4, 10, 10), "f_photos": (2, 5), "d": (2, 5), "loss": ()
    }  # fmt: skip
    assert layers(net, Phase.TEST)["accuracy"] == ()
    head = next(layer for layer in net.layer if layer.name == "f_photos")
    assert [spec.lr_mult for spec in head.param] == [10, 20]
    assert head.inner_product_param.weight_filler.type == "xavier"


def test_a_net_with_two_heads_has_both_anew_and_one_measure() -> None:
    net = net_of(TRAINED)
    with_data(net, data())
    assert with_heads(net, heads_of(net, {}, 4), "x") == {"f1": "f1_x", "f2": "f2_x"}
    assert [layer.name for layer in net.layer if layer.type == "Accuracy"] == ["accuracy"]
    assert layers(net, Phase.TEST)["f1_x"] == (2, 4)
    measure = next(layer for layer in net.layer if layer.type == "Accuracy")
    assert list(measure.bottom) == ["f2", "class"]


def test_what_is_frozen_keeps_its_weights_and_statistics() -> None:
    net = net_of(DEPLOY)
    with_data(net, data())
    names = with_heads(net, heads_of(net, {}, 5), "photos")
    assert freeze(net, ["[bc]"], names.values()) == ["c", "b"]
    by_name = {layer.name: layer for layer in net.layer}
    assert [spec.lr_mult for spec in by_name["c"].param] == [0, 0]
    assert by_name["b"].batch_norm_param.use_global_stats
    with pytest.raises(NetError, match=r"--freeze 'conv\*': no layer of such a name has weights; there are c, b"):
        freeze(net, ["conv*"], names.values())


def test_a_head_of_the_same_name_gets_another_one() -> None:
    net = net_of(DEPLOY.replace('"c"', '"f_photos"'))
    with_data(net, data())
    assert with_heads(net, heads_of(net, {}, 5), "photos") == {"f": "f_photos_2"}


def test_a_named_head_counts() -> None:
    net = net_of(TRAINED)
    assert heads_of(net, {"f2": 20}, 4) == {"f2": 20}
    with pytest.raises(NetError, match="has no layer 'fc8' to replace"):
        heads_of(net, {"fc8": None}, 4)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('name: "n" input: "a" input: "b" input_shape { dim: 1 } input_shape { dim: 1 }'
         'layer { name: "e" type: "Eltwise" bottom: "a" bottom: "b" top: "e" }', "no layer makes the outputs"),
        ('name: "n" input: "a" input: "b" input_shape { dim: 1 dim: 2 } input_shape { dim: 1 dim: 2 }'
         'layer { name: "e" type: "Eltwise" bottom: "a" bottom: "b" top: "e" }' + FULL.format("f", "e", "", 3),
         "reads 'a', 'b'; fine-tuning is for nets that take an image"),
    ],
)  # fmt: skip
def test_nets_that_cannot_be_tuned_are_told(text: str, problem: str) -> None:
    net = net_of(text)
    with pytest.raises(NetError, match=problem):
        heads_of(net, {}, 4)
        with_data(net, data())

"""Giving nets new heads."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import NetError
from netdsl.model.model import Model, open_net
from netdsl.net.graph import Phase
from netdsl.tuning.new_head import DataLayers, TunableModel, heads_of, tunable_model, with_standardized_images

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
ROWS = (
    'layer {{ name: "rows" type: "Data" top: "data" top: "class" '
    "include {{ phase: {0} }} data_param {{ batch_size: 4 }} }}"
)
TRAINED = (
    'name: "small"'
    + ROWS.format("TRAIN")
    + ROWS.format("TEST")
    + CONV.format("c", "data")
    + FULL.format("f1", "c", RATES, 7)
    + 'layer { name: "l1" type: "SoftmaxWithLoss" bottom: "f1" bottom: "class" top: "l1" loss_weight: 0.3 }'
    + FULL.format("f2", "c", "", 7)
    + 'layer { name: "l2" type: "SoftmaxWithLoss" bottom: "f2" bottom: "class" top: "l2" }'
    'layer { name: "top5" type: "Accuracy" bottom: "f2" bottom: "class" top: "top5" accuracy_param { top_k: 5 } '
    "include { phase: TEST } }"
)
TRANSFORM = "resize_param { resize_mode: WARP height: 12 width: 12 }"


def model_of(text: str) -> Model:
    return open_net(from_text(text, pb.NetParameter))


def data() -> DataLayers:
    phases = (pb.TRAIN, pb.TEST)
    transforms = {phase: from_text(TRANSFORM, pb.TransformationParameter) for phase in phases}
    return DataLayers(dict.fromkeys(phases, "shapes"), dict.fromkeys(phases, 2), transforms)


def tuned(model: Model, classes: int, suffix: str, frozen: Sequence[str] = ()) -> TunableModel:
    return tunable_model(model, data(), heads_of(model, {}, classes), suffix, frozen)


def shapes(model: Model, phase: Phase) -> dict[str, tuple[int, ...]]:
    built = model.settled(phase).built
    return {node.layer.name: built.shapes[node.tops[0]] for node, _ in built.pairs()}


def layer_in(model: Model, name: str) -> pb.LayerParameter:
    (layer,) = (layer for layer in model.net.layer if layer.name == name)
    return layer


def test_heads_are_found() -> None:
    assert heads_of(model_of(DEPLOY), {}, 5) == {"f": 5}
    assert heads_of(model_of(TRAINED), {}, 5) == {"f1": 5, "f2": 5}


def test_a_net_to_deploy_becomes_one_to_train() -> None:
    tunable = tuned(model_of(DEPLOY), 5, "photos")
    assert tunable.heads == {"f": "f_photos"}
    assert shapes(tunable.model, Phase.TRAIN) == {
        "data": (2, 3, 12, 12), "c": (2, 4, 10, 10), "b": (2, 4, 10, 10), "f_photos": (2, 5), "d": (2, 5), "loss": ()
    }  # fmt: skip
    assert shapes(tunable.model, Phase.TEST)["accuracy"] == ()
    head = layer_in(tunable.model, "f_photos")
    assert [spec.lr_mult for spec in head.param] == [10, 20]
    assert head.inner_product_param.weight_filler.type == "xavier"


def test_a_net_with_two_heads_gets_two_new_ones_and_one_measure() -> None:
    tunable = tuned(model_of(TRAINED), 4, "x")
    assert tunable.heads == {"f1": "f1_x", "f2": "f2_x"}
    assert [layer.name for layer in tunable.model.net.layer if layer.type == "Accuracy"] == ["accuracy"]
    assert shapes(tunable.model, Phase.TEST)["f1_x"] == (2, 4)
    assert list(layer_in(tunable.model, "accuracy").bottom) == ["f2", "class"]


@pytest.mark.parametrize("text", [DEPLOY, TRAINED])
def test_standardized_images_are_a_layer_of_the_tunable_net(text: str) -> None:
    tunable = tuned(with_standardized_images(model_of(text)), 5, "photos")
    layer = layer_in(tunable.model, "standardized")
    assert (list(layer.bottom), list(layer.top), layer.mvn_param.across_channels) == (["data"], ["data"], True)
    names = [layer.name for layer in tunable.model.net.layer]
    assert names.index("standardized") == names.index("c") - 1
    assert shapes(tunable.model, Phase.TEST)["accuracy"] == ()


def test_frozen_layers_keep_their_weights_and_statistics() -> None:
    model = model_of(DEPLOY)
    tunable = tuned(model, 5, "photos", ["[bc]"])
    assert tunable.frozen == ("c", "b")
    assert [spec.lr_mult for spec in layer_in(tunable.model, "c").param] == [0, 0]
    assert layer_in(tunable.model, "b").batch_norm_param.use_global_stats
    with pytest.raises(NetError, match=r"--freeze 'conv\*': no layer with weights has such a name; name one of c, b"):
        tuned(model, 5, "photos", ["conv*"])


def test_batch_normalization_can_keep_the_statistics_of_the_model_and_still_learn_other_layers() -> None:
    model = model_of(DEPLOY)
    tunable = tunable_model(model, data(), heads_of(model, {}, 5), "photos", fixed_statistics=True)
    assert tunable.with_fixed_statistics == 1
    assert layer_in(tunable.model, "b").batch_norm_param.use_global_stats
    assert tunable.frozen == ()
    assert tuned(model, 5, "photos").with_fixed_statistics == 0


def test_a_head_in_both_phases_has_one_new_name() -> None:
    phases = "".join(FULL.format("f1", "c", f"include {{ phase: {phase} }}", 7) for phase in ("TRAIN", "TEST"))
    tunable = tuned(model_of(TRAINED.replace(FULL.format("f1", "c", RATES, 7), phases)), 4, "x")
    assert tunable.heads["f1"] == "f1_x"
    assert [layer.name for layer in tunable.model.net.layer if "f1" in layer.top] == ["f1_x", "f1_x"]


def test_a_model_is_unchanged() -> None:
    model = model_of(TRAINED)
    before = model.net.SerializeToString()
    tuned(model, 4, "x", ["c"])
    assert model.net.SerializeToString() == before


def test_a_data_layer_of_unavailable_code_is_replaced() -> None:
    model = model_of(TRAINED.replace('name: "rows" type: "Data"', 'name: "rows" type: "TheirRows"'))
    assert tuned(model, 4, "x", ["c"]).frozen == ("c",)


def test_a_new_head_with_an_existing_name_gets_another_name() -> None:
    assert tuned(model_of(DEPLOY.replace('"c"', '"f_photos"')), 5, "photos").heads == {"f": "f_photos_2"}


def test_a_named_head_counts() -> None:
    model = model_of(TRAINED)
    assert heads_of(model, {"f2": 20}, 4) == {"f2": 20}
    with pytest.raises(NetError, match="has no layer 'fc8' to replace"):
        heads_of(model, {"fc8": None}, 4)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('name: "n" input: "a" input: "b" input_shape { dim: 1 } input_shape { dim: 1 }'
         'layer { name: "e" type: "Eltwise" bottom: "a" bottom: "b" top: "e" }', "no layer computes the outputs"),
        ('name: "n" input: "a" input: "b" input_shape { dim: 1 dim: 2 } input_shape { dim: 1 dim: 2 }'
         'layer { name: "e" type: "Eltwise" bottom: "a" bottom: "b" top: "e" }' + FULL.format("f", "e", "", 3),
         "reads 'a', 'b', but fine-tuning needs a net that reads an image"),
    ],
)  # fmt: skip
def test_nets_that_cannot_be_tuned_are_refused(text: str, problem: str) -> None:
    model = model_of(text)
    with pytest.raises(NetError, match=problem):
        tuned(model, 4, "x")

"""The net to deploy, derived from the one for training."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text, text_of
from netdsl.errors import NetError
from netdsl.model.data_shapes import DataShape, Known
from netdsl.model.deploy.deploy_net import deploy, deploy_model
from netdsl.model.model import Model
from netdsl.net.build import build
from netdsl.net.graph import Phase, resolve

DATA = """layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  transform_param { crop_size: 9 mirror: true } data_param { source: "x" batch_size: 64 } }
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST }
  transform_param { crop_size: 9 } data_param { source: "y" batch_size: 50 } }
"""
CLASSES = """layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" param { lr_mult: 1 } param { lr_mult: 2 }
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } bias_filler { type: "constant" } } }
"""
INPUT = """layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 1 dim: 3 dim: 9 dim: 9 } } }
"""


def read(text: str) -> pb.NetParameter:
    return from_text(text, pb.NetParameter)


def types(net: pb.NetParameter) -> list[tuple[str, str, list[str], list[str]]]:
    return [(layer.type, layer.name, [*layer.bottom], [*layer.top]) for layer in net.layer]


def test_a_classifiers_deploy_net_equals_caffes_own() -> None:
    net = read(
        f"""name: "n" force_backward: true {DATA} {CLASSES}
        layer {{ name: "relu" type: "ReLU" bottom: "ip" top: "ip" }}
        layer {{ name: "drop" type: "Dropout" bottom: "ip" top: "ip" dropout_param {{ dropout_ratio: 0.5 }} }}
        layer {{ name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy"
                 include {{ phase: TEST }} }}
        layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss"
                 loss_param {{ ignore_label: 3 }} }}"""
    )
    wanted = read(
        f"""name: "n" {INPUT}
        layer {{ name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param {{ num_output: 5 }} }}
        layer {{ name: "relu" type: "ReLU" bottom: "ip" top: "ip" }}
        layer {{ name: "drop" type: "Dropout" bottom: "ip" top: "ip" dropout_param {{ dropout_ratio: 0.5 }} }}
        layer {{ name: "prob" type: "Softmax" bottom: "ip" top: "prob" }}"""
    )
    before = text_of(net)
    assert text_of(deploy(net)) == text_of(wanted)
    assert text_of(net) == before


def test_weights_without_a_fitting_typical_shape_require_the_users_shape() -> None:
    net = read(DATA.replace("crop_size: 9", "") + CLASSES)
    model = Model(net).with_weights({"ip": [np.zeros((5, 77), np.float32), np.zeros(5, np.float32)]})
    with pytest.raises(
        NetError, match=r"have \[5, 77\]; the net doesn't state the shape of 'data'.*--assume data=SHAPE"
    ):
        deploy_model(model)
    assert deploy_model(model, shapes={"data": (7, 11, 1)}).net.layer[0].input_param.shape[0].dim == [1, 7, 11, 1]
    with pytest.raises(NetError, match=r"the weights have \[5, 77\]$"):
        deploy_model(model, shapes={"data": (7, 11, 2)})
    with pytest.raises(NetError, match=r"the weights don't contain layer 'ip'"):
        deploy_model(Model(net).with_weights({"other": [np.zeros(5, np.float32)]}))


def test_shapes_and_batch_can_be_given() -> None:
    net = read(DATA + CLASSES + 'layer { name: "l" type: "HingeLoss" bottom: "ip" bottom: "label" }')
    made = deploy(net, shapes={"data": (2, 4, 6)}, batch=7)
    assert [*made.layer[0].input_param.shape[0].dim] == [7, 2, 4, 6]
    assert types(made)[-1][0] == "InnerProduct"


def test_a_branch_that_only_training_needs_is_removed() -> None:
    text = f"""{DATA} {CLASSES}
        layer {{ name: "aux" type: "InnerProduct" bottom: "data" top: "aux" inner_product_param {{ num_output: 5 }} }}
        layer {{ name: "a" type: "SoftmaxWithLoss" bottom: "aux" bottom: "label" loss_weight: 0.3 }}
        layer {{ name: "aux_top1" type: "Accuracy" bottom: "aux" bottom: "label" top: "aux_top1" }}
        layer {{ name: "b" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }}"""
    assert [name for _, name, *_ in types(deploy(read(text)))] == ["data", "ip", "prob"]
    equal = deploy(read(text.replace("loss_weight: 0.3", "")))
    assert [name for _, name, *_ in types(equal)] == ["data", "ip", "aux", "aux_prob", "ip_prob"]


def test_a_loss_without_a_weight_has_the_weight_of_its_type() -> None:
    text = f"""{DATA} {CLASSES}
        layer {{ name: "feature" type: "InnerProduct" bottom: "data" top: "feature"
                 inner_product_param {{ num_output: 3 }} }}
        layer {{ name: "near" type: "CenterLoss" bottom: "feature" bottom: "label"
                 center_loss_param {{ num_output: 5 }} }}
        layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }}"""
    assert [name for _, name, *_ in types(deploy(read(text)))] == ["data", "ip", "prob"]


def test_losses_with_different_labels_all_stay_whatever_their_weights() -> None:
    text = """layer { name: "d" type: "HDF5Data" top: "data" top: "kind" top: "age" hdf5_data_param { batch_size: 4 } }
        layer { name: "one" type: "InnerProduct" bottom: "data" top: "one" inner_product_param { num_output: 5 } }
        layer { name: "two" type: "InnerProduct" bottom: "data" top: "two" inner_product_param { num_output: 1 } }
        layer { name: "a" type: "SoftmaxWithLoss" bottom: "one" bottom: "kind" }
        layer { name: "b" type: "EuclideanLoss" bottom: "two" bottom: "age" loss_weight: 0.1 }"""
    made = deploy(read(text), shapes={"data": (6,)})
    assert types(made) == [
        ("Input", "d", [], ["data"]),
        ("InnerProduct", "one", ["data"], ["one"]),
        ("InnerProduct", "two", ["data"], ["two"]),
        ("Softmax", "prob", ["one"], ["prob"]),
    ]
    assert [*made.layer[0].input_param.shape[0].dim] == [1, 6]


def test_layers_that_prepare_labels_or_targets_are_removed() -> None:
    text = f"""{DATA} {CLASSES}
        layer {{ name: "flat" type: "Flatten" bottom: "data" top: "flat" }}
        layer {{ name: "half" type: "Power" bottom: "label" top: "half" power_param {{ scale: 0.5 }} }}
        layer {{ name: "mute" type: "Silence" bottom: "half" }}
        layer {{ name: "decode" type: "InnerProduct" bottom: "ip" top: "decode"
                 inner_product_param {{ num_output: 243 }} }}
        layer {{ name: "near" type: "EuclideanLoss" bottom: "flat" bottom: "decode" loss_weight: 0 }}
        layer {{ name: "loss" type: "SigmoidCrossEntropyLoss" bottom: "decode" bottom: "flat" }}"""
    assert types(deploy(read(text)))[1:] == [
        ("InnerProduct", "ip", ["data"], ["ip"]),
        ("InnerProduct", "decode", ["ip"], ["decode"]),
        ("Sigmoid", "prob", ["decode"], ["prob"]),
    ]


def test_an_existing_softmax_is_not_repeated() -> None:
    text = f"""{DATA} {CLASSES}
        layer {{ name: "scores" type: "Softmax" bottom: "ip" top: "scores" include {{ phase: TEST }} }}
        layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }}"""
    assert types(deploy(read(text)))[2:] == [("Softmax", "scores", ["ip"], ["scores"])]


def test_a_loss_with_a_softmax_top_keeps_that_tops_name() -> None:
    loss = 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "l" top: "seen" }'
    assert types(deploy(read(DATA + CLASSES + loss)))[2:] == [("Softmax", "prob", ["ip"], ["seen"])]


def test_without_a_test_loss_the_training_loss_decides() -> None:
    text = f"""{DATA} {CLASSES}
        layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" include {{ phase: TRAIN }} }}
        layer {{ name: "a" type: "Accuracy" bottom: "ip" bottom: "label" top: "a" include {{ phase: TEST }} }}"""
    assert types(deploy(read(text)))[2:] == [("Softmax", "prob", ["ip"], ["prob"])]


def test_a_training_loss_also_decides_in_nets_without_measures() -> None:
    text = f"""{DATA} {CLASSES}
        layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" include {{ phase: TRAIN }} }}
        layer {{ name: "mute" type: "Silence" bottom: "label" include {{ phase: TEST }} }}"""
    assert types(deploy(read(text)))[2:] == [("Softmax", "prob", ["ip"], ["prob"])]


def test_settings_that_a_loss_and_its_prediction_share_are_kept() -> None:
    loss = """layer { name: "loss" type: "InfogainLoss" bottom: "ip" bottom: "label" bottom: "matrix"
        infogain_loss_param { axis: 0 source: "x" } }"""
    matrix = 'layer { name: "m" type: "DummyData" top: "matrix" dummy_data_param { shape { dim: 5 dim: 5 } } }'
    last = deploy(read(DATA + matrix + CLASSES + loss)).layer[-1]
    assert (last.type, last.softmax_param.axis, last.HasField("infogain_loss_param")) == ("Softmax", 0, False)


def test_data_of_training_nets_and_dummy_data_become_inputs() -> None:
    text = """layer { name: "d" type: "DummyData" top: "data" top: "label" include { phase: TRAIN }
          dummy_data_param { shape { dim: 8 dim: 3 } shape { dim: 8 } } }
        layer { name: "zero" type: "DummyData" top: "zero" dummy_data_param { shape { dim: 1 dim: 5 } } }
        layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 5 } }
        layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }"""
    made = deploy(read(text))
    assert types(made)[0] == ("Input", "d", [], ["data"])
    assert [*made.layer[0].input_param.shape[0].dim] == [1, 3]
    assert [layer.type for layer in made.layer] == ["Input", "InnerProduct", "Softmax"]


def test_dummy_values_next_to_data_stay_with_their_filler() -> None:
    text = """layer { name: "zero" type: "DummyData" top: "zero"
          dummy_data_param { shape { dim: 1 dim: 5 } data_filler { value: 3 } } }
        layer { name: "sum" type: "Eltwise" bottom: "ip" bottom: "zero" top: "sum" }
        layer { name: "loss" type: "SoftmaxWithLoss" bottom: "sum" bottom: "label" }"""
    made = deploy(read(DATA.replace("50", "1") + CLASSES + text))
    assert [layer.type for layer in made.layer] == ["Input", "InnerProduct", "DummyData", "Eltwise", "Softmax"]
    assert made.layer[2].dummy_data_param.data_filler[0].value == 3


def test_shared_parameters_and_fields_of_forks_survive() -> None:
    text = """layer { name: "b" type: "Convolution" bottom: "data" top: "b" param { name: "w" lr_mult: 0 }
          convolution_param { num_output: 2 kernel_size: 3 pad_l: 1 weight_filler { type: "msra" } } }
        layer { name: "n" type: "BatchNorm" bottom: "b" top: "n"
          batch_norm_param { scale_filler { value: 2 } } }
        layer { name: "odd" type: "Unheard" bottom: "n" top: "odd" smooth_l1_loss_param { sigma: 3 } }"""
    conv, norm, odd = deploy(read(DATA + text)).layer[1:]
    assert text_of(conv.param[0]) == 'name: "w"\n'
    assert (conv.convolution_param.pad_l, conv.convolution_param.HasField("weight_filler")) == (1, False)
    assert norm.batch_norm_param.HasField("scale_filler")  # the filler marks that the layer has a scale
    assert odd.smooth_l1_loss_param.sigma == 3


def test_shapes_from_private_code_must_be_given() -> None:
    text = """layer { name: "mine" type: "Python" top: "x" top: "y" python_param { module: "mine" layer: "Mine" } }
        layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 5 } }
        layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "y" }"""
    with pytest.raises(
        NetError, match="layer 'mine': the shape of 'x' is unknown; give it, as in --assume x=3x224x224"
    ):
        deploy(read(text))
    made = deploy(read(text), shapes={"x": (4,)})
    assert build(resolve(made)).shapes[-1] == (1, 5)


def test_a_deploy_net_is_unchanged() -> None:
    text = INPUT + CLASSES.replace("param { lr_mult: 1 } param { lr_mult: 2 }", "")
    once = deploy(read(text))
    assert text_of(deploy(once)) == text_of(once)
    assert types(once)[-1][1] == "ip"


def test_if_every_output_is_silenced_those_are_the_predictions() -> None:
    silenced = read(INPUT + CLASSES + 'layer { name: "s" type: "Silence" bottom: "ip" }')
    assert [layer.name for layer in deploy(silenced).layer] == ["data", "ip"]


def test_a_net_without_predictions_is_refused() -> None:
    with pytest.raises(NetError, match="net 'n' predicts nothing"):
        deploy(read(f'name: "n" {DATA} layer {{ name: "s" type: "Silence" bottom: "data" bottom: "label" }}'))
    with pytest.raises(NetError, match="net 'e' has no layers"):
        deploy(read('name: "e"'))


def test_a_deploy_net_classifies_all_proposed_regions():
    """From Faster R-CNN's net for training, the layers that only training needs are removed, those in the middle and
    the labels included."""
    net = from_text(
        """
        layer { name: "input" type: "Input" top: "data" top: "rois" top: "gt_boxes"
          input_param { shape { dim: 1 dim: 3 dim: 20 dim: 24 } shape { dim: 6 dim: 5 } shape { dim: 2 dim: 5 } } }
        layer { name: "targets" type: "Python" bottom: "rois" bottom: "gt_boxes"
          top: "chosen" top: "labels" top: "targets" top: "inside" top: "outside"
          python_param {
            module: "rpn.proposal_target_layer" layer: "ProposalTargetLayer" param_str: "'num_classes': 3" } }
        layer { name: "pool" type: "ROIPooling" bottom: "data" bottom: "chosen" top: "pool"
          roi_pooling_param { pooled_w: 2 pooled_h: 2 spatial_scale: 1 } }
        layer { name: "score" type: "InnerProduct" bottom: "pool" top: "score" inner_product_param { num_output: 3 } }
        layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "labels" top: "loss" }
        """,
        pb.NetParameter,
    )
    made = deploy(net)
    assert [layer.type for layer in made.layer] == ["Input", "Split", "ROIPooling", "InnerProduct", "Softmax"]
    assert list(made.layer[0].top) == ["data", "rois"]
    assert (list(made.layer[1].bottom), list(made.layer[1].top)) == (["rois"], ["chosen"])


def test_a_detector_ends_at_its_boxes_and_not_at_its_loss() -> None:
    net = read(
        f"""{DATA} {CLASSES}
        layer {{ name: "prior" type: "InnerProduct" bottom: "data" top: "loc" inner_product_param {{ num_output: 4 }} }}
        layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss"
                 include {{ phase: TRAIN }} }}
        layer {{ name: "boxes" type: "Concat" bottom: "ip" bottom: "loc" top: "boxes" include {{ phase: TEST }} }}
        layer {{ name: "best" type: "Accuracy" bottom: "boxes" bottom: "label" top: "best"
                 include {{ phase: TEST }} }}"""
    )
    assert [layer.name for layer in deploy(net).layer] == ["data", "ip", "prior", "boxes"]


def test_a_net_ends_at_the_outputs_that_are_named() -> None:
    loss = 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }'
    net = read(f"""{DATA} {CLASSES} layer {{ name: "relu" type: "ReLU" bottom: "ip" top: "ip" }} {loss}""")
    assert [layer.name for layer in deploy(net).layer] == ["data", "ip", "relu", "prob"]
    assert [layer.name for layer in deploy(net, outputs=["ip"]).layer] == ["data", "ip", "relu"]
    with pytest.raises(NetError, match=r"doesn't have the blob 'fc8'; use one of data, label, ip"):
        deploy(net, outputs=["fc8"])


def test_a_net_for_use_keeps_the_origin_of_its_shapes() -> None:
    net = read(DATA + CLASSES + 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }')
    for items, known in (({}, Known.GUESSED), ({"data": (2, 4, 4)}, Known.SAID)):
        deployed = deploy_model(Model(net), shapes=items)
        for once_more in (deployed, deploy_model(deployed, batch=3)):
            (shape,) = once_more.data(Phase.TEST).values()
            assert shape == DataShape(items.get("data", (3, 9, 9)), known)

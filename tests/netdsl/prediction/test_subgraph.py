from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import (
    Accuracy,
    ActivationLayer,
    DummyData,
    EuclideanLoss,
    InfogainLoss,
    LinearLayer,
    NetParams,
    RDDLayer,
    ReLU,
    Silence,
    Softmax,
    SoftmaxWithLoss,
)
from netdsl.errors import GraphError
from netdsl.net.graph import Phase
from netdsl.prediction.subgraph import PredictionSubgraph, prediction_subgraph

DATA, LABEL = RDDLayer("data", shape=[6, 4]), RDDLayer("label", shape=[6, 1])
SCORES = LinearLayer("scores", ["data"], num_outputs=3)
LOSS = SoftmaxWithLoss("loss", ["scores", "label"])
PROPOSALS = """
layer { name: "input" type: "Input" top: "data" top: "rois" top: "gt_boxes"
  input_param { shape { dim: 1 dim: 3 dim: 20 dim: 24 } shape { dim: 6 dim: 5 } shape { dim: 2 dim: 5 } } }
layer { name: "targets" type: "Python" bottom: "rois" bottom: "gt_boxes"
  top: "chosen" top: "labels" top: "targets" top: "inside" top: "outside"
  python_param { module: "rpn.proposal_target_layer" layer: "ProposalTargetLayer" param_str: "'num_classes': 3" } }
layer { name: "pool" type: "ROIPooling" bottom: "data" bottom: "chosen" top: "pool"
  roi_pooling_param { pooled_w: 2 pooled_h: 2 spatial_scale: 1 } }
layer { name: "score" type: "InnerProduct" bottom: "pool" top: "score" inner_product_param { num_output: 3 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "labels" top: "loss" }
"""


def layers(head: PredictionSubgraph) -> list[str]:
    return [node.layer.name for node in head.built.graph.nodes]


def inputs(head: PredictionSubgraph) -> list[str]:
    return [head.built.graph.blobs[edge] for edge in head.inputs]


def test_a_loss_gives_way_to_probabilities() -> None:
    measure = Accuracy("accuracy", ["scores", "label"], include={"phase": "TEST"})
    loss = SoftmaxWithLoss("loss", ["scores", "label"])
    head = prediction_subgraph(NetParams(DATA, LABEL, SCORES, measure, loss).message, [])
    assert layers(head) == ["data", "scores", "(prediction)"]
    assert inputs(head) == ["data"]
    assert (head.batch, head.classes()) == (6, 3)
    assert head.built.graph.nodes[-1].layer.type == "Softmax"


def test_a_loss_of_training_says_what_a_test_predicts() -> None:
    loss = SoftmaxWithLoss("loss", ["scores", "label"], include={"phase": "TRAIN"})
    head = prediction_subgraph(NetParams(DATA, LABEL, SCORES, loss).message, [])
    assert layers(head) == ["data", "scores", "(prediction)"]


def test_a_net_that_is_only_for_training_predicts_as_in_a_test() -> None:
    label = RDDLayer("label", shape=[6, 1], include={"phase": "TRAIN"})
    head = prediction_subgraph(NetParams(DATA, label, SCORES, SoftmaxWithLoss("loss", ["scores", "label"])).message, [])
    assert head.built.graph.phase is Phase.TEST
    assert {node.layer.phase for node in head.built.graph.nodes} == {Phase.TEST}


def test_of_several_losses_the_heaviest_counts() -> None:
    other = LinearLayer("other", ["data"], num_outputs=5)
    losses = [
        SoftmaxWithLoss("loss1", ["scores", "label"]),
        SoftmaxWithLoss("loss2", ["other", "label"], loss_weight=[0.3]),
    ]
    assert prediction_subgraph(NetParams(DATA, LABEL, SCORES, other, *losses).message, []).classes() == 3


def test_a_regression_predicts_what_is_learned() -> None:
    price = LinearLayer("price", ["data"], num_outputs=1)
    for bottoms in (["price", "label"], ["label", "price"]):
        head = prediction_subgraph(NetParams(DATA, LABEL, price, EuclideanLoss("loss", bottoms)).message, [])
        assert layers(head) == ["data", "price"]
        assert head.classes() == 1


def test_a_deploy_net_predicts_its_output() -> None:
    head = prediction_subgraph(NetParams(DATA, SCORES, Softmax("prob", ["scores"])).message, ["scores"])
    assert layers(head) == ["data", "scores", "prob"]
    assert head.classes() == 3
    assert head.values(head.outputs["scores"]) == 3


def test_a_net_with_several_outputs_predicts_none_of_them() -> None:
    head = prediction_subgraph(
        NetParams(DATA, SCORES, LinearLayer("other", ["data"], num_outputs=5)).message, ["other"]
    )
    assert (head.prediction, head.classes()) == (None, 0)
    assert layers(head) == ["data", "other"]


def test_a_name_means_what_the_last_layer_in_place_leaves() -> None:
    inner = LinearLayer("inner", ["data"], num_outputs=5)
    in_place = ActivationLayer("relu", ["inner"], activation=ReLU, tops=["inner"])
    after = LinearLayer("scores", ["inner"], num_outputs=3)
    head = prediction_subgraph(NetParams(DATA, inner, in_place, after).message, ["inner"])
    (maker,) = (node for node in head.built.graph.nodes if head.outputs["inner"] in node.tops)
    assert maker.layer.name == "relu"


def test_a_softmax_that_is_there_already_is_not_doubled() -> None:
    softmax = Softmax("prob", ["scores"], include={"phase": "TEST"})
    head = prediction_subgraph(NetParams(DATA, LABEL, SCORES, softmax, LOSS).message, [])
    assert layers(head) == ["data", "scores", "prob"]
    assert head.classes() == 3


def test_settings_that_a_loss_and_its_prediction_share_are_kept() -> None:
    matrix = DummyData("matrix", [], shape=[{"dim": [3, 3]}])
    loss = InfogainLoss("loss", ["scores", "label", "matrix"], axis=-1)
    head = prediction_subgraph(NetParams(DATA, LABEL, SCORES, matrix, loss).message, [])
    assert layers(head) == ["data", "scores", "(prediction)"]
    assert head.built.graph.nodes[-1].layer.softmax_param.axis == -1


def test_what_is_silenced_is_what_a_net_predicts_that_has_nothing_else() -> None:
    head = prediction_subgraph(NetParams(DATA, SCORES, Silence("silence", ["scores"])).message, [])
    assert (layers(head), head.classes()) == (["data", "scores"], 3)


def test_a_layer_that_only_helps_to_train_gives_way_unless_its_other_tops_are_wanted() -> None:
    net = from_text(PROPOSALS, pb.NetParameter)
    head = prediction_subgraph(net, ["score"])
    assert [node.layer.type for node in head.built.graph.nodes] == [
        "Input",
        "Split",
        "ROIPooling",
        "InnerProduct",
        "Softmax",
    ]
    assert inputs(head) == ["data", "rois"]
    assert "gt_boxes" in inputs(prediction_subgraph(net, ["targets"]))


def test_an_unknown_blob() -> None:
    with pytest.raises(GraphError, match="makes no blob 'prob'; its blobs are data, scores"):
        prediction_subgraph(NetParams(DATA, SCORES).message, ["prob"])

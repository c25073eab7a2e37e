from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import (
    Accuracy,
    ActivationLayer,
    ConvLayer,
    Data,
    DummyData,
    EuclideanLoss,
    InfogainLoss,
    LinearLayer,
    Net,
    NetParams,
    Power,
    RDDLayer,
    ReLU,
    Silence,
    Softmax,
    SoftmaxWithLoss,
)
from netdsl.data.writing.image_files import ImageFormat, encode
from netdsl.errors import DataError, GraphError, ShapeError, WeightsError
from netdsl.model.model import Model
from netdsl.model.opening import open_weights
from netdsl.model.weights.match import Weights
from netdsl.net.graph import Phase
from netdsl.prediction.predictor import Predictor

IMAGES = np.random.default_rng(1).integers(0, 256, (6, 3, 5, 7), np.uint8)
CROP = {"crop_size": 4, "scale": 0.5, "mean_value": [1, 2, 3]}
DATA, LABEL = RDDLayer("data", shape=[6, 4]), RDDLayer("label", shape=[6, 1])
SCORES = LinearLayer("scores", ["data"], num_outputs=3)
LOSS = SoftmaxWithLoss("loss", ["scores", "label"])
SCORE_WEIGHTS = {"scores": [np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros(3, np.float32)]}
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


def random() -> np.random.Generator:
    return np.random.default_rng(0)


def made(tmp_path: Path, size: tuple[int, int], **settings: Any) -> tuple[NetParams, Weights, Net]:
    """Return a net for images of a size, its weights, and a second copy to compare with."""
    params = NetParams(
        RDDLayer("data", shape=[4, 3, *size], **settings),
        RDDLayer("label", shape=[4, 1]),
        ConvLayer("conv", ["data"], kernel=(2, 3), num_filters=7, weight_filler={"type": "xavier"}),
        LinearLayer("scores", ["conv"], num_outputs=9, weight_filler={"type": "xavier"}),
        Accuracy("accuracy", ["scores", "label"]),
        SoftmaxWithLoss("loss", ["scores", "label"]),
    )
    net = Net(params)
    net.save(tmp_path / "net.caffemodel")
    return params, open_weights(tmp_path / "net.caffemodel").weights, net


def test_blobs_and_probabilities_equal_those_of_the_net(tmp_path: Path) -> None:
    params, weights, net = made(tmp_path, (5, 7))
    predictor = Predictor(Model(params.message, weights), ["scores", "conv"]).load()
    found = predictor({"data": IMAGES.astype(np.float32)}, random())
    (scores, conv), probabilities = (
        (predictor.outputs[name] for name in ("scores", "conv")),
        found.pop(predictor.prediction or 0),
    )
    assert found[conv].shape == (6, 7, 4, 5)
    weight, bias = net.get_weights()["scores"]
    assert np.allclose(found[scores], found[conv].reshape(6, -1) @ weight.T + bias, rtol=1e-4)
    exp = np.exp(found[scores] - found[scores].max(1, keepdims=True))
    assert np.allclose(probabilities, exp / exp.sum(1, keepdims=True), rtol=1e-4)


@pytest.mark.parametrize("encoded", [False, True])
def test_images_are_transformed_as_in_tests(tmp_path: Path, encoded: bool) -> None:
    params, weights, _ = made(tmp_path, (4, 4), transform_param=CROP)
    plain, _, _ = made(tmp_path, (4, 4))
    images: Any = IMAGES
    if encoded:
        images = np.array([encode(image, ImageFormat.PNG, "image") for image in IMAGES], object)
    middle = (IMAGES[:, :, 0:4, 1:5].astype(np.float32) - np.array([1, 2, 3], np.float32)[:, None, None]) * 0.5
    predictor, other = (Predictor(Model(net.message, weights), ["scores"]).load() for net in (params, plain))
    found = predictor({"data": images}, random())[predictor.outputs["scores"]]
    assert np.array_equal(found, other({"data": middle}, random())[other.outputs["scores"]])


def test_encoded_images_have_the_channels_of_the_blob() -> None:
    images: Any = np.array([encode(image[:1], ImageFormat.PNG, "image") for image in IMAGES], object)
    for channels in (1, 3):
        net = NetParams(RDDLayer("data", shape=[4, channels, 5, 7]), Power("p", ["data"]))
        predictor = Predictor(Model(net.message), ["p"]).load()
        found = predictor({"data": images}, random())[predictor.outputs["p"]]
        assert np.array_equal(found, IMAGES[:, :1].repeat(channels, 1))


def test_mirroring_uses_the_given_random_numbers(tmp_path: Path) -> None:
    params, weights, _ = made(tmp_path, (5, 7), transform_param={"mirror": True})
    predictor = Predictor(Model(params.message, weights), ["scores"]).load()
    edge = predictor.outputs["scores"]
    first, again = (predictor({"data": IMAGES}, random())[edge] for _ in range(2))
    assert np.array_equal(first, again)
    plain = Predictor(Model(made(tmp_path, (5, 7))[0].message, weights), ["scores"]).load()
    plain = plain({"data": IMAGES}, random())[edge]
    same = (first == plain).all(1)
    assert same.any() and not same.all()


def test_encoded_images_may_have_different_sizes(tmp_path: Path) -> None:
    sizes = (IMAGES, IMAGES[:, :, :4, :6])
    images: Any = np.array([encode(each[0], ImageFormat.PNG, "image") for each in sizes], object)
    params, weights, _ = made(tmp_path, (4, 4), transform_param=CROP)
    assert len(Predictor(Model(params.message, weights), []).load()({"data": images}, random())) == 1
    params, weights, _ = made(tmp_path, (5, 7))
    with pytest.raises(DataError, match="column 'data': row 1 of the batch has shape"):
        Predictor(Model(params.message, weights), []).load()({"data": images}, random())


def test_blobs_without_one_row_per_item_are_refused(tmp_path: Path) -> None:
    params, weights, _ = made(tmp_path, (5, 7))
    predictor = Predictor(Model(params.message, weights), ["accuracy"]).load()
    with pytest.raises(ShapeError, match=r"blob 'accuracy' has shape \[\] for 6 rows"):
        predictor({"data": IMAGES, "label": np.zeros((6, 1), np.float32)}, random())


def test_problems_are_reported(tmp_path: Path) -> None:
    params, weights, _ = made(tmp_path, (5, 7))
    predictor = Predictor(Model(params.message, weights), []).load()
    with pytest.raises(DataError, match="column 'data': row 0 of the batch: can't be decoded as an image"):
        predictor({"data": np.array([b"nothing"], object)}, random())
    with pytest.raises(
        ShapeError, match=r"layer 'conv'.*; give inputs with 'data' of 3 x 5 x 7 instead of 'data' of 2 x 5 x 7"
    ):
        predictor({"data": np.zeros((6, 2, 5, 7), np.float32)}, random())
    with pytest.raises(
        WeightsError, match=r"layer 'scores': blob 0 has shape.*; give weights for inputs of 'data' of 3 x 6 x 8$"
    ):
        Predictor(Model(made(tmp_path, (6, 8))[0].message, weights), []).load()


def layers(head: Predictor) -> list[str]:
    return [node.layer.name for node in head.built.graph.nodes]


def inputs(head: Predictor) -> list[str]:
    return [head.built.graph.blobs[edge] for edge in head.input_edges]


def test_a_loss_is_replaced_by_probabilities() -> None:
    measure = Accuracy("accuracy", ["scores", "label"], include={"phase": "TEST"})
    loss = SoftmaxWithLoss("loss", ["scores", "label"])
    head = Predictor(Model(NetParams(DATA, LABEL, SCORES, measure, loss).message))
    assert layers(head) == ["data", "scores", "(prediction)"]
    assert inputs(head) == ["data"]
    assert (head.batch, head.classes()) == (6, 3)
    assert head.built.graph.nodes[-1].layer.type == "Softmax"


def test_the_training_loss_determines_the_predictions() -> None:
    loss = SoftmaxWithLoss("loss", ["scores", "label"], include={"phase": "TRAIN"})
    head = Predictor(Model(NetParams(DATA, LABEL, SCORES, loss).message))
    assert layers(head) == ["data", "scores", "(prediction)"]


def test_a_training_only_net_predicts_as_in_a_test() -> None:
    label = RDDLayer("label", shape=[6, 1], include={"phase": "TRAIN"})
    head = Predictor(Model(NetParams(DATA, label, SCORES, SoftmaxWithLoss("loss", ["scores", "label"])).message))
    assert head.built.graph.phase is Phase.TEST
    assert {node.layer.phase for node in head.built.graph.nodes} == {Phase.TEST}


def test_the_loss_with_the_largest_weight_counts() -> None:
    other = LinearLayer("other", ["data"], num_outputs=5)
    losses = [
        SoftmaxWithLoss("loss1", ["scores", "label"]),
        SoftmaxWithLoss("loss2", ["other", "label"], loss_weight=[0.3]),
    ]
    assert Predictor(Model(NetParams(DATA, LABEL, SCORES, other, *losses).message)).classes() == 3


def test_a_regression_predicts_the_learned_value() -> None:
    price = LinearLayer("price", ["data"], num_outputs=1)
    for bottoms in (["price", "label"], ["label", "price"]):
        head = Predictor(Model(NetParams(DATA, LABEL, price, EuclideanLoss("loss", bottoms)).message))
        assert layers(head) == ["data", "price"]
        assert head.classes() == 1


def test_a_deploy_net_predicts_its_output() -> None:
    head = Predictor(Model(NetParams(DATA, SCORES, Softmax("prob", ["scores"])).message), ["scores"])
    assert layers(head) == ["data", "scores", "prob"]
    assert head.classes() == 3
    assert head.values(head.outputs["scores"]) == 3


def test_a_net_with_several_outputs_predicts_none_of_them() -> None:
    net = NetParams(DATA, SCORES, LinearLayer("other", ["data"], num_outputs=5))
    head = Predictor(Model(net.message), ["other"])
    assert (head.prediction, head.classes()) == (None, 0)
    assert layers(head) == ["data", "other"]


def test_a_blobs_name_means_its_value_after_the_last_in_place_layer() -> None:
    inner = LinearLayer("inner", ["data"], num_outputs=5)
    in_place = ActivationLayer("relu", ["inner"], activation=ReLU, tops=["inner"])
    after = LinearLayer("scores", ["inner"], num_outputs=3)
    head = Predictor(Model(NetParams(DATA, inner, in_place, after).message), ["inner"])
    (maker,) = (node for node in head.built.graph.nodes if head.outputs["inner"] in node.tops)
    assert maker.layer.name == "relu"


def test_an_existing_softmax_is_not_repeated() -> None:
    softmax = Softmax("prob", ["scores"], include={"phase": "TEST"})
    head = Predictor(Model(NetParams(DATA, LABEL, SCORES, softmax, LOSS).message))
    assert layers(head) == ["data", "scores", "prob"]
    assert head.classes() == 3


def test_settings_that_a_loss_and_its_prediction_share_are_kept() -> None:
    matrix = DummyData("matrix", [], shape=[{"dim": [3, 3]}])
    loss = InfogainLoss("loss", ["scores", "label", "matrix"], axis=-1)
    head = Predictor(Model(NetParams(DATA, LABEL, SCORES, matrix, loss).message))
    assert layers(head) == ["data", "scores", "(prediction)"]
    assert head.built.graph.nodes[-1].layer.softmax_param.axis == -1


def test_a_net_with_only_silenced_outputs_predicts_those() -> None:
    head = Predictor(Model(NetParams(DATA, SCORES, Silence("silence", ["scores"])).message))
    assert (layers(head), head.classes()) == (["data", "scores"], 3)


def test_a_training_layer_is_removed_unless_its_other_tops_are_used() -> None:
    net = from_text(PROPOSALS, pb.NetParameter)
    head = Predictor(Model(net), ["score"])
    assert [node.layer.type for node in head.built.graph.nodes] == [
        "Input",
        "Split",
        "ROIPooling",
        "InnerProduct",
        "Softmax",
    ]
    assert inputs(head) == ["data", "rois"]
    assert "gt_boxes" in inputs(Predictor(Model(net), ["targets"]))


def test_an_unknown_blob_is_refused() -> None:
    with pytest.raises(GraphError, match="doesn't have the blob 'prob'; use one of data, scores"):
        Predictor(Model(NetParams(DATA, SCORES).message), ["prob"])


def test_predictors_of_one_model_have_separate_memory() -> None:
    model = Model(NetParams(DATA, SCORES, Softmax("prob", ["scores"])).message, SCORE_WEIGHTS)
    first, second = (Predictor(model, blobs).load() for blobs in ((), ("scores",)))
    assert not set(first.built.layers).intersection(second.built.layers)
    rows = {"data": np.eye(4, dtype=np.float32)}
    (prob,) = first(rows, random()).values()
    both = second(rows, random())
    assert np.array_equal(both[second.outputs["scores"]], SCORE_WEIGHTS["scores"][0].T)
    assert np.array_equal(both[second.prediction], prob)


def test_training_layers_may_have_unknown_types() -> None:
    net = NetParams(DATA, LABEL, SCORES, Softmax("prob", ["scores"])).message
    net.layer.add(name="loss", type="OwnLoss", bottom=["scores", "label"], top=["loss"])
    head = Predictor(Model(net), ["prob"])
    assert (layers(head), head.values(head.outputs["prob"])) == (["data", "scores", "prob"], 3)


def test_rows_determine_the_shapes_of_data_layers() -> None:
    data = Data("data", tops=["data", "label"], source="none", batch_size=5)
    model = Model(NetParams(data, SCORES, LOSS).message, SCORE_WEIGHTS)
    head = Predictor(model, ["scores"])
    assert [(each.blob.name, each.blob.shape, each.batch) for each in head.inputs] == [("data", None, 5)]
    head.take_items({"data": (4,)})
    assert [head.built.shapes[edge] for edge in head.input_edges] == [(5, 4)]
    found = head.load()({"data": np.eye(4, dtype=np.float32)}, random())
    assert np.array_equal(found[head.outputs["scores"]], SCORE_WEIGHTS["scores"][0].T)

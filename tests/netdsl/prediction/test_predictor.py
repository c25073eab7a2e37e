from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netdsl import Accuracy, ConvLayer, LinearLayer, Net, NetParams, Power, RDDLayer, SoftmaxWithLoss
from netdsl.data.writing.image_files import ImageFormat, encode
from netdsl.errors import DataError, ShapeError, WeightsError
from netdsl.model.opening import open_weights
from netdsl.model.weights.match import Weights
from netdsl.prediction.predictor import Predictor

IMAGES = np.random.default_rng(1).integers(0, 256, (6, 3, 5, 7), np.uint8)
CROP = {"crop_size": 4, "scale": 0.5, "mean_value": [1, 2, 3]}


def random() -> np.random.Generator:
    return np.random.default_rng(0)


def made(tmp_path: Path, size: tuple[int, int], **settings: Any) -> tuple[NetParams, Weights, Net]:
    """A net for images of a size, its weights, and the same to compare with."""
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


def test_blobs_and_probabilities_are_those_of_the_net(tmp_path: Path) -> None:
    params, weights, net = made(tmp_path, (5, 7))
    predictor = Predictor(params.message, weights, ["scores", "conv"])
    found = predictor({"data": IMAGES.astype(np.float32)}, random())
    (scores, conv), probabilities = (
        (predictor.subgraph.outputs[name] for name in ("scores", "conv")),
        found.pop(predictor.subgraph.prediction or 0),
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
    predictor, other = Predictor(params.message, weights, ["scores"]), Predictor(plain.message, weights, ["scores"])
    found = predictor({"data": images}, random())[predictor.subgraph.outputs["scores"]]
    assert np.array_equal(found, other({"data": middle}, random())[other.subgraph.outputs["scores"]])


def test_encoded_images_have_the_channels_of_the_blob(tmp_path: Path) -> None:
    images: Any = np.array([encode(image[:1], ImageFormat.PNG, "image") for image in IMAGES], object)
    for channels in (1, 3):
        net = NetParams(RDDLayer("data", shape=[4, channels, 5, 7]), Power("p", ["data"]))
        Net(net).save(tmp_path / "net.caffemodel")
        predictor = Predictor(net.message, open_weights(tmp_path / "net.caffemodel").weights, ["p"])
        found = predictor({"data": images}, random())[predictor.subgraph.outputs["p"]]
        assert np.array_equal(found, IMAGES[:, :1].repeat(channels, 1))


def test_mirroring_is_by_chance_that_is_given(tmp_path: Path) -> None:
    params, weights, _ = made(tmp_path, (5, 7), transform_param={"mirror": True})
    predictor = Predictor(params.message, weights, ["scores"])
    edge = predictor.subgraph.outputs["scores"]
    first, again = (predictor({"data": IMAGES}, random())[edge] for _ in range(2))
    assert np.array_equal(first, again)
    plain = Predictor(made(tmp_path, (5, 7))[0].message, weights, ["scores"])({"data": IMAGES}, random())[edge]
    same = (first == plain).all(1)
    assert same.any() and not same.all()


def test_encoded_images_of_different_sizes(tmp_path: Path) -> None:
    sizes = (IMAGES, IMAGES[:, :, :4, :6])
    images: Any = np.array([encode(each[0], ImageFormat.PNG, "image") for each in sizes], object)
    params, weights, _ = made(tmp_path, (4, 4), transform_param=CROP)
    assert len(Predictor(params.message, weights, [])({"data": images}, random())) == 1
    params, weights, _ = made(tmp_path, (5, 7))
    with pytest.raises(DataError, match="column 'data': row 1 of the batch has shape"):
        Predictor(params.message, weights, [])({"data": images}, random())


def test_what_has_no_row_for_each_row_is_refused(tmp_path: Path) -> None:
    params, weights, _ = made(tmp_path, (5, 7))
    predictor = Predictor(params.message, weights, ["accuracy"])
    with pytest.raises(ShapeError, match=r"blob 'accuracy' has shape \[\] for 6 rows"):
        predictor({"data": IMAGES, "label": np.zeros((6, 1), np.float32)}, random())


def test_problems_are_told(tmp_path: Path) -> None:
    params, weights, _ = made(tmp_path, (5, 7))
    predictor = Predictor(params.message, weights, [])
    with pytest.raises(DataError, match="column 'data': row 0 of the batch: can't be decoded as an image"):
        predictor({"data": np.array([b"nothing"], object)}, random())
    with pytest.raises(
        ShapeError, match=r"layer 'conv'.*; inputs have 'data' of 2 x 5 x 7, and .* 'data' of 3 x 5 x 7"
    ):
        predictor({"data": np.zeros((6, 2, 5, 7), np.float32)}, random())
    with pytest.raises(WeightsError, match=r"layer 'scores': blob 0 has shape.*; inputs here are 'data' of 3 x 6 x 8$"):
        Predictor(made(tmp_path, (6, 8))[0].message, weights, [])

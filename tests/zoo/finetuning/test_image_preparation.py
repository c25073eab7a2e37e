"""Preparing images for fine-tuning, and converting nets that expect RGB."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from converters.running import difference, output_values
from netdsl import LinearLayer, Net, NetParams, RDDLayer
from netdsl.data.transforms.mean import Mean
from netdsl.data.writing.mean_image import write_mean
from netdsl.errors import NetError
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from tests.zoo.models import convolutional, write_folder
from zoo.card_input import transform_of
from zoo.cards import Card, Channels, ImageInput
from zoo.finetuning.image_preparation import PreparedModel, prepare_images
from zoo.model_folder import open_folder
from zoo.names import find_model


def outputs(model: Model, images: np.ndarray) -> np.ndarray:
    deployed = deploy_model(model)
    return [*output_values(deployed, {deployed.net.layer[0].top[0]: images}).values()][-1]


def assert_takes_bgr(model: Model, prepared: PreparedModel, side: tuple[int, int]) -> None:
    assert prepared.swapped
    assert "reads RGB images. The channels of its first convolution are swapped" in prepared.notes[-1]
    assert prepared.transforms[pb.TEST].force_color
    images = np.random.default_rng(1).uniform(-2, 2, (2, 3, *side)).astype(np.float32)
    rgb, bgr = outputs(model, images), outputs(prepared.model, images[:, ::-1].copy())
    assert difference(bgr, rgb) < 1e-4  # of their spread, since sums are in another order
    assert difference(outputs(model, images[:, ::-1].copy()), rgb) > 1e-3


@pytest.mark.parametrize("bias", [True, False])
def test_a_net_for_rgb_is_converted_to_bgr(tmp_path: Path, bias: bool) -> None:
    path = convolutional(tmp_path / "rgb", Channels.RGB, (1.0, 2.0, 3.0), bias=bias)
    model = open_model(path)
    prepared = prepare_images(model, open_folder(path), tmp_path)
    assert_takes_bgr(model, prepared, (10, 8))
    assert [len(blobs) for blobs in prepared.model.weights.values()] == [2 if bias else 1, 2]
    assert list(prepared.transforms[pb.TEST].mean_value) == [3, 2, 1]


@pytest.mark.parametrize("name", ["cifar10-quick", "cifar-resnet-20"])
def test_the_catalogues_rgb_nets_are_converted_to_bgr(name: str, tmp_path: Path) -> None:
    named = find_model(Path(name))
    assert named is not None
    net = Net(named.deployed)
    weights = net.get_weights()
    for blobs in weights.values():  # published nets' fillers are too small to show differences
        if blobs[0].ndim > 1:
            blobs[0] = np.random.default_rng(2).normal(0, 0.05, blobs[0].shape).astype(np.float32)
        elif len(blobs) == 3:  # statistics that no batch has filled
            blobs[1], blobs[2] = np.ones_like(blobs[1]), np.ones_like(blobs[2])
    net.set_weights(weights)
    net.save(tmp_path / "weights.caffemodel")
    model = open_model(name, [tmp_path / "weights.caffemodel"])
    assert_takes_bgr(model, prepare_images(model, named, tmp_path), (32, 32))


def test_a_mean_image_is_converted_to_the_new_channel_order(tmp_path: Path) -> None:
    mean = np.random.default_rng(3).uniform(0, 255, (3, 13, 12)).astype(np.float32)
    for channels, wanted in ((Channels.BGR, mean), (Channels.RGB, mean[::-1])):
        path = convolutional(tmp_path / channels.value, channels, "average.binaryproto")
        write_mean(mean, path / "average.binaryproto")
        output = tmp_path / f"tuned_{channels.value}"
        output.mkdir()
        prepared = prepare_images(open_model(path), open_folder(path), output)
        transform = prepared.transforms[pb.TRAIN]
        assert transform.mean_file == str(output / "mean.binaryproto")
        image = Mean(transform).image
        assert image is not None and np.array_equal(image, wanted)
        assert prepared.transforms[pb.TEST] == transform


def test_a_net_that_cannot_be_converted_is_reported(tmp_path: Path) -> None:
    params = NetParams("one", RDDLayer("data", shape=[1, 3, 5, 6]), LinearLayer("scores", ["data"], num_outputs=4))
    card = Card("one", input=ImageInput((5, 6), Channels.RGB))
    path = write_folder(tmp_path / "one", params, None, card)
    with pytest.raises(NetError, match=r"the card says RGB, .* layer 'scores' of type InnerProduct"):
        prepare_images(open_model(path), open_folder(path), tmp_path)


def test_settings_missing_from_the_card_are_reported(tmp_path: Path) -> None:
    path = convolutional(tmp_path / "net", Channels.BGR, ())
    deploy = (path / "deploy.prototxt").read_text()
    transform = "transform_param { mean_value: 9 scale: 2 }"
    data = f'type: "Data" top: "data" data_param {{ source: "x" batch_size: 1 }} {transform}'
    (path / "train_val.prototxt").write_text(f'layer {{ name: "data" {data} }}' + deploy[deploy.index("layer", 20) :])
    folder = open_folder(path)
    prepared = prepare_images(open_model(path), folder, tmp_path)
    assert prepared.notes == (
        "The net's data layer subtracts a mean, but the card doesn't; the card's settings are used.",
    )
    assert folder.card.input is not None
    assert prepared.transforms[pb.TEST] == transform_of(folder.card.input, path)

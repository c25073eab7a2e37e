"""Small models as folders, whose answers are easy to work out by hand."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import torch

from netdsl import ConvLayer, LinearLayer, Net, NetParams, RDDLayer, ReLU, Softmax
from netdsl.dsl import DetectionOutput, Flatten, Permute, PriorBox
from zoo.cards import Card, Channels, ImageInput, Task, card_text

COLORS = ("background", "red", "blue")


def write_folder(folder: Path, params: NetParams, weights: dict[str, list[np.ndarray]] | None, card: Card) -> Path:
    """Write a model's folder. Without weights, they are random."""
    folder.mkdir(parents=True, exist_ok=True)
    net = Net(params)
    if weights is not None:
        net.set_weights(weights)
    net.save(folder / "weights.caffemodel")
    (folder / "deploy.prototxt").write_text(params.prototxt())
    (folder / "README.md").write_text(card_text(card))
    return folder


def classifier(folder: Path, channels: Channels = Channels.RGB) -> Path:
    """Return a net that classifies any difference between images into one of four classes."""
    torch.manual_seed(7)
    params = NetParams(
        "four",
        RDDLayer("data", shape=[2, 1 if channels is Channels.GRAY else 3, 10, 8]),
        LinearLayer("scores", ["data"], num_outputs=4, weight_filler={"type": "gaussian", "std": 0.3}),
        Softmax("prob", ["scores"]),
    )
    mean = (120.0,) if channels is Channels.GRAY else (104.0, 117.0, 123.0)
    image = ImageInput((10, 8), channels, resize=(13, 12), mean=mean, scale=0.017)
    write_folder(folder, params, None, Card("four", "Tells four things apart.", Task.CLASSIFICATION, image))
    (folder / "labels.txt").write_text("ant\nbee\ncat\ndög\n")
    return folder


def convolutional(folder: Path, channels: Channels, mean: str | tuple[float, ...], *, bias: bool = True) -> Path:
    """Return a net with a convolution, whose random filters distinguish colors."""
    torch.manual_seed(8)
    params = NetParams(
        "filters",
        RDDLayer("data", shape=[2, 3, 10, 8]),
        ConvLayer(
            "conv",
            ["data"],
            kernel=3,
            pad=1,
            num_filters=7,
            bias_term=bias,
            weight_filler={"type": "gaussian", "std": 0.1},
            bias_filler={"type": "gaussian", "std": 1},
        ),
        ReLU("relu", ["conv"], in_place=True),
        LinearLayer("scores", ["conv"], num_outputs=4, weight_filler={"type": "gaussian", "std": 0.1}),
        Softmax("prob", ["scores"]),
    )
    image = ImageInput((10, 8), channels, resize=(13, 12), mean=mean, scale=0.017)
    return write_folder(folder, params, None, Card("filters", task=Task.CLASSIFICATION, input=image))


def detector(folder: Path) -> Path:
    """Return a net that finds which quarters of an image are red and which are blue."""
    params = NetParams(
        "quarters",
        RDDLayer("data", shape=[1, 3, 8, 8]),
        ConvLayer("loc", ["data"], kernel=4, stride=4, num_filters=4),
        ConvLayer("conf", ["data"], kernel=4, stride=4, num_filters=3),
        Permute("loc_perm", ["loc"], order=[0, 2, 3, 1]),
        Permute("conf_perm", ["conf"], order=[0, 2, 3, 1]),
        Flatten("loc_flat", ["loc_perm"]),
        Flatten("conf_flat", ["conf_perm"]),
        PriorBox("priors", ["loc", "data"], min_size=[4], variance=[0.1, 0.1, 0.2, 0.2], step=4),
        DetectionOutput(
            "found",
            ["loc_flat", "conf_flat", "priors"],
            num_classes=3,
            nms_param={"nms_threshold": 0.45},
            confidence_threshold=0.01,
            code_type="CENTER_SIZE",
        ),
    )
    conf = np.zeros((3, 3, 4, 4), np.float32)
    conf[1, 2], conf[2, 0] = 1 / 16 / 255, 1 / 16 / 255  # channels are blue, green, red
    weights = {"loc": [np.zeros((4, 3, 4, 4)), np.zeros(4)], "conf": [conf, np.zeros(3)]}
    card = Card("quarters", task=Task.DETECTION, input=ImageInput((8, 8)))
    write_folder(folder, params, weights, card)
    (folder / "labels.txt").write_text("\n".join(COLORS))
    return folder


def segmenter(folder: Path) -> Path:
    """Return a net that classifies each pixel as red, blue or neither."""
    params = NetParams(
        "pixels", RDDLayer("data", shape=[1, 3, 6, 8]), ConvLayer("score", ["data"], kernel=1, num_filters=3)
    )
    weight = np.zeros((3, 3, 1, 1), np.float32)
    weight[1, 2], weight[2, 0] = 1, 1
    weights = {"score": [weight, np.array([128, 0, 0])]}
    card = Card("pixels", task=Task.SEGMENTATION, input=ImageInput((6, 8)))
    write_folder(folder, params, weights, card)
    (folder / "labels.txt").write_text("\n".join(COLORS))
    return folder


def quarters(height: int, width: int) -> np.ndarray:
    """Return an image in OpenCV's layout whose upper right quarter is red, and whose lower left quarter is blue."""
    image = np.zeros((height, width, 3), np.uint8)
    image[: height // 2, width // 2 :, 2] = 255
    image[height // 2 :, : width // 2, 0] = 255
    return image


def photo(path: Path, seed: int, height: int = 31, width: int = 24) -> Path:
    """Write a file with a smooth image that differs for each seed."""
    noise = np.random.default_rng(seed).integers(0, 256, (4, 5, 3), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC))
    return path

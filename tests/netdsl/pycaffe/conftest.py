from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netdsl import pycaffe

MakeNet = Callable[..., pycaffe.Net]

# A net that can be trained, with an in-place layer, a blob that two layers read, and a loss.
LEARNING = """
name: "learning"
input: "data" input_shape { dim: 5 dim: 2 dim: 3 dim: 4 }
input: "label" input_shape { dim: 5 }
layer { type: "Convolution" name: "conv" bottom: "data" top: "conv"
  convolution_param { num_output: 7 kernel_size: 2 weight_filler { type: "gaussian" std: 1 } } }
layer { type: "ReLU" name: "relu" bottom: "conv" top: "conv" }
layer { type: "InnerProduct" name: "ip" bottom: "conv" top: "scores"
  inner_product_param { num_output: 6 weight_filler { type: "gaussian" std: 1 } } }
layer { type: "SoftmaxWithLoss" name: "loss" bottom: "scores" bottom: "label" top: "loss" }
layer { type: "Softmax" name: "prob" bottom: "scores" top: "prob" }
"""


@pytest.fixture
def make_net(tmp_path: Path) -> MakeNet:
    def make(text: str, *arguments: Any, **keywords: Any) -> pycaffe.Net:
        path = tmp_path / "net.prototxt"
        path.write_text(text)
        return pycaffe.Net(str(path), *(arguments or (pycaffe.TRAIN,)), **keywords)

    return make


@pytest.fixture
def learning(make_net: MakeNet) -> pycaffe.Net:
    pycaffe.set_random_seed(1)
    net = make_net(LEARNING)
    net.blobs["data"].data[...] = 1 + abs(net.params["conv"][0].data.sum()) / 100
    net.blobs["data"].data[0] = -1
    net.blobs["label"].data[...] = range(5)
    return net

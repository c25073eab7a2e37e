"""Two nets that write captions together: the joined net, and the errors where they don't fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import NetError
from netdsl.model.deploy.captioner import split_captioner
from netdsl.model.deploy.joined_captioner import join_captioner
from netdsl.model.model import Model, open_net

# The format of LRCN's authors: many sentences in parallel, and features from another net.
WORDS = """
name: "words"
input: "cont_sentence" input_shape { dim: 1 dim: 9 }
input: "input_sentence" input_shape { dim: 1 dim: 9 }
input: "image_features" input_shape { dim: 9 dim: 6 }
layer { name: "embedding" type: "Embed" bottom: "input_sentence" top: "embedded"
  embed_param { input_dim: 7 num_output: 3 } }
layer { name: "less" type: "ReLU" bottom: "image_features" top: "image_features" }
layer { name: "lstm" type: "LSTM" bottom: "embedded" bottom: "cont_sentence" bottom: "image_features" top: "lstm"
  recurrent_param { num_output: 8 } }
layer { name: "predict" type: "InnerProduct" bottom: "lstm" top: "predict"
  inner_product_param { num_output: 7 axis: 2 } }
layer { name: "prob" type: "Softmax" bottom: "predict" top: "prob" softmax_param { axis: 2 } }
"""
IMAGE = """
name: "image"
input: "data" input_shape { dim: 5 dim: 3 dim: 4 dim: 4 }
layer { name: "fc7" type: "InnerProduct" bottom: "data" top: "fc7" inner_product_param { num_output: 5 } }
layer { name: "fc8" type: "InnerProduct" bottom: "fc7" top: "fc8" inner_product_param { num_output: 6 } }
layer { name: "prob" type: "Softmax" bottom: "fc8" top: "prob" }
"""


def model(text: str) -> Model:
    return open_net(from_text(text, pb.NetParameter))


def test_the_joined_net_has_both_nets_layers_for_captions() -> None:
    arrays = {name: [np.zeros(2)] for name in ("words", "image", "both")}
    words = replace(model(WORDS), weights={"lstm": arrays["words"], "fc7": arrays["both"]})
    image = replace(model(IMAGE), weights={"fc8": arrays["image"], "fc7": arrays["image"]})
    joined = join_captioner(words, image, "fc8")
    assert joined.weights == {"lstm": arrays["words"], "fc7": arrays["both"], "fc8": arrays["image"]}
    parts = split_captioner(joined)
    assert parts is not None and parts.features == ("fc8",)
    assert [layer.name for layer in parts.image.net.layer if layer.bottom] == ["fc7", "fc8", "less"]
    assert [layer.name for layer in parts.sentence.net.layer if layer.bottom] == [
        "embedding",
        "lstm",
        "predict",
        "prob",
    ]
    shapes = [list(shape.dim) for layer in joined.net.layer for shape in layer.input_param.shape]
    assert shapes == [[1, 3, 4, 4], [1, 1], [1, 1]]


def test_a_shared_input_layer_loses_only_the_features() -> None:
    one = WORDS[WORDS.index("layer {") :]
    inputs = 'top: "input_sentence" top: "image_features" top: "cont_sentence" input_param { shape { dim: 1 dim: 9 } '
    one = f'layer {{ name: "in" type: "Input" {inputs} shape {{ dim: 9 dim: 6 }} shape {{ dim: 1 dim: 9 }} }} }} {one}'
    joined = join_captioner(model(one), model(IMAGE), "fc8")
    kept = next(layer for layer in joined.net.layer if layer.name == "in")
    assert list(kept.top) == ["input_sentence", "cont_sentence"]
    assert [list(shape.dim) for shape in kept.input_param.shape] == [[1, 1], [1, 1]]


@pytest.mark.parametrize(
    ("words", "image", "blob", "problem"),
    [
        (
            WORDS,
            IMAGE,
            None,
            r"'image_features' of shape \[6\]; name the blob .* net 'image' has 'fc8', 'prob' of that shape",
        ),
        (WORDS, IMAGE, "fc7", r"features of shape \[6\], but 'fc7' has shape \[5\]; .* net 'image' has 'fc8', 'prob'"),
        (WORDS.replace("dim: 9 dim: 6", "dim: 9 dim: 4"), IMAGE, "fc8", "net 'image' has no blob of that shape"),
        (WORDS, IMAGE, "fc9", "net 'image' doesn't have the blob 'fc9'"),
        (IMAGE, IMAGE, "fc8", "needs three inputs: .*, but this net's inputs are 'data'"),
        (WORDS.replace("predict", "fc7"), IMAGE, "fc8", "both nets have a layer or a blob 'fc7'"),
        (WORDS.replace('"embedded"', '"data"'), IMAGE, "fc8", "both nets have a layer or a blob 'data'"),
    ],
)
def test_nets_that_do_not_fit_are_refused(words: str, image: str, blob: str | None, problem: str) -> None:
    with pytest.raises(NetError, match=problem):
        join_captioner(model(words), model(image), blob)

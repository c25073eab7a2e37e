"""Nets that caption images, in LRCN's two parts, and their inputs in use."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.model.deploy.captioner import split_captioner
from netdsl.model.deploy.deploy_net import deploy
from netdsl.model.model import Model
from netdsl.net.build import build
from netdsl.net.graph import resolve

# The blobs have LRCN's names for images and words, with one layer of each kind.
NET = """
layer { name: "data" type: "ImageData" top: "data" top: "label" transform_param { crop_size: 9 }
  image_data_param { source: "none" batch_size: 4 } }
layer { name: "data" type: "HDF5Data" top: "cont_sentence" top: "input_sentence" top: "target_sentence"
  hdf5_data_param { source: "none" batch_size: 5 } }
layer { name: "silence" type: "Silence" bottom: "label" }
layer { name: "fc8" type: "InnerProduct" bottom: "data" top: "fc8" inner_product_param { num_output: 6 } }
layer { name: "relu8" type: "ReLU" bottom: "fc8" top: "fc8" }
layer { name: "embedding" type: "Embed" bottom: "input_sentence" top: "embedded"
  embed_param { input_dim: 7 num_output: 3 } }
layer { name: "lstm1" type: "LSTM" bottom: "embedded" bottom: "cont_sentence" top: "lstm1" include { stage: "factored" }
  recurrent_param { num_output: 8 } }
layer { name: "lstm2" type: "LSTM" bottom: "lstm1" bottom: "cont_sentence" bottom: "fc8" top: "lstm2"
  include { stage: "factored" } recurrent_param { num_output: 8 } }
layer { name: "lstm2" type: "LSTM" bottom: "embedded" bottom: "cont_sentence" bottom: "fc8" top: "lstm2"
  exclude { stage: "factored" } recurrent_param { num_output: 8 } }
layer { name: "predict" type: "InnerProduct" bottom: "lstm2" top: "predict"
  inner_product_param { num_output: 7 axis: 2 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "predict" bottom: "target_sentence" top: "loss"
  loss_param { ignore_label: -1 } softmax_param { axis: 2 } }
"""


def net() -> pb.NetParameter:
    return from_text(NET, pb.NetParameter)


def input_shapes(net: pb.NetParameter) -> dict[str, list[int]]:
    inputs = [layer for layer in net.layer if layer.type == "Input"]
    return {
        top: list(shape.dim) for layer in inputs for top, shape in zip(layer.top, layer.input_param.shape, strict=True)
    }


@pytest.mark.parametrize("batch", [None, 3])
def test_a_net_for_use_reads_one_word_per_image(batch: int | None) -> None:
    size = batch or 1
    deployed = deploy(net(), batch=batch)
    words = {"cont_sentence": [1, size], "input_sentence": [1, size]}
    assert input_shapes(deployed) == {"data": [size, 3, 9, 9], **words}
    built = build(resolve(deployed))
    assert built.shapes[-1] == (1, size, 7)


def test_inputs_that_state_steps_keep_them() -> None:
    stated = deploy(net(), batch=1)
    for layer in stated.layer:
        for shape in layer.input_param.shape:
            shape.dim[:] = [5, 4] if list(shape.dim) == [1, 1] else [4, *shape.dim[1:]]
    steps = {"cont_sentence": [5, 4], "input_sentence": [5, 4]}
    assert input_shapes(deploy(stated)) == {"data": [4, 3, 9, 9], **steps}
    steps = {"cont_sentence": [5, 2], "input_sentence": [5, 2]}
    assert input_shapes(deploy(stated, batch=2)) == {"data": [2, 3, 9, 9], **steps}


@pytest.mark.parametrize("stages", [(), ("factored",)])
def test_layers_that_run_once_are_separated_from_those_for_each_word(stages: tuple[str, ...]) -> None:
    parts = split_captioner(Model(deploy(net(), stages=stages)))
    assert parts is not None and parts.features == ("fc8",)
    assert [layer.name for layer in parts.image.net.layer] == ["data", "fc8", "relu8"]
    assert [layer.type for layer in parts.sentence.net.layer] == [
        "Input", "Embed", *["LSTM"] * (1 + len(stages)), "InnerProduct", "Softmax"
    ]  # fmt: skip
    words = {"cont_sentence": [1, 1], "input_sentence": [1, 1]}
    assert input_shapes(parts.sentence.net) == {**words, "fc8": [1, 6]}


def test_nets_without_words_or_without_images_are_not_split() -> None:
    deployed = deploy(net())
    text = from_text(NET.replace('bottom: "cont_sentence" bottom: "fc8"', 'bottom: "cont_sentence"'), pb.NetParameter)
    assert split_captioner(Model(deploy(text))) is None
    for layer in deployed.layer:
        if layer.type == "Embed":
            layer.type = "Tile"
            layer.ClearField("embed_param")
    del deployed.layer[-3:]
    assert split_captioner(Model(deployed)) is None

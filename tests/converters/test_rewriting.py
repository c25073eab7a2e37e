"""Several rewrites, one after the other, each proved."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from converters.rewriting import Rewrites, rewrite
from netdsl.deploy.deploy_net import deployed
from netdsl.errors import ConversionError
from netdsl.model import Model
from netdsl.net.net import Net
from netdsl.weights.tensor_files import Precision

NET = """name: "n"
layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 6 dim: 5 } } }
layer { name: "c" type: "Convolution" bottom: "data" top: "c"
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "bn" type: "BatchNorm" bottom: "c" top: "c" }
layer { name: "r" type: "ReLU" bottom: "c" top: "c" }
layer { name: "ip" type: "InnerProduct" bottom: "c" top: "ip"
  inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
"""


def model(mean: float) -> Model:
    """A convolution whose outputs lie around a mean that its normalisation subtracts."""
    message = from_text(NET, pb.NetParameter)
    weights = {name: list(arrays) for name, arrays in Net(message).get_weights().items()}
    weights["c"][1] = np.full(4, mean, np.float32)
    weights["bn"] = [np.full(4, mean, np.float32), np.ones(4, np.float32), np.ones(1, np.float32)]
    return deployed(Model(message, weights))


def test_each_step_is_proved_against_the_one_before() -> None:
    wanted = Rewrites(prune_to="bn", fold=True, swap=True, mean=(4.0,), precision=Precision.FLOAT16)
    after, proofs = rewrite(model(1.0), wanted)
    assert [(layer.name, layer.type) for layer in after.net.layer] == [("in", "Input"), ("c", "Convolution")]
    assert [proof.what for proof in proofs] == [
        "the net ends at layer 'bn'",
        "normalisations and scales folded",
        "images: BGR to RGB, mean subtracted",
        "weights rounded to float16, kept as float32",
    ]
    differences = [proof.difference for proof in proofs]
    assert differences[0] == 0
    assert 1e-5 < differences[3] < 1e-2  # what is left of a value in half precision
    assert [proof.tolerance for proof in proofs] == [1e-4, 1e-4, 1e-4, 1e-2]


def test_what_does_not_compute_the_same_is_not_done() -> None:
    far = model(1e6)  # in single precision the outputs of the convolution are multiples of 1/16 here
    with pytest.raises(ConversionError, match=r"normalisations and scales folded: the outputs differ by .* isn't done"):
        rewrite(far, Rewrites(fold=True))
    assert rewrite(far, Rewrites(fold=True), tolerance=10)[1][0].tolerance == 10
    assert [proof.difference for proof in rewrite(far, Rewrites(fold=True), verify=False)[1]] == [None]


def test_only_nets_that_begin_with_an_image_prepare_images() -> None:
    net = from_text('name: "v" layer { name: "in" type: "Input" top: "x" }', pb.NetParameter)
    with pytest.raises(ConversionError, match="net 'v' doesn't begin with an image"):
        rewrite(Model(net), Rewrites(swap=True))

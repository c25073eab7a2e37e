"""Nets after one or several rewrites, each with the proof that the result computes the same values."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from converters.rewriting import (
    Preprocessing,
    Rewrites,
    absorb_preprocessing,
    difference_after,
    fold_affine,
    make_fully_convolutional,
    prune_to,
    replace_lacking,
    rewrite,
    round_weights,
)
from converters.running import output_values
from netdsl.errors import ConversionError
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model
from netdsl.model.weights.tensor_files import Precision
from netdsl.training.net import Net
from tests.converters.nets import layer_names, net_of

EXACT = 2e-6  # single precision, after weights were computed in double precision and rounded once
FILL = 'weight_filler { type: "gaussian" std: 0.3 } bias_filler { type: "gaussian" std: 0.3 }'
INPUT = """name: "n" layer { name: "in" type: "Input" top: "data"
  input_param { shape { dim: 2 dim: 3 dim: 9 dim: 8 } } }
"""
CONV = f"""layer {{ name: "c" type: "Convolution" bottom: "data" top: "c"
  convolution_param {{ num_output: 4 kernel_size: 3 bias_term: false {FILL} }} }}
"""
NORM = """layer { name: "bn" type: "BatchNorm" bottom: "c" top: "bn" }
layer { name: "s" type: "Scale" bottom: "bn" top: "bn" scale_param { bias_term: true
  filler { type: "gaussian" std: 1 } bias_filler { type: "gaussian" std: 1 } } }
layer { name: "r" type: "ReLU" bottom: "bn" top: "bn" }
"""
CLASSES = f"""layer {{ name: "ip" type: "InnerProduct" bottom: "bn" top: "ip"
  inner_product_param {{ num_output: 6 {FILL} }} }}
layer {{ name: "drop" type: "Dropout" bottom: "ip" top: "ip" }}
layer {{ name: "ip2" type: "InnerProduct" bottom: "ip" top: "ip2"
  inner_product_param {{ num_output: 5 transpose: true bias_term: false {FILL} }} }}
layer {{ name: "prob" type: "Softmax" bottom: "ip2" top: "prob" }}
"""
NORMALIZED = """name: "n"
layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 6 dim: 5 } } }
layer { name: "c" type: "Convolution" bottom: "data" top: "c"
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "bn" type: "BatchNorm" bottom: "c" top: "c" }
layer { name: "r" type: "ReLU" bottom: "c" top: "c" }
layer { name: "ip" type: "InnerProduct" bottom: "c" top: "ip"
  inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
"""


def normalized(mean: float) -> Model:
    """Return a convolution whose outputs are distributed around a mean that its normalization subtracts."""
    message = from_text(NORMALIZED, pb.NetParameter)
    weights = {name: list(arrays) for name, arrays in Net(message).get_weights().items()}
    weights["c"][1] = np.full(4, mean, np.float32)
    weights["bn"] = [np.full(4, mean, np.float32), np.ones(4, np.float32), np.ones(1, np.float32)]
    return deploy_model(Model(message, weights))


def model(text: str) -> Model:
    net, message = net_of(text), from_text(text, pb.NetParameter)
    for layer in net.module.built.layers:
        for blob in layer.buffers():
            blob.data.uniform_(0.5, 2)
    return deploy_model(Model(message).with_weights(net.get_weights()))


def test_each_step_is_proved_against_the_one_before() -> None:
    wanted = Rewrites(prune_to="bn", fold=True, swap=True, mean=(4.0,), precision=Precision.FLOAT16)
    after, proofs = rewrite(normalized(1.0), wanted)
    assert [(layer.name, layer.type) for layer in after.net.layer] == [("in", "Input"), ("c", "Convolution")]
    assert [proof.what for proof in proofs] == [
        "the net ends at layer 'bn'",
        "normalizations and scales folded",
        "images: BGR to RGB, mean subtracted",
        "weights rounded to float16, kept as float32",
    ]
    differences = [proof.difference for proof in proofs]
    assert differences[0] == 0
    assert 1e-5 < differences[3] < 1e-2  # the precision of half-precision values
    assert [proof.tolerance for proof in proofs] == [1e-4, 1e-4, 1e-4, 1e-2]


def test_a_rewrite_that_changes_results_is_not_applied() -> None:
    far = normalized(1e6)  # here the convolution's outputs in single precision are multiples of 1/16
    with pytest.raises(
        ConversionError, match=r"normalizations and scales folded: the outputs differ by .* wasn't rewritten"
    ):
        rewrite(far, Rewrites(fold=True))
    assert rewrite(far, Rewrites(fold=True), tolerance=10)[1][0].tolerance == 10
    assert [proof.difference for proof in rewrite(far, Rewrites(fold=True), verify=False)[1]] == [None]


def test_only_nets_that_begin_with_an_image_prepare_images() -> None:
    net = from_text('name: "v" layer { name: "in" type: "Input" top: "x" }', pb.NetParameter)
    with pytest.raises(ConversionError, match="net 'v' doesn't begin with an image"):
        rewrite(Model(net), Rewrites(swap=True))


def test_normalizations_are_folded_into_the_convolution_before_them() -> None:
    before = model(INPUT + CONV + NORM + CLASSES)
    after = fold_affine(before)
    assert layer_names(after) == ["in", "c", "r", "ip", "drop", "ip2", "prob"]
    assert after.weights.keys() == {"c", "ip", "ip2"}
    assert difference_after(before, after) < EXACT


@pytest.mark.parametrize(
    "layer",
    [
        f'type: "Deconvolution" convolution_param {{ num_output: 6 group: 3 kernel_size: 3 stride: 2 pad: 1 {FILL} }}',
        f'type: "Convolution" convolution_param {{ num_output: 6 group: 3 kernel_size: 3 pad: 1 {FILL} }}',
        f'type: "InnerProduct" inner_product_param {{ num_output: 6 {FILL} }}',
        f'type: "InnerProduct" inner_product_param {{ num_output: 6 transpose: true bias_term: false {FILL} }}',
    ],
)
def test_normalizations_are_folded_into_other_layers_too(layer: str) -> None:
    bias = 'layer { name: "b" type: "Bias" bottom: "bn" top: "b" bias_param { filler { value: 3 } } }'
    before = model(f'{INPUT} layer {{ name: "c" bottom: "data" top: "c" {layer} }} {NORM} {bias}')
    after = fold_affine(before)
    assert layer_names(after) == ["in", "c", "r", "b"]  # the layer after a ReLU stays
    assert difference_after(before, after) < EXACT


def test_blobs_and_weights_with_other_users_are_not_folded() -> None:
    read = model(f'{INPUT} {CONV} {NORM} layer {{ name: "sum" type: "Eltwise" bottom: "c" bottom: "bn" top: "sum" }}')
    assert layer_names(fold_affine(read)) == layer_names(read)
    shared = model(INPUT + CONV.replace("convolution_param", 'param { name: "w" } convolution_param') + NORM)
    assert layer_names(fold_affine(shared)) == layer_names(shared)
    of_batch = NORM.replace('top: "bn" }', 'top: "bn" batch_norm_param { use_global_stats: false } }', 1)
    assert layer_names(fold_affine(model(INPUT + CONV + of_batch))) == ["in", "c", "bn", "s", "r"]


def test_a_fully_convolutional_net_scores_every_place() -> None:
    before = model(INPUT + CONV + NORM + CLASSES)
    after = make_fully_convolutional(before)
    assert [layer.type for layer in after.net.layer][-4:] == ["Convolution", "Dropout", "Convolution", "Softmax"]
    assert difference_after(before, after) < EXACT
    image = np.random.default_rng(0).standard_normal((1, 3, 11, 9)).astype(np.float32)
    found = output_values(after, {"data": image})["prob"]
    assert found.shape == (1, 5, 3, 2)
    corner = output_values(before, {"data": image[:, :, 2:, 1:]})["prob"]
    np.testing.assert_allclose(found[:, :, 2, 1], corner, rtol=1e-5)  # probabilities, in single precision
    with pytest.raises(ConversionError, match="no fully connected layer of net 'n' can become"):
        make_fully_convolutional(model(INPUT + CONV))


@pytest.mark.parametrize(("pad", "layers"), [(0, ["in", "c"]), (1, ["in", "data_without_mean", "c"])])
def test_images_are_prepared_inside_the_net(pad: int, layers: list[str]) -> None:
    before = model(INPUT + CONV.replace("kernel_size: 3", f"kernel_size: 3 pad: {pad}") + NORM)
    preprocessing = Preprocessing.of(3, swap_channels=True, mean=[1.0, 2.0, 3.0])
    after = absorb_preprocessing(before, preprocessing)
    assert layer_names(after)[: len(layers)] == layers
    assert difference_after(before, after, preprocess=preprocessing) < EXACT
    assert difference_after(before, after) > 0.01
    swapped = absorb_preprocessing(before, Preprocessing.of(3, swap_channels=True))
    assert layer_names(swapped) == layer_names(before)


def test_a_preparation_equals_caffes_transformation() -> None:
    image = np.arange(6, dtype=np.float32).reshape(1, 3, 1, 2)
    found = Preprocessing.of(3, swap_channels=True, mean=[10, 20, 30])(image)
    assert found.tolist() == [[[[-6, -5]], [[-18, -17]], [[-30, -29]]]]


def test_images_without_a_single_reader_are_refused() -> None:
    two = INPUT + CONV + CONV.replace('"c"', '"d"')
    with pytest.raises(
        ConversionError,
        match="read by exactly one layer, which doesn't share parameters, but they are read by 'c', 'd'",
    ):
        absorb_preprocessing(model(two), Preprocessing.of(3, swap_channels=True))
    grouped = INPUT + CONV.replace("num_output: 4", "num_output: 6 group: 3")
    with pytest.raises(ConversionError, match="layer 'c' of type Convolution can't absorb the preprocessing"):
        absorb_preprocessing(model(grouped), Preprocessing.of(3, swap_channels=True))
    with pytest.raises(ConversionError, match="the mean has 2 values, but the images have 3 channels"):
        Preprocessing.of(3, swap_channels=False, mean=[1, 2])


def test_weights_can_be_rounded_to_fewer_bits() -> None:
    before = model(INPUT + CONV + NORM + CLASSES)
    half, brain = round_weights(before, Precision.FLOAT16), round_weights(before, Precision.BFLOAT16)
    assert 1e-6 < difference_after(before, half) < difference_after(before, brain) < 0.1
    assert half.weights["c"][0].dtype == np.float32
    assert np.array_equal(half.weights["c"][0], before.weights["c"][0].astype(np.float16).astype(np.float32))
    large = before.with_weights({**before.weights, "c": [before.weights["c"][0] + 70000]})
    with pytest.raises(ConversionError, match="the weights of layer 'c' are too large for float16"):
        round_weights(large, Precision.FLOAT16)


def test_a_net_can_end_at_one_of_its_layers() -> None:
    before = model(INPUT + CONV + NORM + CLASSES)
    after = prune_to(before, "s")
    assert layer_names(after) == ["in", "c", "bn", "s"]
    assert after.weights.keys() == {"c", "bn", "s"}
    assert difference_after(before, after, end="s") == 0
    assert difference_after(before, after) > 0.01  # the blob has passed through the ReLU in the end
    with pytest.raises(ConversionError, match="there is no layer 'ip3'; did you mean ip"):
        prune_to(before, "ip3")


def test_a_rewrite_needs_weights() -> None:
    with pytest.raises(ConversionError, match="net 'n' can't be rewritten without its weights"):
        fold_affine(Model(from_text(INPUT + CONV, pb.NetParameter)))


def test_preprocessing_is_undone() -> None:
    image = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
    preprocessing = Preprocessing.of(3, swap_channels=True, mean=[10, 20, 30])
    np.testing.assert_allclose(preprocessing(preprocessing.undo(image)), image, atol=1e-5)  # 30 and back


@pytest.mark.parametrize(
    "clamping",
    [
        'type: "Clip" clip_param { min: 0 max: 0.6 }',
        'type: "Clip" clip_param { min: -0.3 max: 0.6 }',
        'type: "Clip" clip_param { min: -0.3 max: inf }',
        'type: "Clip" clip_param { min: -inf max: 0.6 }',
        'type: "Clip" clip_param { min: -3.4028235e38 max: 3.4028235e38 }',
        'type: "ReLU6"',
        'type: "ReLU6" relu6_param { negative_slope: 0.1 }',
    ],
)
@pytest.mark.parametrize("top", ["c", "t"])
def test_layers_that_a_program_lacks_are_computed_by_others(clamping: str, top: str) -> None:
    before = model(INPUT + CONV + f"""layer {{ name: "t" {clamping} bottom: "c" top: "{top}" }}""")
    after = replace_lacking(before, lambda layer: layer.type in ("Clip", "ReLU6"))
    assert {layer.type for layer in after.net.layer[2:]} <= {"ReLU", "Power"}
    assert difference_after(before, after) <= EXACT
    assert replace_lacking(before, lambda layer: False) is before


@pytest.mark.parametrize("kind", ["ConvolutionDepthwise", "DepthwiseConvolution"])
def test_a_convolution_of_each_channel_becomes_one_with_groups(kind: str) -> None:
    before = model(
        INPUT
        + CONV
        + f"""layer {{ name: "d" type: "{kind}" bottom: "c" top: "d"
        convolution_param {{ num_output: 4 kernel_size: 3 {FILL} }} }}"""
    )
    after = replace_lacking(before, lambda layer: layer.type == kind)
    assert [layer.type for layer in after.net.layer] == ["Input", "Convolution", "Convolution"]
    assert after.net.layer[2].convolution_param.group == 4
    assert difference_after(before, after) == 0


@pytest.mark.parametrize(
    "repeating", ['"Upsample" upsample_param { scale: 3 }', '"UpsampleDarknet" upsample_darknet_param { stride: 2 }']
)
def test_repeated_pixels_become_a_deconvolution(repeating: str) -> None:
    before = model(INPUT + CONV + f"""layer {{ name: "u" type: {repeating} bottom: "c" top: "u" }}""")
    after = replace_lacking(before, lambda layer: layer.type.startswith("Upsample"))
    assert [layer.type for layer in after.net.layer] == ["Input", "Convolution", "Deconvolution"]
    assert difference_after(before, after) == 0


def test_a_layer_that_undoes_a_pooling_stays() -> None:
    before = model(
        INPUT
        + CONV
        + """layer { name: "p" type: "Pooling" bottom: "c" top: "p" top: "m"
          pooling_param { kernel_size: 2 stride: 2 } }
        layer { name: "u" type: "Upsample" bottom: "p" bottom: "m" top: "u" upsample_param { scale: 2 } }"""
    )
    assert replace_lacking(before, lambda layer: True) is before


def test_only_replaced_layers_are_a_step() -> None:
    before = model(INPUT + CONV)
    after, proofs = rewrite(before, Rewrites(lacks=lambda layer: True))
    assert after is before and not proofs

"""Residual, dense and mobile nets match their papers, with the names of the published files."""

from __future__ import annotations

from functools import cache

import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Shape
from netdsl.net.build import Built, build
from netdsl.net.graph import resolve
from zoo import catalogue


@cache
def _deployed(name: str) -> Built:
    return build(resolve(catalogue.entry_of(name).deploy()))


@cache
def _tops(name: str) -> dict[str, Shape]:
    built = _deployed(name)
    return {blob: shape[1:] for blob, shape in zip(built.graph.blobs, built.shapes, strict=True)}


def _blobs(name: str, layer: str) -> list[Shape]:
    built = _deployed(name)
    index = [node.layer.name for node in built.graph.nodes].index(layer)
    return [tuple(blob.shape) for blob in built.layers[index].blob_tensors()]


def _layers(name: str) -> list[pb.LayerParameter]:
    return [node.layer for node in _deployed(name).graph.nodes]


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        ("resnet-18", 18),
        ("resnet-34", 34),
        ("resnet-50", 50),
        pytest.param("resnet-101", 101, marks=pytest.mark.slow),
        pytest.param("resnet-152", 152, marks=pytest.mark.slow),
        ("cifar-resnet-20", 20),
        ("cifar-resnet-56", 56),
        pytest.param("cifar-resnet-110", 110, marks=pytest.mark.slow),
        ("densenet-121", 121),
    ],
)
def test_a_net_has_the_number_of_layers_in_its_name(name: str, depth: int) -> None:
    learned = [layer.name for layer in _layers(name) if layer.type in ("Convolution", "InnerProduct")]
    assert len([layer for layer in learned if not layer.endswith(("_branch1", "_proj"))]) == depth


@pytest.mark.parametrize(("name", "widening"), [("resnet-18", 1), ("resnet-34", 1), ("resnet-50", 4)])
def test_sides_halve_and_channels_double_at_each_stage(name: str, widening: int) -> None:
    tops = _tops(name)
    assert (tops["conv1"], tops["pool1"]) == ((64, 112, 112), (64, 56, 56))
    for stage, (width, side) in enumerate([(64, 56), (128, 28), (256, 14), (512, 7)], 2):
        assert {tops[f"res{stage}{block}"] for block in "ab"} == {(width * widening, side, side)}
        assert tops[f"res{stage}a_branch2a"] == (width, side, side)
    assert (tops["pool5"], tops["prob"]) == ((512 * widening, 1, 1), (1000,))


def test_nets_for_cifar_have_the_right_groups() -> None:
    tops = _tops("cifar-resnet-20")
    groups = [(16, 32, 32), (32, 16, 16), (64, 8, 8)]
    assert [tops[f"group{group}_block2_sum"] for group in range(3)] == groups
    assert (tops["data"], tops["softmax"]) == ((3, 32, 32), (10,))


def test_weights_have_the_names_of_the_published_ones() -> None:
    assert _blobs("resnet-50", "conv1") == [(64, 3, 7, 7), (64,)]
    assert _blobs("resnet-50", "bn4f_branch2c") == [(1024,), (1024,), (1,)]
    assert _blobs("resnet-18", "conv1") == [(64, 3, 7, 7)]
    assert _blobs("cifar-resnet-20", "group2_block2_conv1") == [(64, 64, 3, 3), (64,)]
    assert _blobs("cifar-resnet-56", "group2_block8_conv1") == [(64, 64, 3, 3)]
    assert _blobs("densenet-121", "conv5_16/x2") == [(32, 128, 3, 3)]
    assert _blobs("mobilenet-v1", "conv5_6/dw") == [(512, 1, 3, 3)]
    assert _blobs("mobilenet-v2", "conv6_3/linear") == [(320, 960, 1, 1)]
    assert _blobs("shufflenet", "resx16_conv3") == [(960, 80, 1, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stage_3", "stage_4"), [("resnet-101", 3, 22), ("resnet-152", 7, 35)])
def test_blocks_of_long_stages_are_numbered(name: str, stage_3: int, stage_4: int) -> None:
    sums = [layer.name for layer in _layers(name) if layer.type == "Eltwise"]
    numbered = (
        [f"res3b{block}" for block in range(1, stage_3 + 1)],
        [f"res4b{block}" for block in range(1, stage_4 + 1)],
    )
    short = [["res2a", "res2b", "res2c"], ["res5a", "res5b", "res5c"]]
    assert sums == [*short[0], "res3a", *numbered[0], "res4a", *numbered[1], *short[1]]


def test_a_dense_block_grows_by_32_channels_and_half_of_them_continue() -> None:
    tops, channels = _tops("densenet-121"), 64
    for stage, (depth, side) in enumerate([(6, 56), (12, 28), (24, 14), (16, 7)], 2):
        grown = [tops[f"concat_{stage}_{layer}"] for layer in range(1, depth + 1)]
        assert grown == [(channels + 32 * layer, side, side) for layer in range(1, depth + 1)]
        channels = (channels + 32 * depth) // 2
        assert stage == 5 or tops[f"pool{stage}"] == (channels, side // 2, side // 2)


@pytest.mark.parametrize("name", ["mobilenet-v1", "mobilenet-v2"])
def test_3_x_3_filters_see_one_channel_each_after_the_first_layer(name: str) -> None:
    convolutions = [layer for layer in _layers(name) if layer.type == "Convolution"]
    looking = [layer.name for layer in convolutions if list(layer.convolution_param.kernel_size) == [3]]
    assert looking[0] == "conv1"
    assert all(_blobs(name, layer)[0][1:] == (1, 3, 3) for layer in looking[1:])
    assert len(looking) == {"mobilenet-v1": 14, "mobilenet-v2": 18}[name]


def test_shortcuts_join_the_narrow_ends_of_blocks() -> None:
    sums = {layer.name: _tops("mobilenet-v2")[layer.top[0]] for layer in _layers("mobilenet-v2") if layer.bottom[1:]}
    narrow = {"3": [24], "4": [32, 32, 64, 64, 64], "5": [96, 96], "6": [160, 160]}
    assert [shape[0] for shape in sums.values()] == [width for widths in narrow.values() for width in widths]
    rectified = {layer.top[0] for layer in _layers("mobilenet-v2") if layer.type == "ReLU"}
    assert not any(
        bottom in rectified for layer in _layers("mobilenet-v2") if layer.name in sums for bottom in layer.bottom
    )


def test_groups_are_shuffled_in_every_unit_except_the_first() -> None:
    layers, tops = _layers("shufflenet"), _tops("shufflenet")
    assert [layer.name for layer in layers if layer.type == "ShuffleChannel"] == [
        f"shuffle{unit}" for unit in range(2, 17)
    ]
    stages = [tops[f"resx{unit}_elewise"] for unit in (4, 12, 16)]
    assert stages == [(240, 28, 28), (480, 14, 14), (960, 7, 7)]
    assert [tops[f"resx{unit}_concat"] for unit in (1, 5, 13)] == stages

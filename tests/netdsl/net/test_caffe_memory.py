"""Nets that are reported to have other gradients, or other values, in Caffe."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.net.build import build
from netdsl.net.caffe_memory import memory_notes
from netdsl.net.graph import Phase, resolve

DATA = 'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 5 dim: 4 } } } '
LOSS = 'layer { name: "loss" type: "Reduction" bottom: "%s" top: "loss" loss_weight: 1 }'
FILTERS = 'convolution_param { num_output: 6 kernel_size: 2 weight_filler { type: "xavier" } }'


USUAL = {"Clip": "clip_param { min: -1 max: 1 }"}


POOL = "pooling_param { kernel_size: 2 }"


def layer(kind: str, bottom: str, top: str, settings: str = "", name: str = "") -> str:
    names = " ".join(
        f'{field}: "{each}"' for field, blobs in (("bottom", bottom), ("top", top)) for each in blobs.split()
    )
    return f'layer {{ name: "{name or kind.lower()}" type: "{kind}" {names} {settings or USUAL.get(kind, "")} }} '


CONV = layer("Convolution", "data", "x", FILTERS, "conv")


DROPPED = layer("Split", "x", "y") + layer("Dropout", "y", "y")
SUM = layer("Eltwise", "p z", "sum")


def in_place(*kinds: str) -> str:
    """Return a convolution with in-place layers after it."""
    return CONV + "".join(layer(kind, "x", "x") for kind in kinds)


def notes(text: str, end: str = "x") -> list[str]:
    message = from_text(DATA + text + (LOSS % end if end else ""), pb.NetParameter)
    return memory_notes(build(resolve(message, Phase.TRAIN)))


@pytest.mark.parametrize(
    "text",
    [
        in_place("ReLU", "Dropout"),
        in_place("BatchNorm", "Scale", "ReLU"),
        in_place("BatchNorm", "Bias", "ReLU", "Dropout"),
        in_place("PReLU", "Scale"),
        in_place("ELU"),
        in_place("TanH", "ReLU"),
        in_place("HardSwish", "ReLU6"),
        in_place("SpatialDropout"),
        CONV + layer("LRN", "x", "n") + layer("ReLU", "n", "n") + layer("Pooling", "n", "x2", POOL),
        layer("Power", "data", "data", "power_param { scale: 0.01 }") + CONV,  # no layer learns before it
        in_place("ReLU") + layer("Flatten", "x", "flat") + layer("Dropout", "flat", "flat"),
    ],
)
def test_common_in_place_layers_are_not_reported(text: str) -> None:
    assert not notes(text, from_text(text, pb.NetParameter).layer[-1].top[0])


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        (in_place("Clip"), "layer 'clip'"),
        (in_place("Power"), "layer 'power'"),
        (in_place("ReLU", "BatchNorm"), "layer 'relu'"),
        (in_place("ReLU", "Dropout", "Scale"), "layer 'relu'"),
        (in_place("ELU", "Dropout"), "layer 'elu'"),
        (in_place("SeLu"), "layer 'selu'"),
        (in_place("HardSwish", "BNLL"), "layer 'bnll'"),
        (CONV + layer("LRN", "x", "n") + layer("Dropout", "n", "n") + layer("Concat", "n n", "x2"), "layer 'lrn'"),
        (in_place("ReLU") + layer("Flatten", "x", "y") + layer("BNLL", "y", "y"), "layers 'relu', 'bnll'"),
        (
            in_place("ReLU") + layer("Pooling", "x", "p", POOL) + DROPPED + layer("Pooling", "y", "z", POOL) + SUM,
            "layer 'relu'",
        ),
        (
            CONV
            + layer("ELU", "x", "e")
            + layer("Split", "x", "y")
            + layer("Bias", "y", "y")
            + layer("Bias", "e", "z"),
            "layer 'elu'",
        ),
        (in_place("Sigmoid", "TanH", "Exp", "Log"), "layers 'sigmoid', 'tanh', 'exp' and 1 more"),
    ],
)
def test_layers_whose_gradients_differ_are_named_in_one_line(text: str, layers: str) -> None:
    last = from_text(text, pb.NetParameter).layer[-1].top[0]
    (note,) = notes(text, last)
    assert note.startswith(f"the gradients of {layers} differ")
    assert "--caffe-gradients" in note


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("Flatten", ""),
        ("Reshape", "reshape_param { shape { dim: 0 dim: -1 } }"),
        ("Split", ""),
        ("Concat", ""),
        ("Slice", ""),
        ("Permute", ""),
    ],
)
def test_a_top_in_its_bottoms_memory_is_overwritten_with_it(kind: str, settings: str) -> None:
    (note,) = notes(
        CONV + layer("Sigmoid", "x", "s") + layer(kind, "s", "y", settings) + layer("Dropout", "y", "y"), "y"
    )
    assert note.startswith("the gradients of layer 'sigmoid' differ")


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("Reshape", "reshape_param { pixelshuffler: 2 }"),
        ("Permute", "permute_param { order: 1 }"),
        ("Tile", "tile_param { tiles: 1 }"),
    ],
)
def test_a_top_in_separate_memory_is_not_overwritten(kind: str, settings: str) -> None:
    filters = FILTERS.replace("num_output: 6", "num_output: 8")
    conv = layer("Convolution", "data", "x", filters, "conv") + layer("Sigmoid", "x", "s")
    assert not notes(conv + layer(kind, "s", "y", settings) + layer("Dropout", "y", "y"), "y")


def test_only_layers_that_learn_from_a_loss_count() -> None:
    frozen = CONV.replace("} }", "} } param { lr_mult: 0 } param { lr_mult: 0 }", 1)
    assert not notes(in_place("Clip"), end="")
    assert not notes(frozen + layer("Clip", "x", "x"))
    assert not notes(
        in_place("Clip") + layer("Silence", "x", "") + layer("Pooling", "data", "p", POOL),
        "p",
    )


def test_a_blob_overwritten_under_another_name_before_a_read_is_reported() -> None:
    flat = layer("Flatten", "x", "flat") + layer("ReLU", "flat", "flat")
    assert not notes(CONV + layer("Pooling", "x", "p", POOL) + flat, "p")
    (note,) = notes(CONV + flat + layer("Pooling", "x", "p", POOL), "p")
    assert note.startswith("layer 'pooling': Caffe finds other values")


def test_a_net_that_caffe_refuses_is_reported_without_other_gradients() -> None:
    """Another layer reads a blob that an in-place layer then changes. Caffe finds two sources of that blob."""
    sigmoid_and_clip = layer("Sigmoid", "x", "s") + layer("Clip", "x", "x")
    (note,) = notes(CONV + sigmoid_and_clip + layer("Eltwise", "s x", "sum"), "sum")
    assert note.startswith("layer 'clip': Caffe refuses")


def test_gradients_are_reported_for_the_training_net() -> None:
    message = from_text(DATA + in_place("Clip") + LOSS % "x", pb.NetParameter)
    assert not memory_notes(build(resolve(message, Phase.TEST)))

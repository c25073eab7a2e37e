"""A net as boxes and wires."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.model.model import Model, open_net
from netdsl.net.graph import Phase
from zoo.drawing.net_boxes import LayerBox, LayerKind, NetBoxes, boxes_of


def net(text: str) -> Model:
    from google.protobuf import text_format

    return open_net(text_format.Parse(f'name: "net" {text}', pb.NetParameter()))


INPUT = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }'


def layer(name: str, kind: str, bottoms: str, top: str, more: str = "") -> str:
    ends = "".join(f' bottom: "{bottom}"' for bottom in bottoms.split())
    return f'layer {{ name: "{name}" type: "{kind}"{ends} top: "{top}" {more} }}'


CONV = "convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } }"


def box(found: NetBoxes, name: str) -> LayerBox:
    return next(box for box in found.boxes if box.name == name)


def reads(found: NetBoxes) -> set[tuple[str, str]]:
    names = [box.name for box in found.boxes]
    return {(names[wire.source], names[target]) for wire in found.wires for target in wire.targets}


def test_in_place_layers_are_in_the_box_that_they_follow() -> None:
    norm = layer("norm", "BatchNorm", "c", "c") + layer("scale", "Scale", "c", "c")
    found = boxes_of(net(INPUT + layer("c", "Convolution", "x", "c", CONV) + norm + layer("r", "ReLU", "c", "r")))
    assert [box.name for box in found.boxes] == ["x", "c"]
    conv = found.boxes[1]
    assert conv.folded == ("norm (BatchNorm)", "scale (Scale)", "r (ReLU)")
    assert conv.settings == ("num_output 4", "kernel_size 3")
    assert conv.tops == ("2 \N{MULTIPLICATION SIGN} 4 \N{MULTIPLICATION SIGN} 6 \N{MULTIPLICATION SIGN} 6",)


def test_a_layer_whose_bottom_has_other_readers_has_its_own_box() -> None:
    """If it were folded, the other readers would appear to read the folded layers' result."""
    text = INPUT + layer("c", "Convolution", "x", "c", CONV) + layer("r", "ReLU", "c", "r")
    found = boxes_of(net(text + layer("sum", "Eltwise", "c r", "sum")))
    assert reads(found) == {("x", "c"), ("c", "r"), ("c", "sum"), ("r", "sum")}


def test_kinds_follow_the_layers_capabilities() -> None:
    text = (
        INPUT
        + layer("c", "Convolution", "x", "c", CONV)
        + layer("p", "Pooling", "c", "p", "pooling_param { kernel_size: 2 }")
    )
    text += layer("f", "InnerProduct", "p", "f", "inner_product_param { num_output: 4 }")
    text += layer("both", "Concat", "f f", "both") + layer(
        "odd", "Reshape", "both", "odd", "reshape_param { shape { dim: 2 dim: 8 } }"
    )
    text += 'layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }'
    text += layer("loss", "SoftmaxWithLoss", "odd label", "loss") + layer("a", "Accuracy", "odd label", "a")
    found = boxes_of(net(text))
    assert {box.name: box.kind for box in found.boxes} == {
        "x": LayerKind.DATA, "label": LayerKind.DATA, "c": LayerKind.LEARNS_WINDOW, "p": LayerKind.WINDOW,
        "f": LayerKind.LEARNS, "both": LayerKind.JOINS, "odd": LayerKind.OTHER, "loss": LayerKind.LOSS,
        "a": LayerKind.MEASURE,
    }  # fmt: skip


def test_a_net_with_unknown_types_or_wrong_shapes_is_still_drawn() -> None:
    found = boxes_of(net(INPUT + layer("odd", "NobodyKnows", "x", "odd") + layer("r", "ReLU", "odd", "r")))
    assert box(found, "odd").kind is LayerKind.UNKNOWN
    large = "convolution_param { num_output: 4 kernel_size: 30 }"
    found = boxes_of(net(INPUT + layer("c", "Convolution", "x", "c", large) + layer("r", "ReLU", "c", "c")))
    assert [(box.name, box.tops) for box in found.boxes] == [("x", ()), ("c", ())]


def test_each_phase_has_its_layers() -> None:
    text = INPUT + layer("d", "Power", "x", "d") + layer("t", "Power", "x", "t", "include { phase: TRAIN }")
    assert [box.name for box in boxes_of(net(text), Phase.TRAIN).boxes] == ["x", "d", "t"]
    assert [box.name for box in boxes_of(net(text)).boxes] == ["x", "d"]
    only = net('layer { name: "x" type: "Input" top: "x" include { phase: TRAIN } input_param { shape { dim: 1 } } }')
    assert boxes_of(only).phase is Phase.TRAIN
    with pytest.raises(NetError, match="net 'net' has no layers that fit together in phase TEST"):
        boxes_of(only, Phase.TEST)

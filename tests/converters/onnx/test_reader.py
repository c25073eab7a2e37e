"""ONNX models that are written for the reader of one program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import helper

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from converters.onnx import export_onnx
from converters.onnx.reader import ANY_READER, MISREAD, OnnxReader
from converters.targets.target import TARGETS
from netdsl import ConvLayer, Net, NetParams, RDDLayer
from netdsl.errors import ConversionError

BOXES = """
layer { name: "l" type: "Input" top: "l" input_param { shape { dim: [1, 8] } } }
layer { name: "s" type: "Input" top: "s" input_param { shape { dim: [1, 6] } } }
layer { name: "p" type: "Input" top: "p" input_param { shape { dim: [1, 2, 8] } } }
layer { name: "d" type: "DetectionOutput" bottom: ["l", "s", "p"] top: "d" detection_output_param {
  num_classes: 3 share_location: true code_type: CENTER_SIZE confidence_threshold: 0.25
  nms_param { nms_threshold: 0.5 } } }
"""


def nodes_of(net: Net, path: Path, reader: OnnxReader = ANY_READER) -> dict[str, dict[str, Any]]:
    """Export a net, and return the attributes of the nodes by operator."""
    export_onnx(net, path, reader=reader)
    nodes = onnx.load(path).graph.node
    return {node.op_type: {each.name: helper.get_attribute_value(each) for each in node.attribute} for node in nodes}


@pytest.mark.parametrize(("numbers", "code"), [(False, b"CENTER_SIZE"), (True, 2)])
def test_a_layer_of_caffe_becomes_an_operator_with_its_settings(tmp_path: Path, numbers: bool, code: object) -> None:
    reader = OnnxReader(("DetectionOutput",), numbers)
    found = nodes_of(Net(from_text(BOXES, pb.NetParameter)), tmp_path / "m.onnx", reader)
    assert list(found) == ["DetectionOutput"]
    settings = found["DetectionOutput"]
    assert (settings["num_classes"], settings["share_location"], settings["code_type"]) == (3, 1, code)
    assert (settings["nms_threshold"], settings["confidence_threshold"]) == (0.5, 0.25)
    assert (settings["keep_top_k"], settings["background_label_id"]) == (-1, 0)  # Caffe's defaults


def test_a_padded_1x1_convolution_is_padded_apart_for_a_program_that_misreads_it(tmp_path: Path) -> None:
    net = Net(
        NetParams(
            "n", RDDLayer("x", shape=[1, 2, 5, 4]), ConvLayer("c", ["x"], kernel=(1, 1), pad=(1, 2), num_filters=3)
        )
    )
    assert list(nodes_of(net, tmp_path / "m.onnx")) == ["Conv"]
    found = nodes_of(net, tmp_path / "m.onnx", OnnxReader(misreads=("padded-1x1-convolution",)))
    assert list(found) == ["Pad", "Conv"] and found["Conv"]["pads"] == [0, 0, 0, 0]
    wide = Net(
        NetParams(
            "n", RDDLayer("x", shape=[1, 2, 5, 4]), ConvLayer("c", ["x"], kernel=(3, 3), pad=(1, 1), num_filters=3)
        )
    )
    assert list(nodes_of(wide, tmp_path / "m.onnx", OnnxReader(misreads=("padded-1x1-convolution",)))) == ["Conv"]


def test_the_written_model_can_be_refused_before_it_takes_its_place(tmp_path: Path) -> None:
    def refuse(path: Path) -> None:
        assert path.is_file()
        raise ConversionError("no")

    net = Net(NetParams("n", RDDLayer("x", shape=[1, 2, 5, 4]), ConvLayer("c", ["x"], kernel=(1, 1), num_filters=3)))
    with pytest.raises(ConversionError, match="no"):
        export_onnx(net, tmp_path / "m.onnx", accept=refuse)
    assert list(tmp_path.iterdir()) == []


def test_targets_name_forms_that_have_another_form() -> None:
    assert {form for target in TARGETS.own().values() for form in target.misreads} <= set(MISREAD)


@pytest.mark.parametrize(
    ("settings", "form"),
    [
        ("kernel_size: 3 stride: 2", {"pads": [0, 0, 0, 0], "ceil_mode": 1}),  # 8 rows: the last window is a part
        ("kernel_size: 2 stride: 2", {"pads": [0, 0, 0, 0]}),
        ("kernel_size: 3 pad: 1", {"pads": [1, 1, 1, 1]}),
        ("kernel_size: 3 stride: 2 pad: 1", {"pads": [1, 1, 1, 1], "ceil_mode": 1}),
        ("kernel_size: 3 stride: 4 pad: 2", {"pads": [2, 2, 2, 2]}),  # Caffe leaves the window in the padding out
        ("kernel_size: 3 stride_h: 4 stride_w: 2 pad_h: 2 pad_w: 0", {"pads": [2, 0, 1, 1]}),  # and here on one axis
    ],
)
def test_averages_count_only_what_is_inside_with_equal_padding_if_possible(
    tmp_path: Path, settings: str, form: dict[str, object]
) -> None:
    text = f"""layer {{ name: "x" type: "Input" top: "x" input_param {{ shape {{ dim: [1, 2, 8, 8] }} }} }}
        layer {{ name: "p" type: "Pooling" bottom: "x" top: "p" pooling_param {{ pool: AVE {settings} }} }}"""
    net = Net(from_text(text, pb.NetParameter))
    found = nodes_of(net, tmp_path / "m.onnx")["AveragePool"]
    assert {name: found[name] for name in found if name in ("pads", "ceil_mode", "count_include_pad")} == form

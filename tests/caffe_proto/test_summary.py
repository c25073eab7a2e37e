"""The table that describes a file."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.dialects import dialect_named
from caffe_proto.errors import LimitError
from caffe_proto.files import CaffeFile, Form
from caffe_proto.summary import BlobLine, Summary, summarize
from caffe_proto.text.prototxt import from_text

CONV = """layer { name: "conv" type: "Convolution" bottom: "x" top: "conv" phase: TEST loss_weight: 0.5
  param { lr_mult: 0 } include { stage: "deploy" min_level: 2 } exclude { stage: "old" }
  convolution_param { num_output: 4 kernel_size: 3 kernel_size: 5 weight_filler { type: "xavier" } } }"""


def of(text: str, kind: type[Message] = pb.NetParameter) -> Summary:
    return summarize(CaffeFile(from_text(text, kind)))


def test_a_layer_is_described_by_its_main_settings() -> None:
    (line,) = of(CONV).layers
    assert (line.name, line.type, line.bottoms, line.tops) == ("conv", "Convolution", ("x",), ("conv",))
    assert line.settings == "loss_weight: 0.5 num_output: 4 kernel_size: 3 kernel_size: 5"
    assert line.when == 'include {min_level: 2 stage: "deploy"}, exclude {stage: "old"}, phase: TEST'
    assert (line.blobs, line.parameters) == ((), 0)


@pytest.mark.parametrize(
    ("text", "name", "kind", "settings"),
    [
        ("layers { layer { name: 'c' type: 'conv' num_output: 4 } bottom: 'x' }", "c", "conv", "num_output: 4"),
        (
            "layers { name: 'c' type: RELU relu_param { negative_slope: 2 } bottom: 'x' }",
            "c",
            "RELU",
            "negative_slope: 2",
        ),
        ("layer { bottom: 'x' }", "", "", ""),
    ],
)
def test_layers_in_every_format_are_described(text: str, name: str, kind: str, settings: str) -> None:
    (line,) = of(text).layers
    assert (line.name, line.type, line.settings, line.bottoms) == (name, kind, settings, ("x",))


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("input: 'x' input_dim: [2, 3, 7, 5]", (("x", (2, 3, 7, 5)),)),
        ("input: ['x', 'y'] input_dim: [2, 3, 7, 5, 1, 1, 1, 9]", (("x", (2, 3, 7, 5)), ("y", (1, 1, 1, 9)))),
        ("input: ['x', 'y'] input_shape { dim: [2, 3] } input_shape { }", (("x", (2, 3)), ("y", ()))),
        ("input: ['x', 'y'] input_shape { dim: 2 }", (("x", (2,)), ("y", ()))),
        ("input: 'x'", (("x", ()),)),
        ("layer { type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 } } }", (("a", (2,)), ("b", (2,)))),
        (
            "layer { top: ['a', 'b'] input_param { shape: [{ dim: 2 }, { dim: 3 }] } }",
            (("a", (2,)), ("b", (3,))),
        ),
        ("layer { type: 'Input' top: 'a' }", ()),
    ],
)
def test_inputs_are_described_with_their_known_shapes(text: str, inputs: object) -> None:
    assert of(text).inputs == inputs


def test_a_nets_own_settings_are_listed_without_its_layers() -> None:
    summary = of(f"name: 'n' input: 'x' force_backward: true state {{ level: 2 stage: 'a' }} {CONV}")
    assert (summary.kind, summary.name, summary.form) == ("NetParameter", "n", "prototxt")
    assert summary.settings == (("force_backward", "true"), ("state", 'level: 2 stage: "a"'))


def test_parameters_are_counted() -> None:
    file = CaffeFile(from_text(CONV + "layer { name: 'r' }", pb.NetParameter), form=Form.BINARY)
    file.dialect = dialect_named("ssd")
    for shape in ((4, 2, 3, 5), (4,)):
        file.blobs.put(file.message.layer[0].blobs.add(), np.zeros(shape, np.float32))
    summary = summarize(file)
    assert (summary.form, summary.dialect, summary.parameters) == ("binary", "ssd", 124)
    assert [(line.blobs, line.parameters) for line in summary.layers] == [(((4, 2, 3, 5), (4,)), 124), ((), 0)]


def test_old_blobs_are_counted_in_every_format() -> None:
    blob = "blobs { num: 1 channels: 1 height: 2 width: 3 }"
    summary = of(f"layers {{ layer {{ name: 'a' {blob} }} }} layers {{ name: 'b' {blob} {blob} }}")
    assert [line.parameters for line in summary.layers] == [6, 12]


def test_more_parameters_than_fit_into_64_bits_are_counted_too() -> None:
    assert of("layer { blobs { shape { dim: 4294967296 dim: 4294967296 } } }").parameters == 2**64


@pytest.mark.parametrize("kind", [pb.SolverState, pb.BlobProtoVector])
def test_blobs_are_described_with_the_range_of_their_values(kind: type[Message]) -> None:
    file = CaffeFile(kind(iter=7) if kind is pb.SolverState else kind())
    places = file.message.history if kind is pb.SolverState else file.message.blobs
    file.blobs.put(places.add(), np.array([[1, -2, 4]], np.float32))
    file.blobs.put(places.add(), np.zeros((2, 0), np.float64))
    summary = summarize(file)
    assert summary.blobs == (
        BlobLine("0", (1, 3), "float32", -2.0, 4.0, 1.0),
        BlobLine("1", (2, 0), "float64", None, None, None),
    )
    assert summary.settings == ((("iter", "7"),) if kind is pb.SolverState else ())


def test_a_mean_is_described_as_one_blob() -> None:
    summary = of("num: 1 channels: 3 height: 1 width: 1 data: [104, 117, 124]", pb.BlobProto)
    assert summary.blobs == (BlobLine("", (1, 3, 1, 1), "float32", 104.0, 124.0, 115.0),)
    assert summary.settings == ()


def test_the_mean_of_values_is_as_exact_as_a_double() -> None:
    file = CaffeFile(pb.BlobProto())
    file.blobs.put(file.message, np.float32([2**24, 1, 1, 2**24]))  # in float32, 2**24 + 1 is 2**24
    assert summarize(file).blobs[0].mean == 2**23 + 0.5


def test_a_solvers_settings_are_listed() -> None:
    summary = of("net: 'n' test_iter: [3, 4] base_lr: 0.1 train_state { stage: 's' }", pb.SolverParameter)
    assert summary.settings == (
        ("test_iter", "3"),
        ("test_iter", "4"),
        ("base_lr", "0.1"),
        ("net", '"n"'),
        ("train_state", 'stage: "s"'),
    )


def test_a_record_is_described_without_its_pixels() -> None:
    summary = summarize(CaffeFile(pb.Datum(channels=3, height=2, width=1, data=b"pixels", label=4)))
    assert dict(summary.settings) == {"channels": "3", "height": "2", "width": "1", "label": "4"}


def test_nan_values_are_described_without_a_warning() -> None:
    (line,) = of("shape { dim: 3 } data: [inf, -inf, 1]", pb.BlobProto).blobs
    assert (line.minimum, line.maximum, str(line.mean)) == (-np.inf, np.inf, "nan")
    (line,) = of("shape { dim: 2 } double_data: [1.7e308, 1.7e308]", pb.BlobProto).blobs
    assert line.mean == np.inf


@pytest.mark.parametrize(
    ("text", "kind"), [("layer { }", pb.NetParameter), ("layers { }", pb.NetParameter), ("history { }", pb.SolverState)]
)
def test_tables_of_countless_layers_or_blobs_are_refused(text: str, kind: type) -> None:
    with pytest.raises(LimitError, match=r"a table of the (layers|blobs) needs 5,001 lines or more"):
        of(text * 5001, kind)

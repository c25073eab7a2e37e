"""How two files differ, and when they don't."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.difference import Difference, SettingDifference, WeightDifference, compare
from caffe_proto.files import CaffeFile, Form
from caffe_proto.text.prototxt import from_text

A, B, C = (f'layer {{ name: "{name}" type: "ReLU" }} ' for name in "abc")


def between(first: str, second: str, kind: type[Message] = pb.NetParameter) -> Difference:
    return compare(CaffeFile(from_text(first, kind)), CaffeFile(from_text(second, kind)))


def weights(**blobs: object) -> CaffeFile[Message]:
    """Return a net whose layers have one blob each."""
    file: CaffeFile[Message] = CaffeFile(pb.NetParameter(), form=Form.BINARY)
    for name, values in blobs.items():
        file.blobs.put(file.message.layer.add(name=name).blobs.add(), np.asarray(values))
    return file


@pytest.mark.parametrize("text", ["", A + B, "name: 'n' input: 'x'", A + A])
def test_a_file_does_not_differ_from_itself(text: str) -> None:
    assert not between(text, text)
    assert between(text, text) == Difference()


def test_comments_layout_and_numbers_of_equal_value_make_no_difference() -> None:
    first = "# one\nlayer { name: 'a' loss_weight: 1.0 relu_param { engine: 2 } }"
    assert not between(first, 'layer { relu_param < engine: CUDNN > name: "a" loss_weight: [1] }  # two')


@pytest.mark.parametrize(
    ("first", "second", "removed", "added", "moved"),
    [
        (A + B, A, ("layer 'b'",), (), False),
        (A, A + B, (), ("layer 'b'",), False),
        (A + B, B + A, (), (), True),
        (A + B + C, C + A, ("layer 'b'",), (), True),
        (A + B, A + C + B, (), ("layer 'c'",), False),
        (A + A, A + A + A, (), ("layer 'a' (3)",), False),
        (A, "layers { name: 'a' } layers { layer { name: 'v0' } }", (), ("layer 'v0'",), False),
        (A, "layer { }" + A, (), ("layer ''",), False),
    ],
)
def test_layers_are_compared_by_name(
    first: str, second: str, removed: tuple[str, ...], added: tuple[str, ...], moved: bool
) -> None:
    found = between(first, second)
    assert found
    assert (found.removed, found.added, found.moved) == (removed, added, moved)


@pytest.mark.parametrize(
    ("first", "second", "setting"),
    [
        ("name: 'n'", "name: 'm'", SettingDifference("name", '"n"', '"m"')),
        ("name: 'n'", "", SettingDifference("name", '"n"', None)),
        ("input: 'x'", "input: ['x', 'y']", SettingDifference("input[1]", None, '"y"')),
        (A, "layer { name: 'a' type: 'TanH' }", SettingDifference("layer 'a': type", '"ReLU"', '"TanH"')),
        (
            "layer { name: 'a' param { lr_mult: 1 } param { lr_mult: 2 } }",
            "layer { name: 'a' param { lr_mult: 1 } param { lr_mult: 3 } }",
            SettingDifference("layer 'a': param[1].lr_mult", "2", "3"),
        ),
        (
            "layer { name: 'a' convolution_param { weight_filler { std: 1 } } }",
            "layer { name: 'a' convolution_param { weight_filler { std: 1.0000001 } } }",
            SettingDifference("layer 'a': convolution_param.weight_filler.std", "1", "1.0000001"),
        ),
        (
            "layer { name: 'a' dropout_param { } }",
            "layer { name: 'a' dropout_param { dropout_ratio: 0.5 } }",
            SettingDifference("layer 'a': dropout_param.dropout_ratio", None, "0.5"),
        ),
        (
            "layer { name: 'a' dropout_param { dropout_ratio: 0.5 } }",
            "layer { name: 'a' }",
            SettingDifference("layer 'a': dropout_param.dropout_ratio", "0.5", None),
        ),
        ("state { }", "", SettingDifference("state", "{ }", None)),
        (
            "layer { name: 'a' reshape_param { shape { } } }",
            "layer { name: 'a' reshape_param { } }",
            SettingDifference("layer 'a': reshape_param.shape", "{ }", None),
        ),
        (A + A, A + "layer { name: 'a' }", SettingDifference("layer 'a' (2): type", '"ReLU"', None)),
    ],
)
def test_a_different_setting_is_reported_with_its_place(first: str, second: str, setting: SettingDifference) -> None:
    assert between(first, second).settings == (setting,)
    assert between(second, first).settings == (SettingDifference(setting.where, setting.after, setting.before),)


def test_files_other_than_nets_are_compared_too() -> None:
    found = between("base_lr: 0.1 net: 'n'", "base_lr: 0.2 net: 'n'", pb.SolverParameter)
    assert found == Difference(settings=(SettingDifference("base_lr", "0.1", "0.2"),))


@pytest.mark.parametrize(
    ("second", "largest", "relative"),
    [
        ([1.0, -4.0], 0.0, 0.0),
        ([1.0, -3.0], 1.0, 0.25),
        ([9.0, -4.0], 8.0, 2.0),
        ([np.nan, -4.0], np.inf, np.inf),
        ([1.0, np.inf], np.inf, np.inf),
    ],
)
def test_weights_are_compared_by_their_largest_difference(second: list[float], largest: float, relative: float) -> None:
    found = compare(weights(a=np.float32([1, -4])), weights(a=np.float32(second)))
    assert found.weights == (WeightDifference("layer 'a', blob 0", (2,), (2,), largest, relative),)
    assert bool(found) is bool(largest)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nans_at_the_same_place_in_both_files_are_equal(value: float) -> None:
    assert not compare(weights(a=[1.0, value]), weights(a=[1.0, value]))


def test_an_infinite_difference_is_reported_without_a_warning() -> None:
    for first, second in ((1.5e308, -1.5e308), (np.inf, 1.0)):
        (line,) = compare(weights(a=[first]), weights(a=[second])).weights
        assert (line.largest, line.relative) == (np.inf, np.inf)


def test_weights_that_were_zero_differ_without_bound() -> None:
    (line,) = compare(weights(a=[0.0, 0.0]), weights(a=[0.0, 0.5])).weights
    assert (line.largest, line.relative) == (0.5, np.inf)


def test_weights_of_other_precision_are_compared_by_value() -> None:
    assert not compare(weights(a=np.float32([0.5])), weights(a=np.float64([0.5])))
    assert compare(weights(a=np.float32([0.1])), weights(a=np.float64([0.1]))).weights[0].largest < 1e-8


@pytest.mark.parametrize(
    ("first", "second", "before", "after"), [((2, 3), (3, 2), (2, 3), (3, 2)), ((2, 3), (6,), (2, 3), (6,))]
)
def test_weights_of_other_shape_differ(
    first: tuple[int, ...], second: tuple[int, ...], before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    found = compare(weights(a=np.zeros(first)), weights(a=np.zeros(second)))
    assert found
    assert found.weights == (WeightDifference("layer 'a', blob 0", before, after, None, None),)


def test_a_blob_that_one_file_lacks_differs() -> None:
    more = weights(a=np.zeros(2), b=np.zeros(2))
    more.blobs.put(more.message.layer[0].blobs.add(), np.zeros(3))
    less = weights(a=np.zeros(2), b=np.zeros(2))
    assert compare(more, less).weights == (
        WeightDifference("layer 'a', blob 0", (2,), (2,), 0.0, 0.0),
        WeightDifference("layer 'a', blob 1", (3,), (), None, None),
        WeightDifference("layer 'b', blob 0", (2,), (2,), 0.0, 0.0),
    )


def test_empty_blobs_are_equal() -> None:
    assert not compare(weights(a=np.zeros((2, 0))), weights(a=np.zeros((2, 0))))


def test_a_net_without_weights_is_compared_by_structure_alone() -> None:
    text = CaffeFile(from_text("layer { name: 'a' }", pb.NetParameter))
    assert not compare(text, weights(a=np.ones(2)))
    assert not compare(weights(a=np.ones(2)), text)


@pytest.mark.parametrize("kind", [pb.BlobProto, pb.BlobProtoVector, pb.SolverState, pb.NetParameter])
def test_values_written_in_a_prototxt_are_compared(kind: type[Message]) -> None:
    blob = "shape { dim: 3 } data: [1, 2, 4]"
    blob = {
        pb.BlobProto: blob,
        pb.BlobProtoVector: f"blobs {{ {blob} }}",
        pb.SolverState: f"history {{ {blob} }}",
        pb.NetParameter: f"layers {{ name: 'a' blobs {{ {blob} }} }}",
    }[kind]
    assert not between(blob, blob, kind)
    (line,) = between(blob, blob.replace("2", "2.5"), kind).weights
    assert line.where.endswith("blob 0")
    assert (line.largest, line.relative) == (0.5, 0.125)


def test_records_are_compared_by_their_pixels() -> None:
    first, second = (CaffeFile(pb.Datum(channels=1, data=data)) for data in (b"ab", b"ad"))
    assert compare(first, second).weights == (WeightDifference("blob 0", (2,), (2,), 2.0, 2 / 98),)
    assert not compare(first, first)

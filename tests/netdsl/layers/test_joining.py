"""Concat, Slice, Crop, BatchReindex and Filter."""

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text, upgrade_net
from netdsl.errors import NetError, ShapeError
from netdsl.net.build import build
from netdsl.net.graph import resolve
from netdsl.net.module import NetModule
from tests.nets import layer_of


def numbers(*shape):
    return torch.arange(float(np.prod(shape)), dtype=torch.float64).reshape(shape)


@pytest.mark.parametrize(
    ("settings", "axis"),
    [("", 1), ("concat_param { axis: -1 }", 2), ("concat_param { axis: 0 }", 0), ("concat_param { concat_dim: 2 }", 2)],
)
def test_concat_joins_along_an_axis(settings, axis):
    a = numbers(2, 3, 4)
    other = list(a.shape)
    other[axis] = 5
    b = -numbers(*other)
    wanted = np.concatenate([a, b], axis)
    layer = layer_of("Concat", settings, a.shape, tuple(other))
    assert layer.top_shapes([tuple(a.shape), tuple(other)]) == [wanted.shape]
    np.testing.assert_array_equal(layer(a, b), wanted)


def test_concat_as_intel_fuses_it_with_permute_and_flatten():
    a, b = numbers(2, 3, 4, 5), -numbers(2, 6, 2, 1)
    top = layer_of("Concat", "concat_param { axis: 1 per_fla_fuse: true }", a.shape, b.shape)(a, b)
    wanted = [np.transpose(x, (0, 2, 3, 1)).reshape(2, -1, 1, 1) for x in (a.numpy(), b.numpy())]
    np.testing.assert_array_equal(top, np.concatenate(wanted, 1))


@pytest.mark.parametrize(
    ("type_name", "settings", "shapes", "others"),
    [
        ("Concat", "", ((2, 3), (2, 5)), ((4, 3), (2, 5))),
        ("SoftmaxWithLoss", "", ((2, 3, 4), (2, 4)), ((2, 3, 4), (2, 5))),
        ("InnerProduct", "inner_product_param { num_output: 2 }", ((2, 3),), ((2, 4),)),
    ],
)
def test_other_shapes_must_fit_too(type_name, settings, shapes, others):
    """An export uses these to find which lengths follow the batch."""
    layer = layer_of(type_name, settings, *shapes)
    assert layer.top_shapes(shapes)
    with pytest.raises(ShapeError):
        layer.top_shapes(others)


def test_concat_of_one_bottom_is_an_identity():
    np.testing.assert_array_equal(layer_of("Concat", "", (2, 3))(numbers(2, 3)), numbers(2, 3))


@pytest.mark.parametrize(
    ("settings", "shapes", "error", "message"),
    [
        (
            "",
            ((2, 3, 4), (2, 3, 5)),
            ShapeError,
            r"on axis 1; bottom 'bottom0' is \[2, 3, 4\], 'bottom1' is \[2, 3, 5\]",
        ),
        ("", ((2, 3), (2, 3, 1)), ShapeError, "same shape"),
        ("concat_param { axis: 3 }", ((2, 3, 4),), ShapeError, "axis 3 doesn't exist"),
        ("concat_param { concat_dim: 3 }", ((2, 3, 4),), ShapeError, "concat_dim 3 doesn't exist"),
        ("concat_param { axis: 1 concat_dim: 1 }", ((2, 3, 4),), NetError, "remove one of them"),
    ],
)
def test_concat_refuses_wrong_settings(settings, shapes, error, message):
    with pytest.raises(error, match=message):
        layer_of("Concat", settings, *shapes)


@pytest.mark.parametrize(
    ("settings", "points", "axis"),
    [
        ("", [2, 4], 1),
        ("slice_param { slice_point: 1 slice_point: 4 }", [1, 4], 1),
        ("slice_param { axis: -1 slice_point: 1 slice_point: 2 }", [1, 2], 2),
        ("slice_param { slice_dim: 0 slice_point: 1 slice_point: 3 }", [1, 3], 0),
    ],
)
def test_slice_splits_along_an_axis(settings, points, axis):
    x = numbers(5, 6, 4)
    parts = layer_of("Slice", settings, x.shape, tops=3)(x)
    for got, wanted in zip(parts, np.split(x.numpy(), points, axis), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_slice_accepts_a_longer_axis_after_a_reshape():
    even = layer_of("Slice", "", (2, 6), tops=2)
    assert [part.shape[1] for part in even(numbers(2, 10))] == [5, 5]
    points = layer_of("Slice", "slice_param { slice_point: 2 }", (2, 6), tops=2)
    assert [part.shape[1] for part in points(numbers(2, 10))] == [2, 8]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ("", ShapeError, "length 7 can't be cut into 3 equal parts"),
        ("slice_param { slice_point: 2 }", NetError, "3 tops need 2 slice_point"),
        ("slice_param { slice_point: 4 slice_point: 3 }", ShapeError, "must increase"),
        ("slice_param { slice_point: 4 slice_point: 8 }", ShapeError, "less than 7"),
        ("slice_param { slice_point: 0 slice_point: 3 }", ShapeError, "more than 0"),
        ("slice_param { axis: 1 slice_dim: 1 }", NetError, "remove one of them"),
    ],
)
def test_slice_refuses_wrong_settings(settings, error, message):
    with pytest.raises(error, match=message):
        layer_of("Slice", settings, (2, 7), tops=3)


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ("", np.s_[:, :, :2, :3]),
        ("crop_param { offset: 1 }", np.s_[:, :, 1:3, 1:4]),
        ("crop_param { offset: 3 offset: 1 }", np.s_[:, :, 3:5, 1:4]),
        ("crop_param { axis: 1 offset: 0 offset: 2 offset: 4 }", np.s_[:, 0:1, 2:4, 4:7]),
        ("crop_param { axis: -1 offset: 4 }", np.s_[:, :, :, 4:7]),
    ],
)
def test_crop_cuts_at_its_offsets(settings, wanted):
    x, reference = numbers(2, 3, 5, 7), numbers(4, 1, 2, 3)
    top = layer_of("Crop", settings, x.shape, reference.shape)(x, reference)
    np.testing.assert_array_equal(top, x.numpy()[wanted])


@pytest.mark.parametrize(
    ("settings", "reference", "error", "message"),
    [
        (
            "crop_param { offset: 4 }",
            (2, 3, 2, 3),
            ShapeError,
            "offset 4 plus length 2 exceeds the length 5 of axis 2",
        ),
        ("", (2, 3, 6, 3), ShapeError, "offset 0 plus length 6"),
        ("crop_param { axis: 1 offset: 1 offset: 1 }", (2, 1, 2, 3), NetError, "3 axes are cropped"),
        ("", (2, 3), ShapeError, "2 axes, but the first has 4"),
        ("crop_param { axis: 4 }", (2, 3, 2, 3), ShapeError, "axis 4 doesn't exist"),
    ],
)
def test_crop_refuses_wrong_settings(settings, reference, error, message):
    with pytest.raises(error, match=message):
        layer_of("Crop", settings, (2, 3, 5, 7), reference)


def test_batch_reindex_repeats_items_and_adds_their_gradients():
    x, index = numbers(3, 2).requires_grad_(), torch.tensor([2.0, 0.0, 2.0, 2.0])
    top = layer_of("BatchReindex", "", (3, 2), (4,))(x, index)
    np.testing.assert_array_equal(top.detach(), x.detach().numpy()[[2, 0, 2, 2]])
    top.sum().backward()
    assert x.grad[:, 0].tolist() == [1, 0, 3]


def test_batch_reindex_requires_a_list():
    with pytest.raises(ShapeError, match="one axis"):
        layer_of("BatchReindex", "", (3, 2), (4, 1))


def test_filter_passes_items_with_a_nonzero_selector():
    x, y = numbers(4, 2).requires_grad_(), -numbers(4, 3)
    layer = layer_of("Filter", "", (4, 2), (4, 3), (4, 1), tops=2)
    tops = layer(x, y, torch.tensor([[0.0], [0.3], [0.0], [-1.0]]))
    np.testing.assert_array_equal(tops[0].detach(), x.detach().numpy()[[1, 3]])
    np.testing.assert_array_equal(tops[1], y.numpy()[[1, 3]])
    tops[0].sum().backward()
    assert x.grad[:, 0].tolist() == [0, 1, 0, 1]


def test_filter_is_built_for_all_items_and_may_pass_none():
    net = """input: 'x' input: 's' input_shape { dim: 4 dim: 2 } input_shape { dim: 4 }
             layer { name: 'f' type: 'Filter' bottom: 'x' bottom: 's' top: 'y' }"""
    built = build(resolve(upgrade_net(from_text(net, pb.NetParameter)).message))
    assert built.shapes[-1] == (4, 2)
    assert NetModule(built)(numbers(4, 2), torch.zeros(4))["y"].shape == (0, 2)


@pytest.mark.parametrize(
    ("shapes", "tops", "error", "message"),
    [
        (((4, 2), (4,)), 2, NetError, "each bottom but the last needs a top"),
        (((4, 2), (4, 2)), 1, ShapeError, "one value for each item"),
        (((3, 2), (4,)), 1, ShapeError, r"for 4 items, but 'bottom0' has shape \[3, 2\]"),
    ],
)
def test_filter_refuses_wrong_settings(shapes, tops, error, message):
    with pytest.raises(error, match=message):
        layer_of("Filter", "", *shapes, tops=tops)

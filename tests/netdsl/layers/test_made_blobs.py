"""Parameter and DummyData: tops without bottoms."""

import pytest
import torch

from netdsl.errors import NetError
from tests.nets import layer_of, net_module


def make(kind, settings, tops=1):
    layer = layer_of(kind, settings, tops=tops)
    layer.allocate("cpu", {})
    return layer


def dummy(settings, tops=1):
    return make("DummyData", f"dummy_data_param {{ {settings} }}", tops)


def test_a_parameter_is_learned_and_begins_at_zero():
    layer = make("Parameter", "parameter_param { shape { dim: 2 dim: 3 } }")
    top = layer()
    assert top.tolist() == [[0.0] * 3] * 2
    top.sum().backward()
    assert layer.blob_names() == ["value"]
    assert layer.value.grad.tolist() == [[1.0] * 3] * 2


def test_a_fork_fills_a_parameter():
    layer = make("Parameter", "parameter_param { shape { dim: 2 } blob_filler { value: 7 } }")
    assert layer().tolist() == [7.0, 7.0]


def test_parameters_of_one_name_are_one():
    settings = "param { name: 'w' } parameter_param { shape { dim: 2 } }"
    net = "".join(f"layer {{ name: '{name}' type: 'Parameter' top: '{name}' {settings} }}" for name in "ab")
    assert len(list(net_module(net).parameters())) == 1


def test_constants_are_filled_once_and_keep_later_changes():
    layer = dummy("shape { dim: 2 dim: 3 } data_filler { type: 'constant' value: 4 }")
    (top,) = layer()
    assert top.tolist() == [[4.0] * 3] * 2
    top.fill_(9)
    assert layer()[0].tolist() == [[9.0] * 3] * 2


def test_other_fillers_fill_a_new_tensor_each_time():
    layer = dummy("shape { dim: 50 } data_filler { type: 'uniform' min: 2 max: 3 }")
    (first,), (second,) = layer(), layer()
    assert not torch.equal(first, second)
    assert min(first.min(), second.min()) >= 2
    assert max(first.max(), second.max()) <= 3


def test_each_top_has_its_own_shape_and_filler():
    settings = "shape { dim: 2 } shape { dim: 3 } data_filler { value: 5 } data_filler { type: 'gaussian' std: 2 }"
    layer = dummy(settings, tops=2)
    assert layer.top_shapes([]) == [(2,), (3,)]
    constant, random = layer()
    assert constant.tolist() == [5.0, 5.0]
    assert random.shape == (3,)
    assert len(set(random.tolist())) == 3


def test_without_a_filler_all_is_zero_and_one_shape_serves_all_tops():
    layer = dummy("shape { dim: 2 }", tops=2)
    assert [top.tolist() for top in layer()] == [[0.0, 0.0]] * 2


def test_legacy_shapes_are_supported():
    layer = dummy("num: 2 channels: 3 channels: 6 height: 4 width: 5", tops=2)
    assert layer.top_shapes([]) == [(2, 3, 4, 5), (2, 6, 4, 5)]


def test_the_type_of_numbers_follows_the_module():
    layer = dummy("shape { dim: 2 } data_filler { value: 1 } data_filler { type: 'xavier' }", tops=2).double()
    assert [top.dtype for top in layer()] == [torch.float64] * 2


def test_generated_blobs_are_not_saved():
    assert not dummy("shape { dim: 2 }").state_dict()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("", "0 values of shape for 3 tops"),
        ("shape { dim: 2 } shape { dim: 2 }", "2 values of shape for 3 tops"),
        ("shape { dim: 2 } num: 1", "keep only `shape`"),
        ("num: 1 channels: 2 height: 3", "0 values of width for 3 tops"),
        ("shape { dim: 2 } data_filler { } data_filler { }", "2 values of data_filler for 3 tops"),
        ("shape { dim: 2 } data_filler { type: 'gausian' }", "there is no filler 'gausian'; did you mean gaussian"),
    ],
)
def test_problems_are_reported(settings, message):
    with pytest.raises(NetError, match=message):
        dummy(settings, tops=3)

"""Lengths that can change: sources, steps, and nets built again at other sizes."""

from __future__ import annotations

import numpy as np
import pytest

from converters.lengths import changing_lengths, length_sources, named_sources, rebuilt, trial_shapes
from converters.running import edge_values
from netdsl import Net
from netdsl.errors import NetError
from tests.converters.nets import net_of

IMAGE = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [2, 3, 21, 16] } } }'
CONVOLUTION = """layer { name: "c" type: "Convolution" bottom: "x" top: "c"
    convolution_param { num_output: 4 kernel_size: 3 stride: 8 pad: 1 weight_filler { type: "xavier" } } }"""
FULLY_CONNECTED = """layer { name: "f" type: "InnerProduct" bottom: "x" top: "f"
    inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }"""


@pytest.fixture
def net() -> Net:
    return net_of(IMAGE + CONVOLUTION)


def test_a_length_behind_a_long_stride_changes_too(net: Net) -> None:
    batch, height, width = length_sources(net.module.built, {"x": ("N", 3, "H", "W")})
    assert (batch.name, height.axes, width.axes) == ("N", ((0, 2),), ((0, 3),))
    lengths = changing_lengths(net.module.built, height)
    assert lengths is not None
    assert {place: length.equal for place, length in lengths.items()} == {(0, 2): True, (1, 2): False}


def test_only_first_axes_are_free_by_default(net: Net) -> None:
    (batch,) = length_sources(net.module.built)
    assert (batch.name, batch.axes, batch.requested) == ("batch", ((0, 0),), False)


def test_a_rebuilt_net_has_the_same_weights_and_other_sizes(net: Net) -> None:
    again = rebuilt(net.module.built, {"x": (1, 3, 37, 40)})
    image = np.random.default_rng(0).standard_normal((1, 3, 37, 40)).astype(np.float32)
    assert again.shapes == [(1, 3, 37, 40), (1, 4, 5, 5)]
    assert np.allclose(edge_values(again, {"x": image})[1], net.forward(x=image)["c"].numpy(), atol=1e-5)
    assert net.module.built.shapes[0] == (2, 3, 21, 16)


def test_a_net_whose_weights_belong_to_one_size_is_not_built_at_others() -> None:
    with pytest.raises(NetError, match="layer 'f' has other weights for these shapes"):
        rebuilt(net_of(IMAGE + FULLY_CONNECTED).module.built, {"x": (2, 3, 20, 16)})


def test_trials_are_smaller_and_larger_with_odd_lengths(net: Net) -> None:
    built = net.module.built
    sources = named_sources(built, {"x": ["N", 3, "H", "W"]})
    own, smaller, larger = (shapes["x"] for shapes in trial_shapes(built, sources))
    assert own == (2, 3, 21, 16) and (smaller[0], larger[0]) == (3, 4)
    assert smaller[2] < 21 < larger[2] and smaller[3] < 16 < larger[3]
    assert all(length % 2 for length in (*smaller[2:], *larger[2:]))


def test_a_net_that_takes_no_other_size_is_tried_at_its_own() -> None:
    built = net_of(IMAGE + FULLY_CONNECTED).module.built
    assert trial_shapes(built, named_sources(built, {"x": [2, 3, "H", 16]})) == [{"x": (2, 3, 21, 16)}]

"""Values of a net's blobs: only the wanted ones stay in memory, and layers don't change the others'."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from converters import running
from converters.running import (
    difference,
    edge_values,
    made_up_inputs,
    output_values,
    rounded_otherwise,
    with_made_up_weights,
)
from netdsl.model.model import Model
from netdsl.net.graph import Phase
from netdsl.net.sample_inputs import sample_inputs
from netdsl.training.net import Net
from tests.converters.nets import INVERSE_OF_SUMS, net_of

NET = """name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 4 dim: 4 } } }
layer { name: "c" type: "Convolution" bottom: "data" top: "c"
  convolution_param { num_output: 2 kernel_size: 1 weight_filler { type: "xavier" } } }
layer { name: "r" type: "ReLU" bottom: "c" top: "c" }
layer { name: "flat" type: "Flatten" bottom: "c" top: "flat" }
layer { name: "sum" type: "Eltwise" bottom: "c" bottom: "data" top: "sum" }
layer { name: "ip" type: "InnerProduct" bottom: "flat" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
"""


@pytest.fixture
def net() -> Net:
    return Net(from_text(NET, pb.NetParameter), phase="TEST")


def test_wanted_values_are_those_of_a_full_run(net: Net) -> None:
    built = net.module.built
    inputs = {"data": np.random.default_rng(0).standard_normal((1, 2, 4, 4)).astype(np.float32)}
    full = edge_values(built, inputs)
    assert len(full) == len(built.graph.blobs)
    wanted = edge_values(built, inputs, wanted=built.graph.outputs)
    assert wanted.keys() == set(built.graph.outputs)
    for edge in full:
        assert np.array_equal(edge_values(built, inputs, wanted=[edge])[edge], full[edge])


def test_values_that_no_layer_needs_any_more_are_released(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    made, alive = list[weakref.ref[Tensor]](), list[int]()
    tops_of = running._tops

    def watched(*arguments: object) -> tuple[Tensor, ...]:
        alive.append(sum(made_one() is not None for made_one in made))
        tops = tops_of(*arguments)  # type: ignore[arg-type]
        made.extend(map(weakref.ref, tops))
        return tops

    monkeypatch.setattr(running, "_tops", watched)
    chain = NET.partition('layer { name: "flat"')[0] + "".join(
        f'layer {{ name: "s{index}" type: "Sigmoid" bottom: "{below}" top: "s{index}" }}\n'
        for index, below in enumerate(["c", *(f"s{index}" for index in range(5))])
    )
    built = Net(from_text(chain, pb.NetParameter), phase="TEST").module.built
    edge_values(built, {"data": np.ones((1, 2, 4, 4), np.float32)}, wanted=built.graph.outputs)
    assert len(alive) == 8 and max(alive) <= 2


def test_each_layer_is_reported(net: Net) -> None:
    seen = list[object]()

    @contextmanager
    def work(doing: str, total: float) -> Iterator[Callable[..., object]]:
        seen.append((doing, total))
        yield lambda items=1: seen.append(items)

    edge_values(net.module.built, {"data": np.ones((1, 2, 4, 4), np.float32)}, work=work, doing="running")
    assert seen == [("running", len(net.module.built.graph.nodes)), *[1] * len(net.module.built.graph.nodes)]


def test_rounding_changes_values_as_much_as_a_net_amplifies_it() -> None:
    built = net_of(INVERSE_OF_SUMS).module.built
    (end,) = built.graph.outputs
    changes = []
    for fractions in (False, True):
        inputs = sample_inputs(built, {"data": (1, 64)}, fractions=fractions)
        values = edge_values(built, inputs)[end]
        changes.append(difference(edge_values(built, inputs, changed=rounded_otherwise())[end], values))
    assert changes[0] > 1e-5  # some sums of numbers of both signs are almost 0
    assert 0 < changes[1] < 1e-5


def test_rounding_changes_no_labels() -> None:
    built = net_of("""layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 64] } } }
        layer { name: "of" type: "Embed" bottom: "x" top: "of" embed_param { num_output: 2 input_dim: 9 } }
        """).module.built
    inputs = sample_inputs(built, {"x": (1, 64)})
    same = edge_values(built, inputs, changed=rounded_otherwise())
    assert all(np.array_equal(same[edge], value) for edge, value in edge_values(built, inputs).items())


def test_a_difference_is_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = np.array([[0.0, 1.0, np.nan], [np.inf, 4.0, 2.0]], np.float32)
    actual = expected + np.array([[0, 0, 0], [0, 0, 1]], np.float32)
    assert difference(actual, expected) == 0.25
    monkeypatch.setattr(running, "_PART", 2)
    assert difference(actual, expected) == 0.25
    assert difference(expected, expected) == 0.0
    assert difference(np.where(np.isnan(actual), 0, actual), expected) == np.inf


def test_made_up_weights_let_images_through() -> None:
    model = with_made_up_weights(Model(from_text(NET, pb.NetParameter)))
    assert {name: [blob.shape for blob in blobs] for name, blobs in model.weights.items()} == {
        "c": [(2, 2, 1, 1), (2,)],
        "ip": [(3, 32), (3,)],
    }
    assert all((blob > 0).all() for blobs in model.weights.values() for blob in blobs if blob.ndim == 1)
    again = with_made_up_weights(Model(from_text(NET, pb.NetParameter)))
    for name, blobs in model.weights.items():
        assert all(np.array_equal(*pair) for pair in zip(blobs, again.weights[name], strict=True))
    outputs = output_values(model, made_up_inputs(model.layers(Phase.TEST)))
    assert all(np.isfinite(values).all() and values.std() > 0.01 for values in outputs.values())

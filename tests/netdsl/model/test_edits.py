"""Editing a model's net."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import NetError
from netdsl.model.edits import separate_phases, with_batch
from netdsl.model.model import Model, open_net
from netdsl.net.graph import Phase, filter_layers, state_of

NET = """
name: "n"
layer {{ name: "rows" type: "Data" top: "data" top: "label" {0} data_param {{ batch_size: 4 source: "rows" }} }}
layer {{ name: "f" type: "InnerProduct" bottom: "data" top: "f" inner_product_param {{ num_output: 2 }} }}
layer {{ name: "l" type: "SoftmaxWithLoss" bottom: "f" bottom: "label" top: "l" }}
"""


def model_of(rules: str) -> Model:
    return open_net(from_text(NET.format(rules), pb.NetParameter))


def batches(model: Model) -> dict[Phase, list[int]]:
    """Return the batch sizes of the data layers in each phase."""
    nets = {phase: filter_layers(model.net, state_of(model.net, phase)) for phase in Phase}
    return {phase: [layer.data_param.batch_size for layer in net.layer[:-2]] for phase, net in nets.items()}


@pytest.mark.parametrize("rules", ["", "include { min_level: 0 }", "exclude { stage: 'deploy' }"])
def test_a_shared_data_layer_becomes_one_for_each_phase(rules: str) -> None:
    separate = separate_phases(model_of(rules))
    assert [layer.name for layer in separate.net.layer] == ["rows", "rows", "f", "l"]
    assert batches(with_batch(separate, Phase.TRAIN, 7)) == {Phase.TRAIN: [7], Phase.TEST: [4]}


def test_a_data_layer_of_one_phase_is_unchanged() -> None:
    model = model_of("include { phase: TRAIN }")
    assert separate_phases(model).net == model.net


def test_each_phase_keeps_its_own_rules() -> None:
    rules = "include { phase: TRAIN } include { phase: TEST stage: 'x' } include { min_level: 0 }"
    layers = separate_phases(model_of(rules)).net.layer[:2]
    assert [[(rule.phase, list(rule.stage)) for rule in layer.include] for layer in layers] == [
        [(pb.TRAIN, []), (pb.TRAIN, [])],
        [(pb.TEST, ["x"]), (pb.TEST, [])],
    ]


def test_another_batch_size_makes_another_model() -> None:
    model = model_of("")
    assert batches(with_batch(model, Phase.TEST, 3)) == {Phase.TRAIN: [3], Phase.TEST: [3]}
    assert batches(model) == {Phase.TRAIN: [4], Phase.TEST: [4]}


def test_a_layer_that_states_no_batch_is_an_error() -> None:
    model = open_net(pb.NetParameter(layer=[pb.LayerParameter(name="d", type="MemoryData", top=["a", "b"])]))
    with pytest.raises(NetError, match="layer 'd': a layer of type MemoryData doesn't state its batch size"):
        with_batch(model, Phase.TRAIN, 2)

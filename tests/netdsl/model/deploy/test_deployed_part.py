"""The blobs of a test net that its deploy net computes, and the layers after them."""

from __future__ import annotations

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.deploy.deployed_part import DeployedPart
from netdsl.model.model import Model, todays_form
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule

PREDICTION = """
layer { name: "data" type: "Input" top: "data" top: "label"
  input_param { shape { dim: [4, 3] } shape { dim: 4 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 5 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
"""
ACCURACY = 'layer { name: "accuracy" type: "Accuracy" bottom: ["ip", "label"] top: "accuracy" }'
PROBABILITIES = 'layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }'
LOSS = 'layer { name: "loss" type: "%s" bottom: ["%s", "label"] top: "loss" }'
NET = PREDICTION + ACCURACY + LOSS % ("SoftmaxWithLoss", "ip")


def part_of(text: str) -> DeployedPart:
    model = Model(todays_form(from_text(text, pb.NetParameter)))
    built = NetModule(model.layers(Phase.TEST).with_own_blobs()).allocate().built
    return DeployedPart.of(built, deploy_model(model).layers(Phase.TEST))


@pytest.mark.parametrize(
    "text",
    [NET, NET + PROBABILITIES, PREDICTION + PROBABILITIES + ACCURACY + LOSS % ("MultinomialLogisticLoss", "prob")],
    ids=["a loss that computes probabilities", "probabilities as an output", "a loss that reads probabilities"],
)
def test_losses_and_accuracies_read_the_outputs_of_the_deployed_net(text: str) -> None:
    torch.manual_seed(0)
    part = part_of(text)
    assert part.names == {"prob"}
    rest = NetModule(part.rest())
    assert not {"ip", "relu", "prob"} & {node.layer.name for node in rest.built.graph.nodes}
    edges = part.built.input_edges()
    inputs = dict(zip(edges, (torch.randn(4, 3), torch.tensor([0.0, 1, 2, 3])), strict=True))
    with torch.no_grad():
        whole = NetModule(part.built).run(dict(inputs))
        prob = part.built.layers[1](inputs[edges[0]]).relu().softmax(1)
        after = rest.run({**inputs, **part.values({"prob": prob})})
    for name, edge in rest.outputs.items():
        torch.testing.assert_close(after[edge], whole[edge], msg=name)
    worse = rest.run({**inputs, **part.values({"prob": prob.flip(1)})})
    assert worse[rest.outputs["loss"]] != after[rest.outputs["loss"]]


def test_only_layers_that_outputs_need_run() -> None:
    side = 'layer { name: "side" type: "TanH" bottom: "data" top: "side" }'
    norm = 'layer { name: "norm" type: "Reduction" bottom: "side" top: "norm" }'
    assert [node.layer.name for node in part_of(NET).rest().graph.nodes] == ["data", "accuracy", "loss"]
    names = [node.layer.name for node in part_of(NET + side + norm).rest().graph.nodes]
    assert names == ["data", "accuracy", "loss", "side", "norm"]


def test_an_output_that_the_test_net_lacks_is_an_error() -> None:
    model = Model(todays_form(from_text(NET, pb.NetParameter)))
    other = Model(todays_form(from_text(NET.replace('"ip"', '"other"'), pb.NetParameter)))
    deployed = deploy_model(other, outputs=["other"]).layers(Phase.TEST)
    with pytest.raises(NetError, match="the deployed net's output 'other' isn't a blob of the test net"):
        DeployedPart.of(model.layers(Phase.TEST), deployed)

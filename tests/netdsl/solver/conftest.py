"""Small nets that solvers can train."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.net.build import build
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule
from netdsl.solver.trainable_net import Positions

NET = """
layer { name: "d" type: "Input" top: "x" top: "y" input_param { shape { dim: 6 dim: 3 } shape { dim: 6 dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "p" param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
        inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "p" bottom: "y" top: "loss" }
"""


class Regression:
    """A linear net with batches that depend on their number only."""

    def __init__(self, phase: Phase = Phase.TRAIN, text: str = NET) -> None:
        net = from_text(text, pb.NetParameter)
        self.module = NetModule(build(resolve(net, phase))).allocate()
        self.built = self.module.built
        self.batch = 0
        self.tops: dict[str, Tensor] = {}

    batch_size = 1
    loss_scale = None

    def clear_gradients(self) -> None:
        self.module.zero_grad()

    def next(self) -> dict[str, Tensor]:
        x = torch.randn(6, 3, generator=torch.Generator().manual_seed(self.batch))
        self.batch += 1
        return {"x": x, "y": x[:, :2] * 2 + 1}

    @torch.no_grad()
    def forward(self) -> Tensor:
        return self.loss()

    def loss(self) -> Tensor:
        edges = self.module.run(self.module.edges_of(**self.next()))
        self.tops = {name: edges[edge] for name, edge in self.module.outputs.items()}
        return self.module.loss(edges)

    def forward_backward(self) -> Tensor:
        loss = self.loss()
        loss.backward()
        return loss.detach()

    def outputs(self) -> Mapping[str, Tensor]:
        return self.tops

    def loss_weights(self) -> Mapping[str, float]:
        return {"loss": 1.0}

    def positions(self) -> Positions:
        return {"d": self.batch}

    def seek(self, positions: Positions) -> None:
        self.batch = positions["d"]


@pytest.fixture
def regression() -> type[Regression]:
    return Regression

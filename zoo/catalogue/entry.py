"""Entries of the catalogue: nets and their solvers, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from caffe_proto import caffe_pb2 as pb
from netdsl.dsl.constructors import assign
from netdsl.dsl.params import NetParams, net_message
from zoo.model_folder import TRAIN_VAL

if TYPE_CHECKING:
    from netdsl.layer import Shape

TRAIN_ONLY = pb.NetStateRule(phase=pb.TRAIN)  # the rule `include` of layers in a single phase
TEST_ONLY = pb.NetStateRule(phase=pb.TEST)


class CatalogueNet(NetParams):
    """A net of the catalogue. Tests have checked that its layers fit, so using it doesn't require torch."""

    def __init__(self, *name_and_layers: str | pb.LayerParameter, **settings: Any) -> None:
        self.message = net_message(name_and_layers, settings)


@dataclass(frozen=True)
class CatalogueEntry:
    """A net as its authors trained and tested it, with their solver."""

    train_val: NetParams
    solver: pb.SolverParameter
    # Input shapes without the batch, where data layers don't define them.
    inputs: Mapping[str, Shape] = field(default_factory=dict)
    used: NetParams | None = None  # the deployed net if it is only a part of the trained net, such as one of two twins
    outputs: Sequence[str] = ()  # outputs of the deployed net, if its authors' net ends before the predictions
    batch: int = 1  # batch of the deployed net, such as the number of frames in a clip

    def deploy(self) -> pb.NetParameter:
        """Return the deployed net for one item."""
        from netdsl.model.deploy.deploy_net import deploy  # imports torch

        used = self.used or self.train_val
        return deploy(used.message, shapes=self.inputs, batch=self.batch, outputs=self.outputs)


def solver_settings(**settings: object) -> pb.SolverParameter:
    """Return solver settings for the net in the same folder, from the names of their fields."""
    param = pb.SolverParameter(net=TRAIN_VAL)
    assign(param, settings, "solver")
    return param

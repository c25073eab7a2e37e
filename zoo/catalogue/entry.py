"""An entry of the catalogue: its nets and its solver, in memory."""

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

TRAIN_ONLY = pb.NetStateRule(phase=pb.TRAIN)  # the rule `include` of layers that are there in one phase
TEST_ONLY = pb.NetStateRule(phase=pb.TEST)


class CatalogueNet(NetParams):
    """A net of the catalogue: tests have checked that its layers fit, so nobody waits for torch to see what it is."""

    def __init__(self, *name_and_layers: str | pb.LayerParameter, **settings: Any) -> None:
        self.message = net_message(name_and_layers, settings)


@dataclass(frozen=True)
class CatalogueEntry:
    """A net as its authors trained and tested it, and the solver that they used."""

    train_val: NetParams
    solver: pb.SolverParameter
    inputs: Mapping[str, Shape] = field(default_factory=dict)  # without the batch, where data layers don't say theirs
    used: NetParams | None = None  # what is used, if that is only a part of what is trained, as one of two twins
    outputs: Sequence[str] = ()  # of the net as it is used, if its authors' ends before the predictions
    batch: int = 1  # of the net as it is used; a clip has several frames

    def deploy(self) -> pb.NetParameter:
        """Return the net as it is used, for one item."""
        from netdsl.model.deploy.deploy_net import deploy  # needs torch

        used = self.used or self.train_val
        return deploy(used.message, shapes=self.inputs, batch=self.batch, outputs=self.outputs)


def solver_settings(**settings: object) -> pb.SolverParameter:
    """Settings of a solver for the net beside it, by the names of their fields."""
    param = pb.SolverParameter(net=TRAIN_VAL)
    assign(param, settings, "solver")
    return param

"""An entry of the catalogue, and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.storage import write_pieces
from caffe_proto.text.prototxt import text_of
from netdsl.deploy.deploy_net import deploy
from netdsl.dsl import NetParams
from netdsl.dsl.constructors import assign
from netdsl.layer import Shape
from zoo.model_folder import DEPLOY, SOLVER, TRAIN_VAL

TRAIN_ONLY = pb.NetStateRule(phase=pb.TRAIN)  # the rule `include` of layers that are there in one phase
TEST_ONLY = pb.NetStateRule(phase=pb.TEST)


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
        """The net as it is used, for one item."""
        used = self.used or self.train_val
        return deploy(used.message, shapes=self.inputs, batch=self.batch, outputs=self.outputs)

    def write(self, folder: Path) -> list[Path]:
        """Write the nets and the solver to a folder, and return their files."""
        messages = {TRAIN_VAL: self.train_val.message, DEPLOY: self.deploy(), SOLVER: self.solver}
        for name, message in messages.items():
            write_pieces(folder / name, [text_of(message).encode()])
        return [folder / name for name in messages]


def solver_settings(**settings: object) -> pb.SolverParameter:
    """Settings of a solver for the net beside it, by the names of their fields."""
    param = pb.SolverParameter(net=TRAIN_VAL)
    assign(param, settings, "solver")
    return param

"""An entry of the catalogue, and its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.storage import write_pieces
from caffe_proto.text.prototxt import text_of
from netdsl.deploy.deploy_net import deploy
from netdsl.dsl import NetParams
from netdsl.dsl.assign import assign
from netdsl.layer import Shape
from zoo.model_folder import DEPLOY, SOLVER, TRAIN_VAL


@dataclass(frozen=True)
class Entry:
    """A net as its authors trained and tested it, and the solver that they used."""

    train_val: NetParams
    solver: pb.SolverParameter
    inputs: Mapping[str, Shape] = field(default_factory=dict)  # without the batch, where data layers don't say theirs
    used: NetParams | None = None  # what is used, if that is only a part of what is trained, as one of two twins

    def deploy(self) -> pb.NetParameter:
        """The net as it is used, for one item."""
        return deploy((self.used or self.train_val).message, shapes=self.inputs, batch=1)

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

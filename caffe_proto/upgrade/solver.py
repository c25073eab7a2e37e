"""The upgrade of a solver: `solver_type`, an enum, becomes `type`, a name."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import UpgradeError
from caffe_proto.upgrade.net import Upgraded

TYPE_NAMES = {
    pb.SolverParameter.SGD: "SGD",
    pb.SolverParameter.NESTEROV: "Nesterov",
    pb.SolverParameter.ADAGRAD: "AdaGrad",
    pb.SolverParameter.RMSPROP: "RMSProp",
    pb.SolverParameter.ADADELTA: "AdaDelta",
    pb.SolverParameter.ADAM: "Adam",
    pb.SolverParameter.SAG: "SAG",
}


def upgrade_solver(solver: pb.SolverParameter) -> Upgraded[pb.SolverParameter]:
    """The solver in today's form. Nets inside it are not upgraded, as in Caffe."""
    upgraded = pb.SolverParameter()
    upgraded.CopyFrom(solver)
    if not solver.HasField("solver_type"):
        return Upgraded(upgraded, ())
    old = pb.SolverParameter.SolverType.Name(solver.solver_type)
    if solver.HasField("type"):
        raise UpgradeError(f'solver: both solver_type: {old} and type: "{solver.type}" are set; remove solver_type')
    upgraded.type = TYPE_NAMES[solver.solver_type]
    upgraded.ClearField("solver_type")
    return Upgraded(upgraded, (f'solver_type: {old} became type: "{upgraded.type}"',))

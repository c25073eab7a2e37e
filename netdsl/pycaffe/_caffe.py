"""The names of Caffe's compiled module, for scripts that import them from `caffe._caffe`."""

from __future__ import annotations

from caffe_proto.caffe_pb2 import LayerParameter, SolverParameter
from netdsl.layer.user_code import ArrayBlobs as BlobVec
from netdsl.pycaffe.blob import Blob
from netdsl.pycaffe.nccl import NCCL
from netdsl.pycaffe.net import Net
from netdsl.pycaffe.process import (
    Timer,
    __version__,
    has_nccl,
    init_log,
    layer_type_list,
    log,
    set_device,
    set_mode_cpu,
    set_mode_gpu,
    set_multiprocess,
    set_random_seed,
    set_solver_count,
    set_solver_rank,
    solver_count,
    solver_rank,
)
from netdsl.pycaffe.python_layer import Layer
from netdsl.pycaffe.solver import (
    AdaDeltaSolver,
    AdaGradSolver,
    AdamSolver,
    NesterovSolver,
    RMSPropSolver,
    SGDSolver,
    Solver,
    get_solver,
)

__all__ = [
    "NCCL",
    "AdaDeltaSolver",
    "AdaGradSolver",
    "AdamSolver",
    "Blob",
    "BlobVec",
    "Layer",
    "LayerParameter",
    "NesterovSolver",
    "Net",
    "RMSPropSolver",
    "SGDSolver",
    "Solver",
    "SolverParameter",
    "Timer",
    "__version__",
    "get_solver",
    "has_nccl",
    "init_log",
    "layer_type_list",
    "log",
    "set_device",
    "set_mode_cpu",
    "set_mode_gpu",
    "set_multiprocess",
    "set_random_seed",
    "set_solver_count",
    "set_solver_rank",
    "solver_count",
    "solver_rank",
]

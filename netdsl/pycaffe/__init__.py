"""A drop-in replacement for `import caffe`: pycaffe's interface over netdsl's nets."""

from __future__ import annotations

from netdsl.net.graph import Phase
from netdsl.pycaffe import caffe_alias, io, proto
from netdsl.pycaffe.about import __version__, layer_type_list
from netdsl.pycaffe.classifier import Classifier
from netdsl.pycaffe.detector import Detector
from netdsl.pycaffe.log import init_log, log
from netdsl.pycaffe.modes import (
    has_nccl,
    set_device,
    set_dialect,
    set_mode_cpu,
    set_mode_gpu,
    set_multiprocess,
    set_random_seed,
    set_solver_count,
    set_solver_rank,
    solver_count,
    solver_rank,
)
from netdsl.pycaffe.nccl import NCCL
from netdsl.pycaffe.net import Net
from netdsl.pycaffe.net_spec import NetSpec, layers, params, to_proto
from netdsl.pycaffe.python_layer import Layer
from netdsl.pycaffe.solver import (
    AdaDeltaSolver,
    AdaGradSolver,
    AdamSolver,
    NesterovSolver,
    RMSPropSolver,
    SGDSolver,
    get_solver,
)
from netdsl.pycaffe.timer import Timer

TRAIN, TEST = int(Phase.TRAIN), int(Phase.TEST)

__all__ = [
    "NCCL",
    "TEST",
    "TRAIN",
    "AdaDeltaSolver",
    "AdaGradSolver",
    "AdamSolver",
    "Classifier",
    "Detector",
    "Layer",
    "NesterovSolver",
    "Net",
    "NetSpec",
    "RMSPropSolver",
    "SGDSolver",
    "Timer",
    "__version__",
    "get_solver",
    "has_nccl",
    "init_log",
    "io",
    "layer_type_list",
    "layers",
    "log",
    "params",
    "proto",
    "set_device",
    "set_dialect",
    "set_mode_cpu",
    "set_mode_gpu",
    "set_multiprocess",
    "set_random_seed",
    "set_solver_count",
    "set_solver_rank",
    "solver_count",
    "solver_rank",
    "to_proto",
]

caffe_alias.install()

"""The names of Caffe's module `caffe.pycaffe`, for scripts that import them from there."""

from __future__ import annotations

from netdsl.pycaffe.nccl import NCCL
from netdsl.pycaffe.net import Net
from netdsl.pycaffe.process import Timer
from netdsl.pycaffe.solver import (
    AdaDeltaSolver,
    AdaGradSolver,
    AdamSolver,
    NesterovSolver,
    RMSPropSolver,
    SGDSolver,
)

__all__ = [
    "NCCL",
    "AdaDeltaSolver",
    "AdaGradSolver",
    "AdamSolver",
    "NesterovSolver",
    "Net",
    "RMSPropSolver",
    "SGDSolver",
    "Timer",
]

"""A replacement for `import caffe`: pycaffe's interface to netdsl's nets."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from netdsl.net.graph import Phase
from netdsl.pycaffe import io, proto
from netdsl.pycaffe.classifier import Classifier
from netdsl.pycaffe.detector import Detector
from netdsl.pycaffe.nccl import NCCL
from netdsl.pycaffe.net import Net
from netdsl.pycaffe.net_spec import NetSpec, layers, params, to_proto
from netdsl.pycaffe.process import (
    Timer,
    __version__,
    has_nccl,
    init_log,
    layer_type_list,
    log,
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

_CAFFES_MODULES = (
    "_caffe",
    "classifier",
    "coord_map",
    "detector",
    "draw",
    "io",
    "net_spec",
    "proto",
    "proto.caffe_pb2",
    "pycaffe",
)


def install_as_caffe() -> None:
    """Make `import caffe` and imports of its modules return this package, unless Caffe is installed."""
    if "caffe" not in sys.modules and not _is_caffe_built():
        replace_caffe()


def _is_caffe_built() -> bool:
    """Return whether Python finds a Caffe with its compiled module. Its source tree alone can't be imported."""
    spec = find_spec("caffe")
    if spec is None or spec.origin is None:
        return False
    is_package = bool(spec.submodule_search_locations)
    return not is_package or any(Path(spec.origin).parent.glob("_caffe*"))


def replace_caffe() -> None:
    """Make `import caffe` and imports of its modules return this package."""
    for name in _CAFFES_MODULES:
        sys.modules[f"caffe.{name}"] = import_module(f"{__name__}.{name}")
    sys.modules["caffe"] = sys.modules[__name__]


install_as_caffe()

"""The rule for GPUs that Caffe's words name, such as `-gpu 0` or `solver_mode: GPU`: without a GPU, they mean the
CPU."""

from __future__ import annotations

from collections.abc import Callable

from caffe_proto import caffe_pb2 as pb

SOLVERS_GPU = "solver_mode: GPU"


def names_gpu(param: pb.SolverParameter) -> bool:
    """Return whether a solver's settings name the GPU. Caffe's default is the GPU too, but doesn't need one here."""
    return param.HasField("solver_mode") and param.solver_mode == pb.SolverParameter.GPU


def sees_gpu(words: str, warn: Callable[[str], object]) -> bool:
    """Return whether torch sees a GPU. If it doesn't, `warn` gets a sentence that these words now mean the CPU."""
    import torch

    if torch.cuda.device_count():
        return True
    warn(f"torch sees no GPU here, so {words} means the CPU")
    return False

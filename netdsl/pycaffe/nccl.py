"""The name of Caffe's training on several GPUs, which `has_nccl` says isn't here."""

from __future__ import annotations

from netdsl.errors import NetError
from netdsl.pycaffe.solver import Solver


class NCCL:
    """The exchange between solvers on several GPUs, which works in another way here."""

    def __init__(self, solver: Solver, uid: bytes | str) -> None:
        raise NetError(
            "has_nccl() is false: several GPUs train with `zoo train --device all --solver FILE`, or with "
            "netdsl.distributed in Python"
        )

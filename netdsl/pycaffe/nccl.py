"""Caffe's training by several solvers, each in a process of its own, whose gradients are averaged in every step."""

from __future__ import annotations

import weakref

from netdsl.errors import NetError
from netdsl.pycaffe import process
from netdsl.pycaffe.solver import Solver


class NCCL:
    """The exchange of the solvers that have the same `uid`, of which `set_solver_count` says how many there are.

    It goes over NCCL if each solver has a GPU of its own, and else through main memory. Making it waits for all
    solvers. As a solver's callback it replaces the gradients by the mean of all solvers'.
    """

    def __init__(self, solver: Solver, uid: bytes) -> None:
        rank, size = process.solver_rank(), process.solver_count()
        if rank not in range(size):
            raise NetError(f"solver {rank} of {size}: call set_solver_count and set_solver_rank first")
        from netdsl.pycaffe.solver_meeting import SolverMeeting  # most scripts train alone, and needn't wait for this

        self._solver = solver
        self._weights, self._gradients = solver._loop.weights, solver._loop.updater.gradients
        meeting = SolverMeeting(uid, rank, size, self._weights.buffer.device)
        self._communicator = meeting.communicator
        weakref.finalize(self, meeting.leave)  # also when the interpreter exits

    @staticmethod
    def new_uid() -> bytes:
        """Return what solvers find each other by: they meet at the process that calls this, and only who has it is let
        in."""
        from netdsl.pycaffe.solver_meeting import open_meeting

        return open_meeting()

    def bcast(self) -> None:
        """Give all solvers the first one's weights."""
        self._solver.net._flush()
        self._communicator.broadcast(self._weights.buffer).wait()

    def on_start(self) -> None:
        """Do nothing: what follows is the solver's own forward and backward pass."""

    def on_gradients_ready(self) -> None:
        """Replace the gradients by their mean. Caffe's rule: they are clipped, and the weights decayed, afterwards."""
        self._solver.net._flush()
        self._gradients.gather()
        self._communicator.mean(self._gradients.buffer).wait()  # in their place, since scripts may keep the arrays

    def __call__(self, layer: int) -> None:
        """Do nothing after a layer's backward pass: gradients are exchanged in one piece, once all are computed."""

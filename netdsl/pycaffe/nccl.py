"""Caffe's training with several solvers in separate processes, whose gradients are averaged in each step."""

from __future__ import annotations

import weakref

from netdsl.errors import NetError
from netdsl.pycaffe import process
from netdsl.pycaffe.solver import Solver


class NCCL:
    """The communication of all solvers with the same `uid`. `set_solver_count` sets their number.

    It uses NCCL if each solver has its own GPU, and otherwise main memory. The constructor waits for all solvers. As a
    solver's callback, the object replaces the gradients by the mean over all solvers.
    """

    def __init__(self, solver: Solver, uid: bytes) -> None:
        rank, size = process.solver_rank(), process.solver_count()
        if rank not in range(size):
            raise NetError(
                f"the rank {rank} isn't valid for {size} solvers; call set_solver_count and set_solver_rank first"
            )
        # Imported here because most scripts train alone and don't need it.
        from netdsl.pycaffe.solver_meeting import SolverMeeting

        self._solver = solver
        self._weights, self._gradients = solver._loop.weights, solver._loop.updater.gradients
        meeting = SolverMeeting(uid, rank, size, self._weights.buffer.device)
        self._communicator = meeting.communicator
        weakref.finalize(self, meeting.leave)  # also runs when the interpreter exits

    @staticmethod
    def new_uid() -> bytes:
        """Return the uid by which solvers find each other.

        They connect to the process that calls this. Only processes that know the uid can connect.
        """
        from netdsl.pycaffe.solver_meeting import open_meeting

        return open_meeting()

    def bcast(self) -> None:
        """Copy the first solver's weights to all solvers."""
        self._solver.net._flush()
        self._communicator.broadcast(self._weights.buffer).wait()

    def on_start(self) -> None:
        """Do nothing, because the solver runs its own forward and backward pass next."""

    def on_gradients_ready(self) -> None:
        """Replace the gradients by their mean. Caffe's rule: clipping and weight decay come afterwards."""
        self._solver.net._flush()
        self._gradients.gather()
        self._communicator.mean(self._gradients.buffer).wait()  # in place, because scripts may keep the arrays

    def __call__(self, layer: int) -> None:
        """Do nothing after a layer's backward pass, because gradients are exchanged together at the end."""

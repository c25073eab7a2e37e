"""Caffe's training by several solvers, each in a process of its own, whose gradients are averaged in every step."""

from __future__ import annotations

import weakref

import torch

from netdsl.errors import NetError
from netdsl.pycaffe import modes
from netdsl.pycaffe.solver import Solver
from netdsl.solver.flat import FlatWeights


class NCCL:
    """The exchange of the solvers that have the same `uid`, of which `set_solver_count` says how many there are.

    It goes over NCCL if each solver has a GPU of its own, and else through main memory. Making it waits for all
    solvers. As a solver's callback it replaces the gradients by the mean of all solvers'.
    """

    def __init__(self, solver: Solver, uid: bytes) -> None:
        rank, size = modes.solver_rank(), modes.solver_count()
        if rank not in range(size):
            raise NetError(f"solver {rank} of {size}: call set_solver_count and set_solver_rank first")
        from netdsl.distributed.gradients import Bucket  # most scripts train alone, and needn't wait for these
        from netdsl.pycaffe.solver_meeting import SolverMeeting

        self._solver, self._weights = solver, solver._loop.weights
        gradient = torch.zeros_like(self._weights.buffer[: self._weights.learned_size])
        blobs = [blob for blob in self._weights.blobs if blob.learns]
        views = [FlatWeights.view(gradient, blob) for blob in blobs]
        self._bucket = Bucket([blob.tensor for blob in blobs], views, gradient)
        meeting = SolverMeeting(uid, rank, size, gradient.device)
        self._communicator = meeting.communicator
        weakref.finalize(self, meeting.leave)  # also when the interpreter exits

    @staticmethod
    def new_uid() -> bytes:
        """What solvers find each other by: they meet at the process that calls this, and only who has it is let in."""
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
        self._bucket.fill()
        self._communicator.mean(self._bucket.buffer).wait()
        self._bucket.put_back()  # in their place, since scripts may keep the arrays

    def __call__(self, layer: int) -> None:
        """Do nothing after a layer's backward pass: gradients are exchanged in one piece, once all are computed."""

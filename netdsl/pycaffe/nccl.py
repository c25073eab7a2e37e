"""Caffe's training by several solvers, each in a process of its own, whose gradients are averaged in every step."""

from __future__ import annotations

import threading
import time
import weakref

import msgspec
import torch

from netdsl.distributed.communicator import Communicator
from netdsl.distributed.gradients import Bucket
from netdsl.distributed.supervision.control_client import ControlAddress, ControlClient
from netdsl.distributed.supervision.control_server import ControlServer
from netdsl.distributed.supervision.protocol import Abort
from netdsl.distributed.transports.connect import connect
from netdsl.distributed.transports.control_store import ControlStore
from netdsl.distributed.transports.transport import choose_transport
from netdsl.errors import NetError
from netdsl.pycaffe import modes
from netdsl.pycaffe.solver import Solver
from netdsl.solver.flat import FlatWeights

_HOST = "127.0.0.1"  # the solvers are processes of one machine
_MOST_SOLVERS = 1024  # a uid is made before anybody says how many there are
_POLL, _GRACE = 60.0, 5.0  # seconds; and those in which the others may still read what an ended solver sent


class NCCL:
    """The exchange of the solvers that have the same `uid`, of which `set_solver_count` says how many there are.

    It goes over NCCL if each solver has a GPU of its own, and else through main memory. Making it waits for all
    solvers. As a solver's callback it replaces the gradients by the mean of all solvers'.
    """

    def __init__(self, solver: Solver, uid: bytes) -> None:
        rank, size = modes.solver_rank(), modes.solver_count()
        if rank not in range(size):
            raise NetError(f"solver {rank} of {size}: call set_solver_count and set_solver_rank first")
        self._solver, self._weights = solver, solver._loop.weights
        gradient = torch.zeros_like(self._weights.buffer[: self._weights.learned_size])
        blobs = [blob for blob in self._weights.blobs if blob.learns]
        views = [FlatWeights.view(gradient, blob) for blob in blobs]
        self._bucket = Bucket([blob.tensor for blob in blobs], views, gradient)
        control = ControlClient(_address(uid), rank, leave=lambda reason: None).__enter__()
        self._communicator = _meet(control, rank, size, gradient.device)
        weakref.finalize(self, _leave, self._communicator, control)  # also when the interpreter exits

    @staticmethod
    def new_uid() -> bytes:
        """What solvers find each other by: they meet at the process that calls this, and only who has it is let in."""
        server = ControlServer(_HOST, _MOST_SOLVERS)
        threading.Thread(target=_watch, args=(server,), name="solvers", daemon=True).start()
        return msgspec.json.encode(ControlAddress(_HOST, server.port, server.token))

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


def _address(uid: bytes) -> ControlAddress:
    try:
        return msgspec.json.decode(uid, type=ControlAddress)
    except msgspec.MsgspecError:
        raise NetError("solvers meet by a uid that NCCL.new_uid() has made, once for all of them") from None


def _meet(control: ControlClient, rank: int, size: int, device: torch.device) -> Communicator:
    store = ControlStore(control.open_store())
    store.set(f"device {rank}", str(device))
    devices = [torch.device(store.get(f"device {other}").decode()) for other in range(size)]
    return connect(choose_transport(devices, machines=1), control, rank, size, device)


def _leave(communicator: Communicator, control: ControlClient) -> None:
    communicator.close()
    control.__exit__()


def _watch(server: ControlServer) -> None:
    """Serve the solvers until one has ended, after which the others would wait for it in vain."""
    with server:
        while (happened := server.next(_POLL)) is None or happened[1] is not None:
            pass
        time.sleep(_GRACE)
        server.tell_all(Abort(f"solver {happened[0]} has ended"))

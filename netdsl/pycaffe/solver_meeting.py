"""How the processes of several solvers find each other, by what they are told of the first one's server."""

from __future__ import annotations

import threading
import time

import msgspec
import torch

from netdsl.distributed.communicator import Communicator
from netdsl.distributed.control.client import ControlAddress, ControlClient
from netdsl.distributed.control.protocol import Abort
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.transports.connect import ControlStore, connect
from netdsl.distributed.transports.transport import choose_transport
from netdsl.errors import NetError

_HOST = "127.0.0.1"  # the solvers are processes of one machine
_MOST_SOLVERS = 1024  # a uid is made before anybody says how many there are
_POLL, _GRACE = 60.0, 5.0  # seconds; and those in which the others may still read what an ended solver sent


class SolverMeeting:
    """One of several solvers, who can exchange once all have come."""

    def __init__(self, uid: bytes, rank: int, size: int, device: torch.device) -> None:
        self._control = ControlClient(_address(uid), rank, leave=lambda reason: None).__enter__()
        store = ControlStore(self._control.open_store())
        store.set(f"device {rank}", str(device))
        devices = [torch.device(store.get(f"device {other}").decode()) for other in range(size)]
        transport = choose_transport(devices, machines=1)
        self.communicator: Communicator = connect(transport, self._control, rank, size, device)

    def leave(self) -> None:
        """Go."""
        self.communicator.close()
        self._control.__exit__()


def open_meeting() -> bytes:
    """Return what solvers find each other by: they meet at the process that calls this, and only who has it is let
    in."""
    server = ControlServer(_HOST, _MOST_SOLVERS)
    threading.Thread(target=_watch, args=(server,), name="solvers", daemon=True).start()
    return msgspec.json.encode(ControlAddress(_HOST, server.port, server.token))


def _address(uid: bytes) -> ControlAddress:
    try:
        return msgspec.json.decode(uid, type=ControlAddress)
    except msgspec.MsgspecError:
        raise NetError("solvers meet by a uid that NCCL.new_uid() has made, once for all of them") from None


def _watch(server: ControlServer) -> None:
    """Serve the solvers until one has ended, after which the others would wait for it in vain."""
    with server:
        while (happened := server.next(_POLL)) is None or happened[1] is not None:
            pass
        time.sleep(_GRACE)
        server.tell_all(Abort(f"solver {happened[0]} has ended"))

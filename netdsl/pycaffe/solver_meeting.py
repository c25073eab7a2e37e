"""The connection of several solvers' processes through the address of a server in the first one."""

from __future__ import annotations

import threading
import time

import msgspec
import torch

from netdsl.distributed.communicator import Communicator
from netdsl.distributed.control.address import ControlAddress
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.protocol import Abort
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.transports.connect import ControlStore, connect
from netdsl.distributed.transports.transport import choose_transport
from netdsl.errors import NetError

_MOST_SOLVERS = 1024  # a limit, because a uid is created before the number of solvers is known
_POLL, _GRACE = 60.0, 5.0  # seconds: between polls, and for other solvers to read the last data of an ended one


class SolverMeeting:
    """One of several solvers, which can communicate once all have connected."""

    def __init__(self, uid: bytes, rank: int, size: int, device: torch.device) -> None:
        self._control = ControlClient(_address(uid), rank, leave=lambda reason: None).__enter__()
        store = ControlStore(self._control.open_store())
        store.set(f"device {rank}", str(device))
        devices = [torch.device(store.get(f"device {other}").decode()) for other in range(size)]
        transport = choose_transport(devices, machines=1)
        self.communicator: Communicator = connect(transport, self._control, rank, size, device)

    def leave(self) -> None:
        """Close the connections."""
        self.communicator.close()
        self._control.__exit__()


def open_meeting() -> bytes:
    """Return the uid by which solvers find each other.

    They connect to the process that calls this. Only processes that know the uid can connect.
    """
    server = ControlServer(None, _MOST_SOLVERS)  # all solvers are processes of one machine
    threading.Thread(target=_watch, args=(server,), name="solvers", daemon=True).start()
    return msgspec.json.encode(server.address())


def _address(uid: bytes) -> ControlAddress:
    try:
        return msgspec.json.decode(uid, type=ControlAddress)
    except msgspec.MsgspecError:
        raise NetError("the uid isn't valid; create one with NCCL.new_uid() and pass the same to all solvers") from None


def _watch(server: ControlServer) -> None:
    """Serve the solvers until one has ended, because the others would wait for it forever."""
    with server:
        while (happened := server.next(_POLL)) is None or happened[1] is not None:
            pass
        time.sleep(_GRACE)
        server.tell_all(Abort(f"solver {happened[0]} has ended"))

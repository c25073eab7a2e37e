"""How a rank gets its communicator."""

from __future__ import annotations

import torch

from netdsl.distributed.communicator import Communicator
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.transports import connect as others
from netdsl.distributed.transports.transport import Transport
from netdsl.mpi.communicator import MpiCommunicator
from netdsl.mpi.library import mpi, world


def connect(transport: Transport, control: ControlClient, rank: int, size: int, device: torch.device) -> Communicator:
    """A rank's communicator, over MPI or over any other transport."""
    match transport:
        case Transport.MPI:
            return MpiCommunicator(world(), control.interruption)
        case Transport.MPI_BY_NODE:
            node = world().Split_type(mpi().COMM_TYPE_SHARED)
            return MpiCommunicator(world(), control.interruption, node=node)
        case _:
            return others.connect(transport, control, rank, size, device)
